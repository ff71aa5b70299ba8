"""The store of memories as files that a person can read and edit: a JSON file per memory, a folder per category.

All reads and writes go through an in-memory SQLite *index*, a `SQLAlchemyStore` that is filled from the files. After a
write, the rows that have changed are saved as files.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from memory_context.exceptions import RedactionTimeoutError, StoreError, StoreUnavailableError
from memory_context.model.batches import batches_of_records
from memory_context.model.call_log_records import CallFilter, CallRecord, CallTotals
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import AnyRecord, Restored
from memory_context.model.quota import Quota
from memory_context.model.receipt import Receipt
from memory_context.model.scope import Scope
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.stores.codec import Codec, check_embedder, url_prefix
from memory_context.stores.files.call_log_of_a_folder import PATH, CallFile
from memory_context.stores.files.folder_read_into_index import DamagedFile, IndexedFolder
from memory_context.stores.files.safe_folder import DIRECTORY_MODE, FILE_MODE, MemoryFolder
from memory_context.stores.files.writer_lock import WriterLock
from memory_context.stores.sql import read_everything_by_pages
from memory_context.stores.sql.restore_imported_records import conflict
from memory_context.stores.sql.sqlalchemy_store import CALLS_KEPT, SQLAlchemyStore
from memory_context.text.index.embedders import AnyEmbedder, as_embedding_model

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

P = ParamSpec("P")
T = TypeVar("T")


def _reading(
    verb: Callable[Concatenate[SQLAlchemyStore, P], T],
) -> Callable[Concatenate[FileStore, P], T]:
    """Return a method of `FileStore` that calls *verb* on its index."""

    @wraps(verb)
    def answered(store: FileStore, /, *args: P.args, **named: P.kwargs) -> T:
        with store._lock:  # noqa: SLF001 - of this module
            return verb(store._opened().index, *args, **named)  # noqa: SLF001 - of this module

    return answered


def _writing(
    verb: Callable[Concatenate[SQLAlchemyStore, P], T],
) -> Callable[Concatenate[FileStore, P], T]:
    """Return a method of `FileStore` that calls *verb* on its index, and saves the changes as files."""

    @wraps(verb)
    def done(store: FileStore, /, *args: P.args, **named: P.kwargs) -> T:
        with store._written() as index:  # noqa: SLF001 - of this module
            return verb(index, *args, **named)

    return done


class FileStore(ClosedAtExit):
    """A `MemoryStore` in a folder: a JSON file for each memory at ``{directory}/{category}/{id}.json``.

    The files are read at the first use and on `refresh`. Only then does the store see the files that a person edited,
    added, removed or moved to another category, and those that another process wrote. A file that does not hold a
    memory is logged, listed by `damaged`, skipped, and left as it is.

    Only one process may write, from its first write until `close`; any number may read. All contents are held in
    memory. POSIX systems only.

    Args:
        directory: The folder. It is made at the first write.
        file_mode: The mode of new files: 0644 or stricter. The process's umask restricts it further.
        directory_mode: The mode of new folders: 0755 or stricter. The process's umask restricts it further.
        embedder: Makes vectors for semantic search (see `SQLAlchemyStore`). They are made again after each opening,
            in a thread that the first search by vectors starts.
        embedding_model: The name of the embedder's model.
        quota: The limit on what is kept for each user. A write that would exceed it raises a `QuotaExceededError`.
        codec: Encodes the records in files: `Compressed` or `Encrypted`. Without a codec they are stored as they are.
            The index in memory is never encoded.
        redactor: Removes secrets from texts before they are stored (see `SQLAlchemyStore`).
        calls_kept: How long model calls and decisions are kept (see `SQLAlchemyStore`), in the SQLite file
            ``.memory-context/calls.db``. It has its own lock: processes that only read memories keep their calls, too.

    Raises:
        InvalidArgumentError: A mode is wider than allowed, or *embedder* is not an embedder.
    """

    def __init__(  # noqa: PLR0913 - each is an option of its own
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
        calls_kept: timedelta | None = CALLS_KEPT,
    ) -> None:
        check_arguments(
            directory=directory,
            file_mode=file_mode,
            directory_mode=directory_mode,
            codec=codec,
            redactor=redactor,
            quota=quota,
            calls_kept=calls_kept,
        )
        self.codec = codec or Codec()
        if embedder is not None:
            check_embedder(self.codec)
            as_embedding_model(embedder, embedding_model)
        self.quota = quota
        self.redactor = redactor
        self.directory = Path(directory).expanduser().absolute()
        self._folder = MemoryFolder(self.directory, file_mode, directory_mode)
        self._has_default_modes = (file_mode, directory_mode) == (FILE_MODE, DIRECTORY_MODE)
        self._writer = WriterLock(self._folder)
        self._calls = CallFile(self._folder, self.codec, calls_kept)
        self._embedding: dict[str, Any] = {"embedder": embedder, "embedding_model": embedding_model}
        self._indexed: IndexedFolder | None = None
        self._lock = Lock()
        self.has_embedder = embedder is not None
        in_child(self)

    def __repr__(self) -> str:
        return f"<FileStore {self.directory}>"

    @property
    def url(self) -> str | None:
        """Return the URL of this folder for another process.

        None if the modes, the codec or the redactor cannot be expressed by a URL.
        """
        prefix = url_prefix(self.codec, self.redactor)
        if prefix is None or not self._has_default_modes:
            return None
        return prefix + self.directory.as_uri()

    def refresh(self) -> None:
        """Read the folder again, to see what people and other processes changed in it.

        A memory whose file was removed by hand is not found.

        Raises:
            StoreUnavailableError: The folder cannot be read.
        """
        with self._lock:
            self._drop_index()
            self._opened()

    put = _writing(SQLAlchemyStore.put)
    expire_at = _writing(SQLAlchemyStore.expire_at)
    delete = _writing(SQLAlchemyStore.delete)
    clear = _writing(SQLAlchemyStore.clear)
    delete_rows = _writing(SQLAlchemyStore.delete_rows)
    get = _reading(SQLAlchemyStore.get)
    get_many = _reading(SQLAlchemyStore.get_many)
    query = _reading(SQLAlchemyStore.query)
    search = _reading(SQLAlchemyStore.search)
    term_hits = _reading(SQLAlchemyStore.term_hits)
    deletion = _reading(SQLAlchemyStore.deletion)
    sum = _reading(SQLAlchemyStore.sum)
    usage = _reading(SQLAlchemyStore.usage)
    count = _reading(SQLAlchemyStore.count)
    reindex = _reading(SQLAlchemyStore.reindex)
    read_tables = _reading(SQLAlchemyStore.read_tables)

    list_all = read_everything_by_pages.list_all
    list_deleted = read_everything_by_pages.list_deleted

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`."""
        self._calls.note_call(record)

    def calls(self, wanted: CallFilter, limit: int | None = 100) -> list[CallRecord]:
        """See `CallKeeper.calls`."""
        return self._ask_calls(lambda kept: kept.calls(wanted, limit), [])

    def call_totals(self, user_id: str, thread_id: str | None = None) -> list[CallTotals]:
        """See `CallKeeper.call_totals`."""
        return self._ask_calls(lambda kept: kept.call_totals(user_id, thread_id), [])

    def callers(self) -> list[str]:
        """See `CallKeeper.callers`."""
        return self._ask_calls(CallFile.callers, [])

    def rewrite_calls(
        self, user_id: str | None, change: Callable[[CallRecord], CallRecord | None]
    ) -> None:
        """See `CallRewriter.rewrite_calls`."""
        self._change_calls(lambda kept: kept.rewrite_calls(user_id, change), None)

    def users(self) -> list[str]:
        """See `Administration.users`."""
        with self._lock:
            with_memories = self._opened().index.users()
        return sorted({*with_memories, *self.callers()})

    def touch(self, scope: Scope, keys: Iterable[str]) -> int:
        """See `MemoryStore.touch`. It needs no writer lock; in a folder that cannot be written to, reads are not noted."""
        with self._lock:
            indexed = self._opened()
            touched = indexed.index.touch(scope, keys)
            indexed.save_reads()
            return touched

    def restore(self, scope: Scope, records: Iterable[AnyRecord]) -> Restored:
        """See `MemoryStore.restore`. A record is also a conflict if a damaged file has the path that its file would get."""
        total = Restored()
        for batch in batches_of_records(records):
            with self._lock:
                folder = self._opened()
                free: list[AnyRecord] = []
                for record in batch:
                    if folder.holds_damaged(record):
                        total += conflict(record, "a damaged file is in its place")
                    else:
                        free.append(record)
                with self._written() as index:
                    total += index.restore(scope, free)
        return total

    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`. Damaged files stay, because their user is not known (see `damaged`).

        Files are removed, but their blocks on the disk are not overwritten: `Receipt.scrubbed` is False.

        Raises:
            StoreError: The file with model calls is damaged, and may hold calls of this user. Their memories are
                removed already.
        """
        with self._lock:
            self._hold_lock()
            # Files of the user that were added since the folder was read must be removed, too.
            if self._opened().is_outdated():
                self.refresh()
            with self._written() as index:
                receipt = index.forget_user(user_id)
            with self._errors():
                self._opened().forget_notes(receipt.user_id)
        calls = self._change_calls(lambda kept: kept.forget_user(user_id).calls, 0)
        return replace(receipt, files=receipt.memories, calls=calls, scrubbed=False)

    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the damaged files, with the reasons: those that do not hold a memory, and the file of model calls."""
        self.callers()  # notes whether the file of model calls is damaged
        with self._lock:
            damaged = self._opened().damaged
        if self._calls.problem:
            damaged += (DamagedFile(PATH, self._calls.problem),)
        return damaged

    def reencrypt(
        self, user_id: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Write every file of a user, or of all users, again with the current codec; return the number of files.

        See `SQLAlchemyStore.reencrypt`.
        """
        self._ask_calls(CallFile.reencrypt, 0)
        with self._lock:
            self._hold_lock()
            with self._errors():
                return self._opened().write_all(user_id, progress)

    def close(self) -> None:
        """See `MemoryStore.close`. Afterwards another process may write."""
        self._calls.close()
        with self._lock:
            self._drop_index()
            self._writer.release()

    @contextmanager
    def _written(self) -> Generator[SQLAlchemyStore]:
        """Yield the index to be changed, and save the changes as files at the end."""
        with self._lock:
            self._hold_lock()
            indexed = self._opened()
            try:
                yield indexed.index
            finally:
                try:
                    with self._errors():
                        indexed.save()
                except BaseException:
                    self._drop_index()  # so that the next use reads the folder again
                    raise

    def _ask_calls(self, ask: Callable[[CallFile], T], default: T) -> T:
        with self._errors():
            return self._calls.answer(ask, default)

    def _change_calls(self, change: Callable[[CallFile], T], default: T) -> T:
        changed = self._ask_calls(change, default)
        if self._calls.problem:
            raise StoreError(
                f"{PATH} is damaged, and may hold model calls of the user: restore a backup of it, or"
                f" remove it, and try again: {self._calls.problem}"
            )
        return changed

    def _hold_lock(self) -> None:
        """Become the writing process. If another one wrote to the folder before, the next use reads it again."""
        if not self._writer.held:
            with self._errors():
                self._writer.acquire()
                self._folder.remove_drafts()
                if self._indexed and self._indexed.is_outdated():
                    self._drop_index()
        self._writer.check()

    def _opened(self) -> IndexedFolder:
        """Return the folder with its index, which is read at the first use."""
        if not self._indexed:
            index = SQLAlchemyStore("sqlite://", quota=self.quota, **self._embedding)
            # Nothing is indexed yet, and the first search must index everything.
            index.most_caught_up = math.inf
            try:
                with self._errors():
                    self._indexed = IndexedFolder(self._folder, index, self.codec)
            except BaseException:
                index.close()
                raise
        return self._indexed

    def _drop_index(self) -> None:
        indexed, self._indexed = self._indexed, None
        if indexed:
            indexed.index.close()

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Turn errors of the system into a `StoreUnavailableError`."""
        try:
            yield
        except RedactionTimeoutError:
            raise  # it is a TimeoutError, and so an OSError, but not an error of the system
        except OSError as error:
            raise StoreUnavailableError(f"{self.directory}: {error.strerror or error}") from error

    def after_fork(self) -> None:
        """In a forked child, drop the index and the lock, which are the parent's."""
        self._indexed = None
        self._writer.release()
