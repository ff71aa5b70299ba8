"""The records of a folder in an in-memory SQLite database, which answers every question about them."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from memory_context.model.batches import batches_of
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.row_encoding import RECORDS
from memory_context.stores.sql.schema import belongs, memories, pending
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore


class MemoryIndex(SQLAlchemyStore):
    """A `SQLAlchemyStore` in memory that is filled from files."""

    def _catch_up(self, user_id: str) -> None:
        """Index what is pending, many memories in one transaction: after each opening that is all of them."""
        size = sa.func.coalesce(sa.func.length(memories.c.content), 0)
        waiting = sa.select(pending.c.memory_id, size).join(memories, belongs(pending))
        mine = waiting.where(pending.c.user_id == user_id)
        rows = self.database.rows(mine)
        for batch in batches_of(rows, lambda row: row[1]):
            ids = [memory_id for memory_id, _ in batch]
            chosen = RECORDS.where(memories.c.user_id == user_id, memories.c.id.in_(ids))
            found = {item.id: indexing.prepared(item) for item in self.database.items(chosen)}
            self.database.write(_extend_all, [chunks for chunks in found.values() if chunks])
            for memory_id, chunks in found.items():
                if chunks is None:
                    self._index_rest(user_id, memory_id)


def _extend_all(connection: sa.Connection, batches: Sequence[indexing.ChunkBatch]) -> None:
    for batch in batches:
        indexing.extend(connection, batch)
