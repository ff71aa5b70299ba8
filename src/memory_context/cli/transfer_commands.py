"""The verbs that move or reshape what is stored: export, import, backup, consolidate; and mcp, which serves it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memory_context.cli import options as opt
from memory_context.cli.app import app

_FROM = (
    "A file that export wrote, or the URL of another store: sqlite:///memory.db, file:///folder, …"
)
_PORT = "Serve streamable HTTP at this port; 0: any free one. Without it, standard input and output are served."
_ADDRESS = "With --http: an address of this machine alone."


@app.command("export")
def export_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where it goes; compressed, if it ends with .gz.")
    ],
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write everything of a store into a file of JSON lines: memories, evicted ones too, and what was deleted."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.transfers import write_file  # noqa: PLC0415 - as above

    write_file(Place(store, user), file, as_json=as_json)


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help=_FROM)],
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    as_json: opt.AsJson = False,
) -> int:
    """Write everything that a file or another store holds into a store, which is made if it is not there."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.transfers import read_into  # noqa: PLC0415 - as above

    return read_into(Place(store, user), source, as_json=as_json)


@app.command()
def backup(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the copies are; made if it is missing.")
    ],
    *,
    store: opt.Store = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Remove older copies, so that so many stay."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Copy a SQLite database, which may be in use, into a new file."""
    from memory_context.cli.transfers import copy_database  # noqa: PLC0415 - loads a database library

    copy_database(store, folder, keep, as_json=as_json)


@app.command()
def consolidate(
    tier: Annotated[
        str, typer.Argument(metavar="TIER", help="Whose notes: session, task, project, global, …")
    ],
    tier_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="Of which run, task, project; each by itself without it."
        ),
    ] = None,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    similarity: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="How much near-duplicates have in common."
        ),
    ] = 0.6,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would become one, and write nothing.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Make one note of those of a tier that say the same; the old ones are evicted, and their keys still redeem."""
    from memory_context.cli.listings import Place  # noqa: PLC0415 - loads a database library
    from memory_context.cli.transfers import Notes, merge_notes  # noqa: PLC0415 - as above

    merge_notes(
        Place(store, user), Notes(tier, tier_id, similarity), dry_run=dry_run, as_json=as_json
    )


@app.command()
def mcp(
    *,
    store: opt.Store = None,
    user: Annotated[
        str,
        typer.Option(envvar="MEMORY_CONTEXT_USER", metavar="ID", help="Whose memories they are."),
    ],
    session: Annotated[
        str, typer.Option(metavar="ID", help="The conversation of notes in the tier session.")
    ] = "mcp",
    project: Annotated[
        str, typer.Option(metavar="ID", help="The project of notes in the tier project.")
    ] = "default",
    http: Annotated[int | None, typer.Option(min=0, max=65535, metavar="PORT", help=_PORT)] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help=_ADDRESS, show_default="127.0.0.1")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=200, metavar="N", help="The most that a tool's answer takes.")
    ] = 500,
    audit: opt.Audited = False,
) -> None:
    """Serve a user's memories to MCP clients, on standard input and output or over HTTP."""
    from memory_context.cli.open_store import check_given  # noqa: PLC0415 - loads a database library
    from memory_context.mcp import Served, serve  # noqa: PLC0415 - loads the MCP SDK

    served = Served(check_given(store, "mcp"), user, session, project, audit)
    serve(served, http=http, host=host, max_tokens=max_tokens)
