"""The figures of a replay as a table in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from memory_context.display.safe_terminal_output import table
from memory_context.replay.comparison import Result

COLUMNS = (
    "policy",
    "tokens",
    "cost",
    "+ tools",
    "peak",
    "of ref",
    "named",
    "visible",
    "lost",
    "trips",
)


def report(results: Iterable[Result]) -> Table:
    """Return the results as a table for a terminal of 100 columns or more."""
    return table(COLUMNS, list(map(cells, results)))


def cells(result: Result) -> list[str]:
    """Return a policy's figures as they are shown, in the order of `COLUMNS`."""
    return [
        result.policy,
        *(f"{share:.3f}" for share in result.shares.values()),
        f"{result.figures.lost:,}",
        f"{result.figures.trips:,}",
    ]
