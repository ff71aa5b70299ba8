"""Configuration files of MCP clients: the servers in them, which are wrapped there, and given back as they were."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.connections import WrappedServer
from memory_context.mcp.requests import Wire, member
from memory_context.runtime.atomic_file import draft_of

_LISTS = ("mcpServers", "servers")  # of most clients, and of VS Code
# ${VAR}, ${VAR:-default} of Claude Code, ${env:VAR} of Cursor and VS Code.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What only the client can fill in: ${input:token}, ${workspaceFolder}.
_ONLY_THERE = re.compile(r"\$\{(?!env:)(?:\w+:[^-]|workspace|userHome|pathSeparator|file|cwd)")
_UNUSABLE = {"envFile": "an envFile", "sandbox": "a sandbox"}
ENTRY = "with-memory"
CLIENTS = ("claude", "claude-code", "cursor", "vscode")


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a client's configuration.

    Attributes:
        file: The configuration.
        names: The servers that were wrapped, or given back.
        left: Those that were left as they are, and why.
    """

    file: Path
    names: Sequence[str]
    left: Mapping[str, str]


def config_file(client: str) -> Path:
    """Return the configuration of a client: that of this folder where it has one, else that of the user.

    Raises:
        InvalidArgumentError: There is no such client.
    """
    home = Path.home()
    here = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
    if sys.platform == "darwin":
        settings = home / "Library/Application Support"
    else:
        settings = Path(
            os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or home / ".config"
        )
    users = {
        "claude": settings / "Claude/claude_desktop_config.json",
        "claude-code": home / ".claude.json",
        "cursor": home / ".cursor/mcp.json",
        "vscode": settings / "Code/User/mcp.json",
    }
    if client not in users:
        raise InvalidArgumentError(
            f"there is no client {client!r}; known are {', '.join(CLIENTS)}, and --file takes others"
        )
    project = Path.cwd() / here[client] if client in here else None
    return project if project and project.exists() else users[client]


def servers_in(file: Path) -> list[WrappedServer]:
    """Return the servers that a file in the form of the clients lists.

    Raises:
        InvalidArgumentError: It is not such a file, or one of them cannot be wrapped.
    """
    servers = list[WrappedServer]()
    for name, entry in _list_in(_read(file), file).items():
        problem = _problem_with(entry)
        if problem:
            raise InvalidArgumentError(f"{name!r} in {file} cannot be wrapped: {problem}")
        servers.append(_server_of(name, entry))
    if not servers:
        raise InvalidArgumentError(f"{file} lists no servers")
    return servers


def wrap_in(file: Path, command: Sequence[str], only: Collection[str] = ()) -> Change:
    """Put one entry in place of the servers in a client's configuration, which move to a file beside it.

    Args:
        file: The configuration.
        command: What starts the wrapper; the place of the moved servers is added.
        only: The names of the servers; without one, all that can be wrapped.

    Raises:
        InvalidArgumentError: It is no configuration, there is no such server, or nothing to wrap.
    """
    config = _read(file)
    entries = _list_in(config, file)
    unknown = ", ".join(sorted(set(only) - entries.keys()))
    if unknown:
        raise InvalidArgumentError(f"{file} has no server {unknown}; it has {', '.join(entries)}")
    moved = _moved(file)
    left = {name: _problem_with(entry) for name, entry in entries.items() if name != ENTRY}
    chosen = [name for name, problem in left.items() if not problem and (not only or name in only)]
    if not chosen:
        told = "".join(f"; {name}: {problem}" for name, problem in left.items() if problem)
        raise InvalidArgumentError(f"{file} has no server to wrap{told}")
    kept = {name: entries[name] for name in chosen}
    # What the user has added to it, such as variables, stays.
    ours: Wire = {
        **member(entries, ENTRY),
        "command": command[0],
        "args": [*command[1:], "--servers", str(moved)],
    }
    if "servers" in config:
        ours = {"type": "stdio", **ours}
    following = Wire()
    for name, entry in entries.items():
        following |= {ENTRY: ours} if name in chosen else {name: entry}
    following[ENTRY] = ours
    earlier: Wire = {}
    if moved.exists():
        earlier = _list_in(_read(moved), moved)
    elif ENTRY in entries:
        raise InvalidArgumentError(
            f"{file} has a server {ENTRY!r} that is not ours: call it otherwise"
        )
    # First: nothing is lost if the second cannot be written.
    _write(moved, {"mcpServers": {**earlier, **kept}}, file)
    _write(file, {**config, _list_name(config): following}, file)
    return Change(file, chosen, {name: problem for name, problem in left.items() if problem})


