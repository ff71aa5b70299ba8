"""Decide whether the first row of a table holds the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import eq
from typing import TypeAlias

from memory_context.text.query.number_notations_and_missing_values import is_filled

Rows: TypeAlias = Sequence[Sequence[str]]
SAMPLED = 30
# Fewer numbers that count up from 0 or 1 may be anything.
SHORTEST_COUNT = 4
# Among so few rows, one text of the same shape as the first one shows that it is no name; among more, it takes two.
FEW = 4
_NUMBER = re.compile(r"[-+$€£]?[\d.,:/%-]+[%a-zA-Z]{0,2}")
# 2024, 2024-01, 2024-01-31 or 2024/01/31: dates of one form sort correctly as texts.
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/]\d\d(?:[-/]\d\d)?)?")
_WITH_UNIT = re.compile(r"\d.*\D")
_DIGITS = re.compile(r"\d+")


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, a date or a time, which column names seldom are."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def has_names(rows: Rows) -> bool:
    """Return whether the first row holds the names of the columns.

    It does if it has no number and does not look like the rows below, or if it has a series of numbers and no other row
    has one. ``region,2023,2024`` holds names above ``North,5,6``, but not above ``South,2019,2022``. Neither does
    ``Museum,opens 9:00`` above ``Castle,opens 10:30``, nor ``ann|active`` above ``bob|active``.
    """
    names, *below = rows[:SAMPLED]
    if any(map(is_number, names)):
        return _has_series(names) and not any(map(_has_series, below))
    # Names that recur begin another table, which the caller looks for.
    return names in below or names_numbers(rows) or not _is_like_those_below(rows)


def names_numbers(rows: Rows) -> bool:
    """Return whether some text in the first row has only numbers below it."""
    for first, below in _columns(rows):
        if is_number(first) or not below:
            continue
        if all(map(is_number, below)):
            return True
    return False


def names_another_table(rows: Rows, above: Rows) -> bool:
    """Return whether the first of the rows after a blank line holds the names of a table other than *above*.

    It does if each of its cells is a text, and one of them has numbers below it, or the same name at the same place
    above; or if none of these rows has a number in it, and the table above has a column of numbers.
    """
    if not rows:
        return False
    names, *below = rows
    if any(map(is_number, names)) or not all(map(is_filled, names)):
        return False
    if names_numbers(rows):
        return True
    recurs = any(map(eq, names, above[0]))
    if recurs and has_names(above):
        return True
    if not below or any(map(is_number, chain(*below))):
        return False
    return names_numbers([names, *above[1:]])


def _is_like_those_below(rows: Rows) -> bool:
    """Return whether some text in the first row has the same shape as two of those below it; as one, if they are few.

    A name may also be a word below it: ``table,name,type`` above ``users,name,text``. Then two other columns have words
    that recur, but not in the first row, which would have them if it held no names.
    """
    is_like = False
    repetitive = 0
    for first, below in _columns(rows):
        shape = _shape(first)
        shapes = list(map(_shape, below))
        least = 1 if len(below) <= FEW else 2
        if shapes.count(shape) >= least:
            if "0" in shape:
                return True
            is_like = True
        elif 2 * len(set(below)) < len(below):
            repetitive += 1
    return is_like and repetitive < 2


def _columns(rows: Rows) -> Iterator[tuple[str, list[str]]]:
    """Yield the first cell of each column, and the cells below it that are not blank."""
    names, *others = rows[:SAMPLED]
    for index, first in enumerate(names):
        cells = (row[index] for row in others if index < len(row))
        yield first, list(filter(str.strip, cells))


def _shape(cell: str) -> str:
    """Return a text with each run of digits as ``0``; if it begins with digits, ``0`` alone.

    A text that begins with digits is no name, so the rest may differ: ``3 days``, ``2 hours`` and ``4 ++--`` have one shape.
    """
    shape = _DIGITS.sub("0", cell.strip())
    if shape.startswith("0"):
        return "0"
    return shape


def _has_series(row: Sequence[str]) -> bool:
    """Return whether a row has texts and a series of numbers: with units, rising dates, or four that count from 0 or 1."""
    cells = [cell.strip() for cell in row]
    numbers = list(filter(is_number, cells))
    if not 2 <= len(numbers) < len(cells):
        return False
    if all(map(_DATE.fullmatch, numbers)):
        return numbers == sorted(set(numbers))
    # Each with a unit: `1m 5m 15m`, or `50% 99%`.
    if all(map(_WITH_UNIT.fullmatch, numbers)):
        return True
    if len(numbers) < SHORTEST_COUNT:
        return False
    counted = [str(number) for number in range(len(numbers) + 1)]
    return numbers in (counted[:-1], counted[1:])
