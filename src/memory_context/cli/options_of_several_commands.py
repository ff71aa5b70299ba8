"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_context.exceptions import InvalidArgumentError

URLS = "sqlite:///memory.db or postgresql+psycopg://host/database"
_USER = "Whose memories; not needed if only one user has stored something."
MOMENT = "2026-01-31, 2026-01-31T12:00 (local time), or how long ago: 30m, 24h, 7d, 2w."

_EMBEDDER = "The object that computes vectors for searches by meaning, by its import path: my.models:embedder."


def check_user(user: str | None) -> str | None:
    """Return the id that was given, or None.

    Raises:
        InvalidArgumentError: The id is empty, because a script has not set a variable. If that counted as no id, the only
            user's memories would be shown to somebody else.
    """
    if user == "":
        raise InvalidArgumentError("--user is empty: give the id of a user, or leave it out")
    return user


Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=f"The database: {URLS}."
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="ID",
        envvar="MEMORY_CONTEXT_USER",
        help=_USER,
        callback=check_user,
    ),
]
OneUser = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="ID",
        envvar="MEMORY_CONTEXT_USER",
        help="Whose memories; without it, those of all users.",
        callback=check_user,
    ),
]
Audited = Annotated[
    bool,
    typer.Option(
        "--audit",
        envvar="MEMORY_CONTEXT_AUDIT",
        help="Record in the store's audit trail what is done with which memory.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsJsonLines = Annotated[
    bool, typer.Option("--jsonl", help="Print each memory as a JSON object on its own line.")
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Keys = Annotated[
    list[str],
    typer.Argument(metavar="KEY...", help="Keys, or whole references."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder", metavar="MODULE:NAME", envvar="MEMORY_CONTEXT_EMBEDDER", help=_EMBEDDER
    ),
]
# Far more than any store holds, and still a number that databases accept.
_ALL = 10**15
Limit = Annotated[
    int, typer.Option("--limit", min=1, max=_ALL, metavar="N", help="How many at most.")
]
Offset = Annotated[
    int, typer.Option("--offset", min=0, max=_ALL, metavar="N", help="How many to skip first.")
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TEXT", help="Of this type: tool_output, note, …; repeatable."),
]
Tier = Annotated[
    str | None, typer.Option("--tier", metavar="TEXT", help="Of this tier: detail, run, session, …")
]
Category = Annotated[
    str | None, typer.Option("--category", metavar="PATH", help="Of this category or below it.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="WORD", help="With this tag; repeatable.")
]
Thread = Annotated[
    str | None, typer.Option("--thread", metavar="ID", help="Stored in this conversation.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help=f"Stored, or done, at that time or later: {MOMENT}"
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="TIME", help="Stored, or done, before that time; written as for --since."
    ),
]
