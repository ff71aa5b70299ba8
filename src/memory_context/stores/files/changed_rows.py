"""The rows of an index that have changed. Triggers in the database log them, whichever operation makes the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

UserAndId: TypeAlias = tuple[str, UUID]

_WATCHED = (
    ("agent_memories", ("user_id", "id"), "changed_memories"),
    ("agent_memory_access", ("user_id", "memory_id"), "changed_reads"),
    ("agent_memory_deletions", ("user_id", "memory_key"), "changed_deletions"),
)
_ROW_AFTER = {"INSERT": "new", "UPDATE": "new", "DELETE": "old"}


class Changes(NamedTuple):
    """The memories, reads and deletions that have changed.

    Attributes:
        memories: User and id of each memory that was added, changed or deleted.
        reads: User and id of each memory whose reads changed.
        deletions: User and key of each deletion that was added, changed or taken back.
    """

    memories: Sequence[UserAndId]
    reads: Sequence[UserAndId]
    deletions: Sequence[tuple[str, str]]


def watch(connection: sa.Connection) -> None:
    """Make the triggers that log changes from now on."""
    for table, columns, log in _WATCHED:
        # The log has no unique columns: in SQLite a trigger's statements inherit the conflict clause (such as
        # ON CONFLICT) of the statement that fired it.
        connection.exec_driver_sql(f"CREATE TABLE {log}({', '.join(columns)})")
        for event, row in _ROW_AFTER.items():
            values = ", ".join(f"{row}.{column}" for column in columns)
            # Names cannot be parameters of DDL; all of these are from the tables above.
            note = f"INSERT INTO {log} VALUES ({values})"  # noqa: S608 - names of ours
            name = f"watch_{table}_{event}"
            connection.exec_driver_sql(
                f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {note}; END"
            )


def take(connection: sa.Connection) -> Changes:
    """Return the changes since the last call, and clear the logs."""
    logged: list[list[Any]] = []
    for _, _, log in _WATCHED:
        # DISTINCT, because a row that changed twice is in the log twice.
        rows = connection.exec_driver_sql(f"SELECT DISTINCT * FROM {log}")  # noqa: S608 - a name of ours
        logged.append(list(map(tuple, rows)))
        connection.exec_driver_sql(f"DELETE FROM {log}")  # noqa: S608 - a name of ours
    memories, reads, deletions = logged
    return Changes(
        memories=[(user, UUID(memory_id)) for user, memory_id in memories],
        reads=[(user, UUID(memory_id)) for user, memory_id in reads],
        deletions=deletions,
    )
