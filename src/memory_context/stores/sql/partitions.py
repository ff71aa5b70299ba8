"""Hash partitioning of PostgreSQL's tables by user: a user's statements read and write only one part of each table."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from memory_context.exceptions import (
    InvalidArgumentError,
    StoreError,
    UnsupportedDatabaseError,
)
from memory_context.stores.sql.migrate import ID_DEFAULT, LOCK
from memory_context.stores.sql.schema import memories, metadata
from memory_context.stores.sql.upserts_locks_and_settings import advisory_lock, is_postgresql

# The schema with the old tables while their rows are copied. In it, their indexes and constraints can keep their names.
_OLD = "memory_context_before_partitioning"
# With more parts, planning a statement would cost more than the parts save.
MOST = 1024


def parts_of(connection: sa.Connection) -> int:
    """Return the number of parts of each table; 0 if the tables are not partitioned."""
    if not is_postgresql(connection):
        return 0
    count = f"SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('{memories.name}')"  # noqa: S608 - a name of ours
    return int(connection.exec_driver_sql(count).scalar_one())


def part_of(connection: sa.Connection, user_id: str) -> str:
    """Return the suffix of a table's name for the part with a user's rows; "" if the tables are not partitioned."""
    parts = parts_of(connection)
    ask = sa.text(
        "SELECT part FROM generate_series(0, :parts - 1) AS part WHERE"
        " satisfies_hash_partition(CAST(:name AS regclass), :parts, part, CAST(:user AS text))"
    )
    values = {"parts": parts, "name": memories.name, "user": user_id}
    return f"_p{connection.execute(ask, values).scalar_one()}" if parts else ""


def create(connection: sa.Connection, table: sa.Table, parts: int) -> None:
    """Create *table* in this many parts; not partitioned if *parts* is 0."""
    if parts == 0:
        table.create(connection)
        return
    table.dialect_options["postgresql"]["partition_by"] = "HASH (user_id)"
    for column in table.c:
        # Before PostgreSQL 17 a partitioned table cannot have an identity column. A sequence does the same.
        if column.identity is not None:
            column.identity = column.server_default = None
    table.create(connection)
    _divide(connection, table.name, parts)


def partition(connection: sa.Connection, parts: int, vectors: Sequence[str]) -> None:
    """Create all tables with users again in *parts* parts, including those of *vectors*, and copy their rows.

    Raises:
        UnsupportedDatabaseError: The database is SQLite.
        InvalidArgumentError: The number of parts is not within 2 to `MOST`.
        StoreError: The tables have another number of parts already, or columns that are not this library's.
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
        # Indexes are created after the rows are copied, which is faster than updating them for each row.
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
    # In this order, and not with CASCADE, which would also drop objects of others, such as views, that use the old tables.
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
    """Copy the rows of an old table into the new one, and continue its sequences."""
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
