"""Tables that an administrator has hash-partitioned by user (`docs/many-machines.md`), on PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa

from memory_context.stores.sql.schema import memories
from memory_context.stores.sql.upserts_locks_and_settings import is_postgresql


def parts_of(connection: sa.Connection) -> int:
    """Return the number of parts of each table; 0 if the tables are not partitioned."""
    if not is_postgresql(connection):
        return 0
    count = f"SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('{memories.name}')"  # noqa: S608 - a name of ours
    return int(connection.exec_driver_sql(count).scalar_one())


def part_of(connection: sa.Connection, user_id: str) -> str:
    """Return the suffix of a table's name for the part with a user's rows; "" if the tables are not partitioned."""
    parts = parts_of(connection)
    if not parts:
        return ""
    ask = sa.text(
        "SELECT part FROM generate_series(0, :parts - 1) AS part WHERE"
        " satisfies_hash_partition(CAST(:name AS regclass), :parts, part, CAST(:user AS text))"
    )
    values = {"parts": parts, "name": memories.name, "user": user_id}
    return f"_p{connection.execute(ask, values).scalar_one()}"


def create(connection: sa.Connection, table: sa.Table) -> None:
    """Create a table of vectors, in as many parts as the other tables have."""
    parts = parts_of(connection)
    if parts:
        table.dialect_options["postgresql"]["partition_by"] = "HASH (user_id)"
    table.create(connection)
    for part in range(parts):
        connection.exec_driver_sql(
            f'CREATE TABLE "{table.name}_p{part}" PARTITION OF "{table.name}"'
            f" FOR VALUES WITH (MODULUS {parts}, REMAINDER {part})"
        )
