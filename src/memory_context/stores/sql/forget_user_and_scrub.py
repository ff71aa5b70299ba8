"""Forgetting a user: removing every trace of them from the tables and from the database's files."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from memory_context.stores.sql import hash_partitioned_tables, replaced_sqlite_files
from memory_context.stores.sql.index import fts5, vector_index
from memory_context.stores.sql.prepared_statements import driver_of
from memory_context.stores.sql.schema import (
    access,
    audit,
    calls,
    count_rows,
    deletions,
    memories,
    metadata,
    owners,
    passages,
    pending,
)
from memory_context.stores.sql.transactions import Database
from memory_context.stores.sql.upserts_locks_and_settings import is_sqlite


def counts(connection: sa.Connection, user_id: str) -> dict[str, int]:
    """Return the numbers of a user's rows, by the fields of a `Receipt`."""
    counted: dict[str, Sequence[sa.FromClause]] = {
        "memories": [memories],
        "passages": [passages],
        "vectors": vector_index.tables(connection),
        "reads": [access],
        "deletions": [deletions],
        "audit_entries": [audit],
        "calls": [calls],
    }
    return {
        name: sum(count_rows(connection, table, user_id=user_id) for table in tables)
        for name, tables in counted.items()
    }


def remove_notes(connection: sa.Connection, user_id: str) -> None:
    """Delete a user's rows in the tables that do not belong to a memory: deletions, audit trail, calls and more."""
    for table in (deletions, audit, calls, pending, owners):
        connection.execute(sa.delete(table).filter_by(user_id=user_id))


def scrub(database: Database, user_id: str | None = None) -> bool:
    """Remove the remains of deleted rows from the database's files.

    SQLite's index is rewritten, and its write-ahead log emptied. PostgreSQL's tables are vacuumed.

    On PostgreSQL, with *user_id*, only the user's parts of partitioned tables are vacuumed, and without their indexes:
    that would read them from end to end, and they would still keep the user's words.

    Returns:
        Whether it is complete; it is not if another connection was using SQLite's log.
    """
    database.write(_merge_index)
    with database.errors():
        return _scrub_files(database.engine, user_id)


def _merge_index(connection: sa.Connection) -> None:
    """Rewrite SQLite's index without deleted entries, which FTS5 only marks as deleted until its segments merge."""
    if is_sqlite(connection):
        connection.exec_driver_sql(fts5.OPTIMIZE)


def _scrub_files(engine: sa.Engine, user_id: str | None) -> bool:
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, replaced_sqlite_files.on_its_file(connection, engine):
            # On the driver's own connection, because SQLAlchemy would begin a transaction, in which
            # the checkpoint fails.
            checked = driver_of(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            is_busy = checked.fetchone()[0]
            return not is_busy
    # VACUUM refuses to run in a transaction.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        part = options = ""
        if user_id is not None:
            part = hash_partitioned_tables.part_of(connection, user_id)
            options = "(INDEX_CLEANUP OFF) "
        for table in (*metadata.sorted_tables, *vector_index.tables(connection)):
            name = f"{table.name}{part}" if "user_id" in table.c else table.name
            quoted = connection.dialect.identifier_preparer.quote(name)
            connection.exec_driver_sql(f"VACUUM {options}{quoted}")
    return True
