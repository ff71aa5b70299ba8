"""Memories in SQLite or PostgreSQL: SQLAlchemy Core, one set of statements."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from memory_context._excerpt import excerpt
from memory_context._items import Deletion, Match, MemoryItem, is_storable, longer_key, now
from memory_context._names import terms, weight
from memory_context._scopes import Scope
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    KeyExistsError,
    StoreError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.stores import _engines, _migrate
from memory_context.stores._filters import column_named, conditions
from memory_context.stores._protocol import Filters, MemoryStore
from memory_context.stores._rows import item_of, row_of
from memory_context.stores._schema import UTCDateTime, access, deletions, memories

T = TypeVar("T")

PAGE = 200
KEYS = 5000
PASSAGE_CHARACTERS = 400
SUMMARY_WEIGHT = 2

_SELECT = sa.select(
    *memories.c, access.c.accessed_at, sa.func.coalesce(access.c.access_count, 0).label("access_count")
).select_from(memories.outerjoin(access, access.c.memory_id == memories.c.id))
# The two dialects' inserts have the same methods, but no common type; `sqlite.Insert` stands for both.
_INSERT = {"sqlite": sqlite.insert, "postgresql": cast("Callable[[sa.Table], sqlite.Insert]", postgresql.insert)}
_OF_USER = memories.c.user_id == sa.bindparam("user")
_BY_IDENTITY = _SELECT.where(_OF_USER, memories.c.identity == sa.bindparam("wanted"))
_BY_KEY = _SELECT.where(_OF_USER, memories.c.memory_key == sa.bindparam("wanted"))
_SCHEMA_GONE = re.compile(r"no such table|relation .* does not exist|UndefinedTable")
_LAST_USE = sa.func.coalesce(access.c.accessed_at, memories.c.created_at)
_INSERT_NEW = {
    dialect: insert(memories).on_conflict_do_nothing().returning(memories.c.id) for dialect, insert in _INSERT.items()
}
_NOT_DELETED = sa.delete(deletions).where(
    deletions.c.user_id == sa.bindparam("user"), deletions.c.memory_key == sa.bindparam("wanted")
)


class SQLAlchemyStore:
    """A `MemoryStore` in SQLite or PostgreSQL. Safe under threads and for several processes on one database.

    Nothing is opened before the first use. SQLite databases are created and migrated then; PostgreSQL schemas are
    created where there is none. Engines are shared per URL and process.

    Args:
        store: A URL, an engine, or a connection pool. None: the variable ``MEMORY_CONTEXT_STORE``, else
            ``sqlite:///memory.db`` in the working directory. ``sqlite://`` is a database in memory, gone when the store
            is closed.
        password_variable: The environment variable with the password of a URL that has none.

    Raises:
        UnsupportedDatabaseError: Neither SQLite nor PostgreSQL through psycopg.
        MissingDependencyError: The driver cannot be loaded.
    """

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | None = None,
        *,
        password_variable: str = _engines.PASSWORD_VARIABLE,
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

    def put(self, scope: Scope, item: MemoryItem, *, replace: bool = False) -> MemoryItem:
        """See `MemoryStore.put`."""
        _check_scope(scope, item)
        return self._run(lambda connection: _put(connection, item, replace=replace), writes=True)

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        return next(iter(self.get_many(scope, [key])), None)

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        wanted = list(dict.fromkeys(keys))
        batches = (wanted[start : start + KEYS] for start in range(0, len(wanted), KEYS))
        statements = (_SELECT.where(*_within(scope), memories.c.memory_key.in_(batch)) for batch in batches)
        found = {item.memory_key: item for statement in statements for item in self._items(statement)}
        return [found[key] for key in wanted if key in found]

    def query(
        self, scope: Scope, filters: Filters | None = None, *, limit: int | None = None, order_by: str = "-created_at"
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        column = column_named(order_by.removeprefix("-"))
        order = (column.desc(), memories.c.id.desc()) if order_by.startswith("-") else (column, memories.c.id)
        return self._items(_SELECT.where(*self._active(scope, filters)).order_by(*order).limit(limit))

    def search(self, scope: Scope, query: str, *, limit: int = 5, filters: Filters | None = None) -> list[MemoryItem]:
        """See `MemoryStore.search`.

        The score weighs the words that the memory holds, its summary's double. Ties go to the one used last.
        """
        words = terms("".join(char for char in query if is_storable(char)))
        if not words:
            return self.query(scope, filters, limit=limit)
        score = sum((_weight(word) for word in words), start=sa.literal(0)).label("score")
        statement = (
            _SELECT.add_columns(score)
            .where(*self._active(scope, filters), score > 0)
            .order_by(score.desc(), _LAST_USE.desc(), memories.c.id)
            .limit(limit)
        )
        rows = self._run(lambda connection: connection.execute(statement).all())
        return [_with_match(item_of(row), query, row.score) for row in rows]

    def delete(self, scope: Scope, key: str, *, reason: str = "forgotten") -> bool:
        """See `MemoryStore.delete`."""
        where = (*_within(scope), memories.c.memory_key == key)
        return self._run(lambda connection: _delete(connection, where, reason), writes=True) > 0

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        where = (deletions.c.user_id == scope.user_id, deletions.c.memory_key == key)
        row = self._run(lambda connection: connection.execute(sa.select(deletions).where(*where)).one_or_none())
        return Deletion(row.memory_key, row.deleted_at, row.reason) if row else None

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`."""
        where = (*_within(scope), memories.c.memory_key.in_(list(keys)))
        return self._run(lambda connection: _touch(connection, where), writes=True)

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        place = sa.tuple_(memories.c.created_at, memories.c.id)
        statement = _SELECT.where(*_within(scope)).order_by(memories.c.created_at, memories.c.id).limit(PAGE)
        page = self._items(statement)
        while page:
            yield from page
            last = sa.tuple_(sa.literal(page[-1].created_at, UTCDateTime), sa.literal(page[-1].id, sa.Uuid))
            page = self._items(statement.where(place > last))

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        where = tuple(_within(scope))
        return self._run(lambda connection: _delete(connection, where, reason), writes=True)

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        statement = sa.select(sa.func.count()).select_from(memories).where(*self._active(scope, filters))
        return self._run(lambda connection: connection.execute(statement).scalar_one())

    def migrate(self) -> str | None:
        """Bring the schema to this library's revision; returns the revision that was there before.

        Raises:
            SchemaVersionError: The schema is newer than this library.
        """
        return self._transaction(_migrate.migrate, writes=True)

    def close(self) -> None:
        """See `MemoryStore.close`. An engine or pool of the caller's stays open."""
        with self._lock:
            if self._shared is not None:
                _engines.registry.release(self._shared)
            self._engine, self._shared, self._ready = None, None, False

    def _items(self, statement: sa.Select[*tuple[Any, ...]]) -> list[MemoryItem]:
        return [item_of(row) for row in self._run(lambda connection: connection.execute(statement).all())]

    def _active(self, scope: Scope, filters: Filters | None) -> list[sa.ColumnElement[bool]]:
        active = [] if filters and "is_active" in filters else [memories.c.is_active.is_(sa.true())]
        return [*_within(scope), *active, *conditions(filters, self._url.get_backend_name())]

    def _run(self, work: Callable[[sa.Connection], T], *, writes: bool = False) -> T:
        with self._lock:
            if not self._ready:
                if self._transaction(_migrate.revision_of, writes=False) != _migrate.HEAD:
                    self._transaction(_migrate.ensure_schema, writes=True)
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


