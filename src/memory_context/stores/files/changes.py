"""What changed in an index since it was last asked: noted by the database itself, whichever verb made the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

# Nothing in them is unique: a trigger would take over how the statement that fired it treats conflicts.
_CREATE = (
    "CREATE TABLE IF NOT EXISTS changed_memories(id TEXT)",
    "CREATE TABLE IF NOT EXISTS changed_reads(id TEXT)",
    "CREATE TABLE IF NOT EXISTS changed_deletions(user_id TEXT, memory_key TEXT)",
)
_WATCHED = {
    "agent_memories": ("changed_memories", ("id",), ("id",)),
    "agent_memory_access": ("changed_reads", ("id",), ("memory_id",)),
    "agent_memory_deletions": (
        "changed_deletions",
        ("user_id", "memory_key"),
        ("user_id", "memory_key"),
    ),
}
_EVENTS = {"INSERT": "new", "UPDATE": "new", "DELETE": "old"}


@dataclass(frozen=True, slots=True)
class Changes:
    """Which records, reads and deletions are other than before.

    Attributes:
        memories: Ids of memories that are new, changed or gone.
        reads: Ids of memories that were read.
        deletions: User and key of deletions that are new, changed or gone.
    """

    memories: Sequence[UUID]
    reads: Sequence[UUID]
    deletions: Sequence[tuple[str, str]]


def watch(connection: sa.Connection) -> None:
    """Note changes from now on."""
    for statement in _CREATE:
        connection.exec_driver_sql(statement)
    for table, (log, into, columns) in _WATCHED.items():
        for event, row in _EVENTS.items():
            values = ", ".join(f"{row}.{column}" for column in columns)
            note = f"INSERT INTO {log}({', '.join(into)}) VALUES ({values})"  # noqa: S608 - names of this module
            name = f"watch_{table}_{event.lower()}"
            connection.exec_driver_sql(
                f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {event} ON {table} BEGIN {note}; END"
            )


def taken(connection: sa.Connection) -> Changes:
    """The changes since this was last asked."""
    rows = {
        log: connection.exec_driver_sql(f"SELECT DISTINCT * FROM {log}").all()  # noqa: S608 - names of this module
        for log in ("changed_memories", "changed_reads", "changed_deletions")
    }
    for log in rows:
        connection.exec_driver_sql(f"DELETE FROM {log}")  # noqa: S608 - as above
    return Changes(
        [UUID(row[0]) for row in rows["changed_memories"]],
        [UUID(row[0]) for row in rows["changed_reads"]],
        [(row[0], row[1]) for row in rows["changed_deletions"]],
    )
