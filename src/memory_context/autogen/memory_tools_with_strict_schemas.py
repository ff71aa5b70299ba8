"""The memory tools for AutoGen agents: read, search, query and store memories, and keep notes and files.

A *verb* is a tool as the library defines it for all frameworks; a class here makes an AutoGen component of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, cast

from autogen_core import CancellationToken, Component, ComponentModel
from autogen_core.tools import BaseTool, ParametersSchema, ToolSchema
from pydantic import BaseModel, Field, ValidationError

from memory_context.agent_files.agent_file_service import AgentMemoryService
from memory_context.autogen.calling_agent import caller, report
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.context_config import (
    ConnectionConfig,
    Settings,
    dumped_tiers,
    loaded_tiers,
)
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.exceptions import NotSerializableError
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


class MemoryToolConfig(ConnectionConfig):
    """The settings to load a tool on the same memories, limited to the same places."""

    max_tokens: int
    places: list[tuple[str, str]] | None = None

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


class NoteToolConfig(MemoryToolConfig):
    """The settings to load a tool on the same notes. Its run, task and project are those of the calling agent."""

    session_id: str | None = None
    policies: list[Settings] = Field(default_factory=list[Settings])


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
            raise MemoryToolError(problem_with(error, self.verb.args)) from None

    async def run(self, args: Any, cancellation_token: CancellationToken) -> str:  # noqa: ANN401, ARG002 - AutoGen's signature
        """Return the answer for a model.

        Raises:
            MemoryToolError: The verb failed; the message tells the model what went wrong, and what to do next.
        """
        answer = await off_loop(self.verb.answer, self._memories(), args, self._max_tokens)
        report(answer.keys)
        return answer.text


class _MemoryTool(_VerbTool, Component[MemoryToolConfig]):
    """A tool on one user's memories.

    A loaded tool that was limited to some places uses what the calling agent's context sees, if there is such a context.
    """

    component_config_schema = MemoryToolConfig

    def __init__(self, manager: MemoryManager, *, max_tokens: int | None = None) -> None:
        check_owner(manager, MemoryManager)
        super().__init__(max_tokens)
        self._manager = manager
        self._loaded = False

    def _memories(self) -> MemoryManager:
        if self._loaded and self._manager.scope.places:
            context = caller(self._manager.scope.user_id)
            if context:
                return context.manager
        return self._manager

    def _to_config(self) -> MemoryToolConfig:
        offered = self._manager.offered.places
        places = None if offered is None else sorted(offered)
        return MemoryToolConfig(
            **self._manager.connection(),
            max_tokens=self._max_tokens,
            places=places,
        )

    @classmethod
    def _from_config(cls, config: MemoryToolConfig) -> Self:
        tool = cls(config.manager(), max_tokens=config.max_tokens)
        tool._loaded = True
        return tool


class RetrieveMemoryTool(_MemoryTool, verb=RETRIEVING):
    """Reads a memory, or a part of it, page by page."""


class SearchMemoryTool(_MemoryTool, verb=SEARCHING):
    """Searches memories by words."""


class QueryMemoryTool(_MemoryTool, verb=QUERYING):
    """Runs SQL on the contents of memories."""


class AskToolConfig(MemoryToolConfig):
    """The settings to load a tool on the same memories with the same lightweight model."""

    judge: ComponentModel


class AskMemoryTool(_VerbTool, Component[AskToolConfig], verb=ASKING):
    """Lets a lightweight model read memories and answer a question, with checked quotations.

    Args:
        reader: The memories, and the model that reads them.
        max_tokens: The most tokens of an answer, 500 by default; less than 200 counts as 200.
    """

    component_config_schema = AskToolConfig

    def __init__(self, reader: MemoryReader, *, max_tokens: int | None = None) -> None:
        super().__init__(max_tokens)
        self._reader = reader

    def _memories(self) -> MemoryReader:
        return self._reader

    def _to_config(self) -> AskToolConfig:
        model = self._reader.model
        if not isinstance(model, LLMJudge):
            raise NotSerializableError(
                f"ask_memory with a {type(model).__name__} cannot be serialized; with an LLMJudge it can"
            )
        manager = self._reader.manager
        return AskToolConfig(
            **manager.connection(), max_tokens=self._max_tokens, judge=model.dump_component()
        )

    @classmethod
    def _from_config(cls, config: AskToolConfig) -> Self:
        model = LLMJudge.load_component(config.judge)
        return cls(MemoryReader(config.manager(), model), max_tokens=config.max_tokens)


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


class _NoteTool(_VerbTool, Component[NoteToolConfig]):
    """A tool on those notes of an agent that are open when the tool is called."""

    component_config_schema = NoteToolConfig

    def __init__(
        self, notes: ScopedMemory | Callable[[], ScopedMemory], *, max_tokens: int = 500
    ) -> None:
        if not callable(notes):
            check_owner(notes, ScopedMemory)
        super().__init__(max_tokens)
        self._notes = notes

    @property
    def schema(self) -> ToolSchema:
        """Return the tool's schema, with the tiers that are open now."""
        schema = super().schema
        arguments = cast("dict[str, Any]", schema)["parameters"]["properties"]
        offer_tiers(self.name, arguments, self._memories().open_tiers)
        return schema

    def _memories(self) -> ScopedMemory:
        return self._notes if isinstance(self._notes, ScopedMemory) else self._notes()

    def _to_config(self) -> NoteToolConfig:
        notes = self._memories()
        return NoteToolConfig(
            **notes.manager.connection(),
            max_tokens=self._max_tokens,
            session_id=notes.session_id,
            policies=dumped_tiers(notes.own_policies),
        )

    @classmethod
    def _from_config(cls, config: NoteToolConfig) -> Self:
        policies = loaded_tiers(config.policies)
        default = ScopedMemory(config.manager(), session_id=config.session_id, policies=policies)

        def notes() -> ScopedMemory:
            context = caller(config.user_id)
            return context.notes if context else default

        return cls(notes, max_tokens=config.max_tokens)


class SaveMemoryTool(_NoteTool, verb=SAVING):
    """Saves a note in a tier."""


class GetMemoryTool(_NoteTool, verb=GETTING):
    """Reads notes."""


class DeleteMemoryTool(_NoteTool, verb=DELETING):
    """Deletes a note."""


class ClearMemoryTool(_NoteTool, verb=CLEARING):
    """Deletes notes."""


class ListCategoriesTool(_NoteTool, verb=LISTING):
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
            given either. An answer of `query_memory` that fits a page is whole; a larger one is begun.
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
