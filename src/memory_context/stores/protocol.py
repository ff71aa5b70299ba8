"""The store protocols: `MemoryStore`, which every store implements, and the optional abilities that some add to it.

An optional ability is a protocol of its own (`BatchWriter`, `CallKeeper`, ...). The functions at the end use one where
the store has it, and fall back to the basic verbs where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from memory_context.exceptions import StoreError
from memory_context.model.call_log_records import CallFilter, CallRecord, CallTotals
from memory_context.model.item import AnyRecord, Deletion, MemoryItem, Restored
from memory_context.model.quota import Quota
from memory_context.model.receipt import Receipt
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity, Usage
from memory_context.text.index.term_hits import TermHits, term_hits

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

Filters: TypeAlias = Mapping[str, Any]
Mode: TypeAlias = Literal["hybrid", "keyword", "semantic"]
Progress: TypeAlias = Callable[[int, int], object]
"""Called with the number of records (or pages) done so far, and the total number."""


@runtime_checkable
class MemoryStore(Protocol):
    """A store of memories, safe under threads.

    Every method takes a `Scope` first and never looks outside it.

    Filters map a column to a value (equality), to operators, or to a list of either, of which at
    least one must hold: ``{"importance": {"$gte": 0.5}}``. The operators are
    ``$eq $ne $gt $gte $lt $lte``, ``$under`` for a path and everything below it
    (``{"category": {"$under": "project"}}``), and ``$contains`` for a part of a text. ``content``
    can be filtered by ``$contains`` only. ``None`` is a value: ``{"category": None}`` matches
    records without a category, and so does ``$ne`` with a text. ``tags`` matches if the record has
    the tag, or one of the listed tags. Texts are compared by code point.

    Raises:
        StoreError: The operation failed. Nothing was changed.
        InvalidArgumentError: A query, filters or another argument has the wrong type.
        InvalidFilterError: A filter or an order names an unknown column or operator, or a value
            whose type is not that of the column.
    """

    def put(
        self,
        scope: Scope,
        item: MemoryItem,
        *,
        replace: bool = False,
        room: Capacity | None = None,
        replaces: MemoryItem | None = None,
    ) -> MemoryItem:
        """Commit *item* and return the record as it stands in the store.

        If the user already has a record with the same `identity`, no second one is made and the
        existing record is returned: it becomes active again, takes the later `expires_at` of the
        two, and its `updated_at` tells when it was last put, to within a minute. It keeps its own
        key, even if several writers put the same content at once.

        Args:
            scope: The scope that the record belongs to.
            item: The record.
            replace: Whether the record may overwrite another memory under the same key, if `scope`
                sees that memory.
            room: The capacity of the record's tier for its `tier_id`. It is checked in the
                transaction of the write, so that concurrent writers cannot exceed it together.
                Memories that must make room are evicted: their `is_active` becomes False.
            replaces: The record under the same key that *item* replaces, as the caller has read it.

        Raises:
            KeyExistsError: The key belongs to another content, and *replace* is false.
            TierFullError: There is no room.
            RecordChangedError: The record *replaces* was changed or deleted since it was read.
            InvalidScopeError: The item does not belong to the scope.
        """
        ...

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """Return the memory under *key*, or None."""
        ...

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """Return the memories under *keys*, in the order of the keys. Missing ones are left out."""
        ...

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        offset: int = 0,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """Return the active memories that match, sorted by a column, largest value first.

        Args:
            scope: The scope to look in.
            filters: The conditions that the memories must meet.
            limit: The largest number of memories to return; None for all of them.
            offset: The number of memories to skip.
            order_by: A column. ``-`` before it reverses the order: oldest or least important first.
                Memories without a value count as smallest.

        Raises:
            InvalidArgumentError: The limit or the offset is negative.
        """
        ...

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
        """Return the active memories that are about *query*, best first, each with a `match`.

        Any text is a valid query; a blank one returns the newest memories. Secrets are found
        by their key, description, category, tags and metadata, never by their content, which is
        masked in the hits.

        Args:
            scope: The scope to look in.
            query: The text to search for.
            limit: The largest number of hits.
            filters: The conditions that the memories must meet.
            mode: ``keyword``, ``semantic``, or ``hybrid`` for both. Without an embedder, hybrid is
                the same as keyword.
            passages: If false, each match has a score but no passage, and contents are not masked:
                for callers that judge the texts themselves.
        """
        ...

    def delete(
        self,
        scope: Scope,
        key: str,
        *,
        reason: str = "forgotten",
        soft: bool = False,
        seen: datetime | None = None,
    ) -> bool:
        """Delete the memory under *key* for good, and note when and why (`deletion`).

        With *soft* it is only evicted, as a full tier does it: searches no longer find or offer it,
        its key still redeems, and putting the record back with `is_active` set undoes the eviction.
        With *seen*, the `updated_at` that the caller has seen, a memory that was put again since
        then is left alone.

        Returns:
            Whether there was such a memory; with *soft*, whether there was an active one.
        """
        ...

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """Return when and why the memory under *key* was deleted.

        Return None if it was never deleted, or was stored again since.
        """
        ...

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """Record a read, now, of the memories under *keys*; return the number of memories found."""
        ...

    def expire_at(self, scope: Scope, ends: Iterable[tuple[MemoryItem, datetime]]) -> int:
        """Set `expires_at` of memories; return the number of memories that were changed.

        Each memory is given as it was read. One that was put again since then is left alone.
        Nothing else of a memory changes, not even `updated_at`.
        """
        ...

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """Yield every memory of the scope, inactive ones too, oldest first.

        They are read a page at a time.
        """
        ...

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """Yield every deletion that is noted for the scope's user, sorted by key."""
        ...

    def restore(self, scope: Scope, records: Iterable[AnyRecord]) -> Restored:
        """Write records unchanged, as `list_all` and `list_deleted` of another store yield them.

        This is for moving memories between stores; `put` is for new ones.

        Nothing in this store is overwritten. A record that is already here counts as unchanged,
        even if its reads differ. A record is a conflict if this store has another version of it,
        has its key or content in another record, or deleted it after its last change in the other
        store. A deletion is a conflict if the memory still exists here. Of two deletions of the
        same key, the later one is kept.

        Each record is written completely or not at all. After an error, call `restore` again.
        """
        ...

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """Delete every memory of the scope, as `delete` does; return the number deleted."""
        ...

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """Return the number of active memories that match."""
        ...

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """Return a column's sum over the active memories that match.

        Args:
            scope: The scope to look in.
            column: ``token_count``, ``char_count`` or ``line_count``.
            filters: The conditions that the memories must meet.

        Raises:
            InvalidFilterError: It is another column.
        """
        ...

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """Return the number and size of the active memories that match, per tier and category.

        The list is sorted by tier and category.
        """
        ...

    def close(self) -> None:
        """Release connections and threads. The store may be used, and closed, again."""
        ...


