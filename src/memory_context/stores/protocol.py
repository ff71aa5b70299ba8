"""The protocols of stores: what every one can do, and what some can beside that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from memory_context.exceptions import StoreError
from memory_context.model.call_records import CallFilter, CallRecord, CallTotals
from memory_context.model.item import AnyRecord, Deletion, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity, Quota, Receipt, Usage
from memory_context.text.index.term_hits import TermHits, term_hits

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

Filters: TypeAlias = Mapping[str, Any]
Mode: TypeAlias = Literal["hybrid", "keyword", "semantic"]
Progress: TypeAlias = Callable[[int, int], object]
"""Called with how many are done, and of how many."""


@runtime_checkable
class MemoryStore(Protocol):
    """A store of memories, safe under threads.

    Every verb takes a `Scope` first and never looks outside it.

    Filters map a column to a value (equality), to operators, or to a list of either (one of them
    holds): ``{"importance": {"$gte": 0.5}}`` with ``$eq $ne $gt $gte $lt $lte``, ``$under`` for a
    path or what is below it (``{"category": {"$under": "project"}}``), and ``$contains`` for a part
    of a text, which is all that ``content`` can be filtered by. ``None`` is a value:
    ``{"category": None}`` are those without one, and ``$ne`` of a text holds for them. ``tags``
    matches if the record has the tag, or one of the tags. Texts compare by their code points.

    Raises:
        StoreError: The store could not do it. Nothing was changed then.
        InvalidFilterError: A filter or an order names no column, an unknown operator, or a value of
            another kind than the column holds.
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

        A record of the same user with the same `identity` is returned instead of a second one: it
        is active again, ends with the later `expires_at` of both, and `updated_at` says within a
        minute when it was put last. Its key is that of the first one, also where several writers
        put it at once.

        Args:
            scope: Where it belongs.
            item: The record.
            replace: Whether its key may take the place of another memory, one that `scope` sees.
            room: The capacity of the record's tier for its `tier_id`. Checked in the transaction of
                the write, so that writers cannot exceed it together; what makes room is evicted:
                `is_active` becomes False.
            replaces: The record that *item*, under the same key, takes the place of, as it was
                read.

        Raises:
            KeyExistsError: The key belongs to another content, and not *replace*.
            TierFullError: There is no room.
            RecordChangedError: The record *replaces* is not there any more, or not as it was read.
            InvalidScopeError: The item does not belong into the scope.
        """
        ...

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """Return the memory under *key*, or None."""
        ...

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """Return the memories under *keys*, in their order, without those that are not there."""
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
        """Return the active memories that match, in the order of a column, largest value first.

        Args:
            scope: Where to look.
            filters: What the memories must match.
            limit: How many at most; None for all of them.
            offset: How many of the first are left out.
            order_by: A column. ``-`` before it reverses the order: oldest, least important first.
                Memories without a value stand where the smallest would.

        Raises:
            InvalidArgumentError: A negative limit or offset.
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
        """Return the active memories that speak of *query*, best first, each with a `match`.

        A query without words finds the newest.

        Any text is a query. Secrets are found by what describes them; the content of their hits is
        masked.

        Args:
            scope: Where to look.
            query: What is looked for.
            limit: How many at most.
            filters: What the memories must match.
            mode: ``keyword``, ``semantic``, or ``hybrid`` for both; without an embedder, hybrid is
                keyword.
            passages: Without them, matches have a score only, and contents are as they are: for
                callers that judge the texts themselves.
        """
        ...

    def delete(
        self, scope: Scope, key: str, *, reason: str = "forgotten", soft: bool = False
    ) -> bool:
        """Delete the memory under *key* for good, and note when and why (`deletion`).

        With *soft* it is only evicted, as by a full tier: it is no longer found or offered, its key
        still redeems, and putting the record back with `is_active` undoes it.

        Returns:
            Whether there was one; with *soft*, an active one.
        """
        ...

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """Return when and why the memory under *key* was deleted; None if it was not or is back."""
        ...

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """Note that the memories under *keys* were read now; return how many there were."""
        ...

    def expire_at(self, scope: Scope, ends: Iterable[tuple[MemoryItem, datetime]]) -> int:
        """Let memories, as they were read, end at these moments; return how many of them do.

        Nothing else of them changes, `updated_at` neither. One that was put again since it was read
        ends as it was put then.
        """
        ...

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """Yield every memory of the scope, inactive ones too, oldest first.

        They are read a page at a time.
        """
        ...

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """Yield every deletion that the store knows of the scope's user, by key."""
        ...

    def restore(self, scope: Scope, records: Iterable[AnyRecord]) -> Restored:
        """Write records as they are: what `list_all` and `list_deleted` of another store yield.

        For moving memories between stores; `put` is for new ones.

        Nothing that is there is changed: a record that is there already counts as unchanged (reads
        aside), and every other one that clashes is a conflict: another version of it, its key or
        its content in another record, deleted here after it was last changed there, deleted there
        but still here. Of two deletions the later one is kept. Each record is written whole or not
        at all; after an error, restore again.
        """
        ...

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """Delete every memory of the scope, as `delete` does; return how many there were."""
        ...

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """Return how many active memories match."""
        ...

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """Return a column's sum over the active memories that match.

        The column is ``token_count``, ``char_count`` or ``line_count``.

        Raises:
            InvalidFilterError: Another column.
        """
        ...

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """Return how much the active memories that match take, for each tier and category.

        They are sorted by name.
        """
        ...

    def close(self) -> None:
        """Give back connections and threads. The store may be used again, and closed again."""
        ...


