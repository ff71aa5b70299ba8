"""The database of a `FileStore`, in a file beside the memories' own files.

The files are the truth. What changed in them is read into the database at its first use, and on `FolderDatabase.refresh`.
Each transaction that changes memories writes their files before it is committed.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, StoreError, StoreUnavailableError
from memory_context.model.item import MemoryItem
from memory_context.runtime import deadlines, log_events
from memory_context.stores.codec import Codec
from memory_context.stores.files import changed_rows
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.memory_file_format_and_defaults import parse, path_of, render
from memory_context.stores.files.safe_folder import STATE, MemoryFolder, Signature
from memory_context.stores.sql import engine_setup, row_deletion, urls
from memory_context.stores.sql.column_types import required
from memory_context.stores.sql.engine_setup import Transaction
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.restore_imported_records import clash, insert_records
from memory_context.stores.sql.schema import this_memory
from memory_context.stores.sql.transactions import Database
from memory_context.stores.sql.upserts_locks_and_settings import insert_into, upsert

INDEX = "index.db"
_REMOVED = "its file was removed"
# SQLite's messages for a file that is damaged, or is something else.
_DAMAGE = re.compile("malformed|not a database")
_IN_MEMORY = sa.make_url("sqlite://")
# The memory in each file, and the file's signature when it was last read or written.
_files = sa.Table(
    "agent_memory_files",
    sa.MetaData(),
    sa.Column("path", sa.Text, primary_key=True),
    required("user_id"),
    required("memory_id", sa.Uuid()),
    required("signature"),
    sa.Index("ix_agent_memory_files_memory", "user_id", "memory_id"),
)
_AT = Prepared(sa.select(_files).filter_by(path=sa.bindparam("path")))
_OF_MEMORY = Prepared(
    sa.select(_files).filter_by(
        user_id=sa.bindparam("user"), memory_id=sa.bindparam("memory", type_=sa.Uuid())
    )
)
_NOTE = Prepared(upsert(insert_into(_files)), _files.c.keys())


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file in a store's folder that does not hold a memory.

    Attributes:
        path: Its path relative to the store's folder.
        reason: Why it cannot be read as a memory.
    """

    path: str
    reason: str


class _KnownFile(NamedTuple):
    """A row of the table of files."""

    path: str
    user_id: str
    memory_id: UUID
    signature: str


