"""The tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, cast

from autogen_core import CancellationToken, Component
from autogen_core.models import FunctionExecutionResult
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from memory_context import _prompts
from memory_context._excerpt import excerpt
from memory_context._executor import off_loop
from memory_context._items import MemoryItem, is_secret
from memory_context._pages import cut
from memory_context._refs import MemoryRef
from memory_context._selection import Selection
from memory_context.exceptions import (
    InvalidKeyError,
    MemoryContextError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.manager import MemoryManager

RETRIEVE, SEARCH, STORE = "retrieve_memory", "search_memory", "store_memory"
READING_TOOLS = frozenset({RETRIEVE, SEARCH})
LEAST_ANSWER = 200
MAX_HITS = 20
PASSAGE_TOKENS = 60
_SHOWN_LINES = re.compile(r"lines (\d+-\d+(?:, \d+-\d+)*) of \d+")
_RUN = re.compile(r"(\d+)-(\d+)")


class MemoryToolConfig(BaseModel):
    """What leads a dumped tool to the same memories."""

    user_id: str
    store: str
    agent_id: str | None = None
    password_variable: str
    max_tokens: int


def _without_titles(schema: dict[str, Any]) -> None:
    """Take away what repeats the names of the arguments: a model reads the schema at every call."""
    for argument in schema["properties"].values():
        argument.pop("title", None)


class RetrieveArgs(BaseModel):
    """The arguments of `retrieve_memory`, as models write them: whole references, numbers and lists are understood."""

    model_config = ConfigDict(json_schema_extra=_without_titles)

    key: str = Field(description=_prompts.RETRIEVE_KEY)
    lines: str = Field(default="", description=_prompts.RETRIEVE_LINES)
    contains: str = Field(default="", description=_prompts.RETRIEVE_CONTAINS)
    pattern: str = Field(default="", description=_prompts.RETRIEVE_PATTERN)
    context: int = Field(default=0, description=_prompts.RETRIEVE_CONTEXT)
    path: str = Field(default="", description=_prompts.RETRIEVE_PATH)
    where: str = Field(default="", description=_prompts.RETRIEVE_WHERE)
    columns: str = Field(default="", description=_prompts.RETRIEVE_COLUMNS)
    query: str = Field(default="", description=_prompts.RETRIEVE_QUERY)
    offset: int = Field(default=0, description=_prompts.RETRIEVE_OFFSET)

    @property
    def selection(self) -> Selection:
        """Which part is meant."""
        texts = self.model_dump(exclude={"key", "offset", "context"})
        context = self.context if self.contains or self.pattern else 0
        return Selection(**{name: text or None for name, text in texts.items()}, context=context)

    @field_validator("key", mode="before")
    @classmethod
    def _plain_key(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        refs = MemoryRef.find_all(value) if isinstance(value, str) else []
        return refs[0].key if refs else value.strip(" `\"'[]") if isinstance(value, str) else value

    @field_validator("lines", mode="before")
    @classmethod
    def _plain_lines(cls, value: Any) -> str:  # noqa: ANN401 - whatever a model writes
        return lines_as_meant(value)

    @field_validator("contains", "pattern", "path", "where", "columns", "query", mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if isinstance(value, list):
            return ", ".join(map(str, cast("Iterable[Any]", value)))
        return "" if value is None else value

    @field_validator("offset", "context", mode="before")
    @classmethod
    def _plain_offset(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        return max(0, value) if isinstance(value, int) else value or 0


class SearchArgs(BaseModel):
    """The arguments of `search_memory`."""

    query: str = Field(description=_prompts.SEARCH_QUERY)
    limit: int = Field(default=5, description=_prompts.SEARCH_LIMIT)

    @field_validator("limit")
    @classmethod
    def _within_limits(cls, value: int) -> int:
        return min(max(value, 1), MAX_HITS)


class StoreArgs(BaseModel):
    """The arguments of `store_memory`."""

    content: str = Field(description=_prompts.STORE_CONTENT)
    description: str = Field(default="", description=_prompts.STORE_DESCRIPTION)
    type: str = Field(default="note", description=_prompts.STORE_TYPE)

    @field_validator("content", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


class MemoryToolError(Exception):
    """What went wrong, in words for the model: what to do next."""


class _MemoryTool(BaseTool[Any, Any], Component[MemoryToolConfig]):
    """A tool on one user's memories; its answers never take more than `max_tokens`."""

    component_config_schema = MemoryToolConfig
    args: ClassVar[type[BaseModel]]
    tool_name: ClassVar[str]
    tool_description: ClassVar[str]

    def __init__(self, manager: MemoryManager, *, max_tokens: int = 500) -> None:
        super().__init__(self.args, str, self.tool_name, self.tool_description)
        self._manager = manager
        self._max_tokens = max(max_tokens, LEAST_ANSWER)

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:  # noqa: ANN401 - AutoGen's signature
        """See `BaseTool.run_json`; arguments that are of no use are answered with what would be."""
        try:
            return await super().run_json(args, cancellation_token, call_id)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])) or "arguments"
            raise MemoryToolError(_prompts.WRONG_ARGUMENT.format(name=name, problem=first["msg"])) from None

    async def run(self, args: Any, cancellation_token: CancellationToken) -> str:  # noqa: ANN401, ARG002 - AutoGen's signature
        """The answer, for a model.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        try:
            return await off_loop(self._answer, args)
        except MemoryContextError as error:
            advice = _advice(error, getattr(args, "key", ""))
            raise MemoryToolError(cut(advice, self._max_tokens, self._manager.counter.count)) from None

    @abstractmethod
    def _answer(self, args: Any) -> str:  # noqa: ANN401 - each tool's own arguments
        """The answer, synchronously."""

    def _to_config(self) -> MemoryToolConfig:
        return MemoryToolConfig(**self._manager.connection(), max_tokens=self._max_tokens)

    @classmethod
    def _from_config(cls, config: MemoryToolConfig) -> Self:
        manager = MemoryManager(
            config.store,
            user_id=config.user_id,
            agent_id=config.agent_id,
            password_variable=config.password_variable,
        )
        return cls(manager, max_tokens=config.max_tokens)


class RetrieveMemoryTool(_MemoryTool):
    """Reads a memory: from its beginning or a part of it, page by page."""

    component_provider_override = "memory_context.autogen.RetrieveMemoryTool"
    args, tool_name, tool_description = RetrieveArgs, RETRIEVE, _prompts.RETRIEVE_TOOL

    def _answer(self, args: RetrieveArgs) -> str:
        return self._manager.answer(args.key, args.selection, offset=args.offset, max_tokens=self._max_tokens)


class SearchMemoryTool(_MemoryTool):
    """Finds memories by words."""

    component_provider_override = "memory_context.autogen.SearchMemoryTool"
    args, tool_name, tool_description = SearchArgs, SEARCH, _prompts.SEARCH_TOOL

    def _answer(self, args: SearchArgs) -> str:
        found = [self._found(hit, args.query) for hit in self._manager.search(args.query, args.limit)]
        shown = found[:1]
        for part in found[1:]:
            if self._manager.counter.exceeds("\n".join((*shown, part)), self._max_tokens):
                break
            shown.append(part)
        return "\n".join(shown) or _prompts.FOUND_NOTHING.format(query=args.query[:80])

    def _found(self, hit: MemoryItem, query: str) -> str:
        if is_secret(hit):
            return _prompts.FOUND.format(ref=hit.ref, passage=_prompts.HIDDEN)
        found = hit.match if hit.match and hit.match.lines else None
        text, first = (found.passage, found.lines[0]) if found and found.lines else (hit.text, 1)
        passage = excerpt(text, query, PASSAGE_TOKENS, self._manager.counter.count, first_line=first)
        return _prompts.FOUND.format(ref=hit.ref, passage=passage.text)


class StoreMemoryTool(_MemoryTool):
    """Keeps a text."""

    component_provider_override = "memory_context.autogen.StoreMemoryTool"
    args, tool_name, tool_description = StoreArgs, STORE, _prompts.STORE_TOOL

    def _answer(self, args: StoreArgs) -> str:
        item = self._manager.remember(args.content, args.description or None, args.type)
        return _prompts.STORED.format(ref=item.ref)


def lines_as_meant(value: Any) -> str:  # noqa: ANN401 - whatever a model writes
    """Lines in the form that `parse_ranges` takes, of the forms that models write: 120, [120, 180], "L120 to L180"."""
    if isinstance(value, list | tuple):
        parts = [str(part) for part in cast("Iterable[Any]", value)]
        value = ("-" if len(parts) == 2 and all(map(str.isdigit, parts)) else ",").join(parts)
    text = str(value).strip().lower() if value is not None else ""
    if text in ("", "all", "none", "null"):
        return ""
    numbers = re.findall(r"\d+", text)
    if re.fullmatch(r"(?:lines?|l)?\s*\d+\s*(?:-|\u2013|:|\.\.|to)\s*l?\s*\d+", text):
        return f"{max(1, int(numbers[0]))}-{numbers[1]}"
    return re.sub(r"^(?:lines?|l)\s*", "", text)


def memory_tools(manager: MemoryManager, *, max_tokens: int = 500) -> list[BaseTool[Any, Any]]:
    """The three tools on the memories of `manager`; their answers take at most `max_tokens` (200, if that is less)."""
    return [tool(manager, max_tokens=max_tokens) for tool in (RetrieveMemoryTool, SearchMemoryTool, StoreMemoryTool)]


def answered_lines(result: FunctionExecutionResult) -> Iterator[tuple[str, tuple[int, int]]]:
    """The key and the whole lines that an answer of `retrieve_memory` shows, one pair for each run of lines."""
    if result.name != RETRIEVE or result.is_error:
        return
    first, _, rest = result.content.partition("\n")
    refs, shown = MemoryRef.find_all(first), _SHOWN_LINES.match(rest)
    if refs and shown:
        yield from ((refs[0].key, (int(run[1]), int(run[2]))) for run in _RUN.finditer(shown[1]))


def _advice(error: MemoryContextError, key: str) -> str:
    """What a model should do next."""
    match error:
        case MemoryDeletedError():
            return _prompts.DELETED.format(message=error)
        case MemoryNotFoundError():
            return _prompts.NOT_FOUND.format(key=key)
        case InvalidKeyError():
            return _prompts.BAD_KEY.format(message=error)
        case StoreError():
            return _prompts.STORE_FAILED
        case _:
            return _prompts.BAD_ARGUMENT.format(message=error)
