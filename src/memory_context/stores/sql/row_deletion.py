"""Deleting memories, in the caller's transaction."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from memory_context.model.item import now
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.schema import (
    MEMORY_IDS,
    Conditions,
    UTCDateTime,
    access,
    deletions,
    memories,
)
from memory_context.stores.sql.upserts_locks_and_settings import insert_into, is_postgresql, upsert


def delete(connection: sa.Connection, user_id: str, where: Conditions, reason: str) -> list[str]:
    """Delete a user's memories that meet *where*, and note when and why; return their keys."""
    if is_postgresql(connection):
        # The rows are locked first, so that memories that are stored from now on are not deleted. As
        # in `put`, they are locked in the order of their keys, and before the index, to avoid deadlocks.
        key = memories.c.memory_key.collate("C")
        by_key = MEMORY_IDS.where(*where).order_by(key)
        ids = connection.scalars(by_key.with_for_update()).all()
        if not ids:
            return []
        # One array and not an IN, which would have a parameter for each of them.
        listed = sa.literal(ids, ARRAY(sa.Uuid()))
        where = (memories.c.user_id == user_id, memories.c.id == sa.any_(listed))
    doomed = MEMORY_IDS.where(*where)
    # Before the rows are deleted, because removing them from the index needs their texts.
    indexing.remove(connection, user_id, doomed)
    notes = sa.select(
        memories.c.user_id,
        memories.c.memory_key,
        sa.literal(now(), UTCDateTime),
        sa.literal(reason),
    ).where(*where)
    insert = insert_into(deletions).from_select(deletions.c.keys(), notes)
    # An upsert, because two processes may delete the same memory at once. The later one's note stays.
    connection.execute(upsert(insert))
    # Explicit, although the foreign key cascades, because a caller's engine may have SQLite's
    # foreign keys switched off.
    reads = sa.delete(access).filter_by(user_id=user_id)
    connection.execute(reads.where(access.c.memory_id.in_(doomed)))
    deleted = sa.delete(memories).where(*where).returning(memories.c.memory_key)
    return list(connection.scalars(deleted))
