"""LangChain's tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from memory_context.agent_files.service import AgentMemoryService
from memory_context.conversation.ask_a_users_memories import MemoryReader
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.tiers_and_limits import TIERS
from memory_context.runtime.threads import off_loop
from memory_context.tools.ask_memory import ASKING
from memory_context.tools.file_tools import FILES, AgentFiles
from memory_context.tools.note_tools import NOTE_VERBS, offer_tiers
from memory_context.tools.query_memory import verbs_on
from memory_context.tools.verbs import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
    check_owner,
)


class VerbTool(BaseTool):
    """A tool that a verb describes, with answers of at most `max_tokens`.

    The artifact of an answer is ``{"keys": […]}``, the memories that it speaks of. What goes wrong comes as the tool's
    answer, with the status ``error``, and says what to do next.

    Args:
        verb: What it does.
        owner: Gives what the verb works on, for whoever calls.
        max_tokens: The most that an answer takes; 200, if that is less.
        open_tiers: The tiers that its schema offers, if it is one on notes.
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
        self._verb, self._owner = verb, owner

    @property
    def tool_call_schema(self) -> Any:  # noqa: ANN401 - LangChain's is a model or a dict
        """Return the arguments as every host tells a model of them, not LangChain's copy with titles and defaults."""
        schema = self._verb.args.model_json_schema()
        offer_tiers(self.name, schema["properties"], self.open_tiers)
        return schema

    def _to_args_and_kwargs(
        self,
        tool_input: str | dict[str, Any],
        tool_call_id: str | None,  # noqa: ARG002 - LangChain's signature
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Leave the arguments to the verb: LangChain drops those of other names without a word. A text is the first one."""
        if isinstance(tool_input, str):
            tool_input = {next(iter(self._verb.args.model_fields), "input"): tool_input}
        return (), tool_input.copy()

    def _run(self, /, **arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - each verb's own
        try:
            answer = self._verb.called(self._owner(), arguments, self.max_tokens)
        except MemoryToolError as error:
            raise ToolException(str(error)) from None
        return answer.text, {"keys": list(answer.keys)}

    async def _arun(self, **arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - each verb's own
        return await off_loop(self._run, **arguments)


class MemoryTool(VerbTool):
    """A tool on one user's memories: no reference is passed into it, and what it answers is not folded."""

    def is_same(self, other: MemoryTool) -> bool:
        """Return whether *other* does the same on the same memories, whatever it tells a model of its tiers."""
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
    """Return `retrieve_memory`, `search_memory` and `store_memory` for an agent; of a `ScopedMemory` those on its notes too.

    Args:
        memories: The memories; or a callable that gives, at each call, those of whoever calls.
        max_tokens: The most that an answer takes; 200, if that is less. Without one, 500.
        page_tokens: The most that a page of `retrieve_memory` takes; without one `max_tokens`, and without both 4,000.
        queries: Whether `query_memory` is among them.

    Raises:
        InvalidArgumentError: They are neither.
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
    """Return `ask_memory`, by which a light model reads memories for an agent and answers with checked quotations.

    Args:
        reader: The memories and the model; or a callable that gives, at each call, those for whoever calls.
        max_tokens: The most that an answer takes; 200, if that is less.
    """
    return [_tool(MemoryTool, ASKING, reader, max_tokens)]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[BaseTool]:
    """Return `memory`, by which an agent keeps files, with the commands of Anthropic's memory tool.

    Args:
        service: Where the files are.
        agent_instance_id: Whose they are.
        max_tokens: The most that an answer takes; 200, if that is less.
    """
    return [_tool(VerbTool, FILES, AgentFiles(service, agent_instance_id), max_tokens)]


def note_tools(
    notes: ScopedMemory | Callable[[], ScopedMemory], *, max_tokens: int = 500
) -> list[BaseTool]:
    """Return `save_memory`, `get_memory`, `delete_memory`, `clear_memory` and `list_categories` for an agent.

    Args:
        notes: The notes; or a callable that gives, at each call, those that are open for whoever calls.
        max_tokens: The most that an answer takes; 200, if that is less.

    Raises:
        InvalidArgumentError: They are neither.
    """
    if not callable(notes):
        check_owner(notes, ScopedMemory)
    return [_tool(MemoryTool, verb, notes, max_tokens) for verb in NOTE_VERBS]
