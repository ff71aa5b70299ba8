"""One conversation: messages, and references to memories in place of their large texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar
from uuid import uuid4
from weakref import WeakSet

from autogen_core import Component
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

from memory_context.autogen.agent_tools import AskMemoryTool, memory_tools, note_tools
from memory_context.autogen.calling_agent import set_caller
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.context_config import (
    FoldConfig,
    MemoryContextConfig,
    NotesConfig,
    RecallConfig,
)
from memory_context.autogen.loop_lock import LoopLock
from memory_context.autogen.message_list import MessageList
from memory_context.autogen.messages import neutral_of
from memory_context.autogen.saved_state_format import ContextFacts, ContextState, parse_state
from memory_context.autogen.toolbox import AnyTool
from memory_context.autogen.workbench import MemoryWorkbench
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.conversations_of_many_users import ENDING, HostedConversations
from memory_context.conversation.fold_recall_notes_policies import (
    PERSON,
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
    fold_policy_of,
    recall_policy_of,
    refuse_middleware_settings,
)
from memory_context.conversation.kept_calls_and_decisions import Decisions, stats_of_thread
from memory_context.conversation.message import Message, references_of, trusted_keys
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.conversation.run_notes import offered_places
from memory_context.conversation.transcript_entries import entries_of, stored_behind
from memory_context.exceptions import InvalidArgumentError, StateOwnerError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.audit import AuditTrail
from memory_context.model.drawers import Displayed
from memory_context.model.reference import KEPT_REFERENCES
from memory_context.model.transcript import Transcript
from memory_context.runtime.threads import off_loop
from memory_context.stores import AnyStore, SQLAuditTrail, as_store
from memory_context.wording_for_models import MEMORY_INSTRUCTIONS

P = ParamSpec("P")
T = TypeVar("T")


def _off_loop(
    verb: Callable[Concatenate[MemoryManager, P], T],
) -> Callable[Concatenate[MemoryContext, P], Coroutine[Any, Any, T]]:
    """Return a manager's *verb* as a method of the context that owns the manager, off the event loop."""

    @wraps(verb)
    async def method(context: MemoryContext, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await off_loop(verb, context.manager, *args, **kwargs)

    return method


class MemoryContext(Displayed, ChatCompletionContext, Component[MemoryContextConfig]):
    """A `ChatCompletionContext` that keeps large texts in a store, and brings back what the next step needs.

    Each large text of a message is committed to the store when the message is added; a reference and a short preview
    take its place. What `get_messages` has returned once, it returns byte for byte the same until `clear`. If the store
    fails, the text stays in the prompt, and the run goes on.

    `store`, `retrieve`, `page`, `search` and `forget` are the verbs of `MemoryManager`, to be awaited.

    Args:
        user_id: Whose memories these are. Nobody else's can be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. Nothing is opened before
            the first message.
        agent_id: Noted on what is stored.
        thread_id: The conversation. Without one a UUID is made and kept in the state.
        threshold: Texts with more tokens are folded; 50 or more, 500 by default. Short for a `FoldPolicy`'s.
        fold: ``at_once``; or ``after_reading``, for work that must read each output once; or a `FoldPolicy`.
        recall: Whether anything is brought back without being asked for, also what is known about the user; or a
            `RecallPolicy`.
        notes: Whether the agent keeps notes in tiers (`ScopedMemory`) and gets the tools for them; or a `NotesPolicy`.
            `run` gives a run its exact end, and opens task and project; the thread is the session.
        max_tokens: The most tokens of all messages together, 500 or more; an old image 765. Before it would be
            passed, the oldest groups of messages are stored as one memory, and a reference takes their place. System
            prompt and tools come on top of it.
        model_client: A lightweight model that decides what is brought back. Short for a `RecallPolicy` with
            ``judge=LLMJudge(model_client)``.
        audit: Where it is written who did what with which memory: see `MemoryManager`.
        initial_messages: The messages to start with, treated like added ones.

    Raises:
        InvalidScopeError: No user.
        InvalidThresholdError: A threshold below 50.
        BudgetTooSmallError: A `max_tokens` below 500.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
        InvalidArgumentError: A threshold beside a `FoldPolicy`, a model client beside a judge, or a setting of the wrong
            kind.
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
        threshold: int | None = None,
        fold: Literal["at_once", "after_reading"] | FoldPolicy = "at_once",
        recall: bool | RecallPolicy = True,
        notes: bool | NotesPolicy = False,
        max_tokens: int | None = None,
        model_client: ChatCompletionClient | None = None,
        audit: AuditTrail | str | bool | None = None,
        initial_messages: Sequence[LLMMessage] | None = None,
    ) -> None:
        super().__init__()
        self._initial_messages = list(initial_messages or []) or None
        self.max_tokens = max_tokens
        self.fold_policy = fold_policy_of(fold, threshold)
        refuse_middleware_settings(self.fold_policy, "MemoryContext")
        judge = None if model_client is None else LLMJudge(model_client)
        self.recall_policy = recall_policy_of(recall, judge, "model_client")
        self._given_thread = thread_id
        self._owner = MemoryManager(
            store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id or str(uuid4()),
            counter=self.fold_policy.counter,
            summarizer=self.fold_policy.summarizer,
            audit=audit,
        )
        settings = ConversationSettings(self.fold_policy, self.recall_policy, max_tokens)
        self._hosted = HostedConversations(self._owner.memory_store, settings, notes=notes)
        self._owner.redacted = self._hosted.fail_open.stats.redacted
        self.notes_policy = self._hosted.notes_policy
        self._has_notes = self._hosted.has_notes
        self._closed_with_this = list[Callable[[], object]]()
        self._in_run = False
        self._notes = self._notes_between_runs()
        self._view = self._owner.within(self._notes.places)
        self._view.gate = self._notes.manager.gate
        self._manager = self._view if self._has_notes else self._owner
        self._conversation = replace(
            self._hosted.conversation(self._view), named_thread=thread_id is not None
        )
        self._history = MessageList(
            self._conversation,
            notes=self._notes if self._has_notes else None,
            waiting=list(initial_messages or []),
        )
        self._workbenches = WeakSet[MemoryWorkbench]()
        self._lock = LoopLock()
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def user_id(self) -> str:
        """Return whose memories these are."""
        return self._manager.scope.user_id

    @property
    def thread_id(self) -> str:
        """Return the id of the conversation."""
        return str(self._manager.thread_id)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message`, its large texts folded. A cancelled call still completes, before the next one."""
        if not isinstance(
            message, SystemMessage | UserMessage | AssistantMessage | FunctionExecutionResultMessage
        ):
            raise InvalidArgumentError(
                f"a message must be one of AutoGen's LLM messages, not {type(message).__name__}"
            )
        await self._to_the_end(partial(self._add, message.model_copy(deep=True)))

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages, with what the newest one needs from memory before it; what was returned once stays."""
        set_caller(self)
        return await self._to_the_end(self._history.prompt)

    async def clear(self) -> None:
        """Forget the messages. The memories stay in the store, but for notes of tiers that last for one run."""
        await self._to_the_end(self._clear)

    async def save_state(self) -> Mapping[str, Any]:
        """Return the messages as they are shown, and what the context knows about them, in JSON's own types."""
        async with self._lock.held():
            await self._history.settle()
            run_id = None if self._in_run else self._notes.run_id
            facts = ContextFacts(
                user_id=self.user_id,
                thread_id=self.thread_id,
                run_id=run_id,
                seen=self._history.seen,
                conversation=self._history.facts,
                messages=[message.known.to_json() for message in self._history.messages],
            )
            state = ContextState(messages=self._history.hosted(), memory_context=facts)
            return state.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Replace the messages by those of *state*, which may be that of one of AutoGen's own contexts.

        The thread of a state is the session from then on: in a `run` too, whose `notes` are those of that session then.

        Raises:
            StateOwnerError: It belongs to another user.
            StateVersionError: It was saved by a newer version.
            StateError: It is not a context's state.
        """
        loaded = parse_state(state)
        facts = loaded.memory_context
        if facts is not None and facts.user_id != self.user_id:
            raise StateOwnerError(
                f"the state belongs to another user than {self.user_id!r}; load it into a context of its own user"
            )
        async with self._lock.held():
            self._history.take_up(loaded.messages, facts)
            if facts is not None:
                self._view.thread_id = self._owner.thread_id = self._given_thread or facts.thread_id
                notes = self._notes.in_session(self._owner.thread_id)
                if facts.run_id is not None and not self._in_run:
                    notes = self._notes_between_runs(facts.run_id)
                self._open(notes)
            self._history.end_run()

    store = _off_loop(MemoryManager.store)  # type: ignore[arg-type] # no detail is named self
    retrieve = _off_loop(MemoryManager.retrieve)
    page = _off_loop(MemoryManager.page)
    search = _off_loop(MemoryManager.search)
    query = _off_loop(MemoryManager.query)
    forget = _off_loop(MemoryManager.forget)

    async def restore(self, key: str) -> int:
        """Replace the reference of a compaction by its messages, and return how many they are.

        Raises:
            MemoryNotFoundError: There is no memory under `key`.
            StateError: It holds no compacted messages, or no reference to it stands in this conversation.
        """
        item = await off_loop(self._manager.read, key)
        async with self._lock.held():
            return self._history.restore(item)

    @asynccontextmanager
    async def run(
        self,
        *,
        task: str | None = None,
        project: str | None = None,
        run_id: str | None = None,
        ends_task: bool | None = None,
    ) -> AsyncGenerator[ScopedMemory]:
        """A run of the agent: its notes, its task's and its project's are open until it ends, however it ends.

        Then the notes of the run are deleted, and what shows them leaves the messages, also after a failure. Without
        `run` they last until a person's next message. Other contexts do not see them,
        those of sub-agents neither; these share the session where they have the same `thread_id`.

        Args:
            task: The task that the agent works on; without one there are no notes of a task.
            project: The project that it belongs to; that of the `NotesPolicy` without one.
            run_id: The run; one is made up without it.
            ends_task: Whether the task ends with the run, and its notes with it; None: as the `NotesPolicy` says.
                Promote before what matters.

        Raises:
            InvalidArgumentError: The context has no notes (``notes=True``), or is in a run already.
            InvalidScopeError: A name that no database column can hold.
        """
        if not self._has_notes:
            raise InvalidArgumentError(
                "this context keeps no notes: give MemoryContext(…, notes=True)"
            )
        if self._in_run:
            raise InvalidArgumentError("this context is in a run already")
        if ends_task is None:
            ends_task = self.notes_policy.ends_task
        notes = ScopedMemory(
            self._owner,
            run_id=run_id or str(uuid4()),
            task_id=task,
            project_id=self.notes_policy.project if project is None else project,
            policies=self.notes_policy.tiers,
        )
        self._in_run = True
        before = self._notes
        self._open(notes)
        try:
            await off_loop(self._hosted.end_run, before, ["run"])
            yield notes
        finally:
            await _completed(self._end_run(notes, ends_task=ends_task))

    def _open(self, notes: ScopedMemory) -> None:
        """Let the agent see what is open there, and nothing else."""
        self._notes = notes
        self._view.set_places(notes.places, offered_places(notes))
        self._history.notes = notes if self._has_notes else None

    def _notes_between_runs(self, run_id: str | None = None) -> ScopedMemory:
        """Return the notes that are open outside of `run`: a plain run of the agent has some of its own, too."""
        if self._has_notes and run_id is None:
            run_id = str(uuid4())
        return ScopedMemory(self._owner, run_id=run_id, policies=self.notes_policy.tiers)

    async def _add(self, message: LLMMessage) -> None:
        if isinstance(message, UserMessage) and message.source == PERSON:
            await self._end_plain_run()
        await self._history.add(message)

    async def _clear(self) -> None:
        await self._end_plain_run()
        self._history.forget()

    async def _end_plain_run(self) -> None:
        """Begin another run, unless `run` says when one ends; the notes of the one before go."""
        if not self._has_notes or self._in_run:
            return
        ended = self._notes
        self._open(self._notes_between_runs())
        self._history.end_run()
        await off_loop(self._hosted.end_run, ended, ["run"])

    async def _end_run(self, notes: ScopedMemory, *, ends_task: bool) -> None:
        """Delete the notes that end with the run; where the store fails they stay there, and nobody sees them."""
        async with self._lock.held():
            self._in_run = False
            self._open(self._notes_between_runs())
            self._history.end_run()
        for lifetime in ENDING[: 1 + ends_task]:
            await off_loop(self._hosted.end_run, notes, [lifetime])

    def stats(self, *, kept: bool = False) -> ContextStats:
        """Return what this context has done so far.

        With *kept* also what the store keeps of the conversation's model calls, of earlier processes too.
        """
        stats = self._conversation.fail_open.stats
        return stats_of_thread(stats, self._owner) if kept else stats.snapshot()

    @property
    def manager(self) -> MemoryManager:
        """Return the same memories, synchronous; with notes, of runs, plans, tasks and so on only those that are open.

        What the agent itself sees, by its tools and by recall, is never more than what is open.
        """
        return self._manager

    @property
    def notes(self) -> ScopedMemory:
        """Return the agent's notes, synchronous, as they are open now: those of its run and session, in `run` more."""
        return self._notes

    @property
    def instructions(self) -> str:
        """Return `MEMORY_INSTRUCTIONS`, for a system message where no reference explains itself (see `FoldPolicy`)."""
        return MEMORY_INSTRUCTIONS

    def shown_keys(self) -> list[str]:
        """Return the keys of the references that this conversation has shown."""
        return list(references_of(self._history.messages))

    def trusted_keys(self) -> list[str]:
        """The keys that a model may pass on to tools: of references that this library has put here, or a person typed.

        A key that only stands in a tool's output, or in quoted text of a memory, is none of them.
        """
        return trusted_keys(self._history.messages, self._history.facts.trusted)

    def trust(self, *keys: str) -> None:
        """Let these keys be passed on to tools, as if the person had typed their references."""
        facts = self._history.facts
        trusted = tuple(dict.fromkeys((*facts.trusted, *keys)))[-KEPT_REFERENCES:]
        self._history.facts = replace(facts, trusted=trusted)

    def shown_messages(self) -> list[LLMMessage]:
        """Return the messages as they stand, without deciding anything; models get them by `get_messages`."""
        return self._history.hosted()

    async def fold_output(
        self, text: str, *, tool: str, arguments: str | None = None, is_error: bool = False
    ) -> str:
        """A tool's output as this context would show it: itself, or reference and preview. Never raises."""
        output = Message("output", "tool", tool, {0: text}, is_error=is_error)
        before = self._history.messages
        folded = await off_loop(self._conversation.fold_output, output, arguments, before)
        self.trust(*folded.known.trusted)
        return folded.text

    def note_finished(self, call_id: str, tool: str, text: str, *, is_error: bool = False) -> None:
        """Note what a call of the newest message has given: its answer, if the run is cancelled before that comes."""
        result = Message("", "tool", tool, {0: text}, answers=call_id, is_error=is_error)
        self._history.note_finished(result)

    def decisions(self) -> Decisions:
        """Return what was decided to bring back, by whom and why: the newest 1,000 decisions of this conversation.

        Those of earlier processes are among them, as far as the store keeps them.
        """
        return self._conversation.log.of_thread(self._owner)

    def tools(self) -> list[BaseTool[Any, Any]]:
        """`retrieve_memory`, `search_memory` and `store_memory`, for the agent of this context.

        With `FoldPolicy(queries=True)` also `query_memory`; with a `model_client` `ask_memory`; with notes `save_memory`,
        `get_memory`, `delete_memory`, `clear_memory` and `list_categories`.
        """
        fold = self._conversation.settings.fold
        most = fold.threshold
        owned = memory_tools(
            self._view, max_tokens=most, page_tokens=fold.page_budget, queries=fold.queries
        )
        if self._conversation.settings.light_model is not None:
            owned.append(AskMemoryTool(self._hosted.reader(self._view), max_tokens=most))
        if self._has_notes:
            owned += note_tools(lambda: self._notes, max_tokens=most)
        return owned

    def workbench(
        self,
        tools: Workbench | Sequence[AnyTool],
        *,
        pass_by_reference: bool | PassingPolicy = True,
    ) -> MemoryWorkbench:
        """Return the agent's tools with those of its memory, folding at the source and passing by reference.

        See `MemoryWorkbench` for what the settings mean and what is refused.
        """
        workbench = MemoryWorkbench(tools, self, pass_by_reference=pass_by_reference)
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
        for close in self._closed_with_this:
            await off_loop(close)

    def _drawn_as(self) -> Transcript:
        """The conversation as a notebook shows it, with messages that are not folded yet; nothing is read for it."""
        waiting = [part for message in self._history.waiting for part in neutral_of(message, "")]
        messages = [*self._history.messages, *waiting]
        return Transcript(
            "MemoryContext",
            (("user", self.user_id), ("thread", self.thread_id)),
            tuple(entries_of(messages, self._manager.counter.count)),
            stored_behind(messages, self.shown_keys()),
            self.max_tokens,
        )

    def _to_config(self) -> MemoryContextConfig:
        return MemoryContextConfig(
            **self._manager.connection(),
            thread_id=self._given_thread,
            fold=FoldConfig.of(self.fold_policy),
            recall=RecallConfig.of(self.recall_policy) if self.recall_policy else False,
            notes=NotesConfig.of(self.notes_policy) if self._has_notes else False,
            max_tokens=self.max_tokens,
            initial_messages=self._initial_messages,
        )

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        # A store that is given is the caller's to close. Here it is opened for the context, because only a store takes
        # the name of the variable with its password.
        store = as_store(config.store, config.password_variable)
        audit: SQLAuditTrail | bool
        if isinstance(config.audit, str):
            audit = SQLAuditTrail(config.audit, password_variable=config.password_variable)
        else:
            audit = config.audit
        context = cls(
            config.user_id,
            store=store,
            agent_id=config.agent_id,
            thread_id=config.thread_id,
            fold=config.fold.policy(),
            recall=config.recall if isinstance(config.recall, bool) else config.recall.policy(),
            notes=config.notes if isinstance(config.notes, bool) else config.notes.policy(),
            max_tokens=config.max_tokens,
            audit=audit,
            initial_messages=config.initial_messages,
        )
        context._closed_with_this.append(store.close)
        if isinstance(audit, SQLAuditTrail):
            context._closed_with_this.append(audit.close)
        return context

    async def _to_the_end(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of *work* on the conversation, which completes even if the caller is cancelled."""

        async def locked() -> T:
            async with self._lock.held():
                return (
                    await work()
                )  # made here: a loop that ends first must leave no coroutine unawaited

        task = asyncio.ensure_future(locked())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)


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
