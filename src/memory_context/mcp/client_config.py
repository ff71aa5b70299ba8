"""The configuration files in which MCP clients list servers: wrap the listed servers, and restore them.

Wrapping replaces the servers in a client's list with one entry of ours, which starts the wrapper. The replaced entries
move to a ``*.wrapped.json`` file beside the configuration; from there the wrapper reads them, and unwrapping puts them
back.
"""

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
from typing import Any

from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.upstream_connections import WrappedServer
from memory_context.mcp.wire_types_and_errors import Wire, member
from memory_context.model.json_object import elements_of, members_of
from memory_context.runtime.files_replaced_safely import draft_of
from memory_context.runtime.home_folder import home_folder

_LIST_NAMES = ("mcpServers", "servers")  # the name in most clients, and in VS Code
# ${VAR} and ${VAR:-default} in Claude Code, ${env:VAR} in Cursor and VS Code.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# Placeholders that only the client can fill in, such as ${input:token} and ${workspaceFolder}.
_CLIENT_ONLY = re.compile(r"\$\{(?!env:)(?:\w+:[^-]|workspace|userHome|pathSeparator|file|cwd)")
_UNSUPPORTED_TRANSPORTS = {"sse": "the old SSE transport", "ws": "WebSocket"}
_CLIENT_ONLY_SETTINGS = {
    "envFile": "an envFile",
    "sandbox": "a sandbox",
    "oauth": "a login (oauth)",
    "headersHelper": "a headersHelper",
}
ENTRY = "with-memory"
SETTINGS = ("settings.json", "settings.local.json")  # Claude Code's settings files
ENTRIES = (ENTRY, f"{ENTRY}-project", f"{ENTRY}-local")
CLIENTS = ("claude", "claude-code", "cursor", "vscode")


@dataclass(frozen=True, slots=True)
class ServerList:
    """One list of servers in a client's configuration.

    Attributes:
        file: The configuration file.
        project: The project folder that the list belongs to, if the file holds one list per project; empty for the
            file's own list.
        entry: The name of our entry. The lists of a project and of the user need different names, since a client
            starts only one of two servers that have the same name.
        disabled: The servers that the user has switched off in other settings of the client.
    """

    file: Path
    project: str = ""
    entry: str = ENTRY
    disabled: Collection[str] = ()

    def __str__(self) -> str:
        """Return the file, and the project if there is one."""
        if self.project:
            return f"{self.file}, {self.project}"
        return str(self.file)

    @property
    def wrapped_file(self) -> Path:
        """Return the file that holds the list's own entries while they are wrapped."""
        file = self.file.resolve()
        name = self.file.stem
        if self.project:
            digest = blake2b(self.project.encode(), digest_size=4).hexdigest()
            name += f".{Path(self.project).name}-{digest}"
        return file.with_name(f"{name}.wrapped.json")

    def owner(self, config: Wire) -> Wire:
        """Return the object in *config* that holds the list: the project's object, or the whole configuration."""
        if self.project:
            return member(member(config, "projects"), self.project)
        return config


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was made to a client's configuration.

    Attributes:
        place: The list that was changed.
        names: The servers that were wrapped, or restored.
        skipped: The servers that cannot be wrapped, each with the reason.
    """

    place: ServerList
    names: Sequence[str]
    skipped: Mapping[str, str]


def lists_of(client: str) -> list[ServerList]:
    """Return a client's lists of servers: the one for the working directory, if it exists, and the user's.

    The list to wrap comes first.

    Raises:
        InvalidArgumentError: There is no such client, or no home folder.
    """
    home = home_folder()
    if client == "claude-code":
        return _lists_of_claude_code(home)
    here = {"cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
    # The folder in which programs keep their settings on this platform.
    named = os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME")
    settings = Path(named or home / ".config")
    if sys.platform == "darwin":
        settings = home / "Library/Application Support"
    users = {
        "claude": settings / "Claude/claude_desktop_config.json",
        "cursor": home / ".cursor/mcp.json",
        "vscode": settings / "Code/User/mcp.json",
    }
    if client not in users:
        raise InvalidArgumentError(
            f"there is no client {client!r}: use one of {', '.join(CLIENTS)}, or --file for another"
        )
    places = [ServerList(users[client])]
    project = Path.cwd() / here.get(client, "")
    if project.is_file() and project != users[client]:
        places.insert(0, ServerList(project, entry=f"{ENTRY}-project"))
    return places


def _lists_of_claude_code(home: Path) -> list[ServerList]:
    """Return Claude Code's lists: its local one for this project, the project's `.mcp.json`, and the user's."""
    config_folder = os.environ.get("CLAUDE_CONFIG_DIR")
    file = Path(config_folder or home) / ".claude.json"
    here = Path.cwd()
    # The client keeps what it knows about a folder under the root of the folder's repository.
    repositories = (one for one in (here, *here.parents) if (one / ".git").exists())
    root = next(repositories, here)
    projects = member(_read_or_empty(file), "projects")
    project_settings = member(projects, str(root))
    disabled = _names(project_settings, "disabledMcpServers")
    places = [ServerList(file, disabled=disabled)]
    project = here / ".mcp.json"
    if project.exists():
        folders = (Path(config_folder or home / ".claude"), here / ".claude")
        settings = [folder / name for folder in folders for name in SETTINGS]
        for config in (project_settings, *map(_read_or_empty, settings)):
            disabled |= _names(config, "disabledMcpjsonServers")
        places.insert(0, ServerList(project, "", f"{ENTRY}-project", disabled))
    local = ServerList(file, str(root), f"{ENTRY}-local", places[-1].disabled)
    if project_settings.get("mcpServers"):
        places.insert(0, local)
    elif local.wrapped_file.exists():  # somebody removed our entry by hand
        places.append(local)
    return places


