"""The verb by which an agent keeps files of its own: in the command form that models know from Anthropic's memory tool.

See docs.claude.com, "Memory tool": one tool with a ``command``, and paths below ``/memories``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from memory_context.agent_files.line_edits import lines_of, numbered
from memory_context.agent_files.service import AgentMemoryService, FileEntry
from memory_context.exceptions import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentNotFoundError,
    InvalidPathError,
)
from memory_context.runtime import prompts
from memory_context.text.read.paging import next_page, truncated
from memory_context.text.tokens.counter import TokenCounter, default_counter
from memory_context.tools.memory_tools import Answer, MemoryToolError, Offset, Verb, plain_schema

MEMORY = "memory"
ROOT = "/memories"
SLACK = 8

Null: TypeAlias = SkipJsonSchema[None]
Command: TypeAlias = Literal["view", "create", "str_replace", "insert", "delete", "rename"]


class FileArgs(BaseModel):
    """The arguments of `memory`, as models write them; which of them a command takes is its own matter."""

    model_config = ConfigDict(json_schema_extra=plain_schema)

    command: Command
    path: str | Null = Field(default=None, description=prompts.FILES_PATH)
    view_range: list[int] | Null = Field(default=None, description=prompts.FILES_VIEW_RANGE)
    file_text: str | Null = Field(default=None, description=prompts.FILES_FILE_TEXT)
    old_str: str | Null = Field(default=None, description=prompts.FILES_OLD_STR)
    new_str: str | Null = Field(default=None, description=prompts.FILES_NEW_STR)
    insert_line: int | Null = Field(default=None, description=prompts.FILES_INSERT_LINE)
    insert_text: str | Null = Field(default=None, description=prompts.FILES_INSERT_TEXT)
    old_path: str | Null = Field(default=None, description=prompts.FILES_OLD_PATH)
    new_path: str | Null = Field(default=None, description=prompts.FILES_NEW_PATH)
    offset: Offset = Field(default=0, description=prompts.FILES_OFFSET)

    @field_validator("view_range", mode="before")
    @classmethod
    def _plain_range(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if isinstance(value, str):
            numbers = re.findall(r"(?<!\d)-?\d+", value)
            value = [*numbers, "-1"] if value.rstrip(" ]").endswith("-") else numbers
        return value or None

    @property
    def lines(self) -> tuple[int, int] | None:
        """Which lines are meant; None for all."""
        return (self.view_range[0], self.view_range[-1]) if self.view_range else None


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of one agent.

    Attributes:
        service: Where they are.
        agent_instance_id: Whose they are.
    """

    service: AgentMemoryService
    agent_instance_id: str

    @property
    def counter(self) -> TokenCounter:
        """How tokens are counted."""
        return default_counter()


def _worked(files: AgentFiles, args: FileArgs, most: int) -> Answer:
    """Do what the command says, and answer in a line, or with the text."""
    path = args.path if args.command != "rename" else args.old_path or args.path
    try:
        return Answer(_COMMANDS[args.command](files, args, most))
    except AgentMemoryError as error:
        raise MemoryToolError(
            truncated(_advice(error, _shown(path or "")), most, files.counter.count)
        ) from None


def _advice(error: AgentMemoryError, path: str) -> str:
    match error:
        case AgentMemoryFileNotFoundError():
            return prompts.FILES_NOT_THERE.format(path=path)
        case AgentNotFoundError():
            return prompts.FILES_UNAVAILABLE
        case InvalidPathError():
            return prompts.FILES_BAD_PATH.format(message=error)
        case _:
            return prompts.FILES_FAILED.format(message=error)


def _needed(args: FileArgs, name: str) -> Any:  # noqa: ANN401 - each argument's own
    """The argument `name`, which the command cannot do without."""
    if (value := getattr(args, name)) is None:
        raise MemoryToolError(
            prompts.FILES_MISSING_ARGUMENT.format(command=args.command, name=name)
        )
    return value


def _path_of(args: FileArgs, name: str = "path") -> str:
    """The path that the argument `name` means, which lies inside the agent's folder."""
    path = _inside(_needed(args, name))
    if not path:
        raise MemoryToolError(prompts.FILES_ROOT.format(command=args.command))
    return path


