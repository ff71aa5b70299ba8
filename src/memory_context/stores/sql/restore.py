"""Writing records exactly as they were: ids, times, reads, deletions. Every function works in the caller's transaction.

Nothing that is there is changed. Rows come first and the index last, which locks the user's row (`_keyword.count`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from memory_context.model.item import Conflict, Deletion, MemoryItem, Restored
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import Batch
from memory_context.stores.sql.row import row_of
from memory_context.stores.sql.schema import access, deletions, memories

READS = {"accessed_at": None, "access_count": 0}

# The two dialects' inserts have the same methods, but no common type; `sqlite.Insert` stands for both.
INSERT = {
    "sqlite": sqlite.insert,
    "postgresql": cast("Callable[[sa.Table], sqlite.Insert]", postgresql.insert),
}
_NEW = {
    dialect: insert(memories).on_conflict_do_nothing().returning(memories.c.id)
    for dialect, insert in INSERT.items()
}
_NOT_DELETED = sa.delete(deletions).where(
    deletions.c.user_id == sa.bindparam("user"), deletions.c.memory_key == sa.bindparam("wanted")
)


def insert_record(connection: sa.Connection, item: MemoryItem) -> bool:
    """Insert a record with its reads, and forget that its key was deleted; False if it clashes with another record."""
    if connection.execute(_NEW[connection.dialect.name], row_of(item)).first() is None:
        return False
    if item.access_count:
        read_at = item.accessed_at or item.updated_at
        reads = {"memory_id": item.id, "accessed_at": read_at, "access_count": item.access_count}
        connection.execute(sa.insert(access), reads)
    connection.execute(_NOT_DELETED, {"user": item.user_id, "wanted": item.memory_key})
    return True


def is_taken(connection: sa.Connection, memory_id: UUID) -> bool:
    """Whether a record has this id: anybody's, because ids are unique in the whole database."""
    return (
        connection.execute(sa.select(memories.c.id).where(memories.c.id == memory_id)).first()
        is not None
    )


@dataclass(frozen=True, slots=True)
class Known:
    """What the store has of the records that are to be written.

    Attributes:
        mine: The ids that records of this user have.
        others: The ids that records of other users have.
        by_key: Records of this user.
        by_identity: Records of this user.
        deleted: Deletions of this user.
    """

    mine: frozenset[UUID] = frozenset()
    others: frozenset[UUID] = frozenset()
    by_key: dict[str, UUID] = field(default_factory=dict[str, UUID])
    by_identity: dict[str, str] = field(default_factory=dict[str, str])
    deleted: dict[str, Deletion] = field(default_factory=dict[str, Deletion])

    def conflict_with(self, item: MemoryItem) -> str | None:
        """Why a new record cannot be written."""
        gone = self.deleted.get(item.memory_key)
        if item.id in self.others:
            return "its id is that of another memory"
        if item.memory_key in self.by_key:
            return f"the key belongs to another memory, {self.by_key[item.memory_key]}"
        if item.identity in self.by_identity:
            return f"its content is kept under {self.by_identity[item.identity]!r} already"
        if gone and gone.deleted_at >= item.updated_at:
            return f"it was deleted here on {gone.deleted_at:%Y-%m-%d %H:%M} UTC: {gone.reason}"
        return None

    def learn(self, item: MemoryItem) -> None:
        """Count a record that was written just now."""
        self.by_key[item.memory_key] = item.id
        if item.identity:
            self.by_identity[item.identity] = item.memory_key


def known(
    connection: sa.Connection, user_id: str, records: Sequence[MemoryItem | Deletion]
) -> Known:
    """What the store has of `records`."""
    items = [record for record in records if isinstance(record, MemoryItem)]
    keys = [record.memory_key for record in records]
    identities = [item.identity for item in items if item.identity]
    mine = memories.c.user_id == user_id
    clashes = memories.c.memory_key.in_(keys) | memories.c.identity.in_(identities)
    light = sa.select(memories.c.id, memories.c.memory_key, memories.c.identity)
    taken = sa.select(memories.c.id).where(memories.c.id.in_([item.id for item in items]))
    found = Known(
        mine=frozenset(connection.execute(taken.where(mine)).scalars()),
        others=frozenset(connection.execute(taken.where(memories.c.user_id != user_id)).scalars()),
    )
    for row in connection.execute(light.where(mine, clashes)):
        found.by_key[row.memory_key] = row.id
        found.by_identity.update({row.identity: row.memory_key} if row.identity else {})
    gone = sa.select(deletions).where(
        deletions.c.user_id == user_id, deletions.c.memory_key.in_(keys)
    )
    for row in connection.execute(gone):
        found.deleted[row.memory_key] = Deletion(row.memory_key, row.deleted_at, row.reason)
    return found


