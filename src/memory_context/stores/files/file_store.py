"""Memories as files that a person can read and edit: one JSON file for each, in a folder for each category."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from memory_context.exceptions import StoreUnavailableError
from memory_context.model.batches import batches_of, size_of
from memory_context.model.item import Conflict, Deletion, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.model.tier import Quota, Receipt, Usage, as_quota
from memory_context.runtime.forks import Lock, in_child
from memory_context.stores.files.folder import DIRECTORY_MODE, FILE_MODE, Folder
from memory_context.stores.files.memory_index import Index
from memory_context.stores.files.mirror import DamagedFile, Mirror
from memory_context.stores.files.writer_lock import WriterLock
from memory_context.stores.protocol import Filters, Mode
from memory_context.stores.sql.index.search import Conditions
from memory_context.text.index.embedders import AnyEmbedder

T = TypeVar("T")

LOOK_SECONDS = 1.0


class FileStore:
    """A `MemoryStore` in a folder: a JSON file for each memory at ``{directory}/{category}/{id}.json``.

    Files may be edited, moved to another category, removed and dropped in by hand; the next read sees it, and the next
    write within a second. A file that is no memory is logged, listed by `damaged`, skipped, and left as it is.

    One process may write, from its first write until `close`; any number may read. All contents are held in memory, in
    an index that is built at the first use. POSIX systems only.

    Args:
        directory: The folder. It is made at the first write.
        file_mode: Of new files: 0644 or stricter. The process's umask takes away from it.
        directory_mode: Of new folders: 0755 or stricter. The process's umask takes away from it.
        embedder: What makes vectors for searches by meaning (see `SQLAlchemyStore`), anew at each opening.
        embedding_model: The name of its model.
        quota: How much is kept of each user; what would pass it is refused with a `QuotaExceededError`.

    Raises:
        InvalidArgumentError: A wider mode; an embedder that is none.
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
    ) -> None:
        self.quota = as_quota(quota)
        self.directory = Path(directory).expanduser().absolute()
        self._folder = Folder(self.directory, file_mode, directory_mode)
        self._writer = WriterLock(self._folder)
        self._embedding = (embedder, embedding_model)
        self._mirror: Mirror | None = None
        self._looked = 0.0
        self._lock = Lock()
        self._is_plain = (file_mode, directory_mode) == (FILE_MODE, DIRECTORY_MODE)
        self.has_embedder = embedder is not None
        in_child(self)

    def __repr__(self) -> str:
        """Name the folder."""
        return f"<FileStore {self.directory}>"

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    @property
    def url(self) -> str | None:
        """The URL of this folder for another process; None where it has modes of its own."""
        return self.directory.as_uri() if self._is_plain else None

    def put(
        self,
        scope: Scope,
        item: MemoryItem,
        *,
        replace: bool = False,
        **more: Any,  # noqa: ANN401 - what the index takes
    ) -> MemoryItem:
        """See `MemoryStore.put`."""
        return self._write(
            scope, [item.memory_key], lambda index: index.put(scope, item, replace=replace, **more)
        )

    def get(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `MemoryStore.get`."""
        return next(iter(self.get_many(scope, [key])), None)

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """See `MemoryStore.get_many`."""
        wanted = list(keys)
        with self._lock:
            self._look_for(scope, wanted)
            return self._opened().index.get_many(scope, wanted)

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

    def delete(
        self, scope: Scope, key: str, *, reason: str = "forgotten", soft: bool = False
    ) -> bool:
        """See `MemoryStore.delete`."""
        with self._lock:
            self._look_for(scope, [key])
            return self._write(
                scope, [key], lambda index: index.delete(scope, key, reason=reason, soft=soft)
            )

    def deletion(self, scope: Scope, key: str) -> Deletion | None:
        """See `MemoryStore.deletion`."""
        return self._read(lambda index: index.deletion(scope, key))

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`. Anyone may read: this takes no lock, and forgets what cannot be written down."""
        wanted = list(keys)
        with self._lock:
            self._look_for(scope, wanted)
            mirror = self._opened()
            touched = mirror.index.touch(scope, wanted)
            mirror.save_reads()
            return touched

    def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
        """See `MemoryStore.list_all`."""
        places = self._read(lambda index: index.places(scope))
        for batch in batches_of(places, lambda place: place.size):
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
            keys = [record.memory_key for record in batch]
            total += self._write(
                scope,
                keys,
                lambda index, batch=batch: self._restore(index, scope, batch),  # type: ignore[misc] # the default is its type
            )
        return total

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """See `MemoryStore.clear`."""
        with self._lock:
            self._look()
            return self._write(scope, [], lambda index: index.clear(scope, reason=reason))

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
            self._look()
            receipt = self._write(Scope(user_id), [], lambda index: index.forget_user(user_id))
            try:
                self._opened().forget_notes(receipt.user_id)
            except OSError as error:
                raise self._unavailable(error) from error
            return replace(receipt, files=receipt.memories, scrubbed=False)

    def damaged(self) -> tuple[DamagedFile, ...]:
        """The files that hold no memory, and why."""
        with self._lock:
            self._look()
            return self._opened().damaged

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Make the keyword index anew (see `SQLAlchemyStore.reindex`)."""
        return self._read(lambda index: index.reindex(progress))

    def close(self) -> None:
        """See `MemoryStore.close`. Another process may write then."""
        with self._lock:
            self._drop_index()
            self._writer.release()

    def _run(self, work: Callable[[sa.Connection], T]) -> T:
        return self._read(lambda index: index.read(work))

    def _delete(self, user_id: str, where: Conditions, reason: str) -> int:
        with self._lock:
            self._look()
            return self._write(
                Scope(user_id), [], lambda index: index.delete_where(user_id, where, reason)
            )

    def _read(self, work: Callable[[Index], T]) -> T:
        with self._lock:
            self._look()
            return work(self._opened().index)

    def _write(self, scope: Scope, keys: list[str], work: Callable[[Index], T]) -> T:
        """Let `work` change the index, and the folder after it."""
        with self._lock:
            self._prepare(scope, keys)
            mirror = self._opened()
            try:
                return work(mirror.index)
            finally:
                self._saved(mirror)

    def _prepare(self, scope: Scope, keys: list[str]) -> None:
        """Hold the lock, and know what a person changed."""
        fresh = not self._writer.held
        try:
            if fresh:
                self._writer.acquire()
                self._folder.sweep()
        except OSError as error:
            raise self._unavailable(error) from error
        self._writer.check()
        stale = fresh or time.monotonic() - self._looked > LOOK_SECONDS
        if stale or not self._opened().knows(scope, keys, all_of_them=False):
            self._look()

    def _saved(self, mirror: Mirror) -> None:
        try:
            mirror.save()
        except BaseException as error:
            self._drop_index()  # it is built again from what is in the folder
            if isinstance(error, OSError):
                raise self._unavailable(error) from error
            raise

    def _restore(self, index: Index, scope: Scope, batch: list[MemoryItem | Deletion]) -> Restored:
        mirror = self._opened()
        blocked = [
            one for one in batch if isinstance(one, MemoryItem) and mirror.holds_damaged(one)
        ]
        reason = "a damaged file stands in its place"
        conflicts = tuple(Conflict(one.user_id, one.memory_key, reason, one.id) for one in blocked)
        rest = [one for one in batch if one not in blocked]
        return index.restore(scope, rest) + Restored(conflicts=conflicts)

    def _look_for(self, scope: Scope, keys: list[str]) -> None:
        """Know the files of these keys as they are now; look at all files only if one is missing or changed."""
        if not self._opened().knows(scope, keys, all_of_them=True):
            self._look()

    def _look(self) -> None:
        """Know all files as they are now."""
        mirror = self._opened()
        try:
            mirror.look(notes=self._writer.held)
        except OSError as error:
            raise self._unavailable(error) from error
        self._looked = time.monotonic()

    def _opened(self) -> Mirror:
        if self._mirror is None:
            try:
                self._mirror = Mirror(self._folder, Index(*self._embedding, self.quota))
            except OSError as error:
                raise self._unavailable(error) from error
        return self._mirror

    def _drop_index(self) -> None:
        mirror, self._mirror = self._mirror, None
        if mirror is not None:
            mirror.index.close()

    def _unavailable(self, error: OSError) -> StoreUnavailableError:
        return StoreUnavailableError(f"{self.directory}: {error.strerror or error}")

    def after_fork(self) -> None:
        """In a forked child: the right to write and the index are the parent's."""
        self._mirror = None
        self._writer.release()