@runtime_checkable
class BatchWriter(Protocol):
    """A store that writes many records in one transaction."""

    def replace_all(self, scope: Scope, items: Sequence[MemoryItem]) -> None:
        """Put records with distinct keys of the caller's choice, each replacing the memory under its key, if any.

        All of them are committed, or none.

        Raises:
            KeyExistsError: A key belongs to a memory that the scope does not see, or an id to a memory under another key.
            InvalidScopeError: A record does not belong to the scope.
            StoreError: The operation failed.
        """
        ...


@runtime_checkable
class Administration(Protocol):
    """Operations for administrators: those across users, and the removal of every trace of a user."""

    def users(self) -> list[str]:
        """Return the ids of all users with a memory, a deletion or a model call in the store, sorted.

        Raises:
            StoreError: The operation failed.
        """
        ...

    def forget_user(self, user_id: str) -> Receipt:
        """Remove every trace of a user: memories, index, vectors, reads, deletions, model calls, audit trail and files.

        Afterwards a reference to such a memory reports that there is no such memory, not when it was deleted.

        Records that are stored for the user while this runs may remain, so stop the user's agents first. After an
        error, call it again.

        Raises:
            StoreError: The operation failed; some of the data may be removed already.
        """
        ...


@runtime_checkable
class CallKeeper(Protocol):
    """A store that keeps records of the calls of models, and of the decisions made before them."""

    def note_call(self, record: CallRecord) -> None:
        """Schedule *record* to be written soon. This never waits and never fails."""
        ...

    def calls(self, wanted: CallFilter, limit: int | None = 100) -> list[CallRecord]:
        """Return the model calls and decisions that match, newest first; at most *limit*, None for all.

        Raises:
            StoreError: The operation failed.
        """
        ...

    def call_totals(self, user_id: str, thread_id: str | None = None) -> list[CallTotals]:
        """Return the totals of a user's model calls per conversation, or of one conversation alone.

        The conversation with the newest call comes first.

        Raises:
            StoreError: The operation failed.
        """
        ...

    def callers(self) -> list[str]:
        """Return the ids of all users with a model call or a decision in the store, sorted.

        Raises:
            StoreError: The operation failed.
        """
        ...

    def rewrite_calls(
        self, user_id: str | None, change: Callable[[CallRecord], CallRecord | None]
    ) -> None:
        """Write the records again, with the current codec, and overwrite what the database still has of the old ones.

        Args:
            user_id: The user whose records are written; None for all users.
            change: Returns what to write in place of a record; None leaves it as it is.

        Raises:
            SealError: A row was changed, or was never encrypted and the codec does not accept it.
            StoreError: The operation failed. Records that were written before stay written.
        """
        ...


