"""What enters the search index, and what leaves it, in the caller's transaction.

A text of one batch of chunks is indexed in the transaction that stores it. A longer one is noted
as pending there, and indexed batch by batch, so that no transaction keeps other writers waiting for
long; whoever searches next goes on where a process that died left off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import MemoryItem
from memory_context.stores.sql.dialects import insert_into, is_postgresql, is_sqlite, upsert
from memory_context.stores.sql.filters_as_sql import Conditions
from memory_context.stores.sql.index import fts5, keyword_index, vector_index
from memory_context.stores.sql.row_encoding import RECORDS, decode_row
from memory_context.stores.sql.schema import (
    AnySelect,
    belongs,
    count_rows,
    memories,
    narrowed,
    passages,
    pending,
    this_memory,
    total_of,
)
from memory_context.text.index.chunks import (
    SIZE,
    Chunk,
    ChunkStart,
    card_of,
    chunk_at,
    chunks_of,
    searchable,
)

# Chunks that are indexed or removed in one transaction: a fraction of a second.
BATCH = 500
# Chunks are cut in their second half at the earliest.
_SHORTEST_CHUNK = SIZE // 2


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """Some chunks of a memory that follow one another."""

    memory: MemoryItem
    start: int
    chunks: Sequence[Chunk]

    @property
    def stop(self) -> int:
        """Return the offset behind the last of them."""
        return self.chunks[-1].stop

    @property
    def is_last(self) -> bool:
        """Return whether the memory ends with them."""
        return self.stop >= len(searchable(self.memory))


Batches: TypeAlias = Mapping[UUID, ChunkBatch | None]
"""All chunks of memories, by id; None of those that are more than one batch."""


def prepared(item: MemoryItem) -> ChunkBatch | None:
    """Analyze *item* and return all its chunks; None if they may be more than one batch."""
    if len(searchable(item)) > BATCH * _SHORTEST_CHUNK:
        return None
    return ChunkBatch(item, 0, list(chunks_of(item)))


def insert(
    connection: sa.Connection, user_id: str, stored: Iterable[tuple[MemoryItem, ChunkBatch | None]]
) -> None:
    """Index memories of a user that were just stored; those without a batch are noted as pending.

    It locks the user's row (see `keyword_index.count`): do it last in a transaction.
    """
    if not keyword_index.is_kept(connection):
        return
    waiting: list[dict[str, Any]] = []
    found: list[tuple[UUID, Sequence[Chunk]]] = []
    for item, batch in stored:
        if batch is None:
            waiting.append({"memory_id": item.id, "user_id": user_id})
        elif batch.memory.memory_key == item.memory_key:
            found.append((item.id, batch.chunks))
        else:
            # The key was made longer meanwhile, and is indexed too.
            found.append((item.id, list(chunks_of(item))))
    if waiting:
        connection.execute(sa.insert(pending), waiting)
    if found:
        keyword_index.add(connection, user_id, found)


_PENDING_OF_USER = sa.select(pending.c.memory_id).filter_by(user_id=sa.bindparam("user")).limit(1)


def is_pending(connection: sa.Connection, user_id: str) -> bool:
    """Return whether the index lacks something of this user's."""
    return connection.execute(_PENDING_OF_USER, {"user": user_id}).first() is not None


class PendingMemory(NamedTuple):
    """A memory that is not fully indexed.

    Attributes:
        user_id: Whose.
        memory_id: Its id.
        size: How much is read of it, in characters or bytes.
        work: How many characters are still to be indexed; of what is binary its description alone.
    """

    user_id: str
    memory_id: UUID
    size: int
    work: int


def pending_memories(connection: sa.Connection, user_id: str | None = None) -> list[PendingMemory]:
    """Return the memories that are not fully indexed, newest first."""
    # Who puts records of their own may not have counted their characters.
    size = sa.case((memories.c.char_count > 0, memories.c.char_count), else_=memories.c.byte_count)
    work = sa.case((memories.c.content_bytes.is_(None), size - pending.c.done), else_=1)
    statement = sa.select(pending.c.user_id, pending.c.memory_id, size, work)
    statement = statement.join(memories, belongs(pending))
    statement = statement.where(*narrowed(pending, user_id=user_id))
    rows = connection.execute(statement.order_by(memories.c.created_at.desc()))
    return [PendingMemory(*row) for row in rows]


def unfinished(
    connection: sa.Connection, user_id: str, ids: Sequence[UUID]
) -> list[tuple[MemoryItem, ChunkStart]]:
    """Return those of a user's memories that are still pending, each with where its next chunk begins."""
    statement = RECORDS.add_columns(pending.c.done).join(pending, belongs(pending))
    mine = (pending.c.user_id == user_id, pending.c.memory_id.in_(ids))
    found: list[tuple[MemoryItem, ChunkStart]] = []
    for *record, done in connection.execute(statement.where(*mine)).all():
        item = decode_row(connection, record)
        ordinal = 0
        if done:
            ordinal = count_rows(connection, passages, user_id=user_id, memory_id=item.id)
        line = 1 + searchable(item).count("\n", 0, done)
        found.append((item, ChunkStart(ordinal, done, line)))
    return found


def batches(item: MemoryItem, start: ChunkStart) -> Iterator[ChunkBatch]:
    """Yield the chunks of a memory from *start* on, batch by batch."""
    rest = chunks_of(item, start)
    while found := list(islice(rest, BATCH)):
        yield ChunkBatch(item, found[0].start, found)


