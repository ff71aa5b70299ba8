"""Whether the first row of a table names its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

SAMPLED = 30
# Fewer numbers from 0 or 1 on may be anything.
SHORTEST_COUNT = 4
_NUMBER = re.compile(r"[-+$€£]?[\d.,:/%-]+[%a-zA-Z]{0,2}")
# 2024, 2024-01, 2024-01-31 or 2024/01/31: those of one form stand in their order as texts.
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/]\d\d(?:[-/]\d\d)?)?")


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, a date or a time, as names of columns seldom are."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def has_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows names the columns: it holds no number, or a series as no other row does.

    ``region,2023,2024`` names them above ``North,5,6``, not above ``South,2019,2022``.
    """
    if not any(map(is_number, rows[0])):
        return True
    return _has_series(rows[0]) and not any(map(_has_series, rows[1:SAMPLED]))


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
