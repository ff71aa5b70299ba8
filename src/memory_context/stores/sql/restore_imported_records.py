"""Restoring records exactly as they were (ids, times, reads, deletions), in the caller's transaction.

Existing records are never changed; a record that clashes with one is a *conflict*. Rows are written
first and the index last, because indexing locks the user's row in `owners` (see
`keyword_index.count`), and other writers should wait for that lock as briefly as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import AnyRecord, Conflict, Deletion, MemoryItem, Restored
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import ChunkBatch
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.row_encoding import (
    DELETIONS,
    RECORDS,
    encode_row,
    format_of,
    records,
)
from memory_context.stores.sql.schema import MEMORY_IDS, access, deletions, memories
from memory_context.stores.sql.upserts_locks_and_settings import insert_into, upsert

# Fields that change without the record being changed, and (the last two) those that an import resets.
_NOT_COMPARED = {"match", "accessed_at", "access_count", "origin", "generated_key"}
_INSERT = Prepared(insert_into(memories).on_conflict_do_nothing(), memories.c.keys())
_INSERT_READS = Prepared(sa.insert(access), access.c.keys())
_REMOVE_DELETION = Prepared(
    sa.text("DELETE FROM agent_memory_deletions WHERE user_id = :user AND memory_key = :wanted")
)


class Run(NamedTuple):
    """Records of one user that can be written together: memories with different ids, followed by deletions.

    Attributes:
        memories: The memories, by their ids.
        deletions: The deletions.
        batches: The chunks of memories, to be filled in by the caller. A memory without chunks is noted as pending.
    """

    memories: dict[UUID, MemoryItem]
    deletions: list[Deletion]
    batches: dict[UUID, ChunkBatch | None]


def insert_records(connection: sa.Connection, items: Sequence[MemoryItem]) -> set[UUID]:
    """Insert records with their reads, and remove earlier deletions of their keys; return the ids that were written.

    A record that clashes with another one is left out.
    """
    rows = [encode_row(connection, item) for item in items]
    counts = _INSERT.counts(connection, rows)
    written = [item for item, count in zip(items, counts, strict=True) if count]
    reads = [
        {
            "user_id": item.user_id,
            "memory_id": item.id,
            "accessed_at": item.accessed_at or item.updated_at,
            "access_count": item.access_count,
        }
        for item in written
        if item.access_count
    ]
    if reads:
        _INSERT_READS.run(connection, reads)
    if written:
        keys = [{"user": item.user_id, "wanted": item.memory_key} for item in written]
        _REMOVE_DELETION.run(connection, keys)
    return {item.id for item in written}


def restore(connection: sa.Connection, user_id: str, ordered_runs: Iterable[Run]) -> Restored:
    """Write one user's records, given as their `runs`."""
    total = Restored()
    written: list[tuple[MemoryItem, ChunkBatch | None]] = []
    for run in ordered_runs:
        done, items = _restore_run(connection, user_id, run)
        total += done
        written += [(item, run.batches.get(item.id)) for item in items]
    # Last, because it locks the user's row (see the module's docstring).
    indexing.insert(connection, user_id, written)
    return total + Restored(written=len(written))


def runs(records: Iterable[AnyRecord]) -> Iterator[Run]:
    """Yield *records*, in their order, as runs."""
    run = Run({}, [], {})
    for record in records:
        if isinstance(record, Deletion):
            run.deletions.append(record)
            continue
        if run.deletions or record.id in run.memories:
            yield run
            run = Run({}, [], {})
        run.memories[record.id] = record
    yield run


