"""AutoGen's tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from autogen_core import CancellationToken, Component
from autogen_core.models import FunctionExecutionResult
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from memory_context._executor import off_loop
from memory_context.file_verbs import FILES, AgentFiles
from memory_context.files import AgentMemoryService
from memory_context.manager import MemoryManager
from memory_context.verbs import (
    LEAST_ANSWER,
    RETRIEVE,
    RETRIEVING,
    SEARCHING,
    STORING,
    Counting,
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


class FilesToolConfig(BaseModel):
    """What leads a dumped tool to the same agent's files."""

    app_cache_dir: str
    agent_instance_id: str
    quota_bytes: int
    lock_seconds: float
    max_tokens: int


class _VerbTool(BaseTool[Any, Any]):
    """A tool that a verb describes; its answers never take more than `max_tokens`."""

    verb: ClassVar[Verb]

    def __init__(self, owned: Counting, max_tokens: int) -> None:
        super().__init__(self.verb.args, str, self.verb.name, self.verb.description)
        self._owned = owned
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
        answer = await off_loop(self.verb.answer, self._owned, args, self._max_tokens)
        return answer.text


class _MemoryTool(_VerbTool, Component[MemoryToolConfig]):
    """A tool on one user's memories; its answers never take more than `max_tokens`."""

    component_config_schema = MemoryToolConfig

    def __init__(self, manager: MemoryManager, *, max_tokens: int = 500) -> None:
        super().__init__(manager, max_tokens)
        self._manager = manager

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


class AgentFilesTool(_VerbTool, Component[FilesToolConfig]):
    """Keeps the files of one agent, by the commands of Anthropic's memory tool; its answers take at most `max_tokens`.

    Args:
        service: Where the files are.
        agent_instance_id: Whose they are.
        max_tokens: The most that an answer takes; 200, if that is less.
    """

    component_config_schema = FilesToolConfig
    component_provider_override = "memory_context.autogen.AgentFilesTool"
    verb = FILES

    def __init__(self, service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500) -> None:
        super().__init__(AgentFiles(service, agent_instance_id), max_tokens)
        self._service, self._agent_instance_id = service, agent_instance_id

    def _to_config(self) -> FilesToolConfig:
        return FilesToolConfig(
            app_cache_dir=str(self._service.app_cache_dir),
            agent_instance_id=self._agent_instance_id,
            quota_bytes=self._service.quota_bytes,
            lock_seconds=self._service.lock_seconds,
            max_tokens=self._max_tokens,
        )

    @classmethod
    def _from_config(cls, config: FilesToolConfig) -> Self:
        service = AgentMemoryService(
            config.app_cache_dir, quota_bytes=config.quota_bytes, lock_seconds=config.lock_seconds
        )
        return cls(service, config.agent_instance_id, max_tokens=config.max_tokens)


def memory_tools(manager: MemoryManager, *, max_tokens: int = 500) -> list[BaseTool[Any, Any]]:
    """The three tools on the memories of `manager`; their answers take at most `max_tokens` (200, if that is less)."""
    return [tool(manager, max_tokens=max_tokens) for tool in (RetrieveMemoryTool, SearchMemoryTool, StoreMemoryTool)]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[BaseTool[Any, Any]]:
    """The tool `memory` on the files of one agent; its answers take at most `max_tokens` (200, if that is less)."""
    return [AgentFilesTool(service, agent_instance_id, max_tokens=max_tokens)]


def answered_lines(result: FunctionExecutionResult) -> Iterator[tuple[str, tuple[int, int]]]:
    """The key and the whole lines that a result of `retrieve_memory` shows, one pair for each run of lines."""
    if result.name == RETRIEVE and not result.is_error:
        yield from lines_shown(result.content)
