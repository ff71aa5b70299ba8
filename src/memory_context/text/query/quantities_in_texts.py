"""Recognise quantities in texts, such as ``12 (3m ago)`` and ``5ms``.

Also decide whether texts sort in the order of the quantities in them, and whether CAST reads a text correctly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from memory_context.text.query.dates_and_times import may_be_later, moment
from memory_context.text.query.number_notations_and_missing_values import (
    SAMPLED,
    is_number,
    notation_of,
)

LONGEST_SHOWN = 40
# A text that CAST reads correctly: no digits; a number, then something that does not belong to it, as in `12 (3m ago)`;
# or a date, whose year CAST reads. A minus after the number, a closing parenthesis and the other end of a range do
# belong to it. 19 digits mostly fit into 64 bits, 20 do not.
_CAST_TAKES = re.compile(
    r"[^0-9]*|\s*[-+]?(?:[0-9]{1,19}(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?![0-9.]|,[0-9]|['\u2019\s][0-9]{3}|[xX][0-9a-fA-F]|\s*(?:-\s*$|\)|[-\u2013]\s?[0-9])).*|[0-9]{4}-[0-9]{2}(?![0-9]).*",
    re.DOTALL,
)
# Digits as in 007, 1,200 and $2.5K. Not addresses, versions (1.10.0) or phone numbers, which are not ordered as numbers.
_WITH_UNIT = re.compile(
    r"\s*(?!\+[0-9]{7})[-+]?[$€£~#≈<>≤≥]?\s?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,40})(?:[.,][0-9]+)?"
    r"(?:[+*]|\s?°?[^\W\d_]{1,3}\.?(?:/s|(?:[0-9]+[a-z]{1,2})*)|\s(?:second|minute|hour|day|week|month|year)s?(?:\sago)?|"
    r"\s*\([^()]*\))?\s*"
)
# 2e3, which may also be an id.
_WITH_EXPONENT = re.compile(r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?[eE][-+]?[0-9]{1,3}")
_UNIT = re.compile(r"\s*[-+]?[$€£~#≈<>≤≥]?\s?[0-9.,]+\s?([A-Za-zµ]+)")
# The seconds in each unit of time.
SECONDS = {
    unit: seconds
    for units, seconds in (
        ("ns", 1e-9),
        ("us µs", 1e-6),
        ("ms", 1e-3),
        ("s sec second seconds", 1),
        ("m min minute minutes", 60),
        ("h hr hour hours", 3600),
        ("d day days", 86_400),
        ("w week weeks", 604_800),
        ("month months", 2_629_800),
        ("year years", 31_557_600),
    )
    for unit in units.split()
}
# 4K, 4KiB, and 4Ki, as Kubernetes writes it.
_BYTES = re.compile("([kKMGT]?)(?:i?B|(?<=[kKMGT])i)?")
_DIGITS = re.compile(r"([-\u2212]?)[^-0-9]*([0-9][0-9.,]*)")
_BY_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
# 3.10 or v1.10.0-rc1, which come after 3.9 and v1.9.0. An address has four parts, and no such order.
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:[-+]?[a-z][\w.+-]*)?")
_NESTED = re.compile(r"""\{["}]|\[(?:["{\[\]]|-?[0-9])""")

_Reading = Callable[[str], Any]


def is_quantity(text: str) -> bool:
    """Return whether a text is a number, perhaps followed by a unit or a remark."""
    return _WITH_UNIT.fullmatch(text) is not None or is_number(text)


def is_nested(text: str) -> bool:
    """Return whether a text is an object or a list of JSON, or the beginning of one."""
    return _NESTED.match(text) is not None


def is_cast_whole(text: str) -> bool:
    """Return whether CAST reads a text as the number that it begins with, and no other number can be meant."""
    if _CAST_TAKES.fullmatch(text) is None:
        return False
    if _ISO_DATE.match(text):
        return True
    if not any(map(str.isdigit, text)):
        return True
    return is_quantity(text) or moment(text) is None


def out_of_order(texts: Sequence[str]) -> tuple[str, str] | None:
    """Return two quantities or dates, the smaller first, that sort the other way round as texts; None if all sort well.

    Return None also if most texts are neither, such as titles of which one is ``300``. If the texts can be read in several
    ways, such as dates with the day or the month first, they must sort well in each. Two times in different zones, one of
    them known only by a name such as CET, must be so far apart that they sort well in any zone.
    """
    sample = texts[:SAMPLED]
    readings = _READINGS
    # If all texts are numbers, they are not versions, which are the last reading.
    if notation_of(texts) is not None:
        readings = _READINGS[:-1]
    counts = list[int]()
    for reading in readings:
        read = [text for text in sample if reading(text) is not None]
        counts.append(len(read))
    most = max(counts)
    if 2 * most < len(sample):
        return None
    ordered = sorted(texts)
    for reading, count in zip(readings, counts, strict=True):
        # A reading that fails on texts that others read is wrong: with the month first, 28.02. is no date.
        if count == most:
            found = _first_out_of_order(ordered, reading)
            if found is not None:
                return found
    return None


def _first_out_of_order(ordered: list[str], reading: _Reading) -> tuple[str, str] | None:
    values = map(reading, ordered)
    read = [(value, text) for value, text in zip(values, ordered, strict=True) if value is not None]
    for (before, first), (after, second) in pairwise(read):
        if before > after:
            return second, first
    in_zones = [
        (value, text) for value, text in read if isinstance(value, datetime) and value.tzname()
    ]
    for (before, first), (after, second) in pairwise(in_zones):
        if may_be_later(before, after):
            return second, first
    return None


def quantity(text: str) -> float | None:
    """Return a quantity in its base unit (see `unit_of`), with points and commas read as they are most often meant.

    Return None for a text that is not a quantity.
    """
    if _WITH_EXPONENT.fullmatch(text):
        return float(text)
    if not is_quantity(text):
        return None
    sign, digits = _DIGITS.findall(text)[0]
    digits = digits.rstrip(".,")
    if _BY_THOUSANDS.fullmatch(digits) or digits.count(",") > 1:
        digits = digits.replace(",", "")
    if digits.count(".") > 1 or "," in digits:
        digits = digits.replace(".", "")
    _, factor = unit_of(text) or ("", 1.0)
    number = float(digits.replace(",", "."))
    if sign:
        number = -number
    return number * factor


def unit_of(text: str) -> tuple[str, float] | None:
    """Return what the unit after a number measures, and its factor: ``time`` in seconds, or ``size`` (4K) in bytes.

    Return None without such a unit.
    """
    unit = _UNIT.match(text)
    if unit is None:
        return None
    if unit[1] in SECONDS:
        return "time", SECONDS[unit[1]]
    size = _BYTES.fullmatch(unit[1])
    if size is None:
        return None
    power = " KMGT".index(size[1].upper() or " ")
    return "size", 1000.0**power


def _version(text: str) -> tuple[int, ...] | None:
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    return tuple(int(part or 0) for part in match.groups())


_READINGS: tuple[_Reading, ...] = (
    quantity,
    moment,
    partial(moment, is_month_first=True),
    _version,
)


def instead(name: str) -> str:
    """Return advice on turning an expression that gives texts into one of numbers, or of texts that sort in order."""
    return (
        f"write CAST({name} AS REAL) for the number that a text begins with (3.10 is 3.1, a date its year), "
        "or an expression with substr, replace or CASE"
    )


def shown(text: str) -> str:
    """Return a text in quotes, on one line, cut to 40 characters."""
    return f"'{' '.join(text.split())[:LONGEST_SHOWN]}'"
