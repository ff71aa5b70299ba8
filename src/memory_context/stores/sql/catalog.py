"""What a database holds, without its contents: for people, and across users for an administrator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast, get_args
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.model.item import MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.protocol import Filters, MemoryStore
from memory_context.stores.sql.filters import conditions, within
from memory_context.stores.sql.schema import UTCDateTime, access, memories, pending
from memory_context.stores.wrappers.wrapper import StoreWrapper, innermost, wrappers

T = TypeVar("T")
Sort: TypeAlias = Literal["newest", "oldest", "largest", "important", "key", "used"]
SORTS = get_args(Sort)
EXPIRED = "expired"


class _Run(Protocol):
    def __call__(self, work: Callable[[sa.Connection], T], /) -> T: ...


class _Delete(Protocol):
    def __call__(
        self, user_id: str, where: Sequence[sa.ColumnElement[bool]], reason: str, /
    ) -> int: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A record without its content; the attributes are those of `MemoryItem`."""

    user_id: str
    memory_key: str
    memory_type: str
    tier: str
    tier_id: str | None
    agent_id: str | None
    thread_id: str | None
    summary: str
    media_type: str
    category: str | None
    tags: tuple[str, ...]
    importance: float
    token_count: int
    char_count: int
    line_count: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    is_active: bool
    accessed_at: datetime | None
    access_count: int


