"""The file of a SQLite database, watched: another one, or none, may stand under its path while it is open.

Whoever has a file open goes on in it when it is removed, renamed or replaced, and others see another one: what is
written is lost. SQLite does not say so (https://www.sqlite.org/howtocorrupt.html, section 2), so we look.
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

if sys.platform != "win32":
    import fcntl

FileId: TypeAlias = tuple[int, int]

TRIES = 20
WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.01
_LOG, _LOG_INDEX = "-wal", "-shm"
_OPENED = "memory_context_file"


def file_at(path: str) -> FileId | None:
    """Which file stands under `path`: its device and its number there; None where there is none."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - twice for each transaction, and four times as fast
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


@dataclass(frozen=True, slots=True)
class Opened:
    """What a connection has open.

    Attributes:
        path: Where it was opened; empty for a database in memory.
        file: Which file.
        log: Which file its write-ahead log is.
        log_index: Which file the log's index is.
    """

    path: str
    file: FileId | None
    log: FileId | None = None
    log_index: FileId | None = None

    @property
    def is_in_place(self) -> bool:
        """Whether it is still the file under its path."""
        return not self.path or self.file == file_at(self.path)


class WatchedConnection(sqlite3.Connection):
    """A connection that knows what it has open, as long as it does: until then no other file has these numbers."""

    opened: Opened | None = None
    watch: Watch | None = None
    is_kept = False

    def close(self) -> None:
        """Close it, unless its watch keeps it."""
        if not self.is_kept:
            self.opened = None
            super().close()


@dataclass(slots=True)
class Watch:
    """Opens the connections of an engine to the file under a path.

    Attributes:
        path: The path, absolute.
        set_up: What is done with a new connection.
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
        """A new connection to the file that stands there, which is made where there is none."""

        def connect() -> WatchedConnection:
            return cast("WatchedConnection", dialect.connect(*arguments, **options))

        for _ in range(TRIES):
            if file_at(self.path) is None or self._gone():
                self._make_way(connect)
            before = file_at(self.path)
            connection = self._opened(connect())
            if before and connection.opened and before == connection.opened.file:
                self._connections[id(connection)] = connection
                self._known.add(before)
                self._close_kept()
                return connection
            connection.close()
        message = f"{self.path} is replaced again and again"
        raise sqlite3.OperationalError(message)

    def _opened(self, connection: WatchedConnection) -> WatchedConnection:
        try:
            self.set_up(connection)
            connection.execute(
                "PRAGMA schema_version"
            ).fetchall()  # a new database has no log before it is read
        except BaseException:
            connection.close()
            raise
        log, log_index = file_at(self.path + _LOG), file_at(self.path + _LOG_INDEX)
        connection.opened, connection.watch = (
            Opened(self.path, file_at(self.path), log, log_index),
            self,
        )
        return connection

    def is_first_to_miss(self, connection: WatchedConnection, file: FileId | None) -> bool:
        """Whether nobody has said yet that `file` is not there any more.

        The first connection that does is kept until there is another one, which then knows what log it leaves.
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

    def _gone(self) -> list[Opened]:
        """The files that are open and do not stand there any more."""
        connections = [reference() for reference in self._connections.valuerefs()]
        return [
            one.opened for one in connections if one and one.opened and not one.opened.is_in_place
        ]

    def _make_way(self, connect: Callable[[], WatchedConnection]) -> None:
        """Let no log of a file that went away be taken for that of the one that stands here now."""
        try:
            with _turn(Path(self.path).parent):
                gone, is_missing = self._gone(), file_at(self.path) is None
                if is_missing or file_at(self.path + _LOG) in {one.log for one in gone} - {None}:
                    _set_aside(self.path + _LOG)
                if is_missing or file_at(self.path + _LOG_INDEX) in {
                    one.log_index for one in gone
                } - {None}:
                    Path(self.path + _LOG_INDEX).unlink(missing_ok=True)
                if is_missing:
                    connect().close()
        except OSError as error:
            message = f"{self.path}: {error.strerror or error}"
            raise sqlite3.OperationalError(message) from error


def _set_aside(log: str) -> None:
    """Give a log another name: it may hold what is missing in a database that was moved without it."""
    path = Path(log)
    with suppress(FileNotFoundError):
        facts = path.stat()
        path.replace(f"{log}.{facts.st_ino}") if facts.st_size else path.unlink()


@contextmanager
def _turn(folder: Path) -> Generator[None]:
    """One thread of one process at a time; not where the folder, or its file system, knows no locks."""
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
def on_its_file(connection: sa.Connection) -> Generator[None]:
    """Around a transaction: it begins and ends in the file under the path.

    That it is looked at after the commit too makes sure: what was committed stood under the path then.

    Raises:
        StoreUnavailableError: Another file stands there, or none. The connection is given up; the engine's idle ones
            too, where the engine is the library's.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    opened = _what_is_open(connection)
    if not opened.is_in_place:
        _give_up(connection, opened)
    yield
    if not opened.is_in_place:
        _give_up(connection, opened)


def _what_is_open(connection: sa.Connection) -> Opened:
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    if isinstance(driver, WatchedConnection) and driver.opened:
        return driver.opened
    if _OPENED not in connection.info:  # a caller's engine, whose connections we did not open
        rows = driver.execute("PRAGMA database_list").fetchall()
        path: str = next(row[2] for row in rows if row[1] == "main") or ""
        connection.info[_OPENED] = Opened(path, file_at(path))
    return cast("Opened", connection.info[_OPENED])


def _give_up(connection: sa.Connection, opened: Opened) -> None:
    driver = connection.connection.driver_connection
    if not isinstance(driver, WatchedConnection) or driver.watch is None:
        events.FILE_REPLACED.log(database=opened.path)
    elif driver.watch.is_first_to_miss(driver, opened.file):
        events.FILE_REPLACED.log(database=opened.path)
        connection.engine.dispose()
    connection.invalidate()
    message = f"{opened.path} was removed, renamed or replaced while it was open; what is there now is used from now on"
    raise StoreUnavailableError(message)