def extend(connection: sa.Connection, next_ones: Sequence[ChunkBatch]) -> bool:
    """Index the next batch of each of some pending memories of a user.

    False if another process has done one of them, or is about to.
    """
    user_id = next_ones[0].memory.user_id
    ids = [batch.memory.id for batch in next_ones]
    keyword_index.lock(connection)
    if is_postgresql(connection):
        # As those who delete lock rows: of memories by key, then those that go with them, then the
        # user's. Or both would wait in a circle.
        rows = sa.select(memories.c.id).filter_by(user_id=user_id).where(memories.c.id.in_(ids))
        by_key = rows.order_by(memories.c.memory_key.collate("C"))
        connection.execute(by_key.with_for_update(read=True, key_share=True)).all()
    mine = (pending.c.user_id == user_id, pending.c.memory_id.in_(ids))
    # PostgreSQL skips a row that another process has locked: that one is about to index the same
    # batch.
    statement = sa.select(pending.c.memory_id, pending.c.done).where(*mine)
    found = connection.execute(statement.with_for_update(skip_locked=True))
    done = {row.memory_id: row.done for row in found}
    due = [batch for batch in next_ones if done.get(batch.memory.id) == batch.start]
    if due:
        chunks = [(batch.memory.id, batch.chunks) for batch in due]
        keyword_index.add(connection, user_id, chunks)
    complete = [batch.memory.id for batch in due if batch.is_last]
    connection.execute(sa.delete(pending).where(*mine, pending.c.memory_id.in_(complete)))
    for batch in due:
        if not batch.is_last:
            this = sa.update(pending).filter_by(user_id=user_id, memory_id=batch.memory.id)
            connection.execute(this.values(done=batch.stop))
    return len(due) == len(next_ones)


def item_by_id(connection: sa.Connection, user_id: str, memory_id: UUID) -> MemoryItem | None:
    """Return the user's memory of that id."""
    row = connection.execute(RECORDS.where(*this_memory(user_id, memory_id))).one_or_none()
    return decode_row(connection, row) if row else None


def remove(
    connection: sa.Connection, user_id: str, doomed: AnySelect, *, vectors: bool = True
) -> None:
    """Take memories of one user out of the index, and their *vectors* with them."""
    if vectors:
        vector_index.forget(connection, user_id, doomed)
    of_user = sa.delete(pending).filter_by(user_id=user_id)
    not_pending = of_user.where(pending.c.memory_id.in_(doomed))
    # Before the user's row is locked: see `extend`.
    connection.execute(not_pending)
    if is_sqlite(connection) and not _are_all(connection, user_id, doomed):
        for memory_id in connection.execute(doomed).scalars().all():
            while remove_batch(connection, user_id, memory_id):
                pass
        connection.execute(not_pending)
        return
    # Whole rows are enough on PostgreSQL, which keeps lexemes in them, and where the index becomes
    # empty.
    inside = _within(user_id, doomed)
    totals = sa.select(sa.func.count(), total_of(passages.c.length)).where(inside)
    number, length = connection.execute(totals).one()
    if is_sqlite(connection):
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages).where(inside))
    keyword_index.count(connection, user_id, -number, -length)


def remove_batch(connection: sa.Connection, user_id: str, memory_id: UUID) -> bool:
    """Take a memory's last chunks out of SQLite's index, and note that they are missing.

    Returns:
        Whether there were any.
    """
    statement = sa.select(passages).filter_by(user_id=user_id, memory_id=memory_id)
    rows = connection.execute(statement.order_by(passages.c.ordinal.desc()).limit(BATCH)).all()
    item = item_by_id(connection, user_id, memory_id)
    if not rows or item is None:
        return False
    # FTS5 keeps no contents and must be told what to delete, so the chunks are analyzed again.
    card = card_of(item)
    text = searchable(item)
    found: dict[int, Chunk] = {}
    for row in rows:
        found[row.id] = chunk_at(text, ChunkStart(row.ordinal, row.start, row.line), row.stop, card)
    keyword_index.remove(connection, user_id, found)
    noted = insert_into(pending).values(user_id=user_id, memory_id=memory_id, done=rows[-1].start)
    connection.execute(upsert(noted))
    return True


def with_many_chunks(connection: sa.Connection, user_id: str, where: Conditions) -> list[UUID]:
    """Return the user's memories whose removal needs transactions of its own.

    Those are the ones with many chunks on SQLite, where others would wait for too long.
    """
    doomed = sa.select(memories.c.id).where(*where)
    if not is_sqlite(connection) or _are_all(connection, user_id, doomed):
        return []
    statement = sa.select(passages.c.memory_id).where(
        _within(user_id, doomed), passages.c.ordinal == BATCH
    )
    return list(connection.execute(statement).scalars())


def _within(user_id: str, doomed: AnySelect) -> sa.ColumnElement[bool]:
    """Match the chunks of memories of the user."""
    return (passages.c.user_id == user_id) & passages.c.memory_id.in_(doomed)


def _are_all(connection: sa.Connection, user_id: str, doomed: AnySelect) -> bool:
    """Return whether nothing else is in the index, so that it can be emptied in one go."""
    others = sa.select(passages.c.id).where(~_within(user_id, doomed)).limit(1)
    return connection.execute(others).first() is None
