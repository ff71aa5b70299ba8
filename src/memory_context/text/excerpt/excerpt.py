"""Make an excerpt: the segments of a long text that matter most, within a budget.

Previews, recalled text and partial reads all use the function `excerpt`, each with its own `Ranking`.
`docs/excerpts.md` shows what each part of it is worth on recorded agent runs.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain

from memory_context.model.selection import Cost
from memory_context.sentences_models_read import GAP, GAP_AT_LINE, MORE_MEMBERS
from memory_context.text.excerpt.hotspots_of_long_texts import hotspots, is_read_in_parts
from memory_context.text.excerpt.question_regions import fill
from memory_context.text.excerpt.record_around_place import Record, spans_of
from memory_context.text.excerpt.segment_scores import Ranking, score
from memory_context.text.excerpt.segments import (
    Segment,
    Segmentation,
    split,
    split_regions,
)
from memory_context.text.excerpt.segments_within_budget import (
    SegmentPacker,
    price_of,
    with_more,
)
from memory_context.text.lines import line_end, line_start, without_colours
from memory_context.text.read.lines_by_number import LineNumbers
from memory_context.text.read.paging import fits, truncated
from memory_context.text.relevance.records_meant import records_meant
from memory_context.text.spans import Span, joined
from memory_context.text.words_of_page import words_of_page

# With READING, a fifth of the budget (at least 400) goes to the best segments, wherever they are. The rest goes to the
# regions that hold most of the question.
BEST_PART = 5
LEAST_BEST = 400
# These parts of a preview are for what the question asks for and, in prose, for the text's beginning; the rest is for names.
ASKED_PART, BEGINNING_PART = 0.3, 0.15
FROM_THE_FIRST = range(1, sys.maxsize)
# What a gap mark costs at most, in tokens.
GAP_COST = 6
READING = Ranking(
    counts_names=False, plain=0, share=0.5, least=0, opening=0, fills=True, finds_records=True
)
ANSWER = replace(READING, fills=False)
PREVIEW = Ranking()
ENDS = Ranking(
    counts_names=False,
    plain=1,
    asked=0,
    near=2000,
    far=0,
    end=1,
    near_end=2000,
    least=0,
    opening=0,
)
WHATEVER = Ranking(least=0)

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


def excerpt(
    text: str,
    question: str,
    budget: int,
    cost: Cost,
    *,
    ranking: Ranking = READING,
    known: AbstractSet[str] = frozenset(),
    first_line: int = 1,
) -> Excerpt:
    """Return the parts of `text` that match `question`; if none does, those that hold the most names.

    With a ranking that finds records, the records that the question means take precedence over other segments.

    It is an excerpt of what a person sees of the text: without a terminal's colours, and of an HTML page its words only.

    The excerpt never costs more than `budget`, in the unit that `cost` counts. The time is linear in the length of the
    text, and the same arguments give the same excerpt.

    Args:
        text: The whole text.
        question: The words that the reader is looking for.
        budget: The most that the excerpt may cost.
        cost: Counts what a text costs, in tokens or characters.
        ranking: What makes a segment worth showing.
        known: Names that the reader has already seen.
        first_line: The number of the text's first line.
    """
    # A person may ask about the tags of a page.
    page = None if ranking is ENDS else words_of_page(text)
    if page is None:
        as_stored = range(first_line, sys.maxsize)
        return _excerpt(without_colours(text), question, budget, cost, ranking, known, as_stored)
    numbers = [first_line - 1 + number for number in page.numbers]
    shown = _excerpt(page.text, question, budget, cost, ranking, known, numbers)
    # No line of the page itself is shown whole.
    return replace(shown, ranges=())


def _excerpt(
    text: str,
    question: str,
    budget: int,
    cost: Cost,
    ranking: Ranking,
    known: AbstractSet[str],
    numbers: Sequence[int],
) -> Excerpt:
    """Return an excerpt as `excerpt` does, of a text that a person sees as it is; *numbers* are those of its lines."""
    regions = [(0, len(text))]
    if is_read_in_parts(text):
        regions = hotspots(text, question)
    records = list[Record]()
    if ranking.finds_records:
        records = records_meant(text, question, regions)
    found = _split(text, [*regions, *spans_of(records)])
    of_records = _segments_of(records, found, budget, cost)

    def packed(question: str, ranking: Ranking) -> list[int]:
        """Return the segments that use the budget best, given a question and a ranking; those of records come first."""
        scores = score(found, question, ranking, known)
        most = budget
        if ranking.fills:
            most = min(budget, max(budget // BEST_PART, LEAST_BEST))
        first = list[int]()
        if ranking.counts_names and question:
            first = _asked_first(found, question, budget, cost)
        best = SegmentPacker(found, scores, ranking, cost).pack(most, first)
        if of_records:
            best = with_more(found, of_records, best, budget, cost)
        if not ranking.fills:
            every = range(len(found.segments))
            return with_more(found, best, every, ranking.opening * budget, cost)
        return fill(found, scores.relevance, best, budget, cost)

    chosen = packed(question, ranking)
    is_answer = bool(chosen)
    heads = set(chain.from_iterable(found.segments[index].heads for index in chosen))
    is_understood = is_answer and heads.issubset(chosen)
    if not is_understood and fits(text, budget, cost):
        lines = ShownLines(text, numbers)
        lines.show(0, len(text))
        return Excerpt(text.removesuffix("\n"), tuple(lines.ranges), is_answer)
    if not is_answer:
        chosen = packed("", WHATEVER)
    shown = _within(budget, found, numbers, chosen, cost)
    return replace(shown, is_answer=is_answer)


def _asked_first(found: Segmentation, question: str, budget: int, cost: Cost) -> list[int]:
    """Return the segments that come first in a preview, because of its question, for a part of *budget*.

    In prose they are those that hold most of the question, and the beginning; elsewhere the records that it means.
    """
    most = ASKED_PART * budget
    if not found.is_prose:
        meant = records_meant(found.text, question, found.regions)
        return _segments_of(meant, found, most, cost)
    asked = score(found, question, READING, frozenset())
    best = SegmentPacker(found, asked, READING, cost).pack(most)
    beginning = with_more(found, [], range(len(found.segments)), BEGINNING_PART * budget, cost)
    return list(dict.fromkeys([*best, *beginning]))


def show_records(
    text: str,
    records: Sequence[Record],
    budget: int,
    cost: Cost,
    numbers: Sequence[int] = FROM_THE_FIRST,
) -> Excerpt:
    """Return an excerpt of nothing but the records and their heads, in the order of the text, with gap marks between them.

    A record that no longer fits the budget is left out.

    Args:
        text: The whole text.
        records: Its records, best first.
        budget: The most that the excerpt may cost.
        cost: Counts what a text costs, in tokens or characters.
        numbers: The numbers of its lines; see `ShownLines`.
    """
    shown = list[Record]()
    remaining = budget
    paid = set[Span]()
    for record in records:
        # Rows of one table have the same head, which is shown once.
        new = set(record.spans) - paid
        price = sum(cost(text[start:stop]) + GAP_COST for start, stop in new)
        if price <= remaining:
            shown.append(record)
            paid |= new
            remaining -= price
    return show_spans(text, sorted(spans_of(shown)), numbers)


def _split(text: str, regions: Iterable[Span]) -> Segmentation:
    """Split a text into segments; if it is long, only its *regions*."""
    if is_read_in_parts(text):
        return split_regions(text, joined(regions))
    return split(text)


def _segments_of(
    records: Iterable[Record], found: Segmentation, budget: float, cost: Cost
) -> list[int]:
    """Return the segments of those *records* that fit the budget, each record with its heads, in the given order."""
    starts = [segment.start for segment in found.segments]
    chosen = list[int]()
    for record in records:
        wanted = list[int]()
        for start, stop in record.spans:
            first = max(0, bisect_right(starts, start) - 1)
            behind = bisect_left(starts, stop)
            wanted += [index for index in range(first, behind) if found.segments[index].end > start]
        more = with_more(found, chosen, wanted, budget, cost)
        if set(wanted).issubset(more):
            chosen = more
    return chosen


def _within(
    budget: int,
    found: Segmentation,
    numbers: Sequence[int],
    chosen: list[int],
    cost: Cost,
) -> Excerpt:
    """Render the *chosen* segments, dropping the last chosen ones until the excerpt costs no more than *budget*."""
    while chosen:
        shown = _rendered(found, numbers, sorted(chosen))
        over = cost(shown.text) - budget
        if over <= 0:
            return shown
        # Rendered together, segments may cost more than the sum of their prices. At least one is dropped each time,
        # so the loop ends.
        while chosen and over > 0:
            over -= price_of(found, chosen.pop(), cost)
    return _beginning(found.text, budget, cost)


def _beginning(text: str, budget: int, cost: Cost) -> Excerpt:
    """Return the first characters of a text, for when not even one segment fits."""
    if not text.strip():
        return NOTHING_SHOWN
    mark = f" {GAP}"
    shown = truncated(text.lstrip(), budget - cost(mark), cost)
    beginning = shown.rstrip() + mark
    if cost(beginning) <= budget:
        return Excerpt(beginning, is_answer=False)
    return NOTHING_SHOWN


def _rendered(found: Segmentation, numbers: Sequence[int], indexes: list[int]) -> Excerpt:
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
