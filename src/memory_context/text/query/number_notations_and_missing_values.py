"""Recognise the notation in which a column writes numbers: ``1,200.50``, ``$5``, ``45%``, ``1.234,50``, ``true``.

A notation is decided over all cells of a column together. It is *plain* if SQLite reads the cells as they are, and
*doubtful* if they would be other numbers with a decimal comma: ``1.234`` may be a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memory_context.text.rows.text_table import Row, TextTable

SAMPLED = 1000
NO_VALUE = (
    "",
    "-",
    "—",
    "na",
    "n/a",
    "nan",
    "nil",
    "none",
    "null",
    "<none>",
    "<nil>",
    "<unknown>",
)
# A number as programs write it. Not 007, an id; not +4912345678, a phone number; not 12E4, an article number; and not
# more than 18 digits, whose last ones SQLite would lose.
_PLAIN = re.compile(
    r"(?!\+[0-9]{7})[-+]?(?=\.?[0-9])(?:0|[1-9][0-9]{0,17})?"
    r"(?:\.(?P<decimals>[0-9]{0,17})(?P<exponent>[eE][-+]?[0-9]{1,2})?|[eE][-+][0-9]{1,2})?"
)
# In a column with decimals, numbers are REAL, which loses digits of an integer as long as this.
_LONG_WHOLE = re.compile(r"[-+]?[0-9]{16,}")
_CURRENCY = (
    r"(?:[$€£¥₹₩₽₺₪₫฿]|(?:US|CA|AU|NZ|HK|A|C|S|R)\$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|"
    r"KRW|MXN|NOK|NZD|PLN|RON|RUB|SEK|SGD|THB|TRY|UAH|USD|ZAR)"
)
# A counter in another script, as in 42名 and 5 шт. Digits with Latin letters, as in 12A, are ids.
_COUNTER = r"(?P<counter>[^\W\d_A-Za-z]{1,4})\.?"
# -$5, $ -5, 5 EUR, 45%: digits with any marks between them, and a currency before or after the sign, or at the end.
# Which marks are right depends on the whole column. A phone number such as +4912345678 does not match.
_AMOUNT = re.compile(
    rf"(?!\+[0-9]{{7}})(?:[-+\u2212]?(?P<before>{_CURRENCY})?\s?|(?P<ahead>{_CURRENCY})\s?[-+\u2212])"
    rf"(?P<body>[0-9.,' \u2019\u00a0\u202f]{{0,23}}[0-9])\s?(?P<after>{_CURRENCY}|%|{_COUNTER})?"
)
# What bookkeepers write for -500: (500), $(500), 500-. First, the signs that a column is bookkeeping.
_OF_BOOKKEEPERS = re.compile(rf"[0-9][.,][0-9]|{_CURRENCY}|%")
# The third form begins at the last minus before the one at the end, so that a long cell is not read again from each digit.
_IN_PARENTHESES = re.compile(r"([^()0-9]*)\(([^()]+)\)|((?:[^()]*-)?[^()0-9-]*+[0-9][^()-]*+)-")
_WHOLE = r"(?:[1-9][0-9]{{0,2}}(?:([{group}' \u2019\u00a0\u202f])[0-9]{{3}})(?:\1[0-9]{{3}})*|0|[1-9][0-9]{{0,17}})"
_POINT = re.compile(rf"{_WHOLE.format(group=',')}?(?:\.[0-9]+)?")
_COMMA = re.compile(rf"{_WHOLE.format(group='.')}?(?:,[0-9]+)?")
_DECIMALS = re.compile(r"[.,][0-9]{1,2}$")
_LIKE_A_THOUSAND = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_TRUTHS = {"true": "1", "false": "0"}
_SAME_SHAPE = str.maketrans("23456789", "11111111")


@dataclass(frozen=True, slots=True)
class Notation:
    """The notation of all numbers in a column.

    Attributes:
        unit: The currency, percent sign or counter that each number has.
        decimal: The decimal mark.
        is_plain: Whether SQLite reads the cells correctly as they are; it does so with JSON's true and false.
        is_doubtful: Whether the cells would be other numbers if the comma were the decimal mark.
        of_truths: Whether the cells are true and false.
        drops_zeros: Whether the database writes 5.0 for a cell such as 5.00.
    """

    unit: str = ""
    decimal: str = "."
    is_plain: bool = False
    is_doubtful: bool = False
    of_truths: bool = False
    drops_zeros: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Return whether the database writes these numbers differently from the text."""
        return self.of_truths or not self.is_plain

    @property
    def kind(self) -> str:
        """Return what the column holds, in words."""
        if self.of_truths:
            return "number (true 1, false 0)"
        if self.unit:
            return f"number in {self.unit}"
        return "number"

    def numerals(self, cells: Iterable[str]) -> dict[str, str]:
        """Return the number in each cell that holds a value, as SQLite writes it."""
        replacements: dict[str, str | None] = dict.fromkeys(
            f"{self.unit} \t\n,.'\u2019\u00a0\u202f"
        )
        replacements[self.decimal] = "."
        replacements["\u2212"] = "-"
        read_as = str.maketrans(replacements)
        numerals = dict[str, str]()
        for cell in filter(is_filled, cells):
            written = cell.strip()
            if self.of_truths:
                numerals[cell] = _TRUTHS[written.lower()]
            else:
                numerals[cell] = _with_sign(written).rstrip(".").translate(read_as)
        return numerals