def _restore_run(
    connection: sa.Connection, user_id: str, run: Run
) -> tuple[Restored, list[MemoryItem]]:
    """Write a run; return the outcome without the new memories, and these."""
    ids = memories.c.id.in_(list(run.memories))
    same_ids = records(connection, RECORDS.where(memories.c.user_id == user_id, ids))
    stored = {item.id: item for item in same_ids}
    keys = [item.memory_key for item in run.memories.values()]
    keys += [deletion.memory_key for deletion in run.deletions]
    mine = DELETIONS.filter_by(user_id=user_id)
    noted = connection.execute(mine.where(deletions.c.memory_key.in_(keys)))
    deleted = {row.memory_key: Deletion(*row) for row in noted}
    total = Restored()
    new: list[MemoryItem] = []
    for item in run.memories.values():
        old = stored.get(item.id)
        deletion = deleted.get(item.memory_key)
        if old:
            total += _compare(old, item)
        elif deletion and deletion.deleted_at >= item.updated_at:
            reason = f"it was deleted here on {_minute(deletion)}: {deletion.reason}"
            total += conflict(item, reason)
        else:
            new.append(item)
    # Everybody locks records in the order of their keys; another order could deadlock.
    inserted = insert_records(connection, sorted(new, key=attrgetter("memory_key")))
    written = list[MemoryItem]()
    for item in new:
        if item.id in inserted:
            written.append(item)
        else:
            total += conflict(item, clash(connection, item))
    for deletion in run.deletions:
        total += _restore_deletion(connection, user_id, deletion, deleted)
    return total, written


def stored_ids(connection: sa.Connection, user_id: str, ids: Iterable[UUID]) -> set[UUID]:
    """Return those of *ids* under which the user has a memory already, in any version."""
    mine = MEMORY_IDS.filter_by(user_id=user_id)
    return set(connection.scalars(mine.where(memories.c.id.in_(list(ids)))))


def clash(connection: sa.Connection, item: MemoryItem) -> str:
    """Return the reason why an insert of *item* has clashed."""
    holder = _id_under(connection, item.user_id, item.memory_key)
    if holder:
        return f"the key belongs to another memory, {holder}"
    twin = twin_of(connection, item)
    if twin:
        return f"its content is kept under {twin!r} already"
    return "changed meanwhile"  # by another process


def _id_under(connection: sa.Connection, user_id: str, key: str) -> UUID | None:
    return connection.scalar(MEMORY_IDS.filter_by(user_id=user_id, memory_key=key))


def twin_of(connection: sa.Connection, item: MemoryItem) -> str | None:
    """Return the key of another record of the user with the same identity as *item*; None if there is none."""
    identity = format_of(connection).identity_of(item)
    if identity is None:
        return None
    alike = sa.select(memories.c.memory_key).filter_by(user_id=item.user_id, identity=identity)
    return connection.scalar(alike.where(memories.c.id != item.id))


def _compare(old: MemoryItem, item: MemoryItem) -> Restored:
    """Compare *item* with the stored record *old* of the same id."""
    differing = differences(old, item)
    if not differing:
        return Restored(unchanged=1)
    reason = f"another version of it is here, with other {', '.join(differing)}"
    return conflict(item, reason)


def conflict(item: MemoryItem, reason: str) -> Restored:
    """Return the outcome for a record that was not written, and why."""
    return Restored(conflicts=(Conflict(item.user_id, item.memory_key, reason, item.id),))


def differences(one: MemoryItem, other: MemoryItem) -> list[str]:
    """Return the fields in which two versions of a record differ, other than `_NOT_COMPARED`."""
    compared = [field.name for field in fields(MemoryItem) if field.name not in _NOT_COMPARED]
    return [name for name in compared if getattr(one, name) != getattr(other, name)]


def _restore_deletion(
    connection: sa.Connection, user_id: str, deletion: Deletion, deleted: dict[str, Deletion]
) -> Restored:
    """Note a deletion in the table, and in *deleted*, which maps keys to deletions."""
    key = deletion.memory_key
    if _id_under(connection, user_id, key):
        reason = f"it was deleted there on {_minute(deletion)}, and is still here"
        return Restored(conflicts=(Conflict(user_id, key, reason),))
    old = deleted.get(key)
    # The later deletion wins, as it is the one that is reported for the key.
    if old and old.deleted_at >= deletion.deleted_at:
        return Restored(unchanged=1)
    noted = insert_into(deletions).values(user_id=user_id, **asdict(deletion))
    connection.execute(upsert(noted))
    deleted[key] = deletion
    return Restored(written=1)


def _minute(deletion: Deletion) -> str:
    return f"{deletion.deleted_at:%Y-%m-%d %H:%M} UTC"
