"""Noticing that the file of an open SQLite database was removed, renamed or replaced.

A process that has the file open goes on writing to it, while everybody else sees another file or
none, so what it writes is lost. SQLite does not report this
(https://www.sqlite.org/howtocorrupt.html, section 2), so we compare the open file with the file at
its path before and after each transaction. A file that is no longer at its path is called *gone*.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakValueDictionary

import sqlalchemy as sa

from memory_context.exceptions import StoreUnavailableError
from memory_context.runtime import log_events
from memory_context.runtime.file_locks import lock
from memory_context.stores.sql.prepared_statements import AnyConnection, driver_of

FileId: TypeAlias = tuple[int, int]

TRIES = 20
WAIT_SECONDS = 5.0
_LOG_SUFFIX = "-wal"
_LOG_INDEX_SUFFIX = "-shm"
_OPENED = "memory_context_file"


def file_at(path: str) -> FileId | None:
    """Return the identity of the file at *path*, its device and inode; None if there is no file."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - called twice per transaction, and four times as fast as Path.stat
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def may_only_read(path: str) -> bool:
    """Return whether the file at *path* exists and cannot be written to, as on a read-only file system."""
    return Path(path).exists() and not _may_write(path)


def _may_write(path: str | Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _read_only_uri(path: str) -> str:
    """Return the URI by which SQLite opens a file that it cannot write to."""
    uri = f"{Path(path).as_uri()}?mode=ro"
    if _may_write(Path(path).parent) or file_at(path + _LOG_SUFFIX):
        return uri
    # The header says that the file has a write-ahead log, and SQLite would try to create it. As there
    # is no log, the file is complete, and can be opened as immutable.
    return f"{uri}&immutable=1"


class OpenedFile(NamedTuple):
    """The files that a connection has open.

    Attributes:
        path: The path of the database; empty for a database in memory.
        file: The identity of the database file.
        log: The identity of its write-ahead log.
        log_index: The identity of the log's index.
        complete: Whether the file is read-only here and had no log, so that it was opened as immutable.
    """

    path: str
    file: FileId | None
    log: FileId | None = None
    log_index: FileId | None = None
    complete: bool = False

    @property
    def is_in_place(self) -> bool:
        """Return whether the open file is still the one at its path.

        A file that was opened as complete no longer counts once it has a log, because then another
        machine writes to it.
        """
        if self.complete and file_at(self.path + _LOG_SUFFIX):
            return False
        return not self.path or self.file == file_at(self.path)


class WatchedConnection(sqlite3.Connection):
    """A connection that knows which files it has open.

    While a file is open, no other file can get the same device and inode.
    """

    opened: OpenedFile | None = None
    watch: FileWatch | None = None
    is_kept = False

    def close(self) -> None:
        """Close the connection, unless its watch keeps it open."""
        if not self.is_kept:
            self.opened = None
            super().close()


class FileWatch:
    """Opens the connections of an engine to the file at a path, and keeps track of the files that they have open.

    Args:
        path: The absolute path of the database.
        set_up: Called with each new connection.
    """

    def __init__(self, path: str, set_up: Callable[[sqlite3.Connection], object]) -> None:
        self.path = path
        self.set_up = set_up
        self._connections = WeakValueDictionary[int, WatchedConnection]()
        self._known = set[FileId]()
        self._kept = list[WatchedConnection]()

    def connect(
        self,
        dialect: sa.Dialect,
        _record: object,
        arguments: Any,  # noqa: ANN401
        options: Any,  # noqa: ANN401 - SQLAlchemy's signature
    ) -> WatchedConnection:
        """Connect to the file at the path, which is created if there is none.

        Raises:
            sqlite3.OperationalError: The file cannot be opened, or was replaced during each attempt.
        """

        def connect() -> WatchedConnection:
            if may_only_read(self.path):
                uri = _read_only_uri(self.path)
                return cast("WatchedConnection", dialect.connect(uri, **options, uri=True))
            return cast("WatchedConnection", dialect.connect(*arguments, **options))

        for _ in range(TRIES):
            if file_at(self.path) is None or self._gone():
                self._set_old_log_aside(connect)
            # The file may be replaced while it is being opened. If the same file was at the path
            # before and after, it is the one that was opened.
            before = file_at(self.path)
            connection = self._opened(connect())
            if before and connection.opened and before == connection.opened.file:
                self._connections[id(connection)] = connection
                self._known.add(before)
                self._close_kept()
                return connection
            connection.close()
        raise sqlite3.OperationalError(f"{self.path} was replaced during each attempt to open it")

    def _opened(self, connection: WatchedConnection) -> WatchedConnection:
        """Set up a new connection, and note the files that it has open."""
        try:
            self.set_up(connection)
            # The log of a new database is created only when it is first read.
            connection.execute("PRAGMA schema_version").fetchall()
        except BaseException:
            connection.close()
            raise
        log = file_at(self.path + _LOG_SUFFIX)
        connection.opened = OpenedFile(
            self.path,
            file_at(self.path),
            log,
            file_at(self.path + _LOG_INDEX_SUFFIX),
            complete=log is None and may_only_read(self.path),
        )
        connection.watch = self
        return connection

    def is_first_to_miss(self, connection: WatchedConnection, file: FileId | None) -> bool:
        """Return whether *connection* is the first to report that *file* is gone.

        The first one is kept open until there is a new connection, because by it the log that the
        gone file leaves behind can still be recognized, and set aside.
        """
        try:
            self._known.remove(cast("FileId", file))
        except KeyError:
            return False
        connection.is_kept = True
        self._kept.append(connection)
        return True

    def _close_kept(self) -> None:
        while self._kept:
            with suppress(IndexError):  # another thread took it
                connection = self._kept.pop()
                connection.is_kept = False
                connection.close()

    def _gone(self) -> list[OpenedFile]:
        """Return the open files that are gone."""
        gone: list[OpenedFile] = []
        for reference in self._connections.valuerefs():
            connection = reference()
            if connection and connection.opened and not connection.opened.is_in_place:
                gone.append(connection.opened)
        return gone

    def _set_old_log_aside(self, connect: Callable[[], WatchedConnection]) -> None:
        """Rename the log that a gone file left behind, so that SQLite does not use it for the file that is here now.

        SQLite finds a log by its name, and would write the old pages into the new file.

        Raises:
            sqlite3.OperationalError: The log cannot be renamed or removed.
        """
        log = self.path + _LOG_SUFFIX
        log_index = self.path + _LOG_INDEX_SUFFIX
        try:
            with _folder_locked(Path(self.path).parent):
                gone = self._gone()
                is_missing = file_at(self.path) is None
                if is_missing or _is_one_of(log, [opened.log for opened in gone]):
                    _set_aside(log)
                if is_missing or _is_one_of(log_index, [opened.log_index for opened in gone]):
                    Path(log_index).unlink(missing_ok=True)
                if is_missing:
                    connect().close()  # creates the file, while nobody else can
        except OSError as error:
            raise sqlite3.OperationalError(f"{self.path}: {error.strerror or error}") from error


def _is_one_of(path: str, files: list[FileId | None]) -> bool:
    """Return whether the file at *path* is one of *files*."""
    file = file_at(path)
    return file is not None and file in files


def _set_aside(log: str) -> None:
    """Rename a log, or remove it if it is empty.

    It is not deleted, because it may hold changes that are missing in a database that was moved without it.
    """
    path = Path(log)
    with suppress(FileNotFoundError):
        facts = path.stat()
        if facts.st_size:
            # The inode in the name keeps two logs from overwriting each other.
            path.replace(f"{log}.{facts.st_ino}")
        else:
            path.unlink()


@contextmanager
def _folder_locked(folder: Path) -> Generator[None]:
    """Hold a lock on a folder, which only one thread of one process has at a time.

    If the folder cannot be opened, or its file system does not support locks, there is no lock.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        try:
            lock(handle, WAIT_SECONDS)
        except OSError as error:
            # Another process holds it; any other error is that of a file system without locks.
            if isinstance(error, BlockingIOError):
                raise
        yield
    finally:
        os.close(handle)


@contextmanager
def on_its_file(connection: AnyConnection, engine: sa.Engine) -> Generator[None]:
    """Check that the file of the transaction in the body is at its path before it begins and after it ends.

    The check after the commit makes sure that the committed data is in the file at the path.

    Raises:
        StoreUnavailableError: There is another file at the path, or none. The connection is
            invalidated, and so are the idle connections of an engine of this library.
    """
    if engine.dialect.name != "sqlite":
        yield
        return
    opened = _opened_file(connection)
    _check_in_place(connection, engine, opened)
    yield
    _check_in_place(connection, engine, opened)


def _opened_file(connection: AnyConnection) -> OpenedFile:
    driver = driver_of(connection)
    if isinstance(driver, WatchedConnection) and driver.opened:
        return driver.opened
    # A connection of a caller's engine, which we did not open: the file at the path at its first
    # use here is taken for the one that is open.
    if _OPENED not in connection.info:
        rows = driver.execute("PRAGMA database_list").fetchall()
        path = next(file for _, name, file in rows if name == "main") or ""
        connection.info[_OPENED] = OpenedFile(path, file_at(path))
    return cast("OpenedFile", connection.info[_OPENED])


def _check_in_place(connection: AnyConnection, engine: sa.Engine, opened: OpenedFile) -> None:
    if opened.is_in_place:
        return
    driver = driver_of(connection)
    if not isinstance(driver, WatchedConnection) or not driver.watch:
        log_events.FILE_REPLACED.log(database=opened.path)
    elif driver.watch.is_first_to_miss(driver, opened.file):
        log_events.FILE_REPLACED.log(database=opened.path)
        engine.dispose()
    # Invalidated, not only closed: the pool would hand it out again, with the old file still open.
    connection.invalidate()
    raise StoreUnavailableError(
        f"{opened.path} was removed, renamed or replaced while it was open; from now on the file that is there now is used"
    )
