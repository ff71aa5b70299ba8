"""Summarize a replay: its results with their circumstances, as sentences and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_context.model.json_object import JsonObject
from memory_context.replay.comparison import ReplayedRun, Result, Results
from memory_context.replay.prices import Price
from memory_context.text.describe.description import counted


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of a replay.

    Attributes:
        results: The results of all policies.
        files: The names of all given files, read or not.
        tokenizer: The name of the token counter.
        threshold: The threshold of "reference only", which peaks are compared with.
        price: The price of tokens.
        complete: Whether the replay reached the end of the files.
        damaged: For each damaged file its problem; its runs before the damage are counted, the rest is left out.
    """

    results: Results
    files: tuple[str, ...]
    tokenizer: str
    threshold: int
    price: Price = field(default_factory=Price)
    complete: bool = True
    damaged: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Return the number of model calls of all runs."""
        return sum(self.results.reached)

    @property
    def needed(self) -> int:
        """Return how many values were needed: the same number for every policy."""
        return self.results.unbounded.needed

    def headline(self) -> str:
        """Return a line about what was replayed."""
        runs = counted(self.results.runs, "run")
        calls = counted(self.calls, "model call")
        values = counted(self.needed, "needed value")
        rest = ""
        if not self.complete:
            rest = "; not complete: figures of the runs so far"
        if self.damaged:
            files = counted(len(self.damaged), "file")
            rest += f"; without what is damaged in {files}"
        return f"{runs}, {calls}, {values}; tokens by {self.tokenizer}{rest}"

    def conclusion(self) -> str:
        """Return sentences about what this library's first policy would have saved, and what would have been out of sight.

        Empty if no policy of this library was replayed, or no run.
        """
        results = self.results
        ours = results.ours
        if not ours or not results.runs:
            return ""
        before = results.unbounded
        after = ours.figures
        price = self.price
        runs = "Your run" if results.runs == 1 else f"Your {results.runs:,} runs"
        lost = f"{after.lost:,}" if after.lost else "none"
        return (
            f"{runs}: {short(before.tokens)} tokens → {short(after.tokens)}, "
            f"{price.in_dollars(before.all_counted)} → {price.in_dollars(after.all_counted)} "
            f"at the price of {price.model}, tools counted. Of {counted(self.needed, 'value')} needed later {lost} would "
            f"have been lost; {after.trips:,} of {counted(self.calls, 'call')} would have looked one up."
        )

    def as_json(self) -> JsonObject:
        """Return an object that JSON can express; docs/replay.md describes its fields."""
        return {
            "files": list(self.files),
            "complete": self.complete,
            "damaged": list(self.damaged),
            "conclusion": self.conclusion(),
            "tokenizer": self.tokenizer,
            "threshold": self.threshold,
            "runs": self.results.runs,
            "calls": self.calls,
            "needed": self.needed,
            "runs_by_call": list(self.results.reached),
            "worst_runs": [
                {
                    "run": run.id,
                    "calls": len(run.ours),
                    "cost": round(run.share, 6),
                    "trips": run.trips,
                    "lost": run.lost,
                }
                for run in self.results.worst
            ],
            "policies": [_policy_json(result) for result in self.results.policies],
        }


def verdict(run: ReplayedRun) -> str:
    """Return the result of a run in one line."""
    calls = counted(len(run.ours), "call")
    said = f"{run.share:.2f} of the cost; {run.trips} of {calls} would have looked something up"
    if run.lost:
        values = counted(run.lost, "value")
        said = f"{said}, {values} lost"
    return said


def short(tokens: int) -> str:
    """Return a number of tokens as people say it, to three digits: 1.2 B, 4.1 M, 320 k, 812."""
    for unit, name in ((1_000_000_000, "B"), (1_000_000, "M"), (1000, "k")):
        # From half a digit below the unit on, three digits of the smaller unit would be rounded to 1e+03.
        if tokens >= 0.9995 * unit:
            number = tokens / unit
            digits = f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"
            return f"{digits} {name}"
    return str(tokens)


def _policy_json(result: Result) -> JsonObject:
    figures = result.figures
    return {
        "policy": result.policy,
        "tokens": figures.tokens,
        "cost": round(figures.cost, 1),
        "all_counted": round(figures.all_counted, 1),
        "peak": max(figures.peaks, default=0),
        "named": figures.named,
        "visible": figures.visible,
        "lost": figures.lost,
        "trips": figures.trips,
        "seconds": round(figures.seconds, 3),
        "share": {name: round(share, 6) for name, share in result.shares.items()},
        "tokens_by_call": [round(tokens, 1) for tokens in result.mean],
    }
