"""The memory tools for LangChain: read, search, query and store memories, and keep notes and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from memory_context.agent_files.agent_file_service import AgentMemoryService
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.json_object import JsonObject
from memory_context.model.tiers_and_limits import TIERS
from memory_context.runtime.threads import off_loop
from memory_context.tools.ask_memory import ASKING
from memory_context.tools.file_tools import FILES, AgentFiles
from memory_context.tools.note_tools import NOTE_VERBS, offer_tiers
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
)
from memory_context.tools.tools_of_an_agent import verbs_on


class VerbTool(BaseTool):
    """A *verb* (a tool as the library defines it for all frameworks) as a LangChain tool.

    The artifact of an answer is ``{"keys": […]}``, the memories that the answer is about. Errors are returned as the
    tool's answer, with the status ``error``, and tell the model what to do next.

    Args:
        verb: The verb.
        owner: Returns the object that the verb works on, for the current caller.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
        open_tiers: The tiers that the schema of a tool on notes offers.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    max_tokens: int = 500
    open_tiers: Sequence[str] = tuple(tier.name for tier in TIERS)
    _verb: Verb[Any] = PrivateAttr()
    _owner: Callable[[], CountsTokens] = PrivateAttr()

    def __init__(self, verb: Verb[Any], owner: Callable[[], CountsTokens], **fields: Any) -> None:  # noqa: ANN401 - those of BaseTool
        super().__init__(
            name=verb.name,
            description=verb.description,
            args_schema=verb.args,
            handle_tool_error=True,
            **fields,
        )
        self._verb = verb
        self._owner = owner

    @property
    def tool_call_schema(self) -> Any:  # noqa: ANN401 - LangChain's is a model or a dict
        """Return the schema of the arguments that every framework gets, not LangChain's with titles and defaults."""
        schema = self._verb.args.model_json_schema()
        offer_tiers(self.name, schema["properties"], self.open_tiers)
        return schema

    def _to_args_and_kwargs(
        self,
        tool_input: str | JsonObject,
        tool_call_id: str | None,  # noqa: ARG002 - LangChain's signature
    ) -> tuple[tuple[Any, ...], JsonObject]:
        """Pass all arguments to the verb, since LangChain silently drops unknown ones. A text is its first argument."""
        if isinstance(tool_input, str):
            tool_input = {next(iter(self._verb.args.model_fields), "input"): tool_input}
        return (), tool_input.copy()

    def _run(self, /, **arguments: Any) -> tuple[str, JsonObject]:  # noqa: ANN401 - each verb's own
        try:
            answer = self._verb.called(self._owner(), arguments, self.max_tokens)
        except MemoryToolError as error:
            raise ToolException(str(error)) from None
        return answer.text, {"keys": list(answer.keys)}

    async def _arun(self, **arguments: Any) -> tuple[str, JsonObject]:  # noqa: ANN401 - each verb's own
        return await off_loop(self._run, **arguments)


class MemoryTool(VerbTool):
    """A tool on one user's memories. References in its arguments are not replaced, and its answers are not folded."""

    def is_same(self, other: MemoryTool) -> bool:
        """Return whether *other* is the same verb on the same memories, even if it offers other tiers."""
        return self.name == other.name and self._owner is other._owner


def _tool(
    kind: type[VerbTool],
    verb: Verb[Any],
    owner: CountsTokens | Callable[[], CountsTokens],
    max_tokens: int | None,
    page_tokens: int | None = None,
) -> BaseTool:
    get_owner = owner if callable(owner) else lambda: owner
    tool = kind(verb, get_owner, max_tokens=answer_limit(verb, max_tokens, page_tokens))
    if isinstance(owner, ScopedMemory):
        tool.open_tiers = owner.open_tiers
    return tool


def memory_tools(
    memories: MemoryManager | ScopedMemory | Callable[[], MemoryManager],
    *,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
    queries: bool = False,
) -> list[BaseTool]:
    """Return `retrieve_memory`, `search_memory` and `store_memory`; for a `ScopedMemory`, also the tools on its notes.

    Args:
        memories: The memories; or a callable that returns, at each call of a tool, those of the caller.
        max_tokens: The most tokens of an answer, 500 by default; less than 200 counts as 200.
        page_tokens: The most tokens of a page of `retrieve_memory`; by default `max_tokens`, or 4,000 if that is not
            given either. An answer of `query_memory` that fits a page is whole; a larger one is begun.
        queries: Whether `query_memory` is among the tools.

    Raises:
        InvalidArgumentError: *memories* is not a `MemoryManager`, a `ScopedMemory` or a callable.
    """
    if not callable(memories):
        check_owner(memories, MemoryManager, ScopedMemory)
    return [
        _tool(MemoryTool, verb, owner, max_tokens, page_tokens)
        for verb, owner in verbs_on(memories, queries=queries).items()
    ]


def ask_tools(
    reader: MemoryReader | Callable[[], MemoryReader], *, max_tokens: int = 500
) -> list[BaseTool]:
    """Return the tool `ask_memory`: a lightweight model reads memories and answers with checked quotations.

    Args:
        reader: The memories and the model; or a callable that returns, at each call of the tool, those of the caller.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """
    return [_tool(MemoryTool, ASKING, reader, max_tokens)]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[BaseTool]:
    """Return the tool `memory`, in which an agent keeps files, with the commands of Anthropic's memory tool.

    Args:
        service: The service that stores the files.
        agent_instance_id: The agent whose files these are.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """
    return [_tool(VerbTool, FILES, AgentFiles(service, agent_instance_id), max_tokens)]


def note_tools(
    notes: ScopedMemory | Callable[[], ScopedMemory], *, max_tokens: int = 500
) -> list[BaseTool]:
    """Return `save_memory`, `get_memory`, `delete_memory`, `clear_memory` and `list_categories` for an agent.

    Args:
        notes: The notes; or a callable that returns, at each call of a tool, the open notes of the caller.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.

    Raises:
        InvalidArgumentError: *notes* is neither a `ScopedMemory` nor a callable.
    """
    if not callable(notes):
        check_owner(notes, ScopedMemory)
    return [_tool(MemoryTool, verb, notes, max_tokens) for verb in NOTE_VERBS]
