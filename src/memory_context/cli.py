"""The command ``memory-context``."""

from __future__ import annotations

import io
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from memory_context import __version__
from memory_context.exceptions import InvalidArgumentError, MemoryContextError, MemoryNotFoundError, NothingMatchedError

NAME = "memory-context"
NOTHING_FOUND = 1
FAILED = 2
INTERRUPTED = 130
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer does not export it

app = typer.Typer(
    name=NAME,
    help="Keeps the prompts of agents small without losing anything.",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)

_URL = "sqlite:///memory.db or postgresql+psycopg://host/database"
_SCENARIO = "short: an agent and two questions. long: a team of agents, 200 turns under a limit of 8,000 tokens."
_MODEL = "Ask a real model; its key stands in the environment. Not for the long scenario, which would cost money."

_RECORDINGS = "Recordings: OpenAI-style chats (JSON lines or JSON, .gz too), AutoGen's saved states, LangChain's dumps."
_REPLAYED = "Replay this one, as memory:threshold=800, and not the usual ones; repeatable. --explain names them."


class Scenario(StrEnum):
    """What the demo shows."""

    SHORT = "short"
    LONG = "long"


@app.callback()
def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Say the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"{NAME} {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    *,
    scenario: Annotated[Scenario, typer.Option(help=_SCENARIO)] = Scenario.SHORT,
    turns: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How long the long scenario lasts.", show_default="200")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help=_MODEL)] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask it at this OpenAI-compatible server.")
    ] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help=f"Use this database, and keep it: {_URL}.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the database that the demo makes.")] = False,
) -> None:
    """Watch an agent at work on this machine: its large outputs are folded, stored and recalled."""
    from memory_context.demo import DemoOptions, run_demo  # noqa: PLC0415 - loads a database library

    long = scenario is Scenario.LONG
    run_demo(DemoOptions(model=model, base_url=base_url, store=store, keep=keep, long=long, turns=turns))


@app.command()
def replay(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help=_RECORDINGS, show_default=False)] = None,
    *,
    policy: Annotated[list[str] | None, typer.Option(metavar="NAME[:KEY=VALUE,…]", help=_REPLAYED)] = None,
    threshold: Annotated[
        int, typer.Option(min=50, metavar="TOKENS", help="Of the usual policies: larger outputs are folded.")
    ] = 500,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report with charts.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the figures and the policies mean.")] = False,
) -> None:
    """What recorded runs would have cost under other policies, and what would have been in sight; asks no model."""
    from memory_context.replay import ReplayOptions, run_replay  # noqa: PLC0415 - loads AutoGen

    run_replay(ReplayOptions(tuple(files or ()), tuple(policy or ()), threshold, report, json=json, explain=explain))


@app.command()
def show(  # noqa: PLR0913 - one of them selects
    key: Annotated[str, typer.Argument(help="The key of a reference, or the reference itself.")],
    *,
    store: Annotated[
        str | None, typer.Option(metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=f"The database: {_URL}.")
    ] = None,
    user: Annotated[str, typer.Option(envvar="MEMORY_CONTEXT_USER", metavar="ID", help="Whose memory it is.")],
    lines: Annotated[str | None, typer.Option(help="Some lines: 120-180, 500-, -40 (the last 40), 7; several.")] = None,
    contains: Annotated[str | None, typer.Option(metavar="TEXT", help="Lines that hold a text, in any case.")] = None,
    pattern: Annotated[str | None, typer.Option(metavar="REGEX", help="Lines that match.")] = None,
    context: Annotated[int, typer.Option(min=0, metavar="LINES", help="Lines around each match.")] = 0,
    path: Annotated[str | None, typer.Option(metavar="JSONPATH", help="Values of JSON: $.orders[*].id.")] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Rows for which an expression holds.")] = None,
    columns: Annotated[str | None, typer.Option(metavar="SQL", help="Columns of the rows.")] = None,
    query: Annotated[str | None, typer.Option(metavar="QUESTION", help="The passages that speak of it.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="The most that is printed.")] = None,
) -> None:
    """Print a memory, or a part of it; what part of how much it is stands on standard error."""
    from memory_context._selection import Selection  # noqa: PLC0415 - loads a database library
    from memory_context.show import show_memory  # noqa: PLC0415 - as above

    chosen = Selection(
        lines=lines, contains=contains, pattern=pattern, context=context, path=path, where=where, columns=columns,
        query=query,
    )  # fmt: skip
    show_memory(_database(store, "show"), user, key, chosen, max_tokens)


def _database(store: str | None, command: str) -> str:
    if store:
        return store
    message = f"{command} needs to know the database: --store URL, or the variable MEMORY_CONTEXT_STORE"
    raise InvalidArgumentError(message)


@app.command()
def mcp(
    *,
    store: Annotated[
        str | None, typer.Option(metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=f"The database: {_URL}.")
    ] = None,
    user: Annotated[str, typer.Option(envvar="MEMORY_CONTEXT_USER", metavar="ID", help="Whose memories they are.")],
    http: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="PORT", help="Serve streamable HTTP; 0: any free port.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="With --http: an address of this machine alone.", show_default="127.0.0.1"
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=200, metavar="N", help="The most that a tool's answer takes.")] = 500,
) -> None:
    """Serve a user's memories to MCP clients, on standard input and output or over HTTP."""
    from memory_context.mcp import serve  # noqa: PLC0415 - loads the MCP SDK

    serve(_database(store, "mcp"), user, http=http, host=host, max_tokens=max_tokens)


@app.command()
def migrate(
    *,
    store: Annotated[
        str | None, typer.Option(metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=f"The database: {_URL}.")
    ] = None,
) -> None:
    """Bring a database's schema up to date; PostgreSQL is only ever migrated by this command."""
    url = _database(store, "migrate")
    from memory_context.stores import SQLAlchemyStore  # noqa: PLC0415 - loads a database library
    from memory_context.stores._migrate import HEAD  # noqa: PLC0415 - as above

    with SQLAlchemyStore(url) as database:
        typer.echo(f"{database.url or 'the database in memory'}: {_migrated(database.migrate(), HEAD)}")


def _migrated(before: str | None, after: str) -> str:
    if before is None:
        return f"there was no schema; created revision {after}"
    return (
        f"revision {after} already, nothing to do" if before == after else f"migrated from revision {before} to {after}"
    )


def main() -> None:
    """Run the command in `sys.argv`. What goes wrong is one line on standard error; code 1: nothing found, else 2."""
    cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    try:
        return app(args=arguments, prog_name=NAME, standalone_mode=False) or 0  # typer's code of an interruption
    except (MemoryNotFoundError, NothingMatchedError) as error:
        return _failed(error, NOTHING_FOUND)
    except (MemoryContextError, _UsageError) as error:
        return _failed(error, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough; Python would complain when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(error: Exception, code: int) -> int:
    text: str = getattr(error, "format_message", error.__str__)()
    place = getattr(getattr(error, "ctx", None), "command_path", None)
    hint = f" (see {place} --help)" if place else ""
    typer.echo(f"{NAME}: {' '.join(text.split())}{hint}", err=True)
    return code
