"""Writing records exactly as they were (ids, times, reads, deletions), in the caller's transaction.

Nothing that is there is changed. Rows come first and the index last, because indexing locks the
user's row in `owners` (see `keyword_index.count`), and other writers should wait for that lock as
briefly as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import AnyRecord, Conflict, Deletion, MemoryItem, Restored
from memory_context.stores.sql.dialects import insert_into
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import Batches
from memory_context.stores.sql.prepared import Prepared
from memory_context.stores.sql.row_encoding import DELETIONS, RowFormat, encode_row, format_of
from memory_context.stores.sql.schema import access, deletions, memories

# What changes without the record being changed; and what an import takes away of it.
_NOT_COMPARED = {"match", "accessed_at", "access_count", "origin", "generated_key"}
_INSERT = Prepared(insert_into(memories).on_conflict_do_nothing(), memories.c.keys())
_READ = Prepared(sa.insert(access), access.c.keys())
_of_key = (
    deletions.c.user_id == sa.bindparam("user"),
    deletions.c.memory_key == sa.bindparam("wanted"),
)
_NOT_DELETED = Prepared(sa.delete(deletions).where(*_of_key))


def insert_record(connection: sa.Connection, item: MemoryItem) -> bool:
    """Insert a record as `insert_records` does; return whether it was written."""
    return item.id in insert_records(connection, [item])


def insert_records(connection: sa.Connection, items: Sequence[MemoryItem]) -> set[UUID]:
    """Insert records with their reads, and forget that their keys were deleted; return which were written.

    One that clashes with another record is left out.
    """
    counts = _INSERT.counts(connection, [encode_row(connection, item) for item in items])
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
        _READ.run(connection, reads)
    if written:
        keys = [{"user": item.user_id, "wanted": item.memory_key} for item in written]
        _NOT_DELETED.run(connection, keys)
    return {item.id for item in written}


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What the store has of a user's records that are to be restored.

    Attributes:
        ids: Of those that are there.
        row_format: How rows hold identities.
        id_by_key: Their ids.
        key_by_identity: Their keys, by the identities that their rows hold.
        deletions: By key.
    """

    ids: set[UUID]
    row_format: RowFormat
    id_by_key: dict[str, UUID] = field(default_factory=dict[str, UUID])
    key_by_identity: dict[str, str] = field(default_factory=dict[str, str])
    deletions: dict[str, Deletion] = field(default_factory=dict[str, Deletion])

    def conflict_with(self, item: MemoryItem) -> str | None:
        """Return why a new record cannot be written; None if it can."""
        if item.memory_key in self.id_by_key:
            return f"the key belongs to another memory, {self.id_by_key[item.memory_key]}"
        twin = self.key_by_identity.get(self.row_format.identity_of(item) or "")
        if twin is not None:
            return f"its content is kept under {twin!r} already"
        deletion = self.deletions.get(item.memory_key)
        if deletion and deletion.deleted_at >= item.updated_at:
            return f"it was deleted here on {deletion.deleted_at:%Y-%m-%d %H:%M} UTC: {deletion.reason}"
        return None

    def add(self, item: MemoryItem) -> None:
        """Count a record that was written just now."""
        self.id_by_key[item.memory_key] = item.id
        identity = self.row_format.identity_of(item)
        if identity:
            self.key_by_identity[identity] = item.memory_key


