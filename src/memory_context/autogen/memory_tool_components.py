"""The memory tools for AutoGen agents: read, search, query and store memories, and keep notes and files.

A *verb* is a tool as the library defines it for all frameworks; a class here makes an AutoGen component of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias, cast

from autogen_core import CancellationToken, Component, ComponentModel
from autogen_core.tools import BaseTool, ParametersSchema, ToolSchema
from pydantic import BaseModel, Field, ValidationError

from memory_context.agent_files.service import AgentMemoryService
from memory_context.autogen.calling_agent import caller, report
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.context_config import (
    ConnectionConfig,
    Settings,
    dumped_component,
    dumped_tiers,
    loaded_tiers,
)
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.runtime.threads import off_loop
from memory_context.tools.ask_memory import ASKING
from memory_context.tools.file_tools import FILES, AgentFiles
from memory_context.tools.note_tools import (
    CLEARING,
    DELETING,
    GETTING,
    LISTING,
    NOTE_VERBS,
    SAVING,
    offer_tiers,
)
from memory_context.tools.query_memory import QUERYING
from memory_context.tools.retrieve_search_store import RETRIEVING, SEARCHING, STORING
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
    problem_with,
)
from memory_context.tools.tools_of_an_agent import verbs_on

# Keywords that OpenAI's strict schemas do not allow.
_NOT_STRICT = {"default", "minimum"}


Memories: TypeAlias = MemoryManager | ScopedMemory | MemoryReader
"""What a memory tool works on: a user's memories, an agent's notes, or memories that a lightweight model reads."""

_WORKS_ON: Mapping[Verb[Any], type[Memories]] = {
    ASKING: MemoryReader,
    **dict.fromkeys(NOTE_VERBS, ScopedMemory),
}
"""What each verb works on that does not work on a `MemoryManager`."""


class MemoryToolConfig(ConnectionConfig):
    """The settings to load a tool on the same memories, limited to the same places.

    A tool on notes has their session and tiers, too, and `ask_memory` the model that reads.
    """

    max_tokens: int
    places: list[tuple[str, str]] | None = None
    session_id: str | None = None
    policies: list[Settings] = Field(default_factory=list[Settings])
    judge: ComponentModel | None = None

    def manager(self) -> MemoryManager:
        """Return a manager of the memories."""
        manager = MemoryManager(
            self.store,
            user_id=self.user_id,
            agent_id=self.agent_id,
            password_variable=self.password_variable,
            audit=self.audit,
        )
        return manager if self.places is None else manager.within(self.places)


class FilesToolConfig(BaseModel):
    """The settings to load a tool on the same agent's files."""

    app_cache_dir: str
    agent_instance_id: str
    quota_bytes: int
    lock_seconds: float
    max_tokens: int


_TOOLS = dict[Verb[Any], Callable[..., BaseTool[Any, Any]]]()
"""The tool class of each verb."""