_PLAIN_NOTATION = Notation(is_plain=True)
_TRUTHS_OF_JSON = Notation(is_plain=True, of_truths=True)


def is_filled(cell: str) -> bool:
    """Return whether a cell holds a value."""
    return cell.strip().lower() not in NO_VALUE


def is_plain_number(cell: str) -> bool:
    """Return whether a cell is a number that SQLite reads correctly as it is."""
    return _PLAIN.fullmatch(cell.strip()) is not None


def is_number(cell: str) -> bool:
    """Return whether a cell alone is a number in some notation."""
    notation = notation_of([cell])
    return notation is not None and not notation.of_truths


def notations_of(table: TextTable, sample: list[Row]) -> list[Notation | None]:
    """Return the notation of each column in a sample of the table's rows; None for a column of texts.

    A column whose notation is doubtful counts as texts if the table may have decimal commas.
    """
    notations = list[Notation | None]()
    for index in range(len(table.columns)):
        cells = [row[index] for row in sample]
        notations.append(_of_values(cells) or notation_of(cells))
    if has_commas(table, notations):
        return [None if one and one.is_doubtful else one for one in notations]
    return notations


def has_commas(table: TextTable, notations: Iterable[Notation | None]) -> bool:
    """Return whether a table may have decimal commas: semicolons separate its cells, or one of its columns has them."""
    return table.by_semicolons or any(one and one.decimal == "," for one in notations)


def _of_values(cells: list[Any]) -> Notation | None:
    """Return the notation of cells that are already numbers or booleans in the text, as in JSON; else None."""
    kinds = set[object](map(type, cells))
    kinds.discard(type(None))
    if kinds == {bool}:
        return _TRUTHS_OF_JSON
    if kinds & {bool, int, float}:
        return _PLAIN_NOTATION
    return None


def notation_of(cells: Iterable[Any]) -> Notation | None:
    """Return the one notation in which all cells that hold a value write numbers; None if there is none."""
    # Checked by shape: of many thousand cells, few still differ once each digit from 2 to 9 is written as 1.
    shapes = {cell.translate(_SAME_SHAPE).strip() for cell in cells if isinstance(cell, str)}
    shapes = set(filter(is_filled, shapes))
    if not shapes:
        return None
    return _of_shapes(shapes)


