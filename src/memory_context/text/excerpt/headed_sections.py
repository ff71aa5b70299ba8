"""Sections under headings that no text writes by chance: a title behind a rule, as test runners draw it, a diff's, HTML's.

The files of a diff are such sections, and its hunks are within them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from memory_context.text.lines import line_end, line_spans
from memory_context.text.ranges import Span

# How far before a place headings are looked for, and how far behind it.
FARTHEST_HEADING = 32_000
FARTHEST_END = 8_000
LONGEST_SECTION = 1200
LONG_HEADING = 160
# Of a longer one so much is shown before what is looked for.
BEFORE = 400
# The outermost first.
_OF_DIFFS = ("commit", "file", "hunk")
_OF_HTML = ("<h1", "<h2", "<h3", "<h4", "<h5", "<h6")
# What a heading begins with: looked for first, for few texts have one.
_MARKS = (
    *("====", "____", "----", "~~~~", "****", "@@ -", "diff --git ", "commit "),
    *_OF_HTML,
    *map(str.upper, _OF_HTML),
)
_HEADING = re.compile(
    r"""
    ^(?: (?P<rule>[=_*~-])(?P=rule){3,}[ ]*[^\W_]
       | (?P<commit>commit\ [0-9a-f]{7,40})\b
       | (?P<file>diff\ --git\ )
       # Without git a file begins with its old name, above its new one.
       | (?P<old>---\ )(?=.*\n\+\+\+\ )
       | (?P<hunk>@@\ -\d)
       | [ \t]*(?P<html><[hH][1-6])[\s>]
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_IN_HUNK = (" ", "+", "-", "\\", "\n")
# How a test says what failed: pytest marks it, others name an error.
_FAULT = re.compile(
    r"^(?:E  |.*(?:Error\b|Exception\b|panicked|Expected\b|expected\b))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Section:
    """What a heading stands above.

    Attributes:
        span: Its lines, as far as they are shown.
        heads: The headings around it, outermost first; its own one, where its lines begin further below.
        is_record: Whether it is one thing, and not a part of a text that holds many.
        is_of_diff: Whether it is a commit, a file of a diff, or a hunk.
    """

    span: Span
    heads: list[Span]
    is_record: bool
    is_of_diff: bool


@dataclass(frozen=True, slots=True)
class _Heading:
    place: int
    kind: str
    rank: int


def section_at(text: str, start: int) -> Section | None:
    """Return the innermost section that the line at `start` is in; of a heading its own, with those within it.

    Of one of more than 1,200 characters that is what stands around the line, and of a heading what tells a failure.
    """
    headings = _headings(text, start)
    last = bisect_right(headings, start, key=_place) - 1
    if last < 0:
        return None
    own = headings[last]
    is_heading = own.place == start
    behind = [one for one in headings[last + 1 :] if not is_heading or one.rank <= own.rank]
    stop = behind[0].place if behind else min(len(text), start + FARTHEST_END)
    if own.kind == "hunk":
        stop = _end_of_hunk(text, own.place, stop)
        if stop < start:
            return None
    is_of_diff = own.kind in _OF_DIFFS
    # What has sections within it is a part of the text, such as all failures of a run; and so is a long one.
    is_within = own.rank > 0 or not any(one.rank for one in headings)
    is_short = stop - own.place <= LONGEST_SECTION
    is_record = is_of_diff or is_heading or (is_within and is_short)
    nearest = start
    if is_heading and not is_of_diff and (fault := _FAULT.search(text, start, stop)):
        nearest = fault.start()
    span = _shown(text, own.place, stop, nearest)
    heads = [_head(text, one) for one in _around(headings[:last], own.rank)]
    if span[0] > own.place or not is_record:
        heads.append(_head(text, own))
    return Section(span, heads, is_record, is_of_diff)


def _headings(text: str, start: int) -> list[_Heading]:
    """Return the headings around a place; what a text has first is around what it has then."""
    begin = max(0, start - FARTHEST_HEADING)
    if all(text.find(mark, begin, start + LONG_HEADING) < 0 for mark in _MARKS):
        return []
    begin = text.find("\n", begin, start) + 1 if begin else 0
    found = list[tuple[int, str]]()
    for match in _HEADING.finditer(text, begin, start + FARTHEST_END):
        kind = match["rule"] or (match["html"] or "").lower() or match.lastgroup or ""
        if kind == "old":
            kind = "file"
            if found and found[-1][1] == kind:
                continue  # git has named it in the line before
        found.append((match.start(), kind))
    ranks = {kind: rank for rank, kind in enumerate(dict.fromkeys(kind for _, kind in found))}
    # Far down in a diff a hunk may be what is met first, and above a page's title the headings of its menu.
    for ordered in (_OF_DIFFS, _OF_HTML):
        present = [kind for kind in ordered if kind in ranks]
        ranks |= zip(present, sorted(map(ranks.__getitem__, present)), strict=True)
    return [_Heading(place, kind, ranks[kind]) for place, kind in found]


def _place(heading: _Heading) -> int:
    return heading.place


def _around(above: Sequence[_Heading], rank: int) -> list[_Heading]:
    """Return the headings of the sections that hold one of a rank, outermost first."""
    around = list[_Heading]()
    for heading in reversed(above):
        if heading.rank < rank:
            rank = heading.rank
            around.append(heading)
    return around[::-1]


def _head(text: str, heading: _Heading) -> Span:
    """Return where a heading stands; of a commit that is also who made it and when."""
    start = heading.place
    if heading.kind == "commit":
        behind = text.find("\n\n", start, start + LONG_HEADING)
        if behind > 0:
            return start, behind
    return start, min(line_end(text, start), start + LONG_HEADING)


def _end_of_hunk(text: str, start: int, stop: int) -> int:
    """Return where the lines of a hunk end: the last one that is changed or stands beside such a line."""
    behind = line_end(text, start) + 1
    for begin, end in line_spans(text, behind, stop):
        if not text.startswith(_IN_HUNK, begin):
            return begin
        behind = end
    return behind


def _shown(text: str, start: int, stop: int, place: int) -> Span:
    """Return which whole lines of a section are shown: if it is long, those around a place."""
    if stop - start > LONGEST_SECTION:
        if place - start > BEFORE:
            start = text.find("\n", place - BEFORE, place) + 1 or place
        stop = min(stop, start + LONGEST_SECTION)
        stop = max(line_end(text, place), text.rfind("\n", place, stop))
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