def _inside(path: str) -> str:
    """The path below the agent's folder that a model's path means; what lies elsewhere stays as it is."""
    for root in (ROOT, ROOT[1:]):
        if path.rstrip("/") == root:
            return ""
        if path.startswith(f"{root}/"):
            return path.removeprefix(f"{root}/")
    return path


def _shown(path: str) -> str:
    """The path as models write it."""
    inside = _inside(path)
    return f"{ROOT}/{inside}" if inside else ROOT


def _view(files: AgentFiles, args: FileArgs, most: int) -> str:
    path = _inside(args.path or ROOT).rstrip("/")
    entries = files.service.list(files.agent_instance_id, path)
    if [entry.path for entry in entries if not entry.is_folder] == [path]:
        return _viewed(files, args, path, most)
    text = "\n".join(map(_listed, entries))
    form = prompts.FILES_LISTED.replace("{count}", str(len(entries))).replace(
        "{path}", _shown(path)
    )
    return (
        _paged(files, form, text, 1, args.offset, most)
        if entries
        else prompts.FILES_EMPTY.format(path=_shown(path))
    )


def _listed(entry: FileEntry) -> str:
    path = _shown(entry.path)
    return f"{path}/" if entry.is_folder else prompts.FILES_ENTRY.format(path=path, size=entry.size)


def _viewed(files: AgentFiles, args: FileArgs, path: str, most: int) -> str:
    text = files.service.read_memory_file(files.agent_instance_id, path)
    if not text:
        return prompts.FILES_EMPTY.format(path=_shown(path))
    lines, count = numbered(text, args.lines), len(lines_of(text))
    form = prompts.FILES_LINES.replace("{count}", str(count)).replace("{path}", _shown(path))
    return _paged(files, form, lines, args.lines[0] if args.lines else 1, args.offset, most)


def _paged(files: AgentFiles, form: str, text: str, first: int, offset: int, most: int) -> str:
    """As much of `text` from `offset` on as fits, in `form`, and how to get the next page."""
    if offset >= len(text):
        return prompts.NO_MORE
    count = files.counter.count
    further = "\n" + prompts.NEXT_PAGE_BRIEFLY.format(offset=len(text))
    frame = form.format(first=first, last=first + text.count("\n"), text=further)
    page = next_page(text, offset, len(text), most - count(frame) - SLACK, count)
    shown = text[page.start : page.end].rstrip("\n")
    answer = form.format(first=first + page.first - 1, last=first + page.last - 1, text=shown)
    return (
        answer
        if page.end == len(text)
        else answer + "\n" + prompts.NEXT_PAGE_BRIEFLY.format(offset=page.end)
    )


def _create(files: AgentFiles, args: FileArgs, _: int) -> str:
    path, text = _path_of(args), _needed(args, "file_text")
    files.service.create(files.agent_instance_id, path, text)
    return prompts.FILES_CREATED.format(path=_shown(path), size=len(text.encode()))


def _str_replace(files: AgentFiles, args: FileArgs, _: int) -> str:
    path, old = _path_of(args), _needed(args, "old_str")
    line = files.service.str_replace(files.agent_instance_id, path, old, args.new_str or "")
    return prompts.FILES_REPLACED.format(path=_shown(path), line=line)


def _insert(files: AgentFiles, args: FileArgs, _: int) -> str:
    path, line = _path_of(args), _needed(args, "insert_line")
    text = _needed(args, "new_str" if args.insert_text is None and args.new_str else "insert_text")
    files.service.insert(files.agent_instance_id, path, line, text)
    return prompts.FILES_INSERTED.format(path=_shown(path), line=line)


def _delete(files: AgentFiles, args: FileArgs, _: int) -> str:
    path = _path_of(args).rstrip("/")
    files.service.delete(files.agent_instance_id, path)
    return prompts.FILES_DELETED.format(path=_shown(path))


def _rename(files: AgentFiles, args: FileArgs, _: int) -> str:
    old = _path_of(args, "path" if args.old_path is None and args.path else "old_path").rstrip("/")
    new = _path_of(args, "new_path").rstrip("/")
    files.service.rename(files.agent_instance_id, old, new)
    return prompts.FILES_RENAMED.format(old=_shown(old), new=_shown(new))


_COMMANDS: dict[Command, Callable[[AgentFiles, FileArgs, int], str]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}

FILES = Verb(MEMORY, prompts.FILES_TOOL, FileArgs, _worked)
FILE_VERBS = (FILES,)
