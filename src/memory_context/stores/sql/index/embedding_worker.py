"""Keeping the vectors of passages complete: at `reindex`, and behind the back of whoever stores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar
from uuid import UUID

import sqlalchemy as sa

from memory_context.runtime import events
from memory_context.runtime.forks import Lock, in_child
from memory_context.stores.sql.index import indexing, vector_index
from memory_context.text.index.chunks import searchable
from memory_context.text.index.embedders import EmbeddingModel, Vector

T = TypeVar("T")

BATCH = 64
PROBE = "How many dimensions?"


class Run(Protocol):
    """Does work in a transaction."""

    def __call__(self, work: Callable[[sa.Connection], T], *, writes: bool = False) -> T:
        """The work's result."""
        ...


class Meaning:
    """The vectors of one model in one database.

    Args:
        model: What makes them.
        dialect: The database's.
        run: Does work in a transaction of the database.
    """

    def __init__(self, model: EmbeddingModel, dialect: str, run: Run) -> None:
        self._model = model
        self._dialect = dialect
        self._run = run
        self._table: sa.Table | None = None
        self._lock = Lock()
        self._embedding = Lock()
        self._thread: threading.Thread | None = None
        self._waiting = set[str]()
        self._closing = False
        in_child(self)

    def after_fork(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._thread, self._closing = None, False

    def of_query(self, query: str) -> tuple[sa.Table, Vector]:
        """The vector of a question, and the table of those to compare it with."""
        vector = self._model.query(query)
        return vector_index.table_of(self._model, len(vector), self._dialect), vector

    def embed(self, user_id: str, memory_id: UUID) -> None:
        """Make the vectors that a memory lacks, in batches; one thread at a time, because embedders cost money."""
        with self._embedding:
            self._embed(user_id, memory_id)

    def _embed(self, user_id: str, memory_id: UUID) -> None:
        table = self._own_table()
        item = self._run(lambda connection: indexing.item_by_id(connection, user_id, memory_id))
        lacking = self._run(lambda connection: vector_index.missing(connection, table, memory_id))
        if item is None:
            return
        text = searchable(item)
        for start in range(0, len(lacking), BATCH):
            batch = lacking[start : start + BATCH]
            vectors = self._model.documents(
                [text[first:last] or item.summary for _, first, last in batch]
            )
            ordinals = [ordinal for ordinal, *_ in batch]
            self._run(
                partial(
                    vector_index.add, table=table, item=item, ordinals=ordinals, vectors=vectors
                ),
                writes=True,
            )

    def embed_missing(self, user_id: str) -> None:
        """Make all vectors that a user's memories lack, until there are none or the store closes."""
        with self._embedding:
            table = self._own_table()
        for memory_id in self._run(
            lambda connection: vector_index.incomplete(connection, table, user_id)
        ):
            if self._closing:
                return
            self.embed(user_id, memory_id)

    def wake(self, user_id: str) -> None:
        """Have a user's missing vectors made by a thread, which ends when there are none left."""
        with self._lock:
            self._waiting.add(user_id)
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(
                    target=self._work, name="memory-context-embedder", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the thread after its batch. Vectors that are missing then are made after the next `put`, or `reindex`."""
        with self._lock:
            thread, self._closing = self._thread, True
        if thread and thread is not threading.current_thread():
            thread.join()
        self._closing = False

    def _work(self) -> None:
        while user_id := self._next_user():
            try:
                self.embed_missing(user_id)
            except Exception as error:  # noqa: BLE001 - an embedder may raise anything, and nobody waits for this thread
                events.VECTORS_FAILED.log(error)

    def _next_user(self) -> str | None:
        with self._lock:
            if self._waiting and not self._closing:
                return self._waiting.pop()
            self._thread = None
            return None

    def _own_table(self) -> sa.Table:
        if self._table is None:
            table, vector = self.of_query(PROBE)
            self._run(
                lambda connection: vector_index.ensure(connection, table, len(vector)), writes=True
            )
            self._table = table
        return self._table