def _read_or_empty(file: Path) -> Wire:
    """Return the configuration in a file that is only read; an empty one if the file is missing or unreadable."""
    with suppress(InvalidArgumentError):
        return _read(file)
    return {}


def _names(config: Wire, name: str) -> frozenset[str]:
    """Return the strings in the array under *name*; an empty set if there is no such array."""
    return frozenset(one for one in elements_of(config.get(name)) if isinstance(one, str))


def list_in(file: Path) -> ServerList:
    """Return a file's own list of servers; for one of Claude Code's files, with the servers that are disabled."""
    if file.name in (".mcp.json", ".claude.json"):
        for place in lists_of("claude-code"):
            if place.file == file.absolute() and not place.project:
                return place
    return ServerList(file)


def servers_in(file: Path) -> list[WrappedServer]:
    """Return the servers that a file lists in the format of the clients' configurations.

    Raises:
        InvalidArgumentError: The file is not such a configuration, or one of the servers cannot be wrapped.
    """
    servers = list[WrappedServer]()
    entries = _list_in(_read(file), file)
    for name, entry in entries.items():
        problem = _problem_with(entry)
        if problem:
            raise InvalidArgumentError(f"{name!r} in {file} cannot be wrapped: {problem}")
        servers.append(_server_of(name, entry))
    if not servers:
        raise InvalidArgumentError(f"{file} lists no servers")
    return servers


