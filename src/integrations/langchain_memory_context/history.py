"""`MemoryContextChatMessageHistory`: LangChain's chat message history in a store, with large texts folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_memory_context.stored_turns_as_messages import append, messages_of
from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.conversations_of_many_users import HostedConversations
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy, fold_at_once_policy
from memory_context.exceptions import InvalidArgumentError, InvalidScopeError
from memory_context.memory.chat_history import ConversationMemory
from memory_context.model.scope import UserId
from memory_context.runtime.threads import off_loop
from memory_context.stores import AnyStore
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail


class MemoryContextChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation in a store, with large texts folded; for `RunnableWithMessageHistory`.

    A message is returned as it was added, with references and previews in place of large texts. Nothing is recalled, so
    the number of messages does not depend on the question; to recall, use `MemoryContextMemory` or
    `MemoryContextMiddleware`.

    Args:
        thread_id: The id of the conversation. LangChain's name for it, `session_id`, is accepted, too.
        user_id: The user whose conversation this is. Other users' conversations cannot be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory.
        threshold: Texts with more tokens than this are folded; 50 or more, 500 by default. Shorthand for a `FoldPolicy`
            with this threshold.
        fold: ``at_once``, or a `FoldPolicy`. In its `source_thresholds`, ``assistant`` stands for the model.
        max_turns: The most messages to return, the newest; None for all. Older messages stay in the store.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.

    Raises:
        InvalidScopeError: The user or the conversation is missing.
        InvalidThresholdError: The threshold is below 50.
        InvalidArgumentError: `max_turns` is below 1, or there is both a threshold and a `FoldPolicy`, or both a
            `thread_id` and a `session_id`.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
    """

    def __init__(
        self,
        thread_id: str | None = None,
        *,
        session_id: str | None = None,
        user_id: UserId,
        store: AnyStore | None = None,
        threshold: int | None = None,
        fold: Literal["at_once"] | FoldPolicy = "at_once",
        max_turns: int | None = None,
        audit: AnyAuditTrail | None = None,
    ) -> None:
        policy = fold_at_once_policy(fold, threshold, type(self).__name__)
        hosted = HostedConversations(store, ConversationSettings(policy), audit=audit)
        manager = hosted.memories(user_id, _conversation(thread_id, session_id))
        # No timeout, since `RunnableWithMessageHistory` compares the numbers of messages before and after a run.
        self._conversation = ConversationMemory(max_turns, None, manager=manager)
        self._session_id = str(manager.thread_id)
        self._folder = hosted.conversation(manager).folder

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # LangChain allows a property
        """Return the messages, oldest first.

        Raises:
            StoreError: The store failed.
        """
        return messages_of(self._conversation.get_turns(self._session_id))

    async def aget_messages(self) -> list[BaseMessage]:
        """As `messages`, off the event loop."""
        return await off_loop(lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store copies of *messages* with large texts folded, without other messages between them.

        Raises:
            StoreError: The store failed; nothing was added.
        """
        append(self._conversation, self._session_id, self._folder, messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As `add_messages`, off the event loop."""
        await off_loop(self.add_messages, messages)

    def clear(self) -> None:
        """Forget the messages. The memories of folded texts stay in the store.

        Raises:
            StoreError: The store failed.
        """
        self._conversation.clear(self._session_id)

    async def aclear(self) -> None:
        """As `clear`, off the event loop."""
        await off_loop(self.clear)


def _conversation(thread_id: str | None, session_id: str | None) -> str:
    """Return the id of the conversation, which either argument may give."""
    if thread_id is not None and session_id is not None:
        raise InvalidArgumentError(
            "thread_id and session_id are two names for the same setting: give only one of them"
        )
    named = session_id if thread_id is None else thread_id
    if named is None:
        raise InvalidScopeError("which conversation? Give its thread_id")
    return named
