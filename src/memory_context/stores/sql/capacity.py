"""Whether a tier has room for a record, and a user the quota, decided in the transaction that writes it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import sqlalchemy as sa

from memory_context.model.item import MemoryItem, now
from memory_context.model.tier import Quota, Room, check_quota, check_room
from memory_context.runtime import events
from memory_context.stores.sql.dialects import advisory_lock
from memory_context.stores.sql.filters import Conditions
from memory_context.stores.sql.schema import memories

# Any number of our own: it keeps our locks apart from those of other programs in the same database.
_SEED = 4_051_722_093_184_611


def make_room(
    connection: sa.Connection, item: MemoryItem, room: Room, replaced: MemoryItem | None
) -> None:
    """Evict what has to go so that *item* fits its tier in the place of *replaced*.

    Until the transaction ends nobody else writes there, or two writers could fill the last place together.

    Raises:
        TierFullError: It does not fit.
    """
    _lock(connection, item.user_id, item.tier, item.tier_id or "")
    others = _others(item, replaced)
    items, chars = _held(connection, others)
    while full := check_room(item.tier, room, items, chars, item.char_count):
        evicted = _evict(connection, others, room, items)
        if not evicted:
            raise full
        events.EVICTED.log(user_id=item.user_id, tier=item.tier, memory_keys=", ".join(evicted))
        items, chars = _held(connection, others)


@contextmanager
def quota_kept(connection: sa.Connection, user_id: str, quota: Quota | None) -> Generator[None]:
    """Check, after the user's writes in the body, that what they made grow is within the quota.

    Raises:
        QuotaExceededError: It is not. The transaction has to be rolled back.
    """
    if quota is None:
        yield
        return
    _lock(connection, user_id)
    items_before, bytes_before = _taken(connection, user_id)
    yield
    items, size = _taken(connection, user_id)
    if items > items_before or size > bytes_before:
        error = check_quota(quota, items, size)
        if error:
            raise error


def _lock(connection: sa.Connection, *names: str) -> None:
    """Wait until no other transaction holds the lock of these names; they are hashed, as its key is a number."""
    advisory_lock(connection, sa.func.hashtextextended(sa.literal("\n".join(names)), _SEED))


def _taken(connection: sa.Connection, user_id: str) -> tuple[int, int]:
    """Return how many records a user has, and the bytes of their contents."""
    size = sa.func.coalesce(sa.func.sum(memories.c.byte_count), 0)
    statement = sa.select(sa.func.count(), size).where(memories.c.user_id == user_id)
    items, total = connection.execute(statement).one()
    return int(items), int(total)


def _others(item: MemoryItem, replaced: MemoryItem | None) -> Conditions:
    """Match the active records of the tier beside the one that is written."""
    ids = [item.id]
    if replaced is not None:
        ids.append(replaced.id)
    return (
        memories.c.user_id == item.user_id,
        memories.c.tier == item.tier,
        memories.c.tier_id == item.tier_id,
        memories.c.is_active.is_(sa.true()),
        memories.c.id.not_in(ids),
    )


def _held(connection: sa.Connection, others: Conditions) -> tuple[int, int]:
    """Return how many records there are, and how many characters they have together."""
    chars = sa.func.coalesce(sa.func.sum(memories.c.char_count), 0)
    items, total = connection.execute(sa.select(sa.func.count(), chars).where(*others)).one()
    return int(items), int(total)


def _evict(connection: sa.Connection, others: Conditions, room: Room, items: int) -> list[str]:
    """Evict the share that *room* says, at least one, the least important and oldest first; return their keys."""
    if not room.evict:
        return []
    share = max(int(room.evict * (room.max_items or items)), 1)
    order = (memories.c.importance, memories.c.created_at, memories.c.id)
    least = sa.select(memories.c.id).where(*others).order_by(*order).limit(share)
    chosen = (*others, memories.c.id.in_(least))
    keys = connection.execute(sa.select(memories.c.memory_key).where(*chosen)).scalars().all()
    update = sa.update(memories).where(*chosen)
    connection.execute(update.values(is_active=False, updated_at=now()))
    return list(keys)
