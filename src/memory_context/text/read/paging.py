"""Parts of a text: by line numbers, and page by page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_context.exceptions import InvalidLinesError
from memory_context.model.selection import Cost

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
        message = f'lines={lines!r} means nothing; write "120-180", "500-", "-40" (the last 40), "7" or "1-5,90-99"'
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


def parse_ranges(lines: str, count: int) -> list[tuple[int, int]]:
    """The lines that `lines` means, as `parse_lines` takes them, with commas between several; ascending, each once.

    Raises:
        InvalidLinesError: See `parse_lines`.
    """
    merged = list[tuple[int, int]]()
    for first, last in sorted(parse_lines(part, count) for part in lines.split(",")):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def spans_of_lines(text: str, ranges: Iterable[tuple[int, int]]) -> list[Span]:
    """Where the ascending `ranges` of lines stand."""
    spans = list[Span]()
    start, line = 0, 1
    for first, last in ranges:
        start = _start_of_line(text, start, first - line)
        end = _start_of_line(text, start, last - first + 1)
        spans.append(Span(start, min(end - 1, len(text)), first, last))
        start, line = end, last + 1
    return spans


def _start_of_line(text: str, start: int, lines: int) -> int:
    """Where the line stands that comes `lines` lines after the one at `start`; behind the end if none does."""
    for _ in range(lines):
        start = text.find("\n", start) + 1 or len(text) + 1
    return start


def span_of_lines(text: str, first: int, last: int) -> Span:
    """Where lines `first` to `last` (from 1) stand; the last one's line break is not part of them."""
    return spans_of_lines(text, [(first, last)])[0]


def cut(text: str, budget: int, cost: Cost) -> str:
    """`text`, or as much of its beginning as `budget` allows."""
    return text if not text else text[: next_page(text, 0, len(text), budget, cost).end]


def next_page(text: str, start: int, end: int, budget: int, cost: Cost) -> Span:
    """As much of ``text[start:end]`` from its beginning as `budget` allows, at least one character.

    It is cut behind a line if one ends in it.
    """
    stop = min(end, start + CHARACTERS_TRIED_PER_TOKEN * max(budget, 1))
    while stop > start + 1 and (spent := cost(text[start:stop])) > budget:
        stop = max(
            start + 1, start + min((stop - start) * budget // spent, (stop - start) * 9 // 10)
        )
    if stop < end:
        stop = text.rfind("\n", start, stop) + 1 or stop
    first = text.count("\n", 0, start) + 1
    return Span(start, stop, first, first + text.count("\n", start, max(start, stop - 1)))
