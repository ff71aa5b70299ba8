"""Cut a page that fits a budget: a text after a line; a list of matches, values or rows between two of them.

An *offset* is where the next page begins: a number of characters of a text, or of items of a list.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Protocol

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import BudgetTooSmallError, InvalidSelectionError
from memory_context.model.item import count_lines
from memory_context.model.selection import Cost, Page
from memory_context.text.read.lines_by_number import LineSpan, parse_ranges, spans_of_lines
from memory_context.text.spans import Span

# Prose has about four characters per token, code fewer. No more than twice that is tried.
CHARACTERS_TRIED_PER_TOKEN = 8
# A run of one repeated character may have this many characters per token. A longer text never fits.
MOST_CHARACTERS_PER_TOKEN = 64


class Pageable(Protocol):
    """A list of items to page through: matching lines, values or rows."""

    @property
    def total(self) -> int:
        """Return how many items there are."""
        ...

    def render(self, start: int, end: int) -> str:
        """Render the items from `start` up to `end`."""
        ...

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield one item, shortened more and more."""
        ...

    def part(self, start: int, end: int) -> str:
        """Return a phrase that says which part of the whole the items from `start` up to `end` are."""
        ...


def page_of(items: Pageable, offset: int, budget: int | None, cost: Cost) -> Page:
    """Return as many items as `budget` allows, from `offset` on; at least one, shortened if need be.

    Raises:
        InvalidSelectionError: `offset` is beyond the end.
        BudgetTooSmallError: Not even a shortened item fits `budget`.
    """
    total = items.total
    check_offset(offset, total)
    end = total
    if budget is not None:
        end = _end_of_page(items, offset, budget, cost)
    text = items.render(offset, end)
    if end == offset < total and budget is not None:
        end = offset + 1
        for text in items.shorter_and_shorter(offset):
            if text and cost(text) <= budget:
                break
        else:
            raise BudgetTooSmallError(
                f"max_tokens leaves {budget} tokens for the text, which is too little; give more, or select less"
            )
    next_offset = end if end < total else None
    return Page(text, items.part(offset, end), next_offset, total)


def check_offset(offset: int, total: int) -> None:
    """Check that `offset` is within a selection of `total` items or characters; 0 is always valid.

    Raises:
        InvalidSelectionError: It is not.
    """
    last = max(total, 1) - 1
    if not 0 <= offset <= last:
        raise InvalidSelectionError(
            f"offset={offset} lies outside what was selected; it must be from 0 to {last}"
        )


def _end_of_page(items: Pageable, start: int, budget: int, cost: Cost) -> int:
    """Return the end of the longest run of items from `start` on that fits `budget`; `start` if not even one does."""

    def is_too_long(end: int) -> bool:
        return not fits(items.render(start, end), budget, cost)

    count = 1
    left = items.total - start
    while count < left and not is_too_long(start + count):
        count *= 2
    first = start + 1
    ends = range(first, first + min(count, left))
    return start + bisect_left(ends, True, key=is_too_long)  # noqa: FBT003 - what is looked for


def fits(text: str, budget: int, cost: Cost) -> bool:
    """Return whether *text* costs at most *budget*; the cost of a far too long text is not computed."""
    if len(text) > MOST_CHARACTERS_PER_TOKEN * budget:
        return False
    return cost(text) <= budget


def page_of_lines(
    text: str, lines: str | None, offset: int, budget: int | None, cost: Cost
) -> Page:
    """Return a page of the lines that `lines` selects, or of all, with a gap mark between two ranges.

    Raises:
        InvalidSelectionError: `lines` is not a line range, or `offset` is beyond the end.
        BudgetTooSmallError: No part of them fits `budget`.
    """
    if budget is None:
        budget = sys.maxsize
        cost = len
    count = count_lines(text)
    spans = [LineSpan(0, len(text), 1, count)]
    if lines is not None:
        spans = spans_of_lines(text, parse_ranges(lines, count))
    total = spans[-1].end
    check_offset(offset, total)
    if not text:
        return Page("", prompts.PART_EMPTY, None, 0)
    while True:
        shown = list(_spans_of_page(text, spans, offset, budget, cost))
        page = text[shown[0].start : shown[0].end]
        for span in shown[1:]:
            part = text[span.start : span.end]
            page += f"\n{_gap_before(span)}\n{part}"
        # A text may have more tokens than its parts together.
        excess = cost(page) - budget
        if excess <= 0:
            break
        if excess >= budget:
            raise BudgetTooSmallError
        budget -= excess
    start = shown[0].start
    end = shown[-1].end
    numbers = line_numbers((span.first, span.last) for span in shown)
    part = prompts.PART_LINES.format(
        lines=numbers, count=count, start=start, end=end, chars=len(text)
    )
    next_offset = end if end < total else None
    return Page(page, part, next_offset, total)


def _spans_of_page(
    text: str, spans: list[LineSpan], offset: int, budget: int, cost: Cost
) -> Iterator[LineSpan]:
    """Yield the parts of `spans` on the page that begins at `offset`.

    The page ends before a later span of which not even one line fits.
    """
    is_first = True
    for span in spans:
        if 0 < span.end <= offset:
            continue
        if not is_first:
            budget -= cost(_gap_before(span)) + 2
            if budget < 1:
                return
        start = max(span.start, offset)
        shown = next_page(text, start, span.end, budget, cost)
        is_cut = shown.end < span.end
        is_cut_within_line = is_cut and text[shown.end - 1] != "\n"
        if is_cut_within_line and not is_first:
            return
        yield shown
        if is_cut:
            return
        budget -= cost(text[shown.start : shown.end])
        is_first = False


def _gap_before(span: LineSpan) -> str:
    return prompts.GAP_AT_LINE.format(line=span.first)


def line_numbers(ranges: Iterable[Span]) -> str:
    """Return ranges of lines in the form ``1-5, 90-99``."""
    return ", ".join(f"{first}-{last}" for first, last in ranges)


def truncated(text: str, budget: int, cost: Cost) -> str:
    """Return `text`, or as much of its beginning as `budget` allows."""
    page = next_page(text, 0, len(text), budget, cost)
    return text[: page.end]


def next_page(text: str, start: int, end: int, budget: int, cost: Cost) -> LineSpan:
    """Return as much of the beginning of ``text[start:end]`` as `budget` allows, but at least one character.

    If it must be cut, it is cut after the last line break in it, if there is one.
    """
    size = min(end - start, CHARACTERS_TRIED_PER_TOKEN * max(budget, 1))
    while size > 1:
        spent = cost(text[start : start + size])
        if spent <= budget:
            break
        # Reduced in proportion to the cost, but at least by a tenth, so that few rounds are needed.
        in_proportion = size * budget // spent
        size = max(1, min(in_proportion, size * 9 // 10))
    stop = start + size
    if stop < end:
        stop = text.rfind("\n", start, stop) + 1 or stop
    first = text.count("\n", 0, start) + 1
    # A line break at the end still belongs to the last line.
    last_character = max(start, stop - 1)
    last = first + text.count("\n", start, last_character)
    return LineSpan(start, stop, first, last)