class _VerbTool(BaseTool[Any, Any]):
    """A verb as an AutoGen tool; its answers have at most *max_tokens* tokens."""

    verb: ClassVar[Verb[Any]]

    def __init_subclass__(cls, *, verb: Verb[Any] | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - AutoGen's
        """Register the class as the tool of *verb*, and set the public name by which AutoGen loads it."""
        if verb:
            cls.verb = verb
            _TOOLS[verb] = cls
            cls.component_provider_override = f"memory_context.autogen.{cls.__name__}"
        super().__init_subclass__(**kwargs)

    def __init__(self, max_tokens: int | None) -> None:
        super().__init__(self.verb.args, str, self.verb.name, self.verb.description)
        self._max_tokens = answer_limit(self.verb, max_tokens)

    @property
    def schema(self) -> ToolSchema:
        """Return a strict schema: a model must give every argument, with "" or 0 for one that it does not need.

        Clients that parse answers by a schema (``output_content_type=``) reject tools that are not strict.
        """
        schema = cast("dict[str, Any]", super().schema)
        arguments: dict[str, Any] = schema["parameters"]["properties"]
        for argument in arguments.values():
            for keyword in _NOT_STRICT & argument.keys():
                del argument[keyword]
        parameters = ParametersSchema(
            type="object",
            properties=arguments,
            required=list(arguments),
            additionalProperties=False,
        )
        return ToolSchema(
            name=self.name, description=self.description, parameters=parameters, strict=True
        )

    @abstractmethod
    def _memories(self) -> CountsTokens:
        """Return the object that the verb works on."""

    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> Any:  # noqa: ANN401 - AutoGen's signature
        """See `BaseTool.run_json`. For invalid arguments, the error tells the model which one is wrong, and why."""
        try:
            return await super().run_json(args, cancellation_token, call_id)
        except ValidationError as error:
            raise MemoryToolError(problem_with(error)) from None

    async def run(self, args: Any, cancellation_token: CancellationToken) -> str:  # noqa: ANN401, ARG002 - AutoGen's signature
        """Return the answer for a model.

        Raises:
            MemoryToolError: The verb failed; the message tells the model what went wrong, and what to do next.
        """
        answer = await off_loop(self.verb.answer, self._memories(), args, self._max_tokens)
        report(answer.keys)
        return answer.text


class _MemoryTool(_VerbTool, Component[MemoryToolConfig]):
    """A tool on memories, on notes, or on what reads memories.

    A loaded tool on notes, or on memories in some places only, uses those of the calling agent's context if there is one.
    So the run, task and project of the notes are those of the agent.

    Args:
        memories: What the tool works on; or a callable that returns, at each call of the tool, what it works on then.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """

    component_config_schema = MemoryToolConfig

    def __init__(
        self, memories: Memories | Callable[[], Memories], *, max_tokens: int | None = None
    ) -> None:
        if not callable(memories):
            check_owner(memories, _WORKS_ON.get(self.verb, MemoryManager))
        super().__init__(max_tokens)
        self._owner = memories
        self._loaded_for: str | None = None

    @property
    def schema(self) -> ToolSchema:
        """Return the tool's schema; for notes, with the tiers that are open now."""
        schema = super().schema
        memories = self._memories()
        if isinstance(memories, ScopedMemory):
            arguments = cast("dict[str, Any]", schema)["parameters"]["properties"]
            offer_tiers(self.name, arguments, memories.open_tiers)
        return schema

    def _own(self) -> Memories:
        return self._owner() if callable(self._owner) else self._owner

    def _memories(self) -> Memories:
        own = self._own()
        context = caller(self._loaded_for) if self._loaded_for else None
        if context and isinstance(own, ScopedMemory):
            return context.notes
        if context and isinstance(own, MemoryManager) and own.scope.places:
            return context.manager
        return own

    def _to_config(self) -> MemoryToolConfig:
        memories = self._own()
        manager = memories if isinstance(memories, MemoryManager) else memories.manager
        config = MemoryToolConfig(**manager.connection(), max_tokens=self._max_tokens)
        if isinstance(memories, ScopedMemory):
            config.session_id = memories.session_id
            config.policies = dumped_tiers(memories.own_policies)
        elif isinstance(memories, MemoryReader):
            config.judge = dumped_component(memories.model, LLMJudge)
        elif manager.offered.places is not None:
            config.places = sorted(manager.offered.places)
        return config

    @classmethod
    def _from_config(cls, config: MemoryToolConfig) -> Self:
        memories: Memories = config.manager()
        if config.judge:
            memories = MemoryReader(memories, LLMJudge.load_component(config.judge))
        elif cls.verb in NOTE_VERBS:
            policies = loaded_tiers(config.policies)
            memories = ScopedMemory(memories, session_id=config.session_id, policies=policies)
        tool = cls(memories, max_tokens=config.max_tokens)
        tool._loaded_for = config.user_id
        return tool


class RetrieveMemoryTool(_MemoryTool, verb=RETRIEVING):
    """Reads a memory, or a part of it, page by page."""


class SearchMemoryTool(_MemoryTool, verb=SEARCHING):
    """Searches memories by words."""


class QueryMemoryTool(_MemoryTool, verb=QUERYING):
    """Runs SQL on the contents of memories."""


class AskMemoryTool(_MemoryTool, verb=ASKING):
    """Lets a lightweight model read memories and answer a question, with checked quotations."""


class StoreMemoryTool(_MemoryTool, verb=STORING):
    """Stores a text."""


class AgentFilesTool(_VerbTool, Component[FilesToolConfig], verb=FILES):
    """Keeps one agent's files, with the commands of Anthropic's memory tool.

    Args:
        service: The service that stores the files.
        agent_instance_id: The agent whose files these are.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """

    component_config_schema = FilesToolConfig

    def __init__(
        self, service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
    ) -> None:
        super().__init__(max_tokens)
        self._files = AgentFiles(service, agent_instance_id)

    def _memories(self) -> AgentFiles:
        return self._files

    def _to_config(self) -> FilesToolConfig:
        service = self._files.service
        return FilesToolConfig(
            app_cache_dir=str(service.app_cache_dir),
            agent_instance_id=self._files.agent_instance_id,
            quota_bytes=service.quota_bytes,
            lock_seconds=service.lock_seconds,
            max_tokens=self._max_tokens,
        )

    @classmethod
    def _from_config(cls, config: FilesToolConfig) -> Self:
        service = AgentMemoryService(
            config.app_cache_dir, quota_bytes=config.quota_bytes, lock_seconds=config.lock_seconds
        )
        return cls(service, config.agent_instance_id, max_tokens=config.max_tokens)


class SaveMemoryTool(_MemoryTool, verb=SAVING):
    """Saves a note in a tier."""


class GetMemoryTool(_MemoryTool, verb=GETTING):
    """Reads notes."""


class DeleteMemoryTool(_MemoryTool, verb=DELETING):
    """Deletes a note."""


class ClearMemoryTool(_MemoryTool, verb=CLEARING):
    """Deletes notes."""


class ListCategoriesTool(_MemoryTool, verb=LISTING):
    """Lists the categories of notes."""


def memory_tools(
    memories: MemoryManager | ScopedMemory,
    *,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
    queries: bool = False,
) -> list[BaseTool[Any, Any]]:
    """Return the tools on the memories of a manager; for a `ScopedMemory`, also those on its notes.

    Args:
        memories: The memories.
        max_tokens: The most tokens of an answer, 500 by default; less than 200 counts as 200.
        page_tokens: The most tokens of a page of `retrieve_memory`; by default `max_tokens`, or 4,000 if that is not
            given either.
        queries: Whether `query_memory` is among the tools.

    Raises:
        InvalidArgumentError: *memories* is neither a `MemoryManager` nor a `ScopedMemory`.
    """
    return [
        _TOOLS[verb](owner, max_tokens=answer_limit(verb, max_tokens, page_tokens))
        for verb, owner in verbs_on(memories, queries=queries).items()
    ]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[BaseTool[Any, Any]]:
    """Return the tool `memory` on one agent's files; its answers have at most `max_tokens` tokens (200 or more)."""
    return [AgentFilesTool(service, agent_instance_id, max_tokens=max_tokens)]


def note_tools(
    notes: ScopedMemory | Callable[[], ScopedMemory], *, max_tokens: int = 500
) -> list[BaseTool[Any, Any]]:
    """Return the tools on notes: `save_memory`, `get_memory`, `delete_memory`, `clear_memory`, `list_categories`.

    Args:
        notes: The notes; or a callable that returns, at each call of a tool, the notes that are open then.
        max_tokens: The most tokens of an answer; less than 200 counts as 200.
    """
    return [_TOOLS[verb](notes, max_tokens=max_tokens) for verb in NOTE_VERBS]
