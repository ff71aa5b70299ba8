"""AutoGen's tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from autogen_core import CancellationToken, Component
from autogen_core.models import FunctionExecutionResult
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from memory_context._executor import off_loop
from memory_context.manager import MemoryManager
from memory_context.verbs import (
    LEAST_ANSWER,
    RETRIEVE,
    RETRIEVING,
    SEARCHING,
    STORING,
    MemoryToolError,
    Verb,
    lines_shown,
    problem_with,
)


class MemoryToolConfig(BaseModel):
    """What leads a dumped tool to the same memories."""

    user_id: str
    store: str
    agent_id: str | None = None
    password_variable: str
    max_tokens: int


class _MemoryTool(BaseTool[Any, Any], Component[MemoryToolConfig]):
    """A tool on one user's memories; its answers never take more than `max_tokens`."""

    component_config_schema = MemoryToolConfig
    verb: ClassVar[Verb]

    def __init__(self, manager: MemoryManager, *, max_tokens: int = 500) -> None:
        super().__init__(self.verb.args, str, self.verb.name, self.verb.description)
        self._manager = manager
        self._max_tokens = max(max_tokens, LEAST_ANSWER)

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:  # noqa: ANN401 - AutoGen's signature
        """See `BaseTool.run_json`; arguments that are of no use are answered with what would be."""
        try:
            return await super().run_json(args, cancellation_token, call_id)
        except ValidationError as error:
            raise MemoryToolError(problem_with(error)) from None

    async def run(self, args: Any, cancellation_token: CancellationToken) -> str:  # noqa: ANN401, ARG002 - AutoGen's signature
        """The answer, for a model.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        answer = await off_loop(self.verb.answer, self._manager, args, self._max_tokens)
        return answer.text

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
    verb = RETRIEVING


class SearchMemoryTool(_MemoryTool):
    """Finds memories by words."""

    component_provider_override = "memory_context.autogen.SearchMemoryTool"
    verb = SEARCHING


class StoreMemoryTool(_MemoryTool):
    """Keeps a text."""

    component_provider_override = "memory_context.autogen.StoreMemoryTool"
    verb = STORING


def memory_tools(manager: MemoryManager, *, max_tokens: int = 500) -> list[BaseTool[Any, Any]]:
    """The three tools on the memories of `manager`; their answers take at most `max_tokens` (200, if that is less)."""
    return [tool(manager, max_tokens=max_tokens) for tool in (RetrieveMemoryTool, SearchMemoryTool, StoreMemoryTool)]


def answered_lines(result: FunctionExecutionResult) -> Iterator[tuple[str, tuple[int, int]]]:
    """The key and the whole lines that a result of `retrieve_memory` shows, one pair for each run of lines."""
    if result.name == RETRIEVE and not result.is_error:
        yield from lines_shown(result.content)
