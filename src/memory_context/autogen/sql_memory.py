"""`SQLMemory`: AutoGen's `Memory` in a database, whose contents are added to the prompt at the start of each run."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

from autogen_core import CancellationToken, Component, Image
from autogen_core.memory import (
    Memory,
    MemoryContent,
    MemoryMimeType,
    MemoryQueryResult,
    UpdateContextResult,
)
from autogen_core.memory._base_memory import ContentType
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import LLMMessage, SystemMessage, UserMessage

from memory_context import sentences_models_read as prompts
from memory_context.autogen.context import MemoryContext
from memory_context.autogen.context_config import ConnectionConfig
from memory_context.conversation.message import MEMORY_SOURCE
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.model.audit_entries import Action
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import JSON, MemoryItem
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import Scope, check_no_url
from memory_context.runtime import log_events
from memory_context.runtime.threads import off_loop
from memory_context.stores import AnyStore
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail
from memory_context.text.json_documents import json_of_any

T = TypeVar("T")


TIER = "memory"
DEFAULT_NAME = "default_memory"
USUAL_HITS = 5


class SQLMemoryConfig(ConnectionConfig):
    """The settings to load a memory with the same contents, which stay in the store."""

    name: str
    thread_id: str | None = None
    as_system_message: bool | None = None


class SQLMemory(Memory, Component[SQLMemoryConfig]):
    """AutoGen's `ListMemory` in a database: the model sees everything that was added, oldest first.

    A memory belongs to a user and has a name. The same user and name on the same store always give the same contents.
    Text, dicts, bytes and images come back as they were added, with their MIME type and metadata. The contents are
    stored as notes in the tier ``memory``; `MemoryManager.search` and `MemoryContext.search` find them, too.

    Args:
        user_id: The user whose memory this is. Other users' memories cannot be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. The store is opened on
            first use.
        name: The name of the memory. To keep agents or conversations apart, give each a name.
        agent_id: Recorded with each content.
        thread_id: Recorded with each content.
        as_system_message: How the memory is added to a prompt. True: as a system message, like `ListMemory`. False: as
            a user message from ``memory_context``. None: as a system message if only system messages come before it; in
            a `MemoryContext`, and after other messages, as a user message. In an agent's run the user's message always
            comes before it, and Anthropic's models, and all with ``multiple_system_messages=False``, reject a system
            message there.
        password_variable: The environment variable with the password for a database URL without one.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.

    Raises:
        InvalidScopeError: The user is missing, or a database column cannot hold one of the names.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
    """

    component_type = "memory"
    component_config_schema = SQLMemoryConfig
    component_provider_override = "memory_context.SQLMemory"

    def __init__(
        self,
        user_id: str | int,
        *,
        store: AnyStore | None = None,
        name: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        as_system_message: bool | None = None,
        password_variable: str = "MEMORY_CONTEXT_STORE_PASSWORD",  # noqa: S107 - the name of a variable
        audit: AnyAuditTrail | None = None,
    ) -> None:
        check_no_url(user_id)
        self._manager = MemoryManager(
            store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            password_variable=password_variable,
            audit=audit,
        )
        if name is None:
            name = DEFAULT_NAME
        self._scope = Scope(self._manager.scope.user_id, tier=TIER, tier_id=name)
        self._as_system_message = as_system_message

    @property
    def name(self) -> str:
        """Return the name of this memory."""
        return str(self._scope.tier_id)

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Store a copy of *content*. A content that is added twice is stored twice.

        Raises:
            InvalidContentError: The content's dict or its metadata cannot be expressed in JSON.
            StoreError: The store failed; nothing was added.
        """
        await _cancellable(cancellation_token, self._add, content)

    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        *,
        limit: int | None = None,
        top_k: int | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002 - AutoGen's signature; options of other memories are ignored
    ) -> MemoryQueryResult:
        """Return the contents that match *query*, best first; without a query, all contents, oldest first.

        Args:
            query: A text, or a content with text.
            cancellation_token: Cancels the waiting for the result.
            limit: The most contents to return. None: 5 if there is a query, otherwise all. A limit without a query
                selects the newest.
            top_k: Another name for `limit`.
            **kwargs: Ignored, as by `ListMemory`.

        Raises:
            InvalidArgumentError: The query is bytes or an image, or the limit is below 1.
            StoreError: The store failed.
        """
        if limit is None:
            limit = top_k
        if limit is not None:
            check_whole("limit", limit, 1)
        asked = query.content if isinstance(query, MemoryContent) else query
        if isinstance(asked, dict):
            asked = json_of_any(asked)
        check_arguments(query=asked)
        items = await _cancellable(
            cancellation_token, self._read, "expanded", str(asked).strip(), limit
        )
        return MemoryQueryResult(results=[_restored(item) for item in items])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add one message with all contents, oldest first, to `model_context`; no message if the memory is empty.

        If the store fails, a warning is logged and the agent's run goes on without the memory.

        Returns:
            The contents that were added. In place of bytes, the line that stands for them in the prompt: agents put
            these results into events, which must have a JSON form.
        """
        reminders = list[MemoryContent]()
        try:
            items = await off_loop(self._read, "recalled", "", None)
        except StoreError as error:
            user = self._manager.scope.user_id
            log_events.MEMORY_FAILED.log(error, where=True, user_id=user, memory=self.name)
            items = []
        lines = list[str]()
        for number, item in enumerate(items, 1):
            line = item.content
            if isinstance(line, bytes):
                media_type = item.content_metadata.get("mime_type")
                line = prompts.BINARY_MEMORY.format(media_type=media_type, size=len(line))
            lines.append(f"{number}. {line}")
            content = _restored(item)
            # pydantic has no JSON form of bytes that are not UTF-8.
            if isinstance(content.content, bytes):
                content.content = line
            reminders.append(content)
        if lines:
            text = prompts.MEMORIES.format(memories="\n".join(lines))
            message: LLMMessage = UserMessage(content=text, source=MEMORY_SOURCE)
            is_system = self._as_system_message
            # `get_messages` of a MemoryContext would recall the very texts that are about to be added.
            if is_system is None and not isinstance(model_context, MemoryContext):
                messages = await model_context.get_messages()
                is_system = all(isinstance(one, SystemMessage) for one in messages)
            if is_system:
                message = SystemMessage(content=text)
            await model_context.add_message(message)
        return UpdateContextResult(memories=MemoryQueryResult(results=reminders))

    async def clear(self) -> None:
        """Delete the contents of this memory, and of no other.

        Raises:
            StoreError: The store failed; nothing was deleted.
        """
        await off_loop(self._manager.clear, TIER, self.name)

    async def close(self) -> None:
        """Close the store's connections, unless the caller made the store. Deletes nothing; the memory may be used again."""
        # An in-memory database, which has no URL, would be lost with its connection.
        if getattr(self._manager.memory_store, "url", None):
            await off_loop(self._manager.close)

    def _add(self, content: MemoryContent) -> None:
        """Store *content* (an image as a PNG), with the facts that are needed to restore it as it was."""
        if not isinstance(content, MemoryContent):  # pyright: ignore[reportUnnecessaryIsInstance] # callers are not checked
            raise InvalidArgumentError(f"add() takes a MemoryContent, not {type(content).__name__}")
        stored = content.content
        facts = JsonObject()
        if isinstance(stored, Image):
            stored = b64decode(stored.to_base64())
            facts["is_image"] = True
        mime_type = content.mime_type
        if isinstance(mime_type, MemoryMimeType):
            facts["mime_name"] = mime_type.name
            mime_type = mime_type.value
        facts["mime_type"] = mime_type
        if content.metadata is not None:
            facts["metadata"] = content.metadata
        self._manager.remember(
            stored, source=self.name, tier=TIER, tier_id=self.name, metadata=facts
        )

    def _read(self, action: Action, query: str, limit: int | None) -> list[MemoryItem]:
        """Return the records that match *query*, or all if it is empty, and record *action* in the audit trail."""
        if query:
            items = self._manager.hits(
                self._scope, query, limit=limit or USUAL_HITS, passages=False
            )
        else:
            items = self._manager.memory_store.query(self._scope, limit=limit)[::-1]
        self._manager.audit(action, *(item.memory_key for item in items))
        return items

    def _to_config(self) -> SQLMemoryConfig:
        return SQLMemoryConfig(
            **self._manager.connection(),
            name=self.name,
            thread_id=self._manager.thread_id,
            as_system_message=self._as_system_message,
        )

    @classmethod
    def _from_config(cls, config: SQLMemoryConfig) -> Self:
        return cls(**dict(config))


async def _cancellable(
    token: CancellationToken | None,
    work: Callable[..., T],
    *args: Any,  # noqa: ANN401 - passed through
) -> T:
    """Return the result of ``work(*args)``, run in a thread; *token* can cancel the waiting for it."""
    working = asyncio.ensure_future(off_loop(work, *args))
    if token:
        token.link_future(working)
    return await working


def _restored(item: MemoryItem) -> MemoryContent:
    """Return the content as it was added. If a dict's JSON was damaged in the store, return its text."""
    facts = item.content_metadata
    content: ContentType = item.content
    if isinstance(content, bytes):
        if facts.get("is_image"):
            content = Image.from_base64(b64encode(content).decode())
    elif item.media_type == JSON:
        try:
            value = json.loads(item.data)
        except ValueError as error:
            log_events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)
        else:
            if isinstance(value, dict):
                content = cast("JsonObject", value)
    mime_type: MemoryMimeType | str = str(facts.get("mime_type", item.media_type))
    name = str(facts.get("mime_name"))
    if name in MemoryMimeType.__members__:
        mime_type = MemoryMimeType[name]
    return MemoryContent(content=content, mime_type=mime_type, metadata=facts.get("metadata"))
