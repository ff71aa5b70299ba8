"""Find the section around a line, under headings that do not occur in a text by chance.

Such headings are a title after a rule, as test runners draw it (``===== FAILURES``), those of HTML, and the first lines
of commits, files and hunks in a diff. Sections are nested: a file of a diff holds its hunks. A heading's *rank* is its
level: 0 is the outermost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from memory_context.text.lines import line_end, line_spans
from memory_context.text.spans import Span

# How far before a place to look for headings, and how far after it.
FARTHEST_HEADING = 32_000
FARTHEST_END = 8_000
LONGEST_SECTION = 1200
LONG_HEADING = 160
# In a section longer than `LONGEST_SECTION`, how many characters before the wanted line are shown.
BEFORE = 400
# Kinds of headings that have a fixed order, outermost first.
_OF_DIFFS = ("commit", "file", "hunk")
_OF_HTML = ("<h1", "<h2", "<h3", "<h4", "<h5", "<h6")
_HEADING = re.compile(
    r"""
    ^(?: (?P<rule>[=_*~-])(?P=rule){3,}[ ]*[^\W_]
       | (?P<commit>commit\ [0-9a-f]{7,40})\b
       | (?P<file>diff\ --git\ )
       # In a diff that git did not write, a file begins with its old name, above the new one.
       | (?P<old>---\ )(?=.*\n\+\+\+\ )
       | (?P<hunk>@@\ -\d)
       | [ \t]*(?P<html><[hH][1-6])[\s>]
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_IN_HUNK = (" ", "+", "-", "\\", "\n")
# The line on which a test runner says what failed: pytest marks it with `E`, others name an error.
_FAULT = re.compile(
    r"^(?:E  |.*(?:Error\b|Exception\b|panicked|Expected\b|expected\b))", re.MULTILINE
)


class Section(NamedTuple):
    """The lines under a heading.

    Attributes:
        span: Its lines, as far as they are shown.
        heads: The headings of the sections around it, outermost first; then its own heading if `span` begins further
            below or the section is not a record.
        is_record: Whether it is one thing, such as one failed test, and not a part of the text with many things in it.
        is_of_diff: Whether it is a commit, a file of a diff, or a hunk.
    """

    span: Span
    heads: list[Span]
    is_record: bool
    is_of_diff: bool


class _Heading(NamedTuple):
    place: int
    kind: str
    rank: int


def section_at(text: str, start: int) -> Section | None:
    """Return the innermost section that the line at `start` is in; None if it is in none.

    A heading is in the section that it begins, which then includes all sections within it. Of a section of more than
    1,200 characters, only the lines around the given one are shown; for a heading, those around the reported failure.
    """
    headings = _headings(text, start)
    last = bisect_right(headings, start, key=attrgetter("place")) - 1
    if last < 0:
        return None
    heading = headings[last]
    is_heading = heading.place == start
    stop = min(len(text), start + FARTHEST_END)
    for following in headings[last + 1 :]:
        if not is_heading or following.rank <= heading.rank:
            stop = following.place
            break
    if heading.kind == "hunk":
        stop = _end_of_hunk(text, heading.place, stop)
        if stop <= start:
            return None
    is_of_diff = heading.kind in _OF_DIFFS
    is_record = is_of_diff or is_heading
    # An outermost section of a text with nested ones is not a record, but a part such as "all failures of this run".
    # Neither is a long section.
    has_inner = any(one.rank for one in headings)
    if heading.rank or not has_inner:
        is_record = is_record or stop - heading.place <= LONGEST_SECTION
    nearest = start
    if is_heading and not is_of_diff:
        fault = _FAULT.search(text, start, stop)
        nearest = fault.start() if fault else start
    span = _shown(text, heading.place, stop, nearest)
    heads = [_head(text, one) for one in _around(headings[:last], heading.rank)]
    if span[0] > heading.place or not is_record:
        heads.append(_head(text, heading))
    return Section(span, heads, is_record, is_of_diff)


def _headings(text: str, start: int) -> list[_Heading]:
    """Return the headings near a place, in order; the kind of heading that occurs first is the outermost."""
    begin = max(0, start - FARTHEST_HEADING)
    if begin:
        begin = text.find("\n", begin, start) + 1
    found = list[tuple[int, str]]()
    ranks = dict[str, int]()
    for match in _HEADING.finditer(text, begin, start + FARTHEST_END):
        html = match["html"] or ""
        kind = match["rule"] or html.lower() or match.lastgroup or ""
        if kind == "old":
            kind = "file"
            if found and found[-1][1] == kind:
                continue  # the line `diff --git` above has already begun this file
        found.append((match.start(), kind))
        ranks.setdefault(kind, len(ranks))
    # The first kind met is not always the outermost: reading may begin in the middle of a diff, at a hunk, and a page's
    # menu may have headings above the page's title. So kinds with a fixed order are put in that order.
    for ordered in (_OF_DIFFS, _OF_HTML):
        present = [kind for kind in ordered if kind in ranks]
        in_order = sorted(ranks[kind] for kind in present)
        ranks |= zip(present, in_order, strict=True)
    return [_Heading(place, kind, ranks[kind]) for place, kind in found]


def _around(above: Sequence[_Heading], rank: int) -> list[_Heading]:
    """Return the headings of the sections around one of the given rank, outermost first."""
    around = list[_Heading]()
    for heading in reversed(above):
        if heading.rank < rank:
            rank = heading.rank
            around.append(heading)
    return around[::-1]


def _head(text: str, heading: _Heading) -> Span:
    """Return the span of a heading; for a commit this includes its author and date."""
    start = heading.place
    if heading.kind == "commit":
        blank_line = text.find("\n\n", start, start + LONG_HEADING)
        if blank_line > 0:
            return start, blank_line
    return start, min(line_end(text, start), start + LONG_HEADING)


def _end_of_hunk(text: str, start: int, stop: int) -> int:
    """Return where the hunk that begins at `start` ends: at the first line that is neither changed nor context."""
    hunk_end = line_end(text, start) + 1
    for begin, end in line_spans(text, hunk_end, stop):
        if not text.startswith(_IN_HUNK, begin):
            return begin
        hunk_end = end
    return hunk_end


def _shown(text: str, start: int, stop: int, place: int) -> Span:
    """Return the span of the lines of a section that are shown: all, or those around a place if the section is long."""
    if stop - start > LONGEST_SECTION:
        if place - start > BEFORE:
            start = text.find("\n", place - BEFORE, place) + 1 or place
        stop = min(stop, start + LONGEST_SECTION)
        last_line_end = text.rfind("\n", place, stop)
        stop = max(line_end(text, place), last_line_end)
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
