"""Configuration files of MCP clients: the servers in them, which are wrapped there, and given back as they were."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.requests import Wire, member
from memory_context.mcp.wrapped_servers import WrappedServer
from memory_context.runtime.atomic_file import draft_of

_LISTS = ("mcpServers", "servers")  # of most clients, and of VS Code
# ${VAR}, ${VAR:-default} of Claude Code, ${env:VAR} of Cursor and VS Code.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What only the client can fill in: ${input:token}, ${workspaceFolder}.
_ONLY_THERE = re.compile(r"\$\{(?!env:)(?:\w+:[^-]|workspace|userHome|pathSeparator|file|cwd)")
_OTHER_TRANSPORTS = {"sse": "the old SSE transport", "ws": "WebSocket"}
_UNUSABLE = {
    "envFile": "an envFile",
    "sandbox": "a sandbox",
    "oauth": "a login (oauth)",
    "headersHelper": "a headersHelper",
}
ENTRY = "with-memory"
SETTINGS = ("settings.json", "settings.local.json")  # of Claude Code
ENTRIES = (ENTRY, f"{ENTRY}-project", f"{ENTRY}-local")
CLIENTS = ("claude", "claude-code", "cursor", "vscode")


@dataclass(frozen=True, slots=True)
class ServerList:
    """Where a client lists servers.

    Attributes:
        file: The configuration.
        project: The folder whose list it is, in a file with the lists of several; empty for the file's own list.
        entry: What our entry is called. Another for a project's than for the user's: of two servers of one name a
            client starts one.
        off: The servers that the user has switched off elsewhere.
    """

    file: Path
    project: str = ""
    entry: str = ENTRY
    off: Collection[str] = ()

    def __str__(self) -> str:
        """Name it for people."""
        return f"{self.file}, {self.project}" if self.project else str(self.file)

    @property
    def moved(self) -> Path:
        """Return where its servers are while they are wrapped."""
        file = self.file.resolve()
        name = self.file.stem
        if self.project:
            digest = blake2b(self.project.encode(), digest_size=4).hexdigest()
            name += f".{Path(self.project).name}-{digest}"
        return file.with_name(f"{name}.wrapped.json")

    def owner(self, config: Wire) -> Wire:
        """Return what the list is a member of, in the *config* that the file holds."""
        return member(member(config, "projects"), self.project) if self.project else config


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a client's configuration.

    Attributes:
        place: Where the servers are listed.
        names: The servers that were wrapped, or given back.
        left: Those that were left as they are, and why.
    """

    place: ServerList
    names: Sequence[str]
    left: Mapping[str, str]


