"""AutoGen's tools by which an agent reads, searches and keeps memories."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, cast

from autogen_core import CancellationToken, Component, ComponentModel
from autogen_core.tools import BaseTool, ParametersSchema, ToolSchema
from pydantic import BaseModel, Field, ValidationError

from memory_context.agent_files.service import AgentMemoryService
from memory_context.autogen.calling_agent import caller, report
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.context_config import (
    ConnectionConfig,
    TierConfig,
    dumped_tiers,
    loaded_tiers,
)
from memory_context.conversation.ask_a_users_memories import MemoryReader
from memory_context.exceptions import NotSerializableError
from memory_context.memory.manager import MemoryManager
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
from memory_context.tools.query_memory import QUERYING, verbs_on
from memory_context.tools.retrieve_search_store import RETRIEVING, SEARCHING, STORING
from memory_context.tools.verbs import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
    check_owner,
    problem_with,
)

# What OpenAI's strict schemas do not take.
_NOT_STRICT = {"default", "minimum"}


class MemoryToolConfig(ConnectionConfig):
    """What leads a dumped tool to the same memories, behind the same walls."""

    max_tokens: int
    places: list[tuple[str, str]] | None = None

    def manager(self) -> MemoryManager:
        """Return the memories."""
        manager = MemoryManager(
            self.store,
            user_id=self.user_id,
            agent_id=self.agent_id,
            password_variable=self.password_variable,
            audit=self.audit,
        )
        return manager if self.places is None else manager.within(self.places)


class FilesToolConfig(BaseModel):
    """What leads a dumped tool to the same agent's files."""

    app_cache_dir: str
    agent_instance_id: str
    quota_bytes: int
    lock_seconds: float
    max_tokens: int


class NoteToolConfig(MemoryToolConfig):
    """What leads a dumped tool to the same notes; run, task and project are those of the agent that calls it."""

    session_id: str | None = None
    policies: list[TierConfig] = Field(default_factory=list[TierConfig])


_TOOLS = dict[Verb[Any], Callable[..., BaseTool[Any, Any]]]()
"""The class of the tool of each verb."""


class _VerbTool(BaseTool[Any, Any]):
    """A verb as a tool; its answers never take more than *max_tokens*."""

    verb: ClassVar[Verb[Any]]

    def __init_subclass__(cls, *, verb: Verb[Any] | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - AutoGen's
        """Note the tool's verb, and the public name under which a dumped one is found."""
        if verb is not None:
            cls.verb = verb
            _TOOLS[verb] = cls
            cls.component_provider_override = f"memory_context.autogen.{cls.__name__}"
        super().__init_subclass__(**kwargs)

    def __init__(self, max_tokens: int | None) -> None:
        super().__init__(self.verb.args, str, self.verb.name, self.verb.description)
        self._max_tokens = answer_limit(self.verb, max_tokens)

    @property
    def schema(self) -> ToolSchema:
        """Return a strict schema: a model gives every argument, "" or 0 for none.

        A client that is to parse an answer by a schema (``output_content_type=``) takes no other tools.
        """
        told = super().schema
        arguments = told["parameters"]["properties"] if "parameters" in told else {}
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
        """Return what the verb works on."""

    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> Any:  # noqa: ANN401 - AutoGen's signature
        """See `BaseTool.run_json`; invalid arguments are answered with what would be valid."""
        try:
            return await super().run_json(args, cancellation_token, call_id)
        except ValidationError as error:
            raise MemoryToolError(problem_with(error)) from None

    async def run(self, args: Any, cancellation_token: CancellationToken) -> str:  # noqa: ANN401, ARG002 - AutoGen's signature
        """Return the answer, for a model.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        answer = await off_loop(self.verb.answer, self._memories(), args, self._max_tokens)
        report(answer.keys)
        return answer.text


class _MemoryTool(_VerbTool, Component[MemoryToolConfig]):
    """A tool on one user's memories."""

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
        places = self._manager.scope.places
        return MemoryToolConfig(
            **self._manager.connection(),
            max_tokens=self._max_tokens,
            places=None if places is None else sorted(places & self._manager.offered.places),  # type: ignore[operator] # set with it
        )

    @classmethod
    def _from_config(cls, config: MemoryToolConfig) -> Self:
        tool = cls(config.manager(), max_tokens=config.max_tokens)
        tool._loaded = True
        return tool


class RetrieveMemoryTool(_MemoryTool, verb=RETRIEVING):
    """Reads a memory: from its beginning or a part of it, page by page."""


class SearchMemoryTool(_MemoryTool, verb=SEARCHING):
    """Finds memories by words."""


class QueryMemoryTool(_MemoryTool, verb=QUERYING):
    """Computes over memories by SQL."""


class AskToolConfig(MemoryToolConfig):
    """What leads a dumped tool to the same memories, and to the same light model."""

    judge: ComponentModel


class AskMemoryTool(_VerbTool, Component[AskToolConfig], verb=ASKING):
    """Lets a light model read memories, and answer with checked quotations.

    Args:
        reader: The memories, and the model that reads them.
        max_tokens: The most that an answer takes; 200, if that is less. Without one, 500.
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
                f"ask_memory on {type(model).__name__} cannot be serialized; an LLMJudge can"
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
    """Keeps the files of one agent, by the commands of Anthropic's memory tool; its answers take at most `max_tokens`.

    Args:
        service: Where the files are.
        agent_instance_id: Whose they are.
        max_tokens: The most that an answer takes; 200, if that is less.
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
    """A tool on the notes of an agent: those that are open when it is called."""

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
        """Return what a model is told of the tool: of tiers those that are open now."""
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
        own = ScopedMemory(config.manager(), session_id=config.session_id, policies=policies)

        def notes() -> ScopedMemory:
            context = caller(config.user_id)
            return context.notes if context else own

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
    """Return the tools on the memories of a manager; of a `ScopedMemory` those on its notes too.

    Args:
        memories: The memories.
        max_tokens: The most that an answer takes; 200, if that is less. Without one, 500.
        page_tokens: The most that a page of `retrieve_memory` takes; without one `max_tokens`, and without both 4,000.
        queries: Whether `query_memory` is among them.

    Raises:
        InvalidArgumentError: They are of another kind.
    """
    return [
        _TOOLS[verb](owner, max_tokens=answer_limit(verb, max_tokens, page_tokens))
        for verb, owner in verbs_on(memories, queries=queries).items()
    ]


def file_tools(
    service: AgentMemoryService, agent_instance_id: str, *, max_tokens: int = 500
) -> list[BaseTool[Any, Any]]:
    """Return the tool `memory` on the files of one agent; its answers take at most `max_tokens` (200, if that is less)."""
    return [AgentFilesTool(service, agent_instance_id, max_tokens=max_tokens)]


def note_tools(
    notes: ScopedMemory | Callable[[], ScopedMemory], *, max_tokens: int = 500
) -> list[BaseTool[Any, Any]]:
    """Return the tools on notes: `save_memory`, `get_memory`, `delete_memory`, `clear_memory`, `list_categories`.

    Args:
        notes: The notes; or a callable that gives, at each call, those that are open then.
        max_tokens: The most that an answer takes; 200, if that is less.
    """
    return [_TOOLS[verb](notes, max_tokens=max_tokens) for verb in NOTE_VERBS]
