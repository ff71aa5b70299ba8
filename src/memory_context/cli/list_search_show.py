"""The commands `list`, `search` and `show`, which find memories and print them."""

import re
import sys
from base64 import b64encode
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import FIND, NOTHING_FOUND, app
from memory_context.cli.command_output import (
    LINE,
    NAME,
    NUMBER,
    TIME,
    check_one_form,
    local,
    page_facts,
    print_json,
    print_long_text,
    print_page,
    print_paged,
    print_records,
    say,
    screen,
)
from memory_context.cli.filter_options import read_filters
from memory_context.cli.open_store_and_user import chosen_user, opened, opened_store
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidSelectionError,
    MemoryDeletedError,
    MemoryNotFoundError,
    NothingMatchedError,
)
from memory_context.model.scope import Scope
from memory_context.model.selection import Selection

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_context.memory.manager import MemoryManager
    from memory_context.model.item import MemoryItem
    from memory_context.model.selection import Page

LONGEST_LINE = 160  # characters of a hit's line
NUMBER_WIDTH = 5
# Columns that a listing leaves out: the content, what describes it, and what only this library uses.
_NOT_LISTED = {
    "content",
    "content_metadata",
    "content_hash",
    "identity",
    "generated_key",
    "id",
    "match",
}
# A Python argument in an error message, such as `lines=`, which becomes `--lines `. If a space and a word follow, the match
# includes that space, so that only one is left.
_ARGUMENT = re.compile(
    r"(?<![\w?&'\"-])(lines|contains|pattern|context|path|where|columns|query|offset)=(?: (?=\w))?"
)


@app.command("list", rich_help_panel=FIND)
def list_(  # noqa: PLR0913 - each narrows the list, with a default
    *,
    store: opt.Store = None,
    user: opt.User = None,
    types: opt.Types = None,
    tier: opt.Tier = None,
    category: opt.Category = None,
    tags: opt.Tags = None,
    thread: opt.Thread = None,
    since: opt.Since = None,
    until: opt.Until = None,
    evicted: Annotated[
        bool,
        typer.Option("--evicted", help="Include evicted memories, no longer offered to agents."),
    ] = False,
    sort: Annotated[
        Literal["newest", "oldest", "largest", "important", "key", "used"],
        typer.Option(help="Which come first."),
    ] = "newest",
    limit: opt.Limit = 50,
    offset: opt.Offset = 0,
    as_json: opt.AsJson = False,
    as_json_lines: opt.AsJsonLines = False,
    as_csv: opt.AsCsv = False,
) -> int:
    """List memories, without their contents."""
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

    check_one_form(json=as_json, jsonl=as_json_lines, csv=as_csv)
    filters = read_filters(types, tier, category, tags, thread, since, until)
    if evicted:
        filters["is_active"] = [True, False]
    # Not with a MemoryManager, because its import loads everything that reads and describes texts.
    with opened_store(store, "list") as database:
        catalog = Catalog(database)
        scope = Scope(chosen_user(database, user))
        entries = catalog.entries(scope, filters, sort=sort, limit=limit, offset=offset)
        total = database.count(scope, filters)
    records = [_record(entry) for entry in entries]
    if as_json:
        print_json({"memories": records, **page_facts(limit, offset, total)})
    elif as_json_lines or as_csv:
        print_records(records, as_csv=as_csv)
    else:
        rows = [
            (e.memory_key, e.memory_type, f"{e.token_count:,}", local(e.created_at), e.summary)
            for e in entries
        ]
        kinds = ("key", NAME), ("type", NAME), ("tokens", NUMBER), ("stored", TIME)
        print_page([*kinds, ("summary", LINE)], rows, offset, total, "memories")
    return 0 if entries else NOTHING_FOUND


