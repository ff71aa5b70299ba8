"""Partial reads: what a selection gives of a text, page by page, within a budget."""

from __future__ import annotations

from collections.abc import Iterator

from memory_context.exceptions import BudgetTooSmallError, NothingMatchedError
from memory_context.model.item import MemoryItem, count_lines, encodable
from memory_context.model.media import decoded, described
from memory_context.model.selection import Cost, Page, Selection, check_offset, page_of, quoted
from memory_context.runtime import prompts
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.read.grep import matching_lines
from memory_context.text.read.jsonpath import found_values, parts_of
from memory_context.text.read.paging import Span, cut, next_page, parse_ranges, spans_of_lines
from memory_context.text.read.sql_rows import found_rows

DEFAULT_ANSWER = 500
LONGEST_FOOTER = 600
LONGEST_KEY = 60
MOST_RANGES = 12
_LARGEST_PART = prompts.PART_LINES.format(
    lines="1000000-1000000", count=1e6, start=1e6, end=1e6, chars=1e6
)


def read_part(text: str, selection: Selection, offset: int, budget: int | None, cost: Cost) -> Page:
    """The page of what `selection` gives of `text` that begins at `offset`; its text takes at most `budget` of `cost`.

    Raises:
        InvalidSelectionError: It cannot be used on this text; says why, and what could be.
        NothingMatchedError: It gives nothing; says what is there.
        SelectionTimeoutError: It takes too long.
        BudgetTooSmallError: `budget` does not hold anything of it.
    """
    if budget is not None and budget < 1:
        raise BudgetTooSmallError
    match selection.selector:
        case "contains" | "pattern":
            return page_of(
                matching_lines(text, count_lines(text), selection, budget), offset, budget, cost
            )
        case "path":
            return _values(text, selection.path or "", offset, budget, cost)
        case "where":
            return page_of(found_rows(text, selection, offset, budget), offset, budget, cost)
        case "query":
            return _excerpt(text, selection.query or "", budget, cost)
        case _:
            return _lines(text, selection.lines, offset, budget, cost)


def _values(text: str, path: str, offset: int, budget: int | None, cost: Cost) -> Page:
    """The values that were found; of one that is too large for a page, its parts."""
    found = found_values(text, path)
    parts = parts_of(found) if budget is not None or offset else None
    if parts is None:
        return page_of(found, offset, budget, cost)
    whole = (
        None
        if offset or budget is None or found.size(0) > 8 * budget
        else page_of(found, 0, budget, cost)
    )
    if whole is not None and whole.text == found.render(0, 1):
        return whole
    return page_of(parts, offset, budget, cost)


def _excerpt(text: str, query: str, budget: int | None, cost: Cost) -> Page:
    chosen = excerpt(text, query, DEFAULT_ANSWER if budget is None else budget, cost)
    if text and not chosen.text:
        raise BudgetTooSmallError
    ranges = chosen.ranges
    wording = (
        prompts.PART_EXCERPT if 0 < len(ranges) <= MOST_RANGES else prompts.PART_EXCERPT_BRIEFLY
    )
    shown = sum(last - first + 1 for first, last in ranges)
    return Page(
        chosen.text, wording.format(lines=_ranges(ranges), count=count_lines(text)), None, shown
    )


def _ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{first}-{last}" for first, last in ranges)


def _lines(text: str, lines: str | None, offset: int, budget: int | None, cost: Cost) -> Page:
    """Lines as they stand, page by page; a mark stands where lines between them are left out."""
    count = count_lines(text)
    spans = (
        [Span(0, len(text), 1, count)]
        if lines is None
        else spans_of_lines(text, parse_ranges(lines, count))
    )
    total = spans[-1].end
    check_offset(offset, total)
    pieces = list(_pieces(text, spans, offset, budget, cost))
    shown = text[pieces[0].start : pieces[0].end]
    for piece in pieces[1:]:
        shown += f"\n{_gap(piece)}\n{text[piece.start : piece.end]}"
    if budget is not None and (over := cost(shown) - budget) > 0:
        if over >= budget:
            raise BudgetTooSmallError
        return _lines(text, lines, offset, budget - over, cost)
    return Page(shown, _part_of_lines(text, pieces, count), _next(pieces[-1].end, total), total)


