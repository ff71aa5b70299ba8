"""Writing rows again after the keys of a codec have changed. Every function works in the caller's transaction."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import MemoryItem
from memory_context.stores.sql import index_key_of_encrypted_databases as index_key
from memory_context.stores.sql.insert_overwrite_or_reuse import rewrite
from memory_context.stores.sql.row_encoding import RECORDS, format_of, records
from memory_context.stores.sql.schema import memories, this_memory

# 300 bytes of a sealed content are enough for its head: the format's version, and the id of its key.
_HEADS = sa.text("""
SELECT id, memory_key, media_type, substr(content_bytes, 1, 300) AS head FROM agent_memories WHERE user_id = :user
""").columns(id=sa.Uuid())


def outdated(connection: sa.Connection, user_id: str) -> list[UUID]:
    """Return the ids of a user's records that are not in the form the codec writes today."""
    codec = format_of(connection).codec
    found: list[UUID] = []
    for row in connection.execute(_HEADS, {"user": user_id}):
        stored = MemoryItem(
            user_id=user_id,
            memory_key=row.memory_key,
            content=bytes(row.head or b""),
            media_type=row.media_type,
        )
        if not codec.is_current(stored):
            found.append(row.id)
    return found


def recode(connection: sa.Connection, user_id: str, memory_id: UUID) -> bool:
    """Write a record again with the current codec; return whether the record still exists.

    Raises:
        SealError: It was changed, or was never encrypted and the codec does not accept it.
    """
    mine = RECORDS.where(*this_memory(user_id, memory_id))
    found = records(connection, mine.with_for_update(of=memories))
    for item in found:
        rewrite(connection, item)
    return bool(found)


def reseal_index_key(connection: sa.Connection) -> None:
    """Seal the key of the blind index with the newest key of the codec."""
    row_format = format_of(connection)
    if row_format.index_key is not None:
        index_key.store_key(connection, row_format.codec, row_format.index_key)
