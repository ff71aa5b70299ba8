"""Making the vectors that chunks lack: in `reindex`, and in a background thread after each put."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from itertools import islice
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import EmbedderError, MissingDependencyError
from memory_context.model.batches import slices_of
from memory_context.model.item import MemoryItem
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.circuit_breaker import Breaker
from memory_context.runtime.deadlines import EXIT_SECONDS, within
from memory_context.stores.sql.index import indexing, vector_index
from memory_context.stores.sql.transactions import Database
from memory_context.text.index.chunks_and_metadata_cards import searchable
from memory_context.text.index.embedders import EmbeddingModel, Vector

# The number of texts that the embedder is given at a time.
BATCH = 64
# A text that is embedded only to find out how many dimensions the model's vectors have.
PROBE = "How many dimensions?"
# If a query takes longer, searches go on without vectors: this one, and those of the next PAUSE seconds.
QUERY_SECONDS = 3.0
# For up to a hundred texts. The caller who puts them waits for the vectors.
CHOSEN_SECONDS = 60
PAUSE = 30.0


class EmbeddingWorker:
    """Makes the vectors of one model in one database.

    Args:
        model: The embedder.
        database: The database with the chunks, in which the vectors are kept.
    """

    def __init__(self, model: EmbeddingModel, database: Database) -> None:
        self._model = model
        self._database = database
        self._table: sa.Table | None = None
        self._lock = Lock()
        self._embedding = Lock()
        self._thread: threading.Thread | None = None
        self._waiting = set[str]()
        self._closing = False
        self._breaker = Breaker(1, PAUSE)
        in_child(self)

    def after_fork(self) -> None:
        """In a forked child, forget the thread, which only the parent has."""
        self._thread = None
        self._closing = False

    def embed_query(self, query: str) -> vector_index.QueryVector:
        """Return the vector of a query, and the table with the vectors to compare it with.

        Raises:
            EmbedderError: The embedder failed, or took more than 3 seconds, now or within the last 30 seconds.
            MissingDependencyError: numpy is not installed.
        """
        if not self._breaker.lets_ask:
            raise EmbedderError(f"the embedder failed within the last {PAUSE:.0f} seconds")
        try:
            ask = partial(self._model.query, query)
            vector = within(QUERY_SECONDS, ask, "memory-context-query")
            [numbers] = vector_index.as_array([vector], self._model.distance)
        except MissingDependencyError:
            raise
        except Exception as error:
            self._breaker.note_failure()
            log_events.QUERY_NOT_EMBEDDED.log(error)
            # Without the embedder's own message, which may contain its API key or address: a
            # StoreError may be quoted in answers.
            raise EmbedderError("the embedder failed; a keyword search needs none") from error
        return self._table_of(len(numbers)), numbers

    def _table_of(self, dimensions: int) -> sa.Table:
        """Return the table for the model's vectors of this length."""
        return vector_index.table_of(self._model, dimensions, self._database.dialect)

    def embed(self, user_id: str, memory_id: UUID) -> None:
        """Make the vectors that a memory lacks, in batches.

        Only one thread at a time does it; otherwise two would both pay the embedder for the same chunks.
        """
        with self._embedding:
            table = self._own_table()
            item = self._database.read(indexing.item_by_id, user_id, memory_id)
            if not item:
                return
            lacking = self._database.read(vector_index.missing, table, user_id, memory_id)
            text = searchable(item)
            for batch in slices_of(lacking, BATCH):
                # Binary contents and secrets have no searchable text, so their description is embedded.
                texts = [text[first:last] or item.summary for _, first, last in batch]
                ordinals = [ordinal for ordinal, _, _ in batch]
                vectors = self._model.documents(texts)
                self._database.write(vector_index.add, table, item, ordinals, vectors)

    def embed_chosen(self, chosen: Sequence[tuple[MemoryItem, Sequence[str]]]) -> None:
        """Replace the vectors of each memory by those of texts that the caller chose for it.

        Raises:
            EmbedderError: The embedder failed, or took more than a minute. All vectors are unchanged.
            StoreError: The embedder did not return vectors, or the database failed.
        """
        texts = [text for _, texts_of_item in chosen for text in texts_of_item]
        vectors: Sequence[Vector] = ()
        try:
            if texts:
                embed = partial(self._model.documents, texts)
                vectors = within(CHOSEN_SECONDS, embed, "memory-context-chosen")
        except Exception as error:
            # Without the embedder's own message, as in `embed_query`.
            raise EmbedderError(
                "the embedder failed; the memories are stored, but without new vectors"
            ) from error
        table = self._own_table()

        def keep(connection: sa.Connection) -> None:
            """Write the vectors of the chosen memories."""
            remaining = iter(vectors)
            for item, texts_of_item in chosen:
                ordinals = range(len(texts_of_item))
                these = list(islice(remaining, len(ordinals)))
                vector_index.add(connection, table, item, ordinals, these, replacing=True)

        self._database.write(keep)

    def wake(self, user_id: str) -> None:
        """Let a thread make a user's missing vectors. It ends when there are none left."""
        with self._lock:
            self._waiting.add(user_id)
            if not self._thread and not self._closing:
                self._thread = threading.Thread(
                    target=self._work, name="memory-context-embedder", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the thread after its current batch. If the embedder hangs, it is waited for only `EXIT_SECONDS`.

        Vectors that are still missing are made after the next `put`, or by `reindex`.
        """
        with self._lock:
            thread = self._thread
            self._closing = thread is not None
        # A finalizer may close the store in this thread itself, which cannot join itself.
        if thread and thread is not threading.current_thread():
            thread.join(EXIT_SECONDS)

    def _work(self) -> None:
        """Make all vectors that the memories of the waiting users lack, until the store is closed."""
        while user_id := self._next_user():
            try:
                table = self._own_table()
                for memory_id in self._database.read(vector_index.incomplete, table, user_id):
                    if self._closing:
                        break
                    self.embed(user_id, memory_id)
            except Exception as error:  # noqa: BLE001 - an embedder may raise anything, and nobody waits for this thread
                log_events.VECTORS_FAILED.log(error)

    def _next_user(self) -> str | None:
        with self._lock:
            if self._waiting and not self._closing:
                return self._waiting.pop()
            self._thread = None
            self._closing = False
            return None

    def _own_table(self) -> sa.Table:
        """Return the model's table, which is created at the first use.

        To find out how many dimensions the vectors have, a text is embedded.
        """
        with self._embedding:
            if self._table is None:
                table = self._table_of(len(self._model.query(PROBE)))
                self._database.write(vector_index.ensure, table)
                self._table = table
            return self._table
