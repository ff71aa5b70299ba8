"""Select lines by their numbers: parse ``120-180`` or ``-40``, and find these lines in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from memory_context.exceptions import InvalidLinesError
from memory_context.text.spans import Span, joined

LINE_BLOCK = 1 << 14  # characters
# Twelve digits are enough for every text, and quick to convert.
_LINES = re.compile(
    r"""
    \ *(?:
        (?P<first>[0-9]{1,12}) (?P<to>\ *-\ *(?P<last>[0-9]{1,12})?)?
        | -(?P<tail>[0-9]{1,12})
    )\ *
    """,
    re.VERBOSE,
)


class LineSpan(NamedTuple):
    """A part of a text: its characters from offset `start` up to `end`, which are in lines `first` to `last` (from 1)."""

    start: int
    end: int
    first: int
    last: int


class LineNumbers:
    """Gives the line number of any offset in a text, which is read only once, however many offsets are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._before = [0]

    def at(self, place: int) -> int:
        """Return the number (from 1) of the line that holds the offset `place`."""
        block = place // LINE_BLOCK
        before = self._before
        for counted in range(len(before), block + 1):
            end = counted * LINE_BLOCK
            more = self._text.count("\n", end - LINE_BLOCK, end)
            before.append(before[-1] + more)
        in_block = self._text.count("\n", block * LINE_BLOCK, place)
        return 1 + before[block] + in_block


def parse_lines(lines: str, count: int) -> Span:
    """Return the first and the last line (from 1) of the range `lines` in a text of `count` lines.

    Raises:
        InvalidLinesError: `lines` is not of the form ``120-180``, ``500-``, ``-40`` or ``7``, or is outside the text.
    """
    match = _LINES.fullmatch(lines)
    if match is None:
        raise InvalidLinesError(
            f'lines={lines!r} is not a line range; write "120-180", "500-", "-40" (the last 40), "7" or '
            '"1-5,90-99"'
        )
    last = count
    if match["tail"]:
        # As with `tail`, the last 40 lines of a text of 10 lines are all 10.
        first = max(1, count - int(match["tail"]) + 1)
    else:
        first = int(match["first"])
        if match["last"]:
            last = int(match["last"])
        elif not match["to"]:
            last = first
    if match["last"] and last < first:
        raise InvalidLinesError(f"lines={lines!r} ends before it begins")
    if not 1 <= first <= count:
        raise InvalidLinesError(
            f"lines={lines!r} lies outside the text, which has lines 1 to {count}; "
            "numbers in the text itself do not count"
        )
    return first, min(last, count)


def parse_ranges(lines: str, count: int) -> list[Span]:
    """Return the ranges in `lines`: one or several of the forms of `parse_lines`, separated by commas.

    The ranges are ascending and do not overlap.

    Raises:
        InvalidLinesError: See `parse_lines`.
    """
    return joined(parse_lines(part, count) for part in lines.split(","))


def span_of_lines(text: str, first: int, last: int) -> LineSpan:
    """Return the span of the lines `first` to `last` (from 1), without the last one's line break."""
    return spans_of_lines(text, [(first, last)])[0]


def spans_of_lines(text: str, ranges: Iterable[Span]) -> list[LineSpan]:
    """Return the span of each of the `ranges` of lines, which must be ascending."""
    spans = list[LineSpan]()
    start = 0
    line = 1
    for first, last in ranges:
        start = _skip_lines(text, start, first - line)
        next_start = _skip_lines(text, start, last - first + 1)
        spans.append(LineSpan(start, min(next_start - 1, len(text)), first, last))
        start = next_start
        line = last + 1
    return spans


def _skip_lines(text: str, start: int, count: int) -> int:
    """Return the offset of the line `count` lines after the one at `start`; beyond the end if there is none."""
    for _ in range(count):
        # One character beyond the end, as if a line break ended the text: the caller subtracts it again.
        start = text.find("\n", start) + 1 or len(text) + 1
    return start
