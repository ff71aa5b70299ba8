"""The verbs that look for memories and read them: list, show, search, forget."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memory_context.cli import options as opt
from memory_context.cli.app import app
from memory_context.cli.completion import complete_keys

Key = Annotated[
    str,
    typer.Argument(
        help="The key of a reference, or the reference itself.", autocompletion=complete_keys
    ),
]
Keys = Annotated[
    list[str],
    typer.Argument(metavar="KEY...", help="Keys, or references.", autocompletion=complete_keys),
]


class Sort(StrEnum):
    """What comes first in a list."""

    NEWEST = "newest"
    OLDEST = "oldest"
    LARGEST = "largest"
    IMPORTANT = "important"
    KEY = "key"
    USED = "used"


class Mode(StrEnum):
    """How a search finds."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"


@app.command("list")
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
    where: opt.Where = None,
    evicted: Annotated[
        bool, typer.Option("--evicted", help="Those too that are no longer offered.")
    ] = False,
    sort: Annotated[Sort, typer.Option(help="What comes first.")] = Sort.NEWEST,
    limit: opt.Limit = 50,
    offset: opt.Offset = 0,
    as_json: opt.AsJson = False,
) -> int:
    """List memories, without their contents."""
    from memory_context.cli.filter_options import Narrowing  # noqa: PLC0415 - as above
    from memory_context.cli.listings import Paging, Place, list_memories  # noqa: PLC0415 - loads a database library

    narrowing = Narrowing(types, tier, category, tags, thread, since, until, where)
    paging = Paging(limit, offset)
    return list_memories(
        Place(store, user), narrowing, paging, sort.value, evicted=evicted, as_json=as_json
    )


@app.command()
def search(  # noqa: PLR0913 - each narrows the search, with a default
    query: Annotated[str, typer.Argument(help="Any text; the newest memories without one.")] = "",
    *,
    store: opt.Store = None,
    user: opt.User = None,
    mode: Annotated[Mode, typer.Option(help="By words, by meaning, or by both.")] = Mode.HYBRID,
    embedder: opt.Embedder = None,
    types: opt.Types = None,
    tier: opt.Tier = None,
    category: opt.Category = None,
    tags: opt.Tags = None,
    thread: opt.Thread = None,
    since: opt.Since = None,
    until: opt.Until = None,
    where: opt.Where = None,
    limit: opt.Limit = 10,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> int:
    """Find memories that speak of something, best first, each with its best passage."""
    from memory_context.cli.filter_options import Narrowing  # noqa: PLC0415 - as above
    from memory_context.cli.listings import Place, Search, search_memories  # noqa: PLC0415 - loads a database library

    narrowing = Narrowing(types, tier, category, tags, thread, since, until, where)
    wanted = Search(query, limit, mode.value, embedder)
    return search_memories(Place(store, user, audit), wanted, narrowing, as_json=as_json)


@app.command()
def show(  # noqa: PLR0913 - one of them selects
    key: Key,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    lines: Annotated[
        str | None, typer.Option(help="Some lines: 120-180, 500-, -40 (the last 40), 7; several.")
    ] = None,
    contains: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Lines that hold a text, in any case.")
    ] = None,
    pattern: Annotated[str | None, typer.Option(metavar="REGEX", help="Lines that match.")] = None,
    context: Annotated[
        int, typer.Option(min=0, metavar="LINES", help="Lines around each match.")
    ] = 0,
    path: Annotated[
        str | None, typer.Option(metavar="JSONPATH", help="Values of JSON: $.orders[*].id.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Rows for which an expression holds.")
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="SQL", help="Columns of the rows.")] = None,
    query: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="The passages that speak of it.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The most that is printed.")
    ] = None,
    offset: Annotated[
        int, typer.Option(min=0, metavar="N", help="Where the page begins, as the last one said.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there, byte for byte.")
    ] = None,
    info: Annotated[
        bool, typer.Option("--info", help="What is known of it, in place of the content.")
    ] = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Print a memory, or a part of it; what part of how much it is stands on standard error."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - as above
    from memory_context.cli.show import Shown, show_memory  # noqa: PLC0415 - as above
    from memory_context.model.selection import Selection  # noqa: PLC0415 - loads a database library

    chosen = Selection(
        lines=lines, contains=contains, pattern=pattern, context=context, path=path, where=where, columns=columns,
        query=query,
    )  # fmt: skip
    show_memory(
        Place(store, user, audit),
        key,
        Shown(chosen, offset, max_tokens, output, info=info, as_json=as_json),
    )


@app.command()
def forget(
    keys: Keys,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="What references to it will say.")
    ] = "forgotten",
    soft: Annotated[
        bool, typer.Option("--soft", help="Only put away: no longer found, still read by its key.")
    ] = False,
    yes: opt.Yes = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Delete memories for good."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.show import Forgetting, forget_memories  # noqa: PLC0415 - as above

    forget_memories(
        Place(store, user, audit), keys, Forgetting(reason, soft), yes=yes, as_json=as_json
    )
