"""The type `TextTable`, rows under named columns, which every reader of rows returns; and helpers to make one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memory_context.exceptions import InvalidSelectionError

MOST_COLUMNS = 1000
# The texts that databases write for NULL.
_MISSING = frozenset(("", "NULL", r"\N"))
_CONTROLS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")

Row = list[Any]


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows under named columns.

    Attributes:
        columns: The names; no two are equal when upper and lower case are ignored.
        rows: Returns an iterator over all rows, at each call. Each has as many cells as there are columns: texts or JSON
            values, and None for a missing cell.
        name: Where the table was found, such as ``the JSON list $.items``.
        by_semicolons: Whether semicolons separate the cells, as is usual where numbers have decimal commas.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    name: str
    by_semicolons: bool = False


def evened(rows: Iterable[Row], width: int, joint: str = ",") -> Iterator[Row]:
    """Yield rows of `width` cells: missing cells are None, and surplus ones are joined to the last."""
    last = width - 1
    for row in rows:
        if len(row) > width:
            surplus = joint.join(row[last:]).rstrip(joint)
            yield [*row[:last], surplus]
        else:
            missing = width - len(row)
            yield row + [None] * missing


def with_nulls(row: Row) -> Row:
    """Return a row of texts with None in place of each text that stands for NULL."""
    # Most rows have none, and need not be copied.
    if _MISSING.isdisjoint(row):
        return row
    return [None if cell in _MISSING else cell for cell in row]


def sliced(line: str, starts: list[int]) -> Row:
    """Return the cells of a line that begin at *starts*, each up to the next start; None for an empty cell."""
    cells: Row = []
    for start, end in pairwise([*starts, len(line)]):
        cell = line[start:end].strip()
        cells.append(cell or None)
    return cells


def column_names(names: Sequence[str | None]) -> tuple[str, ...]:
    """Return names for columns: without control characters, and with a number if empty or already used."""
    if len(names) > MOST_COLUMNS:
        raise InvalidSelectionError(
            f"this table has {len(names)} columns; where= and columns= take {MOST_COLUMNS} at most; use path="
        )
    taken = set[str]()
    unique = list[str]()
    for number, name in enumerate(names, 1):
        plain = _CONTROLS.sub(" ", str(name or ""))
        plain = plain.strip() or f"column{number}"
        while plain.lower() in taken:
            plain += f"_{number}"
        taken.add(plain.lower())
        unique.append(plain)
    return tuple(unique)