def restore(
    connection: sa.Connection,
    user_id: str,
    records: Sequence[MemoryItem | Deletion],
    batches: Mapping[UUID, Batch | None],
) -> Restored:
    """Write `records` of one user; those without a batch are noted as to be indexed."""
    here = known(connection, user_id, records)
    total, fresh = Restored(), list[MemoryItem]()
    for record in records:
        if isinstance(record, Deletion):
            total += _deletion(connection, user_id, record, here)
        elif record.id in here.mine:
            total += _again(connection, record)
        elif reason := here.conflict_with(record) or (
            not insert_record(connection, record) and "changed meanwhile"
        ):
            total += Restored(conflicts=(Conflict(user_id, record.memory_key, reason, record.id),))
        else:
            here.learn(record)
            fresh.append(record)
    for item in fresh:
        indexing.insert(connection, item, batches.get(item.id))
    return total + Restored(written=len(fresh))


def _again(connection: sa.Connection, item: MemoryItem) -> Restored:
    """A record of this user whose id is there: the same, or another version of it."""
    old = indexing.item_by_id(connection, item.user_id, item.id)
    differing = differences(old, item) if old else ["id"]
    if not differing:
        return Restored(unchanged=1)
    reason = f"another version of it is here, with other {', '.join(differing)}"
    return Restored(conflicts=(Conflict(item.user_id, item.memory_key, reason, item.id),))


def differences(one: MemoryItem, other: MemoryItem) -> list[str]:
    """The fields in which two versions of a record differ, their reads aside."""
    one, other = replace(one, match=None, **READS), replace(other, match=None, **READS)  # type: ignore[arg-type] # as declared
    return [
        each.name
        for each in fields(MemoryItem)
        if getattr(one, each.name) != getattr(other, each.name)
    ]


def _deletion(connection: sa.Connection, user_id: str, deletion: Deletion, here: Known) -> Restored:
    if deletion.memory_key in here.by_key:
        reason = (
            f"it was deleted there on {deletion.deleted_at:%Y-%m-%d %H:%M} UTC, and is still here"
        )
        return Restored(conflicts=(Conflict(user_id, deletion.memory_key, reason),))
    old = here.deleted.get(deletion.memory_key)
    if old and old.deleted_at >= deletion.deleted_at:
        return Restored(unchanged=1)
    note_deletion(connection, user_id, deletion)
    here.deleted[deletion.memory_key] = deletion
    return Restored(written=1)


def note_deletion(connection: sa.Connection, user_id: str, deletion: Deletion) -> None:
    """Keep when and why a memory was deleted."""
    facts = {"deleted_at": deletion.deleted_at, "reason": deletion.reason}
    insert = INSERT[connection.dialect.name](deletions).values(
        user_id=user_id, memory_key=deletion.memory_key, **facts
    )
    connection.execute(
        insert.on_conflict_do_update(index_elements=["user_id", "memory_key"], set_=facts)
    )


def unknown(
    connection: sa.Connection, user_id: str, records: Sequence[MemoryItem | Deletion]
) -> list[MemoryItem]:
    """The records that would be new: those worth preparing the index for."""
    here = known(connection, user_id, records)
    items = (record for record in records if isinstance(record, MemoryItem))
    return [item for item in items if item.id not in here.mine and here.conflict_with(item) is None]


def drop(connection: sa.Connection, user_id: str, ids: Iterable[UUID]) -> None:
    """Take records of one user out, without a note."""
    chosen = list(ids)
    mine = sa.select(memories.c.id).where(memories.c.user_id == user_id, memories.c.id.in_(chosen))
    indexing.remove(connection, user_id, mine)
    connection.execute(sa.delete(access).where(access.c.memory_id.in_(mine)))
    connection.execute(
        sa.delete(memories).where(memories.c.user_id == user_id, memories.c.id.in_(chosen))
    )
