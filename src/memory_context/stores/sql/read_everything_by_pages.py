"""Reading all records of a scope page by page, as an export does, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.batches import batches_of
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import Deletion, MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.sql.overviews_of_records import TableStore, rows_of
from memory_context.stores.sql.row_encoding import DELETIONS, RECORDS, decode_row
from memory_context.stores.sql.schema import Conditions, UTCDateTime, deletions, memories
from memory_context.stores.sql.scopes_and_filters_as_sql import within

PAGE = 1000
_OLDEST_FIRST = (memories.c.created_at, memories.c.id)


def scan(store: TableStore, scope: Scope) -> Iterator[MemoryItem]:
    """Yield the memories of *scope*, oldest first."""
    where = within(scope)
    # Lengths are read first, so that each batch of contents stays within a bounded size.
    size = sa.func.coalesce(
        sa.func.length(memories.c.content), sa.func.length(memories.c.content_bytes), 0
    )
    sizes = sa.select(*_OLDEST_FIRST, size.label("size")).where(*where)
    statement = sizes.order_by(*_OLDEST_FIRST).limit(PAGE)
    page = statement
    while rows := rows_of(store, page):
        for batch in batches_of(rows, attrgetter("size")):
            ids = [row.id for row in batch]
            yield from store.read_tables(partial(_items_at, where=where, ids=ids))
        last = rows[-1]
        # The next page is found by comparison, not by OFFSET, because rows may be inserted or deleted meanwhile.
        end = sa.tuple_(sa.literal(last.created_at, UTCDateTime), sa.literal(last.id, sa.Uuid))
        page = statement.where(sa.tuple_(*_OLDEST_FIRST) > end)


def _items_at(
    connection: sa.Connection, where: Conditions, ids: Sequence[UUID]
) -> list[MemoryItem]:
    """Return the memories with these *ids*, oldest first. Those that were deleted meanwhile are left out."""
    records = RECORDS.where(*where, memories.c.id.in_(ids)).order_by(*_OLDEST_FIRST)
    return [decode_row(connection, row) for row in connection.execute(records)]


def scan_deletions(store: TableStore, scope: Scope) -> Iterator[Deletion]:
    """Yield the deletions of a scope's user, sorted by key."""
    check_arguments(scope=scope)
    key = deletions.c.memory_key
    page = DELETIONS.filter_by(user_id=scope.user_id).order_by(key).limit(PAGE)
    last = ""
    while rows := rows_of(store, page.where(key > last)):
        yield from (Deletion(*row) for row in rows)
        last = rows[-1].memory_key
