"""Check the values of one place in a statement, for which SQLite would return a wrong result without an error.

Each check takes values as SQLite passes them, row by row, and returns the one that SQLite is to use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Final

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.dates_and_times import moment
from memory_context.text.query.numbers_and_missing_values import (
    is_filled,
    is_plain_number,
    notation_of,
)
from memory_context.text.query.quantities_in_texts import (
    instead,
    is_cast_whole,
    is_quantity,
    out_of_order,
    shown,
    unit_of,
)

# Not 3.10, which may be a version, nor 1.234, which may be a thousand.
_WHOLE = re.compile(r"-?[1-9][0-9]{0,14}|0")
# What SQLite would read as a number: digits with a point and an exponent, and blanks around them.
_LIKE_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*")
_WITHOUT_UNIT: Final = ("", 1.0)


def is_whole_number(text: str) -> bool:
    """Return whether a text is a whole number, which nobody would read as anything else."""
    return _WHOLE.fullmatch(text) is not None


def _texts_error(name: str, use: str, text: str, otherwise: str = "") -> InvalidQueryError:
    return InvalidQueryError(
        f"{name} is {use}, and gives texts such as {shown(text)}: {instead(name)}{otherwise}"
    )


def number(name: str, value: Any, *, is_cell: bool) -> Any:  # noqa: ANN401 - whatever SQLite holds
    """Refuse a text that is used as a number.

    A function may return numbers as texts, with which SQLite computes correctly: ``substr(day, 1, 4)``. Of a cell, only
    a whole number is sure to be one.
    """
    if isinstance(value, str):
        is_right = is_whole_number(value) if is_cell else is_plain_number(value)
        if not is_right and (is_cell or is_filled(value)):
            raise _texts_error(name, "used as numbers here", value)
    return value


def time(name: str, units: list[str], date: str | None, value: Any) -> Any:  # noqa: ANN401
    """Refuse a time that SQLite would not read, or a number such as 2024, which it takes for days since 4714 BC.

    Args:
        name: The expression in error messages.
        units: The modifiers that say what a number counts.
        date: What SQLite makes of the time.
        value: The time.
    """
    is_before_christ = date is not None and date.startswith("-")
    if isinstance(value, str) and date is None and moment(value) is not None:
        raise InvalidQueryError(
            f"SQLite reads 2026-01-31 and 2026-01-31 09:05:00, and gives NULL for {shown(value)} "
            f"in {name}: bring it into this form by substr({name}, …)"
        )
    is_number = isinstance(value, int | float)
    if is_number and date is None and "unixepoch" in units:
        raise InvalidQueryError(
            f"{value} in {name} is too large for seconds since 1970: write {name} / 1000 for milliseconds"
        )
    if is_before_christ or (is_number and date is None):
        raise InvalidQueryError(
            f"SQLite takes a number for days since 4714 BC, and {value} in {name} would be a wrong date: "
            f"write date({name}, 'unixepoch') if it counts seconds since 1970, or make a text such as "
            f"2026-01-31 of it: {name} || '-01-01' of a year, else each part by substr({name}, …)"
        )
    return value


class CastTexts:
    """Texts that are cast to numbers: SQLite's CAST makes 1 of ``1,200`` and 0 of ``$5``.

    Args:
        name: The argument of the cast.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: tuple[str, tuple[str, float]] | None = None

    def number(self, value: Any) -> Any:  # noqa: ANN401
        """Return a value unchanged if CAST reads it correctly; None for a text without a number.

        Raises:
            InvalidQueryError: CAST would make another number of it, or it has another unit than the texts before it.
        """
        if not isinstance(value, str):
            return value
        if not any(map(str.isdigit, value)):
            return None
        if not is_cast_whole(value):
            raise InvalidQueryError(
                f"CAST would take {shown(value)} in {self._name} for another number: "
                "leave only the number, by an expression with substr, replace or CASE"
            )
        unit = unit_of(value)
        # 900 has another unit than 3M, but 0 is the same in any unit.
        if is_plain_number(value) and float(value):
            unit = _WITHOUT_UNIT
        if unit is not None:
            first, of_first = self._first = self._first or (value, unit)
            if unit != of_first:
                raise InvalidQueryError(
                    f"CAST would take {shown(first)} and {shown(value)} in {self._name} for numbers of one "
                    "unit: write a CASE with a CAST for each unit"
                )
        return value


