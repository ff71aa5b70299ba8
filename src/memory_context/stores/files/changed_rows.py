"""The memories of a database that a transaction has changed. Triggers log them, whichever operation makes the change."""

from __future__ import annotations

from typing import TypeAlias
from uuid import UUID

import sqlalchemy as sa

UserAndId: TypeAlias = tuple[str, UUID]

_ROW_AFTER = {"INSERT": "new", "UPDATE": "new", "DELETE": "old"}


def watch(connection: sa.Connection) -> None:
    """Make the triggers that log changes from now on."""
    # The log has no unique columns: in SQLite a trigger's statements inherit the conflict clause (such as
    # ON CONFLICT) of the statement that fired it.
    connection.exec_driver_sql("CREATE TABLE changed_memories(user_id, id)")
    for event, row in _ROW_AFTER.items():
        # Names cannot be parameters of DDL.
        note = f"INSERT INTO changed_memories VALUES ({row}.user_id, {row}.id)"  # noqa: S608 - names of ours
        connection.exec_driver_sql(
            f"CREATE TRIGGER watch_{event} AFTER {event} ON agent_memories BEGIN {note}; END"
        )


def take(connection: sa.Connection) -> list[UserAndId]:
    """Return user and id of the memories that were added, changed or deleted since the last call, and clear the log."""
    # DISTINCT, because a memory that changed twice is in the log twice.
    rows = connection.exec_driver_sql("SELECT DISTINCT user_id, id FROM changed_memories").all()
    if rows:
        connection.exec_driver_sql("DELETE FROM changed_memories")
    return [(user, UUID(memory_id)) for user, memory_id in rows]
