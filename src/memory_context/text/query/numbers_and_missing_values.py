"""How the cells of a column write numbers: ``1,200.50``, ``$5``, ``45%``, ``1.234,50``, ``true``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from memory_context.text.rows.rows_under_columns import Row, TextTable

SAMPLED = 1000
NO_VALUE: Final = (
    *("", "-", "—", "na", "n/a", "nan", "nil", "none", "null"),
    *("<none>", "<nil>", "<unknown>"),
)
# A number as programs write one: 007 is an id, +4912345678 a phone, 12E4 an article, and SQLite would lose the last of
# more than 18 digits.
_PLAIN = re.compile(
    r"(?!\+[0-9]{7})[-+]?(?=\.?[0-9])(?:0|[1-9][0-9]{0,17})?"
    r"(?:\.(?P<decimals>[0-9]{0,17})(?P<exponent>[eE][-+]?[0-9]{1,2})?|[eE][-+][0-9]{1,2})?"
)
# Beside decimals a number is a REAL, which loses the last of more digits.
_LONG_WHOLE = re.compile(r"[-+]?[0-9]{16,}")
_CURRENCY = (
    r"(?:[$€£¥₹₩₽₺₪₫฿]|(?:US|CA|AU|NZ|HK|A|C|S|R)\$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|"
    r"KRW|MXN|NOK|NZD|PLN|RON|RUB|SEK|SGD|THB|TRY|UAH|USD|ZAR)"
)
# What is counted in another script, as in 42名 and 5 шт.; behind Latin letters, as in 12A, stand ids.
_COUNTER = r"(?P<counter>[^\W\d_A-Za-z]{1,4})\.?"
# -$5, $ -5, 5 EUR, 45%: a currency on either side of the sign or behind, around digits with any marks between them;
# which marks these may be is seen over the whole column. A phone such as +4912345678 is none.
_AMOUNT = re.compile(
    rf"(?!\+[0-9]{{7}})(?:[-+\u2212]?(?P<before>{_CURRENCY})?\s?|(?P<ahead>{_CURRENCY})\s?[-+\u2212])"
    rf"(?P<body>[0-9.,' \u2019\u00a0\u202f]{{0,23}}[0-9])\s?(?P<after>{_CURRENCY}|%|{_COUNTER})?"
)
# What bookkeepers write for -500: (500), $(500), 500-; and what tells that it was bookkeepers.
_OF_BOOKKEEPERS = re.compile(rf"[0-9][.,][0-9]|{_CURRENCY}|%")
_IN_PARENTHESES = re.compile(r"([^()0-9]*)\(([^()]+)\)|([^()]*[0-9][^()-]*)-")
_WHOLE = r"(?:[1-9][0-9]{{0,2}}(?:([{group}' \u2019\u00a0\u202f])[0-9]{{3}})(?:\1[0-9]{{3}})*|0|[1-9][0-9]{{0,17}})"
_POINT = re.compile(rf"{_WHOLE.format(group=',')}?(?:\.[0-9]+)?")
_COMMA = re.compile(rf"{_WHOLE.format(group='.')}?(?:,[0-9]+)?")
_DECIMALS = re.compile(r"[.,][0-9]{1,2}$")
_LIKE_A_THOUSAND = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_TRUTHS: Final = {"true": "1", "false": "0"}
_SAME_SHAPE = str.maketrans("23456789", "11111111")


@dataclass(frozen=True, slots=True)
class Notation:
    """How all cells of a column write numbers.

    Attributes:
        unit: The currency, percent sign or counter that each number has.
        decimal: The decimal mark.
        is_plain: Whether SQLite reads the cells by itself, as it does JSON's true and false.
        is_doubtful: Whether they would be other numbers with the other decimal mark.
        of_truths: Whether they are true and false.
    """

    unit: str = ""
    decimal: str = "."
    is_plain: bool = False
    is_doubtful: bool = False
    of_truths: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Return whether the database holds other numerals than the text."""
        return self.of_truths or not self.is_plain

    @property
    def kind(self) -> str:
        """Say what the column holds."""
        if self.of_truths:
            return "number (true 1, false 0)"
        return f"number in {self.unit}" if self.unit else "number"

    def numerals(self, cells: Iterable[str]) -> dict[str, str]:
        """Return for each cell that holds a value the number in it as SQLite reads it."""
        filled = [cell for cell in cells if is_filled(cell)]
        if self.of_truths:
            return {cell: _TRUTHS[cell.strip().lower()] for cell in filled}
        left_out = set(f"{self.unit} \t\n,.'\u2019\u00a0\u202f") - {self.decimal}
        read_as = str.maketrans(dict.fromkeys(left_out) | {self.decimal: ".", "\u2212": "-"})
        return {cell: _with_sign(cell.strip()).rstrip(".").translate(read_as) for cell in filled}


_PLAIN_NOTATION: Final = Notation(is_plain=True)
_TRUTHS_OF_JSON: Final = Notation(is_plain=True, of_truths=True)


def is_filled(cell: str) -> bool:
    """Return whether a cell holds a value."""
    return cell.strip().lower() not in NO_VALUE


def is_plain_number(cell: str) -> bool:
    """Return whether SQLite reads a cell as the number that it is."""
    return _PLAIN.fullmatch(cell.strip()) is not None


