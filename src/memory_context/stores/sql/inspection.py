"""How a database is: each function reads on a connection; nothing is created, upgraded or indexed by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from memory_context.model.item import MemoryItem, now
from memory_context.stores.sql.engines import is_memory, store_url
from memory_context.stores.sql.index import fts5, keyword_index, tsvector
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.schema import access, memories, metadata, owners, passages, pending
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.text.index import bm25
from memory_context.text.index.chunks import ChunkStart, card_of, chunk_at, searchable

T = TypeVar("T")

SAMPLED = 20
LARGEST_SAMPLED = 1_000_000
NAMES_TRIED = 5
DAMAGES_TOLD = 5
_SERVER = {
    "sqlite": "SELECT 'SQLite ' || sqlite_version()",
    "postgresql": "SELECT 'PostgreSQL ' || current_setting('server_version')",
}
_COUNT = sa.func.count()


def look(store: SQLAlchemyStore, work: Callable[[sa.Connection], T]) -> T:
    """What `work` finds, in a transaction that does not even create a schema.

    Raises:
        StoreError: The database cannot be read.
    """
    return store._transaction(work, writes=False)  # noqa: SLF001 - of this package


def missing_file(url: str) -> str | None:
    """The file of a SQLite database, if it is not there; opening it would make an empty one.

    Raises:
        UnsupportedDatabaseError: It is not a URL of SQLite or PostgreSQL.
    """
    parsed = store_url(url)
    if (
        parsed.get_backend_name() != "sqlite"
        or is_memory(parsed)
        or str(parsed.database).startswith("file:")
    ):
        return None
    return None if Path(str(parsed.database)).exists() else str(parsed.database)


def server(connection: sa.Connection) -> str:
    """What database it is, with its version."""
    return str(connection.exec_driver_sql(_SERVER[connection.dialect.name]).scalar())


def damage(connection: sa.Connection) -> list[str]:
    """What SQLite itself finds wrong in the file, a few lines at most; PostgreSQL looks after that by itself."""
    if connection.dialect.name != "sqlite":
        return []
    found = connection.exec_driver_sql(f"PRAGMA quick_check({DAMAGES_TOLD})").scalars().all()
    return [str(line) for line in found if line != "ok"]


def missing(connection: sa.Connection) -> list[str]:
    """The tables and indexes of the schema that are not there."""
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    wanted = {table.name for table in metadata.sorted_tables}
    if connection.dialect.name == "sqlite":
        wanted.add(fts5.TABLE)
    lacking = sorted(wanted - there)
    for table in metadata.sorted_tables:
        if table.name in there:
            known = {index["name"] for index in inspector.get_indexes(table.name)}
            lacking += sorted(str(index.name) for index in table.indexes if index.name not in known)
    return lacking


def count_pending(connection: sa.Connection) -> int:
    """How many memories the index does not hold in full yet."""
    return connection.execute(sa.select(_COUNT).select_from(pending)).scalar_one()


def count_expired(connection: sa.Connection) -> int:
    """How many memories are over their time."""
    return connection.execute(
        sa.select(_COUNT).select_from(memories).where(memories.c.expires_at <= now())
    ).scalar_one()


def count_unindexed(connection: sa.Connection) -> int:
    """How many memories the index neither holds nor waits for."""
    held = sa.exists(sa.select(passages.c.id).where(passages.c.memory_id == memories.c.id))
    waiting = sa.exists(sa.select(pending.c.memory_id).where(pending.c.memory_id == memories.c.id))
    return connection.execute(
        sa.select(_COUNT).select_from(memories).where(~held, ~waiting)
    ).scalar_one()


def count_orphans(connection: sa.Connection) -> int:
    """How many rows belong to memories that are gone."""
    return sum(
        connection.execute(
            sa.select(_COUNT)
            .select_from(table)
            .where(~sa.exists(sa.select(memories.c.id).where(memories.c.id == table.c.memory_id)))
        ).scalar_one()
        for table in (passages, pending, access)
    )


def miscounted(connection: sa.Connection) -> list[str]:
    """The users for whom the index has other passages than were counted for its ranking."""
    found = (
        sa.select(
            memories.c.user_id,
            _COUNT.label("passages"),
            sa.func.sum(passages.c.length).label("length"),
        )
        .select_from(passages.join(memories, memories.c.id == passages.c.memory_id))
        .group_by(memories.c.user_id)
        .subquery()
    )
    wrong = (owners.c.passages != sa.func.coalesce(found.c.passages, 0)) | (
        owners.c.length != sa.func.coalesce(found.c.length, 0)
    )
    joined = owners.outerjoin(found, found.c.user_id == owners.c.user_id)
    return list(
        connection.execute(sa.select(owners.c.user_id).select_from(joined).where(wrong)).scalars()
    )


def unfindable(connection: sa.Connection) -> list[str]:
    """Of a sample, the keys of memories whose first passage the index holds under other words than it has."""
    return [item.memory_key for item in _sample(connection) if not _is_found(connection, item)]


def _sample(connection: sa.Connection) -> list[MemoryItem]:
    """The newest and the oldest indexed memories; not the largest ones."""
    indexed = sa.exists(sa.select(passages.c.id).where(passages.c.memory_id == memories.c.id))
    chosen = RECORDS.where(indexed, memories.c.char_count <= LARGEST_SAMPLED).limit(SAMPLED // 2)
    ends = (memories.c.created_at.desc(), memories.c.created_at)
    items = [item_of(row) for end in ends for row in connection.execute(chosen.order_by(end))]
    return list({item.id: item for item in items}.values())


def _is_found(connection: sa.Connection, item: MemoryItem) -> bool:
    where = (passages.c.memory_id == item.id, passages.c.ordinal == 0)
    row = connection.execute(sa.select(passages).where(*where)).one_or_none()
    statistics = keyword_index.statistics_of(connection, item.user_id)
    if row is None or statistics is None:
        return False
    passage = chunk_at(
        searchable(item), ChunkStart(0, row.start, row.line), row.stop, card_of(item)
    )
    names = bm25.owned(passage.names, statistics.owner).split()
    holds = tsvector.holds if connection.dialect.name == "postgresql" else fts5.holds
    return all(holds(connection, row.id, name) for name in _spread(names))


def _spread(names: Sequence[str]) -> Sequence[str]:
    return names[:: max(len(names) // NAMES_TRIED, 1)]