def _check_scope(scope: Scope, item: MemoryItem) -> None:
    wrong = {name: value for name, value in scope.narrowed().items() if getattr(item, name) != value}
    if wrong:
        message = f"a memory of {item.user_id!r} with other values than {wrong} cannot be put into this scope"
        raise InvalidScopeError(message)


def _within(scope: Scope) -> Iterator[sa.ColumnElement[bool]]:
    return (memories.c[name] == value for name, value in scope.narrowed().items())


def _put(connection: sa.Connection, item: MemoryItem, *, replace: bool) -> MemoryItem:
    known = _by_identity(connection, item)
    while known is None and not _inserted(connection, item):
        known = _by_identity(connection, item)
        holder = None if known else _one(connection, _BY_KEY, item.user_id, item.memory_key)
        if holder is not None and not replace and _same(holder, item):
            known = holder
        elif holder is not None and (key := longer_key(item)):
            item = _replaced(item, memory_key=key)
        elif holder is not None and replace:
            return _overwrite(connection, holder, item)
        elif holder is not None:
            message = f"the key {item.memory_key!r} holds another memory; choose another key, forget it, or replace it"
            raise KeyExistsError(message)
    return _revived(connection, known) if known else item


_replaced = replace


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


def _inserted(connection: sa.Connection, item: MemoryItem) -> bool:
    if connection.execute(_INSERT_NEW[connection.dialect.name], row_of(item)).first() is None:
        return False
    connection.execute(_NOT_DELETED, {"user": item.user_id, "wanted": item.memory_key})
    return True


