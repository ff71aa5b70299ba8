"""The command `wrap`: other MCP servers with a memory between them and their client."""

import os
import shutil
import sys
from collections.abc import Sequence
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from memory_context.cli import options as opt
from memory_context.cli.app import NAME, RUN, app
from memory_context.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from memory_context.mcp.client_config import Change, ServerList
    from memory_context.mcp.wrapped_servers import WrappedServer

_CLIENT = (
    "Wrap the servers of a client, by its configuration: claude, claude-code, cursor or vscode."
)
_STORE = f"The database: {opt.URLS}; without it, one in your home folder."
_USER = "Whose memories; without it, those of your login name."


@app.command(rich_help_panel=RUN, context_settings={"allow_interspersed_args": False})
def wrap(  # noqa: PLR0913 - each is an option
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="What starts a server.", show_default=False),
    ] = None,
    *,
    url: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Wrap the server that listens there; repeatable."),
    ] = None,
    servers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Wrap the servers in a file of the form of the clients."),
    ] = None,
    client: Annotated[str | None, typer.Option(metavar="NAME", help=_CLIENT)] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Wrap the servers in this configuration.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --client: wrap this server; repeatable."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="With --client: give the client its servers back.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the server is called where names of tools clash."),
    ] = None,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Put the server's name before that of each tool.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=_STORE),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="ID", envvar="MEMORY_CONTEXT_USER", help=_USER)
    ] = None,
    threshold: Annotated[
        int, typer.Option(min=50, metavar="TOKENS", help="Fold larger results.")
    ] = 500,
    timeout: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="How long a call may go on without a sign."),
    ] = 300,
    start_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long a server may take to start.")
    ] = 60,
) -> None:
    """Put a memory before other MCP servers. Large results come as references."""
    from memory_context.mcp import Wrapping, serve_wrapped
    from memory_context.mcp.wrapper import WrapSettings

    if client or file:
        from memory_context.mcp.client_config import list_in, lists_of

        if store and urlsplit(store).password:
            raise InvalidArgumentError(
                "the password in --store would stand in the client's configuration: leave it out, and set "
                "MEMORY_CONTEXT_STORE_PASSWORD for the client, or in the entry's env"
            )
        said = [*(["--store", store] if store else []), *(["--user", user] if user else [])]
        options = [*said, *(["--prefix"] if prefix else []), "--threshold", str(threshold)]
        options += ["--timeout", f"{timeout:g}", "--start-timeout", f"{start_timeout:g}"]
        places = [list_in(file)] if file else lists_of(client or "")
        place = next((one for one in places if undo and one.wrapped_file.exists()), places[0])
        _edit(place, options, only or (), undo=undo)
        return
    if only or undo:
        raise InvalidArgumentError("--only and --undo go with --client NAME or --file FILE")
    given = _servers(command or [], url or [], servers, name or "")
    settings = WrapSettings(prefix=prefix, patience=timeout, start_patience=start_timeout)
    who = user or getuser()
    serve_wrapped(Wrapping(given, store or database_at_home(), who, threshold, settings))


def database_at_home() -> str:
    """Return the URL of the database of what is wrapped: clients start servers in folders of their own."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / NAME
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{data / 'memory.db'}"


def _servers(
    command: Sequence[str], urls: Sequence[str], file: Path | None, name: str
) -> "list[WrappedServer]":
    from memory_context.mcp.client_config import servers_in
    from memory_context.mcp.wrapped_servers import WrappedServer

    servers = [WrappedServer(name, url=url) for url in urls]
    if command:
        servers.append(WrappedServer(name, tuple(command)))
    if file:
        servers += servers_in(file)
    if not servers:
        raise InvalidArgumentError(
            f"nothing to wrap: {NAME} wrap -- COMMAND..., --url URL, --servers FILE or --client NAME"
        )
    return servers


def _edit(place: "ServerList", options: Sequence[str], only: Sequence[str], *, undo: bool) -> None:
    from memory_context.mcp.client_config import unwrap_in, wrap_in

    # The full path: clients have a short PATH.
    found = shutil.which(NAME)
    program = (
        [found] if found else [sys.executable, "-c", "from memory_context.cli import main; main()"]
    )
    change: Change = (
        unwrap_in(place) if undo else wrap_in(place, [*program, "wrap", *options], only)
    )
    done = "given back" if undo else "wrapped"
    typer.echo(f"{change.place}: {', '.join(change.names)} {done}; restart the client")
    for name, problem in change.skipped.items():
        typer.echo(f"left as it is: {name}: {problem}")
