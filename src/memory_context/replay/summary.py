"""The results of a replay with what belongs to reading them, and their form as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_context.replay.comparison import Result, Results


@dataclass(frozen=True, slots=True)
class Summary:
    """What a replay came to.

    Attributes:
        results: The figures.
        files: The names of the files that were read, or were to be read.
        tokenizer: What counted the tokens.
        threshold: That of "reference only", which peaks are set against.
        complete: Whether every run of the files was replayed.
    """

    results: Results
    files: tuple[str, ...]
    tokenizer: str
    threshold: int
    complete: bool = True

    @property
    def calls(self) -> int:
        """Model calls of all runs."""
        return sum(self.results.reached)

    @property
    def needed(self) -> int:
        """Values that were needed, by the first policy's count: it is the same for all."""
        return next((one.row.needed for one in self.results.policies), 0)

    def headline(self) -> str:
        """What was replayed, in one line."""
        rest = "" if self.complete else "; not complete: figures of the runs so far"
        counts = f"{_many(self.results.runs, 'run')}, {_many(self.calls, 'model call')}"
        return f"{counts}, {_many(self.needed, 'needed value')}; tokens by {self.tokenizer}{rest}"

    def as_json(self) -> dict[str, Any]:
        """One object in JSON's own types; its fields are described in docs/replay.md."""
        return {
            "files": list(self.files),
            "complete": self.complete,
            "tokenizer": self.tokenizer,
            "threshold": self.threshold,
            "runs": self.results.runs,
            "calls": self.calls,
            "needed": self.needed,
            "longest_run": self.results.longest,
            "runs_by_call": list(self.results.reached),
            "policies": [_policy(one) for one in self.results.policies],
        }


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _policy(result: Result) -> dict[str, Any]:
    row, figures = result.row, result.figures
    return {
        "policy": row.policy,
        "tokens": figures.tokens,
        "cost": round(figures.cost, 1),
        "peak": max(figures.peaks, default=0),
        "named": figures.named,
        "visible": figures.visible,
        "lost": figures.lost,
        "trips": figures.trips,
        "seconds": round(figures.seconds, 3),
        "share": {
            "tokens": round(row.tokens, 6),
            "cost": round(row.cost, 6),
            "peak": round(row.peak_of_unbounded, 6),
            "peak_of_reference": round(row.peak_of_reference, 6),
            "named": round(row.named, 6),
            "visible": round(row.visible, 6),
        },
        "tokens_by_call": {
            "mean": [round(tokens, 1) for tokens in result.mean],
            "longest_run": list(result.longest),
        },
    }
