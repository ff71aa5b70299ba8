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
            name = f"watch_{table}_{event.lower()}"
            connection.exec_driver_sql(
                f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {note}; END"
            )


def take(connection: sa.Connection) -> Changes:
    """Return the changes since the last call, and clear the logs."""
    rows: dict[str, Sequence[sa.Row[Any]]] = {}
    for _, _, log in _WATCHED:
        # DISTINCT, because a row that changed twice is in the log twice.
        rows[log] = connection.exec_driver_sql(f"SELECT DISTINCT * FROM {log}").all()  # noqa: S608 - a name of ours
        connection.exec_driver_sql(f"DELETE FROM {log}")  # noqa: S608 - a name of ours
    return Changes(
        memories=[(row.user_id, UUID(row.id)) for row in rows["changed_memories"]],
        reads=[(row.user_id, UUID(row.memory_id)) for row in rows["changed_reads"]],
        deletions=[(row.user_id, row.memory_key) for row in rows["changed_deletions"]],
    )
