"""Memories in SQLite or PostgreSQL: SQLAlchemy Core, one set of statements."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    StoreError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.model.batches import batches_of, size_of
from memory_context.model.item import Deletion, Match, MemoryItem, Restored, now
from memory_context.model.scope import Scope
from memory_context.model.tier import Quota, Receipt, Room, Usage, as_quota
from memory_context.runtime import events
from memory_context.runtime.forks import Lock, in_child, no_fork
from memory_context.runtime.telemetry import operation
from memory_context.stores.protocol import Filters, Mode
from memory_context.stores.sql import backup as _backup
from memory_context.stores.sql import capacity, engines, file_watch
from memory_context.stores.sql import forget_user as _forgetting
from memory_context.stores.sql import migrate as _migrate
from memory_context.stores.sql import restore as _restoring
from memory_context.stores.sql.filters import conditions, counted_column, order_of, within
from memory_context.stores.sql.index import indexing, keyword_index
from memory_context.stores.sql.index import search as _searching
from memory_context.stores.sql.index.embedding_worker import Meaning
from memory_context.stores.sql.index.search import Conditions
from memory_context.stores.sql.put import Way, put
from memory_context.stores.sql.restore import INSERT
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.scan import Place, deletions_after, items_at, places_after
from memory_context.stores.sql.schema import UTCDateTime, access, deletions, memories
from memory_context.text.index.analyzer import VERSION
from memory_context.text.index.embedders import AnyEmbedder, Vector, as_embedding_model

T = TypeVar("T")

KEYS = 5000
CATCH_UP = 32_000_000

_SCHEMA_GONE = re.compile(r"no such table|relation .* does not exist|UndefinedTable")


class SQLAlchemyStore:
    """A `MemoryStore` in SQLite or PostgreSQL. Safe under threads and for several processes on one database.

    Nothing is opened before the first use. SQLite databases are created and migrated then; PostgreSQL schemas are
    created where there is none. Engines are shared per URL and process.

    Args:
        store: A URL, an engine, or a connection pool. None: the variable ``MEMORY_CONTEXT_STORE``, else
            ``sqlite:///memory.db`` in the working directory. ``sqlite://`` is a database in memory, gone when the store
            is closed.
        password_variable: The environment variable with the password of a URL that has none.
        embedder: What makes vectors for searches by meaning: an object with ``embed_documents`` and ``embed_query``, as
            LangChain's, or a callable from texts to vectors. After each `put` a thread makes what is missing.
        embedding_model: The name that its vectors are kept by. Without it, what the embedder calls its model.
        quota: How much is kept of each user. What would pass it is refused with a `QuotaExceededError`; several
            processes that should not pass it together need the same one each.

    Raises:
        UnsupportedDatabaseError: Neither SQLite nor PostgreSQL through psycopg.
        MissingDependencyError: The driver cannot be loaded.
        InvalidArgumentError: `embedder` is none, or its model has no name.
    """

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | None = None,
        *,
        password_variable: str = engines.PASSWORD_VARIABLE,
        embedder: AnyEmbedder | None = None,
        embedding_model: str | None = None,
        quota: Quota | None = None,
    ) -> None:
        self.quota = as_quota(quota)
        self.password_variable = password_variable
        self._is_pool = isinstance(store, sa.Pool)
        self._given: sa.Engine | None = None
        if isinstance(store, sa.Engine | sa.Pool):
            self._given = _given_engine(store)
            self._url = self._given.url
        else:
            self._url = engines.store_url(store, password_variable)
        self._engine: sa.Engine | None = None
        self._shared: sa.Engine | None = None
        self._ready: sa.Pool | None = None
        self._lock = Lock()
        model = None if embedder is None else as_embedding_model(embedder, embedding_model)
        self._meaning = (
            None if model is None else Meaning(model, self._url.get_backend_name(), self._run)
        )
        in_child(self)

    def after_fork(self) -> None:
        """In a forked child: a shared engine is the parent's; what is in memory is in both, a caller's its own care."""
        if self._shared is not None and not engines.is_memory(self._url):
            self._engine = self._shared = self._ready = None

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"<SQLAlchemyStore {engines.shown_url(self._url)}>"

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    @property
    def url(self) -> str | None:
        """The URL of this database for another process, without its password; None in memory and on a bare pool."""
        if engines.is_memory(self._url) or self._is_pool:
            return None
        return engines.without_password(self._url)

    @property
    def _dialect(self) -> str:
        return self._url.get_backend_name()

    @property
    def has_embedder(self) -> bool:
        """Whether it searches by meaning too."""
        return self._meaning is not None

    def put(
        self,
        scope: Scope,
        item: MemoryItem,
        *,
        replace: bool = False,
        room: Room | None = None,
        replaces: MemoryItem | None = None,
    ) -> MemoryItem:
        """See `MemoryStore.put`."""
        _check_scope(scope, item)
        batch = indexing.prepared(item)
        way = Way(scope, batch, replace or replaces is not None, room, replaces, self.quota)
        stored = self._run(lambda connection: put(connection, item, way), writes=True)
        if batch is None:
            self._index_committed(stored.user_id, stored.id)
        if self._meaning:
            self._meaning.wake(scope.user_id)
        return stored

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        return next(iter(self.get_many(scope, [key])), None)

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        wanted = list(dict.fromkeys(keys))
        batches = (wanted[start : start + KEYS] for start in range(0, len(wanted), KEYS))
        statements = (
            RECORDS.where(*within(scope), memories.c.memory_key.in_(batch)) for batch in batches
        )
        found = {
            item.memory_key: item for statement in statements for item in self._items(statement)
        }
        return [found[key] for key in wanted if key in found]

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        if limit is not None and limit < 0:
            message = f"a limit is 0 or more, or None for all, not {limit}"
            raise InvalidArgumentError(message)
        order = order_of(order_by, self._dialect)
        return self._items(
            RECORDS.where(*self._active(scope, filters)).order_by(*order).limit(limit)
        )

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
        """See `MemoryStore.search`. Of equally good memories, the one used last comes first.

        What is still to be indexed is indexed first, newest first, at most 32 million characters of it at a time.
        """
        wanted = _searching.wanted_of(query)
        if not (query.strip() if mode == "semantic" else wanted):
            return self.query(scope, filters, limit=limit)
        search = _searching.Search(
            user_id=scope.user_id,
            query=query,
            wanted=() if mode == "semantic" else wanted,
            vector=self._vector(query, mode),
            conditions=self._active(scope, filters),
            narrowed=bool(filters) or len(scope.narrowed()) > 1,
            limit=limit,
        )
        found = self._run(lambda connection: _searching.best_if_indexed(connection, search))
        if found is None:
            self._catch_up(scope.user_id)
            found = self._run(lambda connection: _searching.best(connection, search))
        if not passages:
            return [replace(item, match=Match(hit.score, "")) for item, hit in found]
        return [_searching.with_match(item, hit, query, wanted) for item, hit in found]

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Make the keyword index of the whole database anew, and missing vectors; how many memories there are.

        Needed after `agent_memories` was written to by other means, and for a new embedder. Memories that are not
        indexed yet are not found until it ends.

        Args:
            progress: Called after each step with how many are done, and of how many; each memory is a step, once for
                its words and once for its vectors.

        Raises:
            StoreError: The store could not do it; the next search goes on where it ended.
        """
        self._run(keyword_index.reset, writes=True)
        waiting = self._run(indexing.pending_ids)
        works: list[Callable[[str, UUID], object]] = [self._index_rest]
        works += [self._meaning.embed] if self._meaning else []
        for done, (step, (user_id, memory_id)) in enumerate(product(works, waiting), 1):
            step(user_id, memory_id)
            if progress:
                progress(done, len(works) * len(waiting))
        return len(waiting)

    def delete(
        self, scope: Scope, key: str, *, reason: str = "forgotten", soft: bool = False
    ) -> bool:
        """See `MemoryStore.delete`."""
        where = (*within(scope), memories.c.memory_key == key)
        if soft:
            return self._run(lambda connection: _evict(connection, where), writes=True) > 0
        return self._delete(scope.user_id, where, reason) > 0

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        where = (deletions.c.user_id == scope.user_id, deletions.c.memory_key == key)
        row = self._run(
            lambda connection: connection.execute(sa.select(deletions).where(*where)).one_or_none()
        )
        return Deletion(row.memory_key, row.deleted_at, row.reason) if row else None

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`."""
        where = (*within(scope), memories.c.memory_key.in_(list(keys)))
        return self._run(lambda connection: _touch(connection, where), writes=True)

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        where = tuple(within(scope))
        page: Sequence[Place] = self._run(partial(places_after, where=where, last=None))
        while page:
            for batch in batches_of(page, lambda place: place.size):
                yield from self._run(partial(items_at, where=where, places=batch))
            page = self._run(partial(places_after, where=where, last=page[-1]))

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """See `MemoryStore.list_deleted`."""
        last = ""
        while page := self._run(partial(deletions_after, user_id=scope.user_id, last=last)):
            yield from page
            last = page[-1].memory_key

    def restore(self, scope: Scope, records: Iterable[MemoryItem | Deletion]) -> Restored:
        """See `MemoryStore.restore`."""
        total = Restored()
        for batch in batches_of(records, size_of):
            total += self._restore(scope, batch)
        if self._meaning:
            self._meaning.wake(scope.user_id)
        return total

    def _restore(self, scope: Scope, records: Sequence[MemoryItem | Deletion]) -> Restored:
        """Restore in one transaction. What is new is analyzed before it begins; long texts are indexed after it."""
        for item in records:
            _check_scope(scope, item)
        fresh = self._run(lambda connection: _restoring.unknown(connection, scope.user_id, records))
        batches = {item.id: indexing.prepared(item) for item in fresh}

        def work(connection: sa.Connection) -> Restored:
            with capacity.quota_kept(connection, scope.user_id, self.quota):
                return _restoring.restore(connection, scope.user_id, records, batches)

        restored = self._run(work, writes=True)
        for memory_id, batch in batches.items():
            if batch is None:
                self._index_committed(scope.user_id, memory_id)
        return restored

    def users(self) -> list[str]:
        """See `Administration.users`."""
        everybody = sa.union(sa.select(memories.c.user_id), sa.select(deletions.c.user_id))
        return sorted(self._run(lambda connection: connection.execute(everybody).scalars().all()))

    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`."""
        scope = Scope(user_id)
        removed = self._run(partial(_forgetting.counts, user_id=scope.user_id))
        self._delete(scope.user_id, tuple(within(scope)), "forgotten")
        for work in (
            partial(_forgetting.remove_notes, user_id=scope.user_id),
            _forgetting.merge_index,
        ):
            self._run(work, writes=True)
        return Receipt(scope.user_id, now(), **removed, scrubbed=self.scrub())

    def scrub(self) -> bool:
        """Give back what deleted memories took: empty SQLite's log, or vacuum PostgreSQL's tables.

        Returns:
            Whether nobody was in the way.

        Raises:
            StoreError: The store could not do it.
        """
        with self._errors(), no_fork:
            return _forgetting.scrub(self._bound())

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        return self._delete(scope.user_id, tuple(within(scope)), reason)

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        statement = (
            sa.select(sa.func.count()).select_from(memories).where(*self._active(scope, filters))
        )
        return self._run(lambda connection: connection.execute(statement).scalar_one())

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`."""
        statement = sa.select(sa.func.sum(counted_column(column))).where(
            *self._active(scope, filters)
        )
        return int(self._run(lambda connection: connection.execute(statement).scalar()) or 0)

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`."""
        place = (memories.c.tier, memories.c.category)
        sums = (
            sa.func.count(),
            sa.func.sum(memories.c.char_count),
            sa.func.sum(memories.c.byte_count),
        )
        statement = sa.select(*place, *sums).where(*self._active(scope, filters)).group_by(*place)
        rows = self._run(lambda connection: connection.execute(statement).all())
        found = [Usage(row[0], row[1], row[2], int(row[3]), int(row[4])) for row in rows]
        return sorted(found, key=lambda usage: (usage.tier, usage.category or ""))

    def migrate(self) -> str | None:
        """Bring the schema to this library's revision; returns the revision that was there before.

        Raises:
            SchemaVersionError: The schema is newer than this library.
        """
        with no_fork:
            return self._transaction(_migrate.migrate, writes=True)

    def backup(
        self, path: str | os.PathLike[str], progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Copy this SQLite database, as it is at this moment, into a new file, while others read and write it.

        Args:
            path: The new file.
            progress: Called with how many pages are copied, and of how many.

        Raises:
            UnsupportedDatabaseError: The database is not SQLite.
            StoreError: The store could not do it.
        """
        if self._dialect != "sqlite":
            message = f"{self!r} is not SQLite; use pg_dump, or export it"
            raise UnsupportedDatabaseError(message)
        self._run(partial(_backup.copy, path=Path(path), progress=progress))

    def close(self) -> None:
        """See `MemoryStore.close`. An engine or pool of the caller's stays open."""
        if self._meaning:
            self._meaning.close()
        with self._lock:
            if self._shared is not None:
                engines.registry.release(self._shared)
            self._engine, self._shared, self._ready = None, None, None

    def _delete(self, user_id: str, where: Conditions, reason: str) -> int:
        doomed = sa.select(memories.c.id).where(*where)
        for memory_id in self._run(lambda connection: indexing.many_passages(connection, doomed)):
            while self._run(
                partial(indexing.remove_batch, user_id=user_id, memory_id=memory_id), writes=True
            ):
                pass
        return self._run(
            lambda connection: _delete(connection, user_id, where, reason), writes=True
        )

    def _catch_up(self, user_id: str) -> None:
        """Index what is pending of a user."""
        waiting = self._run(lambda connection: indexing.pending_ids(connection, user_id))
        left = CATCH_UP
        for place, (_, memory_id) in enumerate(waiting):
            if left <= 0:
                events.INDEX_BEHIND.log(memories=len(waiting) - place)
                return
            left -= self._index_rest(user_id, memory_id)

    def _vector(self, query: str, mode: Mode) -> tuple[sa.Table, Vector] | None:
        """The query's vector, and the table to compare it with; None for a search by words alone."""
        if self._meaning is None and mode == "semantic":
            message = "a search by meaning needs an embedder: SQLAlchemyStore(…, embedder=…)"
            raise InvalidArgumentError(message)
        return None if self._meaning is None or mode == "keyword" else self._meaning.of_query(query)

    def _index_committed(self, user_id: str, memory_id: UUID) -> None:
        """Index what is pending of a memory that is stored; where that fails, the next search does it."""
        try:
            self._index_rest(user_id, memory_id)
        except StoreError as error:
            events.NOT_INDEXED.log(error, memory_id=str(memory_id))

    def _index_rest(self, user_id: str, memory_id: UUID) -> int:
        """Index what is pending of a memory; how many characters that were."""
        begun = self._run(lambda connection: indexing.unfinished(connection, user_id, memory_id))
        if begun is None:
            return 0
        item, place = begun
        for batch in indexing.batches(item, place):
            if not self._run(partial(indexing.extend, batch=batch), writes=True):
                break
        return len(item.text) - place.offset

    def _items(self, statement: sa.Select[*tuple[Any, ...]]) -> list[MemoryItem]:
        return [
            item_of(row)
            for row in self._run(lambda connection: connection.execute(statement).all())
        ]

    def _active(self, scope: Scope, filters: Filters | None) -> list[sa.ColumnElement[bool]]:
        active = [] if filters and "is_active" in filters else [memories.c.is_active.is_(sa.true())]
        return [*within(scope), *active, *conditions(filters, self._dialect)]

    def _run(self, work: Callable[[sa.Connection], T], *, writes: bool = False) -> T:
        with no_fork:
            self._prepare()
            return self._transaction(work, writes=writes)

    def _prepare(self) -> None:
        with self._lock:
            pool = self._bound().pool  # a new one after the file was replaced
            if self._ready is not pool:
                if self._transaction(_migrate.revision_of, writes=False) != _migrate.HEAD:
                    self._transaction(_migrate.ensure_schema, writes=True)
                if self._transaction(keyword_index.version_of, writes=False) < VERSION:
                    self._transaction(keyword_index.renew, writes=True)
                self._ready = pool

    def _transaction(self, work: Callable[[sa.Connection], T], *, writes: bool) -> T:
        options = {engines.WRITES: writes}
        with (
            self._errors(),
            operation("transaction", backend=self._dialect, writes=writes),
            self._bound().connect().execution_options(**options) as connection,
            file_watch.on_its_file(connection),
            connection.begin(),
        ):
            return work(connection)

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Errors of the database become the store's."""
        try:
            yield
        except StoreUnavailableError:
            self._ready = None
            raise
        except SQLAlchemyError as error:
            self._ready = None if _SCHEMA_GONE.search(str(error)) else self._ready
            raise _store_error(self, error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            message = f"the database cannot take this value: {error}"
            raise StoreError(message) from error

    def _bound(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                self._shared = None if self._given else engines.registry.acquire(self._url)
                self._engine = engines.with_explicit_begin(self._given or self._shared)  # type: ignore[arg-type]
            return self._engine


def _given_engine(store: sa.Engine | sa.Pool) -> sa.Engine:
    if isinstance(store, sa.Pool):
        return engines.engine_of_pool(store)
    engines.check_backend(store.url)
    if isinstance(store.pool, sa.SingletonThreadPool):
        message = "this engine has an empty database for each thread: make it with poolclass=QueuePool, pool_size=1"
        raise UnsupportedDatabaseError(message)
    return store


def _store_error(store: SQLAlchemyStore, error: SQLAlchemyError) -> StoreError:
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines() or [type(cause).__name__]
    unavailable = isinstance(error, OperationalError | InterfaceError | PoolTimeoutError)
    kind = StoreUnavailableError if unavailable else StoreError
    return kind(f"{engines.shown_url(store._url)}: {lines[0]}")  # noqa: SLF001 - of this module


def _check_scope(scope: Scope, item: MemoryItem | Deletion) -> None:
    if isinstance(item, Deletion):
        return
    wrong = {
        name: value for name, value in scope.narrowed().items() if getattr(item, name) != value
    }
    if not scope.sees(item.tier, item.tier_id):
        message = f"{item.tier} {item.tier_id!r} is not open here; nothing can be put there"
        raise InvalidScopeError(message)
    if wrong:
        message = f"a memory of {item.user_id!r} with other values than {wrong} cannot be put into this scope"
        raise InvalidScopeError(message)


def _delete(connection: sa.Connection, user_id: str, where: Conditions, reason: str) -> int:
    indexing.remove(connection, user_id, sa.select(memories.c.id).where(*where))
    doomed = sa.select(
        memories.c.user_id,
        memories.c.memory_key,
        sa.literal(now(), UTCDateTime),
        sa.literal(reason),
    ).where(*where)
    insert = INSERT[connection.dialect.name](deletions).from_select([*deletions.c.keys()], doomed)
    fresh = {"deleted_at": insert.excluded.deleted_at, "reason": insert.excluded.reason}
    connection.execute(
        insert.on_conflict_do_update(index_elements=["user_id", "memory_key"], set_=fresh)
    )
    connection.execute(
        sa.delete(access).where(access.c.memory_id.in_(sa.select(memories.c.id).where(*where)))
    )
    return connection.execute(sa.delete(memories).where(*where)).rowcount


def _evict(connection: sa.Connection, where: Conditions) -> int:
    changed = {"is_active": False, "updated_at": now()}
    active = memories.c.is_active.is_(sa.true())
    return connection.execute(sa.update(memories).where(*where, active).values(changed)).rowcount


def _touch(connection: sa.Connection, where: Iterable[sa.ColumnElement[bool]]) -> int:
    read = sa.select(memories.c.id, sa.literal(now(), UTCDateTime), sa.literal(1)).where(*where)
    insert = INSERT[connection.dialect.name](access).from_select([*access.c.keys()], read)
    fresh = {"accessed_at": insert.excluded.accessed_at, "access_count": access.c.access_count + 1}
    upsert = insert.on_conflict_do_update(index_elements=["memory_id"], set_=fresh).returning(
        access.c.memory_id
    )
    return len(connection.execute(upsert).all())
