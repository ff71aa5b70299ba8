"""Noticing that another file, or none, stands under the path of a SQLite database while it is open.

Whoever has a file open goes on in it when it is removed, renamed or replaced, and others see
another one: what is written is lost. SQLite does not say so
(https://www.sqlite.org/howtocorrupt.html, section 2), so we look.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast
from weakref import WeakValueDictionary

import sqlalchemy as sa

from memory_context.exceptions import StoreUnavailableError
from memory_context.runtime import events
from memory_context.stores.sql.prepared_statements import AnyConnection, driver_of

if sys.platform != "win32":
    import fcntl

FileId: TypeAlias = tuple[int, int]

TRIES = 20
WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.01
_LOG, _LOG_INDEX = "-wal", "-shm"
_OPENED = "memory_context_file"


def file_at(path: str) -> FileId | None:
    """Return which file stands under *path*: its device and its number there."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - twice for each transaction, and four times as fast
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def may_only_read(path: str) -> bool:
    """Return whether the file under *path* is there and cannot be written, as on a read-only file system."""
    return Path(path).exists() and not _may_write(path)


def _may_write(path: str | Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _read_only_uri(path: str) -> str:
    """Return the URI by which SQLite opens what it cannot write."""
    uri = f"{Path(path).as_uri()}?mode=ro"
    if _may_write(Path(path).parent) or file_at(path + _LOG):
        return uri
    # With a write-ahead log in its header, SQLite would have to make one. As there is none, the file
    # is complete.
    return f"{uri}&immutable=1"


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """What a connection has open.

    Attributes:
        path: Where it was opened; empty for a database in memory.
        file: Which file.
        log: Which file its write-ahead log is.
        log_index: Which file the log's index is.
        complete: Whether it cannot be written here, and had no log.
    """

    path: str
    file: FileId | None
    log: FileId | None = None
    log_index: FileId | None = None
    complete: bool = False

    @property
    def is_in_place(self) -> bool:
        """Return whether it is still the file under its path.

        One that was opened as complete is not, once somebody writes to it elsewhere.
        """
        if self.complete and file_at(self.path + _LOG):
            return False
        return not self.path or self.file == file_at(self.path)


class WatchedConnection(sqlite3.Connection):
    """A connection that knows what it has open.

    As long as it has, no other file gets the same device and number.
    """

    opened: OpenedFile | None = None
    watch: FileWatch | None = None
    is_kept = False

    def close(self) -> None:
        """Close it, unless its watch keeps it."""
        if not self.is_kept:
            self.opened = None
            super().close()


@dataclass(slots=True)
class FileWatch:
    """Opens the connections of an engine to the file under a path.

    Attributes:
        path: The path, absolute.
        set_up: Called with each new connection.
    """

    path: str
    set_up: Callable[[sqlite3.Connection], object]
    _connections: WeakValueDictionary[int, WatchedConnection] = field(
        default_factory=WeakValueDictionary[int, WatchedConnection]
    )
    _known: set[FileId] = field(default_factory=set[FileId])
    _kept: list[WatchedConnection] = field(default_factory=list[WatchedConnection])

    def connect(
        self,
        dialect: sa.Dialect,
        _record: object,
        arguments: Any,  # noqa: ANN401
        options: Any,  # noqa: ANN401 - SQLAlchemy's signature
    ) -> WatchedConnection:
        """Connect to the file that stands there, which is created where there is none.

        Raises:
            sqlite3.OperationalError: It cannot be opened, or is replaced all the time.
        """

        def connect() -> WatchedConnection:
            if may_only_read(self.path):
                uri = _read_only_uri(self.path)
                return cast("WatchedConnection", dialect.connect(uri, **options, uri=True))
            return cast("WatchedConnection", dialect.connect(*arguments, **options))

        for _ in range(TRIES):
            if file_at(self.path) is None or self._gone():
                self._set_old_log_aside(connect)
            # The file may be replaced while it is opened: it is ours if the same one stood there
            # before and after.
            before = file_at(self.path)
            connection = self._opened(connect())
            if before and connection.opened and before == connection.opened.file:
                self._connections[id(connection)] = connection
                self._known.add(before)
                self._close_kept()
                return connection
            connection.close()
        raise sqlite3.OperationalError(f"{self.path} is replaced again and again")

    def _opened(self, connection: WatchedConnection) -> WatchedConnection:
        """Set up a new connection, and note what it has open."""
        try:
            self.set_up(connection)
            # A new database has no log before it is read.
            connection.execute("PRAGMA schema_version").fetchall()
        except BaseException:
            connection.close()
            raise
        connection.opened = OpenedFile(
            self.path,
            file_at(self.path),
            file_at(self.path + _LOG),
            file_at(self.path + _LOG_INDEX),
            complete=may_only_read(self.path) and file_at(self.path + _LOG) is None,
        )
        connection.watch = self
        return connection

    def is_first_to_miss(self, connection: WatchedConnection, file: FileId | None) -> bool:
        """Return whether nobody has said yet that *file* is not there any more.

        The first connection that does is kept until there is another one, which then knows what log
        it leaves.
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
        """Return the files that are open and do not stand there any more."""
        gone: list[OpenedFile] = []
        for reference in self._connections.valuerefs():
            connection = reference()
            if connection and connection.opened and not connection.opened.is_in_place:
                gone.append(connection.opened)
        return gone

    def _set_old_log_aside(self, connect: Callable[[], WatchedConnection]) -> None:
        """Let no log of a file that went away be taken for that of the one that stands here now.

        SQLite finds a log by its name, and would write old pages into the new file.

        Raises:
            sqlite3.OperationalError: The files cannot be moved.
        """
        log, log_index = self.path + _LOG, self.path + _LOG_INDEX
        try:
            with _folder_locked(Path(self.path).parent):
                gone = self._gone()
                is_missing = file_at(self.path) is None
                if is_missing or _is_one_of(log, [opened.log for opened in gone]):
                    _set_aside(log)
                if is_missing or _is_one_of(log_index, [opened.log_index for opened in gone]):
                    Path(log_index).unlink(missing_ok=True)
                if is_missing:
                    connect().close()  # creates it, while nobody else does
        except OSError as error:
            raise sqlite3.OperationalError(f"{self.path}: {error.strerror or error}") from error


def _is_one_of(path: str, files: list[FileId | None]) -> bool:
    """Return whether the file under *path* is one of *files*."""
    file = file_at(path)
    return file is not None and file in files


def _set_aside(log: str) -> None:
    """Rename a log, or remove an empty one.

    It may hold what is missing in a database that was moved without it.
    """
    path = Path(log)
    with suppress(FileNotFoundError):
        facts = path.stat()
        if facts.st_size:
            # By its inode, so that two that are set aside do not overwrite each other.
            path.replace(f"{log}.{facts.st_ino}")
        else:
            path.unlink()


@contextmanager
def _folder_locked(folder: Path) -> Generator[None]:
    """Let one thread of one process in at a time.

    Where the folder cannot be opened, or its file system knows no locks, all are let in.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        except OSError:
            return
        else:
            return


@contextmanager
def on_its_file(connection: AnyConnection, engine: sa.Engine) -> Generator[None]:
    """Check that the transaction in the body begins and ends in the file under the path.

    The look after the commit makes sure that what was committed stood under the path then.

    Raises:
        StoreUnavailableError: Another file stands there, or none. The connection is given up; the
            engine's idle ones too, where the engine is the library's.
    """
    if engine.dialect.name != "sqlite":
        yield
        return
    opened = _opened_file(connection)
    if not opened.is_in_place:
        _give_up(connection, engine, opened)
    yield
    if not opened.is_in_place:
        _give_up(connection, engine, opened)


def _opened_file(connection: AnyConnection) -> OpenedFile:
    driver: sqlite3.Connection = driver_of(connection)
    if isinstance(driver, WatchedConnection) and driver.opened:
        return driver.opened
    # A caller's engine, whose connections we did not open: what stands there at its first use
    # counts.
    if _OPENED not in connection.info:
        rows = driver.execute("PRAGMA database_list").fetchall()
        path: str = next(row[2] for row in rows if row[1] == "main") or ""
        connection.info[_OPENED] = OpenedFile(path, file_at(path))
    return cast("OpenedFile", connection.info[_OPENED])


def _give_up(connection: AnyConnection, engine: sa.Engine, opened: OpenedFile) -> None:
    driver: sqlite3.Connection = driver_of(connection)
    if not isinstance(driver, WatchedConnection) or driver.watch is None:
        events.FILE_REPLACED.log(database=opened.path)
    elif driver.watch.is_first_to_miss(driver, opened.file):
        events.FILE_REPLACED.log(database=opened.path)
        engine.dispose()
    # Not only closed: the pool would hand it out again, and it still has the old file.
    connection.invalidate()
    raise StoreUnavailableError(
        f"{opened.path} was removed, renamed or replaced while it was open; what is there now is used from now on"
    )
