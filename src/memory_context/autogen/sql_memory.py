"""AutoGen's `Memory` on a store: what an agent is reminded of at the beginning of each run."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

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
from pydantic import BaseModel

from memory_context.autogen.context import MemoryContext
from memory_context.autogen.messages import MEMORY_SOURCE
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.model.audit import Action, AuditTrail
from memory_context.model.item import JSON, Content, MemoryItem
from memory_context.model.scope import Scope
from memory_context.runtime import events, prompts
from memory_context.runtime.threads import off_loop

if TYPE_CHECKING:
    from memory_context.stores import AnyStore

P = ParamSpec("P")
T = TypeVar("T")


TIER = "memory"
DEFAULT_NAME = "default_memory"
MAX_HITS = 5


class SQLMemoryConfig(BaseModel):
    """What leads a dumped memory to the same contents. The contents themselves stay in the store."""

    user_id: str
    store: str
    name: str
    agent_id: str | None = None
    thread_id: str | None = None
    as_system_message: bool | None = None
    password_variable: str
    audit: bool | str = False


class SQLMemory(Memory, Component[SQLMemoryConfig]):
    """AutoGen's `ListMemory` in a database: everything that was added is put before the model, oldest first.

    A memory is its user's and its name's: whoever opens the same name on the same store, now or later, finds the same
    contents. Text, dicts, bytes and images come back as they were added, with their MIME type and metadata. Its records
    are notes in the tier ``memory``; `MemoryManager.search` and `MemoryContext.search` find them too.

    Args:
        user_id: Whose memory this is. Nobody else's can be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. Nothing is opened before
            the first use.
        name: Which memory of the user. To keep agents or conversations apart, give each a name.
        agent_id: Noted on what is added.
        thread_id: Noted on what is added.
        as_system_message: How the memory enters a prompt. True: as a system message, like `ListMemory`. False: as a
            user message from ``memory_context``. None: as a system message where it stands at the front, before all but
            other system messages; in a `MemoryContext`, and behind other messages, as a user message. In an agent's run
            the user's words always come before it, and Anthropic's models and all with
            ``multiple_system_messages=False`` refuse a system message there.
        password_variable: The environment variable with the password of a database URL that has none.
        audit: Where it is written who did what with which memory: see `MemoryManager`.

    Raises:
        InvalidScopeError: No user, or a name that no database column can hold.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
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
        audit: AuditTrail | str | bool | None = None,
    ) -> None:
        self._manager = MemoryManager(
            store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            password_variable=password_variable,
            audit=audit,
        )
        self._scope = Scope(
            self._manager.scope.user_id, tier=TIER, tier_id=DEFAULT_NAME if name is None else name
        )
        self._as_system_message = as_system_message

    @property
    def name(self) -> str:
        """Which memory of the user this is."""
        return str(self._scope.tier_id)

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Commit a copy of `content`. Equal contents are kept as often as they are added.

        Raises:
            InvalidContentError: JSON cannot express its dict or its metadata.
            StoreError: The store could not do it; nothing was added.
        """
        await _cancellable(cancellation_token, self._add, content)

    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        *,
        limit: int | None = None,
        top_k: int | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002 - AutoGen's signature; those of other memories mean nothing here
    ) -> MemoryQueryResult:
        """The contents that speak of `query`, best first; without a query all of them, oldest first.

        Args:
            query: A text, or a content with text.
            cancellation_token: Ends the waiting.
            limit: How many at most. None: 5 that speak of a query, all without one; a number without a query gives
                the newest.
            top_k: Another name for `limit`.
            **kwargs: Ignored, as by `ListMemory`.

        Raises:
            InvalidArgumentError: A query of bytes or an image, or a limit below 1.
            StoreError: The store could not do it.
        """
        limit = top_k if limit is None else limit
        if limit is not None and limit < 1:
            message = f"limit must be 1 or more, not {limit}"
            raise InvalidArgumentError(message)
        items = await _cancellable(
            cancellation_token, self._used, "expanded", _words_of(query), limit
        )
        return MemoryQueryResult(results=[_restored(item) for item in items])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add one message with all contents, oldest first, to `model_context`; none if there is nothing to add.

        If the store fails, a warning is logged and the agent's run goes on without its memory.

        Returns:
            What was added. Bytes are given by the line that stands for them in the prompt, because agents put these
            results into events, which must have a JSON form.
        """
        items = await self._reminders()
        if items:
            lines = (f"{number}. {_line(item)}" for number, item in enumerate(items, 1))
            text = prompts.MEMORIES.format(memories="\n".join(lines))
            await model_context.add_message(await self._message(text, model_context))
        return UpdateContextResult(
            memories=MemoryQueryResult(results=[_reminder(item) for item in items])
        )

    async def clear(self) -> None:
        """Delete the contents of this memory, and of no other.

        Raises:
            StoreError: The store could not do it; nothing was deleted.
        """
        await off_loop(self._manager.clear, TIER, self.name)

    async def close(self) -> None:
        """Give back the store's connections, unless the store is the caller's. Deletes nothing; may be used again."""
        if getattr(
            self._manager.memory_store, "url", None
        ):  # a database in memory would be gone with its connection
            await off_loop(self._manager.close)

    def _add(self, content: MemoryContent) -> None:
        self._manager.remember(
            _stored(content.content),
            source=self.name,
            tier=TIER,
            tier_id=self.name,
            metadata=_facts(content),
        )

    def _find(self, query: str, limit: int | None) -> list[MemoryItem]:
        store = self._manager.memory_store
        if query:
            return store.search(self._scope, query, limit=limit or MAX_HITS, passages=False)
        return store.query(self._scope, limit=limit)[::-1]

    def _used(self, action: Action, query: str, limit: int | None) -> list[MemoryItem]:
        found = self._find(query, limit)
        self._manager.audit(action, *(item.memory_key for item in found))
        return found

    async def _reminders(self) -> list[MemoryItem]:
        try:
            return await off_loop(self._used, "recalled", "", None)
        except StoreError as error:
            events.MEMORY_FAILED.log(
                error, where=True, user_id=self._manager.scope.user_id, memory=self.name
            )
            return []

    async def _message(self, text: str, model_context: ChatCompletionContext) -> LLMMessage:
        choice = self._as_system_message
        as_system_message = await _is_fresh(model_context) if choice is None else choice
        return (
            SystemMessage(content=text)
            if as_system_message
            else UserMessage(content=text, source=MEMORY_SOURCE)
        )

    def _to_config(self) -> SQLMemoryConfig:
        return SQLMemoryConfig(
            **self._manager.connection(),
            name=self.name,
            thread_id=self._manager.thread_id,
            as_system_message=self._as_system_message,
        )

    @classmethod
    def _from_config(cls, config: SQLMemoryConfig) -> Self:
        values = {name: getattr(config, name) for name in SQLMemoryConfig.model_fields}
        return cls(**values)


