"""Memories in SQLite or PostgreSQL: SQLAlchemy Core, one set of statements."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from memory_context._analyzer import VERSION
from memory_context._batches import batches_of, size_of
from memory_context._embedding import AnyEmbedder, Vector, as_model
from memory_context._items import Deletion, Match, MemoryItem, Restored, longer_key, now
from memory_context._scopes import Scope
from memory_context._tiers import Room, Usage
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    KeyExistsError,
    RecordChangedError,
    StoreError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.stores import _backup, _engines, _indexing, _keyword, _migrate, _restoring, _rooms, _searching
from memory_context.stores._filters import conditions, counted_column, in_sight, order_of
from memory_context.stores._indexing import Batch
from memory_context.stores._listing import Place, deletions_after, items_at, places_after
from memory_context.stores._meaning import Meaning
from memory_context.stores._protocol import Filters, Mode
from memory_context.stores._restoring import INSERT, insert_record, is_taken
from memory_context.stores._rows import RECORDS, item_of, row_of
from memory_context.stores._schema import UTCDateTime, access, deletions, memories
from memory_context.stores._searching import Conditions

T = TypeVar("T")
logger = logging.getLogger("memory_context")

KEYS = 5000
CATCH_UP = 32_000_000

_OF_USER = memories.c.user_id == sa.bindparam("user")
_BY_IDENTITY = RECORDS.where(_OF_USER, memories.c.identity == sa.bindparam("wanted"))
_BY_KEY = RECORDS.where(_OF_USER, memories.c.memory_key == sa.bindparam("wanted"))
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

    Raises:
        UnsupportedDatabaseError: Neither SQLite nor PostgreSQL through psycopg.
        MissingDependencyError: The driver cannot be loaded.
        InvalidArgumentError: `embedder` is none, or its model has no name.
    """

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | None = None,
        *,
        password_variable: str = _engines.PASSWORD_VARIABLE,
        embedder: AnyEmbedder | None = None,
        embedding_model: str | None = None,
    ) -> None:
        self.password_variable = password_variable
        self._is_pool = isinstance(store, sa.Pool)
        self._given: sa.Engine | None = None
        if isinstance(store, sa.Engine | sa.Pool):
            self._given = _given_engine(store)
            self._url = self._given.url
        else:
            self._url = _engines.store_url(store, password_variable)
        self._engine: sa.Engine | None = None
        self._shared: sa.Engine | None = None
        self._ready = False
        self._lock = threading.RLock()
        model = None if embedder is None else as_model(embedder, embedding_model)
        self._meaning = None if model is None else Meaning(model, self._url.get_backend_name(), self._run)

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"<SQLAlchemyStore {_engines.shown_url(self._url)}>"

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    @property
    def url(self) -> str | None:
        """The URL of this database for another process, without its password; None in memory and on a bare pool."""
        if _engines.is_memory(self._url) or self._is_pool:
            return None
        return _engines.without_password(self._url)

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
        batch = _indexing.prepared(item)
        way = _Way(scope, batch, replace or replaces is not None, room, replaces)
        stored = self._run(lambda connection: _put(connection, item, way), writes=True)
        if batch is None:
            self._index_rest(stored.user_id, stored.id)
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
        statements = (RECORDS.where(*within(scope), memories.c.memory_key.in_(batch)) for batch in batches)
        found = {item.memory_key: item for statement in statements for item in self._items(statement)}
        return [found[key] for key in wanted if key in found]

    def query(
        self, scope: Scope, filters: Filters | None = None, *, limit: int | None = 100, order_by: str = "created_at"
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        if limit is not None and limit < 0:
            message = f"a limit is 0 or more, or None for all, not {limit}"
            raise InvalidArgumentError(message)
        order = order_of(order_by, self._dialect)
        return self._items(RECORDS.where(*self._active(scope, filters)).order_by(*order).limit(limit))

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
        self._run(_keyword.reset, writes=True)
        waiting = self._run(_indexing.pending_ids)
        works: list[Callable[[str, UUID], object]] = [self._index_rest]
        works += [self._meaning.embed] if self._meaning else []
        for done, (step, (user_id, memory_id)) in enumerate(product(works, waiting), 1):
            step(user_id, memory_id)
            if progress:
                progress(done, len(works) * len(waiting))
        return len(waiting)

    def delete(self, scope: Scope, key: str, *, reason: str = "forgotten") -> bool:
        """See `MemoryStore.delete`."""
        return self._delete(scope.user_id, (*within(scope), memories.c.memory_key == key), reason) > 0

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        where = (deletions.c.user_id == scope.user_id, deletions.c.memory_key == key)
        row = self._run(lambda connection: connection.execute(sa.select(deletions).where(*where)).one_or_none())
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
        batches = {item.id: _indexing.prepared(item) for item in fresh}
        restored = self._run(
            lambda connection: _restoring.restore(connection, scope.user_id, records, batches), writes=True
        )
        for memory_id, batch in batches.items():
            if batch is None:
                self._index_rest(scope.user_id, memory_id)
        return restored

    def users(self) -> list[str]:
        """See `Administration.users`."""
        everybody = sa.union(sa.select(memories.c.user_id), sa.select(deletions.c.user_id))
        return sorted(self._run(lambda connection: connection.execute(everybody).scalars().all()))

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        return self._delete(scope.user_id, tuple(within(scope)), reason)

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        statement = sa.select(sa.func.count()).select_from(memories).where(*self._active(scope, filters))
        return self._run(lambda connection: connection.execute(statement).scalar_one())

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`."""
        statement = sa.select(sa.func.sum(counted_column(column))).where(*self._active(scope, filters))
        return int(self._run(lambda connection: connection.execute(statement).scalar()) or 0)

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`."""
        place = (memories.c.tier, memories.c.category)
        sums = (sa.func.count(), sa.func.sum(memories.c.char_count))
        statement = sa.select(*place, *sums).where(*self._active(scope, filters)).group_by(*place)
        rows = self._run(lambda connection: connection.execute(statement).all())
        found = [Usage(tier, category, items, int(chars)) for tier, category, items, chars in rows]
        return sorted(found, key=lambda usage: (usage.tier, usage.category or ""))

    def migrate(self) -> str | None:
        """Bring the schema to this library's revision; returns the revision that was there before.

        Raises:
            SchemaVersionError: The schema is newer than this library.
        """
        return self._transaction(_migrate.migrate, writes=True)

    def backup(self, path: str | os.PathLike[str], progress: Callable[[int, int], object] | None = None) -> None:
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
                _engines.registry.release(self._shared)
            self._engine, self._shared, self._ready = None, None, False

    def _delete(self, user_id: str, where: Conditions, reason: str) -> int:
        doomed = sa.select(memories.c.id).where(*where)
        for memory_id in self._run(lambda connection: _indexing.many_passages(connection, doomed)):
            while self._run(partial(_indexing.remove_batch, user_id=user_id, memory_id=memory_id), writes=True):
                pass
        return self._run(lambda connection: _delete(connection, user_id, where, reason), writes=True)

    def _catch_up(self, user_id: str) -> None:
        """Index what is pending of a user."""
        waiting = self._run(lambda connection: _indexing.pending_ids(connection, user_id))
        left = CATCH_UP
        for place, (_, memory_id) in enumerate(waiting):
            if left <= 0:
                logger.warning("%d memories are not indexed yet, and not searched; see reindex()", len(waiting) - place)
                return
            left -= self._index_rest(user_id, memory_id)

    def _vector(self, query: str, mode: Mode) -> tuple[sa.Table, Vector] | None:
        """The query's vector, and the table to compare it with; None for a search by words alone."""
        if self._meaning is None and mode == "semantic":
            message = "a search by meaning needs an embedder: SQLAlchemyStore(…, embedder=…)"
            raise InvalidArgumentError(message)
        return None if self._meaning is None or mode == "keyword" else self._meaning.of_query(query)

    def _index_rest(self, user_id: str, memory_id: UUID) -> int:
        """Index what is pending of a memory; how many characters that were."""
        begun = self._run(lambda connection: _indexing.unfinished(connection, user_id, memory_id))
        if begun is None:
            return 0
        item, place = begun
        for batch in _indexing.batches(item, place):
            if not self._run(partial(_indexing.extend, batch=batch), writes=True):
                break
        return len(item.text) - place.start

    def _items(self, statement: sa.Select[*tuple[Any, ...]]) -> list[MemoryItem]:
        return [item_of(row) for row in self._run(lambda connection: connection.execute(statement).all())]

    def _active(self, scope: Scope, filters: Filters | None) -> list[sa.ColumnElement[bool]]:
        active = [] if filters and "is_active" in filters else [memories.c.is_active.is_(sa.true())]
        return [*within(scope), *active, *conditions(filters, self._dialect)]

    def _run(self, work: Callable[[sa.Connection], T], *, writes: bool = False) -> T:
        with self._lock:
            if not self._ready:
                if self._transaction(_migrate.revision_of, writes=False) != _migrate.HEAD:
                    self._transaction(_migrate.ensure_schema, writes=True)
                if self._transaction(_keyword.version_of, writes=False) < VERSION:
                    self._transaction(_keyword.reset, writes=True)
                self._ready = True
        return self._transaction(work, writes=writes)

    def _transaction(self, work: Callable[[sa.Connection], T], *, writes: bool) -> T:
        try:
            with self._connect().execution_options(**{_engines.WRITES: writes}) as connection, connection.begin():
                return work(connection)
        except SQLAlchemyError as error:
            self._ready = self._ready and not _SCHEMA_GONE.search(str(error))
            raise _store_error(self, error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            message = f"the database cannot take this value: {error}"
            raise StoreError(message) from error

    def _connect(self) -> sa.Connection:
        with self._lock:
            if self._engine is None:
                self._shared = None if self._given else _engines.registry.acquire(self._url)
                self._engine = _engines.with_explicit_begin(self._given or self._shared)  # type: ignore[arg-type]
            return self._engine.connect()


def _given_engine(store: sa.Engine | sa.Pool) -> sa.Engine:
    if isinstance(store, sa.Pool):
        return _engines.engine_of_pool(store)
    _engines.check_backend(store.url)
    if isinstance(store.pool, sa.SingletonThreadPool):
        message = "this engine has an empty database for each thread: make it with poolclass=QueuePool, pool_size=1"
        raise UnsupportedDatabaseError(message)
    return store


def _store_error(store: SQLAlchemyStore, error: SQLAlchemyError) -> StoreError:
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines() or [type(cause).__name__]
    unavailable = isinstance(error, OperationalError | InterfaceError | PoolTimeoutError)
    kind = StoreUnavailableError if unavailable else StoreError
    return kind(f"{_engines.shown_url(store._url)}: {lines[0]}")  # noqa: SLF001 - of this module


def _check_scope(scope: Scope, item: MemoryItem | Deletion) -> None:
    if isinstance(item, Deletion):
        return
    wrong = {name: value for name, value in scope.narrowed().items() if getattr(item, name) != value}
    if not scope.sees(item.tier, item.tier_id):
        message = f"{item.tier} {item.tier_id!r} is not open here; nothing can be put there"
        raise InvalidScopeError(message)
    if wrong:
        message = f"a memory of {item.user_id!r} with other values than {wrong} cannot be put into this scope"
        raise InvalidScopeError(message)


def within(scope: Scope) -> Iterator[sa.ColumnElement[bool]]:
    """What the records of a scope must meet."""
    yield from (memories.c[name] == value for name, value in scope.narrowed().items())
    if scope.places is not None:
        yield in_sight(scope.places)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a record is put: see `MemoryStore.put`."""

    scope: Scope
    batch: Batch | None
    replace: bool
    room: Room | None
    replaces: MemoryItem | None


def _put(connection: sa.Connection, item: MemoryItem, way: _Way) -> MemoryItem:
    if way.replaces is not None:
        return _taken_over(connection, item, way, way.replaces)
    known = _by_identity(connection, item)
    if known is None and way.room is not None:
        _make_room(connection, item, way.room, way)
    while known is None and not _inserted(connection, item, way.batch):
        known = _by_identity(connection, item)
        holder = None if known else _one(connection, _BY_KEY, item.user_id, item.memory_key)
        if holder is not None and not way.replace and _same(holder, item):
            known = holder
        elif holder is not None and way.replace and holder.id == item.id:
            return _overwrite(connection, holder, item, way.batch)
        elif holder is not None and (key := longer_key(item)):
            item = _replaced(item, memory_key=key)
        elif holder is not None and way.replace and way.scope.sees(holder.tier, holder.tier_id):
            return _overwrite(connection, holder, item, way.batch)
        elif holder is not None:
            message = f"the key {item.memory_key!r} holds another memory; choose another key, forget it, or replace it"
            raise KeyExistsError(message)
        elif known is None and is_taken(connection, item.id):
            message = f"the id {item.id} belongs to another memory; leave it out, and one is made"
            raise KeyExistsError(message)
    return _revived(connection, known) if known else item


_replaced = replace


def _make_room(connection: sa.Connection, item: MemoryItem, room: Room, way: _Way) -> None:
    holder = _one(connection, _BY_KEY, item.user_id, item.memory_key)
    is_there = holder is not None and holder.is_active and not way.replace and _same(holder, item)
    if not is_there:
        _rooms.make(connection, item, room, holder)


def _taken_over(connection: sa.Connection, item: MemoryItem, way: _Way, read: MemoryItem) -> MemoryItem:
    """`item` in the place of `read`, if that is still there as it was read."""
    statement = sa.select(memories.c.updated_at).where(*within(way.scope), memories.c.id == read.id).with_for_update()
    if connection.execute(statement).scalar() != read.updated_at:
        message = f"the memory {read.memory_key!r} was changed or deleted since it was read; read it again"
        raise RecordChangedError(message)
    if way.room is not None:
        _rooms.make(connection, item, way.room, read)
    return _overwrite(connection, read, item, way.batch)


def _same(holder: MemoryItem, item: MemoryItem) -> bool:
    """Whether `item`, under its writer's own key, is what is there already."""
    facts = ("content", "tier", "tier_id", "memory_type")
    return item.identity is None and all(getattr(holder, fact) == getattr(item, fact) for fact in facts)


def _by_identity(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    return _one(connection, _BY_IDENTITY, item.user_id, item.identity) if item.identity else None


def _one(
    connection: sa.Connection, statement: sa.Select[*tuple[Any, ...]], user: str, wanted: str
) -> MemoryItem | None:
    row = connection.execute(statement, {"user": user, "wanted": wanted}).one_or_none()
    return item_of(row) if row else None


def _inserted(connection: sa.Connection, item: MemoryItem, batch: Batch | None) -> bool:
    if not insert_record(connection, item):
        return False
    _indexing.insert(connection, item, batch)
    return True


def _overwrite(connection: sa.Connection, old: MemoryItem, new: MemoryItem, batch: Batch | None) -> MemoryItem:
    item = _replaced(new, id=old.id, created_at=old.created_at, updated_at=now())
    row = (memories.c.user_id == old.user_id, memories.c.id == old.id)
    _indexing.remove(connection, old.user_id, sa.select(memories.c.id).where(*row))
    connection.execute(sa.update(memories).where(*row).values(row_of(item)))
    _indexing.insert(connection, item, batch)
    return item


def _revived(connection: sa.Connection, item: MemoryItem) -> MemoryItem:
    if item.is_active:
        return item
    changed = {"is_active": True, "updated_at": now()}
    row = (memories.c.user_id == item.user_id, memories.c.id == item.id)
    connection.execute(sa.update(memories).where(*row).values(changed))
    return _replaced(item, **changed)


def _delete(connection: sa.Connection, user_id: str, where: Conditions, reason: str) -> int:
    _indexing.remove(connection, user_id, sa.select(memories.c.id).where(*where))
    doomed = sa.select(
        memories.c.user_id, memories.c.memory_key, sa.literal(now(), UTCDateTime), sa.literal(reason)
    ).where(*where)
    insert = INSERT[connection.dialect.name](deletions).from_select([*deletions.c.keys()], doomed)
    fresh = {"deleted_at": insert.excluded.deleted_at, "reason": insert.excluded.reason}
    connection.execute(insert.on_conflict_do_update(index_elements=["user_id", "memory_key"], set_=fresh))
    connection.execute(sa.delete(access).where(access.c.memory_id.in_(sa.select(memories.c.id).where(*where))))
    return connection.execute(sa.delete(memories).where(*where)).rowcount


def _touch(connection: sa.Connection, where: Iterable[sa.ColumnElement[bool]]) -> int:
    read = sa.select(memories.c.id, sa.literal(now(), UTCDateTime), sa.literal(1)).where(*where)
    insert = INSERT[connection.dialect.name](access).from_select([*access.c.keys()], read)
    fresh = {"accessed_at": insert.excluded.accessed_at, "access_count": access.c.access_count + 1}
    upsert = insert.on_conflict_do_update(index_elements=["memory_id"], set_=fresh).returning(access.c.memory_id)
    return len(connection.execute(upsert).all())
