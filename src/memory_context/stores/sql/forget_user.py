"""Removing a user without a trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import cast

import sqlalchemy as sa

from memory_context.stores.sql import file_watch
from memory_context.stores.sql.index import vector_index
from memory_context.stores.sql.schema import (
    access,
    audit,
    deletions,
    memories,
    metadata,
    owners,
    passages,
    pending,
)

_OPTIMIZE = "INSERT INTO agent_memory_index(agent_memory_index) VALUES ('optimize')"


def counts(connection: sa.Connection, user_id: str) -> Mapping[str, int]:
    """How much there is of a user, by the fields of a `Receipt`."""
    mine = sa.select(memories.c.id).where(memories.c.user_id == user_id)
    found = {
        "memories": _count(connection, memories, memories.c.user_id == user_id),
        "passages": _count(connection, passages, passages.c.memory_id.in_(mine)),
        "reads": _count(connection, access, access.c.memory_id.in_(mine)),
        "deletions": _count(connection, deletions, deletions.c.user_id == user_id),
        "audit_entries": _count(connection, audit, audit.c.user_id == user_id),
    }
    tables = vector_index.tables(connection)
    return found | {
        "vectors": sum(_count(connection, table, table.c.user_id == user_id) for table in tables)
    }


def _count(connection: sa.Connection, table: sa.FromClause, where: sa.ColumnElement[bool]) -> int:
    return connection.execute(
        sa.select(sa.func.count()).select_from(table).where(where)
    ).scalar_one()


def remove_notes(connection: sa.Connection, user_id: str) -> None:
    """Remove what is noted of a user beside memories."""
    for table in (deletions, audit, pending, owners):
        connection.execute(sa.delete(table).where(table.c.user_id == user_id))


def merge_index(connection: sa.Connection) -> None:
    """Write SQLite's index anew without what was deleted: until then its words are there still."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_OPTIMIZE)


def scrub(engine: sa.Engine) -> bool:
    """Empty SQLite's log, or vacuum PostgreSQL's tables, outside a transaction; whether nobody was in the way."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, file_watch.on_its_file(connection):
            driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            busy: int = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for name in (*metadata.tables, *(table.name for table in vector_index.tables(connection))):
            connection.exec_driver_sql(
                f"VACUUM {connection.dialect.identifier_preparer.quote(name)}"
            )
    return True
