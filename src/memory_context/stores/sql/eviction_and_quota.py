"""The capacity of a tier and the quota of a user, enforced in the transaction that writes a record."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from memory_context.model.item import MemoryItem, now
from memory_context.model.quota import Quota, check_quota
from memory_context.model.tiers_and_limits import Capacity, check_room
from memory_context.runtime import log_events
from memory_context.stores.sql.schema import (
    IS_ACTIVE,
    MEMORY_IDS,
    Conditions,
    memories,
    total_of,
)
from memory_context.stores.sql.scopes_and_filters_as_sql import order_of
from memory_context.stores.sql.upserts_locks_and_settings import advisory_lock

# An arbitrary number that keeps our locks apart from those of other programs in the same database.
_SEED = 4_051_722_093_184_611


def make_room(
    connection: sa.Connection, item: MemoryItem, capacity: Capacity, replaced: MemoryItem | None
) -> None:
    """Evict as many memories as necessary for *item* to fit into its tier, in place of *replaced*.

    Nobody else can write to the tier until the transaction ends; otherwise two writers could both
    take the last free place.

    Raises:
        TierFullError: *item* does not fit.
    """
    # On SQLite the transaction has the write lock already; this is for PostgreSQL.
    _lock(connection, item.user_id, item.tier, item.tier_id or "")
    ids = [item.id]
    if replaced:
        ids.append(replaced.id)
    others = (
        memories.c.user_id == item.user_id,
        memories.c.tier == item.tier,
        memories.c.tier_id == item.tier_id,
        IS_ACTIVE,
        memories.c.id.not_in(ids),
    )
    while True:
        items, chars = _totals(connection, memories.c.char_count, others)
        full = check_room(item.tier, capacity, items, chars, item.char_count)
        if not full:
            return
        if not capacity.evict or not items:
            raise full
        evicted = ", ".join(_evict_share(connection, others, capacity, items))
        # None, if another process has just deleted the one to be evicted; then the rest is counted again.
        if evicted:
            log_events.EVICTED.log(user_id=item.user_id, tier=item.tier, memory_keys=evicted)


def evict(connection: sa.Connection, where: Conditions) -> list[str]:
    """Make the active memories that meet *where* inactive; return their keys."""
    active = MEMORY_IDS.where(*where, IS_ACTIVE)
    # Locked in the order of their keys first, as in `row_deletion.delete`; FOR NO KEY UPDATE, as an UPDATE does.
    by_key = active.order_by(*order_of("-memory_key", connection.dialect.name))
    locked = memories.c.id.in_(by_key.with_for_update(key_share=True))
    statement = sa.update(memories).where(*where, locked)
    evicted = statement.values(is_active=False, updated_at=now()).returning(memories.c.memory_key)
    return list(connection.scalars(evicted))


@contextmanager
def quota_kept(connection: sa.Connection, user_id: str, quota: Quota | None) -> Generator[None]:
    """Check the user's quota after the writes in the body, for as far as they increased the user's total.

    Raises:
        QuotaExceededError: The quota is exceeded. The transaction has to be rolled back.
    """
    if not quota:
        yield
        return
    _lock(connection, user_id)
    mine = (memories.c.user_id == user_id,)
    # If the quota was lowered below what a user has, the user may still shorten and delete memories.
    items_before, bytes_before = _totals(connection, memories.c.byte_count, mine)
    yield
    items, size = _totals(connection, memories.c.byte_count, mine)
    if items > items_before or size > bytes_before:
        error = check_quota(quota, items, size)
        if error:
            raise error


def _lock(connection: sa.Connection, *names: str) -> None:
    """Wait for PostgreSQL's advisory lock of these names, and hold it until the transaction ends.

    PostgreSQL's locks are numbers, so the names are hashed.
    """
    advisory_lock(connection, sa.func.hashtextextended(sa.literal("\n".join(names)), _SEED))


def _totals(connection: sa.Connection, size: sa.Column[Any], where: Conditions) -> tuple[int, int]:
    """Return the number of records that meet *where*, and the sum of their sizes."""
    totals = sa.select(sa.func.count(), total_of(size))
    items, total = connection.execute(totals.where(*where)).one()
    return items, total


def _evict_share(
    connection: sa.Connection, others: Conditions, capacity: Capacity, items: int
) -> list[str]:
    """Evict the share of memories that *capacity* sets, and return their keys.

    At least one memory is evicted. The least important ones go first; of equally important ones,
    the oldest.
    """
    share = int(capacity.evict * (capacity.max_items or items))
    order = (memories.c.importance, memories.c.created_at, memories.c.id)
    least_first = MEMORY_IDS.where(*others).order_by(*order)
    # At least one, or `make_room` would never end.
    least = least_first.limit(max(share, 1))
    return evict(connection, (*others, memories.c.id.in_(least)))
