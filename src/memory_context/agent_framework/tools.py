"""The memory tools for Agent Framework: read, search and store memories, and keep notes and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_framework import Content, FunctionTool
from pydantic import BaseModel

from memory_context.agent_files.agent_file_service import AgentMemoryService
from memory_context.agent_framework.messages import failure
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.json_object import JsonObject
from memory_context.runtime.threads import off_loop
from memory_context.tools.file_tools import FILES, AgentFiles
from memory_context.tools.note_tools import told_arguments
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
)
from memory_context.tools.tools_of_an_agent import verbs_on


class ArgumentsAsWritten(BaseModel, extra="allow"):
    """Any arguments: the framework's own check would refuse some that verbs understand, and not tell the model why."""


class VerbFunctionTool(FunctionTool):
    """A *verb* (a tool as the library defines it for all frameworks) as a tool of Agent Framework.

    Errors are returned as the tool's answer, which tells the model what to do next.

    Args:
        verb: The verb.
        memories: The object that the verb works on.
        max_tokens: The most tokens of an answer.
    """

    def __init__(self, verb: Verb[Any], memories: CountsTokens, max_tokens: int) -> None:
        super().__init__(
            name=verb.name,
            description=verb.description,
            input_model=ArgumentsAsWritten,
            func=self._run,
        )
        self._told = told_arguments(verb, memories)
        self._verb = verb
        self._memories = memories
        self._max_tokens = max_tokens

    def parameters(self) -> JsonObject:
        """Return the schema of the arguments that a model is told."""
        return self._told

    async def answered(self, arguments: Mapping[str, Any]) -> tuple[list[Content], tuple[str, ...]]:
        """Return the answer to a call, and the keys of the memories that it is about."""
        try:
            answer = await off_loop(self._verb.called, self._memories, arguments, self._max_tokens)
        except MemoryToolError as error:
            return failure(str(error)), ()
        return [Content.from_text(answer.text)], answer.keys

    async def _run(self, **arguments: Any) -> list[Content]:  # noqa: ANN401 - each verb's own
        answer, _ = await self.answered(arguments)
        return answer


class MemoryFunctionTool(VerbFunctionTool):
    """A tool on memories. References in its arguments are not replaced, and its answers are not folded."""


def memory_tools(
    memories: MemoryManager | ScopedMemory,
    *,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
    queries: bool = False,
) -> list[MemoryFunctionTool]:
    """Return `retrieve_memory`, `search_memory` and `store_memory`; for a `ScopedMemory`, also the tools on its notes.

    Args:
        memories: The memories.
        max_tokens: The most tokens of an answer, 500 by default; less than 200 counts as 200.
        page_tokens: The most tokens of a page of `retrieve_memory`; by default `max_tokens`, or 4,000 if that is not
            given either. An answer of `query_memory` that fits a page is whole; a larger one is begun.
        queries: Whether `query_memory` is among the tools.

    Raises:
        InvalidArgumentError: *memories* is neither a `MemoryManager` nor a `ScopedMemory`.
    """
    check_owner(memories, MemoryManager, ScopedMemory)
    return [
        MemoryFunctionTool(verb, owner, answer_limit(verb, max_tokens, page_tokens))
        for verb, owner in verbs_on(memories, queries=queries).items()
    ]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[VerbFunctionTool]:
    """Return the tool `memory`, in which an agent keeps files, with the commands of Anthropic's memory tool.

    Args:
        service: The service that stores the files.
        agent_instance_id: The agent whose files these are.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """
    files = AgentFiles(service, agent_instance_id)
    return [VerbFunctionTool(FILES, files, answer_limit(FILES, max_tokens))]