@dataclass(frozen=True, slots=True)
class Total:
    """How much there is of a kind.

    Attributes:
        name: The user, type or tier.
        memories: How many, evicted ones too.
        evicted: How many of them are no longer offered.
        tokens: Of all texts together.
        characters: Of all contents together; bytes of binary ones.
        newest: When the last one was stored.
    """

    name: str
    memories: int
    evicted: int
    tokens: int
    characters: int
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A conversation, as far as it has stored something.

    Attributes:
        thread_id: Its name.
        memories: How many memories were made in it.
        tokens: Of all their texts.
        agents: How many agents have made them.
        first: When the first one was stored.
        last: When the last one was stored.
    """

    thread_id: str
    memories: int
    tokens: int
    agents: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Doomed:
    """Which memories are to go, and what is said of it afterwards.

    Attributes:
        reason: Why they go.
        before: What happened at this moment or before is over.
        since: What happened: ``expired``, ``created``, ``changed`` or ``read``.
        memory_type: Only of this type.
        tier: Only of this tier.
        evicted: Only those that are not active.
    """

    reason: str
    before: datetime
    since: Literal["expired", "created", "changed", "read"]
    memory_type: str | None = None
    tier: str | None = None
    evicted: bool = False


_READ_AT = (
    sa.select(access.c.accessed_at).where(access.c.memory_id == memories.c.id).scalar_subquery()
)
_SINCE: dict[str, sa.ColumnElement[Any]] = {
    "expired": memories.c.expires_at,
    "created": memories.c.created_at,
    "changed": memories.c.updated_at,
    "read": sa.func.coalesce(_READ_AT, memories.c.created_at, type_=UTCDateTime),
}
_FACTS = [
    field.name for field in fields(Entry) if field.name not in ("accessed_at", "access_count")
]
_ENTRIES = sa.select(
    *(memories.c[name] for name in _FACTS),
    access.c.accessed_at,
    sa.func.coalesce(access.c.access_count, 0).label("access_count"),
).select_from(memories.outerjoin(access, access.c.memory_id == memories.c.id))
_ORDERS: dict[Sort, Sequence[sa.ColumnElement[Any]]] = {
    "newest": (memories.c.created_at.desc(), memories.c.id.desc()),
    "oldest": (memories.c.created_at, memories.c.id),
    "largest": (memories.c.token_count.desc(), memories.c.char_count.desc(), memories.c.id),
    "important": (memories.c.importance.desc(), memories.c.created_at.desc(), memories.c.id),
    "key": (memories.c.memory_key,),
    "used": (sa.func.coalesce(access.c.accessed_at, memories.c.created_at).desc(), memories.c.id),
}
_COUNT = sa.func.count()
_SIZES = {
    "sqlite": sa.text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"),
    "postgresql": sa.text("""SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relkind = 'r' AND relname LIKE 'agent^_memor%' ESCAPE '^' AND pg_table_is_visible(oid)"""),
}


class Catalog:
    """What a store holds; of a store around another one, what the innermost does, and descriptions as it gives them.

    Args:
        store: The store.

    Raises:
        StoreError: It is of a kind that keeps no catalog: not one of this library's.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store, inside = store, innermost(store)
        run, delete = getattr(inside, "_run", None), getattr(inside, "_delete", None)
        if run is None or delete is None:
            message = f"{inside!r} keeps no catalog; use a database or a FileStore"
            raise StoreError(message)
        self._run, self._delete = cast("_Run", run), cast("_Delete", delete)

    def entries(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        sort: Sort = "newest",
        limit: int = 50,
        offset: int = 0,
    ) -> list[Entry]:
        """The records that match, without their contents; active ones, unless the filters say something else.

        Raises:
            InvalidFilterError: There is no such column, or no such operator.
            InvalidArgumentError: There is no such order.
        """
        if sort not in SORTS:
            message = f"records are sorted by {', '.join(SORTS)}, not {sort!r}"
            raise InvalidArgumentError(message)
        self._check(filters)

        def read(connection: sa.Connection) -> list[Entry]:
            chosen = _ENTRIES.where(*_chosen(connection, scope, filters)).order_by(*_ORDERS[sort])
            return [_entry(row) for row in connection.execute(chosen.limit(limit).offset(offset))]

        return self._given(scope, self._run(read))

    def _check(self, filters: Filters | None) -> None:
        for wrapper in wrappers(self._store):
            wrapper.check_columns(*(filters or {}))

    def _given(self, scope: Scope, entries: list[Entry]) -> list[Entry]:
        """The records as the store around the innermost one gives them."""
        if not isinstance(self._store, StoreWrapper):
            return entries
        items = {
            item.memory_key: item
            for item in self._store.get_many(scope, [one.memory_key for one in entries])
        }
        return [
            _as_given(entry, items[entry.memory_key])
            for entry in entries
            if entry.memory_key in items
        ]

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """How many records match."""
        self._check(filters)
        return self._run(
            lambda connection: connection.execute(
                sa.select(_COUNT).select_from(memories).where(*_chosen(connection, scope, filters))
            ).scalar_one()
        )

    def totals(
        self, column: Literal["user_id", "memory_type", "tier"], user: str | None = None
    ) -> list[Total]:
        """How much there is by user, type or tier, most first; of one user, or of all."""
        name = memories.c[column]
        statement = (
            sa.select(
                name,
                _COUNT.label("memories"),
                sa.func.sum(sa.case((memories.c.is_active, 0), else_=1)).label("evicted"),
                sa.func.sum(memories.c.token_count).label("tokens"),
                sa.func.sum(memories.c.char_count).label("characters"),
                sa.func.max(memories.c.created_at).label("newest"),
            )
            .where(*_of(user))
            .group_by(name)
            .order_by(_COUNT.desc(), name)
        )
        rows = self._run(lambda connection: connection.execute(statement).all())
        return [
            Total(
                row[0],
                row.memories,
                int(row.evicted),
                int(row.tokens),
                int(row.characters),
                row.newest,
            )
            for row in rows
        ]

    def threads(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[ThreadSummary]:
        """The conversations that have stored something, the last used first."""
        last = sa.func.max(memories.c.created_at).label("last")
        statement = (
            sa.select(
                memories.c.thread_id,
                _COUNT.label("memories"),
                sa.func.sum(memories.c.token_count).label("tokens"),
                sa.func.count(memories.c.agent_id.distinct()).label("agents"),
                sa.func.min(memories.c.created_at).label("first"),
                last,
            )
            .where(*within(scope), memories.c.thread_id.is_not(None))
            .group_by(memories.c.thread_id)
            .order_by(last.desc(), memories.c.thread_id)
            .limit(limit)
            .offset(offset)
        )
        rows = self._run(lambda connection: connection.execute(statement).all())
        return [
            ThreadSummary(
                row.thread_id, row.memories, int(row.tokens), row.agents, row.first, row.last
            )
            for row in rows
        ]

    def count_threads(self, user: str | None = None) -> int:
        """How many conversations have stored something."""
        pairs = (
            sa.select(memories.c.user_id, memories.c.thread_id)
            .where(*_of(user), memories.c.thread_id.is_not(None))
            .distinct()
        )
        statement = sa.select(_COUNT).select_from(pairs.subquery())
        return self._run(lambda connection: connection.execute(statement).scalar_one())

    def count_pending(self, user: str | None = None) -> int:
        """How many memories the index does not hold in full yet."""
        mine = () if user is None else (pending.c.user_id == user,)
        inside = sa.select(memories.c.id).where(memories.c.id == pending.c.memory_id, *_of(user))
        statement = sa.select(_COUNT).select_from(pending).where(*mine, sa.exists(inside))
        return self._run(lambda connection: connection.execute(statement).scalar_one())

    def size(self) -> int:
        """The bytes that the database takes, the index too."""
        return self._run(
            lambda connection: int(
                connection.execute(_SIZES[connection.dialect.name]).scalar() or 0
            )
        )

    def doomed(self, which: Doomed, user: str | None = None) -> list[tuple[str, UUID]]:
        """User and id of the memories that are to go, user by user, oldest first; of one user, or of all."""
        statement = sa.select(memories.c.user_id, memories.c.id).where(*_of(user), *_over(which))
        chosen = statement.order_by(memories.c.user_id, memories.c.created_at, memories.c.id)
        return [
            (row.user_id, row.id)
            for row in self._run(lambda connection: connection.execute(chosen).all())
        ]

    def keys_of(self, user: str, ids: Sequence[UUID]) -> list[str]:
        """The keys of those of a user's memories that are there, in their order."""
        statement = sa.select(memories.c.memory_key).where(
            memories.c.user_id == user, memories.c.id.in_(ids)
        )
        chosen = statement.order_by(memories.c.memory_key)
        return self._run(lambda connection: list(connection.execute(chosen).scalars()))

    def delete_doomed(self, user: str, ids: Sequence[UUID], which: Doomed) -> int:
        """Delete those of a user's memories that are to go, in one transaction; how many there were.

        One that is no longer to go, because it was written anew or read meanwhile, stays. What has so many passages
        that others would wait for it too long is taken out of SQLite's index in transactions of its own.
        """
        where = (memories.c.user_id == user, memories.c.id.in_(ids), *_over(which))
        return self._delete(user, where, which.reason)

    def keys_from(self, scope: Scope, start: str, limit: int) -> list[str]:
        """The first keys that begin with `start`."""
        begins = sa.func.substr(memories.c.memory_key, 1, len(start)) == start
        statement = sa.select(memories.c.memory_key).where(*within(scope), begins)
        chosen = statement.order_by(memories.c.memory_key).limit(limit)
        return self._run(lambda connection: list(connection.execute(chosen).scalars()))


def _entry(row: sa.Row[*tuple[Any, ...]]) -> Entry:
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001 - Row's public API
    values["tags"] = tuple(values["tags"])
    return Entry(**values)


def _as_given(entry: Entry, item: MemoryItem) -> Entry:
    changed = {name: getattr(item, name) for name in ("summary", "media_type", "category", "tags")}
    return replace(entry, **changed)


def _of(user: str | None) -> Sequence[sa.ColumnElement[bool]]:
    return () if user is None else (memories.c.user_id == user,)


def _over(which: Doomed) -> list[sa.ColumnElement[bool]]:
    wanted = {"memory_type": which.memory_type, "tier": which.tier}
    same = [memories.c[name] == value for name, value in wanted.items() if value is not None]
    evicted = [memories.c.is_active.is_(sa.false())] if which.evicted else []
    return [_SINCE[which.since] <= which.before, *same, *evicted]


def _chosen(
    connection: sa.Connection, scope: Scope, filters: Filters | None
) -> list[sa.ColumnElement[bool]]:
    active = [] if filters and "is_active" in filters else [memories.c.is_active.is_(sa.true())]
    return [*within(scope), *active, *conditions(filters, connection.dialect.name)]