def _of_shapes(shapes: set[str]) -> Notation | None:
    if all(map(_PLAIN.fullmatch, shapes)):
        return _of_plain(shapes)
    if all(shape.lower() in _TRUTHS for shape in shapes):
        return Notation(of_truths=True)
    signed = set(map(_with_sign, shapes))
    if signed == shapes:
        return _of_amounts(shapes, are_rewritten=False)
    # If all cells are in parentheses, or none looks like an amount, parentheses may mean anything.
    if signed.isdisjoint(shapes):
        return None
    if not any(map(_OF_BOOKKEEPERS.search, shapes)):
        return None
    return _of_amounts(signed, are_rewritten=True)


def _with_sign(text: str) -> str:
    """Return a bookkeeper's negative amount, such as ``(500)``, with a minus before it; any other text as it is."""
    match = _IN_PARENTHESES.fullmatch(text)
    if match is None:
        return text
    return "-" + "".join(filter(None, match.groups()))


def _of_plain(shapes: set[str]) -> Notation | None:
    """Return the notation of numbers as programs write them; None if SQLite would show one of them differently.

    In a column with 3.9, the zero of 3.10 has a meaning, as in versions; in one with 12.25, that of 9.50 has none. A
    REAL 7.0 is shown as 7.0.
    """
    decimals = set[str]()
    for match in filter(None, map(_PLAIN.fullmatch, shapes)):
        if match["decimals"] and not match["exponent"]:
            decimals.add(match["decimals"])
    # The zero of 7.0 does not count, because SQLite writes it too.
    longer = decimals - {"0"}
    has_zeros = any(one.endswith("0") for one in longer)
    lengths = set(map(len, decimals))
    if has_zeros and len(lengths) > 1:
        return None
    if decimals and any(map(_LONG_WHOLE.fullmatch, shapes)):
        return None
    is_doubtful = _is_doubtful([shape.lstrip("-+") for shape in shapes])
    return Notation(is_plain=True, is_doubtful=is_doubtful, drops_zeros=has_zeros)


def _is_doubtful(bodies: list[str]) -> bool:
    """Return whether numbers with points or commas could all be read with a decimal comma as well."""
    digits_and_marks = "".join(bodies)
    has_marks = "." in digits_and_marks or "," in digits_and_marks
    return has_marks and all(map(_COMMA.fullmatch, bodies))


def _of_amounts(shapes: set[str], *, are_rewritten: bool) -> Notation | None:
    """Return the notation of cells such as ``$1,200.50``; None if they have several notations, or none."""
    matches = list(filter(None, map(_AMOUNT.fullmatch, shapes)))
    units = {(match["before"] or match["ahead"], match["after"]) for match in matches}
    if len(matches) < len(shapes) or len(units) > 1:
        return None
    counter = matches[0]["counter"]
    if counter and (counter[0].isupper() or not counter.isalpha()):
        return None  # a house number with a capital letter, or 5½
    unit = " ".join(filter(None, units.pop()))
    bodies = [match["body"] for match in matches]
    has_spaces = any(" " in body for body in bodies)
    if has_spaces and not unit and not any(map(_DECIMALS.search, bodies)):
        return None  # 600 123 456 may be a phone
    if all(map(_POINT.fullmatch, bodies)):
        is_doubtful = _is_doubtful(bodies)
        is_price = unit not in ("", "%") or are_rewritten
        # Nobody writes a price with three decimals, so €1.234 or 1.234- is probably a thousand, but not surely.
        if is_doubtful and is_price and any("." in body for body in bodies):
            return None
        return Notation(unit, is_doubtful=is_doubtful)
    return _with_commas(unit, bodies)


def _with_commas(unit: str, bodies: list[str]) -> Notation | None:
    """Return the notation of amounts with decimal commas; None if they are not such amounts."""
    if not all(map(_COMMA.fullmatch, bodies)):
        return None
    decimals = {len(body.partition(",")[2]) for body in bodies if "," in body}
    if not decimals and not unit:
        return None  # 192.168.100.200
    if len(decimals) > 1 and any(map(_LIKE_A_THOUSAND.fullmatch, bodies)):
        return None  # a column with both 1,200 and 1,5
    return Notation(unit, ",")
