"""PostgreSQL's tables, hash-partitioned by user: every statement of a user reads and writes one part of each."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from memory_context.exceptions import (
    InvalidArgumentError,
    StoreError,
    UnsupportedDatabaseError,
)
from memory_context.stores.sql.dialects import advisory_lock, is_postgresql
from memory_context.stores.sql.migrate import ID_DEFAULT, LOCK
from memory_context.stores.sql.schema import memories, metadata

# Where the old tables are while their rows are copied: indexes and constraints keep their names.
_OLD = "memory_context_before_partitioning"
# More would cost each statement more to plan than it saves.
MOST = 1024


def parts_of(connection: sa.Connection) -> int:
    """Return how many parts each table of users has; 0 where they are plain tables."""
    if not is_postgresql(connection):
        return 0
    count = f"SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('{memories.name}')"  # noqa: S608 - a name of ours
    return int(connection.exec_driver_sql(count).scalar_one())


def part_of(connection: sa.Connection, user_id: str) -> str:
    """Return what the name of a table ends with in the part that holds a user's rows; nothing where there are no parts."""
    parts = parts_of(connection)
    ask = sa.text(
        "SELECT part FROM generate_series(0, :parts - 1) AS part WHERE"
        " satisfies_hash_partition(CAST(:name AS regclass), :parts, part, CAST(:user AS text))"
    )
    values = {"parts": parts, "name": memories.name, "user": user_id}
    return f"_p{connection.execute(ask, values).scalar_one()}" if parts else ""


def create(connection: sa.Connection, table: sa.Table, parts: int) -> None:
    """Create *table* in so many parts; whole where that is 0."""
    if parts == 0:
        table.create(connection)
        return
    table.dialect_options["postgresql"]["partition_by"] = "HASH (user_id)"
    for column in table.c:
        # Before PostgreSQL 17 a table in parts cannot have one; a sequence does the same.
        if column.identity is not None:
            column.identity = column.server_default = None
    table.create(connection)
    _divide(connection, table.name, parts)


def partition(connection: sa.Connection, parts: int, vectors: Sequence[str]) -> None:
    """Make the tables of users, those of *vectors* too, anew in so many parts, with all their rows.

    Raises:
        UnsupportedDatabaseError: It is SQLite.
        InvalidArgumentError: There are no so many parts.
        StoreError: The tables have parts already, other than these; or somebody has added a column to them.
    """
    if not is_postgresql(connection):
        raise UnsupportedDatabaseError("only PostgreSQL's tables can be partitioned")
    if parts not in range(2, MOST + 1):
        raise InvalidArgumentError(f"tables are partitioned into 2 to {MOST} parts, not {parts}")
    advisory_lock(connection, LOCK)
    present = parts_of(connection)
    if present == parts:
        return
    if present:
        raise StoreError(
            f"the tables have {present} parts already; to have {parts}, import the memories into a new database"
        )
    copied = sa.MetaData()
    tables = [table.to_metadata(copied) for table in metadata.sorted_tables if "user_id" in table.c]
    connection.exec_driver_sql(f"CREATE SCHEMA {_OLD}")
    for name in [*(table.name for table in tables), *vectors]:
        connection.exec_driver_sql(f'ALTER TABLE "{name}" SET SCHEMA {_OLD}')
    for table in tables:
        # An index is built faster than it is kept up to date.
        indexes = [*table.indexes]
        table.indexes.clear()
        create(connection, table, parts)
        _copy(connection, table.name)
        for index in indexes:
            index.create(connection)
    connection.exec_driver_sql(ID_DEFAULT)
    for name in vectors:
        connection.exec_driver_sql(
            f'CREATE TABLE "{name}" (LIKE {_OLD}."{name}" INCLUDING ALL) PARTITION BY HASH (user_id)'
        )
        connection.exec_driver_sql(
            f'ALTER TABLE "{name}" ADD FOREIGN KEY (user_id, memory_id)'
            f" REFERENCES {memories.name} (user_id, id) ON DELETE CASCADE"
        )
        _divide(connection, name, parts)
        _copy(connection, name)
    # In this order, and not CASCADE: what others have made of the old tables is not to vanish with them.
    for name in [*vectors, *(table.name for table in reversed(tables))]:
        connection.exec_driver_sql(f'DROP TABLE {_OLD}."{name}"')
    connection.exec_driver_sql(f"DROP SCHEMA {_OLD}")


def _divide(connection: sa.Connection, name: str, parts: int) -> None:
    for part in range(parts):
        connection.exec_driver_sql(
            f'CREATE TABLE "{name}_p{part}" PARTITION OF "{name}"'
            f" FOR VALUES WITH (MODULUS {parts}, REMAINDER {part})"
        )


def _copy(connection: sa.Connection, name: str) -> None:
    """Fill a table from the old one, and go on with its numbers."""
    inspector = sa.inspect(connection)
    old = [column["name"] for column in inspector.get_columns(name, schema=_OLD)]
    unknown = {*old} - {column["name"] for column in inspector.get_columns(name)}
    if unknown:
        raise StoreError(
            f"{name} has columns that are not this library's: {', '.join(sorted(unknown))}"
        )
    columns = ", ".join(f'"{column}"' for column in old)
    connection.exec_driver_sql(
        f'INSERT INTO "{name}" ({columns}) SELECT {columns} FROM {_OLD}."{name}"'  # noqa: S608 - names of the schema
    )
    for column in old:
        ask = sa.text(
            "SELECT pg_get_serial_sequence(:old, :column), pg_get_serial_sequence(:new, :column)"
        )
        values = {"old": f'{_OLD}."{name}"', "new": f'"{name}"', "column": column}
        before, after = connection.execute(ask, values).one()
        if before is not None:
            connection.exec_driver_sql(
                f"SELECT setval('{after}', last_value, is_called) FROM {before}"  # noqa: S608 - names of the schema
            )
    connection.exec_driver_sql(f'ANALYZE "{name}"')
