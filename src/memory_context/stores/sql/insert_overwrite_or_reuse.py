"""Putting a record. A put inserts it, overwrites another record, or finds the same content stored already.

Every function works in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import sqlalchemy as sa

from memory_context.exceptions import KeyExistsError
from memory_context.model.item import MemoryItem, changed, is_same, now
from memory_context.model.origin import lowest
from memory_context.model.quota import Quota
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity
from memory_context.stores.sql.eviction_and_quota import make_room, quota_kept
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.indexing import Batches, ChunkBatch
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.restore_imported_records import insert_records, twin_of
from memory_context.stores.sql.row_encoding import RECORDS, decoded_row, encode_row, format_of
from memory_context.stores.sql.schema import MEMORY_IDS, memories, this_memory
from memory_context.stores.sql.scopes_and_filters_as_sql import within
from memory_context.text.index.chunks_and_metadata_cards import searchable

# A record that was changed less than this ago is not written again if only its time would change.
FRESH = timedelta(minutes=1)
# Prepared once, because a fold puts many records, and each one is first looked up by its identity.
_OF_USER = RECORDS.where(memories.c.user_id == sa.bindparam("user"))
_WANTED = sa.bindparam("wanted", type_=sa.Text)
_BY_IDENTITY = Prepared(_OF_USER.where(memories.c.identity == _WANTED))
_BY_KEY = Prepared(_OF_USER.where(memories.c.memory_key == _WANTED))


class PutOptions(NamedTuple):
    """The arguments of `MemoryStore.put`, and what the store adds to them.

    Attributes:
        scope: The scope that the record belongs to.
        batch: Its chunks, analyzed before the transaction; None if they are indexed after it.
        replace: Whether it may overwrite another memory under its key.
        capacity: The capacity of its tier.
        replaces: The record that it replaces, as the caller has read it.
        quota: The limit on what is kept for the user.
    """

    scope: Scope
    batch: ChunkBatch | None
    replace: bool
    capacity: Capacity | None
    replaces: MemoryItem | None
    quota: Quota | None


def put(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> MemoryItem:
    """Put *item* and return the record as it then stands in the store.

    It raises the errors of `MemoryStore.put`.
    """
    with quota_kept(connection, item.user_id, options.quota):
        if options.replaces:
            return _replace(connection, item, options, options.replaces)
        known = _by_identity(connection, item)
        if not known:
            _check_room(connection, item, options)
            return _insert_or_find(connection, item, options)
        return _store_again(connection, known, item)


def _insert_or_find(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> MemoryItem:
    """Insert *item*, or return the record with the same content that exists already.

    If the insert conflicts with another record, that record is looked up. Another process may have
    inserted the same content meanwhile, or may have deleted the record; then the insert is repeated.

    Raises:
        KeyExistsError: The key, or the id, belongs to another memory.
    """
    # Insert first and look up later: in the other order, another process could insert in between.
    while not insert_records(connection, [item]):
        known = _by_identity(connection, item)
        if known:
            return _store_again(connection, known, item)
        holder = _holder(connection, item)
        if not holder:
            continue
        if not options.replace:
            if is_same(holder, item):
                return _store_again(connection, holder, item)
            raise _key_exists(item)
        if holder.id != item.id and not options.scope.sees(holder.tier, holder.tier_id):
            raise _key_exists(item)
        if _locked(connection, holder):
            return _overwrite(connection, holder, item, options.batch)
    indexing.insert(connection, item.user_id, [(item, options.batch)])
    return item


def put_all(
    connection: sa.Connection,
    scope: Scope,
    items: Sequence[MemoryItem],
    batches: Batches,
    quota: Quota | None,
) -> Batches:
    """Put records with keys of the caller's choice, each replacing the memory under its key, if any.

    All rows are locked, in the order of their keys, before anything is written to the index. Writing to the index locks
    the user's row in `owners`; transactions that took these locks in different orders could deadlock.

    Returns:
        The chunks to index, by the ids that the records then have: one that replaces a memory takes over its id.

    Raises:
        KeyExistsError: A key belongs to a memory that the scope does not see, or an id to a memory under another key.
        RecordChangedError: A memory was deleted after its key was found taken. It cannot be inserted any more, because
            rows with later keys are locked already; the caller begins again.
    """
    with quota_kept(connection, scope.user_id, quota):
        # Without an identity: a record under a key of the caller's choice is never merged with one of the same content.
        alone = [replace(item, identity=None) for item in items]
        ordered = sorted(alone, key=lambda item: item.memory_key)
        written = insert_records(connection, ordered)
        held: list[tuple[MemoryItem, MemoryItem]] = []
        for item in ordered:
            if item.id in written:
                continue
            holder = _holder(connection, item)
            if holder and not scope.sees(holder.tier, holder.tier_id):
                raise _key_exists(item)
            if not holder or not _locked(connection, holder):
                raise changed(item.memory_key)
            held.append((holder, item))
        for holder, item in held:
            _overwrite(connection, holder, item, batches[item.id])
        new = [(item, batches[item.id]) for item in ordered if item.id in written]
        indexing.insert(connection, scope.user_id, new)
    to_index = {holder.id: batches[item.id] for holder, item in held}
    return to_index | {item.id: batch for item, batch in new}


def _key_exists(item: MemoryItem) -> KeyExistsError:
    return KeyExistsError(
        f"the key {item.memory_key!r} holds another memory; choose another key, forget it, or replace it"
    )


def _check_room(connection: sa.Connection, item: MemoryItem, options: PutOptions) -> None:
    """Make room for *item* in its tier, unless it is stored already and needs none."""
    if not options.capacity:
        return
    holder = _by_key(connection, item)
    if holder and holder.is_active and is_same(holder, item) and not options.replace:
        return
    make_room(connection, item, options.capacity, holder)


def _replace(
    connection: sa.Connection, item: MemoryItem, options: PutOptions, read: MemoryItem
) -> MemoryItem:
    """Put *item* in place of the record *read*.

    Raises:
        RecordChangedError: The record was changed or deleted since it was read.
    """
    version = sa.select(memories.c.updated_at)
    statement = version.where(*within(options.scope), memories.c.id == read.id)
    # On PostgreSQL the row is locked; otherwise two writers could both find it unchanged. FOR NO KEY
    # UPDATE lets reads be counted meanwhile: their foreign key locks the row, too.
    if connection.scalar(statement.with_for_update(key_share=True)) != read.updated_at:
        raise changed(read.memory_key)
    if options.capacity:
        make_room(connection, item, options.capacity, read)
    return _overwrite(connection, read, item, options.batch)


def _by_identity(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    identity = format_of(connection).identity_of(item)
    if identity is None:
        return None
    return _first_record(connection, _BY_IDENTITY, item.user_id, identity)


def _by_key(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    return _first_record(connection, _BY_KEY, item.user_id, item.memory_key)


def _holder(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
    """Return the memory under the key of *item*, which could not be inserted; None if it was deleted meanwhile.

    Raises:
        KeyExistsError: The id belongs to a memory under another key.
    """
    holder = _by_key(connection, item)
    if holder is None and indexing.item_by_id(connection, item.user_id, item.id):
        raise KeyExistsError(
            f"the id {item.id} belongs to another memory; leave it out to get a new one"
        )
    return holder


def _first_record(
    connection: sa.Connection, statement: Prepared, user: str, wanted: str
) -> MemoryItem | None:
    values = {"user": user, "wanted": wanted}
    for row in statement.rows(connection, connection.engine, values):
        return decoded_row(format_of(connection), row)
    return None


def _locked(connection: sa.Connection, holder: MemoryItem) -> bool:
    """Lock the row of *holder* until the transaction ends; return whether the row still exists.

    Without the lock, two transactions on PostgreSQL could both delete the old chunks, and insert their own under the
    same numbers.
    """
    row = MEMORY_IDS.where(*this_memory(holder.user_id, holder.id))
    return connection.scalar(row.with_for_update(key_share=True)) is not None


def _overwrite(
    connection: sa.Connection, old: MemoryItem, new: MemoryItem, batch: ChunkBatch | None
) -> MemoryItem:
    """Write *new* into the row of *old*, which keeps its id and `created_at`."""
    # References and reads point to the id, so it stays.
    item = replace(new, id=old.id, created_at=old.created_at, updated_at=now())
    # The vectors stay if the text and the summary do, because the embedder is given nothing else.
    is_embedded = (searchable(old), old.summary) == (searchable(new), new.summary)
    this = MEMORY_IDS.where(*this_memory(old.user_id, old.id))
    indexing.remove(connection, old.user_id, this, vectors=not is_embedded)
    item = rewrite(connection, item)
    indexing.insert(connection, item.user_id, [(item, batch)])
    return item


def rewrite(connection: sa.Connection, item: MemoryItem) -> MemoryItem:
    """Write *item* into its row, and return it as it is stored. The index is not touched."""
    # Another record of the user has this identity already, and only one can keep it. For example the same content was
    # stored once in plain and once encrypted, with different identities, and is now encrypted in both records.
    if twin_of(connection, item) is not None:
        item = replace(item, identity=None)
    update = sa.update(memories).where(*this_memory(item.user_id, item.id))
    connection.execute(update.values(encode_row(connection, item)))
    return item


def _store_again(connection: sa.Connection, known: MemoryItem, item: MemoryItem) -> MemoryItem:
    """Update the record *known* after the same *item* was put, and return it.

    It becomes active, expires when the later of the two does, and gets the less trusted origin of the two. If none of
    this changes *known*, and it was last changed less than a minute ago, nothing is written, so that other writers do
    not wait.
    """
    expires_at = None
    if known.expires_at and item.expires_at:
        expires_at = max(known.expires_at, item.expires_at)
    origin = lowest((known.origin, item.origin))
    again = replace(known, is_active=True, expires_at=expires_at, origin=origin)
    moment = now()
    is_fresh = moment - known.updated_at < FRESH
    if is_fresh and again == known:
        return known
    again = replace(again, updated_at=moment)
    if origin != known.origin:
        # The whole row is written, because a codec binds the content to the origin.
        return rewrite(connection, again)
    update = sa.update(memories).where(*this_memory(known.user_id, known.id))
    changes = {"is_active": True, "expires_at": expires_at, "updated_at": moment}
    connection.execute(update.values(changes))
    return again
