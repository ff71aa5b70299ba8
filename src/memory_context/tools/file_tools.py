"""The tool with which an agent keeps its own files. It has the interface of Anthropic's memory tool.

See docs.claude.com, "Memory tool": one tool with a ``command``, and paths below ``/memories``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from memory_context import sentences_models_read as prompts
from memory_context.agent_files.agent_file_service import AgentMemoryService, FileEntry
from memory_context.agent_files.filenames import path_parts
from memory_context.agent_files.text_edits import lines_of, numbered
from memory_context.exceptions import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentNotFoundError,
    InvalidPathError,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.text.read.paging import next_page, truncated
from memory_context.text.tokens.counter import TokenCounter, default_counter
from memory_context.tools.arguments_as_models_write_them import LenientArgs, Offset, Text
from memory_context.tools.tool_calls_and_answers import MemoryToolError, ToolAnswer, Verb

MEMORY = "memory"
ROOT = "/memories"
SLACK = 8
# The most tokens of a path in a sentence. The smallest limit of an answer is 200, and the model knows the path it gave.
PATH_TOKENS = 50

Null: TypeAlias = SkipJsonSchema[None]


class FileArgs(LenientArgs):
    """The arguments of `memory`, as models write them; each command takes some of them."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: str | Null = Field(default=None, description=prompts.FILES_PATH)
    view_range: list[int] | Null = Field(default=None, description=prompts.FILES_VIEW_RANGE)
    file_text: Text | Null = Field(default=None, description=prompts.FILES_FILE_TEXT)
    old_str: str | Null = Field(default=None, description=prompts.FILES_OLD_STR)
    new_str: str | Null = Field(default=None, description=prompts.FILES_NEW_STR)
    insert_line: int | Null = Field(default=None, description=prompts.FILES_INSERT_LINE)
    insert_text: Text | Null = Field(default=None, description=prompts.FILES_INSERT_TEXT)
    old_path: str | Null = Field(default=None, description=prompts.FILES_OLD_PATH)
    new_path: str | Null = Field(default=None, description=prompts.FILES_NEW_PATH)
    offset: Offset = Field(default=0, description=prompts.FILES_OFFSET)

    @field_validator("view_range", mode="before")
    @classmethod
    def _plain_range(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if isinstance(value, str):
            # The hyphen of "5-9" is not a minus sign.
            numbers = re.findall(r"(?<!\d)-?\d+", value)
            if value.rstrip(" ]").endswith("-"):
                numbers.append("-1")  # "5-" means from line 5 to the end
            value = numbers
        return value or None

    @property
    def lines(self) -> tuple[int, int] | None:
        """Return the first and the last line of the range, which are the same for a single number; None for all lines."""
        if not self.view_range:
            return None
        return self.view_range[0], self.view_range[-1]

    def needed(self, name: str) -> Any:  # noqa: ANN401 - each argument's own
        """Return the argument `name`.

        Raises:
            MemoryToolError: It is missing.
        """
        value = getattr(self, name)
        if value is None:
            raise MemoryToolError(
                prompts.FILES_MISSING_ARGUMENT.format(command=self.command, name=name)
            )
        return value

    def path_inside(self, name: str = "path") -> str:
        """Return the argument `name` as a path relative to the agent's folder.

        Raises:
            MemoryToolError: It is missing, or it is the folder itself.
        """
        path = _relative(self.needed(name))
        if not path:
            raise MemoryToolError(prompts.FILES_ROOT.format(command=self.command))
        return path


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of one agent, with a method for each command of the tool, which returns the answer for the model.

    Attributes:
        service: The service that stores the files.
        agent_instance_id: The agent.
    """

    service: AgentMemoryService
    agent_instance_id: str

    def __post_init__(self) -> None:
        """Check both: a tool would fail only when a model first calls it."""
        check_arguments(service=self.service, agent_instance_id=self.agent_instance_id)

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter."""
        return default_counter()

    def view(self, args: FileArgs, max_tokens: int) -> str:
        """Return the text of a file with the numbers of its lines, or the list of the files in a folder."""
        path = _relative(args.path or ROOT).rstrip("/")
        entries = self.service.list(self.agent_instance_id, path)
        if path:
            path = "/".join(path_parts(path))
        # The list for the path of a file contains only that file.
        listed_files = [entry.path for entry in entries if not entry.is_folder]
        if listed_files == [path]:
            return self._view_file(args, path, max_tokens)
        if not entries:
            return prompts.FILES_EMPTY.format(path=_shown(path))
        text = "\n".join(map(_entry_line, entries))
        said = partial(prompts.FILES_LISTED.format, count=len(entries), path=_shown(path))
        return self._page(said, text, 1, args.offset, max_tokens)

    def _view_file(self, args: FileArgs, path: str, max_tokens: int) -> str:
        text = self.service.read_memory_file(self.agent_instance_id, path)
        if not text:
            return prompts.FILES_EMPTY.format(path=_shown(path))
        said = partial(prompts.FILES_LINES.format, count=len(lines_of(text)), path=_shown(path))
        first = args.lines[0] if args.lines else 1
        return self._page(said, numbered(text, args.lines), first, args.offset, max_tokens)

    def _page(
        self,
        said: Callable[..., str],
        text: str,
        first: int,
        offset: int,
        max_tokens: int,
    ) -> str:
        """Return as much of `text` from `offset` on as fits into `max_tokens`, and how to get the next page.

        Args:
            said: Returns the sentence around a page, given its ``first`` and ``last`` line and its ``text``.
            text: All that is to be shown.
            first: The number of its first line.
            offset: The characters of it that earlier pages showed.
            max_tokens: The most tokens of the answer.
        """
        if offset >= len(text):
            return prompts.NO_MORE
        count = self.counter.count
        further = "\n" + prompts.NEXT_PAGE_BRIEFLY.format(offset=len(text))
        frame = said(first=first, last=first + text.count("\n"), text=further)
        room = max_tokens - count(frame) - SLACK
        page = next_page(text, offset, len(text), room, count)
        shown = text[page.start : page.end].rstrip("\n")
        before = first - 1
        answer = said(first=before + page.first, last=before + page.last, text=shown)
        if page.end < len(text):
            answer += "\n" + prompts.NEXT_PAGE_BRIEFLY.format(offset=page.end)
        return answer

    def create(self, args: FileArgs, _: int) -> str:
        """Create a file."""
        path = args.path_inside()
        text = args.needed("file_text")
        self.service.create(self.agent_instance_id, path, text)
        return prompts.FILES_CREATED.format(path=_shown(path), size=len(text.encode()))

    def str_replace(self, args: FileArgs, _: int) -> str:
        """Replace a text that occurs exactly once in a file."""
        path = args.path_inside()
        old = args.needed("old_str")
        line = self.service.str_replace(self.agent_instance_id, path, old, args.new_str or "")
        return prompts.FILES_REPLACED.format(path=_shown(path), line=line)

    def insert(self, args: FileArgs, _: int) -> str:
        """Insert lines after a line of a file."""
        path = args.path_inside()
        line = args.needed("insert_line")
        # Some models use the argument of str_replace for the text.
        is_misnamed = args.insert_text is None and args.new_str
        name = "new_str" if is_misnamed else "insert_text"
        text = args.needed(name)
        self.service.insert(self.agent_instance_id, path, line, text)
        return prompts.FILES_INSERTED.format(path=_shown(path), line=line)

    def delete(self, args: FileArgs, _: int) -> str:
        """Delete a file or a folder."""
        path = args.path_inside().rstrip("/")
        self.service.delete(self.agent_instance_id, path)
        return prompts.FILES_DELETED.format(path=_shown(path))

    def rename(self, args: FileArgs, _: int) -> str:
        """Move a file or a folder."""
        is_misnamed = args.old_path is None and args.path
        name = "path" if is_misnamed else "old_path"
        old = args.path_inside(name).rstrip("/")
        new = args.path_inside("new_path").rstrip("/")
        self.service.rename(self.agent_instance_id, old, new)
        return prompts.FILES_RENAMED.format(old=_shown(old), new=_shown(new))


def _run(files: AgentFiles, args: FileArgs, max_tokens: int) -> ToolAnswer:
    """Run the command. The answer is one line; for `view`, it is the text.

    Raises:
        MemoryToolError: The command failed; the message says what to do next.
    """
    path = args.path
    if args.command == "rename":
        path = args.old_path or args.path
    try:
        return ToolAnswer(getattr(files, args.command)(args, max_tokens))
    except AgentMemoryError as error:
        advice = _advice(error, _shown(path or ""))
        message = truncated(advice, max_tokens, files.counter.count)
        raise MemoryToolError(message) from None


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


def _relative(path: str) -> str:
    """Return a path that a model wrote, relative to the agent's folder; unchanged if it is not below `ROOT`."""
    # Models leave out the slash at the beginning, and add one at the end.
    rooted = f"/{path.removeprefix('/')}"
    if rooted.rstrip("/") == ROOT:
        return ""
    if rooted.startswith(f"{ROOT}/"):
        return rooted.removeprefix(f"{ROOT}/")
    return path


def _written(path: str) -> str:
    """Return a path in the form that models use, below `ROOT`."""
    inside = _relative(path)
    return f"{ROOT}/{inside}" if inside else ROOT


def _shown(path: str) -> str:
    """Return a path for a sentence in the form that models use; only the end of a very long one."""
    written = end = _written(path)
    while default_counter().exceeds(end, PATH_TOKENS):
        end = end[len(end) // 4 + 1 :]
    return written if end == written else f"…{end}"


def _entry_line(entry: FileEntry) -> str:
    path = _written(entry.path)
    if entry.is_folder:
        return f"{path}/"
    return prompts.FILES_ENTRY.format(path=path, size=entry.size)


FILES = Verb(MEMORY, prompts.FILES_TOOL, FileArgs, _run)