def wrap_in(place: ServerList, command: Sequence[str], only: Collection[str] = ()) -> Change:
    """Replace servers in a client's list with one entry of ours, and move them to a file beside the configuration.

    Args:
        place: The list.
        command: The command that starts the wrapper; the path of the moved servers is appended.
        only: The names of the servers to wrap; if empty, all that can be wrapped.

    Raises:
        InvalidArgumentError: The file is not a configuration, it has no such server, there is nothing to wrap, or a
            server has the name of another one that is wrapped.
    """
    file = place.file
    wrapped_file = place.wrapped_file
    config = _read(file)
    owner = place.owner(config)
    entries = _list_in(owner, file)
    unknown = ", ".join(sorted(set(only) - entries.keys()))
    if unknown:
        raise InvalidArgumentError(f"{place} has no server {unknown}; it has {', '.join(entries)}")
    our_name = _our_name(entries, place)
    is_wrapped = wrapped_file.exists() and _is_ours(entries, our_name)
    if our_name in entries and not is_wrapped:
        raise InvalidArgumentError(
            f"{place} has a server {our_name!r} that is not ours: rename that server"
        )
    others = {name: entry for name, entry in entries.items() if name != our_name}
    skipped = _skipped(others, place.disabled)
    wanted = only or others
    wrapped = {
        name: entry for name, entry in others.items() if name in wanted and name not in skipped
    }
    if not wrapped:
        reasons = "".join(f"; {name}: {problem}" for name, problem in skipped.items())
        left = "no other server" if is_wrapped else "no server"
        raise InvalidArgumentError(f"{place} has {left} to wrap{reasons}")
    # Wrapping again keeps what the user has added to our entry, such as environment variables.
    ours: Wire = {
        **member(entries, our_name),
        "command": command[0],
        "args": [*command[1:], "--servers", str(wrapped_file)],
    }
    # A client that writes a `type` into its entries expects one in ours.
    has_types = any("type" in entry for entry in wrapped.values())
    if has_types or "servers" in config:
        ours = {"type": "stdio", **ours}
    # Our entry takes the place of the first one that it replaces.
    new_entries = {our_name if name in wrapped else name: entries[name] for name in entries}
    new_entries[our_name] = ours
    wrapped_before: Wire = {}
    if wrapped_file.exists():
        wrapped_before = _list_in(_read(wrapped_file), wrapped_file)
        _check_names(wrapped, wrapped_before, place)
    # This file is written first, so that no entry is lost if the configuration cannot be written.
    _write(wrapped_file, {"mcpServers": {**wrapped_before, **wrapped}}, file)
    owner[_list_name(owner)] = new_entries
    _write(file, config, file)
    return Change(place, list(wrapped), skipped)


def _skipped(entries: Wire, disabled: Collection[str]) -> dict[str, str]:
    """Return the servers that are not wrapped, each with the reason."""
    skipped = dict[str, str]()
    for name, entry in entries.items():
        problem = _problem_with(entry)
        if not problem and name in disabled:
            problem = "it is switched off"
        if problem:
            skipped[name] = problem
    return skipped


def unwrap_in(place: ServerList) -> Change:
    """Put the wrapped servers of a client's list back in place of our entry.

    Raises:
        InvalidArgumentError: No server of the list is wrapped, or one has the name of a server that was added since.
    """
    wrapped_file = place.wrapped_file
    if not wrapped_file.exists():
        raise InvalidArgumentError(f"no server in {place} is wrapped: there is no {wrapped_file}")
    wrapped = _list_in(_read(wrapped_file), wrapped_file)
    config = _read(place.file)
    owner = place.owner(config)
    listed = _list_in(owner, place.file)
    _check_names(listed, wrapped, place)
    our_name = _our_name(listed, place)
    entries = Wire()
    for name, entry in listed.items():
        if name == our_name and _is_ours(listed, name):
            entries |= wrapped
        else:
            entries[name] = entry
    # If our entry was removed by hand, no entry above was replaced by the wrapped ones.
    owner[_list_name(owner)] = {**wrapped, **entries}
    _write(place.file, config, place.file)
    wrapped_file.unlink()
    return Change(place, list(wrapped), {})


def _check_names(listed: Wire, wrapped: Wire, place: ServerList) -> None:
    """Check that no listed server has the name of another one that is wrapped.

    Raises:
        InvalidArgumentError: One has, and one of the two would be lost.
    """
    for name, entry in listed.items():
        # A crash between the writing of the two files leaves equal entries in both.
        if wrapped.get(name, entry) != entry:
            raise InvalidArgumentError(
                f"{place} has another server {name!r} than {place.wrapped_file}: rename or remove one of them"
            )


