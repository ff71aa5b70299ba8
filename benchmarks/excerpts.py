"""What each ingredient of the ranking is worth on recorded runs, and how long an excerpt takes.

    python benchmarks/excerpts.py RECORDINGS.jsonl[.gz]...

Each ingredient is switched off, one at a time, in the previews of a `MemoryContext` with default settings. Times are
medians, beside counting the tokens of the same text in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from memory_context import default_counter
from memory_context.conversation.folding import fold_text as fold
from memory_context.replay import Comparing, TokenMeter, parse_policy, read_recordings
from memory_context.text.excerpt import excerpt as _excerpt
from memory_context.text.excerpt import segment_scores, segments, segments_within_budget
from memory_context.text.excerpt.excerpt import PREVIEW, READING, excerpt
from memory_context.text.excerpt.segment_scores import Ranking
from memory_context.text.excerpt.shown_parts_and_gap_marks import Excerpt

console = Console(width=None if sys.stdout.isatty() else 110)

OFF = {
    "names": {"counts_names": False},
    "rare lines of lists": {"rare": 0.0},
    "what is near weighs more": {"near": 1e9},
    "the end weighs more": {"end": 0.0},
    "the question itself": {"asked": 0.0},
    "stop where it is not worth it": {"least": 0.0},
    "the beginning where little is shown": {"opening": 0.0},
}
CONSTANTS_OFF = {
    "faults": (segment_scores, "WORTH_OF_FAULT", 0.0),
    "numbers weigh less": (segment_scores, "NUMBER", 1.0),
    "quoted keys weigh less": (segment_scores, "KEY", 1.0),
    "fields weigh more": (segment_scores, "FIELD", 1.0),
    "repeated names weigh more": (segment_scores, "REPEATED", 0.0),
    "names of one form weigh less": (segments_within_budget, "ALIKE", 0.0),
    "the question lifts": (segments_within_budget, "RELEVANCE", 0.0),
}
ROUNDS = 15


@contextmanager
def ranked(ranking: Ranking) -> Iterator[None]:
    """Previews by another ranking."""
    with patch.object(fold, "PREVIEW", ranking):
        yield


@contextmanager
def known_again() -> Iterator[None]:
    """Previews that do not care what stands in the prompt already."""

    def forgetful(*arguments: object, **options: object) -> Excerpt:
        return excerpt(*arguments, **{**options, "known": frozenset()})  # type: ignore[arg-type] # passed on

    with patch.object(fold, "excerpt", forgetful):
        yield


@contextmanager
def unstructured() -> Iterator[None]:
    """Previews that take JSON for text."""
    with patch.object(segments, "find_value", return_value=None):
        yield


async def ablation(paths: list[Path]) -> None:
    """A table for each file: the whole ranking, then each ingredient off."""
    for path in paths:
        table = Table("off", "tokens", "cost", "visible", "trips", "peak", title=path.name)
        settings: dict[str, Callable[[], object]] = {"nothing": lambda: ranked(PREVIEW)}
        for name, change in OFF.items():
            settings[name] = lambda change=change: ranked(replace(PREVIEW, **change))  # type: ignore[misc] # bound now
        for name, constant in CONSTANTS_OFF.items():
            settings[name] = partial(patch.object, *constant)
        settings |= {"what is known is not repeated": known_again, "records of JSON": unstructured}
        for name, setting in settings.items():
            with setting():  # type: ignore[attr-defined] # a context manager
                comparing = Comparing([parse_policy("memory")], TokenMeter())
                for recording in read_recordings(path):
                    await comparing.add(recording)
                [result] = comparing.results().policies
            figures = {name: f"{share:.3f}" for name, share in result.shares.items()}
            shares = (figures["tokens"], figures["cost"], figures["visible"])
            table.add_row(name, *shares, str(result.figures.trips), figures["peak_of_reference"])
        console.print(table)


def texts() -> dict[str, str]:
    """Texts of 20 KB of several kinds, and of 50 MB."""
    log = [
        f"2026-01-01 12:{i // 60 % 60:02}:{i % 60:02} INFO worker-{i}: finished task {i * 7} in time"
        for i in range(300)
    ]
    records = [
        {"id": i, "name": f"user_{i}", "mail": f"u{i}@example.org", "at": "2026-01-01"}
        for i in range(250)
    ]
    source = Path(_excerpt.__file__).read_text(encoding="utf-8")
    small = {
        "log": "\n".join(log),
        "JSON": json.dumps(records),
        "code": source * 3,
        "prose": "It was, in part, done. " * 900,
    }
    large = {
        f"{name}, 50 MB": (text + "\n") * (50_000_000 // len(text))
        for name, text in small.items()
        if name != "JSON"
    }
    return {name: text[:20_000] if name != "JSON" else text for name, text in small.items()} | large


def times() -> None:
    """A table of milliseconds: an excerpt for a preview and for a question, and the tokens of the same text counted."""
    count = default_counter().count
    table = Table(
        "text",
        "characters",
        "preview, ms",
        "for a question, ms",
        "count 20 KB, ms",
        title="medians",
    )
    letters = cycle("abcdefghijklmnopqrstuvwxyz")
    question = "why did worker-77 fail to finish task 539 for u77@example.org"
    for name, text in texts().items():
        rounds = ROUNDS if len(text) < 1_000_000 else 1
        shown = [
            f"{statistics.median(_timed(work, rounds)):.2f}"
            for work in (
                lambda text=text: excerpt(text, question, 300, count, ranking=PREVIEW),
                lambda text=text: excerpt(text, question, 300, count, ranking=READING),
                lambda text=text: count(
                    text[:20_000].replace("e", next(letters))
                ),  # counts of equal texts are kept
            )
        ]
        table.add_row(name, f"{len(text):,}", *shown)
    console.print(table)


def _timed(work: Callable[[], object], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        yield (time.perf_counter() - started) * 1000


def main() -> None:
    """Print the times, and the ablation on the recordings that are given."""
    parser = argparse.ArgumentParser(
        description="What the ranking of excerpts is worth, and what it takes."
    )
    parser.add_argument("recordings", nargs="*", type=Path)
    options = parser.parse_args()
    times()
    asyncio.run(ablation(options.recordings))


if __name__ == "__main__":
    main()
