"""Putting a record: found again, inserted, or overwritten.

Every function works in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from memory_context.exceptions import KeyExistsError, RecordChangedError
from memory_context.model.item import MemoryItem, is_same, now, stored_again
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity, Quota
from memory_context.stores.sql.capacity import make_room, quota_kept
from memory_context.stores.sql.filters_as_sql import within
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import Batches, ChunkBatch
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.restore import insert_record, insert_records, twin_of
from memory_context.stores.sql.row_encoding import RECORDS, decode_row, encode_row, format_of
from memory_context.stores.sql.schema import memories, this_memory
from memory_context.text.index.chunks import searchable

# Built once: a fold puts many records, and looks each up by its identity first.
_OF_USER = RECORDS.where(memories.c.user_id == sa.bindparam("user"))
_BY_IDENTITY = Prepared(_OF_USER.where(memories.c.identity == sa.bindparam("wanted")))
_BY_KEY = Prepared(_OF_USER.where(memories.c.memory_key == sa.bindparam("wanted")))


@dataclass(frozen=True, slots=True)
class PutOptions:
    """How a record is put: see `MemoryStore.put`.

    Attributes:
        scope: Where it belongs.
        batch: Its chunks, analyzed before the transaction; None where they are indexed after it.
        replace: Whether it may take the place of another memory under its key.
        capacity: How much its tier holds.
        replaces: The record that it takes the place of, as it was read.
        quota: How much is kept of the user.
    """

    scope: Scope
    batch: ChunkBatch | None
    replace: bool
    capacity: Capacity | None
    replaces: MemoryItem | None
    quota: Quota | None = None


def put(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> MemoryItem:
    """Put *item* and return the record that stands in the store afterwards.

    Raises what `MemoryStore.put` does.
    """
    with quota_kept(connection, item.user_id, options.quota):
        if options.replaces is not None:
            return _take_over(connection, item, options, options.replaces)
        known = _by_identity(connection, item)
        if known is None:
            _check_room(connection, item, options)
            return _insert_or_find(connection, item, options)
        return _store_again(connection, known, item)


def _insert_or_find(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> MemoryItem:
    """Insert *item*, or find what is there already.

    Each time that the insert clashes, the database is asked what it clashes with. Another process
    may have inserted the same content meanwhile, or deleted what was in the way; then it is tried
    again.

    Raises:
        KeyExistsError: The key, or the id, belongs to another memory.
    """
    # Not a lookup before the insert: between the two another process could insert the same.
    while not insert_record(connection, item):
        known = _by_identity(connection, item)
        if known is not None:
            return _store_again(connection, known, item)
        holder = _by_key(connection, item)
        if holder is None:
            if indexing.item_by_id(connection, item.user_id, item.id):
                raise KeyExistsError(
                    f"the id {item.id} belongs to another memory; leave it out, and one is made"
                )
            continue
        if is_same(holder, item) and not options.replace:
            return _store_again(connection, holder, item)
        if options.replace and (
            holder.id == item.id or options.scope.sees(holder.tier, holder.tier_id)
        ):
            if not _locked(connection, holder):
                continue
            return _overwrite(connection, holder, item, options.batch)
        raise _taken(item)
    indexing.insert(connection, item.user_id, [(item, options.batch)])
    return item


def put_all(
    connection: sa.Connection,
    scope: Scope,
    items: Sequence[MemoryItem],
    batches: Batches,
    quota: Quota | None,
) -> None:
    """Put records whose callers chose their keys, each in the place of what its key holds.

    All rows are locked, in the order of their keys, before anything of the index is touched: whoever writes to the index
    locks the user's row in `owners`, and two that had some rows and that one in another order would wait in a circle.

    Raises:
        KeyExistsError: A key holds a memory that the scope does not see.
    """
    with quota_kept(connection, scope.user_id, quota):
        waiting = sorted(items, key=lambda item: item.memory_key)
        new: list[MemoryItem] = []
        held: list[tuple[MemoryItem, MemoryItem]] = []
        while waiting:
            written = insert_records(connection, waiting)
            new += [item for item in waiting if item.id in written]
            clashing = [item for item in waiting if item.id not in written]
            waiting = list[MemoryItem]()
            for item in clashing:
                holder = _by_key(connection, item)
                if holder is not None and not scope.sees(holder.tier, holder.tier_id):
                    raise _taken(item)
                if holder is not None and _locked(connection, holder):
                    held.append((holder, item))
                else:
                    waiting.append(item)  # deleted meanwhile
        for holder, item in held:
            _overwrite(connection, holder, item, batches[item.id])
        indexing.insert(connection, scope.user_id, [(item, batches[item.id]) for item in new])


def _taken(item: MemoryItem) -> KeyExistsError:
    return KeyExistsError(
        f"the key {item.memory_key!r} holds another memory; choose another key, forget it, or replace it"
    )


def _check_room(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> None:
    """Make room for *item*, unless it is there already and takes none."""
    if options.capacity is None:
        return
    holder = _by_key(connection, item)
    is_there = holder is not None and holder.is_active and is_same(holder, item)
    if options.replace or not is_there:
        make_room(connection, item, options.capacity, holder)


def _take_over(
    connection: sa.Connection, item: MemoryItem, options: PutOptions, read: MemoryItem
) -> MemoryItem:
    """Put *item* in the place of *read*.

    Raises:
        RecordChangedError: It is not there any more, or not as it was read.
    """
    statement = sa.select(memories.c.updated_at).where(
        *within(options.scope), memories.c.id == read.id
    )
    # On PostgreSQL the row is locked, or two could both find it as they read it. FOR NO KEY UPDATE
    # lets reads be counted meanwhile: their foreign key takes a lock on the row too.
    updated_at = connection.execute(statement.with_for_update(key_share=True)).scalar()
    if updated_at != read.updated_at:
        raise RecordChangedError(
            f"the memory {read.memory_key!r} was changed or deleted since it was read; read it again"
        )
    if options.capacity is not None:
        make_room(connection, item, options.capacity, read)
    return _overwrite(connection, read, item, options.batch)


def _by_identity(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    identity = format_of(connection).identity_of(item)
    if identity is None:
        return None
    return _one(connection, _BY_IDENTITY, item.user_id, identity)


def _by_key(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    return _one(connection, _BY_KEY, item.user_id, item.memory_key)


def _one(
    connection: sa.Connection, statement: Prepared, user: str, wanted: str
) -> MemoryItem | None:
    for row in statement.rows(connection, {"user": user, "wanted": wanted}):
        return decode_row(connection, row)
    return None


def _locked(connection: sa.Connection, holder: MemoryItem) -> bool:
    """Keep others from writing to the row of *holder* until the transaction ends; return whether it is still there.

    On PostgreSQL two could both delete the chunks that they see, and insert theirs under the same numbers.
    """
    row = sa.select(memories.c.id).where(*this_memory(holder.user_id, holder.id))
    return connection.execute(row.with_for_update(key_share=True)).first() is not None


def _overwrite(
    connection: sa.Connection, old: MemoryItem, new: MemoryItem, batch: ChunkBatch | None
) -> MemoryItem:
    """Write *new* into the row of *old*, which keeps its id and `created_at`."""
    # References and reads point to the id, so it stays.
    item = replace(new, id=old.id, created_at=old.created_at, updated_at=now())
    # The embedder read nothing else of it.
    is_embedded = (searchable(old), old.summary) == (searchable(new), new.summary)
    this = sa.select(memories.c.id).where(*this_memory(old.user_id, old.id))
    indexing.remove(connection, old.user_id, this, vectors=not is_embedded)
    item = rewrite(connection, item)
    indexing.insert(connection, item.user_id, [(item, batch)])
    return item


def rewrite(connection: sa.Connection, item: MemoryItem) -> MemoryItem:
    """Write *item* into its row, and return it as it stands there. The index is not touched."""
    # Its content was kept in two forms then, and becomes equal now.
    if twin_of(connection, item) is not None:
        item = replace(item, identity=None)
    update = sa.update(memories).where(*this_memory(item.user_id, item.id))
    connection.execute(update.values(encode_row(connection, item)))
    return item


def _store_again(connection: sa.Connection, known: MemoryItem, item: MemoryItem) -> MemoryItem:
    """Note that *item* was stored again as *known*; see `stored_again`."""
    again = stored_again(known, item)
    if again.origin != known.origin:
        return rewrite(connection, again)  # a codec binds the content to it
    # Nothing changed: then nothing is written, and other writers do not wait.
    if again is not known:
        update = sa.update(memories).where(*this_memory(known.user_id, known.id))
        connection.execute(
            update.values(
                is_active=again.is_active,
                expires_at=again.expires_at,
                updated_at=again.updated_at,
            )
        )
    return again
