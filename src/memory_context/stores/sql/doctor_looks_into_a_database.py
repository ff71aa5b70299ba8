"""Looking into a database for `doctor`. The functions only read; they do not create, upgrade or index anything."""

from __future__ import annotations

import sqlalchemy as sa

from memory_context.stores.sql.index import fts5
from memory_context.stores.sql.schema import count_rows, metadata, pending
from memory_context.stores.sql.upserts_locks_and_settings import is_sqlite
from memory_context.stores.sql.urls import file_of, store_url

DAMAGES_REPORTED = 5
# What may be wrong with the index, and the statement that counts how often it is.
_FAULTS = {
    "memories neither indexed nor pending": """
SELECT count(*) FROM agent_memories AS m
WHERE NOT EXISTS (SELECT 1 FROM agent_memory_passages AS p WHERE p.user_id = m.user_id AND p.memory_id = m.id)
    AND NOT EXISTS (SELECT 1 FROM agent_memory_pending AS p WHERE p.user_id = m.user_id AND p.memory_id = m.id)
""",
    "rows of memories that are gone": """
SELECT count(*) FROM (
    SELECT user_id, memory_id FROM agent_memory_passages
    UNION ALL SELECT user_id, memory_id FROM agent_memory_pending
    UNION ALL SELECT user_id, memory_id FROM agent_memory_access
) AS owned
WHERE NOT EXISTS (
    SELECT 1 FROM agent_memories AS m WHERE m.user_id = owned.user_id AND m.id = owned.memory_id
)
""",
    "users with wrong counts": """
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


def faults(connection: sa.Connection) -> dict[str, int]:
    """Return how often the index differs from what is stored, by what is wrong."""
    return {
        fault: int(connection.exec_driver_sql(count).scalar_one())
        for fault, count in _FAULTS.items()
    }
