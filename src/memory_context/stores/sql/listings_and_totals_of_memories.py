"""The catalog of a store: lists and totals of its memories without their contents, for people and administrators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import (
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    runtime_checkable,
)
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.model.generated_keys import RANDOM_CHARACTERS
from memory_context.model.item import MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.protocol import Filters, MemoryStore, keeper_of
from memory_context.stores.sql.row_encoding import RECORDS
from memory_context.stores.sql.schema import (
    AnyRow,
    Conditions,
    UTCDateTime,
    access,
    belongs,
    count_rows,
    memories,
    narrowed,
    pending,
    total_of,
)
from memory_context.stores.sql.scopes_and_filters_as_sql import matching, within
from memory_context.stores.sql.transactions import Database

T = TypeVar("T")
Sort: TypeAlias = Literal["newest", "oldest", "largest", "important", "key", "used"]
SORTS = get_args(Sort)
Happening: TypeAlias = Literal["expired", "created", "changed", "read"]
"""What may have happened to a memory: its `expires_at`, or that it was created, changed, or read for the last time."""
EXPIRED = "expired"


@runtime_checkable
class TableStore(Protocol):
    """A store that keeps its records in the tables of `schema`."""

    @property
    def database(self) -> Database:
        """Return the database with the tables."""
        ...

    def delete_rows(self, user_id: str, where: Conditions, reason: str) -> list[str]:
        """Delete a user's memories that meet *where*, and note the reason; return their keys."""
        ...


class CatalogTotal(NamedTuple):
    """The totals of one user, type or tier.

    Attributes:
        name: The user, type or tier.
        memories: The number of memories, including evicted ones.
        evicted: The number of evicted ones among them.
        tokens: The sum of the tokens of all texts.
        characters: The sum of the characters of all texts, and of the bytes of binary contents.
        newest: When the newest memory was stored.
    """

    name: str
    memories: int
    evicted: int
    tokens: int
    characters: int
    newest: datetime | None


class ThreadSummary(NamedTuple):
    """The memories of one conversation, summed up.

    Attributes:
        thread_id: The conversation.
        memories: The number of memories that were made in it.
        tokens: The sum of their tokens.
        agents: The number of agents that made them.
        first: When the first memory was stored.
        last: When the last memory was stored.
    """

    thread_id: str
    memories: int
    tokens: int
    agents: int
    first: datetime
    last: datetime


class Expiry(NamedTuple):
    """The conditions under which memories have expired (see `happened_by`), and the reason noted when they are deleted."""

    reason: str
    where: Conditions


# A subquery and not a join, because DELETE has no joins. A memory that was never read counts as read
# when it was created.
_READ_AT = sa.select(access.c.accessed_at).where(belongs(access)).scalar_subquery()
_SINCE = {
    "expired": memories.c.expires_at,
    "created": memories.c.created_at,
    "changed": memories.c.updated_at,
    "read": sa.func.coalesce(_READ_AT, memories.c.created_at, type_=UTCDateTime),
}
_NOT_READ: dict[str, Any] = {
    "content": sa.literal("").label("content"),
    "content_bytes": sa.null().label("content_bytes"),
}
_WITHOUT_CONTENTS = RECORDS.with_only_columns(
    *(_NOT_READ.get(column.name, column) for column in RECORDS.selected_columns),
    maintain_column_froms=True,
)
_ORDERS = {
    "newest": (memories.c.created_at.desc(), memories.c.id.desc()),
    "oldest": (memories.c.created_at, memories.c.id),
    "largest": (memories.c.token_count.desc(), memories.c.char_count.desc(), memories.c.id),
    "important": (memories.c.importance.desc(), memories.c.created_at.desc(), memories.c.id),
    "key": (memories.c.memory_key,),
    "used": (sa.func.coalesce(access.c.accessed_at, memories.c.created_at).desc(), memories.c.id),
}
_COUNT = sa.func.count()
# A key of the caller's choice may be shorter than a suffix, and PostgreSQL refuses a negative length.
_TOOLS = sa.text("""
SELECT slug FROM (
    SELECT substr(memory_key, 1, CASE WHEN length(memory_key) > :suffix THEN length(memory_key) - :suffix ELSE 0 END) AS slug
    FROM agent_memories WHERE user_id = :user AND memory_type = 'tool_output'
) AS outputs
WHERE slug <> '' GROUP BY slug ORDER BY count(*) DESC, slug LIMIT 100
""")
_SIZES = {
    "sqlite": sa.text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"),
    # relkind r: tables, with their indexes and large values. The escape keeps "_" from matching any
    # character.
    "postgresql": sa.text("""SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relkind = 'r' AND relname LIKE 'agent^_memor%' ESCAPE '^' AND pg_table_is_visible(oid)"""),
}


