"""Make an excerpt: the segments of a long text that matter most, within a budget.

Previews, recalled text and partial reads all use the function `excerpt`, each with its own `Ranking`.
`docs/excerpts.md` shows what each part of it is worth on recorded agent runs.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain

from memory_context.model.selection import Cost
from memory_context.sentences_models_read import GAP
from memory_context.text.excerpt.hotspots_of_long_texts import hotspots, is_read_in_parts
from memory_context.text.excerpt.question_regions import fill
from memory_context.text.excerpt.record_around_place import Record, spans_of
from memory_context.text.excerpt.segment_scores import Ranking, score
from memory_context.text.excerpt.segments import Segmentation, split, split_regions
from memory_context.text.excerpt.segments_within_budget import (
    SegmentPacker,
    price_of,
    with_more,
)
from memory_context.text.excerpt.shown_parts_and_gap_marks import (
    FROM_THE_FIRST,
    NOTHING_SHOWN,
    Excerpt,
    ShownLines,
    show_segments,
    show_spans,
)
from memory_context.text.read.paging import fits, truncated
from memory_context.text.relevance.records_meant import records_meant
from memory_context.text.spans import Span, joined
from memory_context.text.terminal_output import without_colours
from memory_context.text.words_of_page import words_of_page

# With READING, a fifth of the budget (at least 400) goes to the best segments, wherever they are. The rest goes to the
# regions that hold most of the question.
BEST_PART = 5
LEAST_BEST = 400
# These parts of a preview are for what the question asks for and, in prose, for the text's beginning; the rest is for names.
ASKED_PART, BEGINNING_PART = 0.3, 0.15
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
        shown = show_segments(found, numbers, sorted(chosen))
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
