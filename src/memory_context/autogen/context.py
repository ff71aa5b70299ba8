"""One conversation: messages, and references to memories in place of their large texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar
from uuid import uuid4
from weakref import WeakSet

from autogen_core import Component, ComponentModel
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import BaseTool, Workbench
from pydantic import BaseModel, Field

from memory_context.autogen.agent_tools import memory_tools, note_tools
from memory_context.autogen.caller import set_caller
from memory_context.autogen.compaction import limit_of
from memory_context.autogen.conversation import Conversation
from memory_context.autogen.llm_judge import LLMJudge, one_judge
from memory_context.autogen.llm_summarizer import LLMSummarizer
from memory_context.autogen.loop_lock import LoopLock
from memory_context.autogen.messages import with_texts
from memory_context.autogen.saved_state import ContextState, parse_state
from memory_context.autogen.tier_config import TierConfig, dumped_tiers, loaded_tiers
from memory_context.autogen.toolbox import AnyTool
from memory_context.autogen.view import entries_of, stored_behind
from memory_context.autogen.workbench import MemoryWorkbench
from memory_context.conversation.fold import ContextStats, Part
from memory_context.conversation.fold_policy import LEAST_THRESHOLD, FoldPolicy
from memory_context.conversation.judge import Bench, Decisions, Judge, JudgeLimits, LexicalJudge
from memory_context.conversation.pass_by_reference import DEFAULT_LIMIT
from memory_context.conversation.run_notes import offered_places
from memory_context.exceptions import (
    InvalidArgumentError,
    NotSerializableError,
    StateOwnerError,
    StoreError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.memory.summaries import Summaries, Summarizer, SummaryLimits
from memory_context.model.audit import AuditTrail
from memory_context.model.drawers import Displayed
from memory_context.model.item import Content, MemoryList
from memory_context.model.selection import Page, Selection
from memory_context.model.tier import Lifetime, TierPolicy
from memory_context.model.transcript import Transcript
from memory_context.runtime import events
from memory_context.runtime.prompts import MEMORY_INSTRUCTIONS, READING_INSTRUCTIONS
from memory_context.runtime.threads import off_loop
from memory_context.text.tokens.counter import TokenCounter

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


T = TypeVar("T")


class MemoryContextConfig(BaseModel):
    """What a dumped context holds. Messages beyond the initial ones belong to its state."""

    user_id: str
    store: str
    agent_id: str | None = None
    thread_id: str | None = None
    password_variable: str
    threshold: int
    source_thresholds: dict[str, int]
    preview_tokens: int
    expansion_budget: int
    recall: bool
    recall_results: bool = False
    fold: Literal["at_once", "after_reading"] = "at_once"
    read_cap: int = 2500
    user_layer_tokens: int = 300
    scopes: bool | list[TierConfig] = False
    max_tokens: int | None = None
    judge: ComponentModel | None = None
    judge_limits: JudgeLimits = JudgeLimits()
    summarizer: ComponentModel | None = None
    audit: bool | str = False
    initial_messages: list[LLMMessage] | None = Field(default=None)


class MemoryContext(Displayed, ChatCompletionContext, Component[MemoryContextConfig]):
    """A `ChatCompletionContext` that keeps large texts in a store, and brings back what the next step needs.

    Each large text of a message is committed to the store when the message is added; a reference and a short preview
    take its place. What `get_messages` has returned once, it returns byte for byte the same until `clear`. If the store
    fails, the text stays in the prompt, and the run goes on.

    Args:
        user_id: Whose memories these are. Nobody else's can be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. Nothing is opened before
            the first message.
        agent_id: Noted on what is stored.
        thread_id: The conversation. Without one a UUID is made and kept in the state.
        threshold: Texts with more tokens are folded; 50 or more.
        source_thresholds: Other thresholds for user messages from some sources; ``user`` has 8,000 by default.
        preview_tokens: The most that stays of a text beside its reference.
        expansion_budget: The most tokens that are brought back at once.
        recall: Whether anything is brought back without being asked for.
        recall_results: Whether tools' results are looked at too, and not only messages of users and agents.
        fold: ``at_once``; or ``after_reading``, for work that must read each output once: a text is shown in full at
            the first model call that sees it, and folded later, in batches, when that pays (`FoldPolicy`).
        read_cap: With ``after_reading``, texts with more tokens are folded at once.
        user_layer_tokens: The most that a conversation begins with of what is known about its user: preferences, notes
            with the tag ``always``, recent threads and commands, what exists. 0 for nothing. A conversation without a
            `thread_id` begins so only for a user with preferences or such notes.
        scopes: Whether the agent keeps notes in tiers (`ScopedMemory`) and gets the tools for them; or further tiers,
            and built-in ones with other limits. `run` opens them for a run; the thread is the session.
        max_tokens: The most tokens of all messages together, 500 or more; or a share of `window`, as 0.5. Before it
            would be passed, the oldest groups of messages are stored as one memory, and a reference takes their
            place. System prompt and tools come on top of it.
        window: The tokens of the model's context window.
        judge: Decides what is brought back; the words of the message without one (`LexicalJudge`).
        model_client: Short for ``judge=LLMJudge(model_client)``: a lightweight model decides.
        judge_limits: What a judge with a model may cost in this conversation, and how long it may take.
        summarizer: Describes folded texts in its own words, within its limits (`Summaries`, `LLMSummarizer`); without
            one they are described by their kind.
        counter: Counts tokens; the process's default without one.
        audit: Where it is written who did what with which memory: see `MemoryManager`.
        initial_messages: The messages to start with, treated like added ones.
        password_variable: The environment variable with the password of a database URL that has none.

    Raises:
        InvalidScopeError: No user.
        InvalidThresholdError: A threshold below 50.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
        InvalidArgumentError: Both a judge and a model client, or something that is no judge.
    """

    component_type = "chat_completion_context"
    component_config_schema = MemoryContextConfig
    component_provider_override = "memory_context.MemoryContext"

    def __init__(  # noqa: PLR0913 - each is a setting of its own, with a default
        self,
        user_id: str | int,
        *,
        store: AnyStore | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        threshold: int = 500,
        source_thresholds: Mapping[str, int] | None = None,
        preview_tokens: int = 300,
        expansion_budget: int = 2000,
        recall: bool = True,
        recall_results: bool = False,
        fold: Literal["at_once", "after_reading"] = "at_once",
        read_cap: int = 2500,
        user_layer_tokens: int = 300,
        scopes: bool | Iterable[TierPolicy] = False,
        max_tokens: float | None = None,
        window: int | None = None,
        judge: Judge | None = None,
        model_client: ChatCompletionClient | None = None,
        judge_limits: JudgeLimits | None = None,
        summarizer: Summarizer | Summaries | None = None,
        counter: TokenCounter | Callable[[str], int] | None = None,
        audit: AuditTrail | str | bool | None = None,
        initial_messages: Sequence[LLMMessage] | None = None,
        password_variable: str = "MEMORY_CONTEXT_STORE_PASSWORD",  # noqa: S107 - the name of a variable
    ) -> None:
        super().__init__()
        self._initial_messages = list(initial_messages or []) or None
        self._judge = one_judge(judge, model_client)
        self.max_tokens = limit_of(max_tokens, window)
        self.policy = FoldPolicy(
            threshold,
            dict(source_thresholds or {}),
            preview_tokens,
            _share(expansion_budget, self.max_tokens, 4),
            recall,
            fold=fold,
            read_cap=read_cap,
            user_layer_tokens=_share(user_layer_tokens, self.max_tokens, 8),
            recall_results=recall_results,
            largest=max(LEAST_THRESHOLD, self.max_tokens // 4) if self.max_tokens else None,
        )
        self._given_thread = thread_id
        self._owner = MemoryManager(
            store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id or str(uuid4()),
            counter=counter,
            password_variable=password_variable,
            summarizer=summarizer,
            audit=audit,
        )
        self._policies = () if isinstance(scopes, bool) else tuple(scopes)
        self._has_notes = scopes is not False
        self._notes = ScopedMemory(self._owner, policies=self._policies)
        self._view = self._owner.within(self._notes.places)
        self._manager = self._view if self._has_notes else self._owner
        bench = Bench(self._judge or LexicalJudge(), judge_limits or JudgeLimits())
        self._conversation = Conversation(
            self._view,
            self.policy,
            bench,
            self.max_tokens,
            list(initial_messages or []),
            notes=self._notes if self._has_notes else None,
            named_thread=thread_id is not None,
        )
        self._workbenches = WeakSet[MemoryWorkbench]()
        self._lock = LoopLock()
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def user_id(self) -> str:
        """Whose memories these are."""
        return self._manager.scope.user_id

    @property
    def thread_id(self) -> str:
        """The conversation."""
        return str(self._manager.thread_id)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message`, its large texts folded. A cancelled call still completes, before the next one."""
        if not isinstance(
            message, SystemMessage | UserMessage | AssistantMessage | FunctionExecutionResultMessage
        ):
            error = f"a message is one of AutoGen's LLM messages, not {type(message).__name__}"
            raise InvalidArgumentError(error)
        await self._to_the_end(self._add(with_texts(message, {})))

    async def get_messages(self) -> list[LLMMessage]:
        """The messages, with what the newest one needs from memory before it; what was returned once stays."""
        set_caller(self)
        return await self._to_the_end(self._prompt())

    async def clear(self) -> None:
        """Forget the messages. The memories stay in the store."""
        async with self._lock.held():
            self._conversation.forget()

    async def save_state(self) -> Mapping[str, Any]:
        """The messages as they are shown, and what the context knows about them, in JSON's own types."""
        async with self._lock.held():
            await self._conversation.settle()
            facts = self._conversation.facts()
            return ContextState(
                messages=self._conversation.messages, memory_context=facts
            ).model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take the place of the messages by those of `state`, which may be that of one of AutoGen's own contexts.

        The thread of a state is the session from then on: in a `run` too, whose `notes` are those of that session then.

        Raises:
            StateOwnerError: It belongs to another user.
            StateVersionError: It was saved by a newer version.
            StateError: It is not a context's state.
        """
        loaded = parse_state(state)
        facts = loaded.memory_context
        if facts is not None and facts.user_id != self.user_id:
            message = f"the state belongs to another user than {self.user_id!r}; load it into a context of its own user"
            raise StateOwnerError(message)
        async with self._lock.held():
            await self._conversation.load(loaded.messages, facts)
            if facts is not None:
                self._view.thread_id = self._owner.thread_id = self._given_thread or facts.thread_id
                self._open(self._notes.in_session(self._owner.thread_id))

    async def store(
        self,
        content: Content | dict[str, Any] | list[Any],
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        **details: Any,  # noqa: ANN401 - those of MemoryManager.remember
    ) -> str:
        """See `MemoryManager.store`."""
        return await off_loop(self._manager.store, content, description, type, **details)

    async def retrieve(  # noqa: PLR0913 - one of them selects
        self,
        key: str,
        *,
        lines: str | None = None,
        contains: str | None = None,
        pattern: str | None = None,
        context: int = 0,
        path: str | None = None,
        where: str | None = None,
        columns: str | None = None,
        query: str | None = None,
        max_tokens: int | None = None,
    ) -> Content:
        """See `MemoryManager.retrieve`."""
        return await off_loop(
            self._manager.retrieve, key, lines=lines, contains=contains, pattern=pattern, context=context, path=path,
            where=where, columns=columns, query=query, max_tokens=max_tokens,
        )  # fmt: skip

    async def page(
        self,
        key: str,
        selection: Selection | None = None,
        *,
        offset: int = 0,
        max_tokens: int | None = None,
    ) -> Page:
        """See `MemoryManager.page`."""
        return await off_loop(
            self._manager.page, key, selection, offset=offset, max_tokens=max_tokens
        )

    async def search(self, query: str, limit: int = 5, **narrow: Any) -> MemoryList:  # noqa: ANN401 - those of the manager
        """See `MemoryManager.search`."""
        return await off_loop(self._manager.search, query, limit, **narrow)

    async def restore(self, key: str) -> int:
        """Put the messages of a compaction back in the place of its reference; how many they are.

        Raises:
            MemoryNotFoundError: There is no memory under `key`.
            StateError: It holds no compacted messages, or no reference to it stands in this conversation.
        """
        item = await off_loop(self._manager.read, key)
        async with self._lock.held():
            return self._conversation.restore(item)

    async def forget(self, key: str, *, reason: str = "forgotten", soft: bool = False) -> bool:
        """See `MemoryManager.forget`."""
        return await off_loop(self._manager.forget, key, reason=reason, soft=soft)

    @asynccontextmanager
    async def run(
        self,
        *,
        task: str | None = None,
        project: str = "default",
        run_id: str | None = None,
        ends_task: bool = True,
    ) -> AsyncGenerator[ScopedMemory]:
        """A run of the agent: its notes, its task's and its project's are open until it ends, however it ends.

        Then the notes of the run are deleted, and what shows them leaves the messages. Other contexts do not see them,
        those of sub-agents neither; these share the session where they have the same `thread_id`.

        Args:
            task: The task that the agent works on; without one there are no notes of a task.
            project: The project that it belongs to.
            run_id: The run; one is made up without it.
            ends_task: Whether the task ends with the run, and its notes with it. Promote before what matters.

        Raises:
            InvalidArgumentError: The context has no tiers (`scopes`), or is in a run already.
            InvalidScopeError: A name that no database column can hold.
        """
        if not self._has_notes or self._notes.run_id is not None:
            message = (
                "this context is in a run already"
                if self._has_notes
                else "give MemoryContext(…, scopes=True)"
            )
            raise InvalidArgumentError(message)
        notes = ScopedMemory(
            self._owner,
            run_id=run_id or str(uuid4()),
            task_id=task,
            project_id=project,
            policies=self._policies,
        )
        self._open(notes)
        try:
            yield notes
        finally:
            await _completed(self._end_run(notes, ("run", "task") if ends_task else ("run",)))

    def _open(self, notes: ScopedMemory) -> None:
        """Let the agent see what is open there, and nothing else."""
        self._notes = notes
        self._view.set_places(notes.places, offered_places(notes))
        self._conversation.notes = notes if self._has_notes else None

    async def _end_run(self, notes: ScopedMemory, lifetimes: Sequence[Lifetime]) -> None:
        async with self._lock.held():
            self._open(ScopedMemory(self._owner, policies=self._policies))
            self._conversation.end_run()
        for lifetime in lifetimes:
            await off_loop(self._ended, notes, lifetime)

    def _ended(self, notes: ScopedMemory, lifetime: Lifetime) -> None:
        """Delete what ends; where the store fails it stays there, and nobody sees it."""
        try:
            notes.end(lifetime)
        except StoreError as error:
            self._conversation.guard.stats.add(store_failures=1)
            events.NOTES_NOT_DELETED.log(error, where=True, user_id=self.user_id, lifetime=lifetime)

    def stats(self) -> ContextStats:
        """What this context has done so far."""
        return replace(self._conversation.guard.stats)

    @property
    def manager(self) -> MemoryManager:
        """The same memories, synchronous; with tiers, of runs, sessions, plans, tasks and projects those that are open.

        What the agent itself sees, by its tools and by recall, is never more than what is open.
        """
        return self._manager

    @property
    def notes(self) -> ScopedMemory:
        """The agent's notes, synchronous, as they are open now: those of its session, in `run` more."""
        return self._notes

    @property
    def instructions(self) -> str:
        """What of `MEMORY_INSTRUCTIONS` speaks of the tools that this context has."""
        return MEMORY_INSTRUCTIONS if self._has_notes else READING_INSTRUCTIONS

    def shown_keys(self) -> list[str]:
        """The keys of the references that this conversation has shown."""
        return list(self._conversation.references)

    def trusted_keys(self) -> list[str]:
        """The keys that a model may pass on to tools: of references that this library has put here, or a person typed.

        A key that only stands in a tool's output, or in quoted text of a memory, is none of them.
        """
        return list(self._conversation.trusted)

    def trust(self, *keys: str) -> None:
        """Let these keys be passed on to tools, as if the person had typed their references."""
        self._conversation.trust(keys)

    def shown_messages(self) -> list[LLMMessage]:
        """The messages as they stand, without deciding anything; models get them by `get_messages`."""
        return list(self._conversation.messages)

    async def fold_output(
        self, text: str, *, tool: str, arguments: str | None = None, is_error: bool = False
    ) -> str:
        """A tool's output as this context would show it: itself, or reference and preview. Never raises."""
        return await self._conversation.fold_output(
            Part(0, text, None, tool, is_error=is_error), arguments
        )

    def decisions(self) -> Decisions:
        """What was decided to bring back so far, for which message, by whom and why; the newest 1,000."""
        return Decisions(self._conversation.recaller.decisions)

    def tools(self) -> list[BaseTool[Any, Any]]:
        """`retrieve_memory`, `search_memory` and `store_memory`, for the agent of this context.

        With tiers (`scopes`) also `save_memory`, `get_memory`, `clear_memory` and `list_categories`.
        """
        most = self.policy.threshold
        notes = note_tools(lambda: self._notes, max_tokens=most) if self._has_notes else []
        return [*memory_tools(self._view, max_tokens=most), *notes]

    def workbench(
        self,
        tools: Workbench | Sequence[AnyTool],
        *,
        pass_by_reference: bool | Sequence[str] = True,
        secrets_for: Sequence[str] = (),
        max_argument_bytes: int | Mapping[str, int] = DEFAULT_LIMIT,
    ) -> MemoryWorkbench:
        """The agent's tools with those of its memory, folding at the source and passing by reference.

        See `MemoryWorkbench` for what the settings mean and what is refused.
        """
        workbench = MemoryWorkbench(
            tools,
            self,
            pass_by_reference=pass_by_reference,
            secrets_for=secrets_for,
            max_argument_bytes=max_argument_bytes,
        )
        self._workbenches.add(workbench)
        return workbench

    async def aclose(self) -> None:
        """Give back the store's connections, unless the store is the caller's. The context may be used again.

        What was cancelled and is still under way comes to its end first.
        """
        for workbench in self._workbenches:
            workbench.note_end()
        loop = asyncio.get_running_loop()
        if under_way := {work for work in self._running if work.get_loop() is loop}:
            await asyncio.wait(under_way)
        await off_loop(self._owner.close)

    def _drawn_as(self) -> Transcript:
        """The conversation as a notebook shows it, with messages that are not folded yet; nothing is read for it."""
        messages = [*self._conversation.messages, *self._conversation.waiting]
        return Transcript(
            "MemoryContext",
            (("user", self.user_id), ("thread", self.thread_id)),
            entries_of(messages, self._manager.counter.count),
            stored_behind(messages, self._conversation.references),
            self.max_tokens,
        )

    def _to_config(self) -> MemoryContextConfig:
        return MemoryContextConfig(
            **self._manager.connection(),
            thread_id=self._given_thread,
            threshold=self.policy.threshold,
            source_thresholds=dict(self.policy.source_thresholds),
            preview_tokens=self.policy.preview_tokens,
            expansion_budget=self.policy.expansion_budget,
            recall=self.policy.recall,
            recall_results=self.policy.recall_results,
            fold=self.policy.fold,
            read_cap=self.policy.read_cap,
            user_layer_tokens=self.policy.user_layer_tokens,
            scopes=dumped_tiers(self._policies) or self._has_notes,
            max_tokens=self.max_tokens,
            judge=self._dumped_judge(),
            judge_limits=self._conversation.bench.limits,
            summarizer=self._dumped_summarizer(),
            initial_messages=self._initial_messages,
        )

    def _dumped_judge(self) -> ComponentModel | None:
        if self._judge is None or isinstance(self._judge, LexicalJudge):
            return None
        if isinstance(self._judge, LLMJudge):
            return self._judge.dump_component()
        message = (
            f"the judge {self._judge!r} cannot be written down: only LexicalJudge and LLMJudge can"
        )
        raise NotSerializableError(message)

    def _dumped_summarizer(self) -> ComponentModel | None:
        summaries = self._manager.summaries
        if summaries is None:
            return None
        if isinstance(summaries.summarizer, LLMSummarizer) and summaries.limits == SummaryLimits():
            return summaries.summarizer.dump_component()
        message = f"{summaries.summarizer!r} cannot be written down: only LLMSummarizer with its default limits can"
        raise NotSerializableError(message)

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        values: dict[str, Any] = {
            name: getattr(config, name) for name in MemoryContextConfig.model_fields
        }
        values["judge"] = LLMJudge.load_component(config.judge) if config.judge else None
        values["scopes"] = (
            config.scopes if isinstance(config.scopes, bool) else loaded_tiers(config.scopes)
        )
        values["summarizer"] = (
            LLMSummarizer.load_component(config.summarizer) if config.summarizer else None
        )
        return cls(**values)

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which goes on to its end even if the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _prompt(self) -> list[LLMMessage]:
        async with self._lock.held():
            return await self._conversation.prompt()

    async def _add(self, message: LLMMessage) -> None:
        async with self._lock.held():
            await self._conversation.add(message)


async def _completed(work: Coroutine[Any, Any, None]) -> None:
    """Wait until `work` is done, even if the caller is cancelled in the meantime."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def _share(tokens: int, limit: int | None, part: int) -> int:
    return tokens if limit is None else min(tokens, limit // part)