class Catalog:
    """Overviews of the records of a store.

    Args:
        store: The store.

    Raises:
        StoreError: The store keeps no catalog, because it is not one of this library's stores.
    """

    def __init__(self, store: MemoryStore) -> None:
        if not isinstance(store, TableStore):
            raise StoreError(f"{store!r} keeps no catalog; use a database or a FileStore")
        self._tables = store
        self._database = store.database
        self._keeper = keeper_of(store)

    def entries(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        sort: Sort = "newest",
        limit: int = 50,
        offset: int = 0,
    ) -> list[MemoryItem]:
        """Return the records that match, only active ones unless *filters* say otherwise.

        Their contents are usually not read, and are "" then.

        Raises:
            InvalidFilterError: There is no such column or operator.
            InvalidArgumentError: There is no such order.
        """
        if sort not in SORTS:
            raise InvalidArgumentError(f"records are sorted by {', '.join(SORTS)}, not {sort!r}")

        hidden = self._database.codec.hidden
        # A codec keeps the columns that it hides (such as the summary) inside the encoded content.
        columns = RECORDS if hidden else _WITHOUT_CONTENTS
        where = matching(scope, filters, self._database.dialect, hidden)
        ordered = columns.where(*where).order_by(*_ORDERS[sort])
        return self._database.items(ordered.limit(limit).offset(offset))

    def totals(
        self, column: Literal["user_id", "memory_type", "tier"], user: str | None = None
    ) -> list[CatalogTotal]:
        """Return the totals by user, type or tier, of one user or of all. Those with the most memories come first."""
        sums = (
            total_of(sa.case((memories.c.is_active, 0), else_=1)),
            total_of(memories.c.token_count),
            total_of(memories.c.char_count),
            sa.func.max(memories.c.created_at),
        )
        return [CatalogTotal(*row) for row in self._most_first(column, user, *sums)]

    def counts(
        self, column: Literal["user_id", "memory_type", "tier"], user: str | None = None
    ) -> dict[str, int]:
        """Return the number of memories by user, type or tier, largest first.

        It is faster than `totals`, which reads each row.
        """
        return dict(map(tuple, self._most_first(column, user)))

    def users(self) -> dict[str, int]:
        """Return the number of memories of each user, largest first; 0 for a user who has model calls only."""
        users = self.counts("user_id")
        if self._keeper:
            for user in self._keeper.callers():
                users.setdefault(user, 0)
        return users

    def tools(self, user: str) -> list[str]:
        """Return the tools that made a user's outputs, the most frequent first, 100 at most.

        A tool's name is taken from the beginning of the generated keys.
        """
        statement = _TOOLS.bindparams(user=user, suffix=RANDOM_CHARACTERS + 1)
        return [name for (name,) in self._database.rows(statement)]

    def threads(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[ThreadSummary]:
        """Return the conversations with memories, the one that stored a memory last first."""
        last = sa.func.max(memories.c.created_at)
        statement = (
            sa.select(
                memories.c.thread_id,
                _COUNT,
                total_of(memories.c.token_count),
                sa.func.count(memories.c.agent_id.distinct()),
                sa.func.min(memories.c.created_at),
                last,
            )
            .where(*within(scope), memories.c.thread_id.is_not(None))
            .group_by(memories.c.thread_id)
            .order_by(last.desc(), memories.c.thread_id)
            .limit(limit)
            .offset(offset)
        )
        return [ThreadSummary(*row) for row in self._database.rows(statement)]

    def count_threads(self, user: str | None = None) -> int:
        """Return the number of conversations with memories."""
        pairs = (
            sa.select(memories.c.user_id, memories.c.thread_id)
            .where(*narrowed(memories, user_id=user), memories.c.thread_id.is_not(None))
            .distinct()
        )
        return self._database.read(count_rows, table=pairs.subquery())

    def count_pending(self, user: str | None = None) -> int:
        """Return the number of memories that are not fully indexed yet."""
        where = narrowed(pending, user_id=user)
        return self._database.read(count_rows, pending, *where)

    def size(self) -> int:
        """Return the size of the database in bytes, including the index."""
        [[size]] = self._database.rows(_SIZES[self._database.dialect])
        return int(size or 0)

    def expired(self, expiry: Expiry, user: str | None = None) -> list[tuple[str, UUID]]:
        """Return user and id of the expired memories, user by user, oldest first."""
        if user is not None:
            user = Scope(user).user_id
        ids = sa.select(memories.c.user_id, memories.c.id)
        expired = ids.where(*narrowed(memories, user_id=user), *expiry.where)
        oldest_first = expired.order_by(memories.c.user_id, memories.c.created_at, memories.c.id)
        return [(row.user_id, row.id) for row in self._database.rows(oldest_first)]

    def delete_expired(self, user: str, ids: Sequence[UUID], expiry: Expiry) -> list[str]:
        """Delete those of the user's memories *ids* that have expired; return their keys.

        A memory that is no longer expired, because it was rewritten or read meanwhile, stays. A
        memory with many chunks is removed from SQLite's index in several transactions, so that
        other writers do not wait too long.
        """
        where = (memories.c.user_id == user, memories.c.id.in_(ids), *expiry.where)
        return self._tables.delete_rows(user, where, expiry.reason)

    def keys_from(self, scope: Scope, start: str, limit: int) -> list[str]:
        """Return the keys that begin with *start*, sorted; the first *limit* of them."""
        key = memories.c.memory_key
        # Not LIKE, for which a key may hold wildcards, and which ignores case on SQLite.
        beginning = sa.func.substr(key, 1, len(start))
        keys = sa.select(key).where(*within(scope), beginning == start).order_by(key)
        return [row.memory_key for row in self._database.rows(keys.limit(limit))]

    def _most_first(
        self, column: str, user: str | None, *sums: sa.ColumnElement[Any]
    ) -> Sequence[AnyRow]:
        """Return each value of *column* with its number of memories and their *sums*, the most frequent first."""
        name = memories.c[column]
        statement = sa.select(name, _COUNT, *sums).where(*narrowed(memories, user_id=user))
        return self._database.rows(statement.group_by(name).order_by(_COUNT.desc(), name))


def happened_by(event: Happening, moment: datetime, **columns: object) -> Conditions:
    """Match memories to which *event* happened at this moment or earlier, and whose *columns* have the given values.

    A value of None is not a condition.
    """
    return [*narrowed(memories, **columns), _SINCE[event] <= moment]