@runtime_checkable
class BatchWriter(Protocol):
    """A store that writes many records in one go."""

    def replace_all(self, scope: Scope, items: Sequence[MemoryItem]) -> None:
        """Put records under different keys of their caller's choice, each in the place of what its key holds.

        All of them are committed, or none.

        Raises:
            KeyExistsError: A key holds a memory that the scope does not see.
            InvalidScopeError: A record does not belong into the scope.
            StoreError: The store could not do it.
        """
        ...


@runtime_checkable
class Administration(Protocol):
    """The verbs for administrators: across users, or to take a user's last trace away."""

    def users(self) -> list[str]:
        """Return everybody of whom the store has a memory, a deletion or a model call, in the order of their ids.

        Raises:
            StoreError: The store could not do it.
        """
        ...

    def forget_user(self, user_id: str) -> Receipt:
        """Remove every trace of a user.

        These are memories, their index and vectors, reads, deletions, audit trail, and files.

        References to those memories say afterwards that there is no such memory, not when it was
        deleted. What is stored of the user while this runs may stay: stop their agents first. After
        an error, call it again.

        Raises:
            StoreError: The store could not do it; a part may be done.
        """
        ...


@runtime_checkable
class CallKeeper(Protocol):
    """A store that keeps what models were sent, and what was decided before."""

    def note_call(self, record: CallRecord) -> None:
        """Have *record* kept soon; never waits, and never fails."""
        ...

    def calls(self, wanted: CallFilter, limit: int | None = 100) -> list[CallRecord]:
        """Return the model calls and decisions that are wanted, newest first; at most *limit*, None for all.

        Raises:
            StoreError: The store could not do it.
        """
        ...

    def call_totals(self, user_id: str, thread_id: str | None = None) -> list[CallTotals]:
        """Return what a user's model calls add up to, by conversation, the one with the newest call first; or of one.

        Raises:
            StoreError: The store could not do it.
        """
        ...

    def callers(self) -> list[str]:
        """Return everybody of whom something is kept here, in the order of their ids.

        Raises:
            StoreError: The store could not do it.
        """
        ...


@runtime_checkable
class OpenedByURL(Protocol):
    """A store or an audit trail that another process may open by its URL."""

    @property
    def url(self) -> str | None:
        """Return the URL without its password; None where only this process can reach it."""
        ...


@runtime_checkable
class StoreSettings(Protocol):
    """A store with settings that its URL does not hold."""

    @property
    def has_embedder(self) -> bool:
        """Return whether semantic search works."""
        ...

    @property
    def quota(self) -> Quota | None:
        """Return how much is kept of each user; None for no limit."""
        ...

    @property
    def redactor(self) -> Redactor | None:
        """Return what takes secrets out of texts before they come here; None where nothing does."""
        ...


@runtime_checkable
class SearchIndexed(Protocol):
    """A store with a search index that can be rebuilt."""

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the search index, and missing vectors; return how many memories there are.

        Args:
            progress: Called after each step with how many are done, and of how many.

        Raises:
            StoreError: The store could not do it.
        """
        ...


@runtime_checkable
class TermIndexed(Protocol):
    """A store whose index knows which chunks hold a lexeme."""

    def term_hits(self, scope: Scope, terms: Sequence[Sequence[str]], filters: Filters) -> TermHits:
        """Return where terms stand in the memories that match, each given by its lexemes, and how rare these are."""
        ...


def term_hits_in(
    store: MemoryStore, scope: Scope, terms: Sequence[Sequence[str]], filters: Filters
) -> TermHits:
    """Return what a store's index knows of some terms; without an index, what the newest texts say."""
    if isinstance(store, TermIndexed):
        return store.term_hits(scope, terms, filters)
    return term_hits(store.query(scope, filters, order_by="-created_at"), terms)


def reindexed(store: MemoryStore, progress: Progress | None = None) -> int:
    """Rebuild the search index of a store; return how many memories it holds.

    Raises:
        StoreError: It could not do it, or keeps no index.
    """
    if not isinstance(store, SearchIndexed):
        raise StoreError(f"{store!r} keeps no search index that could be rebuilt")
    return store.reindex(progress)


def replace_all(store: MemoryStore, scope: Scope, items: Sequence[MemoryItem]) -> None:
    """Put records as `BatchWriter.replace_all` does; one by one, where the store writes no batches."""
    if isinstance(store, BatchWriter):
        store.replace_all(scope, items)
        return
    for item in items:
        store.put(scope, item, replace=True)


def keeper_of(store: MemoryStore) -> CallKeeper | None:
    """Return what keeps model calls and decisions; None for a store that keeps none."""
    return store if isinstance(store, CallKeeper) else None


def redactor_of(store: MemoryStore) -> Redactor | None:
    """Return what whoever stores here takes secrets out of texts with; None where nothing does."""
    return store.redactor if isinstance(store, StoreSettings) else None


def url_of(resource: object) -> str | None:
    """Return the URL that opens *resource* in another process; None where there is none."""
    return resource.url if isinstance(resource, OpenedByURL) else None
