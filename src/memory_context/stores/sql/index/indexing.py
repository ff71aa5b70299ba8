"""Adding memories to the search index, and removing them from it, in the caller's transaction.

A text that fits into one batch of chunks is indexed in the transaction that stores it. A longer one
is noted as *pending* there, and indexed afterwards batch by batch, so that no transaction keeps other
writers waiting for long. If the process dies in between, the next search continues the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import MemoryItem
from memory_context.stores.sql.index import fts5, keyword_index, vector_index
from memory_context.stores.sql.row_encoding import RECORDS, decoded_row, format_of, records
from memory_context.stores.sql.schema import (
    MEMORY_IDS,
    AnySelect,
    Condition,
    Conditions,
    belongs,
    count_rows,
    memories,
    passages,
    pending,
    this_memory,
    total_of,
)
from memory_context.stores.sql.upserts_locks_and_settings import (
    insert_into,
    is_postgresql,
    is_sqlite,
    upsert,
)
from memory_context.text.index.chunks_and_metadata_cards import (
    SIZE,
    Chunk,
    ChunkStart,
    card_of,
    chunk_at,
    chunks_of,
    searchable,
)

# The number of chunks that are indexed or removed in one transaction, which takes a fraction of a second.
BATCH = 500
# A chunk is cut off in its second half (see `end_of_chunk`).
_SHORTEST_CHUNK = SIZE // 2


class ChunkBatch(NamedTuple):
    """Consecutive chunks of a memory, which are indexed together."""

    memory: MemoryItem
    start: int
    chunks: Sequence[Chunk]

    @property
    def stop(self) -> int:
        """Return the offset after the last chunk."""
        return self.chunks[-1].stop

    @property
    def is_last(self) -> bool:
        """Return whether this is the last batch of the memory."""
        return self.stop >= len(searchable(self.memory))


Batches: TypeAlias = Mapping[UUID, ChunkBatch | None]
"""The chunks of memories, by the memories' ids; None for a memory that may need more than one batch."""


def prepared(item: MemoryItem) -> ChunkBatch | None:
    """Analyze *item* and return all its chunks; None if they may be more than one batch."""
    if len(searchable(item)) > BATCH * _SHORTEST_CHUNK:
        return None
    return ChunkBatch(item, 0, list(chunks_of(item)))


def insert(
    connection: sa.Connection, user_id: str, stored: Sequence[tuple[MemoryItem, ChunkBatch | None]]
) -> None:
    """Index memories of a user that were just stored. Those without a batch are noted as pending.

    It locks the user's row (see `keyword_index.count`), so call it last in a transaction.
    """
    if format_of(connection).codec.index == "none":
        return
    to_do_later = [item.id for item, batch in stored if batch is None]
    chunks = [(item.id, batch.chunks) for item, batch in stored if batch is not None]
    if to_do_later:
        rows = [{"memory_id": memory_id, "user_id": user_id} for memory_id in to_do_later]
        connection.execute(sa.insert(pending), rows)
    if chunks:
        keyword_index.add(connection, user_id, chunks)


class PendingMemory(NamedTuple):
    """A memory that is not fully indexed.

    Attributes:
        user_id: Its owner.
        memory_id: Its id.
        size: The size of its content, which must be read, in characters or bytes.
        work: The number of characters that are still to be indexed; 1 for binary content, of which only the
            description is indexed.
    """

    user_id: str
    memory_id: UUID
    size: int
    work: int


# Callers that put records of their own may not have counted the characters.
_PENDING = """
SELECT user_id, memory_id, size, CASE WHEN is_text THEN size - done ELSE 1 END AS work
FROM (
    SELECT p.user_id, p.memory_id, p.done, m.created_at, m.content_bytes IS NULL AS is_text,
        CASE WHEN m.char_count > 0 THEN m.char_count ELSE m.byte_count END AS size
    FROM agent_memory_pending AS p JOIN agent_memories AS m ON m.user_id = p.user_id AND m.id = p.memory_id {where}
) AS waiting
ORDER BY created_at DESC
"""


def pending_memories(connection: sa.Connection, user_id: str | None = None) -> list[PendingMemory]:
    """Return the memories that are not fully indexed, newest first."""
    where = "" if user_id is None else "WHERE p.user_id = :user"
    statement = sa.text(_PENDING.format(where=where)).columns(memory_id=sa.Uuid())
    return [PendingMemory(*row) for row in connection.execute(statement, {"user": user_id})]


def unfinished(
    connection: sa.Connection, user_id: str, ids: Sequence[UUID]
) -> list[tuple[MemoryItem, ChunkStart]]:
    """Return the memories among *ids* that are still pending, each with the start of its next chunk."""
    with_progress = RECORDS.add_columns(pending.c.done).join(pending, belongs(pending))
    statement = with_progress.where(*_pending_of(user_id, ids))
    found: list[tuple[MemoryItem, ChunkStart]] = []
    for *record, done in connection.execute(statement).all():
        item = decoded_row(format_of(connection), record)
        ordinal = 0
        if done:
            ordinal = count_rows(connection, passages, user_id=user_id, memory_id=item.id)
        line = 1 + searchable(item).count("\n", 0, done)
        found.append((item, ChunkStart(ordinal, done, line)))
    return found


def _pending_of(user_id: str, ids: Sequence[UUID]) -> tuple[Condition, Condition]:
    """Match the rows of pending memories of the user."""
    return pending.c.user_id == user_id, pending.c.memory_id.in_(ids)


def batches(item: MemoryItem, start: ChunkStart) -> Iterator[ChunkBatch]:
    """Yield the chunks of a memory from *start* on, in batches."""
    remaining = chunks_of(item, start)
    while chunks := list(islice(remaining, BATCH)):
        yield ChunkBatch(item, chunks[0].start, chunks)


