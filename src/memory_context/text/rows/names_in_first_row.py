"""Whether the first row of a table names its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

SAMPLED = 30
# Fewer numbers from 0 or 1 on may be anything.
SHORTEST_COUNT = 4
_NUMBER = re.compile(r"[-+$€£]?[\d.,:/%-]+[%a-zA-Z]{0,2}")
# 2024, 2024-01, 2024-01-31 or 2024/01/31: those of one form stand in their order as texts.
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/]\d\d(?:[-/]\d\d)?)?")

_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, a date or a time, as names of columns seldom are."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def has_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows names the columns: it holds no number, or a series as no other row does.

    ``region,2023,2024`` names them above ``North,5,6``, not above ``South,2019,2022``. Nor does ``Museum,opens 9:00``
    above ``Castle,opens 10:30``.
    """
    if not any(map(is_number, rows[0])):
        return names_numbers(rows) or not _is_like_those_below(rows)
    return _has_series(rows[0]) and not any(map(_has_series, rows[1:SAMPLED]))


def names_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a text in the first of some rows stands above numbers alone."""
    return any(
        below and not is_number(first) and all(map(is_number, below))
        for first, below in _columns(rows)
    )


def _is_like_those_below(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a text with digits in the first row has the shape of most texts below it."""
    for first, below in _columns(rows):
        shape = _shape(first)
        same = sum(1 for cell in below if _shape(cell) == shape)
        if "0" in shape and 0 < len(below) <= 2 * same:
            return True
    return False


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the first cell of each column, and those below that are filled."""
    for index, first in enumerate(rows[0]):
        cells = [row[index] for row in rows[1:SAMPLED] if index < len(row)]
        yield first, list(filter(str.strip, cells))


def _shape(cell: str) -> str:
    """Return a text with any digits as a 0; and with any words as one, behind digits, where no name stands."""
    shape = _DIGITS.sub("0", cell.strip())
    return _WORD.sub("a", shape) if shape.startswith("0") else shape


def _has_series(row: Sequence[str]) -> bool:
    """Return whether a row has texts, and numbers that run on: years, dates, or four from 0 or 1 on."""
    cells = [cell.strip() for cell in row]
    numbers = list(filter(is_number, cells))
    if not 2 <= len(numbers) < len(cells):
        return False
    if all(map(_DATE.fullmatch, numbers)):
        return numbers == sorted(set(numbers))
    first = int(numbers[0] != "0")
    counted = list(map(str, range(first, first + len(numbers))))
    return len(numbers) >= SHORTEST_COUNT and numbers == counted
