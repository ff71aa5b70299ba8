"""Everything of a scope, page by page: what an export reads. Contents come a bounded number of characters at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.item import Deletion, MemoryItem
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.schema import UTCDateTime, deletions, memories

PAGE = 1000


class Place(NamedTuple):
    """Where a memory stands in the order of a listing, and how many characters or bytes its content has."""

    created_at: datetime
    id: UUID
    size: int


def places_after(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]], last: Place | None
) -> list[Place]:
    """The next memories, oldest first."""
    order = (memories.c.created_at, memories.c.id)
    size = sa.func.coalesce(
        sa.func.length(memories.c.content), sa.func.length(memories.c.content_bytes), 0
    )
    statement = sa.select(*order, size).where(*where).order_by(*order).limit(PAGE)
    if last is not None:
        place = sa.tuple_(sa.literal(last.created_at, UTCDateTime), sa.literal(last.id, sa.Uuid))
        statement = statement.where(sa.tuple_(*order) > place)
    return [Place(*row) for row in connection.execute(statement)]


def items_at(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]], places: Sequence[Place]
) -> list[MemoryItem]:
    """The memories at these places, in their order, without those that are gone."""
    rows = connection.execute(
        RECORDS.where(*where, memories.c.id.in_([place.id for place in places]))
    )
    found = {item.id: item for item in map(item_of, rows)}
    return [found[place.id] for place in places if place.id in found]


def deletions_after(connection: sa.Connection, user_id: str, last: str) -> list[Deletion]:
    """The next deletions of a user, by their keys."""
    mine = sa.select(deletions).where(deletions.c.user_id == user_id, deletions.c.memory_key > last)
    rows = connection.execute(mine.order_by(deletions.c.memory_key).limit(PAGE))
    return [Deletion(row.memory_key, row.deleted_at, row.reason) for row in rows]
