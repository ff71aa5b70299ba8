"""The records of a folder in an in-memory SQLite database, which answers every question about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

import sqlalchemy as sa

from memory_context.model.batches import batches_of
from memory_context.model.item import Conflict, Deletion, MemoryItem
from memory_context.model.scope import Scope
from memory_context.model.tier import Quota
from memory_context.stores.files import changes as _changes
from memory_context.stores.files.changes import Changes
from memory_context.stores.sql import restore
from memory_context.stores.sql.filters import within
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.index.search import Conditions
from memory_context.stores.sql.row import RECORDS, item_of
from memory_context.stores.sql.scan import Place, items_at, places_after
from memory_context.stores.sql.schema import access, deletions, memories, pending
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.text.index.embedders import AnyEmbedder

T = TypeVar("T")


class Index(SQLAlchemyStore):
    """A `SQLAlchemyStore` in memory that can be filled from elsewhere, and tells what changed in it."""

    def __init__(
        self, embedder: AnyEmbedder | None, embedding_model: str | None, quota: Quota | None = None
    ) -> None:
        super().__init__(
            "sqlite://", embedder=embedder, embedding_model=embedding_model, quota=quota
        )
        self._run(_changes.watch, writes=True)

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """What `work` finds."""
        return self._run(work)

    def delete_where(self, user_id: str, where: Conditions, reason: str) -> int:
        """Delete memories of a user; how many there were."""
        return self._delete(user_id, where, reason)

    def changes(self) -> Changes:
        """What changed since this was last asked."""
        return self._run(_changes.taken, writes=True)

    def item(self, memory_id: UUID) -> MemoryItem | None:
        """The record of that id."""
        row = self._run(
            lambda connection: connection.execute(
                RECORDS.where(memories.c.id == memory_id)
            ).one_or_none()
        )
        return item_of(row) if row else None

    def ids(self, scope: Scope, keys: Sequence[str]) -> dict[str, UUID]:
        """The ids of the memories under `keys`."""
        wanted = sa.func.json_each(sa.bindparam("keys", type_=sa.JSON)).table_valued("value")
        statement = sa.select(memories.c.memory_key, memories.c.id).where(
            *within(scope), memories.c.memory_key.in_(sa.select(wanted.c.value))
        )
        rows = self._run(
            lambda connection: connection.execute(statement, {"keys": list(keys)}).all()
        )
        return {row.memory_key: row.id for row in rows}

    def places(self, scope: Scope) -> list[Place]:
        """Where every memory of the scope stands in its order."""
        where, found = tuple(within(scope)), list[Place]()
        while page := self._run(
            partial(places_after, where=where, last=found[-1] if found else None)
        ):
            found += page
        return found

    def items_at(self, scope: Scope, places: Sequence[Place]) -> list[MemoryItem]:
        """The memories of the scope at these places."""
        return self._run(partial(items_at, where=tuple(within(scope)), places=places))

    def reads(self, ids: Iterable[UUID]) -> dict[UUID, tuple[int, datetime]]:
        """How often and when memories were read."""
        statement = sa.select(access).where(access.c.memory_id.in_(list(ids)))
        rows = self._run(lambda connection: connection.execute(statement).all())
        return {row.memory_id: (row.access_count, row.accessed_at) for row in rows}

    def load(self, user_id: str, items: Sequence[MemoryItem]) -> tuple[Conflict, ...]:
        """Take in records as they are, to be indexed at the first search. Their keys are not deleted any more."""
        keys = [item.memory_key for item in items]
        noted = sa.delete(deletions).where(
            deletions.c.user_id == user_id, deletions.c.memory_key.in_(keys)
        )

        def work(connection: sa.Connection) -> tuple[Conflict, ...]:
            connection.execute(noted)
            return restore.restore(connection, user_id, items, {}).conflicts

        return self._run(work, writes=True)

    def _catch_up(self, user_id: str) -> None:
        """Index what is pending, many memories in one transaction: after each opening that is all of them."""
        size = sa.func.coalesce(sa.func.length(memories.c.content), 0)
        waiting = sa.select(pending.c.memory_id, size).join(
            memories, memories.c.id == pending.c.memory_id
        )
        mine = waiting.where(pending.c.user_id == user_id)
        rows = self._run(lambda connection: connection.execute(mine).all())
        for batch in batches_of(rows, lambda row: row[1]):
            self._index_all(user_id, [row[0] for row in batch])

    def _index_all(self, user_id: str, ids: Sequence[UUID]) -> None:
        chosen = RECORDS.where(memories.c.user_id == user_id, memories.c.id.in_(ids))
        found = self._run(lambda connection: connection.execute(chosen).all())
        batches = {item.id: indexing.prepared(item) for item in map(item_of, found)}
        small = [batch for batch in batches.values() if batch is not None]
        self._run(
            lambda connection: [indexing.extend(connection, batch) for batch in small], writes=True
        )
        for memory_id, batch in batches.items():
            if batch is None:
                self._index_rest(user_id, memory_id)

    def drop(self, user_id: str, ids: Sequence[UUID]) -> None:
        """Take records out, without a note."""
        self._run(partial(restore.drop, user_id=user_id, ids=ids), writes=True)

    def note(self, user_id: str, noted: Sequence[Deletion]) -> None:
        """Note that memories were deleted, those aside that are there."""
        self._run(lambda connection: restore.restore(connection, user_id, noted, {}), writes=True)
