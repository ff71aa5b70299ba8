"""Keep the conversations of many users in one host: shared settings, the store, and a cache for each conversation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import (
    Conversation,
    ConversationCache,
    ConversationSettings,
)
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold_recall_notes_policies import NotesPolicy, policy_of
from memory_context.conversation.notes_in_prompts import AgentRun, offered_places
from memory_context.conversation.recording_to_call_log import (
    DecisionLog,
    Decisions,
    stats_of_thread,
)
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.descriptions_by_a_summarizer import as_summaries
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.scope import UserId
from memory_context.model.tiers_and_limits import Lifetime
from memory_context.runtime import log_events
from memory_context.stores import AnyStore, as_auditor, as_store
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail

KEPT_CONVERSATIONS = 1000
# The notes that end with a run: the run's own, and its task's unless `ends_task` is off.
ENDING: tuple[Lifetime, ...] = ("run", "task")


class HostedConversations:
    """Keeps the conversations of many users for one object of a host, such as a middleware.

    Args:
        store: The store of the memories, as for `MemoryManager`.
        settings: How each conversation is kept.
        notes: Whether the agent keeps notes in tiers; or a `NotesPolicy`.
        audit: The audit trail of who did what with which memory: see `MemoryManager`.
    """

    def __init__(
        self,
        store: AnyStore | None,
        settings: ConversationSettings,
        *,
        notes: bool | NotesPolicy = False,
        audit: AnyAuditTrail | None = None,
    ) -> None:
        self.has_notes = notes is not False
        self.notes_policy = policy_of(notes, NotesPolicy, "notes")
        self.settings = replace(settings, require_confirmed=self.notes_policy.require_confirmed)
        self.fail_open = FailOpen(ContextStats())
        self.log = DecisionLog(with_words=settings.fold.record_prompts)
        self.store = as_store(store)
        self._closes_store = self.store is not store
        self._auditor = as_auditor(audit, self.store)
        self._summaries = as_summaries(settings.fold.summarizer)
        self._caches = OrderedDict[tuple[str, str | None, str], ConversationCache]()

    def close(self) -> None:
        """Release the store's connections, unless the store is the caller's."""
        if self._auditor:
            self._auditor.close()
        if self._closes_store:
            self.store.close()

    def memories(
        self, user_id: UserId, thread_id: str | None = None, agent_id: str | None = None
    ) -> MemoryManager:
        """Return the memories of a user, for one thread and agent.

        Raises:
            InvalidScopeError: *user_id* is not a valid user.
        """
        manager = MemoryManager(
            self.store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            counter=self.settings.fold.counter,
            summarizer=self._summaries,
            audit=self._auditor,
        )
        manager.redacted = self.fail_open.stats.redacted
        return manager

    def named_thread(self, user_id: UserId | None, thread_id: str | None) -> MemoryManager | None:
        """Return the memories of a thread of one user; None if neither is named.

        Raises:
            InvalidArgumentError: A user without a thread, or a thread without its user.
        """
        if user_id is None and thread_id is None:
            return None
        if user_id is None or thread_id is None:
            raise InvalidArgumentError(
                "a conversation is named by user_id= and thread_id= together; give both or neither"
            )
        return self.memories(user_id, thread_id)

    def reader(self, manager: MemoryManager) -> MemoryReader:
        """Return the reader that answers `ask_memory` from the memories of *manager*.

        Raises:
            InvalidArgumentError: There is no light model.
        """
        model = self.settings.light_model
        recall = self.settings.recall
        if model is None or recall is None:
            raise InvalidArgumentError(
                "ask_memory needs a light model: model_client=, model= or a judge that is one"
            )
        return MemoryReader(
            manager,
            model,
            recall.ask_limits,
            self.fail_open.stats,
            self.log,
            self.settings.fold.redacted,
        )

    def notes(self, owner: MemoryManager, run: AgentRun) -> ScopedMemory:
        """Return the notes that are open in *run*, and limit *owner* to the places that are open in it."""
        notes = ScopedMemory(
            owner,
            run_id=run.run_id,
            task_id=run.task,
            project_id=run.project,
            policies=self.notes_policy.tiers,
        )
        owner.set_places(notes.places, offered_places(notes))
        return notes

    def conversation(self, manager: MemoryManager, agent: str = "") -> Conversation:
        """Return the conversation of *agent* in the thread of *manager*, with this process's cache for it."""
        return Conversation(
            manager,
            self.settings,
            self.fail_open,
            self._cache(manager, agent),
            self.log,
            named_thread=manager.thread_id is not None,
        )

    def end_run(self, notes: ScopedMemory, lifetimes: Sequence[Lifetime] = ()) -> None:
        """Delete the notes with one of *lifetimes*; by default the run's own, and its task's unless `ends_task` is off.

        If the store fails, the notes stay in it, but nobody sees them.
        """
        if not lifetimes:
            lifetimes = ENDING if self.notes_policy.ends_task else ENDING[:1]
        lifetime: Lifetime = "run"
        try:
            for lifetime in lifetimes:
                notes.end(lifetime)
        except StoreError as error:
            self.fail_open.stats.add(store_failures=1)
            user = notes.manager.scope.user_id
            log_events.NOTES_NOT_DELETED.log(error, where=True, user_id=user, lifetime=lifetime)

    def new_run(self, task: object, project: object) -> AgentRun:
        """Return a new run, with the task and the project that the application names."""
        if task is not None:
            task = str(task)
        if project is None:
            project = self.notes_policy.project
        return AgentRun(str(uuid4()), task, str(project))

    def end_task(self, task: str, user_id: UserId) -> int:
        """Delete the notes of a task that has ended, and return how many there were.

        Raises:
            InvalidScopeError: *user_id* is not a valid user.
            StoreError: The store failed.
        """
        return self.notes(self.memories(user_id), AgentRun(task=task)).end("task")

    def _cache(self, manager: MemoryManager, agent: str) -> ConversationCache:
        """Return this process's cache for a conversation. Only the 1,000 that were used last are kept."""
        place = (manager.scope.user_id, manager.thread_id, agent)
        cache = self._caches.pop(place, None) or self.settings.new_cache(manager)
        self._caches[place] = cache
        while len(self._caches) > KEPT_CONVERSATIONS:
            self._caches.popitem(last=False)
        return cache


class HostOfConversations:
    """Gives a host's object the methods that report on the conversations it keeps."""

    _hosted: HostedConversations

    def stats(self, *, user_id: UserId | None = None, thread_id: str | None = None) -> ContextStats:
        """Return the counters of this object, over all users.

        With a user and a thread, they include the store's totals of that conversation's model calls (``kept``).

        Raises:
            InvalidArgumentError: A user without a thread, or a thread without its user.
        """
        owner = self._hosted.named_thread(user_id, thread_id)
        stats = self._hosted.fail_open.stats
        return stats_of_thread(stats, owner) if owner else stats.snapshot()

    def decisions(
        self, *, user_id: UserId | None = None, thread_id: str | None = None
    ) -> Decisions:
        """Return the newest 1,000 decisions of this process on what to bring back, with who made them and why.

        With a user and a thread, return those of this conversation, including earlier ones that the store has kept.

        Raises:
            InvalidArgumentError: A user without a thread, or a thread without its user.
        """
        owner = self._hosted.named_thread(user_id, thread_id)
        log = self._hosted.log
        return log.of_thread(owner) if owner else Decisions(log.newest)

    def close(self) -> None:
        """Release the store's connections, unless the store is the caller's. This object may be used again."""
        self._hosted.close()
