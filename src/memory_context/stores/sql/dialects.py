"""What SQLite and PostgreSQL have to be told in different words."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert

from memory_context.stores.sql.schema import settings

# Only the dialects' own inserts know ON CONFLICT. SQLite has taken it over from PostgreSQL, and
# SQLAlchemy writes this one for either database.
insert_into = insert


def is_sqlite(connection: sa.Connection) -> bool:
    """Return whether *connection* leads to SQLite."""
    return connection.dialect.name == "sqlite"


def is_postgresql(connection: sa.Connection) -> bool:
    """Return whether *connection* leads to PostgreSQL."""
    return connection.dialect.name == "postgresql"


def setting(connection: sa.Connection, name: str) -> str | None:
    """Return what the database notes of itself under *name*; None where nothing is noted."""
    return connection.execute(sa.select(settings.c.value).where(settings.c.name == name)).scalar()


def note_setting(connection: sa.Connection, name: str, value: str) -> None:
    """Note something of the database itself, in place of what was noted under *name* before."""
    connection.execute(upsert(insert_into(settings).values(name=name, value=value)))


def upsert(inserted: Insert, **changes: object) -> Insert:
    """Return an insert whose rows replace those under their primary keys, but for *changes*, which may name the old row."""
    table = inserted.table
    keys = [column.name for column in table.primary_key]
    others = [column.name for column in table.c if not column.primary_key]
    values = {name: inserted.excluded[name] for name in others}
    return inserted.on_conflict_do_update(index_elements=keys, set_=values | changes)


def advisory_lock(connection: sa.Connection, key: int | sa.ColumnElement[int]) -> None:
    """Wait for PostgreSQL's advisory lock *key*, and hold it until the transaction ends.

    SQLite needs none: its writing transactions exclude each other anyway (BEGIN IMMEDIATE).
    """
    if is_postgresql(connection):
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))