def extend(connection: sa.Connection, next_ones: Sequence[ChunkBatch]) -> bool:
    """Index the next batch of each of some pending memories of one user.

    Returns:
        Whether all batches were indexed here. If not, another process has indexed one of them, or is about to.
    """
    user_id = next_ones[0].memory.user_id
    ids = [batch.memory.id for batch in next_ones]
    versions = sa.select(memories.c.id, memories.c.updated_at)
    texts = versions.filter_by(user_id=user_id).where(memories.c.id.in_(ids))
    if is_postgresql(connection):
        # To avoid deadlocks, rows are locked in the same order as by a deletion: memories by key, then
        # their pending rows, then the user's row.
        by_key = texts.order_by(memories.c.memory_key.collate("C"))
        texts = by_key.with_for_update(read=True, key_share=True)
    changed = {row.id: row.updated_at for row in connection.execute(texts)}
    mine = sa.select(pending.c.memory_id, pending.c.done).where(*_pending_of(user_id, ids))
    # PostgreSQL skips a row that another process has locked, which is then about to index the same
    # batch.
    found = connection.execute(mine.with_for_update(skip_locked=True))
    done = {row.memory_id: row.done for row in found}
    due = [
        batch
        for batch in next_ones
        if done.get(batch.memory.id) == batch.start
        # Not if the text was replaced since it was read.
        if changed.get(batch.memory.id) == batch.memory.updated_at
    ]
    if due:
        chunks = [(batch.memory.id, batch.chunks) for batch in due]
        keyword_index.add(connection, user_id, chunks)
    complete = [batch.memory.id for batch in due if batch.is_last]
    connection.execute(sa.delete(pending).where(*_pending_of(user_id, complete)))
    for batch in due:
        if not batch.is_last:
            this = sa.update(pending).filter_by(user_id=user_id, memory_id=batch.memory.id)
            connection.execute(this.values(done=batch.stop))
    return len(due) == len(next_ones)


def item_by_id(connection: sa.Connection, user_id: str, memory_id: UUID) -> MemoryItem | None:
    """Return the user's memory with this id; None if there is none."""
    found = records(connection, RECORDS.where(*this_memory(user_id, memory_id)))
    return found[0] if found else None


def remove(
    connection: sa.Connection, user_id: str, doomed: AnySelect, *, vectors: bool = True
) -> None:
    """Remove memories of one user from the index and, if *vectors* is true, their vectors."""
    if vectors:
        vector_index.forget(connection, user_id, doomed)
    of_user = sa.delete(pending).filter_by(user_id=user_id)
    not_pending = of_user.where(pending.c.memory_id.in_(doomed))
    # This comes before the user's row is locked: see `extend`.
    connection.execute(not_pending)
    if is_sqlite(connection) and not _are_all(connection, user_id, doomed):
        for memory_id in connection.scalars(doomed).all():
            while remove_batch(connection, user_id, memory_id):
                pass
        connection.execute(not_pending)
        return
    # It is enough to delete the rows on PostgreSQL, which keeps the lexemes in them, and if the index
    # becomes empty on SQLite.
    inside = _within(user_id, doomed)
    totals = sa.select(sa.func.count(), total_of(passages.c.length))
    number, length = connection.execute(totals.where(inside)).one()
    if is_sqlite(connection):
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages).where(inside))
    keyword_index.count(connection, user_id, -number, -length)


def remove_batch(connection: sa.Connection, user_id: str, memory_id: UUID) -> bool:
    """Remove the last batch of a memory's chunks from SQLite's index, and note the memory as pending.

    Returns:
        Whether there were any chunks.
    """
    chunks_of_memory = sa.select(passages).filter_by(user_id=user_id, memory_id=memory_id)
    last_first = chunks_of_memory.order_by(passages.c.ordinal.desc())
    rows = connection.execute(last_first.limit(BATCH)).all()
    item = item_by_id(connection, user_id, memory_id)
    if not rows or not item:
        return False
    # The chunks are analyzed again, because FTS5 stores no contents and must be given the words to delete.
    card = card_of(item)
    text = searchable(item)
    chunks = {
        row.id: chunk_at(text, ChunkStart(row.ordinal, row.start, row.line), row.stop, card)
        for row in rows
    }
    keyword_index.remove(connection, user_id, chunks)
    noted = insert_into(pending).values(user_id=user_id, memory_id=memory_id, done=rows[-1].start)
    connection.execute(upsert(noted))
    return True


def with_many_chunks(connection: sa.Connection, user_id: str, where: Conditions) -> list[UUID]:
    """Return the user's memories that must be removed from the index in several transactions.

    These are the ones with many chunks on SQLite: other writers would wait too long for a single transaction.
    """
    doomed = MEMORY_IDS.where(*where)
    if not is_sqlite(connection) or _are_all(connection, user_id, doomed):
        return []
    last_of_first_batch = sa.select(passages.c.memory_id).filter_by(ordinal=BATCH)
    return list(connection.scalars(last_of_first_batch.where(_within(user_id, doomed))))


def _within(user_id: str, doomed: AnySelect) -> Condition:
    """Match the chunks of the user's memories *doomed*."""
    return (passages.c.user_id == user_id) & passages.c.memory_id.in_(doomed)


def _are_all(connection: sa.Connection, user_id: str, doomed: AnySelect) -> bool:
    """Return whether the index contains nothing but the memories *doomed*, so that it can simply be emptied."""
    others = sa.select(passages.c.id).where(~_within(user_id, doomed))
    return connection.execute(others.limit(1)).first() is None
