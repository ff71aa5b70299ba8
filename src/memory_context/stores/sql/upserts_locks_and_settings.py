"""Differences between SQLite and PostgreSQL, upserts, locks, and the settings that a database stores about itself."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert

from memory_context.stores.sql.schema import settings

# Only the dialects' own inserts have ON CONFLICT. SQLite adopted its syntax from PostgreSQL, so
# SQLAlchemy can render PostgreSQL's insert for either database.
insert_into = insert


def is_sqlite(connection: sa.Connection) -> bool:
    """Return whether *connection* is to SQLite."""
    return connection.dialect.name == "sqlite"


def is_postgresql(connection: sa.Connection) -> bool:
    """Return whether *connection* is to PostgreSQL."""
    return connection.dialect.name == "postgresql"


def setting(connection: sa.Connection, name: str) -> str | None:
    """Return the database's setting *name*; None if it is not set."""
    value = sa.select(settings.c.value).where(settings.c.name == name)
    return connection.execute(value).scalar()


def note_setting(connection: sa.Connection, name: str, value: str) -> None:
    """Store the database's setting *name*, replacing its previous value."""
    noted = insert_into(settings).values(name=name, value=value)
    connection.execute(upsert(noted))


def upsert(inserted: Insert, **changes: object) -> Insert:
    """Return an insert that replaces existing rows with the same primary key.

    In a replaced row, the columns in *changes* get the value given there, which may refer to the old row.
    """
    table = inserted.table
    values: dict[str, object] = {}
    for column in table.c:
        if not column.primary_key:
            values[column.name] = inserted.excluded[column.name]
    return inserted.on_conflict_do_update(
        index_elements=table.primary_key,
        set_=values | changes,
    )


def advisory_lock(connection: sa.Connection, key: int | sa.ColumnElement[int]) -> None:
    """Wait for PostgreSQL's advisory lock *key*, and hold it until the transaction ends.

    SQLite needs none: its writing transactions exclude each other anyway (BEGIN IMMEDIATE).
    """
    if is_postgresql(connection):
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))
