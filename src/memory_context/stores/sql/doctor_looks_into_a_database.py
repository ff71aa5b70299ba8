"""Looking into a database for `doctor`. The functions only read; they do not create, upgrade or index anything."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import MemoryItem, now
from memory_context.stores.sql.index import fts5, keyword_index
from memory_context.stores.sql.row_encoding import RECORDS, records
from memory_context.stores.sql.schema import (
    MEMORY_IDS,
    belongs,
    count_rows,
    memories,
    metadata,
    passages,
    pending,
    this_memory,
)
from memory_context.stores.sql.upserts_locks_and_settings import is_sqlite
from memory_context.stores.sql.urls import file_of, store_url
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.chunks import card_of, end_of_chunk, searchable

# Enough memories to notice an index of another analyzer, and few enough to be checked quickly.
SAMPLED = 20
# Larger memories, in characters, are not sampled, because analyzing them would take minutes.
LARGEST_SAMPLED = 1_000_000
LEXEMES_TRIED = 5
DAMAGES_REPORTED = 5
# What may be wrong with the index, and the statement that counts how often it is.
_FAULTS = {
    "memories are neither indexed nor pending": """
SELECT count(*) FROM agent_memories AS m
WHERE NOT EXISTS (SELECT 1 FROM agent_memory_passages AS p WHERE p.user_id = m.user_id AND p.memory_id = m.id)
    AND NOT EXISTS (SELECT 1 FROM agent_memory_pending AS p WHERE p.user_id = m.user_id AND p.memory_id = m.id)
""",
    "rows belong to memories that are gone": """
SELECT count(*) FROM (
    SELECT user_id, memory_id FROM agent_memory_passages
    UNION ALL SELECT user_id, memory_id FROM agent_memory_pending
    UNION ALL SELECT user_id, memory_id FROM agent_memory_access
) AS owned
WHERE NOT EXISTS (
    SELECT 1 FROM agent_memories AS m WHERE m.user_id = owned.user_id AND m.id = owned.memory_id
)
""",
    "users have wrong counts": """
SELECT count(*) FROM agent_memory_owners AS owners LEFT JOIN (
    SELECT user_id, count(*) AS passages, sum(length) AS length FROM agent_memory_passages GROUP BY user_id
) AS found ON found.user_id = owners.user_id
WHERE owners.passages <> coalesce(found.passages, 0) OR owners.length <> coalesce(found.length, 0)
""",
}
_SERVER = {
    "sqlite": "SELECT 'SQLite ' || sqlite_version()",
    "postgresql": "SELECT 'PostgreSQL ' || current_setting('server_version')",
}


def missing_file(url: str) -> str | None:
    """Return the path of a SQLite database's file if it does not exist.

    Callers check this first, because opening the database would create an empty file.

    Raises:
        UnsupportedDatabaseError: It is not a URL of SQLite or PostgreSQL.
    """
    file = file_of(store_url(url))
    return None if file is None or file.exists() else str(file)


def server(connection: sa.Connection) -> str:
    """Return the name of the database, with its version."""
    return str(connection.exec_driver_sql(_SERVER[connection.dialect.name]).scalar())


def damage(connection: sa.Connection) -> list[str]:
    """Return the damages that SQLite itself finds in the file, a few lines at most; nothing for PostgreSQL."""
    if not is_sqlite(connection):
        return []
    # Not integrity_check, which also compares every index with its table, and takes many times longer.
    lines = connection.exec_driver_sql(f"PRAGMA quick_check({DAMAGES_REPORTED})").scalars()
    return [str(line) for line in lines if line != "ok"]


def missing(connection: sa.Connection) -> list[str]:
    """Return the names of the schema's tables and indexes that do not exist."""
    inspector = sa.inspect(connection)
    existing = set(inspector.get_table_names())
    wanted = {table.name for table in metadata.sorted_tables}
    if is_sqlite(connection):
        wanted.add(fts5.TABLE)
    lacking = sorted(wanted - existing)
    for table in metadata.sorted_tables:
        if table.name in existing:
            known = {index["name"] for index in inspector.get_indexes(table.name)}
            lacking += sorted({str(index.name) for index in table.indexes} - known)
    return lacking


def count_pending(connection: sa.Connection) -> int:
    """Return the number of memories that are not fully indexed yet."""
    return count_rows(connection, pending)


def count_expired(connection: sa.Connection) -> int:
    """Return the number of memories that have expired."""
    return count_rows(connection, memories, memories.c.expires_at <= now())


def faults(connection: sa.Connection) -> dict[str, int]:
    """Return how often the index differs from what is stored, by what is wrong.

    Whether memories are found by their own words is checked for a sample only.
    """
    counts = {
        fault: int(connection.exec_driver_sql(count).scalar_one())
        for fault, count in _FAULTS.items()
    }
    return counts | {
        "sampled memories are indexed under other words": _count_unfindable(connection)
    }


def _count_unfindable(connection: sa.Connection) -> int:
    """Return the number of memories that the index does not find by their own words.

    Only a sample is checked: the newest and the oldest indexed memories, without the largest.
    """
    indexed = sa.exists().select_from(passages).where(belongs(passages))
    small = RECORDS.where(indexed, memories.c.char_count <= LARGEST_SAMPLED)
    wrong: set[UUID] = set()
    for order in (memories.c.created_at.desc(), memories.c.created_at):
        for item in records(connection, small.order_by(order).limit(SAMPLED // 2)):
            if not _is_found(connection, item):
                wrong.add(item.id)
    return len(wrong)


def _is_found(connection: sa.Connection, item: MemoryItem) -> bool:
    text = searchable(item)
    lexemes = [*analyze(text[: end_of_chunk(text, 0)]).counts, *card_of(item)]
    # A few lexemes, spread evenly over the list, because each of them is a query.
    step = max(len(lexemes) // LEXEMES_TRIED, 1)
    spread = lexemes[::step]
    this = MEMORY_IDS.where(*this_memory(item.user_id, item.id))
    return all(
        keyword_index.ranked(connection, item.user_id, [lexeme], this, 1) for lexeme in spread
    )
