"""The methods of a store that read all records of a scope page by page, as an export does, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter

import sqlalchemy as sa

from memory_context.model.batches import batches_of
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import Deletion, MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.sql.listings_and_totals_of_memories import TableStore, rows_of
from memory_context.stores.sql.row_encoding import DELETIONS, RECORDS, records
from memory_context.stores.sql.schema import UTCDateTime, deletions, memories
from memory_context.stores.sql.scopes_and_filters_as_sql import within

PAGE = 1000
_OLDEST_FIRST = (memories.c.created_at, memories.c.id)


def list_all(store: TableStore, scope: Scope) -> Iterator[MemoryItem]:
    """See `MemoryStore.list_all`."""
    where = within(scope)
    # Lengths are read first, so that each batch of contents stays within a bounded size.
    characters = sa.func.length(memories.c.content)
    size_in_bytes = sa.func.length(memories.c.content_bytes)
    size = sa.func.coalesce(characters, size_in_bytes, 0).label("size")
    sizes = sa.select(*_OLDEST_FIRST, size).where(*where)
    statement = sizes.order_by(*_OLDEST_FIRST).limit(PAGE)
    page = statement
    while rows := rows_of(store, page):
        for batch in batches_of(rows, attrgetter("size")):
            # Those that were deleted meanwhile are left out.
            in_batch = memories.c.id.in_([row.id for row in batch])
            batch_of_records = RECORDS.where(*where, in_batch).order_by(*_OLDEST_FIRST)
            yield from store.read_tables(partial(records, statement=batch_of_records))
        last = rows[-1]
        # The next page is found by comparison, not by OFFSET, because rows may be inserted or deleted meanwhile.
        last_created = sa.literal(last.created_at, UTCDateTime)
        last_id = sa.literal(last.id, sa.Uuid)
        place = sa.tuple_(*_OLDEST_FIRST)
        page = statement.where(place > sa.tuple_(last_created, last_id))


def list_deleted(store: TableStore, scope: Scope) -> Iterator[Deletion]:
    """See `MemoryStore.list_deleted`."""
    check_arguments(scope=scope)
    key = deletions.c.memory_key
    page = DELETIONS.filter_by(user_id=scope.user_id).order_by(key).limit(PAGE)
    last = ""
    while rows := rows_of(store, page.where(key > last)):
        yield from (Deletion(*row) for row in rows)
        last = rows[-1].memory_key
