"""The excerpt: of a long text, the segments that matter, within a budget.

Previews, recalled text and partial reads are this one function; only the rankings differ. `docs/excerpts.md` has what
each of them is worth on recorded agent runs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby

from memory_context.model.selection import Cost
from memory_context.text.excerpt.hotspots_of_long_texts import LARGE, hotspots
from memory_context.text.excerpt.question_regions import fill
from memory_context.text.excerpt.segment_scores import Ranking, from_both_ends, score
from memory_context.text.excerpt.segments import Segment, Segmentation, split, split_regions
from memory_context.text.excerpt.segments_within_budget import (
    GAP_TOKENS,
    SAMPLE,
    SegmentPacker,
    price_of,
    with_more,
)
from memory_context.text.lines import line_end
from memory_context.text.ranges import Span, joined
from memory_context.text.read.line_ranges import LineNumbers
from memory_context.wording_for_models import GAP, GAP_AT_LINE, MORE_MEMBERS

CHARACTERS_PER_UNIT = 8
# Of the budget of a question a fifth, but 400 at least, goes to the best segments wherever they stand.
BEST_PART = 5
LEAST_BEST = 400
# A preview of which little is worth its price shows either end, up to this part of its budget; of a text that costs so
# many times as much up to all of it, for beside what folding saves there a preview costs nothing.
ENDS_PART = 0.3
FAR_LARGER = 128
READING = Ranking(names=0, plain=0, share=0.5, least=0, fills=True)
ANSWER = replace(READING, fills=False)
PREVIEW = Ranking()
ENDS = Ranking(names=0, plain=1, asked=0, near=2000, far=0, end=1, near_end=2000, least=0)
WHATEVER = Ranking(least=0)

_BREAK_IN_MEMBER = re.compile(r"\s*\n\s*")
# A slice of what lies between two parts would copy a whole text.
_SAYS = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some segments of a text, in order.

    Attributes:
        text: The segments, with ``…`` for what is left out between them: alone where it is a part of a line, with the
            number of the next line where it is lines. Of JSON, records with their paths, each of them JSON by itself.
        ranges: The first and the last line (from 1) of each run of lines that are shown whole.
        is_answer: Whether any of it speaks of the question.
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
    """Return the segments of `text` that speak of `question`; where none does, those that hold the most names.

    It never costs more than `budget`, whatever unit `cost` counts in; time is linear in the text; the same arguments
    give the same excerpt.

    Args:
        text: The whole text.
        question: What its reader wants to know.
        budget: The most that the excerpt costs.
        cost: What a text costs, in tokens or characters.
        ranking: What a segment is worth.
        known: Names that its reader has seen.
        first_line: The number of the text's first line.
    """
    found = split(text) if len(text) <= LARGE else split_regions(text, hotspots(text, question))
    is_preview = ranking == PREVIEW
    is_far_larger = is_preview and _is_far_larger(text, budget, cost)
    room = budget
    ends = list[int]()
    if is_far_larger or (is_preview and len(text) > LARGE):
        # Either end has its room first, unless it is so long that the rest would have none.
        count = len(found.segments)
        outer = [0, count - 1][:count]  # one segment is both, and `[]` has none
        price = sum(price_of(found, index, cost) + GAP_TOKENS for index in outer)
        if price <= budget // 2:
            ends, room = outer, budget - price

    def packed(question: str, ranking: Ranking) -> list[int]:
        scores = score(found, question, ranking, known)
        if not ranking.fills:
            return SegmentPacker(found, scores, ranking, cost).pack(room)
        first = min(budget, max(budget // BEST_PART, LEAST_BEST))
        best = SegmentPacker(found, scores, ranking, cost).pack(first)
        scores = score(found, question, replace(ranking, share=0), known)
        return fill(found, scores.relevance, best, budget, cost)

    chosen = packed(question, ranking)
    is_answer = bool(chosen)
    if not chosen:
        # The first look spares counting a text that is far too large.
        if len(text) <= CHARACTERS_PER_UNIT * budget and cost(text) <= budget:
            whole = text.removesuffix("\n")
            lines = (first_line, first_line + whole.count("\n"))
            return Excerpt(whole, (lines,), is_answer=False)
        chosen = packed("", WHATEVER)
    if not chosen:
        return _beginning(text, budget, cost)
    if is_preview:
        most = budget if is_far_larger else budget * ENDS_PART
        outermost_first = from_both_ends(range(len(found.segments)))
        chosen = with_more(found, [*ends, *chosen], outermost_first, most, cost)
    shown = _within(budget, found, first_line, chosen, cost)
    return replace(shown, is_answer=is_answer)


def _is_far_larger(text: str, budget: float, cost: Cost) -> bool:
    """Return whether a text costs far more than *budget*, by what its beginning costs."""
    return len(text) * cost(text[:SAMPLE]) > FAR_LARGER * budget * SAMPLE


def _within(
    budget: int,
    found: Segmentation,
    first_line: int,
    chosen: list[int],
    cost: Cost,
) -> Excerpt:
    """Write the *chosen* segments; without those that come last as long as all of them cost more than *budget*."""
    while chosen:
        shown = _rendered(found, first_line, sorted(chosen))
        over = cost(shown.text) - budget
        if over <= 0:
            return shown
        # Segments cost more together than one by one: at least one goes, so that this ends.
        while chosen and over > 0:
            over -= price_of(found, chosen.pop(), cost)
    return NOTHING_SHOWN


def _beginning(text: str, budget: int, cost: Cost) -> Excerpt:
    """Return the first characters of a text of which not even one segment fits."""
    shown = text.lstrip()[: max(0, budget)]
    while shown:
        beginning = f"{shown} {GAP}"
        if cost(beginning) <= budget:
            return Excerpt(beginning, is_answer=False)
        # A quarter less each time: few counts, and little room wasted.
        shown = shown[: len(shown) * 3 // 4]
    return NOTHING_SHOWN


def _rendered(found: Segmentation, first_line: int, indexes: list[int]) -> Excerpt:
    """Write the segments as one text; each record of JSON on a line of its own."""
    text = found.text
    lines = ShownLines(text, first_line)
    shown, behind, is_record = "", 0, False
    for run in _runs(found, indexes):
        start, end = run[0].start, run[-1].end
        is_record = bool(found.containers[run[0].container].path)
        if is_record:
            if shown:
                shown += "\n"
            shown += _record(found, run)
            for segment in run:
                lines.show(segment.start, segment.end)
        else:
            shown += gap_between(text, behind, start, lines) + text[start:end]
            lines.show(start, end)
        behind = end
    shown = shown.rstrip("\n")
    rest = text[behind:].rstrip()
    if rest and not is_record:
        shown += f"\n{GAP}" if "\n" in rest else f" {GAP}"
    return Excerpt(shown, tuple(joined(lines.ranges)))


def _runs(found: Segmentation, indexes: list[int]) -> Iterator[list[Segment]]:
    """Yield the segments of one record together; in a text, those that follow one another.

    Between two regions of a large text lies what was not split.
    """
    regions = [start for start, _ in found.regions]

    def run_of(numbered: tuple[int, int]) -> tuple[int, ...]:
        place, index = numbered
        segment = found.segments[index]
        if found.containers[segment.container].path:
            return (segment.container,)
        # The difference stays the same where indexes follow one another.
        return segment.container, bisect_right(regions, segment.start), index - place

    for _, run in groupby(enumerate(indexes), run_of):
        yield [found.segments[index] for _, index in run]


def gap_between(text: str, behind: int, start: int, lines: ShownLines) -> str:
    """Return what stands between what is shown already, up to *behind*, and the next part."""
    if not _SAYS.search(text, behind, start):
        return text[behind:start] if behind else lines.opening()
    if text.find("\n", behind, start) < 0:
        return f" {GAP} " if behind else f"{GAP} "
    gap = GAP_AT_LINE.format(line=lines.number_at(start)) + "\n"
    if behind:
        gap = "\n" + gap
    if text[start - 1] != "\n":
        gap += f"{GAP} "
    return gap


def _record(found: Segmentation, run: Sequence[Segment]) -> str:
    """Write a path, with the members that are shown as JSON, or the segments of one long string."""
    text, container = found.text, found.containers[run[0].container]
    if container.kind == "text":
        shown, behind = f"{container.path}: ", run[0].start
        for segment in run:
            if segment.start != behind:
                shown += f" {GAP} "
            shown += text[segment.start : segment.end]
            behind = segment.end
        return shown
    members = list[str]()
    missing = container.size
    for segment in run:
        members.append(_BREAK_IN_MEMBER.sub(" ", text[segment.start : segment.end]))
        missing -= segment.members
    if missing:
        members.append(MORE_MEMBERS[container.kind].format(count=missing))
    opening, closing = "{}" if container.kind == "object" else "[]"
    return f"{container.path} {opening}{', '.join(members)}{closing}"


class ShownLines:
    """Numbers the lines of a text, and notes which were shown whole.

    Attributes:
        ranges: The first and the last line of what was shown, part by part.
    """

    def __init__(self, text: str, first: int = 1) -> None:
        self.ranges = list[Span]()
        self._text, self._numbers, self._before = text, LineNumbers(text), first - 1

    def opening(self) -> str:
        """Return what stands before the text's first line: the number that it has in a longer text."""
        return GAP_AT_LINE.format(line=self.number_at(0)) + "\n" if self._before else ""

    def number_at(self, place: int) -> int:
        """Return the number of the line that `place` stands in."""
        return self._before + self._numbers.at(place)

    def show(self, start: int, end: int) -> None:
        """Note the lines that ``text[start:end]`` holds whole."""
        text = self._text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        behind = text[end : line_end(text, end)]
        ends_line = text[end - 1 : end] == "\n"
        first, last = self.number_at(start), self.number_at(end)
        if before.strip():
            first += 1
        # A comma behind a member of JSON does not count as a part of the line that is missing.
        if ends_line or behind.strip(" \t\r,"):
            last -= 1
        if last >= first:
            self.ranges.append((first, last))
