"""Engines: one per URL and process, set up for many threads and processes, valid after a fork."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import NoSuchModuleError

from memory_context.exceptions import (
    MissingDependencyError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.runtime.after_fork import Lock, before_fork, in_child
from memory_context.stores.sql import silent_servers
from memory_context.stores.sql.file_watch import FileWatch, WatchedConnection
from memory_context.stores.sql.prepared_statements import execute
from memory_context.stores.sql.urls import is_memory, supported

# As long as sqlite3 waits by itself, its default `timeout` being 5 s.
BUSY_MILLISECONDS = 5000
# libpq waits without an end by default; a fold in an agent's run must not.
CONNECT_SECONDS = 5
CACHE_KIB = 16_000
Transaction: TypeAlias = Literal["statement", "read", "write"]
"""What a transaction does: one statement that reads, several, or writing, too."""
_OVERWRITES = "memory_context_overwrites"
# WAL lets others read while somebody writes. With synchronous=NORMAL a power cut may undo the last
# commits, but never damages the file; a killed process loses nothing.
_SQLITE_PRAGMAS: tuple[str, ...] = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={BUSY_MILLISECONDS}",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA cache_size=-{CACHE_KIB}",
)


@dataclass
class EngineRegistry:
    """The engines of this process, shared by URL.

    Each lives until the last store that uses it lets it go.
    """

    _engines: dict[sa.URL, sa.Engine] = field(default_factory=dict[sa.URL, sa.Engine])
    _users: Counter[sa.URL] = field(default_factory=Counter[sa.URL])
    lock: Lock = field(default_factory=Lock)

    def acquire(self, url: sa.URL) -> sa.Engine:
        """Return the engine for *url*; a new one for each in-memory database."""
        if is_memory(url):
            return make_engine(url)
        with self.lock:
            if url not in self._engines:
                self._engines[url] = make_engine(url)
            self._users[url] += 1
            return self._engines[url]

    def release(self, engine: sa.Engine) -> None:
        """Let go of an engine that `acquire` gave."""
        with self.lock:
            if self._engines.get(engine.url) is engine:
                self._users[engine.url] -= 1
                if self._users[engine.url]:
                    return
                del self._engines[engine.url]
            engine.dispose()

    def close_idle(self) -> None:
        """Close the idle connections to SQLite's files; they are opened again as needed.

        SQLite's locks belong to a process, and a child must not take over an open connection
        (https://www.sqlite.org/howtocorrupt.html, section 2.6).
        """
        for engine in list(self._engines.values()):
            if engine.dialect.name == "sqlite":
                engine.dispose()

    def after_fork(self) -> None:
        """In a forked child, leave engines and their connections to the parent."""
        self._engines = {}
        self._users.clear()


registry = EngineRegistry()
in_child(registry)
before_fork(registry.close_idle)


_turns = WeakValueDictionary[str, Lock]()


def writers_turn(url: sa.URL) -> Lock:
    """Return what lets one thread of this process write to the SQLite database of *url* at a time.

    SQLite's own lock is asked for again and again, after longer and longer pauses: of many threads some would never get it.
    This one is waited for as long.
    """
    turn = Lock(lambda: BUSY_MILLISECONDS / 1000, "database is locked")
    if is_memory(url):
        return turn
    with registry.lock:
        return _turns.setdefault(url.database or "", turn)


def make_engine(url: sa.URL) -> sa.Engine:
    """Return a new engine for *url*; nothing is connected yet.

    Raises:
        MissingDependencyError: The database's driver is not installed, or cannot be loaded.
    """
    try:
        if url.get_backend_name() == "postgresql":
            connect_args: dict[str, int | None] = {"connect_timeout": CONNECT_SECONDS}
            # After how many runs psycopg prepares a statement, or that it prepares none: a URL has
            # texts only. A pooler that gives each transaction another connection of the server may
            # not know what was prepared on the one before.
            threshold = url.query.get("prepare_threshold")
            if threshold is not None:
                is_number = str(threshold).isdigit()
                connect_args["prepare_threshold"] = int(str(threshold)) if is_number else None
            engine = sa.create_engine(
                url,
                hide_parameters=True,  # or error messages and logs would quote stored texts
                pool_pre_ping=True,  # a server may have closed the connection while it was idle
                connect_args=connect_args,
            )
            # First, because setting up a connection asks the server, too.
            event.listen(engine, "connect", silent_servers.give_up, insert=True)
            return engine
        return _make_sqlite_engine(url)
    except (ImportError, NoSuchModuleError) as error:
        raise MissingDependencyError(
            f"the driver for {url.drivername} cannot be loaded ({error}); pip install 'psycopg[binary]'"
        ) from error


def _make_sqlite_engine(url: sa.URL) -> sa.Engine:
    connect_args: dict[str, Any] = {
        "check_same_thread": False,  # the pool hands a connection to one thread at a time
        "timeout": BUSY_MILLISECONDS / 1000,
    }
    pool: dict[str, Any] = {}
    if is_memory(url):
        # SQLAlchemy's default pool has an empty database for each thread, and a static pool gives
        # one connection to several threads at once, which crashed the interpreter.
        pool = {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": 0}
    watched = Path(url.database or "").is_absolute()
    if watched:
        connect_args["factory"] = WatchedConnection
    engine = sa.create_engine(url, hide_parameters=True, connect_args=connect_args, **pool)
    if watched:
        watch = FileWatch(str(url.database), _set_up_sqlite)
        event.listen(engine, "do_connect", watch.connect)
    else:
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object = None) -> None:
    connection.isolation_level = (
        None  # transactions begin where we say so, not where sqlite3 guesses
    )
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    for pragma in _SQLITE_PRAGMAS:
        while True:
            try:
                connection.execute(pragma)
            except sqlite3.OperationalError:
                # The change to WAL fails at once where somebody writes, whatever busy_timeout says.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                break


def begin(connection: sa.Connection, kind: Transaction) -> None:
    """Begin a transaction on SQLite where we say so; one that writes takes the write lock at once.

    sqlite3's own transactions start at the first change: what was read before it may be outdated by
    then, and the lock can no longer be waited for (measured: `docs/why.md`).
    """
    if connection.dialect.name != "sqlite" or kind == "statement":
        return  # a driver's own way; SQLite begins and ends a transaction for a statement
    if kind == "read":
        execute(connection, "BEGIN")
        return
    # Overwrite what is deleted, whatever this build of SQLite does by default: a user is forgotten
    # without a trace only if nothing of theirs was left in free pages before.
    if not connection.info.get(_OVERWRITES):
        execute(connection, "PRAGMA secure_delete=ON")
        connection.info[_OVERWRITES] = True
    execute(connection, "BEGIN IMMEDIATE")


def callers_engine(given: sa.Engine | sa.Pool) -> sa.Engine:
    """Return the engine that a caller gave, or one on the caller's pool.

    Raises:
        UnsupportedDatabaseError: Not SQLite or psycopg, or an engine with a database for each
            thread.
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
    # A pool does not know its database: the module of a connection says it.
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