def _overwrite(connection: sa.Connection, old: MemoryItem, new: MemoryItem) -> MemoryItem:
    item = _replaced(new, id=old.id, created_at=old.created_at, updated_at=now())
    connection.execute(sa.update(memories).where(memories.c.id == old.id).values(row_of(item)))
    return item


def _revived(connection: sa.Connection, item: MemoryItem) -> MemoryItem:
    if item.is_active:
        return item
    changed = {"is_active": True, "updated_at": now()}
    connection.execute(sa.update(memories).where(memories.c.id == item.id).values(changed))
    return _replaced(item, **changed)


def _delete(connection: sa.Connection, where: Iterable[sa.ColumnElement[bool]], reason: str) -> int:
    doomed = sa.select(
        memories.c.user_id, memories.c.memory_key, sa.literal(now(), UTCDateTime), sa.literal(reason)
    ).where(*where)
    insert = _INSERT[connection.dialect.name](deletions).from_select([*deletions.c.keys()], doomed)
    fresh = {"deleted_at": insert.excluded.deleted_at, "reason": insert.excluded.reason}
    connection.execute(insert.on_conflict_do_update(index_elements=["user_id", "memory_key"], set_=fresh))
    connection.execute(sa.delete(access).where(access.c.memory_id.in_(sa.select(memories.c.id).where(*where))))
    return connection.execute(sa.delete(memories).where(*where)).rowcount


def _touch(connection: sa.Connection, where: Iterable[sa.ColumnElement[bool]]) -> int:
    read = sa.select(memories.c.id, sa.literal(now(), UTCDateTime), sa.literal(1)).where(*where)
    insert = _INSERT[connection.dialect.name](access).from_select([*access.c.keys()], read)
    fresh = {"accessed_at": insert.excluded.accessed_at, "access_count": access.c.access_count + 1}
    upsert = insert.on_conflict_do_update(index_elements=["memory_id"], set_=fresh).returning(access.c.memory_id)
    return len(connection.execute(upsert).all())


def _weight(word: str) -> sa.ColumnElement[int]:
    described = memories.c.summary.icontains(word, autoescape=True) | memories.c.memory_key.icontains(
        word, autoescape=True
    )
    held = sa.func.coalesce(memories.c.content.icontains(word, autoescape=True), sa.false())
    return sa.case((described, SUMMARY_WEIGHT * weight(word)), else_=0) + sa.case((held, weight(word)), else_=0)


def _with_match(item: MemoryItem, query: str, score: int) -> MemoryItem:
    passage = excerpt(item.text, query, PASSAGE_CHARACTERS, len).text
    return replace(item, match=Match(float(score), passage))


def as_store(
    store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None, password_variable: str = _engines.PASSWORD_VARIABLE
) -> MemoryStore:
    """`store` itself if it is one, else a `SQLAlchemyStore` on it."""
    if store is None or isinstance(store, str | sa.URL | sa.Engine | sa.Pool):
        return SQLAlchemyStore(store, password_variable=password_variable)
    if isinstance(store, MemoryStore):
        return store
    message = f"a store is a URL, an engine, a pool or a MemoryStore, not {type(store).__name__}"
    raise InvalidArgumentError(message)
