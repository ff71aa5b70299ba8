"""Stores that keep contents in a form of their own, which the store inside cannot read."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError, InvalidFilterError, InvalidRecordError
from memory_context.model.batches import batches_of, size_of
from memory_context.model.item import Deletion, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Usage
from memory_context.stores.protocol import Filters, MemoryStore, Mode
from memory_context.stores.sql.index.search import wanted_of
from memory_context.stores.sql.restore import differences
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.wrappers.wrapper import StoreWrapper, wrappers
from memory_context.text.index.analyzer import held_by
from memory_context.text.index.chunks import card_of, searchable
from memory_context.text.index.term_hits import TermHits, term_hits

SEARCHED = 500
RANKED = 40
RANKED_PER_HIT = 4
_LENGTH = 4


class SealingStore(StoreWrapper):
    """A store whose records are sealed before the store inside gets them.

    The store inside cannot find words in them. So a search opens the newest 500 memories that match its scope and its
    filters, and ranks the 40 of them (more for a limit above 10) that hold most of its words as any store does; older
    ones are found by filters and by their keys.

    Args:
        store: The store inside; what `as_store` takes. It must have no embedder, whose vectors would tell of contents.

    Attributes:
        inner: The store inside.
        media_type: By what sealed records are known in the store inside.
        sealed: The columns that cannot be filtered or ordered by, because what stands there is sealed.

    Raises:
        InvalidArgumentError: The store inside has an embedder, or is one that needs to read contents, or of this kind.
    """

    media_type: ClassVar[str]
    sealed: ClassVar[frozenset[str]]

    def __init__(
        self, store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None
    ) -> None:
        super().__init__(store)
        if self.has_embedder:
            message = (
                f"{self.inner!r} makes vectors, which tell of the contents; give it no embedder"
            )
            raise InvalidArgumentError(message)
        self._check_inside()

    def _check_inside(self) -> None:
        for inside in wrappers(self.inner):
            if inside.reads_contents:
                message = f"{inside!r} cannot read what is sealed; put it around the {type(self).__name__}, not inside"
                raise InvalidArgumentError(message)
            if isinstance(inside, type(self)):
                message = f"{inside!r} is inside another {type(self).__name__}; one is enough"
                raise InvalidArgumentError(message)

    @abstractmethod
    def inward(self, item: MemoryItem) -> MemoryItem:
        """The sealed record."""

    @abstractmethod
    def outward(self, item: MemoryItem) -> MemoryItem:
        """The record that was sealed; one that never was, as it is."""

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`. Sealed columns are refused."""
        self.check_columns(*(filters or {}), order_by.removeprefix("-"))
        return super().query(scope, filters, limit=limit, order_by=order_by)

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
        """See `MemoryStore.search`, among the newest 500 that match."""
        found = _promising(
            self.query(scope, filters, limit=SEARCHED), query, max(RANKED, RANKED_PER_HIT * limit)
        )
        with SQLAlchemyStore("sqlite://") as opened:
            opened.restore(Scope(scope.user_id), found)
            return opened.search(
                scope, query, limit=limit, filters=filters, mode=mode, passages=passages
            )

    def term_hits(self, scope: Scope, lexemes: Sequence[str], filters: Filters) -> TermHits:
        """See `TermIndexed.term_hits`: of the newest 500 that match, which are opened for it."""
        return term_hits(
            self.query(scope, filters, limit=SEARCHED, order_by="-created_at"), lexemes
        )

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`. Sealed columns are refused."""
        self.check_columns(*(filters or {}))
        return super().count(scope, filters)

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`. Sealed columns are refused."""
        self.check_columns(*(filters or {}))
        return super().sum(scope, column, filters)

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`. Sealed columns are refused."""
        self.check_columns(*(filters or {}))
        return super().usage(scope, filters)

    def restore(self, scope: Scope, records: Iterable[MemoryItem | Deletion]) -> Restored:
        """See `MemoryStore.restore`.

        Raises:
            InvalidRecordError: A record is sealed already.
        """
        total = Restored()
        for batch in batches_of(records, size_of):
            total += self.inner.restore(scope, self._as_they_are(scope, batch))
        return total

    def _as_they_are(
        self, scope: Scope, batch: Sequence[MemoryItem | Deletion]
    ) -> list[MemoryItem | Deletion]:
        """The records sealed, under their own keys; what is there already, as it is there."""
        here = {
            item.memory_key: item
            for item in self.inner.get_many(scope, [one.memory_key for one in batch])
        }
        return [
            one if isinstance(one, Deletion) else self._as_it_is(one, here.get(one.memory_key))
            for one in batch
        ]

    def _as_it_is(self, item: MemoryItem, held: MemoryItem | None) -> MemoryItem:
        if item.media_type == self.media_type:
            message = f"{item.memory_key!r} is sealed; open where it comes from through a {type(self).__name__}, too"
            raise InvalidRecordError(message)
        return (
            held
            if held is not None and not differences(self.outward(held), item)
            else self.placed(item)
        )

    def check_columns(self, *names: str) -> None:
        """See `StoreWrapper.check_columns`: the sealed ones are refused."""
        for name in names:
            if name in self.sealed:
                message = (
                    f"{name} is sealed in {self!r}; filter and order by other columns, or search"
                )
                raise InvalidFilterError(message)


def _promising(items: Sequence[MemoryItem], query: str, most: int) -> Sequence[MemoryItem]:
    """Those that hold most of the query's words, of equally many the newest: to index all of them takes far longer."""
    wanted = frozenset(wanted_of(query))
    if not wanted or len(items) <= most:
        return items[:most]
    held = {
        item.id: len(held_by(searchable(item), wanted) | wanted.intersection(card_of(item)))
        for item in items
    }
    return sorted(items, key=lambda item: -held[item.id])[:most]


def packed(facts: Mapping[str, Any], data: bytes) -> bytes:
    """What a sealed record tells beside its content, and the content."""
    head = json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return len(head).to_bytes(_LENGTH) + head + data


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What `packed` was given."""
    stop = _LENGTH + int.from_bytes(data[:_LENGTH])
    return json.loads(data[_LENGTH:stop].decode("utf-8", "surrogatepass")), data[stop:]