@app.command(rich_help_panel=FIND)
def search(  # noqa: PLR0913 - each narrows the search, with a default
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Any text.")],
    *,
    store: opt.Store = None,
    user: opt.User = None,
    mode: Annotated[
        Literal["hybrid", "keyword", "semantic", "substring"],
        typer.Option(
            help="Search by keywords, by meaning, by both (hybrid), or for parts of words."
        ),
    ] = "hybrid",
    embedder: opt.Embedder = None,
    types: opt.Types = None,
    tier: opt.Tier = None,
    category: opt.Category = None,
    tags: opt.Tags = None,
    thread: opt.Thread = None,
    since: opt.Since = None,
    until: opt.Until = None,
    limit: opt.Limit = 10,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
    as_json_lines: opt.AsJsonLines = False,
    as_csv: opt.AsCsv = False,
) -> int:
    """Find memories by their contents, best first. Each is shown with its best passage."""
    check_one_form(json=as_json, jsonl=as_json_lines, csv=as_csv)
    filters = read_filters(types, tier, category, tags, thread, since, until)
    with opened(store, user, "search", embedder, audit=audit) as memory:
        hits = memory.search(query, limit, mode=mode, filters=filters)
    records = [{**_record(hit), "match": hit.match and asdict(hit.match)} for hit in hits]
    if as_json:
        print_json({"query": query, "memories": records})
    elif as_json_lines or as_csv:
        print_records(records, as_csv=as_csv)
    elif hits:
        print_paged(*chain.from_iterable(map(_hit_parts, hits)))
    else:
        say("nothing found")
    return 0 if hits else NOTHING_FOUND


