"""`MemoryContext`: AutoGen's model context of one conversation, with references in place of large texts.

To *fold* a text is to store it and to put a reference and a preview in its place; *recall* brings stored texts back when
the next step needs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from copy import copy
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

from memory_context.autogen.calling_agent import set_caller
from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.context_config import (
    MemoryContextConfig,
    dumped_fold,
    dumped_notes,
    dumped_recall,
    loaded_fold,
    loaded_notes,
    loaded_recall,
)
from memory_context.autogen.loop_lock import LoopLock
from memory_context.autogen.memory_tools_with_strict_schemas import (
    AskMemoryTool,
    memory_tools,
    note_tools,
)
from memory_context.autogen.message_list import MessageList
from memory_context.autogen.messages import neutral_of
from memory_context.autogen.saved_state_format import ContextFacts, ContextState, parse_state
from memory_context.autogen.tools_given_to_a_workbench import AnyTool
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
from memory_context.conversation.message import Message, references_of, trusted_keys
from memory_context.conversation.recording_to_call_log import Decisions, stats_of_thread
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.conversation.transcript_entries import entries_of, stored_behind
from memory_context.exceptions import InvalidArgumentError, StateOwnerError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.registry_of_drawers import Displayed
from memory_context.model.scope import check_no_url
from memory_context.model.transcript import Transcript
from memory_context.runtime.threads import off_loop
from memory_context.sentences_models_read import MEMORY_INSTRUCTIONS
from memory_context.stores import AnyStore, SQLAuditTrail, as_store
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail

P = ParamSpec("P")
T = TypeVar("T")

MESSAGE_KINDS = (SystemMessage, UserMessage, AssistantMessage, FunctionExecutionResultMessage)


def _off_loop(
    verb: Callable[Concatenate[MemoryManager, P], T],
) -> Callable[Concatenate[MemoryContext, P], Coroutine[Any, Any, T]]:
    """Turn a `MemoryManager` method into an asynchronous method of the context, which runs it in a thread."""

    @wraps(verb)
    async def method(context: MemoryContext, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await off_loop(verb, context.manager, *args, **kwargs)

    return method


class MemoryContext(Displayed, ChatCompletionContext, Component[MemoryContextConfig]):
    """A `ChatCompletionContext` that keeps large texts in a store, and brings back what the next step needs.

    Each large text of a message is committed to the store when the message is added; a reference and a short preview
    take its place. A message that `get_messages` has returned stays the same, byte for byte, until `clear`. If the store
    fails, the text stays in the prompt, and the run goes on.

    `store`, `retrieve`, `page`, `search`, `query` and `forget` are asynchronous versions of the methods of
    `MemoryManager`.

    Args:
        user_id: The user whose memories these are. Other users' memories cannot be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. The store is opened when
            the first message is added.
        agent_id: Recorded with each stored memory.
        thread_id: The id of the conversation. By default a new UUID, which is kept in the state.
        threshold: Texts with more tokens than this are folded; 50 or more, 500 by default. Shorthand for a `FoldPolicy`
            with this threshold.
        fold: ``at_once``; ``after_reading``, for work in which the model must read each output in full once; or a
            `FoldPolicy`.
        recall: Whether stored texts, and what is known about the user, are brought back without being asked for; or a
            `RecallPolicy`.
        notes: Whether the agent keeps notes in tiers (`ScopedMemory`) and gets the tools for them; or a `NotesPolicy`.
            With `run`, a run has an exact end and may have a task and a project. The thread is the session.
        max_tokens: The most tokens that all messages together may have, 500 or more; an old image counts as 765. Before
            this is exceeded, the oldest groups of messages are stored as one memory, and a reference takes their place.
            The system prompt and the tools come on top of it.
        model_client: A lightweight model that decides what is brought back. Shorthand for a `RecallPolicy` with
            ``judge=LLMJudge(model_client)``.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.
        initial_messages: The messages to start with, treated like added ones.

    Raises:
        InvalidScopeError: The user is missing.
        InvalidThresholdError: The threshold is below 50.
        BudgetTooSmallError: `max_tokens` is below 500.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
        InvalidArgumentError: There is both a threshold and a `FoldPolicy`, or both a model client and a judge, or a
            setting has the wrong type.
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
        audit: AnyAuditTrail | None = None,
        initial_messages: Sequence[LLMMessage] | None = None,
    ) -> None:
        super().__init__()
        check_no_url(user_id)
        self._initial_messages = _checked_messages(initial_messages or []) or None
        self.max_tokens = max_tokens
        self.fold_policy = fold_policy_of(fold, threshold)
        refuse_middleware_settings(self.fold_policy, "MemoryContext")
        self.recall_policy = recall_policy_of(recall, model_client, LLMJudge, "model_client")
        self._given_thread = thread_id
        settings = ConversationSettings(self.fold_policy, self.recall_policy, max_tokens)
        self._hosted = HostedConversations(store, settings, notes=notes, audit=audit)
        self._owner = self._hosted.memories(user_id, thread_id or str(uuid4()), agent_id)
        self.notes_policy = self._hosted.notes_policy
        self._has_notes = self._hosted.has_notes
        self._closed_with_this = list[Callable[[], object]]()
        self._in_run = False
        self._notes = self._notes_between_runs()
        # A view like that of the notes. Its places change from run to run.
        self._view = copy(self._notes.manager)
        self._manager = self._view if self._has_notes else self._owner
        self._conversation = replace(
            self._hosted.conversation(self._view), named_thread=thread_id is not None
        )
        self._history = MessageList(self._conversation, waiting=list(self._initial_messages or []))
        self._open(self._notes)
        self._workbenches = WeakSet[MemoryWorkbench]()
        self._lock = LoopLock()
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def user_id(self) -> str:
        """Return the user whose memories these are."""
        return self._manager.scope.user_id

    @property
    def thread_id(self) -> str:
        """Return the id of the conversation."""
        return str(self._manager.thread_id)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message` with its large texts folded. A cancelled call still completes, before the next begins."""
        if not isinstance(message, MESSAGE_KINDS):
            raise InvalidArgumentError(
                f"a message is one of AutoGen's LLM messages, such as UserMessage, not {type(message).__name__}"
            )
        await self._completing(partial(self._add, message.model_copy(deep=True)))

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages for the model, with the memories that the newest message needs inserted before it.

        Messages that were returned before stay the same.
        """
        set_caller(self)
        return await self._completing(self._history.prompt)

    async def clear(self) -> None:
        """Forget the messages. Memories stay in the store, except notes in tiers that last for one run."""
        await self._completing(self._clear)

    async def save_state(self) -> Mapping[str, Any]:
        """Return the messages as they are shown, and what the context knows about them, as JSON types."""
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
        """Replace the messages with those of *state*, which may have been saved by one of AutoGen's own contexts.

        The thread of the state becomes the session. If this is done during a `run`, its `notes` are those of the new
        session from then on.

        Raises:
            StateOwnerError: The state belongs to another user.
            StateVersionError: The state was saved by a newer version.
            StateError: *state* is not the state of a context.
        """
        loaded = parse_state(state)
        facts = loaded.memory_context
        if facts and facts.user_id != self.user_id:
            raise StateOwnerError(
                f"the state does not belong to the user {self.user_id!r}; load it into a context of its own user"
            )
        async with self._lock.held():
            self._history.take_up(loaded.messages, facts)
            if facts:
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
        """Put compacted messages back in place of their reference, and return how many there are.

        Raises:
            MemoryNotFoundError: There is no memory with the key `key`.
            StateError: The memory holds no compacted messages, or this conversation has no reference to it.
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
        """Open the notes of one run of the agent, of its task and of its project, until the `async with` block ends.

        At the end, even after an error, the notes of the run are deleted, and messages that show them are removed. If
        `run` is not used, the notes of a run last until a person's next message. Other contexts do not see them, not
        even those of sub-agents; contexts with the same `thread_id` share the notes of the session.

        Args:
            task: The task that the agent works on; without one there are no notes of a task.
            project: The project that the run belongs to; by default that of the `NotesPolicy`.
            run_id: The id of the run; by default a new UUID.
            ends_task: Whether the task ends with the run, so that its notes are deleted, too. None: as the
                `NotesPolicy` says. Promote notes that must stay before the run ends.

        Raises:
            InvalidArgumentError: The context has no notes (``notes=True``), or is in a run already.
            InvalidScopeError: A database column cannot hold one of the names.
        """
        if not self._has_notes:
            raise InvalidArgumentError(
                "this context keeps no notes: use MemoryContext(…, notes=True)"
            )
        if self._in_run:
            raise InvalidArgumentError("this context is in a run already")
        if ends_task is None:
            ends_task = self.notes_policy.ends_task
        check_arguments(ends_task=ends_task)
        if project is None:
            project = self.notes_policy.project
        notes = ScopedMemory(
            self._owner,
            run_id=run_id or str(uuid4()),
            task_id=task,
            project_id=project,
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
        """Let the agent see the places that are open in *notes*, and no others."""
        self._notes = notes
        self._history.open_notes(notes, shown=self._has_notes)

    def _notes_between_runs(self, run_id: str | None = None) -> ScopedMemory:
        """Return the notes that are open outside of `run`. The agent's runs there have notes of their own, too."""
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
        """Begin the next run and delete the notes of the one before; inside `run`, do nothing."""
        if not self._has_notes or self._in_run:
            return
        ended = self._notes
        self._open(self._notes_between_runs())
        self._history.end_run()
        await off_loop(self._hosted.end_run, ended, ["run"])

    async def _end_run(self, notes: ScopedMemory, *, ends_task: bool) -> None:
        """Delete the notes that end with the run. If the store fails, they stay there, but nobody sees them."""
        async with self._lock.held():
            self._in_run = False
            self._open(self._notes_between_runs())
            self._history.end_run()
        for lifetime in ENDING[: 1 + ends_task]:
            await off_loop(self._hosted.end_run, notes, [lifetime])

    def stats(self, *, kept: bool = False) -> ContextStats:
        """Return the figures of what this context has done so far.

        With *kept*, they have the totals of the conversation's model calls that are recorded in the store, including
        those of earlier processes.
        """
        stats = self._conversation.fail_open.stats
        return stats_of_thread(stats, self._owner) if kept else stats.snapshot()

    @property
    def manager(self) -> MemoryManager:
        """Return a synchronous manager of the same memories.

        If the context has notes, the manager sees only the runs, plans, tasks and so on that are open. The agent itself
        never sees others, neither through its tools nor by recall.
        """
        return self._manager

    @property
    def notes(self) -> ScopedMemory:
        """Return the agent's open notes, for synchronous use: those of the run and the session.

        In `run`, the notes of its task and project are open, too.
        """
        return self._notes

    @property
    def instructions(self) -> str:
        """Return `MEMORY_INSTRUCTIONS`, for the system message if references do not explain themselves (see `FoldPolicy`)."""
        return MEMORY_INSTRUCTIONS

    def shown_keys(self) -> list[str]:
        """Return the keys of the references that this conversation has shown."""
        return list(references_of(self._history.messages))

    def trusted_keys(self) -> list[str]:
        """Return the keys that a model may pass to tools: of references that this library inserted or a person typed.

        A key that only occurs in a tool's output, or in the quoted text of a memory, is not trusted.
        """
        return trusted_keys(self._history.messages, self._history.facts.trusted)

    def trust(self, *keys: str) -> None:
        """Allow these keys to be passed to tools, as if a person had typed their references."""
        facts = self._history.facts
        trusted = trusted_keys((), (*facts.trusted, *keys))
        self._history.facts = replace(facts, trusted=tuple(trusted))

    def shown_messages(self) -> list[LLMMessage]:
        """Return the current messages without recalling or folding anything; `get_messages` returns those for a model."""
        return self._history.hosted()

    async def fold_output(
        self, text: str, *, tool: str, arguments: str | None = None, is_error: bool = False
    ) -> str:
        """Return a tool's output as this context would show it: unchanged, or as reference and preview. Never raises."""
        output = Message("output", "tool", tool, {0: text}, is_error=is_error)
        before = self._history.messages
        folded = await off_loop(self._conversation.fold_output, output, arguments, before)
        self.trust(*folded.known.trusted)
        return folded.text

    def note_finished(self, call_id: str, tool: str, text: str, *, is_error: bool = False) -> None:
        """Note the result of a call of the newest message, in case the run is cancelled before the result is added."""
        result = Message("", "tool", tool, {0: text}, answers=call_id, is_error=is_error)
        self._history.note_finished(result)

    def left_unread(self, tools: Collection[str], *, ended: bool = False) -> bool:
        """Return whether a run has ended with a folded output of one of *tools* that no model has read.

        Args:
            tools: The names of the tools.
            ended: Whether it is known that no run is going on.
        """
        return self._history.left_unread(tools, ended=ended)

    def decisions(self) -> Decisions:
        """Return the newest 1,000 recall decisions of this conversation: what was brought back, who decided it and why.

        Decisions of earlier processes are included as far as the store keeps them.
        """
        return self._conversation.log.of_thread(self._owner)

    def tools(self) -> list[BaseTool[Any, Any]]:
        """Return `retrieve_memory`, `search_memory` and `store_memory`, for the agent of this context.

        There is also `query_memory` with `FoldPolicy(queries=True)`; `ask_memory` with a `model_client`; and with notes
        `save_memory`, `get_memory`, `delete_memory`, `clear_memory` and `list_categories`.
        """
        settings = self._hosted.settings
        fold = settings.fold
        max_tokens = fold.threshold
        tools = memory_tools(
            self._view, max_tokens=max_tokens, page_tokens=fold.page_budget, queries=fold.queries
        )
        if settings.light_model is not None:
            tools.append(AskMemoryTool(self._hosted.reader(self._view), max_tokens=max_tokens))
        if self._has_notes:
            tools += note_tools(lambda: self._notes, max_tokens=max_tokens)
        return tools

    def workbench(
        self,
        tools: Workbench | Sequence[AnyTool],
        *,
        pass_by_reference: bool | PassingPolicy = True,
    ) -> MemoryWorkbench:
        """Return a workbench with the agent's tools and the memory tools.

        It folds large outputs before they leave it, and replaces references in arguments with the stored texts. See
        `MemoryWorkbench` for the settings and the errors.
        """
        workbench = MemoryWorkbench(tools, self, pass_by_reference=pass_by_reference)
        self._workbenches.add(workbench)
        return workbench

    async def aclose(self) -> None:
        """Close the store's connections, unless the caller made the store. The context may be used again.

        Cancelled calls that are still running complete first.
        """
        for workbench in self._workbenches:
            workbench.note_end()
        loop = asyncio.get_running_loop()
        running_here = {work for work in self._running if work.get_loop() is loop}
        if running_here:
            await asyncio.wait(running_here)
        await off_loop(self._hosted.close)
        for close in self._closed_with_this:
            await off_loop(close)

    def _drawn_as(self) -> Transcript:
        """Return the conversation for display in a notebook, including messages not folded yet, without reading the store."""
        messages = [*self._history.messages]
        for message in self._history.waiting:
            messages += neutral_of(message, "")
        return Transcript(
            "MemoryContext",
            (("user", self.user_id), ("thread", self.thread_id)),
            tuple(entries_of(messages, self._manager.counter.count)),
            stored_behind(messages, self.shown_keys()),
            self.max_tokens,
        )

    def _to_config(self) -> MemoryContextConfig:
        notes = dumped_notes(self.notes_policy) if self._has_notes else False
        return MemoryContextConfig(
            **self._manager.connection(),
            thread_id=self._given_thread,
            fold=dumped_fold(self.fold_policy),
            recall=dumped_recall(self.recall_policy),
            notes=notes,
            max_tokens=self.max_tokens,
            initial_messages=self._initial_messages,
        )

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        # A context does not close a store that it was given, so `aclose` is told to close this one. A URL would not do,
        # since only `as_store` takes the name of the variable with the password.
        store = as_store(config.store, config.password_variable)
        audit: SQLAuditTrail | str | bool = config.audit
        if isinstance(audit, str):
            audit = SQLAuditTrail(audit, password_variable=config.password_variable)
        context = cls(
            config.user_id,
            store=store,
            agent_id=config.agent_id,
            thread_id=config.thread_id,
            fold=loaded_fold(config.fold),
            recall=loaded_recall(config.recall),
            notes=loaded_notes(config.notes),
            max_tokens=config.max_tokens,
            audit=audit,
            initial_messages=config.initial_messages,
        )
        context._closed_with_this.append(store.close)
        if isinstance(audit, SQLAuditTrail):
            context._closed_with_this.append(audit.close)
        return context

    async def _completing(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run *work* with the conversation locked, and return its result. It completes even if the caller is cancelled."""

        async def locked() -> T:
            async with self._lock.held():
                # The coroutine is created only here: if the loop ended earlier, it would never be awaited.
                return await work()

        task = asyncio.ensure_future(locked())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)


def _checked_messages(given: object) -> list[LLMMessage]:
    """Return the initial messages of a context as a list.

    Raises:
        InvalidArgumentError: They are not a list of AutoGen's messages.
    """
    messages: list[Any] = (
        list(given)  # pyright: ignore[reportUnknownArgumentType] # of any kind, checked below
        if isinstance(given, Iterable)
        else [given]
    )
    if not all(isinstance(message, MESSAGE_KINDS) for message in messages):
        raise InvalidArgumentError(
            f"initial_messages= takes a list of AutoGen's LLM messages, not {given!r:.80}"
        )
    return messages


async def _completed(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, even if the caller is cancelled in the meantime; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    task.result()
