"""Removing a user without a trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import cast

import sqlalchemy as sa

from memory_context.stores.sql import file_watch, partitions
from memory_context.stores.sql.dialects import is_sqlite
from memory_context.stores.sql.index import fts5, vector_index
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


def counts(connection: sa.Connection, user_id: str) -> dict[str, int]:
    """Return how much there is of a user, by the fields of a `Receipt`."""
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
    """Remove what is noted of a user beside memories."""
    for table in (deletions, audit, calls, pending, owners):
        connection.execute(sa.delete(table).filter_by(user_id=user_id))


def merge_index(connection: sa.Connection) -> None:
    """Rewrite SQLite's index without what was deleted.

    FTS5 only marks it as deleted until its segments merge.
    """
    if is_sqlite(connection):
        connection.exec_driver_sql(fts5.OPTIMIZE)


def scrub(engine: sa.Engine, user_id: str | None = None) -> bool:
    """Empty SQLite's log, or vacuum PostgreSQL's tables; return whether nobody was in the way.

    Of a user, only PostgreSQL's pages that held something of theirs are, in their parts of partitioned tables: its
    indexes would be read from end to end, and keep their words all the same.
    """
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, file_watch.on_its_file(connection, engine):
            # By the driver's own connection: SQLAlchemy would begin a transaction, in which this
            # fails.
            driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            busy: int = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy
    # VACUUM refuses to run in a transaction.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        part = "" if user_id is None else partitions.part_of(connection, user_id)
        options = "" if user_id is None else "(INDEX_CLEANUP OFF) "
        for table in (*metadata.sorted_tables, *vector_index.tables(connection)):
            name = f"{table.name}{part}" if "user_id" in table.c else table.name
            quoted = connection.dialect.identifier_preparer.quote(name)
            connection.exec_driver_sql(f"VACUUM {options}{quoted}")
    return True
