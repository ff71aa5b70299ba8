"""Parts of a text: by line numbers, and page by page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_context._excerpt import Cost
from memory_context.exceptions import InvalidLinesError

CHARACTERS_TRIED_PER_TOKEN = 8
_LINES = re.compile(
    r" *(?:(?P<first>[0-9]{1,12})(?P<to> *- *(?P<last>[0-9]{1,12})?)?|-(?P<tail>[0-9]{1,12})) *",
)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: characters ``start`` (from 0) up to ``end``, which lie in lines `first` to `last` (from 1)."""

    start: int
    end: int
    first: int
    last: int


def parse_lines(lines: str, count: int) -> tuple[int, int]:
    """The first and the last line (from 1) that `lines` means in a text of `count` lines.

    Raises:
        InvalidLinesError: It is of another form than ``120-180``, ``500-``, ``-40``, ``7``, or lies outside the text.
    """
    match = _LINES.fullmatch(lines)
    if match is None:
        message = f'lines={lines!r} means nothing; write "120-180", "500-", "-40" (the last 40) or "7"'
        raise InvalidLinesError(message)
    if match["tail"]:
        first, last = max(1, count - int(match["tail"]) + 1), count
    else:
        first = int(match["first"])
        last = int(match["last"] or count) if match["to"] else first
    if not 1 <= first <= min(last, count):
        message = f"lines={lines!r} lies outside the text, which has lines 1 to {count}"
        raise InvalidLinesError(message)
    return first, min(last, count)


def span_of_lines(text: str, first: int, last: int) -> Span:
    """Where lines `first` to `last` (from 1) stand; the last one's line break is not part of them."""
    start = 0
    for _ in range(first - 1):
        start = text.index("\n", start) + 1
    end = start
    for _ in range(last - first + 1):
        end = text.find("\n", end) + 1 or len(text) + 1
    return Span(start, min(end - 1, len(text)), first, last)


def next_page(text: str, start: int, end: int, budget: int, cost: Cost) -> Span:
    """As much of ``text[start:end]`` from its beginning as `budget` allows, at least one character.

    It is cut behind a line if one ends in it.
    """
    stop = min(end, start + CHARACTERS_TRIED_PER_TOKEN * max(budget, 1))
    while stop > start + 1 and (spent := cost(text[start:stop])) > budget:
        stop = max(start + 1, start + min((stop - start) * budget // spent, (stop - start) * 9 // 10))
    if stop < end:
        stop = text.rfind("\n", start, stop) + 1 or stop
    first = text.count("\n", 0, start) + 1
    return Span(start, stop, first, first + text.count("\n", start, max(start, stop - 1)))
