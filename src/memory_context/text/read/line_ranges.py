"""Lines by their numbers: what ``120-180`` or ``-40`` means, and where these lines stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_context.exceptions import InvalidLinesError
from memory_context.text.ranges import Span, joined

LINE_BLOCK = 1 << 14  # characters
# Twelve digits: enough for every text, and no number that takes long to convert.
_LINES = re.compile(
    r"""
    \ *(?:
        (?P<first>[0-9]{1,12}) (?P<to>\ *-\ *(?P<last>[0-9]{1,12})?)?
        | -(?P<tail>[0-9]{1,12})
    )\ *
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class LineSpan:
    """A part of a text: characters ``start`` (from 0) up to ``end``, which lie in lines `first` to `last` (from 1)."""

    start: int
    end: int
    first: int
    last: int


class LineNumbers:
    """The numbers of lines of a text, which is gone through once, however many places are asked about."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._before = [0]

    def at(self, place: int) -> int:
        """Return the number, from 1, of the line that holds the offset `place`."""
        block, counted = place // LINE_BLOCK, len(self._before)
        for start in range((counted - 1) * LINE_BLOCK, block * LINE_BLOCK, LINE_BLOCK):
            more = self._text.count("\n", start, start + LINE_BLOCK)
            self._before.append(self._before[-1] + more)
        return 1 + self._before[block] + self._text.count("\n", block * LINE_BLOCK, place)


def parse_lines(lines: str, count: int) -> Span:
    """Return the first and the last line (from 1) that `lines` means in a text of `count` lines.

    Raises:
        InvalidLinesError: It is of another form than ``120-180``, ``500-``, ``-40``, ``7``, or lies outside the text.
    """
    match = _LINES.fullmatch(lines)
    if match is None:
        raise InvalidLinesError(
            f'lines={lines!r} is not a line range; write "120-180", "500-", "-40" (the last 40), "7" or '
            '"1-5,90-99"'
        )
    last = count
    if match["tail"]:
        # The last 40 lines of a text of 10 are all 10, as with `tail`.
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
            f"lines={lines!r} lies outside the text, which has lines 1 to {count}"
        )
    return first, min(last, count)


def parse_ranges(lines: str, count: int) -> list[Span]:
    """Return the ranges that `lines` names, as `parse_lines` takes them, with commas between several.

    They are ascending, and each line is in one of them only.

    Raises:
        InvalidLinesError: See `parse_lines`.
    """
    return joined(parse_lines(part, count) for part in lines.split(","))


def span_of_lines(text: str, first: int, last: int) -> LineSpan:
    """Return where lines `first` to `last` (from 1) stand; the last one's line break is not part of them."""
    return spans_of_lines(text, [(first, last)])[0]


def spans_of_lines(text: str, ranges: Iterable[Span]) -> list[LineSpan]:
    """Return where the ascending `ranges` of lines stand."""
    spans = list[LineSpan]()
    start, line = 0, 1
    for first, last in ranges:
        start = _skip_lines(text, start, first - line)
        behind = _skip_lines(text, start, last - first + 1)
        spans.append(LineSpan(start, min(behind - 1, len(text)), first, last))
        start, line = behind, last + 1
    return spans


def _skip_lines(text: str, start: int, count: int) -> int:
    """Return where the line begins that comes `count` lines after the one at `start`; behind the end if none does."""
    for _ in range(count):
        # One behind the end, as if there were a line break: the caller takes that off again.
        start = text.find("\n", start) + 1 or len(text) + 1
    return start