@app.command(rich_help_panel=FIND)
def show(  # noqa: PLR0913 - most select a part, with a default
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="A key, or a whole reference."),
    ],
    *,
    store: opt.Store = None,
    user: opt.User = None,
    lines: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Lines 120-180, 500-, -40 (the last 40) or 7; several with commas."
        ),
    ] = None,
    contains: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Lines that contain this text, ignoring case."),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Lines that match this regular expression.")
    ] = None,
    context: Annotated[
        int, typer.Option(min=0, metavar="LINES", help="Lines around each match.")
    ] = 0,
    path: Annotated[
        str | None, typer.Option(metavar="JSONPATH", help="Values of JSON content: $.orders[*].id.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Rows for which this expression is true.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="SQL", help="Which columns of the rows.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="Passages that answer this question.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Print at most this many tokens.")
    ] = None,
    offset: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Where the page begins, as the previous page said."),
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the content to this file, byte for byte."),
    ] = None,
    info: Annotated[
        bool, typer.Option("--info", help="Print the record instead of the content.")
    ] = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Print a memory, or a part of it. Standard error shows which part, and how to get the next page."""
    from memory_context.model.reference import key_in

    with _options_named():
        selection = Selection(
            lines=lines, contains=contains, pattern=pattern, context=context, path=path, where=where, columns=columns,
            query=query,
        )  # fmt: skip
    is_whole = selection == Selection() and offset == 0 and max_tokens is None
    page: Page | None = None  # stays None for bytes, which are not paged
    with opened(store, user, "show", audit=audit) as memory:
        item = _found(memory, key_in(key))
        if info and not is_whole:
            raise InvalidArgumentError(
                "--info prints the record, which has no parts; leave one out"
            )
        if info:
            _print_record(item, as_json=as_json)
            return
        if is_whole and isinstance(item.content, bytes):
            memory.read(item.memory_key)  # so that it counts as read
        else:
            with _options_named():
                page = memory.page(item.memory_key, selection, offset=offset, max_tokens=max_tokens)
    if as_json:
        shown: dict[str, object] = {"part": "the whole", "text": None, "next_offset": None}
        if page:
            shown = {"part": page.part, "text": page.text, "next_offset": page.next_offset}
        data = None if page else b64encode(item.data).decode()
        print_json({"memory": _record(item), **shown, "data": data})
        return
    part = page.part if page else item.text
    if page and page.next_offset is not None:
        part += f"; the next page: --offset {page.next_offset}"
    say(f"{item.ref}, {part}")
    _print_content(item, page, output, is_whole=is_whole)


def _found(memory: "MemoryManager", key: str) -> "MemoryItem":
    """Return the memory under the key.

    Raises:
        MemoryNotFoundError: There is none. If exactly one existing key begins with *key*, the message proposes it.
    """
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

    try:
        return memory.get(key)
    except MemoryDeletedError:
        raise
    except MemoryNotFoundError:
        near = Catalog(memory.memory_store).keys_from(memory.scope, key, 2)
        if len(near) != 1:
            raise
        raise MemoryNotFoundError(
            f"there is no memory under the key {key!r}; did you mean {near[0]!r}?"
        ) from None


@contextmanager
def _options_named() -> Generator[None]:
    """Make errors name the options of `show` instead of Python's arguments.

    Raises:
        InvalidSelectionError: One was raised inside; its message is rewritten.
        NothingMatchedError: One was raised inside; its message is rewritten.
    """
    try:
        yield
    except (InvalidSelectionError, NothingMatchedError) as error:
        message = _ARGUMENT.sub(r"--\1 ", str(error))
        raise type(error)(message.replace(" ,", ",").rstrip()) from None


def _around(text: str, words: Sequence[str], room: int) -> str:
    """Return *text*, or if it is longer than *room* characters, as many of them around the first of *words* in it."""
    if len(text) <= room:
        return text
    folded = text.casefold()
    places = [folded.find(word.casefold()) for word in words]
    first = min((place for place in places if place >= 0), default=0)
    # A third of the room is before the word. At the end of the text, more is, so that the room is filled.
    start = max(0, min(first - room // 3, len(text) - room))
    end = start + room
    shown = text[start:end]
    if start:
        shown = f"…{shown}"
    if end < len(text):
        shown = f"{shown}…"
    return shown


def _record(item: "MemoryItem") -> dict[str, object]:
    """Return the columns of a memory that ``--json`` prints everywhere, without the content."""
    shown = [field.name for field in fields(item) if field.name not in _NOT_LISTED]
    return {name: getattr(item, name) for name in shown}


def _hit_parts(hit: "MemoryItem") -> "list[RenderableType]":
    """Draw a hit for people: key and summary, where and why it was found, and the passage."""
    from memory_context.display.drawn_memories import found_by, passage_lines
    from memory_context.display.safe_terminal_output import plain, unbroken
    from memory_context.text.describe.description import counted

    match = hit.match
    size = counted(hit.token_count, "token")
    facts = [hit.memory_type, size, local(hit.created_at), *found_by(match)]
    passage: list[RenderableType] = []
    if match and match.passage:
        # Beside the line: its number, a space, and an ellipsis at either end.
        room = min(LONGEST_LINE, screen().width - NUMBER_WIDTH - 3)
        for line in passage_lines(match, match.why):
            text = _around(line.text, match.why, room)
            passage.append(plain(f"{line.number:>{NUMBER_WIDTH}} {text}", "dim"))
    heading = [unbroken(hit.memory_key, "bold cyan"), plain(hit.summary)]
    return [*heading, plain(" · ".join(facts), "dim"), *passage, ""]


def _print_record(item: "MemoryItem", *, as_json: bool) -> None:
    """Print a memory's record, but not the metadata of a secret, which may contain the command that printed it."""
    from memory_context.display.safe_terminal_output import facts
    from memory_context.model.item import is_secret

    metadata = None if is_secret(item) else item.content_metadata
    record = {**_record(item), "content_metadata": metadata}
    if as_json:
        print_json({"memory": record})
        return
    record["tags"] = ", ".join(item.tags)
    rows = [(name, "-" if value is None else str(value)) for name, value in record.items()]
    print_paged(facts(rows))


def _print_content(
    item: "MemoryItem", page: "Page | None", output: Path | None, *, is_whole: bool
) -> None:
    """Print or write the content: to a pipe or a file as it is stored, to a terminal without control characters.

    Raises:
        InvalidArgumentError: The file cannot be written.
    """
    from memory_context.display.safe_terminal_output import harmless
    from memory_context.runtime.files_replaced_safely import draft_of

    content = item.data
    if page and not is_whole:
        content = (page.text.removesuffix("\n") + "\n").encode("utf-8", "surrogatepass")
    if output:
        try:
            with draft_of(output) as draft:
                draft.write_bytes(content)
        except OSError as error:
            raise InvalidArgumentError(f"{output} cannot be written: {error.strerror}") from error
    elif not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    elif page:
        print_long_text(harmless(page.text).removesuffix("\n") + "\n")
    else:
        say("Binary content is not printed in a terminal; use --output FILE or a pipe.")