async def _cancellable(
    token: CancellationToken | None, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of ``work(*args, **kwargs)``, unless `token` ends the waiting."""
    working = asyncio.ensure_future(off_loop(work, *args, **kwargs))
    if token:
        token.link_future(working)
    return await working


async def _is_fresh(model_context: ChatCompletionContext) -> bool:
    """Whether nothing but system messages stands in the context."""
    if isinstance(
        model_context, MemoryContext
    ):  # asked now, it would recall the very texts that are about to come
        return False
    return all(isinstance(message, SystemMessage) for message in await model_context.get_messages())


def _words_of(query: str | MemoryContent) -> str:
    """The words to search by."""
    content = query.content if isinstance(query, MemoryContent) else query
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False, default=str)
    if not isinstance(content, str):
        message = f"a memory is searched by words, not by {type(content).__name__}"
        raise InvalidArgumentError(message)
    return content.strip()


def _stored(content: ContentType) -> Content | dict[str, Any]:
    """What the store keeps of a content: an image as a PNG."""
    return b64decode(content.to_base64()) if isinstance(content, Image) else content


def _facts(content: MemoryContent) -> dict[str, Any]:
    """What the store must know beside the content to give it back as it was."""
    mime, is_image = content.mime_type, isinstance(content.content, Image)
    facts: dict[str, Any] = {"mime_type": mime.value if isinstance(mime, MemoryMimeType) else mime}
    facts |= {"mime_name": mime.name} if isinstance(mime, MemoryMimeType) else {}
    facts |= {"is_image": True} if is_image else {}
    return facts if content.metadata is None else facts | {"metadata": content.metadata}


def _restored(item: MemoryItem) -> MemoryContent:
    """The content as it was added."""
    return MemoryContent(
        content=_content(item),
        mime_type=_mime(item),
        metadata=item.content_metadata.get("metadata"),
    )


def _content(item: MemoryItem) -> ContentType:
    if isinstance(item.content, bytes):
        is_image = item.content_metadata.get("is_image")
        return Image.from_base64(b64encode(item.content).decode()) if is_image else item.content
    value = _json(item) if item.media_type == JSON else None
    return value if isinstance(value, dict) else item.content  # pyright: ignore[reportUnknownVariableType] # JSON


def _json(item: MemoryItem) -> object:
    """The value of a content; None where something in the store left no JSON, and the text is all there is."""
    try:
        return json.loads(item.data)
    except ValueError as error:
        events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)
        return None


def _mime(item: MemoryItem) -> MemoryMimeType | str:
    name = str(item.content_metadata.get("mime_name"))
    if name in MemoryMimeType.__members__:
        return MemoryMimeType[name]
    return str(item.content_metadata.get("mime_type", item.media_type))


def _line(item: MemoryItem) -> str:
    """What stands for a content in a prompt: the text, a dict as JSON, else what it is."""
    if isinstance(item.content, str):
        return item.content
    return prompts.BINARY_MEMORY.format(
        media_type=item.content_metadata.get("mime_type"), size=len(item.content)
    )


def _reminder(item: MemoryItem) -> MemoryContent:
    """The content as an event can hold it: pydantic has no JSON form of bytes that are no UTF-8."""
    content = _restored(item)
    return (
        content.model_copy(update={"content": _line(item)})
        if isinstance(content.content, bytes)
        else content
    )