def unwrap_in(file: Path) -> Change:
    """Give a client's configuration its servers back.

    Raises:
        InvalidArgumentError: No server in it is wrapped.
    """
    moved = _moved(file)
    if not moved.exists():
        raise InvalidArgumentError(f"no server in {file} is wrapped: there is no {moved}")
    given = _list_in(_read(moved), moved)
    config = _read(file)
    entries = Wire()
    for name, entry in _list_in(config, file).items():
        entries |= given if name == ENTRY else {name: entry}
    # The entry may have been taken out by hand.
    _write(file, {**config, _list_name(config): {**given, **entries}}, file)
    moved.unlink()
    return Change(file, list(given), {})


def _moved(file: Path) -> Path:
    return file.resolve().with_name(f"{file.stem}.wrapped.json")


def _problem_with(entry: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return why a server cannot be wrapped; an empty text if it can."""
    entry = member({"": entry}, "")
    if not ("command" in entry or "url" in entry):
        return "it has neither a command nor a URL"
    if entry.get("type") == "sse":
        return "it speaks the old SSE transport"
    if entry.get("disabled"):
        return "it is disabled"
    for name, what in _UNUSABLE.items():
        if name in entry:
            return f"it has {what}, which only the client reads"
    found = _ONLY_THERE.search(json.dumps(entry))
    return f"only the client can fill in {found.group()}…}}" if found else ""


def _server_of(name: str, entry: Wire) -> WrappedServer:
    filled: Wire = json.loads(_VARIABLE.sub(_value, json.dumps(entry)))
    command = (
        [str(word) for word in (filled["command"], *filled.get("args", ()))]
        if "command" in filled
        else []
    )
    return WrappedServer(
        name,
        tuple(command),
        "" if command else str(filled["url"]),
        {key: str(value) for key, value in filled.get("env", {}).items()},
        {key: str(value) for key, value in filled.get("headers", {}).items()},
        filled.get("cwd"),
    )


def _value(found: re.Match[str]) -> str:
    """Return the value of a variable, as it stands inside of a text in JSON."""
    value = os.environ.get(found[1], found[2] or "")
    return json.dumps(value)[1:-1]


def _read(file: Path) -> Wire:
    try:
        config: Any = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidArgumentError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidArgumentError(
            f"{file} is not plain JSON, and comments in it would be lost: {error}"
        ) from error
    return member({"": config}, "")


def _list_name(config: Wire) -> str:
    return next((name for name in _LISTS if isinstance(config.get(name), dict)), _LISTS[0])


def _list_in(config: Wire, file: Path) -> Wire:
    entries: Any = config.get(_list_name(config))
    if entries is None:
        raise InvalidArgumentError(f"{file} lists no servers: it has no {' or '.join(_LISTS)}")
    return dict(entries)


def _write(file: Path, config: Wire, like: Path) -> None:
    """Write a file in one step, also where a link leads; its indent and who may read it are those of another."""
    indent = re.search(r"\n([ \t]+)\S", like.read_text("utf-8"))
    text = json.dumps(config, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
    target = file.resolve()
    try:
        with draft_of(target) as draft:
            draft.touch(like.stat().st_mode & 0o777)
            draft.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidArgumentError(f"cannot write {target}: {error.strerror}") from error
