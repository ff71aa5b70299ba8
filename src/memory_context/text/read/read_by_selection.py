"""Read one page of the part of a text that a selection asks for, bare or framed as a tool's answer."""

from __future__ import annotations

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import BudgetTooSmallError, NothingMatchedError
from memory_context.model.item import MemoryItem, count_lines, encodable, is_query_answer
from memory_context.model.media_types_and_image_sizes import described, embedded_bytes
from memory_context.model.selection import Cost, Page, Selection
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.json_documents import to_json
from memory_context.text.read.grep import matching_lines
from memory_context.text.read.pages_of_json import page_of_values
from memory_context.text.read.paging import line_numbers, page_of, page_of_lines, truncated
from memory_context.text.read.rows_where_sql_holds import found_rows

DEFAULT_ANSWER = 500
LONGEST_FOOTER = 600
LONGEST_KEY = 60
MOST_RANGES = 12
_LARGEST_PART = prompts.PART_LINES.format(
    lines="1000000-1000000", count=1e6, start=1e6, end=1e6, chars=1e6
)


def read_part(
    text: str,
    selection: Selection,
    offset: int,
    budget: int | None,
    cost: Cost,
    *,
    is_answer: bool = False,
) -> Page:
    """Return the page that begins at `offset` of the part of `text` that `selection` asks for.

    The text of the page costs at most `budget`, in the unit of `cost`. *is_answer* is whether `text` is the saved answer
    of a query.

    Raises:
        InvalidSelectionError: The selection cannot be used on this text; the message says why, and what could be used.
        NothingMatchedError: The selection finds nothing; the message says what there is.
        SelectionTimeoutError: Reading takes too long.
        BudgetTooSmallError: Not even a shortened item fits `budget`.
    """
    if budget is not None and budget < 1:
        raise BudgetTooSmallError
    match selection.selector:
        case "contains" | "pattern":
            lines = matching_lines(text, selection, budget)
            return page_of(lines, offset, budget, cost)
        case "path":
            return page_of_values(text, selection.path or "", offset, budget, cost)
        case "where":
            rows = found_rows(text, selection, offset, budget, is_answer=is_answer)
            return page_of(rows, offset, budget, cost)
        case "query":
            return _excerpt_page(text, selection.query or "", budget, cost)
        case _:
            return page_of_lines(text, selection.lines, offset, budget, cost)


def _excerpt_page(text: str, query: str, budget: int | None, cost: Cost) -> Page:
    if budget is None:
        budget = DEFAULT_ANSWER
    chosen = excerpt(text, query, budget, cost)
    if text and not chosen.text:
        raise BudgetTooSmallError
    part = prompts.PART_EXCERPT_BRIEFLY
    if 0 < len(chosen.ranges) <= MOST_RANGES:
        part = prompts.PART_EXCERPT
    how = prompts.CHOSEN_FOR_QUERY if chosen.is_answer else prompts.NOTHING_FOR_QUERY
    lines = line_numbers(chosen.ranges)
    part = part.format(lines=lines, count=count_lines(text), chosen=how)
    shown = sum(last - first + 1 for first, last in chosen.ranges)
    return Page(chosen.text, part, None, shown)


def answer(item: MemoryItem, selection: Selection, offset: int, most: int, cost: Cost) -> str:
    """Return a page for a model: the reference, which part of the whole it is, the text, and the call for the next page.

    It costs at most `most`, in the unit of `cost`, or two thirds of that if more follows: so the last page is not tiny.
    Each page costs a call, and every call sends all earlier pages again. Binary content is only described.

    Raises:
        InvalidSelectionError: See `read_part`.
        SelectionTimeoutError: See `read_part`.
        BudgetTooSmallError: See `read_part`.
    """
    head = _head(item, most, cost)
    description = described_binary(item, selection)
    if description is not None:
        return prompts.BINARY.format(ref=head, what=description)
    frame = prompts.PAGE.format(ref=head, part=_LARGEST_PART, text="")
    # The footer is longest if the next page begins at the largest offset.
    footer = _footer(item, selection, len(item.text) or 1, most, cost)
    around = cost(f"{frame}\n\n{footer}")
    budget = most - around
    most_if_more_follows = most * 2 // 3 - around
    while True:
        try:
            page = read_part(
                item.text, selection, offset, budget, cost, is_answer=is_query_answer(item)
            )
        except NothingMatchedError as error:
            message = prompts.NOTHING_MATCHED.format(ref=head, message=error)
            return truncated(message, most, cost)
        if page.next_offset is not None and budget > most_if_more_follows > 0:
            budget = most_if_more_follows
            continue
        body = prompts.PAGE.format(ref=head, part=page.part, text=page.text.removesuffix("\n"))
        # A query whose answer is the whole text has no other parts.
        asked = Selection() if page.text == item.text.rstrip() else selection
        footer = _footer(item, asked, page.next_offset, most, cost)
        framed = f"{body}\n{footer}"
        spent = cost(framed)
        if spent <= most:
            return encodable(framed)
        budget -= spent - most


def described_binary(item: MemoryItem, selection: Selection) -> str | None:
    """Return a description of binary content, or of a text that is all base64 unless a part is asked for; otherwise None."""
    if isinstance(item.content, bytes):
        return described(item.content, item.media_type)
    if selection.selector not in ("whole", "query"):
        return None
    encoded = embedded_bytes(item.content)
    if encoded is None:
        return None
    return f"base64 of {described(encoded.data, encoded.media_type)}"


def _head(item: MemoryItem, most: int, cost: Cost) -> str:
    """Return the reference; if it costs too much, only its key, or only the beginning of a very long key."""
    bare = f"[MemoryRef: {item.memory_key}]"
    for head in (item.ref.render(), bare):
        if cost(head) <= most // 3:
            return head
    return f"{bare[:LONGEST_KEY]}…]"


def _footer(
    item: MemoryItem, selection: Selection, next_offset: int | None, most: int, cost: Cost
) -> str:
    """Return the line that says how to read on: with the next call, or only its offset if that call is too long."""
    if selection.selector == "query":
        footer = prompts.OTHER_PARTS.format(key=item.memory_key)
    elif next_offset is None:
        return prompts.NO_MORE
    else:
        arguments = {"key": item.memory_key, **selection.arguments, "offset": next_offset}
        call = ", ".join(f"{name}={to_json(value)}" for name, value in arguments.items())
        footer = prompts.NEXT_PAGE.format(arguments=call)
    if len(footer) <= LONGEST_FOOTER and cost(footer) <= most // 3:
        return footer
    return prompts.NEXT_PAGE_BRIEFLY.format(offset=next_offset)
