"""Whether a tier has room for a record, and a user the quota, decided in the transaction that writes it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from memory_context.model.item import MemoryItem, now
from memory_context.model.tier import Quota, Room, check_quota, check_room
from memory_context.runtime import events
from memory_context.stores.sql.schema import memories

_LOCK = 4_051_722_093_184_611


def make(
    connection: sa.Connection, item: MemoryItem, room: Room, replaced: MemoryItem | None
) -> None:
    """Make room for `item`, which takes the place of `replaced`, in its tier; nobody else writes there until the end.

    SQLite's writing transactions exclude each other anyway.

    Raises:
        TierFullError: There is none.
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
    """A user's writes in the body, which nobody else's pass; what grows must not pass the quota.

    Raises:
        QuotaExceededError: It would. The transaction is to be rolled back.
    """
    if quota is None:
        yield
        return
    _lock(connection, user_id)
    before = _taken(connection, user_id)
    yield
    after = _taken(connection, user_id)
    grown = [new > old for new, old in zip(after, before, strict=True)]
    if any(grown) and (error := check_quota(quota, *after)):
        raise error


def _lock(connection: sa.Connection, *place: str) -> None:
    """Wait until no other transaction writes there. SQLite's exclude each other anyway."""
    if connection.dialect.name == "postgresql":
        name = sa.literal("\n".join(place))
        connection.execute(
            sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(name, _LOCK)))
        )


def _taken(connection: sa.Connection, user_id: str) -> tuple[int, int]:
    """How many records a user has, and the bytes of their contents."""
    size = sa.func.coalesce(sa.func.sum(memories.c.byte_count), 0)
    items, total = connection.execute(
        sa.select(sa.func.count(), size).where(memories.c.user_id == user_id)
    ).one()
    return int(items), int(total)


def _others(item: MemoryItem, replaced: MemoryItem | None) -> list[sa.ColumnElement[bool]]:
    """The active records of the tier beside the one that is written."""
    same = [
        getattr(memories.c, name) == getattr(item, name) for name in ("user_id", "tier", "tier_id")
    ]
    ids = [item.id] if replaced is None else [item.id, replaced.id]
    return [*same, memories.c.is_active.is_(sa.true()), memories.c.id.not_in(ids)]


def _held(connection: sa.Connection, others: Sequence[sa.ColumnElement[bool]]) -> tuple[int, int]:
    """How many records, and how many characters together."""
    chars = sa.func.coalesce(sa.func.sum(memories.c.char_count), 0)
    items, total = connection.execute(sa.select(sa.func.count(), chars).where(*others)).one()
    return int(items), int(total)


def _evict(
    connection: sa.Connection, others: Sequence[sa.ColumnElement[bool]], room: Room, items: int
) -> list[str]:
    """Evict the least important share, oldest first, at least one; their keys."""
    share = int(room.evict * (room.max_items or items))
    order = (memories.c.importance, memories.c.created_at, memories.c.id)
    doomed = (
        sa.select(memories.c.id)
        .where(*others)
        .order_by(*order)
        .limit(max(share, 1) if room.evict else 0)
    )
    chosen = (*others, memories.c.id.in_(doomed))
    rows = connection.execute(sa.select(memories.c.memory_key).where(*chosen)).scalars().all()
    changed = {"is_active": False, "updated_at": now()}
    connection.execute(sa.update(memories).where(*chosen).values(changed))
    return list(rows)
