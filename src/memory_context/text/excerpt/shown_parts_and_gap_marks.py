"""Show parts of a text with gap marks between them, which give the number of the line that follows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_context.sentences_models_read import GAP, GAP_AT_LINE, MORE_MEMBERS
from memory_context.text.excerpt.segments import Segment, Segmentation
from memory_context.text.lines import line_end, line_start
from memory_context.text.read.lines_by_number import LineNumbers
from memory_context.text.spans import Span, joined

FROM_THE_FIRST = range(1, sys.maxsize)
# A line break in a member. An escaped one must have a sign of JSON after it: otherwise it belongs to the text of a string.
_BREAK_IN_MEMBER = re.compile(r"""\s*(?:\n|\\+n(?=\s*\\*["'}\]]))\s*""")
_ONLY_BREAKS = re.compile(r"(?:\s|\\+[nrt])*")
# A pattern, because slicing the gap between two parts to test it could copy nearly the whole text.
_NON_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some segments of a text, in order.

    Attributes:
        text: The segments, with ``…`` for each gap between them, followed by the number of the next line if the gap ends
            in a later line. For JSON: records with their paths, each of them valid JSON.
        ranges: The first and the last line (from 1) of each run of lines that are shown whole.
        is_answer: Whether any part of it matches the question.
    """

    text: str
    ranges: tuple[Span, ...] = ()
    is_answer: bool = True


NOTHING_SHOWN = Excerpt("")


def show_segments(found: Segmentation, numbers: Sequence[int], indexes: list[int]) -> Excerpt:
    """Render the segments as one text; each JSON record on a line of its own."""
    text = found.text
    segments = [found.segments[index] for index in indexes]
    if len(found.containers) == 1:
        return show_spans(text, ((one.start, one.end) for one in segments), numbers)
    lines = ShownLines(text, numbers)
    shown = dict[tuple[int, int], list[Segment]]()
    place = end = 0
    for segment in segments:
        lines.show(segment.start, segment.end)
        if _NON_SPACE.search(text, end, segment.start):
            place = segment.start
        end = segment.end
        # A record is shown once, before the objects and lists in it. What is in no record is shown where it is.
        key = (segment.container, 0 if segment.container else place)
        shown.setdefault(key, []).append(segment)
    records = (_rendered_record(found, run, lines) for run in shown.values())
    return Excerpt("\n".join(records), tuple(joined(lines.ranges)))


def show_spans(
    text: str, spans: Iterable[Span], numbers: Sequence[int] = FROM_THE_FIRST
) -> Excerpt:
    """Return an excerpt of *spans* with gap marks between them; the spans are in the order of the text, and may overlap.

    Args:
        text: The whole text.
        spans: The parts to show.
        numbers: The numbers of its lines; see `ShownLines`.
    """
    parts = list[Span]()
    for start, stop in spans:
        # Pieces of a line with nothing but white space between them are one part, so that the line counts as whole.
        if parts and not _NON_SPACE.search(text, parts[-1][1], start):
            first, last = parts.pop()
            parts.append((first, max(last, stop)))
        else:
            parts.append((start, stop))
    lines = ShownLines(text, numbers)
    shown = ""
    shown_end = 0
    for start, stop in parts:
        shown += gap_between(text, shown_end, start, lines)
        shown += text[start:stop]
        lines.show(start, stop)
        shown_end = stop
    shown = shown.rstrip("\n")
    if shown and _NON_SPACE.search(text, shown_end):
        shown += f" {GAP}"
    return Excerpt(shown, tuple(joined(lines.ranges)))


def gap_between(text: str, shown_end: int, start: int, lines: ShownLines) -> str:
    """Return what to write between the part shown so far, which ends at *shown_end*, and the part from *start*."""
    if not _NON_SPACE.search(text, shown_end, start):
        if shown_end:
            return text[shown_end:start]
        return lines.opening()
    if text.find("\n", shown_end, start) < 0:
        if shown_end:
            return f" {GAP} "
        return f"{GAP} "
    gap = lines.gap_before(start)
    if shown_end:
        gap = f"{_mark_at_cut(text, shown_end)}\n{gap}"
    if _NON_SPACE.search(text, line_start(text, start), start):
        gap += f"{GAP} "
    return gap


def _mark_at_cut(text: str, end: int) -> str:
    """Return a gap mark if the line goes on behind a part that ends at *end*."""
    if _NON_SPACE.search(text, end, line_end(text, end - 1)):
        return f" {GAP}"
    return ""


def _rendered_record(found: Segmentation, run: Sequence[Segment], lines: ShownLines) -> str:
    """Render a record: its path, and then the shown members as JSON, or the shown segments of a long string.

    What is in no record is rendered as it is, behind the number of its line.
    """
    text = found.text
    container = found.containers[run[0].container]
    shown_end = run[0].start
    if not container.path:
        end = run[-1].end
        return (
            gap_between(text, 0, shown_end, lines) + text[shown_end:end] + _mark_at_cut(text, end)
        )
    if container.kind == "text":
        shown = f"{container.path}: "
        for segment in run:
            gap = text[shown_end : segment.start]
            shown += gap if _ONLY_BREAKS.fullmatch(gap) else f" {GAP} "
            shown += text[segment.start : segment.end]
            shown_end = segment.end
        return shown
    members = list[str]()
    missing = container.size
    for segment in run:
        member = text[segment.start : segment.end]
        members.append(_BREAK_IN_MEMBER.sub(" ", member))
        missing -= segment.members
    if missing:
        members.append(MORE_MEMBERS[container.kind].format(count=missing))
    inside = ", ".join(members)
    if container.kind == "object":
        return f"{container.path} {{{inside}}}"
    return f"{container.path} [{inside}]"


class ShownLines:
    """Numbers the lines of a text, and records which of them were shown whole.

    Attributes:
        ranges: The first and the last whole line of each part that was shown.
    """

    def __init__(self, text: str, numbers: Sequence[int] = FROM_THE_FIRST) -> None:
        """Number the lines of *text* with *numbers*, one for each line; gap marks have none if these are empty."""
        self.ranges = list[Span]()
        self._text = text
        self._lines = LineNumbers(text)
        self._numbers = numbers

    def opening(self) -> str:
        """Return the gap mark before the first line, if the text begins within a longer one; otherwise nothing."""
        if self._numbers and self._numbers[0] > 1:
            return self.gap_before(0)
        return ""

    def gap_before(self, place: int) -> str:
        """Return the gap mark above the line that the offset `place` is in."""
        if not self._numbers:
            return f"{GAP}\n"
        return GAP_AT_LINE.format(line=self._number_at(place)) + "\n"

    def show(self, start: int, end: int) -> None:
        """Record the lines that ``text[start:end]`` holds whole."""
        if not self._numbers:
            return
        text = self._text
        before = text[line_start(text, start) : start]
        after = text[end : line_end(text, end)]
        ends_line = text[end - 1 : end] == "\n"
        first = self._number_at(start)
        last = self._number_at(end)
        if before.strip():
            first += 1
        # A line counts as whole even if the comma after a JSON member is not shown.
        if ends_line or after.strip(" \t\r,"):
            last -= 1
        if last >= first:
            self.ranges.append((first, last))

    def _number_at(self, place: int) -> int:
        return self._numbers[self._lines.at(place) - 1]
