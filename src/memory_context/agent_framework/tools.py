"""Agent Framework's tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_framework import Content, FunctionTool

from memory_context.agent_files.service import AgentMemoryService
from memory_context.agent_framework.messages import failure
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.runtime.threads import off_loop
from memory_context.tools.file_tools import FILES, AgentFiles
from memory_context.tools.note_tools import told_arguments
from memory_context.tools.query_memory import verbs_on
from memory_context.tools.verbs import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
    check_owner,
)


class VerbFunctionTool(FunctionTool):
    """A tool that a verb describes.

    What goes wrong comes as the tool's answer, and says what to do next.

    Args:
        verb: What it does.
        memories: What the verb works on.
        max_tokens: The most that an answer takes.
    """

    def __init__(self, verb: Verb[Any], memories: CountsTokens, max_tokens: int) -> None:
        super().__init__(
            name=verb.name,
            description=verb.description,
            input_model=told_arguments(verb, memories),
            func=self._run,
        )
        self._verb, self._memories, self._max_tokens = verb, memories, max_tokens

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
    """A tool on memories: no reference is passed into it, and what it answers is not folded."""


def memory_tools(
    memories: MemoryManager | ScopedMemory,
    *,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
    queries: bool = False,
) -> list[MemoryFunctionTool]:
    """Return `retrieve_memory`, `search_memory` and `store_memory` for an agent; of a `ScopedMemory` those on its notes too.

    Args:
        memories: The memories.
        max_tokens: The most that an answer takes; 200, if that is less. Without one, 500.
        page_tokens: The most that a page of `retrieve_memory` takes; without one `max_tokens`, and without both 4,000.
        queries: Whether `query_memory` is among them.

    Raises:
        InvalidArgumentError: They are of another kind.
    """
    check_owner(memories, MemoryManager, ScopedMemory)
    return [
        MemoryFunctionTool(verb, owner, answer_limit(verb, max_tokens, page_tokens))
        for verb, owner in verbs_on(memories, queries=queries).items()
    ]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[VerbFunctionTool]:
    """Return `memory`, by which an agent keeps files, with the commands of Anthropic's memory tool.

    Args:
        service: Where the files are.
        agent_instance_id: Whose they are.
        max_tokens: The most that an answer takes; 200, if that is less.
    """
    files = AgentFiles(service, agent_instance_id)
    return [VerbFunctionTool(FILES, files, answer_limit(FILES, max_tokens))]
