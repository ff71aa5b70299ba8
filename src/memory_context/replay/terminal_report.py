"""The figures of a replay as a table in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from memory_context.display.terminal import table
from memory_context.replay.comparison import Row

COLUMNS = (
    *("policy", "tokens", "cost", "+ tools", "peak", "of ref"),
    *("named", "visible", "lost", "trips"),
)


def report(rows: Iterable[Row]) -> Table:
    """Return the rows as a table for a terminal of 100 columns or more."""
    return table(COLUMNS, [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    """Return the figures of a row as they are shown, in the order of `COLUMNS`."""
    return [
        row.policy,
        *(f"{share:.3f}" for share in row.shares.values()),
        f"{row.lost:,}",
        f"{row.trips:,}",
    ]
