"""What enters the keyword index, and what leaves it. Every function works in the caller's transaction.

A text of one batch of passages is indexed in the transaction that stores it. A longer one is noted as pending there,
and indexed batch by batch, so that no transaction keeps other writers waiting for long; whoever searches next goes on
where a process that died left off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import MemoryItem
from memory_context.stores.sql.index import fts5, keyword_index, vector_index
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.schema import memories, passages, pending
from memory_context.text.index.chunks import (
    SIZE,
    Chunk,
    ChunkStart,
    card_of,
    chunk_at,
    chunks_of,
    searchable,
)

BATCH = 500
_LEAST_CHARACTERS = SIZE // 2


@dataclass(frozen=True, slots=True)
class Batch:
    """Some passages of a memory that follow one another."""

    memory: MemoryItem
    start: int
    passages: Sequence[Chunk]

    @property
    def stop(self) -> int:
        """The offset behind the last of them."""
        return self.passages[-1].stop

    @property
    def is_last(self) -> bool:
        """Whether the memory ends with them."""
        return self.stop >= len(searchable(self.memory))


def prepared(item: MemoryItem) -> Batch | None:
    """All passages of `item`, if they are one batch. Analyzed before the transaction begins, which is short then."""
    small = len(searchable(item)) <= BATCH * _LEAST_CHARACTERS
    return Batch(item, 0, list(chunks_of(item))) if small else None


def insert(connection: sa.Connection, item: MemoryItem, batch: Batch | None) -> None:
    """Index a memory that was just stored, or note that it is pending."""
    if batch is None:
        connection.execute(sa.insert(pending).values(memory_id=item.id, user_id=item.user_id))
        return
    fresh = batch.memory.memory_key == item.memory_key
    keyword_index.add(
        connection, item.user_id, item.id, batch.passages if fresh else list(chunks_of(item))
    )


def is_pending(connection: sa.Connection, user_id: str) -> bool:
    """Whether the index lacks something of this user's."""
    return connection.execute(_OF_USER.limit(1), {"user": user_id}).first() is not None


_OF_USER = sa.select(pending.c.memory_id).where(pending.c.user_id == sa.bindparam("user"))


def pending_ids(connection: sa.Connection, user_id: str | None = None) -> list[tuple[str, UUID]]:
    """User and id of the memories that the index lacks something of, newest first; of one user, or of all."""
    statement = sa.select(pending.c.user_id, pending.c.memory_id).join(
        memories, memories.c.id == pending.c.memory_id
    )
    chosen = statement if user_id is None else statement.where(pending.c.user_id == user_id)
    rows = connection.execute(chosen.order_by(memories.c.created_at.desc()))
    return [(row.user_id, row.memory_id) for row in rows]


def unfinished(
    connection: sa.Connection, user_id: str, memory_id: UUID
) -> tuple[MemoryItem, ChunkStart] | None:
    """A pending memory of a user, and where its next passage begins; None if it is complete by now, or gone."""
    done = connection.execute(sa.select(pending.c.done).where(*_row(user_id, memory_id))).scalar()
    item = item_by_id(connection, user_id, memory_id)
    if done is None or item is None:
        return None
    known = (
        sa.select(sa.func.count()).select_from(passages).where(passages.c.memory_id == memory_id)
    )
    ordinal = connection.execute(known).scalar_one()
    return item, ChunkStart(ordinal, done, 1 + searchable(item).count("\n", 0, done))


def batches(item: MemoryItem, place: ChunkStart) -> Iterator[Batch]:
    """The passages of a memory from `place` on, batch by batch."""
    rest = chunks_of(item, place)
    while found := list(islice(rest, BATCH)):
        yield Batch(item, found[0].start, found)