def _pieces(
    text: str, spans: list[Span], offset: int, budget: int | None, cost: Cost
) -> Iterator[Span]:
    """What a page from `offset` on shows of `spans`; it ends before a span of which no line fits any more."""
    left, before = budget, None
    for span in spans:
        if 0 < span.end <= offset:
            continue
        if left is not None and before is not None:
            left -= cost(_gap(span)) + 2
            if left < 1:
                return
        piece = _piece(text, span, max(span.start, offset), left, cost)
        if before is not None and piece.end < span.end and text[piece.end - 1] != "\n":
            return
        yield piece
        if piece.end < span.end:
            return
        left = None if left is None else left - cost(text[piece.start : piece.end])
        before = piece


def _piece(text: str, span: Span, start: int, left: int | None, cost: Cost) -> Span:
    """As much of `span` from `start` on as there is room for."""
    if left is not None:
        return next_page(text, start, span.end, left, cost)
    return span if start == span.start else next_page(text, start, span.end, len(text), len)


def _gap(after: Span) -> str:
    return prompts.GAP_AT_LINE.format(line=after.first)


def _next(end: int, total: int) -> int | None:
    return end if end < total else None


def _part_of_lines(text: str, pieces: list[Span], count: int) -> str:
    lines = _ranges(tuple((piece.first, piece.last) for piece in pieces))
    start, end = pieces[0].start, pieces[-1].end
    return prompts.PART_LINES.format(
        lines=lines, count=count, start=start, end=end, chars=len(text)
    )


def answer(item: MemoryItem, selection: Selection, offset: int, most: int, cost: Cost) -> str:
    """A page for a model: reference, what part of how much it is, text, and the call for the next page.

    It takes at most `most` of `cost`. Binary content is described.

    Raises:
        InvalidSelectionError: See `read_part`.
        SelectionTimeoutError: See `read_part`.
        BudgetTooSmallError: See `read_part`.
    """
    head = _head(item, most, cost)
    if (what := described_binary(item, selection)) is not None:
        return prompts.BINARY.format(ref=head, what=what)
    try:
        return encodable(_framed(item.text, item, selection, offset, most, cost))
    except NothingMatchedError as error:
        return cut(prompts.NOTHING_MATCHED.format(ref=head, message=error), most, cost)


def described_binary(item: MemoryItem, selection: Selection) -> str | None:
    """What binary content is, or a text that is nothing but base64, unless a part of it is asked for."""
    if isinstance(item.content, bytes):
        return described(item.content, item.media_type)
    encoded = decoded(item.content) if selection.selector in ("whole", "query") else None
    return None if encoded is None else f"base64 of {described(encoded.data, encoded.media_type)}"


def _framed(
    text: str, item: MemoryItem, selection: Selection, offset: int, most: int, cost: Cost
) -> str:
    """The page in its frame."""
    head = _head(item, most, cost)
    frame = prompts.PAGE.format(ref=head, part=_LARGEST_PART, text="")
    budget = most - cost(f"{frame}\n\n{_footer(item, selection, len(text) or 1, most, cost)}")
    while True:
        page = read_part(text, selection, offset, budget, cost)
        body = prompts.PAGE.format(ref=head, part=page.part, text=page.text.removesuffix("\n"))
        whole = f"{body}\n{_footer(item, selection, page.next_offset, most, cost)}"
        spent = cost(whole)
        if spent <= most:
            return whole
        budget -= spent - most


def _head(item: MemoryItem, most: int, cost: Cost) -> str:
    """The reference; its key where it is long, and of a very long key the beginning."""
    short = f"[MemoryRef: {item.memory_key}]"
    return next(
        (text for text in (item.ref.render(), short) if cost(text) <= most // 3),
        f"{short[:LONGEST_KEY]}…]",
    )


def _footer(
    item: MemoryItem, selection: Selection, next_offset: int | None, most: int, cost: Cost
) -> str:
    """How to go on: as a call, unless that would be very long."""
    if selection.selector == "query":
        footer = prompts.OTHER_LINES.format(key=item.memory_key)
    elif next_offset is None:
        return prompts.NO_MORE
    else:
        arguments = {"key": item.memory_key, **selection.arguments, "offset": next_offset}
        footer = prompts.NEXT_PAGE.format(
            arguments=", ".join(f"{k}={quoted(v)}" for k, v in arguments.items())
        )
    brief = prompts.NEXT_PAGE_BRIEFLY.format(offset=next_offset)
    return footer if len(footer) <= LONGEST_FOOTER and cost(footer) <= most // 3 else brief