def is_number(cell: str) -> bool:
    """Return whether a cell by itself is a number in some notation."""
    text = cell.strip()
    if _PLAIN.fullmatch(text) or _AMOUNT.fullmatch(text):
        return notation_of([text]) is not None
    return False


def notations_of(table: TextTable, sample: list[Row]) -> list[Notation | None]:
    """Return how each column of a table writes numbers in a sample of its rows; None for texts.

    What would be another number with a decimal comma is none where the table may have some.
    """
    columns = [[row[index] for row in sample] for index in range(len(table.columns))]
    notations = [_of_values(cells) or notation_of(cells) for cells in columns]
    if has_commas(table, notations):
        return [None if one and one.is_doubtful else one for one in notations]
    return notations


def has_commas(table: TextTable, notations: Iterable[Notation | None]) -> bool:
    """Return whether a table may have decimal commas: it is cut at semicolons, or one of its columns has some."""
    return table.by_semicolons or any(one and one.decimal == "," for one in notations)


def _of_values(cells: list[Any]) -> Notation | None:
    """Return the notation of cells that are numbers, or true and false, in the text."""
    kinds = set[object](map(type, cells))
    if kinds <= {bool, type(None)}:
        return _TRUTHS_OF_JSON if bool in kinds else None
    return _PLAIN_NOTATION if kinds & {bool, int, float} else None


def notation_of(cells: Iterable[Any]) -> Notation | None:
    """Return the one notation in which all cells that hold a value write numbers; None where there is no such one."""
    # Many cells have few shapes.
    texts = [cell for cell in cells if isinstance(cell, str)]
    shapes = {text.translate(_SAME_SHAPE).strip() for text in texts}
    shapes = set(filter(is_filled, shapes))
    if not shapes:
        return None
    if all(map(_PLAIN.fullmatch, shapes)):
        return _of_plain(shapes)
    if all(shape.lower() in _TRUTHS for shape in shapes):
        return Notation(of_truths=True)
    signed = set(map(_with_sign, shapes))
    # Where all cells stand in parentheses, or none looks like an amount, these may mean anything.
    is_sure = signed == shapes or (signed & shapes and any(map(_OF_BOOKKEEPERS.search, shapes)))
    return _of_amounts(signed, are_rewritten=signed != shapes) if is_sure else None


def _with_sign(text: str) -> str:
    """Return a negative amount of bookkeepers with a minus before it; any other text as it is."""
    match = _IN_PARENTHESES.fullmatch(text)
    return "-" + "".join(filter(None, match.groups())) if match else text


def _of_plain(shapes: set[str]) -> Notation | None:
    """Return the notation of numbers as programs write them; None where a number would not come back as it is written.

    Beside 3.9 the zero of 3.10 tells something; beside 12.25 that of 9.50 does not. 7.0 comes back so.
    """
    matches = [match for match in map(_PLAIN.fullmatch, shapes) if match]
    decimals = {
        match["decimals"] for match in matches if match["decimals"] and not match["exponent"]
    }
    has_zeros = any(one.endswith("0") for one in decimals - {"0"})
    if has_zeros and len(set(map(len, decimals))) > 1:
        return None
    if decimals and any(map(_LONG_WHOLE.fullmatch, shapes)):
        return None
    bodies = [shape.lstrip("-+") for shape in shapes]
    return Notation(is_plain=True, is_doubtful=_is_doubtful(bodies))


def _is_doubtful(bodies: list[str]) -> bool:
    """Return whether digits with points and commas are numbers with a decimal comma, too."""
    return any(re.search("[.,]", body) for body in bodies) and all(map(_COMMA.fullmatch, bodies))


def _of_amounts(shapes: set[str], *, are_rewritten: bool) -> Notation | None:
    """Return the notation of cells such as ``$1,200.50``; None where they have several, or none."""
    matches = [match for match in map(_AMOUNT.fullmatch, shapes) if match]
    units = {(match["before"] or match["ahead"] or "", match["after"] or "") for match in matches}
    if len(matches) < len(shapes) or len(units) > 1:
        return None
    counter = matches[0]["counter"]
    if counter and (counter[0].isupper() or not counter.isalpha()):
        return None  # a house with a large letter, and 5½
    unit = " ".join(filter(None, units.pop()))
    bodies = [match["body"] for match in matches]
    if not unit and any(" " in body for body in bodies) and not any(map(_DECIMALS.search, bodies)):
        return None  # 600 123 456 may be a phone
    if all(map(_POINT.fullmatch, bodies)):
        is_doubtful = _is_doubtful(bodies)
        # Nobody writes a price with three decimals, and €1.234 or 1.234- is no thousand for sure.
        is_price = (unit not in ("", "%") or are_rewritten) and any("." in body for body in bodies)
        return None if is_doubtful and is_price else Notation(unit, is_doubtful=is_doubtful)
    return _with_commas(unit, bodies) if all(map(_COMMA.fullmatch, bodies)) else None


def _with_commas(unit: str, bodies: list[str]) -> Notation | None:
    decimals = {len(body.partition(",")[2]) for body in bodies if "," in body}
    if not decimals and not unit:
        return None  # 192.168.100.200
    if len(decimals) > 1 and any(map(_LIKE_A_THOUSAND.fullmatch, bodies)):
        return None  # 1,200 beside 1,5
    return Notation(unit, ",")
