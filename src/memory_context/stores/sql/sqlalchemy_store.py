"""The `MemoryStore` in SQLite or PostgreSQL: one set of SQLAlchemy Core statements for both databases.

Each method runs functions of this package's other modules in a transaction of its `Database`. Frequent statements are
made once for each *shape* of a scope and filters (see `scopes_and_filters_as_sql`), and kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import (
    EmbedderError,
    InvalidArgumentError,
    InvalidScopeError,
    KeyExistsError,
    RecordChangedError,
    StoreError,
    UnsupportedDatabaseError,
)
from memory_context.model.batches import batches_of, batches_of_records, slices_of
from memory_context.model.call_log_records import CallFilter, CallRecord, CallTotals
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import AnyRecord, Deletion, Match, MemoryItem, Restored, now
from memory_context.model.quota import Quota
from memory_context.model.receipt import Receipt
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity, Usage
from memory_context.runtime import deadlines, log_events
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.stores.codec import Codec, check_embedder, url_prefix
from memory_context.stores.protocol import Filters, Mode, Progress
from memory_context.stores.sql import copy_sqlite_file as _backup
from memory_context.stores.sql import (
    forget_user_and_scrub,
    migrate,
    read_everything_by_pages,
    restore_imported_records,
    row_deletion,
    urls,
)
from memory_context.stores.sql import insert_overwrite_or_reuse as _put
from memory_context.stores.sql import reencode_rows as recoding
from memory_context.stores.sql.call_log import CallLog
from memory_context.stores.sql.eviction_and_quota import evict, quota_kept
from memory_context.stores.sql.index import hits_to_memories, indexing, keyword_index
from memory_context.stores.sql.index.embedding_of_chunks_and_questions import EmbeddingWorker
from memory_context.stores.sql.prepared_statements import Prepared, Values
from memory_context.stores.sql.row_encoding import DELETIONS, RECORDS
from memory_context.stores.sql.schema import (
    MEMORY_IDS,
    AnySelect,
    Condition,
    Conditions,
    UTCDateTime,
    access,
    count_rows,
    memories,
    total_of,
)
from memory_context.stores.sql.scopes_and_filters_as_sql import (
    FilterShape,
    ScopeShape,
    conditions_by_shape,
    counted_column,
    matching,
    order_of,
    shape_of,
    shape_of_filters,
    within,
)
from memory_context.stores.sql.transactions import AnyDatabase, Database
from memory_context.stores.sql.upserts_locks_and_settings import insert_into, upsert
from memory_context.text.index.analyzer import wanted_by
from memory_context.text.index.embedders import AnyEmbedder, Distance, as_embedding_model
from memory_context.text.index.lexemes_looked_up import MAX_QUERY
from memory_context.text.index.term_hits import TermHits, term_hits

if TYPE_CHECKING:
    from memory_context.stores.sql.index.vector_index import QueryVector
    from memory_context.text.redact import Redactor

T = TypeVar("T")

# PostgreSQL takes at most 65,535 bound parameters in a statement, SQLite 32,766.
KEYS_PER_STATEMENT = 5000
# The number of statements of each kind that are kept, one for each shape of scope and filters.
STATEMENTS = 100
# A statement for filters with more values than this is not kept, as it would not be used again.
LONGEST_KEPT = 20
# The largest number of characters that a search indexes before it answers: about a minute of work.
CATCH_UP = 32_000_000
CALLS_KEPT = timedelta(days=30)
# The number of newest memories that a search reads if there is no index (`Encrypted` with index="none").
OPENED_FOR_SEARCH = 500


class SQLAlchemyStore(ClosedAtExit):
    """A `MemoryStore` in SQLite or PostgreSQL, safe for several threads and processes.

    Nothing is opened before the first use. Then a SQLite database is created or migrated, and a
    PostgreSQL schema is created if there is none. Engines are shared per URL and process.

    Args:
        store: A URL, an engine, or a connection pool. None stands for the environment variable
            ``MEMORY_CONTEXT_STORE``, or for ``sqlite:///memory.db`` in the working directory if
            that is not set. ``sqlite://`` is a database in memory, gone when the store is closed.
        password_variable: The environment variable with the password of a URL that has none.
        embedder: Makes vectors for semantic search: an object with ``embed_documents`` and
            ``embed_query``, such as LangChain's ``Embeddings``, or a callable from texts to
            vectors. After each `put`, a thread makes the missing vectors.
        embedding_model: The name under which the vectors are kept; by default the embedder's own
            name for its model.
        quota: The limit on what is kept for each user. A write that would exceed it raises a
            `QuotaExceededError`. Each process checks its own writes only, so give all processes
            the same quota.
        codec: Encodes the records in rows: `Compressed` or `Encrypted`. Without a codec they are
            stored as they are.
        redactor: Removes secrets from texts before they are stored by a `MemoryManager`, or by
            anything built on one. Records that are given to `put` and `restore` are stored as
            they are.
        calls_kept: How long model calls and the decisions before them are kept, as keys and
            numbers. None: they are not kept.

    Raises:
        UnsupportedDatabaseError: The database is neither SQLite nor PostgreSQL through psycopg.
        MissingDependencyError: The driver cannot be loaded.
        InvalidArgumentError: `embedder` is not an embedder, or its model has no name; or the codec
            encrypts, and vectors would reveal the contents.
    """

    def __init__(
        self,
        store: AnyDatabase | None = None,
        *,
        password_variable: str = urls.PASSWORD_VARIABLE,
        embedder: AnyEmbedder | None = None,
        embedding_model: str | None = None,
        quota: Quota | None = None,
        codec: Codec | None = None,
        redactor: Redactor | None = None,
        calls_kept: timedelta | None = CALLS_KEPT,
    ) -> None:
        check_arguments(codec=codec, redactor=redactor, quota=quota, calls_kept=calls_kept)
        self.most_caught_up: float = CATCH_UP
        self.quota = quota
        self.redactor = redactor
        self.password_variable = password_variable
        self.codec = codec or Codec()
        self.database = Database(store, password_variable, self.codec)
        self.call_log = CallLog(self.database, calls_kept)
        self._embedding = None if embedder is None else self.embedding_by(embedder, embedding_model)
        self._without_vectors = set[str]()

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"<SQLAlchemyStore {urls.shown_url(self.database.url)}>"

    @property
    def url(self) -> str | None:
        """Return the URL for another process, without its password.

        None if no URL can reach the database (one in memory, or a bare pool), or express the
        settings of the codec or redactor.
        """
        prefix = url_prefix(self.codec, self.redactor)
        url = self.database.public_url
        if prefix is None or url is None:
            return None
        return prefix + url

    @property
    def has_embedder(self) -> bool:
        """Return whether semantic search works."""
        return self._embedding is not None

    def embedding_by(
        self, embedder: AnyEmbedder, name: str | None = None, distance: Distance = "cosine"
    ) -> EmbeddingWorker:
        """Return a worker that makes vectors with another embedder, and keeps them in this store under the model's *name*.

        Raises:
            InvalidArgumentError: *embedder* is not an embedder, its model has no name, the store's codec encrypts, or
                there is no such distance.
        """
        check_embedder(self.codec)
        return EmbeddingWorker(as_embedding_model(embedder, name, distance), self.database)

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
        _check_scope(scope, item)
        check_arguments(room=room, replaces=replaces)
        # The text is analyzed before the transaction begins, so that other writers wait less.
        batch = indexing.prepared(item)
        options = _put.PutOptions(
            scope=scope,
            batch=batch,
            replace=replace,
            capacity=room,
            replaces=replaces,
            quota=self.quota,
        )
        stored = self.database.write(_put.put, item, options)
        self._complete_index(scope.user_id, {stored.id: batch})
        return stored

    def replace_all(self, scope: Scope, items: Sequence[MemoryItem]) -> None:
        """See `BatchWriter.replace_all`."""
        check_arguments(items=items)
        items = list(items)
        for item in items:
            _check_scope(scope, item)
        # Of records under one key the last one stays, as if they were put one after another.
        by_key = {item.memory_key: item for item in items}
        batches = {item.id: indexing.prepared(item) for item in by_key.values()}
        if len(batches) < len(by_key):
            raise KeyExistsError("two records have the same id; leave it out to get a new one")
        while True:
            with suppress(RecordChangedError):
                stored = self.database.write(
                    _put.put_all, scope, list(by_key.values()), batches, self.quota
                )
                break
        self._complete_index(scope.user_id, stored)

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        check_arguments(key=key)
        shape, values = shape_of(scope)
        found = self.database.items(_by_key(shape), values | {"key": key})
        return found[0] if found else None

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        check_arguments(keys=keys)
        wanted = list(dict.fromkeys(keys))
        found: dict[str, MemoryItem] = {}
        shape, values = shape_of(scope)
        for batch in slices_of(wanted, KEYS_PER_STATEMENT):
            for item in self.database.items(_by_keys(shape), values | {"keys": batch}):
                found[item.memory_key] = item
        return [found[key] for key in wanted if key in found]

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        offset: int = 0,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        check_arguments(limit=limit, offset=offset, order_by=order_by)
        page, values = self._statement(_page, scope, filters, order_by, limit is None)
        return self.database.items(page, {**values, "limit": limit, "offset": offset})

    def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        filters: Filters | None = None,
        mode: Mode = "hybrid",
        passages: bool = True,
        by: EmbeddingWorker | None = None,
    ) -> list[MemoryItem]:
        """See `MemoryStore.search`. Of equally good memories, the one used last comes first.

        Memories that are not indexed yet are indexed first, newest first, up to 32 million characters
        per search. If *by* is given, its vectors are searched instead of those of the store's own
        embedder.
        """
        check_arguments(scope=scope, query=query, mode=mode)
        check_whole("limit", limit, 1)
        if not query.strip():
            return self.query(scope, filters, limit=limit)
        # A query that consists of stop words or signs has none.
        wanted = wanted_by(query[:MAX_QUERY])
        if self.codec.index == "none":
            # The newest memories are indexed in memory, for this search alone.
            with SQLAlchemyStore("sqlite://") as opened:
                opened.restore(Scope(scope.user_id), self._newest(scope, filters))
                return opened.search(
                    scope, query, limit=limit, filters=filters, mode=mode, passages=passages
                )
        request = hits_to_memories.SearchRequest(
            user_id=scope.user_id,
            wanted=() if mode == "semantic" else wanted,
            vector=self._vector(query, mode, by or self._embedding),
            conditions=self._matching(scope, filters),
            narrowed=bool(filters) or len(scope.narrowed()) > 1,
            limit=limit,
        )
        # In one transaction: a memory that is replaced in between would be found by neither of its texts.
        found = self.database.read(hits_to_memories.best_if_indexed, request)
        if found is None:
            self._catch_up(scope.user_id)
            found = self.database.read(hits_to_memories.best, request)
        if request.vector and scope.user_id in self._without_vectors:
            self._without_vectors.discard(scope.user_id)
            self._complete_index(scope.user_id)
        if not passages:
            return [replace(item, match=Match(hit.score, "")) for item, hit in found]
        return [hits_to_memories.with_match(item, hit, query, wanted) for item, hit in found]

    def term_hits(self, scope: Scope, terms: Sequence[Sequence[str]], filters: Filters) -> TermHits:
        """See `TermIndexed.term_hits`."""
        if self.codec.index == "none":
            return term_hits(self._newest(scope, filters), terms)
        self._catch_up(scope.user_id)
        conditions = self._matching(scope, filters)
        return self.database.read(keyword_index.term_hits, scope.user_id, terms, conditions)

    def _newest(self, scope: Scope, filters: Filters | None) -> list[MemoryItem]:
        """Return the memories that a search reads if there is no index."""
        return self.query(scope, filters, limit=OPENED_FOR_SEARCH)

    @deadlines.waiting(None)
    def reencrypt(
        self, user_id: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Write all records again that are not in the form the codec writes today; return their number.

        With `Encrypted` these are the records that an older key encrypted, or that were never
        encrypted. Afterwards the older keys are no longer needed, and no plain text is left in the
        database. It may be interrupted, and called again.

        Args:
            user_id: The user whose records are written; None for all users.
            progress: Called after each record with the number of records written so far.

        Raises:
            SealError: A row was changed, or was never encrypted and the codec does not accept it.
            StoreError: The operation failed. Records that were written before stay written.
        """
        done = 0
        for user in self.users() if user_id is None else [user_id]:
            for memory_id in self.database.read(recoding.outdated, user):
                done += self.database.write(recoding.recode, user, memory_id)
                if progress:
                    progress(done)
        if self.codec.index != "plain":
            self.database.write(recoding.reseal_index_key)
            self.call_log.rewrite(None, lambda record: record)
        self.scrub()
        return done

    @deadlines.waiting(None)
    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the search index and make the missing vectors of all memories; return their number.

        This is needed after another program has written to `agent_memories`, and for a new
        embedder. Searches do not find a memory before it is indexed again.

        Args:
            progress: Called after each step with the number of steps done, and their total number.
                Each memory is one step for its words, and another one for its vectors.

        Raises:
            StoreError: The operation failed. The next search continues it.
        """
        check_arguments(progress=progress)
        self.database.write(keyword_index.reset)
        pending = self.database.read(indexing.pending_memories)
        steps: list[Callable[[str, UUID], object]] = [self._index]
        if self._embedding:
            steps.append(self._embedding.embed)
        done = 0
        for step in steps:
            for one in pending:
                step(one.user_id, one.memory_id)
                done += 1
                if progress:
                    progress(done, len(steps) * len(pending))
        return len(pending)

    def delete(
        self,
        scope: Scope,
        key: str,
        *,
        reason: str = "forgotten",
        soft: bool = False,
        seen: datetime | None = None,
    ) -> bool:
        """See `MemoryStore.delete`."""
        check_arguments(key=key, soft=soft, seen=seen)
        where = [*within(scope), memories.c.memory_key == key]
        if seen:
            where.append(memories.c.updated_at == seen)
        if soft:
            return bool(self.database.write(evict, where))
        check_arguments(reason=reason)
        return bool(self.delete_rows(scope.user_id, where, reason))

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        check_arguments(scope=scope, key=key)
        rows = self.database.rows(DELETIONS.filter_by(user_id=scope.user_id, memory_key=key))
        if rows:
            return Deletion(*rows[0])
        return None

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`. In a read-only database no reads are counted."""
        check_arguments(keys=keys)
        if self.database.reads_only:
            return 0
        where = [*within(scope), memories.c.memory_key.in_(list(keys))]
        return self.database.write(_touch, where)

    def expire_at(self, scope: Scope, ends: Iterable[tuple[MemoryItem, datetime]]) -> int:
        """See `MemoryStore.expire_at`. In a read-only database nothing is changed."""
        check_arguments(ends=ends)
        if self.database.reads_only:
            return 0
        shape, values = shape_of(scope)
        pairs = list(ends)
        for pair in pairs:
            check_arguments(end=pair)
        # Sorted by key, because `put` locks rows in this order, too: another order could deadlock.
        pairs.sort(key=lambda pair: pair[0].memory_key)
        rows = [
            {**values, "id": item.id, "read": item.updated_at, "end": end} for item, end in pairs
        ]
        return sum(self.database.counts(_expire_at(shape), rows))

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        return read_everything_by_pages.list_all(self, scope)

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """See `MemoryStore.list_deleted`."""
        return read_everything_by_pages.list_deleted(self, scope)

    def restore(self, scope: Scope, records: Iterable[AnyRecord]) -> Restored:
        """See `MemoryStore.restore`."""
        check_arguments(scope=scope)
        total = Restored()
        for batch in batches_of_records(records):
            total += self._restore(scope, batch)
        return total

    def _restore(self, scope: Scope, records: Sequence[AnyRecord]) -> Restored:
        """Restore *records* in one transaction; long texts are indexed after it."""
        items = [record for record in records if isinstance(record, MemoryItem)]
        for item in items:
            _check_scope(scope, item)
        ids = [item.id for item in items]
        stored = self.database.read(restore_imported_records.stored_ids, scope.user_id, ids)
        # As in `put`, texts are analyzed before the transaction, but only those that are not stored
        # yet. Of two versions of a memory, each has chunks of its own.
        runs = list(restore_imported_records.runs(records))
        for run in runs:
            for item in run.memories.values():
                if item.id not in stored:
                    run.batches[item.id] = indexing.prepared(item)

        def work(connection: sa.Connection) -> Restored:
            with quota_kept(connection, scope.user_id, self.quota):
                return restore_imported_records.restore(connection, scope.user_id, runs)

        restored = self.database.write(work)
        self._complete_index(scope.user_id, *(run.batches for run in runs))
        return restored

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`. A thread writes the record."""
        self.call_log.note(record)

    def calls(self, wanted: CallFilter, limit: int | None = 100) -> list[CallRecord]:
        """See `CallKeeper.calls`."""
        return self.call_log.records(wanted, limit)

    def call_totals(self, user_id: str, thread_id: str | None = None) -> list[CallTotals]:
        """See `CallKeeper.call_totals`."""
        return self.call_log.totals(Scope(user_id).user_id, thread_id)

    def callers(self) -> list[str]:
        """See `CallKeeper.callers`."""
        return self.call_log.callers()

    @deadlines.waiting(None)
    def rewrite_calls(
        self, user_id: str | None, change: Callable[[CallRecord], CallRecord | None]
    ) -> None:
        """See `CallRewriter.rewrite_calls`."""
        try:
            self.call_log.rewrite(user_id, change)
        finally:
            # What was overwritten before a failure, here or by the caller, must not stay in the file.
            self.scrub()

    def users(self) -> list[str]:
        """See `Administration.users`."""
        rows = self.database.rows(_USERS)
        return sorted({*(row.user_id for row in rows), *self.callers()})

    @deadlines.waiting(None)
    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`."""
        scope = Scope(user_id)
        self.call_log.flush()
        removed = self.database.read(forget_user_and_scrub.counts, scope.user_id)
        self.delete_rows(scope.user_id, within(scope), "forgotten")
        self.database.write(forget_user_and_scrub.remove_notes, scope.user_id)
        return Receipt(scope.user_id, now(), **removed, scrubbed=self._scrubbed(scope.user_id))

    @deadlines.waiting(None)
    def scrub(self) -> bool:
        """Remove the remains of deleted memories from the database's files.

        On SQLite the index is rewritten and the write-ahead log emptied. On PostgreSQL the tables
        are vacuumed.

        Returns:
            Whether it is complete. It is not if another connection was using SQLite's log.

        Raises:
            StoreError: The operation failed.
        """
        return self._scrubbed()

    def _scrubbed(self, user_id: str | None = None) -> bool:
        self.database.write(forget_user_and_scrub.merge_index)
        with self.database.errors():
            return forget_user_and_scrub.scrub(self.database.engine, user_id)

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        check_arguments(reason=reason)
        where = within(scope)
        return len(self.delete_rows(scope.user_id, where, reason))

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        return self.database.read(count_rows, memories, *self._matching(scope, filters))

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`."""
        total = sa.select(total_of(counted_column(column)))
        [[found]] = self.database.rows(total.where(*self._matching(scope, filters)))
        return int(found)

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`."""
        sums, values = self._statement(_usage, scope, filters)
        usages = [Usage(*row) for row in self.database.prepared_rows(sums, values)]
        return sorted(usages, key=lambda usage: (usage.tier, usage.category or ""))

    @deadlines.waiting(None)
    def migrate(self) -> str | None:
        """Upgrade the schema to this library's revision; return the previous revision.

        Raises:
            SchemaVersionError: The schema is newer than this library.
            StoreError: The operation failed.
        """
        return self.database.run_as_it_is(migrate.migrate, kind="write")

    def backup(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        """Copy this SQLite database, as it is at this moment, into a new file.

        Others may read and write the database meanwhile.

        Args:
            path: The new file.
            progress: Called with the number of pages copied so far, and their total number.

        Raises:
            UnsupportedDatabaseError: The database is not SQLite.
            StoreError: The operation failed.
        """
        if self.database.dialect != "sqlite":
            raise UnsupportedDatabaseError("the database is not SQLite; use pg_dump, or export it")
        check_arguments(path=path, progress=progress)
        self.database.read(_backup.copy, Path(path), progress)

    def close(self) -> None:
        """See `MemoryStore.close`. An engine or pool that the caller gave stays open."""
        self.call_log.flush()
        if self._embedding:
            self._embedding.close()
        self.database.close()

    def read_tables(self, work: Callable[[sa.Connection], T]) -> T:
        """See `TableStore.read_tables`."""
        return self.database.read(work)

    def delete_rows(self, user_id: str, where: Conditions, reason: str) -> list[str]:
        """See `TableStore.delete_rows`."""
        for memory_id in self.database.read(indexing.with_many_chunks, user_id, where):
            while self.database.write(indexing.remove_batch, user_id, memory_id):
                pass
        return self.database.write(row_deletion.delete, user_id, where, reason)

    def _statement(
        self,
        make: Any,  # noqa: ANN401 - a function with a cache, for which there is no public type
        scope: Scope,
        filters: Filters | None,
        *options: object,
    ) -> tuple[Prepared, Values]:
        """Return the statement that *make* returns for the shape of *scope* and *filters*, and the values to execute it with.

        *make* has a cache, which is bypassed if there are many values.
        """
        check_arguments(filters=filters)
        shape, values = shape_of(scope)
        filter_shape, filter_values = shape_of_filters(filters or {})
        if len(filter_values) > LONGEST_KEPT:
            make = make.__wrapped__
        statement = make(shape, filter_shape, self.database.dialect, self.codec.hidden, *options)
        return statement, values | filter_values

    def _matching(self, scope: Scope, filters: Filters | None) -> list[Condition]:
        check_arguments(filters=filters)
        return matching(scope, filters, self.database.dialect, self.codec.hidden)

    def _vector(
        self, query: str, mode: Mode, embedding: EmbeddingWorker | None
    ) -> QueryVector | None:
        """Return the query's vector and the table to compare it with; None for a keyword search.

        Raises:
            InvalidArgumentError: A semantic search without an embedder.
            EmbedderError: The embedder failed in a semantic search. A hybrid one goes on with keywords alone.
        """
        if not embedding and mode == "semantic":
            raise InvalidArgumentError(
                "a semantic search needs an embedder: --embedder MODULE:NAME, or in Python SQLAlchemyStore(…, embedder=…)"
            )
        if not embedding or mode == "keyword":
            return None
        try:
            return embedding.embed_query(query)
        except EmbedderError:
            if mode == "semantic":
                raise
            return None

    def _catch_up(self, user_id: str) -> None:
        """Index a user's pending memories, up to `most_caught_up` characters. In a read-only database nothing is indexed."""
        is_pending = self.database.rows(hits_to_memories.IS_PENDING, {"user": user_id})
        if not is_pending or self.database.reads_only:
            return
        pending = self.database.read(indexing.pending_memories, user_id)
        remaining = self.most_caught_up
        due: list[indexing.PendingMemory] = []
        for one in pending:
            if remaining <= 0:
                log_events.INDEX_BEHIND.log(memories=len(pending) - len(due))
                break
            due.append(one)
            remaining -= one.work
        for batch in batches_of(due, attrgetter("size")):
            self._index(user_id, *[one.memory_id for one in batch])
        # A database keeps its vectors, but the index of a folder begins without any. They are made when a search needs
        # them, because an embedder may be paid for each text.
        if urls.is_memory(self.database.url):
            self._without_vectors.add(user_id)

    def _complete_index(self, user_id: str, *stored: indexing.Batches) -> None:
        """Index the memories that were stored without their chunks, and have a thread make vectors.

        If the indexing of a memory fails, the next search does it.
        """
        for memory_id, batch in chain.from_iterable(batches.items() for batches in stored):
            if batch is None:
                try:
                    self._index(user_id, memory_id)
                except StoreError as error:
                    log_events.NOT_INDEXED.log(error, memory_id=str(memory_id))
        if self._embedding:
            self._embedding.wake(user_id)

    def _index(self, user_id: str, *ids: UUID) -> None:
        """Index the pending parts of some memories of a user.

        The last batches of several memories share a transaction, so that many short memories cost few commits.
        """
        last_batches: list[indexing.ChunkBatch] = []
        for item, start in self.database.read(indexing.unfinished, user_id, ids):
            for batch in indexing.batches(item, start):
                if batch.is_last:
                    last_batches.append(batch)
                elif not self.database.write(indexing.extend, [batch]):
                    break
            if sum(len(batch.chunks) for batch in last_batches) >= indexing.BATCH:
                self.database.write(indexing.extend, last_batches)
                last_batches = []
        if last_batches:
            self.database.write(indexing.extend, last_batches)


_USERS = sa.text(
    "SELECT user_id FROM agent_memories UNION SELECT user_id FROM agent_memory_deletions"
)


# Statements are kept, because making one takes longer than reading a record with it. They are kept
# by shape and not by scope; otherwise each conversation would add its own.
@lru_cache(maxsize=STATEMENTS)
def _by_key(shape: ScopeShape) -> Prepared:
    """Return the statement that selects the record of a scope under ``key``, a parameter."""
    return Prepared(
        RECORDS.where(*shape.conditions(), memories.c.memory_key == sa.bindparam("key"))
    )


@lru_cache(maxsize=STATEMENTS)
def _by_keys(shape: ScopeShape) -> AnySelect:
    """Return the statement that selects the records of a scope under ``keys``, a parameter."""
    wanted = sa.bindparam("keys", type_=sa.Text(), expanding=True)
    return RECORDS.where(*shape.conditions(), memories.c.memory_key.in_(wanted))


@lru_cache(maxsize=STATEMENTS)
def _expire_at(shape: ScopeShape) -> Prepared:
    """Return the statement that sets `expires_at` of the record ``id`` to ``end``, if ``read`` is still its `updated_at`."""
    update = sa.update(memories).where(
        *shape.conditions(),
        memories.c.id == sa.bindparam("id"),
        memories.c.updated_at == sa.bindparam("read"),
    )
    return Prepared(update.values(expires_at=sa.bindparam("end")))


@lru_cache(maxsize=STATEMENTS)
def _page(
    shape: ScopeShape,
    filters: FilterShape,
    dialect: str,
    hidden: frozenset[str],
    order_by: str,
    unlimited: bool,  # noqa: FBT001 - positional, as the cache needs it
) -> Prepared:
    """Return the statement that selects the matching records of a scope from ``offset`` on.

    At most ``limit`` of them, a parameter, unless *unlimited*.
    """
    matching = conditions_by_shape(shape, filters, dialect, hidden)
    order = order_of(order_by, dialect, hidden)
    skipped = sa.bindparam("offset", type_=sa.BigInteger)
    if unlimited:
        return Prepared(RECORDS.where(*matching).order_by(*order).offset(skipped))
    # The ids of the page are selected first, so that wide columns are read for its records only.
    limit = sa.bindparam("limit", type_=sa.BigInteger)
    page = MEMORY_IDS.where(*matching).order_by(*order).offset(skipped).limit(limit)
    is_mine = memories.c.user_id == sa.bindparam("scope_user_id")
    chosen = RECORDS.where(is_mine, memories.c.id.in_(page))
    return Prepared(chosen.order_by(*order_of(order_by, dialect, hidden, by_index=False)))


@lru_cache(maxsize=STATEMENTS)
def _usage(
    shape: ScopeShape, filters: FilterShape, dialect: str, hidden: frozenset[str]
) -> Prepared:
    """Return the statement that sums up the matching records of a scope by tier and category."""
    group = (memories.c.tier, memories.c.category)
    sizes = (total_of(memories.c.char_count), total_of(memories.c.byte_count))
    matching = conditions_by_shape(shape, filters, dialect, hidden)
    sums = sa.select(*group, sa.func.count(), *sizes)
    return Prepared(sums.where(*matching).group_by(*group))


def _check_scope(scope: Scope, item: MemoryItem) -> None:
    """Raise InvalidScopeError if *item* does not belong to *scope*."""
    check_arguments(scope=scope, item=item)
    if not scope.sees(item.tier, item.tier_id):
        raise InvalidScopeError(
            f"{item.tier} {item.tier_id!r} is not open here; nothing can be put there"
        )
    narrowed = scope.narrowed()
    wrong = {name: value for name, value in narrowed.items() if getattr(item, name) != value}
    if wrong:
        raise InvalidScopeError(
            f"the memory of {item.user_id!r} does not belong to this scope, whose memories have {wrong}"
        )


def _touch(connection: sa.Connection, where: Conditions) -> int:
    """Count a read of each memory that meets *where*; return the number of these memories."""
    ids = (memories.c.user_id, memories.c.id)
    # PostgreSQL locks the memories, and leaves out those that were just deleted: a count of one would violate the
    # foreign key. They are locked in the order of their keys, as everywhere.
    reads = (
        sa.select(*ids, sa.literal(now(), UTCDateTime), sa.literal(1))
        .where(*where)
        .order_by(*order_of("-memory_key", connection.dialect.name))
        .with_for_update(key_share=True, of=memories)
    )
    insert = insert_into(access).from_select(access.c.keys(), reads)
    counted = upsert(insert, access_count=access.c.access_count + 1)
    return len(connection.scalars(counted.returning(access.c.memory_id)).all())
