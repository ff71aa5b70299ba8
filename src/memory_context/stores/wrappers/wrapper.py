"""A store around a store: records change on their way in, and on their way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import sqlalchemy as sa

from memory_context.exceptions import KeyExistsError, RecordChangedError, StoreError
from memory_context.model.item import Deletion, MemoryItem, Restored, is_same, stored_again
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity, Receipt, Usage
from memory_context.stores.opening import as_store
from memory_context.stores.protocol import (
    Administration,
    Filters,
    MemoryStore,
    Mode,
    SearchIndexed,
    StoreSettings,
    term_hits_in,
    url_of,
)
from memory_context.text.index.term_hits import TermHits


class StoreWrapper:
    """A `MemoryStore` that passes every verb on to another one. Subclasses say what becomes of the records.

    Args:
        store: The store inside; what `as_store` takes.

    Attributes:
        inner: The store inside.
        reads_contents: Whether it needs contents that it can read: none that a store around it has sealed.
        scheme: What stands before the URL of the store inside where this one is meant; none where no URL can say it.
    """

    reads_contents: ClassVar[bool] = False
    scheme: ClassVar[str | None] = None

    def __init__(
        self, store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None
    ) -> None:
        self.inner = as_store(store)
        self._is_own = False

    def __repr__(self) -> str:
        """Name what is inside."""
        return f"<{type(self).__name__} around {self.inner!r}>"

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def inward(self, item: MemoryItem) -> MemoryItem:
        """The record that the store inside is given for `item`."""
        return item

    def placed(self, item: MemoryItem) -> MemoryItem:
        """The same under the key that `item` has: for what takes another's place, or comes from another store."""
        return self.inward(item)

    def outward(self, item: MemoryItem) -> MemoryItem:
        """The record that a caller is given for `item` of the store inside."""
        return item

    def said(self, text: str) -> str:
        """What is kept and shown of a text that is said about memories: why one was deleted, what one is about."""
        return text

    def check_columns(self, *names: str) -> None:
        """Refuse columns that cannot be filtered or ordered by; there are none.

        Raises:
            InvalidFilterError: The store inside cannot read it.
        """

    @property
    def url(self) -> str | None:
        """What `as_store` makes such a store of, in another process too; None where more than a URL made it."""
        inside = url_of(self.inner)
        return f"{self.scheme}+{inside}" if self.scheme and inside and not self._is_own else None

    @property
    def has_embedder(self) -> bool:
        """Whether the store inside searches by meaning too."""
        inside = innermost(self)
        return isinstance(inside, StoreSettings) and inside.has_embedder

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
        inner = self.inward(item) if replaces is None else self.placed(item)
        return self.outward(
            self._put(scope, item, inner, replace=replace, room=room, replaces=replaces)
        )

    def _put(
        self,
        scope: Scope,
        item: MemoryItem,
        inner: MemoryItem,
        *,
        room: Capacity | None = None,
        **how: Any,  # noqa: ANN401 - see `put`
    ) -> MemoryItem:
        """What stands in the store inside when `inner` was put there for `item`.

        What was stored before there was this wrapper, or with another key, is the same only when it is opened.
        """
        while True:
            try:
                return self.inner.put(scope, inner, room=room, **how)
            except KeyExistsError:
                held = self.inner.get(Scope(item.user_id), inner.memory_key)
                if held is None or not is_same(self.outward(held), item):
                    raise
                with suppress(RecordChangedError):  # somebody was faster
                    return self._stored_again(held, item, room)

    def _stored_again(
        self, held: MemoryItem, item: MemoryItem, room: Capacity | None
    ) -> MemoryItem:
        """What is there in the form that it has, kept as any store keeps what is stored again."""
        again = stored_again(held, item)
        if again is held:
            return held
        needed = None if held.is_active else room
        return self.inner.put(Scope(item.user_id), again, room=needed, replaces=held)

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        found = self.inner.get(scope, key)
        return None if found is None else self.outward(found)

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        return [self.outward(item) for item in self.inner.get_many(scope, keys)]

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        return [
            self.outward(item)
            for item in self.inner.query(scope, filters, limit=limit, order_by=order_by)
        ]

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
        """See `MemoryStore.search`."""
        found = self.inner.search(
            scope, query, limit=limit, filters=filters, mode=mode, passages=passages
        )
        return [self.outward(item) for item in found]

    def delete(
        self, scope: Scope, key: str, *, reason: str = "forgotten", soft: bool = False
    ) -> bool:
        """See `MemoryStore.delete`."""
        return self.inner.delete(scope, key, reason=self.said(reason), soft=soft)

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        found = self.inner.deletion(scope, key)
        return None if found is None else self._told(found)

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`."""
        return self.inner.touch(scope, keys)

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        return map(self.outward, self.inner.list_all(scope))

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """See `MemoryStore.list_deleted`."""
        return map(self._told, self.inner.list_deleted(scope))

    def restore(self, scope: Scope, records: Iterable[MemoryItem | Deletion]) -> Restored:
        """See `MemoryStore.restore`."""
        return self.inner.restore(
            scope,
            (self._told(one) if isinstance(one, Deletion) else self.placed(one) for one in records),
        )

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        return self.inner.clear(scope, reason=self.said(reason))

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        return self.inner.count(scope, filters)

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`."""
        return self.inner.sum(scope, column, filters)

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`."""
        return self.inner.usage(scope, filters)

    def users(self) -> list[str]:
        """See `Administration.users`."""
        return self._administration("users").users()

    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`."""
        return self._administration("forget_user").forget_user(user_id)

    def term_hits(self, scope: Scope, lexemes: Sequence[str], filters: Filters) -> TermHits:
        """See `TermIndexed.term_hits`."""
        return term_hits_in(self.inner, scope, lexemes, filters)

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Rebuild the search index of the store inside; return how many memories it holds.

        Raises:
            StoreError: It could not do it, or keeps no index.
        """
        return reindexed(self.inner, progress)

    def close(self) -> None:
        """Close the store inside. It may be used again."""
        self.inner.close()

    def _told(self, deletion: Deletion) -> Deletion:
        return replace(deletion, reason=self.said(deletion.reason))

    def _administration(self, verb: str) -> Administration:
        if not isinstance(self.inner, Administration):
            message = f"{self.inner!r} has no verb {verb!r} for administrators"
            raise StoreError(message)
        return self.inner


def reindexed(store: MemoryStore, progress: Callable[[int, int], object] | None = None) -> int:
    """Rebuild the search index of a store; return how many memories it holds.

    Raises:
        StoreError: It could not do it, or keeps no index.
    """
    if not isinstance(store, SearchIndexed):
        message = f"{store!r} keeps no search index that could be rebuilt"
        raise StoreError(message)
    return store.reindex(progress)


def wrappers(store: object) -> Iterator[StoreWrapper]:
    """The stores around the innermost one, from the outside in."""
    while isinstance(store, StoreWrapper):
        yield store
        store = store.inner


def innermost(store: object) -> object:
    """The store inside all wrappers."""
    for wrapper in wrappers(store):
        store = wrapper.inner
    return store