@dataclass(slots=True)
class Values:
    """The values of an expression.

    Attributes:
        name: The expression in error messages.
        numbers: The values that are numbers.
        texts: The values that are texts.
    """

    name: str
    numbers: set[float] = field(default_factory=set[float])
    texts: dict[str, None] = field(default_factory=dict[str, None])

    def see(self, value: Any) -> Any:  # noqa: ANN401
        """Add a value."""
        if isinstance(value, str):
            self.texts[value] = None
        elif isinstance(value, int | float):
            self.numbers.add(value)
        return value

    def check_order(self, *, takes_numbers: bool = True) -> None:
        """Refuse to order texts with quantities: as texts, 9 is larger than 10, 5ms than 12ms, and any than a number."""
        filled = list(filter(is_filled, self.texts))
        if self.numbers and self.texts and not takes_numbers:
            example = min(filled or self.texts, key=is_plain_number)
            raise _texts_error(self.name, "ordered among numbers here", example)
        pair = out_of_order(filled)
        if pair is not None:
            raise InvalidQueryError(
                f"{self.name} holds quantities, dates or versions in texts, of which {shown(pair[1])} would come before "
                f"{shown(pair[0])}: {instead(self.name)}; or {self.name} || '', if texts are meant"
            )


def check_equal(united: list[Values]) -> None:
    """Refuse to look for equal values in two expressions of which one gives the number 1 and the other a text 01."""
    for one, other in permutations(united, 2):
        likes = filter(_LIKE_NUMBER.fullmatch, other.texts)
        text = next((like for like in likes if float(like) in one.numbers), None)
        if text is not None:
            raise InvalidQueryError(
                f"{one.name} gives numbers, and {other.name} gives texts such as {shown(text)}, which equal no "
                f"number here: write CAST({other.name} AS REAL), or CAST({one.name} AS TEXT)"
            )


@dataclass(slots=True)
class ComparedValues:
    """Values that are compared: in SQLite no text equals a number, and each is larger than all numbers.

    Attributes:
        function: What it computes of values of one kind.
        names: What it compares, in error messages; empty for the constants of the statement.
        constants: Constants that SQLite does not pass, behind the values that it passes.
        is_ordering: Whether values are compared by order.
        reads_texts: Whether SQLite makes numbers of texts here.
        takes_null: Whether NULL equals NULL.
        has_null: Whether a value was NULL.
        seen: The other values.
    """

    function: Callable[..., bool]
    names: list[str]
    constants: list[Any]
    is_ordering: bool
    reads_texts: bool
    takes_null: bool
    has_null: bool = False
    seen: Values = field(init=False)

    def __post_init__(self) -> None:
        self.seen = Values(next(filter(None, self.names), ""))

    def result(self, *passed: Any) -> bool | None:  # noqa: ANN401 - whatever SQLite holds
        """Return the result of the comparison."""
        for value in passed:
            self.seen.see(value)
        values = [*passed, *self.constants]
        if None in passed:
            self.has_null = True
            return self.function(*values) if self.takes_null else None
        if len({isinstance(value, str) for value in values}) > 1:
            values = list(map(self._comparable, self.names, values))
        return self.function(*values)

    def _comparable(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """Return a value that is compared with one of another kind: a text as the number that it surely is."""
        if not isinstance(value, str):
            return value
        is_read = is_plain_number if self.is_ordering else _LIKE_NUMBER.fullmatch
        if is_whole_number(value) or (self.reads_texts and is_read(value)):
            return float(value)
        notation = notation_of([value])
        if not (self.is_ordering or notation or (name and is_quantity(value))):
            return value
        if name:
            otherwise = (
                "" if self.is_ordering else f"; or compare it with a text, as {shown(value)}"
            )
            raise _texts_error(name, "compared with numbers here", value, otherwise)
        number = notation.numerals([value])[value] if notation else "a number"
        raise InvalidQueryError(
            f"{self.seen.name} gives numbers: compare it with {number}, not with {shown(value)}"
        )

    def check_absent(self) -> None:
        """Refuse to look for ``''`` or ``'n/a'`` if no cell holds it, because such cells are NULL in the database."""
        nothing = [text for text in self.constants if isinstance(text, str) and not is_filled(text)]
        if nothing and self.has_null and self.seen.texts.keys().isdisjoint(nothing):
            name = self.seen.name
            raise InvalidQueryError(
                f"no cell of {name} is {shown(nothing[0])}: those without a value are NULL; write {name} IS NULL"
            )