def extend(connection: sa.Connection, batch: Batch) -> bool:
    """Index the next batch of a pending memory; False if another process has done it, or is about to."""
    keyword_index.lock(connection)
    row = _row(batch.memory.user_id, batch.memory.id)
    done = connection.execute(
        sa.select(pending.c.done).where(*row).with_for_update(skip_locked=True)
    ).scalar()
    if done != batch.start:
        return False
    keyword_index.add(connection, batch.memory.user_id, batch.memory.id, batch.passages)
    rest = sa.delete(pending) if batch.is_last else sa.update(pending).values(done=batch.stop)
    connection.execute(rest.where(*row))
    return True


def _row(user_id: str, memory_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    """The row that notes that a memory is pending."""
    return pending.c.user_id == user_id, pending.c.memory_id == memory_id


def item_by_id(connection: sa.Connection, user_id: str, memory_id: UUID) -> MemoryItem | None:
    """The user's memory of that id."""
    row = connection.execute(
        RECORDS.where(memories.c.user_id == user_id, memories.c.id == memory_id)
    ).one_or_none()
    return item_of(row) if row else None


def remove(connection: sa.Connection, user_id: str, doomed: sa.Select[*tuple[UUID]]) -> None:
    """Take memories of one user out of the index, and their vectors with them."""
    vector_index.forget(connection, user_id, doomed)
    if connection.dialect.name == "sqlite" and not _are_all(connection, doomed):
        for memory_id in connection.execute(doomed).scalars().all():
            while remove_batch(connection, user_id, memory_id):
                pass
    else:
        _remove_rows(connection, user_id, doomed)
    connection.execute(
        sa.delete(pending).where(pending.c.user_id == user_id, pending.c.memory_id.in_(doomed))
    )


def remove_batch(connection: sa.Connection, user_id: str, memory_id: UUID) -> bool:
    """Take the last passages of a user's memory out of SQLite's index; whether there were any.

    It is noted that they are missing. They are analyzed again, because FTS5 must be told what it holds.
    """
    statement = sa.select(passages).where(passages.c.memory_id == memory_id)
    rows = connection.execute(statement.order_by(passages.c.ordinal.desc()).limit(BATCH)).all()
    item = item_by_id(connection, user_id, memory_id)
    if not rows or item is None:
        return False
    card, text = card_of(item), searchable(item)
    places = ((row.id, ChunkStart(row.ordinal, row.start, row.line), row.stop) for row in rows)
    keyword_index.remove(
        connection,
        user_id,
        {id_: chunk_at(text, place, stop, card) for id_, place, stop in places},
    )
    connection.execute(sa.delete(pending).where(*_row(user_id, memory_id)))
    connection.execute(
        sa.insert(pending).values(memory_id=memory_id, user_id=user_id, done=rows[-1].start)
    )
    return True


def many_passages(connection: sa.Connection, doomed: sa.Select[*tuple[UUID]]) -> list[UUID]:
    """Which memories have so many passages on SQLite that taking them out needs transactions of its own."""
    if connection.dialect.name != "sqlite" or _are_all(connection, doomed):
        return []
    statement = sa.select(passages.c.memory_id).where(
        passages.c.memory_id.in_(doomed), passages.c.ordinal == BATCH
    )
    return list(connection.execute(statement).scalars())


def _are_all(connection: sa.Connection, doomed: sa.Select[*tuple[UUID]]) -> bool:
    """Whether nothing else is in the index."""
    others = sa.select(passages.c.id).where(passages.c.memory_id.not_in(doomed)).limit(1)
    return connection.execute(others).first() is None


def _remove_rows(connection: sa.Connection, user_id: str, doomed: sa.Select[*tuple[UUID]]) -> None:
    inside = passages.c.memory_id.in_(doomed)
    counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(passages.c.length), 0)).where(
        inside
    )
    number, length = connection.execute(counted).one()
    if connection.dialect.name == "sqlite":
        fts5.remove_all(connection)
    connection.execute(sa.delete(passages).where(inside))
    keyword_index.count(connection, user_id, -number, -int(length))
