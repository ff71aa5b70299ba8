"""The verbs for a whole database: stats, threads, audit, reindex, gc, forget-user, doctor, migrate."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memory_context.cli import options as opt
from memory_context.cli.app import app
from memory_context.cli.completion import complete_keys, complete_users

_KEEP = "How long memories are kept: tool_output=30d, tier:detail=12h, evicted=4w, =365d:read; repeatable."


class Action(StrEnum):
    """What somebody did."""

    STORED = "stored"
    RECALLED = "recalled"
    EXPANDED = "expanded"
    PASSED = "passed"
    DELETED = "deleted"


@app.command()
def stats(*, store: opt.Store = None, user: opt.OneUser = None, as_json: opt.AsJson = False) -> int:
    """How much is stored: by user, type and tier."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.statistics import show_stats  # noqa: PLC0415 - as above

    return show_stats(Place(store, user), as_json=as_json)


@app.command()
def threads(
    *,
    store: opt.Store = None,
    user: opt.User = None,
    limit: opt.Limit = 50,
    offset: opt.Offset = 0,
    as_json: opt.AsJson = False,
) -> int:
    """List the conversations that have stored something, the last used first."""
    from memory_context.cli.listings import Paging, Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.statistics import list_threads  # noqa: PLC0415 - as above

    return list_threads(Place(store, user), Paging(limit, offset), as_json=as_json)


@app.command()
def audit(
    *,
    store: opt.Store = None,
    user: opt.User = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="With this memory, which may be deleted.",
            autocompletion=complete_keys,
        ),
    ] = None,
    action: Annotated[Action | None, typer.Option(help="Only this.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help=f"Done then or later: {opt.MOMENT}"),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Done before; as --since.")
    ] = None,
    limit: opt.Limit = 50,
    as_json: opt.AsJson = False,
) -> int:
    """List who stored, recalled, expanded, passed on and deleted which memory, where a trail was kept; newest first."""
    from memory_context.cli.audit_log import Entries, show_trail  # noqa: PLC0415 - as above
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library

    wanted = Entries(limit, key, action.value if action else None, since, until)
    return show_trail(Place(store, user), wanted, as_json=as_json)


@app.command()
def reindex(
    *, store: opt.Store = None, embedder: opt.Embedder = None, as_json: opt.AsJson = False
) -> None:
    """Make the search index of a database anew, every user's, and missing vectors."""
    from memory_context.cli.maintenance import make_index  # noqa: PLC0415 - loads a database library

    make_index(store, embedder, as_json=as_json)


@app.command()
def gc(
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="RULE", help=_KEEP)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many there are, and delete none.")
    ] = False,
    yes: opt.Yes = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Delete the memories whose time is over, by their expires_at or by a rule, for good."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.maintenance import collect_garbage  # noqa: PLC0415 - as above

    collect_garbage(
        Place(store, user, audit), keep or [], dry_run=dry_run, yes=yes, as_json=as_json
    )


@app.command("forget-user")
def forget_user(
    user: Annotated[
        str, typer.Argument(metavar="USER", help="Whose traces.", autocompletion=complete_users)
    ],
    *,
    store: opt.Store = None,
    yes: opt.Yes = False,
    as_json: opt.AsJson = False,
) -> int:
    """Remove every trace of a user, for good, and print a receipt."""
    from memory_context.cli.maintenance import remove_user  # noqa: PLC0415 - loads a database library

    return remove_user(store, user, yes=yes, as_json=as_json)


@app.command()
def doctor(*, store: opt.Store = None, as_json: opt.AsJson = False) -> int:
    """Check the database, its search index, token counting and what is installed, and say what to do."""
    from memory_context.cli.maintenance import examine  # noqa: PLC0415 - loads a database library

    return examine(store, as_json=as_json)


@app.command()
def migrate(*, store: opt.Store = None, as_json: opt.AsJson = False) -> None:
    """Bring a database's schema up to date; PostgreSQL is only ever migrated by this command."""
    from memory_context.cli.maintenance import migrate_schema  # noqa: PLC0415 - loads a database library

    migrate_schema(store, as_json=as_json)
