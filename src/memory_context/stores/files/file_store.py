"""Memories as files that a person can read and edit: one JSON file for each, in a folder for each category."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from memory_context.exceptions import EncryptionError, StoreUnavailableError
from memory_context.model.batches import batches_of, size_of
from memory_context.model.item import Conflict, Deletion, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Quota, Receipt, Usage, as_quota
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.stores.codec import Codec, check_embedder, url_prefix
from memory_context.stores.files.folder import DIRECTORY_MODE, FILE_MODE, MemoryFolder
from memory_context.stores.files.indexed_folder import DamagedFile, IndexedFolder
from memory_context.stores.files.memory_index import MemoryIndex
from memory_context.stores.files.writer_lock import WriterLock
from memory_context.stores.protocol import Filters, Mode
from memory_context.stores.sql.filters import Conditions
from memory_context.text.index.embedders import AnyEmbedder
from memory_context.text.index.term_hits import TermHits

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

T = TypeVar("T")


class FileStore(ClosedAtExit):
    """A `MemoryStore` in a folder: a JSON file for each memory at ``{directory}/{category}/{id}.json``.

    Files are read at the first use and on `refresh`: then what a person edited, moved to another category, removed or
    dropped in is seen, and what another process wrote. A file that does not hold a memory is logged, listed by
    `damaged`, skipped, and left as it is.

    One process may write, from its first write until `close`; any number may read. All contents are held in memory.
    POSIX systems only.

    Args:
        directory: The folder. It is made at the first write.
        file_mode: Of new files: 0644 or stricter. The process's umask takes away from it.
        directory_mode: Of new folders: 0755 or stricter. The process's umask takes away from it.
        embedder: Makes vectors for semantic search (see `SQLAlchemyStore`), again at each opening.
        embedding_model: The name of its model.
        quota: How much is kept of each user; what would exceed it is refused with a `QuotaExceededError`.
        codec: What files hold of records: `Compressed`, or `Encrypted`. As they are without one. The index in memory is
            plain.
        redactor: Takes the secrets out of texts before they come here (see `SQLAlchemyStore`).

    Raises:
        InvalidArgumentError: A mode is wider, or the embedder is not one.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        file_mode: int = FILE_MODE,
        directory_mode: int = DIRECTORY_MODE,
        embedder: AnyEmbedder | None = None,
        embedding_model: str | None = None,
        quota: Quota | None = None,
        codec: Codec | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.codec = codec or Codec()
        if embedder is not None:
            check_embedder(self.codec)
        self.quota = as_quota(quota)
        self.redactor = redactor
        self.directory = Path(directory).expanduser().absolute()
        self._folder = MemoryFolder(self.directory, file_mode, directory_mode)
        self._has_default_modes = (file_mode, directory_mode) == (FILE_MODE, DIRECTORY_MODE)
        self._writer = WriterLock(self._folder)
        self._embedding = (embedder, embedding_model)
        self._records: IndexedFolder | None = None
        self._lock = Lock()
        self.has_embedder = embedder is not None
        in_child(self)

    def __repr__(self) -> str:
        return f"<FileStore {self.directory}>"

    @property
    def url(self) -> str | None:
        """Return the URL of this folder for another process; None where it has modes, a codec or a redactor of its own."""
        prefix = url_prefix(self.codec, self.redactor)
        if prefix is None or not self._has_default_modes:
            return None
        return prefix + self.directory.as_uri()

    def refresh(self) -> None:
        """Read the folder again: what a person changed in it, and what another process wrote.

        A memory whose file was removed by hand counts as deleted.

        Raises:
            StoreUnavailableError: The folder cannot be read.
        """
        with self._lock:
            before, self._records = self._records, None
            try:
                records = self._opened()
                if before is not None:
                    records.note_removed_since(before, write=self._writer.held)
            except OSError as error:
                raise self._unavailable(error) from error
            finally:
                if before is not None:
                    before.index.close()

    def put(
        self,
        scope: Scope,
        item: MemoryItem,
        *,
        replace: bool = False,
        **more: Any,  # noqa: ANN401 - what the index takes
    ) -> MemoryItem:
        """See `MemoryStore.put`."""
        return self._write(lambda index: index.put(scope, item, replace=replace, **more))

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        return self._read(lambda index: index.get(scope, key))

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        return self._read(lambda index: index.get_many(scope, keys))

    def query(
        self,
        scope: Scope,
        filters: Filters | None = None,
        *,
        limit: int | None = 100,
        order_by: str = "created_at",
    ) -> list[MemoryItem]:
        """See `MemoryStore.query`."""
        return self._read(lambda index: index.query(scope, filters, limit=limit, order_by=order_by))

    def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        filters: Filters | None = None,
        mode: Mode = "hybrid",
        passages: bool = True,
    ) -> list[MemoryItem]:
        """See `MemoryStore.search`."""
        return self._read(
            lambda index: index.search(
                scope, query, limit=limit, filters=filters, mode=mode, passages=passages
            )
        )

    def term_hits(self, scope: Scope, lexemes: Sequence[str], filters: Filters) -> TermHits:
        """See `TermIndexed.term_hits`."""
        return self._read(lambda index: index.term_hits(scope, lexemes, filters))

    def delete(
        self, scope: Scope, key: str, *, reason: str = "forgotten", soft: bool = False
    ) -> bool:
        """See `MemoryStore.delete`."""
        return self._write(lambda index: index.delete(scope, key, reason=reason, soft=soft))

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        return self._read(lambda index: index.deletion(scope, key))

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`. Anyone may read: this takes no lock, and forgets what cannot be written down."""
        with self._lock:
            records = self._opened()
            touched = records.index.touch(scope, keys)
            records.save_reads()
            return touched

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        positions = self._read(lambda index: index.positions(scope))
        for batch in batches_of(positions, lambda position: position.size):
            with self._lock:
                items = self._opened().index.items_at(scope, batch)
            yield from items

    def list_deleted(self, scope: Scope) -> Iterator[Deletion]:
        """See `MemoryStore.list_deleted`."""
        return iter(self._read(lambda index: list(index.list_deleted(scope))))

    def restore(self, scope: Scope, records: Iterable[MemoryItem | Deletion]) -> Restored:
        """See `MemoryStore.restore`. A damaged file in the place of a memory's is a conflict."""
        total = Restored()
        for batch in batches_of(records, size_of):
            with self._lock:
                free, conflicts = self._without_damaged(batch)
                total += self._write(lambda index, free=free: index.restore(scope, free))  # type: ignore[misc] # the default is its type
                total += Restored(conflicts=conflicts)
        return total

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        return self._write(lambda index: index.clear(scope, reason=reason))

    def sum(self, scope: Scope, column: str, filters: Filters | None = None) -> int:
        """See `MemoryStore.sum`."""
        return self._read(lambda index: index.sum(scope, column, filters))

    def usage(self, scope: Scope, filters: Filters | None = None) -> list[Usage]:
        """See `MemoryStore.usage`."""
        return self._read(lambda index: index.usage(scope, filters))

    def count(self, scope: Scope, filters: Filters | None = None) -> int:
        """See `MemoryStore.count`."""
        return self._read(lambda index: index.count(scope, filters))

    def users(self) -> list[str]:
        """See `Administration.users`."""
        return self._read(lambda index: index.users())

    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`. Damaged files, of which nobody knows whose they are, stay (`damaged`).

        Files are removed, and what was in them is not overwritten on the disk: `Receipt.scrubbed` is False.
        """
        with self._lock:
            self._hold_lock()
            if self._opened().is_outdated():  # the user's memories that were dropped in go too
                self.refresh()
            receipt = self._write(lambda index: index.forget_user(user_id))
            try:
                self._opened().forget_notes(receipt.user_id)
            except OSError as error:
                raise self._unavailable(error) from error
        return replace(receipt, files=receipt.memories, scrubbed=False)

    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the files that do not hold a memory, and why."""
        with self._lock:
            return self._opened().damaged

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Rebuild the keyword index (see `SQLAlchemyStore.reindex`)."""
        return self._read(lambda index: index.reindex(progress))

    def reencrypt(
        self, user_id: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Write every file of a user, or of all, as the codec writes it today; return how many (see `SQLAlchemyStore`)."""
        with self._lock:
            self._hold_lock()
            try:
                return self._opened().write_all(user_id, progress)
            except OSError as error:
                raise self._unavailable(error) from error

    def close(self) -> None:
        """See `MemoryStore.close`. Another process may write then."""
        with self._lock:
            self._drop_records()
            self._writer.release()

    def read_tables(self, work: Callable[[sa.Connection], T]) -> T:
        """See `TableStore.read_tables`."""
        return self._read(lambda index: index.read_tables(work))

    def delete_rows(self, user_id: str, where: Conditions, reason: str) -> int:
        """See `TableStore.delete_rows`."""
        return self._write(lambda index: index.delete_rows(user_id, where, reason))

    def _read(self, work: Callable[[MemoryIndex], T]) -> T:
        with self._lock:
            return work(self._opened().index)

    def _write(self, work: Callable[[MemoryIndex], T]) -> T:
        """Let *work* change the index, and then bring what it changed into the folder."""
        with self._lock:
            self._hold_lock()
            records = self._opened()
            try:
                return work(records.index)
            finally:
                self._save(records)

    def _hold_lock(self) -> None:
        """Become the writer, who knows what the one before wrote."""
        if not self._writer.held:
            try:
                self._writer.acquire()
                self._folder.remove_drafts()
                if self._records is not None and self._records.is_outdated():
                    self._drop_records()
            except OSError as error:
                raise self._unavailable(error) from error
        self._writer.check()

    def _save(self, records: IndexedFolder) -> None:
        try:
            records.save()
        except BaseException as error:
            self._drop_records()  # the next use reads what is in the folder
            if isinstance(error, OSError):
                raise self._unavailable(error) from error
            raise

    def _without_damaged(
        self, batch: Iterable[MemoryItem | Deletion]
    ) -> tuple[list[MemoryItem | Deletion], tuple[Conflict, ...]]:
        """Return the records whose place is free, and a conflict for each of the others."""
        stored = self._opened()
        free: list[MemoryItem | Deletion] = []
        conflicts: list[Conflict] = []
        for record in batch:
            if isinstance(record, MemoryItem) and stored.holds_damaged(record):
                reason = "a damaged file stands in its place"
                conflicts.append(Conflict(record.user_id, record.memory_key, reason, record.id))
            else:
                free.append(record)
        return free, tuple(conflicts)

    def _opened(self) -> IndexedFolder:
        """Return the records, which are read at the first use."""
        if self._records is None:
            index = MemoryIndex(*self._embedding, self.quota)
            try:
                self._records = IndexedFolder(self._folder, index, self.codec)
            except EncryptionError:
                index.close()
                raise
            except OSError as error:
                index.close()
                raise self._unavailable(error) from error
        return self._records

    def _drop_records(self) -> None:
        records, self._records = self._records, None
        if records is not None:
            records.index.close()

    def _unavailable(self, error: OSError) -> StoreUnavailableError:
        return StoreUnavailableError(f"{self.directory}: {error.strerror or error}")

    def after_fork(self) -> None:
        """In a forked child, read the folder again and do not write: index and lock are the parent's."""
        self._records = None
        self._writer.release()