def _our_name(entries: Wire, place: ServerList) -> str:
    """Return the name of our entry in the list; if there is none yet, the name that it will get."""
    path = str(place.wrapped_file)
    for name in entries:
        if path in elements_of(member(entries, name).get("args")):
            return name
    # After the folder was renamed, our entry still has the old path in its arguments.
    for name in (place.entry, *ENTRIES):
        if _is_ours(entries, name):
            return name
    return place.entry


def _is_ours(entries: Wire, name: str) -> bool:
    """Return whether the entry with this name starts a wrapper with a file of moved servers, wherever that file is."""
    entry = json.dumps(entries.get(name))
    return "--servers" in entry and ".wrapped.json" in entry


def _problem_with(entry: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return why a server cannot be wrapped; an empty string if it can be."""
    entry = members_of(entry)
    if not ("command" in entry or "url" in entry):
        return "it has neither a command nor a URL"
    if entry.get("type") in _UNSUPPORTED_TRANSPORTS:
        return f"it uses {_UNSUPPORTED_TRANSPORTS[entry['type']]}"
    if not isinstance(entry.get("args") or [], list):
        return "its args are not a list"
    if entry.get("disabled"):
        return "it is disabled"
    for name, what in _CLIENT_ONLY_SETTINGS.items():
        if name in entry:
            return f"it has {what}, which only the client reads"
    found = _CLIENT_ONLY.search(json.dumps(entry))
    return f"only the client can fill in {found.group()}…}}" if found else ""


def _server_of(name: str, entry: Wire) -> WrappedServer:
    """Return the server of an entry, with the values of environment variables filled in."""
    filled: Wire = json.loads(_VARIABLE.sub(_value, json.dumps(entry)))
    command: list[object] = []
    if "command" in filled:
        command = [filled["command"], *elements_of(filled.get("args"))]
    url = "" if command else str(filled["url"])
    return WrappedServer(
        name,
        tuple(map(str, command)),
        url,
        _texts(filled, "env"),
        _texts(filled, "headers"),
        filled.get("cwd"),
    )


def _texts(entry: Wire, name: str) -> dict[str, str]:
    """Return the object under *name* with its values as strings; in VS Code's lists, some are numbers or null."""
    return {key: str(value) for key, value in member(entry, name).items() if value is not None}


def _value(found: re.Match[str]) -> str:
    """Return the value of a variable, escaped for the inside of a JSON string."""
    name, default = found.groups(default="")
    quoted = json.dumps(os.environ.get(name, default))
    return quoted[1:-1]


def _read(file: Path) -> Wire:
    try:
        config: Any = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidArgumentError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidArgumentError(
            f"{file} is not plain JSON: {error} (any comments in it would be lost)"
        ) from error
    return dict(members_of(config))


def _list_name(config: Wire) -> str:
    for name in _LIST_NAMES:
        if isinstance(config.get(name), dict):
            return name
    return _LIST_NAMES[0]


def _list_in(config: Wire, file: Path) -> Wire:
    name = _list_name(config)
    if not isinstance(config.get(name), dict):
        raise InvalidArgumentError(
            f"{file} lists no servers: it has no object {' or '.join(_LIST_NAMES)}"
        )
    return member(config, name)


def _write(file: Path, config: Wire, like: Path) -> None:
    """Write a file atomically, following symbolic links.

    The indentation, the newline at the end and the permissions are those of the file *like*.
    """
    template = like.read_text("utf-8")
    indented = re.search(r"\n([ \t]+)\S", template)
    indent = indented[1] if indented else 2
    text = json.dumps(config, indent=indent, ensure_ascii=False)
    if template.endswith("\n"):
        text += "\n"
    try:
        with draft_of(file) as draft:
            draft.chmod(like.stat().st_mode & 0o777)
            draft.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidArgumentError(f"cannot write {file}: {error.strerror}") from error
