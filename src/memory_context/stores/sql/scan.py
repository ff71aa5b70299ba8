"""Reading everything of a scope page by page, as an export does.

Only a bounded number of characters is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.batches import batches_of
from memory_context.model.item import Deletion, MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.sql.catalog import TableStore
from memory_context.stores.sql.filters import Conditions, within
from memory_context.stores.sql.row_encoding import DELETIONS, RECORDS, decode_row
from memory_context.stores.sql.schema import UTCDateTime, deletions, memories

PAGE = 1000


class ScanPosition(NamedTuple):
    """Where a memory stands in a scan, and how many characters or bytes its content has."""

    created_at: datetime
    id: UUID
    size: int


def scan(store: TableStore, scope: Scope) -> Iterator[MemoryItem]:
    """Yield the memories of *scope*, oldest first."""
    where = within(scope)
    last: ScanPosition | None = None
    while page := store.read_tables(partial(_positions_after, where=where, last=last)):
        for batch in batches_of(page, lambda position: position.size):
            yield from store.read_tables(partial(_items_at, where=where, positions=batch))
        last = page[-1]


def _positions_after(
    connection: sa.Connection, where: Conditions, last: ScanPosition | None
) -> list[ScanPosition]:
    """Return the next page, oldest first, without contents."""
    order = (memories.c.created_at, memories.c.id)
    # Lengths first, so that the caller can take as many contents at a time as fit its bound.
    size = sa.func.coalesce(
        sa.func.length(memories.c.content), sa.func.length(memories.c.content_bytes), 0
    )
    statement = sa.select(*order, size).where(*where).order_by(*order).limit(PAGE)
    if last is not None:
        # Rows are compared, not skipped by OFFSET: others may insert and delete during the scan.
        end = sa.tuple_(sa.literal(last.created_at, UTCDateTime), sa.literal(last.id, sa.Uuid))
        statement = statement.where(sa.tuple_(*order) > end)
    return [ScanPosition(*row) for row in connection.execute(statement)]


def _items_at(
    connection: sa.Connection, where: Conditions, positions: Sequence[ScanPosition]
) -> list[MemoryItem]:
    """Return the memories at *positions*, in their order, without those that are gone."""
    ids = [position.id for position in positions]
    found: dict[UUID, MemoryItem] = {}
    for row in connection.execute(RECORDS.where(*where, memories.c.id.in_(ids))):
        found[row.id] = decode_row(connection, row)
    # IN gives rows in any order.
    return [found[memory_id] for memory_id in ids if memory_id in found]


def deletions_after(connection: sa.Connection, user_id: str, last: str) -> list[Deletion]:
    """Return a user's next page of deletions, by key."""
    following = DELETIONS.filter_by(user_id=user_id).where(deletions.c.memory_key > last)
    page = following.order_by(deletions.c.memory_key).limit(PAGE)
    return [Deletion(*row) for row in connection.execute(page)]