@runtime_checkable
class OpenedByURL(Protocol):
    """A store or an audit trail that another process can open by its URL."""

    @property
    def url(self) -> str | None:
        """Return the URL without its password; None if only this process can reach it."""
        ...


@runtime_checkable
class StoreSettings(Protocol):
    """A store with settings that are not part of its URL."""

    @property
    def has_embedder(self) -> bool:
        """Return whether semantic search works."""
        ...

    @property
    def quota(self) -> Quota | None:
        """Return the limit on what is kept for each user; None for no limit."""
        ...

    @property
    def redactor(self) -> Redactor | None:
        """Return the redactor that removes secrets from texts before they are stored; None if there is none."""
        ...


@runtime_checkable
class SearchIndexed(Protocol):
    """A store with a search index that can be rebuilt."""

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the search index, and make missing vectors; return the number of memories.

        Args:
            progress: Called after each step with the number of memories done, and their total number.

        Raises:
            StoreError: The operation failed.
        """
        ...


@runtime_checkable
class TermIndexed(Protocol):
    """A store whose index records which chunks of a text contain a lexeme (an analyzed word)."""

    def term_hits(self, scope: Scope, terms: Sequence[Sequence[str]], filters: Filters) -> TermHits:
        """Return where terms occur in the memories that match, and how rare their lexemes are.

        Each term is given as its lexemes.
        """
        ...


def term_hits_in(
    store: MemoryStore, scope: Scope, terms: Sequence[Sequence[str]], filters: Filters
) -> TermHits:
    """Return where terms occur, by the store's index; in a store without one, by reading its newest texts."""
    if isinstance(store, TermIndexed):
        return store.term_hits(scope, terms, filters)
    return term_hits(store.query(scope, filters), terms)


def reindexed(store: MemoryStore, progress: Progress | None = None) -> int:
    """Rebuild the search index of a store; return the number of memories in it.

    Raises:
        StoreError: The operation failed, or the store has no index.
    """
    if not isinstance(store, SearchIndexed):
        raise StoreError(f"{store!r} keeps no search index that could be rebuilt")
    return store.reindex(progress)


def replace_all(store: MemoryStore, scope: Scope, items: Sequence[MemoryItem]) -> None:
    """Put records as `BatchWriter.replace_all` does; one by one if the store is not a `BatchWriter`."""
    if isinstance(store, BatchWriter):
        store.replace_all(scope, items)
        return
    for item in items:
        store.put(scope, replace(item, identity=None), replace=True)


def keeper_of(store: MemoryStore) -> CallKeeper | None:
    """Return *store* as a `CallKeeper`; None if it does not keep model calls."""
    return store if isinstance(store, CallKeeper) else None


def redactor_of(store: MemoryStore) -> Redactor | None:
    """Return the redactor to apply to texts before they are put into *store*; None if there is none."""
    return store.redactor if isinstance(store, StoreSettings) else None


def url_of(resource: object) -> str | None:
    """Return the URL that opens *resource* in another process; None if there is none."""
    return resource.url if isinstance(resource, OpenedByURL) else None