def lists_of(client: str) -> list[ServerList]:
    """Return where a client lists servers: for this folder, if it does, and for the user.

    Raises:
        InvalidArgumentError: There is no such client.
    """
    home = Path.home()
    if client == "claude-code":
        return _lists_of_claude_code(home)
    here = {"cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
    if sys.platform == "darwin":
        settings = home / "Library/Application Support"
    else:
        settings = Path(
            os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or home / ".config"
        )
    users = {
        "claude": settings / "Claude/claude_desktop_config.json",
        "cursor": home / ".cursor/mcp.json",
        "vscode": settings / "Code/User/mcp.json",
    }
    if client not in users:
        raise InvalidArgumentError(
            f"there is no client {client!r}; known are {', '.join(CLIENTS)}, and --file takes others"
        )
    places = [ServerList(users[client])]
    project = Path.cwd() / here.get(client, "")
    if project.is_file() and project != users[client]:
        places.insert(0, ServerList(project, entry=f"{ENTRY}-project"))
    return places


def _lists_of_claude_code(home: Path) -> list[ServerList]:
    """Return what `claude mcp add` lists for this folder and its user alone, what `.mcp.json` does, and the user's."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    file = Path(own or home) / ".claude.json"
    here = Path.cwd()
    # As the client does: what it knows of a folder, it knows of the repository.
    root = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    known = member(member(_known_of(file), "projects"), str(root))
    off = _names(known, "disabledMcpServers")
    places = [ServerList(file, off=off)]
    project = here / ".mcp.json"
    if project.exists():
        folders = (Path(own or home / ".claude"), here / ".claude")
        settings = [folder / name for folder in folders for name in SETTINGS]
        for config in (known, *map(_known_of, settings)):
            off = off | _names(config, "disabledMcpjsonServers")
        places.insert(0, ServerList(project, "", f"{ENTRY}-project", off))
    local = ServerList(file, str(root), f"{ENTRY}-local", places[-1].off)
    if known.get("mcpServers"):
        places.insert(0, local)
    elif local.moved.exists():  # our entry was taken out by hand
        places.append(local)
    return places


def _known_of(file: Path) -> Wire:
    """Return what a file says that is only looked at: one that is not there, or cannot be read, says nothing."""
    with suppress(InvalidArgumentError):
        return _read(file)
    return {}


def _names(config: Wire, name: str) -> frozenset[str]:
    listed: object = config.get(name)
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    return frozenset(one for one in names if isinstance(one, str))


def list_in(file: Path) -> ServerList:
    """Return where a file lists servers, with what is known of one of Claude Code's."""
    places = lists_of("claude-code") if file.name in (".mcp.json", ".claude.json") else []
    own = (one for one in places if one.file == file.absolute() and not one.project)
    return next(own, ServerList(file))


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


def wrap_in(place: ServerList, command: Sequence[str], only: Collection[str] = ()) -> Change:
    """Put one entry in place of the servers in a client's list, which move to a file beside it.

    Args:
        place: The list.
        command: What starts the wrapper; the place of the moved servers is added.
        only: The names of the servers; without one, all that can be wrapped.

    Raises:
        InvalidArgumentError: It is no configuration, there is no such server, or nothing to wrap.
    """
    file, moved = place.file, place.moved
    config = _read(file)
    owner = place.owner(config)
    entries = _list_in(owner, file)
    unknown = ", ".join(sorted(set(only) - entries.keys()))
    if unknown:
        raise InvalidArgumentError(f"{place} has no server {unknown}; it has {', '.join(entries)}")
    our_name = _our_name(entries, place)
    left = {name: _problem_with(entry) for name, entry in entries.items() if name != our_name}
    for name in left.keys() & {*place.off}:
        left[name] = left[name] or "it is switched off"
    chosen = [name for name, problem in left.items() if not problem and (not only or name in only)]
    if not chosen:
        told = "".join(f"; {name}: {problem}" for name, problem in left.items() if problem)
        raise InvalidArgumentError(f"{place} has no server to wrap{told}")
    kept = {name: entries[name] for name in chosen}
    # What the user has added to it, such as variables, stays.
    ours: Wire = {
        **member(entries, our_name),
        "command": command[0],
        "args": [*command[1:], "--servers", str(moved)],
    }
    # Where the client writes what an entry is, it reads it, too.
    if any("type" in entry for entry in kept.values()) or "servers" in config:
        ours = {"type": "stdio", **ours}
    following = Wire()
    for name, entry in entries.items():
        following |= {our_name: ours} if name in chosen else {name: entry}
    following[our_name] = ours
    earlier: Wire = {}
    if moved.exists():
        earlier = _list_in(_read(moved), moved)
    elif our_name in entries:
        raise InvalidArgumentError(
            f"{place} has a server {our_name!r} that is not ours: call it otherwise"
        )
    # First: nothing is lost if the second cannot be written.
    _write(moved, {"mcpServers": {**earlier, **kept}}, file)
    owner[_list_name(owner)] = following
    _write(file, config, file)
    return Change(place, chosen, {name: problem for name, problem in left.items() if problem})


def unwrap_in(place: ServerList) -> Change:
    """Give a client's list its servers back.

    Raises:
        InvalidArgumentError: No server in it is wrapped.
    """
    moved = place.moved
    if not moved.exists():
        raise InvalidArgumentError(f"no server in {place} is wrapped: there is no {moved}")
    given = _list_in(_read(moved), moved)
    config = _read(place.file)
    owner = place.owner(config)
    listed = _list_in(owner, place.file)
    our_name = _our_name(listed, place)
    entries = Wire()
    for name, entry in listed.items():
        entries |= given if name == our_name else {name: entry}
    # The entry may have been taken out by hand.
    owner[_list_name(owner)] = {**given, **entries}
    _write(place.file, config, place.file)
    moved.unlink()
    return Change(place, list(given), {})


def _our_name(entries: Wire, place: ServerList) -> str:
    """Return the name of the entry that starts the moved servers, or will."""
    moved = str(place.moved)
    starting = (name for name in entries if moved in (member(entries, name).get("args") or ()))
    # In a folder that was renamed they lie elsewhere by now.
    named = (name for name in (place.entry, *ENTRIES) if name in entries)
    return next(starting, next(named, place.entry))


def _problem_with(entry: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return why a server cannot be wrapped; an empty text if it can."""
    entry = member({"": entry}, "")
    if not ("command" in entry or "url" in entry):
        return "it has neither a command nor a URL"
    if entry.get("type") in _OTHER_TRANSPORTS:
        return f"it speaks {_OTHER_TRANSPORTS[entry['type']]}"
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
        [str(word) for word in (filled["command"], *(filled.get("args") or ()))]
        if "command" in filled
        else []
    )
    return WrappedServer(
        name,
        tuple(command),
        "" if command else str(filled["url"]),
        _texts(filled, "env"),
        _texts(filled, "headers"),
        filled.get("cwd"),
    )


def _texts(entry: Wire, name: str) -> dict[str, str]:
    """Return the texts under *name*; in VS Code's lists numbers stand among them, and null for none."""
    return {key: str(value) for key, value in member(entry, name).items() if value is not None}


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
    """Write a file in one step, also where a link leads; its indent, its end and who may read it are those of another."""
    pattern = like.read_text("utf-8")
    indent = re.search(r"\n([ \t]+)\S", pattern)
    text = json.dumps(config, indent=indent[1] if indent else 2, ensure_ascii=False)
    text += "\n" if pattern.endswith("\n") else ""
    target = file.resolve()
    try:
        with draft_of(target) as draft:
            draft.touch(like.stat().st_mode & 0o777)
            draft.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidArgumentError(f"cannot write {target}: {error.strerror}") from error
