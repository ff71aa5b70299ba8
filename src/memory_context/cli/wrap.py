"""The command `wrap`, which puts a memory between MCP servers and their client."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import NAME, RUN, app
from memory_context.cli.open_store_and_user import login_name
from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.defaults_in_help import PATIENCE, START_PATIENCE
from memory_context.runtime.home_folder import home_folder

if TYPE_CHECKING:
    from memory_context.mcp.client_config import ServerList

_CLIENT = (
    "Wrap the servers in the configuration of this client: claude, claude-code, cursor or vscode."
)
_STORE = f"The database: {opt.URLS}; by default, one in your home folder."
_USER = "Whose memories; by default, those of your login name."


@app.command(rich_help_panel=RUN, context_settings={"allow_interspersed_args": False})
def wrap(  # noqa: PLR0913 - each is an option
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]", help="The command that starts a server.", show_default=False
        ),
    ] = None,
    *,
    url: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Wrap the server at this URL; repeatable."),
    ] = None,
    servers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Wrap the servers in this file, which is like a client's configuration.",
        ),
    ] = None,
    client: Annotated[str | None, typer.Option(metavar="NAME", help=_CLIENT)] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Wrap the servers in this configuration file, which is changed."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --client or --file: wrap this server; repeatable."),
    ] = None,
    undo: Annotated[
        bool,
        typer.Option(
            "--undo", help="With --client or --file: restore the configuration's own servers."
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The server's name, put before its tools' names where they clash."
        ),
    ] = None,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Put the server's name before every tool's name.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="MEMORY_CONTEXT_STORE", help=_STORE),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="ID", envvar="MEMORY_CONTEXT_USER", help=_USER, callback=opt.check_user
        ),
    ] = None,
    threshold: Annotated[
        int, typer.Option(min=50, metavar="TOKENS", help="Fold larger results.")
    ] = 500,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="How long a call may take without a sign of progress."
        ),
    ] = PATIENCE,
    start_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long a server may take to start.")
    ] = START_PATIENCE,
) -> None:
    """Put a memory in front of MCP servers. Large results are returned as references."""
    from memory_context.mcp import serve_wrapped
    from memory_context.mcp.client_config import list_in, lists_of, servers_in
    from memory_context.mcp.upstream_connections import WrappedServer
    from memory_context.mcp.wrapping_proxy import WrapSettings

    if client or file:
        _check_edit(store, command or url or servers)
        options = list[str]()
        if store:
            options += ["--store", store]
        if user:
            options += ["--user", user]
        if prefix:
            options.append("--prefix")
        options += ["--threshold", str(threshold), "--timeout", f"{timeout:g}"]
        options += ["--start-timeout", f"{start_timeout:g}"]
        lists = [list_in(file)] if file else lists_of(client or "")
        _edit(lists, options, only or (), undo=undo)
        return
    if only or undo:
        raise InvalidArgumentError("--only and --undo need --client NAME or --file FILE")
    wrapped = [WrappedServer(name or "", url=one) for one in url or []]
    if command:
        wrapped.append(WrappedServer(name or "", tuple(command)))
    if servers:
        wrapped += servers_in(servers)
    if not wrapped:
        raise InvalidArgumentError(
            "nothing to wrap: give -- COMMAND..., --url URL, --servers FILE, --client NAME or --file FILE"
        )
    settings = WrapSettings(prefix=prefix, patience=timeout, start_patience=start_timeout)
    who = user or login_name()
    serve_wrapped(wrapped, store or database_at_home(), who, threshold, settings)


def _check_edit(store: str | None, server: object) -> None:
    """Check the arguments of a command that edits a client's configuration."""
    if server:
        raise InvalidArgumentError(
            "--client and --file wrap the servers of a configuration; leave out COMMAND, --url and --servers"
        )
    if store and urlsplit(store).password:
        raise InvalidArgumentError(
            "the password in --store would be written into the client's configuration: leave it out, and set "
            "MEMORY_CONTEXT_STORE_PASSWORD for the client, or in the entry's env"
        )


def _edit(
    lists: "Sequence[ServerList]", options: Iterable[str], only: Sequence[str], *, undo: bool
) -> None:
    """Wrap the servers in the first of a client's lists, or restore those that are wrapped, and say which."""
    from memory_context.mcp.client_config import unwrap_in, wrap_in

    servers = lists[0]
    if undo:
        servers = next((one for one in lists if one.wrapped_file.exists()), servers)
    # The full path, because clients start servers with a short PATH.
    found = shutil.which(NAME)
    program = [found] if found else [sys.executable, "-m", "memory_context"]
    starts = [*program, "wrap", *options]
    change = unwrap_in(servers) if undo else wrap_in(servers, starts, only)
    done = "restored" if undo else "wrapped"
    typer.echo(f"{change.place}: {', '.join(change.names)} {done}; restart the client")
    for server, problem in change.skipped.items():
        typer.echo(f"left unchanged: {server}: {problem}")


def database_at_home() -> str:
    """Return the URL of the default database for `wrap`, and create its folder.

    It is in the home folder, because clients start servers in working directories that vary.
    """
    named = os.environ.get("XDG_DATA_HOME")
    data = Path(named or home_folder(", or give --store URL") / ".local/share") / NAME
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"the folder {data} cannot be created: {error.strerror}; give --store URL for another database"
        ) from error
    return f"sqlite:///{data / 'memory.db'}"