class FolderDatabase(Database):
    """The database of a folder with memory files. In a folder that cannot be written to, it is made in memory.

    Args:
        folder: The folder.
        codec: Encodes the records in files and in rows.
    """

    def __init__(self, folder: MemoryFolder, codec: Codec) -> None:
        super().__init__(_IN_MEMORY, urls.PASSWORD_VARIABLE, codec)
        self._folder = folder
        self._file = folder.path / STATE / INDEX
        self._refusal: OSError | None = None
        self._problems: dict[str, str] = {}
        self._watched_pool: sa.Pool | None = None
        self._is_outdated = False
        self._has_swept = False

    @property
    def engine(self) -> sa.Engine:
        """Return the engine; at the first use, decide where the database is."""
        if self._engine is None:
            try:
                # `MemoryFolder` makes the file, because it sets the mode and follows no links.
                os.close(self._folder.open_state(INDEX))
            except OSError as error:
                self._refusal = error
                self.url = _IN_MEMORY
            else:
                self._refusal = None
                self.url = sa.URL.create("sqlite", database=str(self._file))
            self._write_lock = engine_setup.write_lock(self.url)
        return super().engine

    def refresh(self) -> None:
        """Read what has changed in the folder.

        Raises:
            StoreUnavailableError: The folder cannot be read.
        """
        self._is_outdated = True
        self._prepare_schema()

    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the files that do not hold a memory, sorted by path."""
        self._prepare_schema()
        problems = sorted(self._problems.items())
        return tuple(DamagedFile(path, reason) for path, reason in problems)

    def _prepare_schema(self) -> None:
        """Prepare the schema, and read what has changed in the folder since the database was last used.

        A damaged database is set aside, and made again from the files.
        """
        try:
            super()._prepare_schema()
        except StoreError as error:
            if not _DAMAGE.search(str(error)):
                raise
            self._set_aside()
            super()._prepare_schema()
        pool = self.engine.pool
        if self._watched_pool is pool and not self._is_outdated:
            return
        # A large folder takes longer to read than a database may be silent.
        with self._lock, deadlines.waiting(None):
            if self._watched_pool is pool and not self._is_outdated:
                return
            # Before the folder is read: what changes meanwhile outdates it again.
            self._is_outdated = False
            try:
                self._read_folder()
            except BaseException:
                self._is_outdated = True
                raise
            self._watched_pool = pool

    def _set_aside(self) -> None:
        self.close()
        with self._errors_of_the_system():
            self._file.replace(f"{self._file}.damaged")
        log_events.INDEX_SET_ASIDE.log(file=str(self._file))

    def _read_folder(self) -> None:
        self._has_swept = False
        # Compared in a reading transaction first, because a writing one would have to wait for other writers.
        known = self.run_as_it_is(_signatures)
        with self._errors_of_the_system():
            found = self._folder.scan()
            if known != {path: _as_text(signature) for path, signature in found.items()}:
                self.run_as_it_is(self._take_in_changes, kind="write")
            else:
                self._problems = {}

    @contextmanager
    def _transaction(self, kind: Transaction) -> Generator[sa.Connection]:
        """Begin a transaction. Before it is committed, the files of changed memories are written."""
        with super()._transaction(kind) as connection:
            yield connection
            if kind == "write" and self._watched_pool is self.engine.pool:
                with self._reading_again_after_a_failure():
                    self._save(connection)

    @contextmanager
    def _reading_again_after_a_failure(self) -> Generator[None]:
        """If the body fails, have the next use read the folder again: files may differ from their rows."""
        try:
            with self._errors_of_the_system():
                yield
        except BaseException:
            self._is_outdated = True
            raise

    @contextmanager
    def _errors_of_the_system(self) -> Generator[None]:
        """Turn errors of the system into a `StoreUnavailableError`."""
        try:
            yield
        except OSError as error:
            raise StoreUnavailableError(
                f"{self._folder.path}: {error.strerror or error}"
            ) from error

    def _take_in_changes(self, connection: sa.Connection) -> None:
        """Read the files that were added or changed into the database, and delete the memories of files that are gone."""
        if not sa.inspect(connection).has_table(_files.name):
            _files.create(connection)
            changed_rows.watch(connection)
        self._problems = {}
        found = self._folder.scan()
        paths: dict[UserAndId, str] = {}
        outdated: list[_KnownFile] = []
        for row in starmap(_KnownFile, connection.execute(sa.select(_files)).all()):
            if row.signature == _as_text(found.get(row.path)):
                paths[row.user_id, row.memory_id] = row.path
            else:
                outdated.append(row)
        unread = {path: found[path] for path in found.keys() - set(paths.values())}
        old = _taken_out(connection, outdated)
        new = self._read_new(unread, old, paths)
        for row in outdated:
            if (row.user_id, row.memory_id) in old:
                reason = None if row.path in found else _REMOVED
                this = this_memory(row.user_id, row.memory_id)
                row_deletion.delete(connection, row.user_id, this, reason)
        for user_id, items in new.items():
            self._insert(connection, user_id, items, paths)
        read = [
            _KnownFile(path, *place, _as_text(unread[path]))
            for place, path in paths.items()
            if path in unread
        ]
        if read:
            _NOTE.run(connection, [file._asdict() for file in read])
        # What was read from files needs not be written to them.
        changed_rows.take(connection)

    def _read_new(
        self,
        unread: dict[str, Signature],
        old: dict[UserAndId, MemoryItem],
        paths: dict[UserAndId, str],
    ) -> dict[str, list[MemoryItem]]:
        """Return the memories in *unread* files, by user, and add their *paths*.

        Those that are the same as before are removed from *old*, and not returned.
        """
        new: defaultdict[str, list[MemoryItem]] = defaultdict(list)
        for path, item in sorted(self._read_files(unread), key=_precedence):
            place = (item.user_id, item.id)
            if place in paths:
                self._report(path, f"its id is that of {paths[place]}")
                continue
            paths[place] = path
            stored = old.get(place, item)
            with_reads = replace(
                item, access_count=stored.access_count, accessed_at=stored.accessed_at
            )
            if with_reads == old.get(place):
                del old[place]
            else:
                new[item.user_id].append(with_reads)
        return new

    def _insert(
        self,
        connection: sa.Connection,
        user_id: str,
        items: Sequence[MemoryItem],
        paths: dict[UserAndId, str],
    ) -> None:
        """Insert a user's memories. Those that clash with others are reported, and removed from *paths*."""
        ids = insert_records(connection, items)
        written: list[tuple[MemoryItem, None]] = []
        for item in items:
            if item.id in ids:
                # The first search makes it searchable.
                written.append((item, None))
            else:
                self._report(paths.pop((user_id, item.id)), clash(connection, item))
        indexing.insert(connection, user_id, written)

    def _read_files(self, signatures: dict[str, Signature]) -> Generator[tuple[str, MemoryItem]]:
        """Yield the memories in files, with their paths. A damaged file is reported."""
        for path, signature in signatures.items():
            if not signature:
                self._report(path, "not a plain file")
                continue
            try:
                yield path, parse(path, self._folder.read(path), signature[2], self.codec)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._report(path, error.strerror or str(error))
            except InvalidRecordError as error:
                self._report(path, str(error))

    def _report(self, path: str, problem: str) -> None:
        self._problems[path] = problem
        log_events.FILE_SKIPPED.log(file=str(self._folder.path / path))

    def _save(self, connection: sa.Connection) -> None:
        """Write the files of the memories that this transaction has changed, and remove those of deleted ones.

        Raises:
            OSError: A file cannot be written.
            StoreUnavailableError: The database is in memory.
            StoreError: A file to be replaced or removed is damaged, or was changed since it was read.
        """
        outdated: list[_KnownFile] = []
        for place in changed_rows.take(connection):
            # Deletions would be noted in memory only.
            if self._refusal:
                raise StoreUnavailableError(
                    f"{self._file} cannot be written ({self._refusal.strerror}), so memories can only be read here"
                )
            # Only one process at a time writes to the database, so no other one is writing a file now.
            if not self._has_swept:
                self._folder.remove_drafts()
                self._has_swept = True
            old = _known(connection, _OF_MEMORY, user=place[0], memory=place[1])
            item = indexing.item_by_id(connection, *place)
            path = self._write(connection, item, old) if item else None
            if old and old.path != path:
                self._check_unchanged(old.path, old)
                outdated.append(old)
        # Last, so that nothing is lost if another file cannot be written.
        for old in outdated:
            _forget_file(connection, old.path)
            self._folder.remove(old.path)

    def _write(self, connection: sa.Connection, item: MemoryItem, old: _KnownFile | None) -> str:
        """Write the file of a memory; return its path."""
        path = path_of(item)
        holder = _known(connection, _AT, path=path)
        if holder and holder != old:
            path = path_of(item, apart=True)  # another user's file has this path
            holder = _known(connection, _AT, path=path)
        if path in self._problems:
            raise StoreError(
                f"{self._folder.path / path} is damaged ({self._problems[path]}); repair or remove it"
            )
        self._check_unchanged(path, holder)
        signature = self._folder.write(path, render(item, self.codec))
        noted = _KnownFile(path, item.user_id, item.id, _as_text(signature))
        _NOTE.run(connection, [noted._asdict()])
        return path

    def _check_unchanged(self, path: str, row: _KnownFile | None) -> None:
        """Raise StoreError if a file was changed since it was read, so that a person's edit is never overwritten."""
        signature = self._folder.signature(path)
        if signature is not None and (row is None or row.signature != _as_text(signature)):
            raise StoreError(
                f"{self._folder.path / path} was changed after it was read, and was left as it is; try again"
            )


