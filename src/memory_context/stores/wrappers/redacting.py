"""A store around a store that keeps no secrets, and shows none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace as changed
from typing import ClassVar

import sqlalchemy as sa

from memory_context.model.item import MemoryItem
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity
from memory_context.runtime.after_fork import Lock
from memory_context.stores.protocol import Filters, MemoryStore, Mode
from memory_context.stores.wrappers.wrapper import StoreWrapper
from memory_context.text.redact import Redactor
from memory_context.text.redact.record_redaction import Clearing
from memory_context.text.tokens.counter import TokenCounter, as_counter


class RedactingStore(StoreWrapper):
    """A `MemoryStore` whose texts are redacted before they are stored, and what was stored before when it is read.

    That is content, summary, metadata, category and tags, and why memories were deleted. Where the content is changed,
    its tokens, characters, lines and hash are those of what is stored.
    The metadata says what was taken out: ``{"redacted": {"github_token": 2}}``. Memories of type ``secret`` are left
    alone, binary content too; keys that callers bring and the names of agents, threads and tiers stay as they are.

    Args:
        store: The store inside; what `as_store` takes.
        redactor: What finds secrets; one with no patterns of a user's without it.
        counter: Counts the tokens of redacted texts; the process's default without one.
    """

    reads_contents: ClassVar[bool] = True
    scheme: ClassVar[str | None] = "redacted"

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None,
        redactor: Redactor | None = None,
        *,
        counter: TokenCounter | Callable[[str], int] | None = None,
    ) -> None:
        super().__init__(store)
        self.redactor = redactor or Redactor()
        self._is_own = redactor is not None or counter is not None
        self._counter = counter
        self._counts = Counter[str]()
        self._lock = Lock()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many secrets of each kind were taken out of records before they were stored, by this object."""
        with self._lock:
            return dict(self._counts)

    def put(
        self,
        scope: Scope,
        item: MemoryItem,
        *,
        replace: bool = False,
        room: Capacity | None = None,
        replaces: MemoryItem | None = None,
    ) -> MemoryItem:
        """See `MemoryStore.put`."""
        inner = self.inward(item)
        stored = self._put(scope, inner, inner, replace=replace, room=room, replaces=replaces)
        return stored if stored == inner else self.outward(stored)

    def inward(self, item: MemoryItem) -> MemoryItem:
        """See `StoreWrapper.inward`."""
        clearing = self._clearing()
        cleared = clearing.of(item)
        with self._lock:
            self._counts.update(clearing.counts)
        return cleared

    def placed(self, item: MemoryItem) -> MemoryItem:
        """See `StoreWrapper.placed`. What differed in its secrets only stays a record of its own: without identity."""
        cleared = self.inward(item)
        return (
            cleared
            if cleared.content_hash == item.content_hash
            else changed(cleared, identity=None)
        )

    def outward(self, item: MemoryItem) -> MemoryItem:
        """See `StoreWrapper.outward`."""
        return self._clearing().of(item)

    def said(self, text: str) -> str:
        """See `StoreWrapper.said`: without secrets."""
        return self.redactor.redact(text).text

    def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        filters: Filters | None = None,
        mode: Mode = "hybrid",
        passages: bool = True,
    ) -> list[MemoryItem]:
        """See `MemoryStore.search`. The store inside and its embedder get the query without secrets."""
        words = self.redactor.words(query)
        if (
            query.strip() and not words
        ):  # nothing but secrets; a search without words would list all there is
            return []
        return super().search(
            scope, words, limit=limit, filters=filters, mode=mode, passages=passages
        )

    def _clearing(self) -> Clearing:
        return Clearing(self.redactor, lambda text: as_counter(self._counter).count(text))
