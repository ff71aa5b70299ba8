"""How a record is put: found again, inserted, written over, under a longer key; in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from memory_context.exceptions import KeyExistsError, RecordChangedError
from memory_context.model.item import MemoryItem, is_same, longer_key, now, stored_again
from memory_context.model.scope import Scope
from memory_context.model.tier import Quota, Room
from memory_context.stores.sql import capacity
from memory_context.stores.sql.filters import within
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import Batch
from memory_context.stores.sql.restore import insert_record, is_taken
from memory_context.stores.sql.row import RECORDS, item_of, row_of
from memory_context.stores.sql.schema import memories

_OF_USER = memories.c.user_id == sa.bindparam("user")
_BY_IDENTITY = RECORDS.where(_OF_USER, memories.c.identity == sa.bindparam("wanted"))
_BY_KEY = RECORDS.where(_OF_USER, memories.c.memory_key == sa.bindparam("wanted"))


@dataclass(frozen=True, slots=True)
class Way:
    """How a record is put: see `MemoryStore.put`."""

    scope: Scope
    batch: Batch | None
    replace: bool
    room: Room | None
    replaces: MemoryItem | None
    quota: Quota | None = None


def put(connection: sa.Connection, item: MemoryItem, way: Way) -> MemoryItem:
    """The record that stands in the store afterwards; raises what `MemoryStore.put` raises."""
    with capacity.quota_kept(connection, item.user_id, way.quota):
        return _put(connection, item, way)


def _put(connection: sa.Connection, item: MemoryItem, way: Way) -> MemoryItem:
    if way.replaces is not None:
        return _taken_over(connection, item, way, way.replaces)
    known = _by_identity(connection, item)
    if known is None and way.room is not None:
        _make_room(connection, item, way.room, way)
    while known is None and not _inserted(connection, item, way.batch):
        known = _by_identity(connection, item)
        holder = None if known else _one(connection, _BY_KEY, item.user_id, item.memory_key)
        if holder is not None and not way.replace and is_same(holder, item):
            known = holder
        elif holder is not None and way.replace and holder.id == item.id:
            return _overwrite(connection, holder, item, way.batch)
        elif holder is not None and (key := longer_key(item)):
            item = replace(item, memory_key=key)
        elif holder is not None and way.replace and way.scope.sees(holder.tier, holder.tier_id):
            return _overwrite(connection, holder, item, way.batch)
        elif holder is not None:
            message = f"the key {item.memory_key!r} holds another memory; choose another key, forget it, or replace it"
            raise KeyExistsError(message)
        elif known is None and is_taken(connection, item.id):
            message = f"the id {item.id} belongs to another memory; leave it out, and one is made"
            raise KeyExistsError(message)
    return _stored_again(connection, known, item) if known else item


def _make_room(connection: sa.Connection, item: MemoryItem, room: Room, way: Way) -> None:
    holder = _one(connection, _BY_KEY, item.user_id, item.memory_key)
    is_there = holder is not None and holder.is_active and not way.replace and is_same(holder, item)
    if not is_there:
        capacity.make(connection, item, room, holder)


def _taken_over(
    connection: sa.Connection, item: MemoryItem, way: Way, read: MemoryItem
) -> MemoryItem:
    """`item` in the place of `read`, if that is still there as it was read."""
    row = (*within(way.scope), memories.c.id == read.id)
    statement = sa.select(memories.c.updated_at).where(*row).with_for_update(key_share=True)
    if connection.execute(statement).scalar() != read.updated_at:
        message = f"the memory {read.memory_key!r} was changed or deleted since it was read; read it again"
        raise RecordChangedError(message)
    if way.room is not None:
        capacity.make(connection, item, way.room, read)
    return _overwrite(connection, read, item, way.batch)


def _by_identity(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    return _one(connection, _BY_IDENTITY, item.user_id, item.identity) if item.identity else None


def _one(
    connection: sa.Connection, statement: sa.Select[*tuple[Any, ...]], user: str, wanted: str
) -> MemoryItem | None:
    row = connection.execute(statement, {"user": user, "wanted": wanted}).one_or_none()
    return item_of(row) if row else None


def _inserted(connection: sa.Connection, item: MemoryItem, batch: Batch | None) -> bool:
    if not insert_record(connection, item):
        return False
    indexing.insert(connection, item, batch)
    return True


def _overwrite(
    connection: sa.Connection, old: MemoryItem, new: MemoryItem, batch: Batch | None
) -> MemoryItem:
    item = replace(new, id=old.id, created_at=old.created_at, updated_at=now())
    if _is_twice(connection, item):
        item = replace(item, identity=None)
    row = (memories.c.user_id == old.user_id, memories.c.id == old.id)
    indexing.remove(connection, old.user_id, sa.select(memories.c.id).where(*row))
    connection.execute(sa.update(memories).where(*row).values(row_of(item)))
    indexing.insert(connection, item, batch)
    return item


def _is_twice(connection: sa.Connection, item: MemoryItem) -> bool:
    """Whether another record has the identity: the content was kept in two forms, and becomes equal by being put."""
    wanted = (
        memories.c.user_id == item.user_id,
        memories.c.identity == item.identity,
        memories.c.id != item.id,
    )
    return (
        item.identity is not None
        and connection.execute(sa.select(memories.c.id).where(*wanted)).first() is not None
    )


def _stored_again(connection: sa.Connection, known: MemoryItem, item: MemoryItem) -> MemoryItem:
    """What is there, active, kept as long as either asks for, and no older than its last storing."""
    again = stored_again(known, item)
    if again is not known:
        changed = {name: getattr(again, name) for name in ("is_active", "expires_at", "updated_at")}
        row = (memories.c.user_id == item.user_id, memories.c.id == known.id)
        connection.execute(sa.update(memories).where(*row).values(changed))
    return again