def _stored(connection: sa.Connection, user_id: str, records: Sequence[AnyRecord]) -> StoredRecords:
    """Return what the store has of *records*."""
    items = [record for record in records if isinstance(record, MemoryItem)]
    keys = [record.memory_key for record in records]
    row_format = format_of(connection)
    identities = [row_format.identity_of(item) for item in items if item.identity]
    mine = memories.c.user_id == user_id
    ids = sa.select(memories.c.id).where(mine, memories.c.id.in_([item.id for item in items]))
    stored = StoredRecords(set(connection.execute(ids).scalars()), row_format)
    clashing = sa.select(memories.c.id, memories.c.memory_key, memories.c.identity).where(
        mine, memories.c.memory_key.in_(keys) | memories.c.identity.in_(identities)
    )
    for row in connection.execute(clashing):
        stored.id_by_key[row.memory_key] = row.id
        if row.identity:
            stored.key_by_identity[row.identity] = row.memory_key
    deleted = DELETIONS.where(deletions.c.user_id == user_id, deletions.c.memory_key.in_(keys))
    for row in connection.execute(deleted):
        stored.deletions[row.memory_key] = Deletion(*row)
    return stored


def restore(
    connection: sa.Connection,
    user_id: str,
    records: Sequence[AnyRecord],
    batches: Batches,
) -> Restored:
    """Write *records* of one user; those without a batch are noted as pending."""
    stored = _stored(connection, user_id, records)
    total = Restored()
    written: list[MemoryItem] = []
    for record in records:
        if isinstance(record, Deletion):
            total += _restore_deletion(connection, user_id, record, stored)
            continue
        if record.id in stored.ids:
            total += _compare(connection, record)
            continue
        reason = stored.conflict_with(record)
        # Another process may have written it since `_stored` looked.
        if reason is None and not insert_record(connection, record):
            reason = "changed meanwhile"
        if reason is None:
            stored.add(record)
            written.append(record)
        else:
            total += _conflict(record, reason)
    # Last, because it locks the user's row: see above.
    indexing.insert(connection, user_id, [(item, batches.get(item.id)) for item in written])
    return total + Restored(written=len(written))


def _compare(connection: sa.Connection, item: MemoryItem) -> Restored:
    """Compare *item* with the user's record of the same id."""
    old = indexing.item_by_id(connection, item.user_id, item.id)
    differing = differences(old, item) if old else ["id"]
    if not differing:
        return Restored(unchanged=1)
    reason = f"another version of it is here, with other {', '.join(differing)}"
    return _conflict(item, reason)


def _conflict(item: MemoryItem, reason: str) -> Restored:
    conflict = Conflict(item.user_id, item.memory_key, reason, item.id)
    return Restored(conflicts=(conflict,))


def differences(one: MemoryItem, other: MemoryItem) -> list[str]:
    """Return the fields in which two versions of a record differ, their reads and origins aside."""
    names = [item_field.name for item_field in fields(MemoryItem)]
    return [
        name
        for name in names
        if name not in _NOT_COMPARED and getattr(one, name) != getattr(other, name)
    ]


def _restore_deletion(
    connection: sa.Connection, user_id: str, deletion: Deletion, stored: StoredRecords
) -> Restored:
    if deletion.memory_key in stored.id_by_key:
        reason = (
            f"it was deleted there on {deletion.deleted_at:%Y-%m-%d %H:%M} UTC, and is still here"
        )
        return Restored(conflicts=(Conflict(user_id, deletion.memory_key, reason),))
    old = stored.deletions.get(deletion.memory_key)
    # The later deletion is the one that readers are told of.
    if old and old.deleted_at >= deletion.deleted_at:
        return Restored(unchanged=1)
    facts = {"deleted_at": deletion.deleted_at, "reason": deletion.reason}
    insert = insert_into(deletions).values(user_id=user_id, memory_key=deletion.memory_key, **facts)
    connection.execute(
        insert.on_conflict_do_update(index_elements=["user_id", "memory_key"], set_=facts)
    )
    stored.deletions[deletion.memory_key] = deletion
    return Restored(written=1)


def new_items(
    connection: sa.Connection, user_id: str, records: Sequence[AnyRecord]
) -> list[MemoryItem]:
    """Return the records that would be new: those worth preparing the index for."""
    stored = _stored(connection, user_id, records)
    return [
        record
        for record in records
        if isinstance(record, MemoryItem)
        and record.id not in stored.ids
        and stored.conflict_with(record) is None
    ]
