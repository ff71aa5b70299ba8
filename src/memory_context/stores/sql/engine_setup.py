"""Engines: one per URL and process, set up for use by many threads and processes, and safe after a fork."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import NoSuchModuleError

from memory_context.exceptions import (
    MissingDependencyError,
    StoreError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.runtime.after_fork import Lock, before_fork, in_child
from memory_context.stores.sql import silent_servers
from memory_context.stores.sql.prepared_statements import execute
from memory_context.stores.sql.replaced_sqlite_files import FileWatch, WatchedConnection
from memory_context.stores.sql.urls import is_memory, supported

if TYPE_CHECKING:
    from psycopg import Connection

# The default `timeout` of sqlite3 for a locked database.
BUSY_MILLISECONDS = 5000
# A disk that is full or broken is still so a moment later.
_DISK_ERRORS = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
# By default libpq waits without a limit, which must not stop an agent's run.
CONNECT_SECONDS = 5
CACHE_KIB = 16_000
Transaction: TypeAlias = Literal["statement", "read", "write"]
"""The kind of a transaction: a single reading statement, several reading ones, or also writing ones."""
_SECURE_DELETE = "memory_context_overwrites"
# WAL lets others read while one connection writes. With synchronous=NORMAL a power failure may undo
# the last commits, but never damages the file. If only the process is killed, nothing is lost.
_SQLITE_PRAGMAS: tuple[str, ...] = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={BUSY_MILLISECONDS}",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA cache_size=-{CACHE_KIB}",
)


class EngineRegistry:
    """The engines of this process, one for each URL.

    Each engine lives until the last store that uses it releases it.
    """

    def __init__(self) -> None:
        self._engines = dict[sa.URL, sa.Engine]()
        self._users = Counter[sa.URL]()
        self.lock = Lock()

    def acquire(self, url: sa.URL) -> sa.Engine:
        """Return the engine for *url*. Each call for an in-memory database returns a new one."""
        if is_memory(url):
            return make_engine(url)
        with self.lock:
            if url not in self._engines:
                self._engines[url] = make_engine(url)
            self._users[url] += 1
            return self._engines[url]

    def release(self, engine: sa.Engine) -> None:
        """Release an engine that `acquire` returned."""
        with self.lock:
            if self._engines.get(engine.url) is engine:
                self._users[engine.url] -= 1
                if self._users[engine.url]:
                    return
                del self._engines[engine.url]
            engine.dispose()

    def close_idle(self) -> None:
        """Close the idle connections to SQLite files before a fork. They are opened again when needed.

        SQLite's locks belong to a process, and a forked child must not use an open connection of its
        parent (https://www.sqlite.org/howtocorrupt.html, section 2.6).
        """
        for engine in list(self._engines.values()):
            if engine.dialect.name == "sqlite":
                engine.dispose()

    def after_fork(self) -> None:
        """In a forked child, drop the engines, whose connections belong to the parent."""
        self._engines = {}
        self._users.clear()


registry = EngineRegistry()
in_child(registry)
before_fork(registry.close_idle)


_write_locks = WeakValueDictionary[str, Lock]()


def write_lock(url: sa.URL) -> Lock:
    """Return the lock that lets only one thread of this process at a time write to the SQLite database at *url*.

    Waiting for SQLite's own lock means polling at growing intervals, so that with many threads some may never get it.
    This lock has the same timeout.
    """
    lock = Lock(lambda: BUSY_MILLISECONDS / 1000, "database is locked")
    if is_memory(url):
        return lock
    with registry.lock:
        return _write_locks.setdefault(url.database or "", lock)


def make_engine(url: sa.URL) -> sa.Engine:
    """Return a new engine for *url*; nothing is connected yet.

    Raises:
        MissingDependencyError: The database's driver is not installed, or cannot be loaded.
    """
    try:
        if url.get_backend_name() == "postgresql":
            return _make_postgresql_engine(url)
        return _make_sqlite_engine(url)
    except (ImportError, NoSuchModuleError) as error:
        raise MissingDependencyError(
            f"the driver for {url.drivername} cannot be loaded ({error}); pip install 'psycopg[binary]'"
        ) from error


def _make_postgresql_engine(url: sa.URL) -> sa.Engine:
    connect_args: dict[str, int | None] = {"connect_timeout": CONNECT_SECONDS}
    # The number of executions after which psycopg prepares a statement; any other text in the URL,
    # such as "none", stands for None: never. That is for a pooler that may run each transaction on
    # another connection of the server, where the statement is not prepared.
    threshold = url.query.get("prepare_threshold")
    if threshold is not None:
        is_number = str(threshold).isdigit()
        connect_args["prepare_threshold"] = int(str(threshold)) if is_number else None
    engine = sa.create_engine(
        url,
        hide_parameters=True,  # otherwise error messages and logs would quote stored texts
        pool_pre_ping=True,  # the server may have closed the connection while it was idle
        connect_args=connect_args,
        # Statements wait for locks. On any other level, which an administrator may have made the default, they
        # would fail instead, and have to be tried again.
        isolation_level="READ COMMITTED",
    )
    # Inserted as the first listeners, because those that set up a connection query the server, too.
    event.listen(engine, "connect", _set_up_postgresql, insert=True)
    event.listen(engine, "connect", silent_servers.give_up, insert=True)
    return engine


def _set_up_postgresql(connection: Connection[Any], _record: object = None) -> None:
    """Check the encoding of the database, and have times sent in the only form that psycopg reads.

    Raises:
        StoreError: The database cannot hold every character.
    """
    encoding = connection.info.parameter_status("server_encoding") or "UTF8"
    if encoding != "UTF8":
        raise StoreError(
            f"the database has the encoding {encoding}, and memory-context needs UTF8: "
            "createdb --encoding UTF8 --template template0 NAME"
        )
    if not (connection.info.parameter_status("DateStyle") or "ISO").startswith("ISO"):
        connection.execute("SET DateStyle TO ISO")
        connection.commit()


def _make_sqlite_engine(url: sa.URL) -> sa.Engine:
    connect_args: dict[str, Any] = {
        "check_same_thread": False,  # the pool hands a connection to one thread at a time
        "timeout": BUSY_MILLISECONDS / 1000,
    }
    pool: dict[str, Any] = {}
    if is_memory(url):
        # SQLAlchemy's default pool makes a separate, empty database for each thread. A static pool
        # gives one connection to several threads at once, which crashed the interpreter.
        pool = {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": 0}
    watched = Path(url.database or "").is_absolute()
    if watched:
        connect_args["factory"] = WatchedConnection
    engine = sa.create_engine(url, hide_parameters=True, connect_args=connect_args, **pool)
    if watched:
        event.listen(engine, "do_connect", FileWatch(str(url.database), _set_up_sqlite).connect)
    else:
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object = None) -> None:
    # Transactions begin at our BEGIN, not where sqlite3 would insert one.
    connection.isolation_level = None
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    for pragma in _SQLITE_PRAGMAS:
        while True:
            try:
                connection.execute(pragma)
            except sqlite3.OperationalError as error:
                code = error.sqlite_errorcode & 0xFF  # without its extension
                # A file that can only be read stays in the mode that it has.
                if code == sqlite3.SQLITE_READONLY:
                    break
                # The switch to WAL fails at once while another connection writes, despite busy_timeout.
                if code in _DISK_ERRORS or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                break


def begin(connection: sa.Connection, kind: Transaction) -> None:
    """Begin a transaction on SQLite explicitly. A writing one takes the write lock at once.

    Transactions of sqlite3 itself start at the first change. By then, what the transaction has read
    may be outdated, and SQLite fails instead of waiting for the lock (measured: `docs/why.md`).
    """
    if connection.dialect.name != "sqlite" or kind == "statement":
        return  # PostgreSQL's driver begins by itself, and SQLite runs a single statement in its own transaction
    engine = connection.engine
    if kind == "read":
        execute(connection, engine, "BEGIN")
        return
    # Overwrite deleted data, whatever the default of this build of SQLite is. Only then does
    # `forget_user` leave nothing of a user behind in free pages.
    if not connection.info.get(_SECURE_DELETE):
        execute(connection, engine, "PRAGMA secure_delete=ON")
        connection.info[_SECURE_DELETE] = True
    execute(connection, engine, "BEGIN IMMEDIATE")


def callers_engine(given: sa.Engine | sa.Pool) -> sa.Engine:
    """Return the engine that a caller gave, or an engine on the caller's pool.

    Raises:
        UnsupportedDatabaseError: The driver is neither sqlite3 nor psycopg, or the engine has a
            separate database for each thread.
        StoreUnavailableError: The pool gives no connection.
    """
    if isinstance(given, sa.Pool):
        return _engine_of_pool(given)
    supported(given.url)
    if isinstance(given.pool, sa.SingletonThreadPool):
        raise UnsupportedDatabaseError(
            "this engine has an empty database for each thread: make it with poolclass=QueuePool, pool_size=1"
        )
    return given


def _engine_of_pool(pool: sa.Pool) -> sa.Engine:
    # A pool does not know its database, so it is derived from the module of a connection's class.
    try:
        with closing(pool.connect()) as connection:
            driver = type(connection.dbapi_connection).__module__.partition(".")[0]
    except Exception as error:
        raise StoreUnavailableError(f"the pool gives no connection: {error}") from error
    urls = {"sqlite3": "sqlite://", "psycopg": "postgresql+psycopg://"}
    if driver not in urls:
        raise UnsupportedDatabaseError(
            f"a pool of {driver} connections is not supported; it must hold sqlite3 or psycopg connections"
        )
    return sa.create_engine(urls[driver], pool=pool)