def _signatures(connection: sa.Connection) -> dict[str, str] | None:
    """Return the signatures of the files as they were last read or written; None if none was read yet."""
    if not sa.inspect(connection).has_table(_files.name):
        return None
    rows = connection.execute(sa.select(_files.c.path, _files.c.signature))
    return dict(map(tuple, rows))


def _taken_out(
    connection: sa.Connection, rows: Sequence[_KnownFile]
) -> dict[UserAndId, MemoryItem]:
    """Delete the rows of files; return the memories that were in these files."""
    old: dict[UserAndId, MemoryItem] = {}
    for row in rows:
        _forget_file(connection, row.path)
        stored = indexing.item_by_id(connection, row.user_id, row.memory_id)
        if stored:
            old[row.user_id, row.memory_id] = stored
    return old


def _as_text(signature: Signature | None) -> str:
    return json.dumps(signature)


def _known(connection: sa.Connection, statement: Prepared, **values: object) -> _KnownFile | None:
    for row in statement.rows(connection, connection.engine, values):
        return _KnownFile(*row)
    return None


def _forget_file(connection: sa.Connection, path: str) -> None:
    connection.execute(sa.delete(_files).filter_by(path=path))


def _precedence(memory: tuple[str, MemoryItem]) -> tuple[Any, ...]:
    """Return the sort key of files: of those with the same id or key, the one at its proper path wins, then the newest."""
    path, item = memory
    return path_of(item) != path, -item.updated_at.timestamp(), path
