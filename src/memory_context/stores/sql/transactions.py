"""Transactions: `Database`, through which every module of `stores.sql` reaches SQLite or PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from memory_context.exceptions import (
    EncryptionError,
    MemoryContextError,
    SchemaVersionError,
    StoreError,
    StoreUnavailableError,
)
from memory_context.model.item import MemoryItem
from memory_context.runtime import deadlines
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.telemetry import operation
from memory_context.stores.codec import Codec
from memory_context.stores.sql import (
    engine_setup,
    migrate,
    replaced_sqlite_files,
    silent_servers,
    urls,
)
from memory_context.stores.sql.engine_setup import Transaction
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.index_key_of_encrypted_databases import held_key
from memory_context.stores.sql.prepared_statements import (
    Prepared,
    Values,
    has_listeners,
    of_sqlalchemy,
)
from memory_context.stores.sql.row_encoding import ROW_FORMAT, RowFormat, decoded_row
from memory_context.stores.sql.schema import AnyRow, AnySelect
from memory_context.text.index.analyzer import VERSION

AnyDatabase: TypeAlias = str | sa.URL | sa.Engine | sa.Pool
"""Everything by which a caller may name a database: its URL, an engine, or a connection pool."""
P = ParamSpec("P")
T = TypeVar("T")

# SQLite's message, PostgreSQL's, and the name of psycopg's class.
_SCHEMA_GONE = re.compile(r"no such table|relation .* does not exist|UndefinedTable")
# Whoever may write to the index may write to all tables. If there are no tables yet, the right to create them counts.
_MAY_WRITE = sa.text(
    """
    SELECT current_setting('transaction_read_only') = 'off' AND coalesce(
        has_table_privilege(to_regclass('agent_memory_passages'), 'INSERT'),
        has_schema_privilege(current_schema(), 'CREATE')
    )
    """
)
# SQLSTATEs insufficient_privilege and read_only_sql_transaction.
_WRITE_REFUSED = ("42501", "25006")

_NO_VALUES: Values = {}
# How often a transaction that PostgreSQL has rolled back because of a deadlock is tried again.
DEADLOCKS = 3


class Database:
    """A SQLite or PostgreSQL database with this library's schema. Safe under threads.

    Nothing is opened before the first use. Then the schema is created or upgraded.

    Args:
        source: A URL, an engine, or a connection pool; None for the default URL of `urls.store_url`.
        password_variable: The environment variable with the password of a URL that has none.
        codec: Encodes the records in rows.

    Attributes:
        url: The URL, with its password.
        codec: Encodes the records in rows.
        dialect: ``sqlite`` or ``postgresql``.

    Raises:
        UnsupportedDatabaseError: The database is neither SQLite nor PostgreSQL through psycopg.
    """

    def __init__(
        self,
        source: AnyDatabase | None,
        password_variable: str,
        codec: Codec,
    ) -> None:
        self.codec = codec
        self._row_format = RowFormat(codec)
        self._is_pool = isinstance(source, sa.Pool)
        callers_engine: sa.Engine | None = None
        if isinstance(source, sa.Engine | sa.Pool):
            callers_engine = engine_setup.callers_engine(source)
            self.url = callers_engine.url
        else:
            self.url = urls.store_url(source, password_variable)
        # With a timeout, because whoever holds it may be waiting for a database that hangs. Before the engines, because its
        # refusal to be pickled says more than theirs.
        self._lock = Lock(deadlines.patience, f"{urls.shown_url(self.url)} cannot be opened")
        self._callers_engine = callers_engine
        self.dialect = self.url.get_backend_name()
        self._engine: sa.Engine | None = None
        self._ready_pool: sa.Pool | None = None
        self._may_write = False
        self._write_lock = engine_setup.write_lock(self.url)
        in_child(self)

    def after_fork(self) -> None:
        """In a forked child, drop a shared engine, which belongs to the parent.

        A database in memory exists in both processes, and the caller is responsible for an engine of
        the caller's.
        """
        if not self._callers_engine and not urls.is_memory(self.url):
            self._engine = None
            self._ready_pool = None

    @property
    def public_url(self) -> str | None:
        """Return the URL for another process, without its password.

        None if no URL can reach the database: one in memory, or a bare pool.
        """
        if urls.is_memory(self.url) or self._is_pool:
            return None
        return urls.shown_url(self.url._replace(password=None))

    @property
    def was_removed(self) -> bool:
        """Return whether the SQLite file that this object has used no longer exists."""
        file = urls.file_of(self.url)
        return file is not None and self._engine is not None and not file.exists()

    @property
    def reads_only(self) -> bool:
        """Return whether nothing can be written: to this SQLite file, by this PostgreSQL user, or to this standby server.

        A server is asked each time until it allows writing, and again after it has refused a write.
        """
        if self.dialect == "postgresql":
            self._may_write = self._may_write or self.run_as_it_is(_may_write)
            return not self._may_write
        file = urls.file_of(self.url)
        may_only_read = file is not None and replaced_sqlite_files.may_only_read(str(file))
        return may_only_read or urls.opens_for_reading(self.url)

    def read(
        self, work: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        """Call *work* with a connection in a reading transaction, and return its result.

        Raises:
            StoreError: The database failed.
            SchemaVersionError: Its schema is newer than this library, or must be migrated first.
        """
        self._prepare_schema()
        return self.run_as_it_is(lambda connection: work(connection, *args, **named))

    def write(
        self, work: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        """Do as `read`, in a writing transaction, which is rolled back if *work* raises.

        If PostgreSQL rolls it back to end a deadlock, *work* is called again, three times at most.
        """
        self._prepare_schema()
        return self.run_as_it_is(lambda connection: work(connection, *args, **named), kind="write")

    def run_as_it_is(self, work: Callable[[sa.Connection], T], *, kind: Transaction = "read") -> T:
        """Do as `read` or `write`, without creating or upgrading the schema first.

        Raises:
            StoreError: The database failed.
        """
        for _ in range(DEADLOCKS if kind == "write" else 0):
            try:
                return self._run_once(work, kind)
            except StoreUnavailableError as error:
                # The server has rolled back one of two transactions that waited for each other, and the other one went on.
                if type(error.__cause__).__name__ != "DeadlockDetected":
                    raise
        return self._run_once(work, kind)

    def _run_once(self, work: Callable[[sa.Connection], T], kind: Transaction) -> T:
        with self._transaction(kind) as connection:
            return work(connection)

    @contextmanager
    def _transaction(self, kind: Transaction) -> Generator[sa.Connection]:
        writes = kind == "write"
        options: dict[str, Any] = {ROW_FORMAT: self._row_format}
        # Not on a caller's pool: the engine's dialect did not open its connections, and cannot switch them to AUTOCOMMIT.
        if kind == "statement" and self.dialect == "postgresql" and not self._is_pool:
            # Without BEGIN and COMMIT, each of which is a round trip to the server.
            options["isolation_level"] = "AUTOCOMMIT"
        # `on_its_file` is outside the transaction, so that its second check comes after the commit.
        # `errors` is outside everything, because a commit may fail, too.
        with (
            self.errors(),
            operation("transaction", backend=self.dialect, writes=writes),
            self._write_lock if writes and self.dialect == "sqlite" else nullcontext(),
            self.engine.connect().execution_options(**options) as connection,
            silent_servers.given_up(connection.connection.driver_connection),
            replaced_sqlite_files.on_its_file(connection, connection.engine),
            # A single statement is a transaction by itself.
            nullcontext() if kind == "statement" else connection.begin(),
        ):
            engine_setup.begin(connection, kind)
            yield connection

    def rows(self, statement: sa.Executable, values: Values = _NO_VALUES) -> Sequence[AnyRow]:
        """Return the rows that *statement* selects with *values*, in a transaction of its own."""
        self._prepare_schema()
        with self._transaction("statement") as connection:
            return connection.execute(statement, values).all()

    def items(
        self, statement: AnySelect | Prepared, values: Values = _NO_VALUES
    ) -> list[MemoryItem]:
        """Return the records that *statement*, made from `RECORDS`, selects with *values*. It runs as in `rows`."""
        if isinstance(statement, Prepared):
            rows: Sequence[Sequence[Any]] = self.prepared_rows(statement, values)
        else:
            rows = self.rows(statement, values)
        return [decoded_row(self._row_format, row) for row in rows]

    def prepared_rows(self, statement: Prepared, values: Values) -> list[list[Any]]:
        """Return the rows that a prepared statement selects with *values*, as `rows` does."""
        self._prepare_schema()
        if self.dialect == "sqlite" and not has_listeners(self.engine):
            return self._read_without_transaction(statement, values)
        with self._transaction("statement") as connection:
            return statement.rows(connection, connection.engine, values)

    def counts(self, statement: Prepared, values: Sequence[Values]) -> list[int]:
        """Execute a statement with each of *values* in one transaction; return the numbers of rows that they changed."""
        self._prepare_schema()
        # Executions that are sent to PostgreSQL together are one transaction by themselves. With
        # listeners they are sent one by one, and on a caller's pool they need a COMMIT.
        is_sent_together = (
            self.dialect == "postgresql" and not self._is_pool and not has_listeners(self.engine)
        )
        kind: Transaction = "statement" if is_sent_together else "write"
        with self._transaction(kind) as connection:
            return statement.counts(connection, values)

    def _read_without_transaction(self, statement: Prepared, values: Values) -> list[list[Any]]:
        """Return a statement's rows without a transaction of SQLAlchemy's, which would take longer than the statement."""
        engine = self.engine
        with self.errors(), operation("transaction", backend=self.dialect, writes=False):
            try:
                pooled = engine.raw_connection()
            except engine.dialect.loaded_dbapi.Error as error:
                raise of_sqlalchemy(error, engine) from error
            with closing(pooled), replaced_sqlite_files.on_its_file(pooled, engine):
                return statement.rows(pooled, engine, values)

    @property
    def engine(self) -> sa.Engine:
        """Return the engine: the caller's, or one that all stores on this URL share."""
        # Read once, as another thread may close the database meanwhile.
        engine = self._engine
        if engine:
            return engine
        with self._lock:
            if not self._engine:
                self._engine = self._callers_engine or engine_setup.registry.acquire(self.url)
            return self._engine

    def close(self) -> None:
        """Release a shared engine; an engine of the caller's stays open.

        The database may be used again.
        """
        with self._lock:
            if self._engine and not self._callers_engine:
                engine_setup.registry.release(self._engine)
            self._engine = None
            self._ready_pool = None

    @contextmanager
    def errors(self) -> Generator[None]:
        """Turn errors of the database into a `StoreError`."""
        try:
            yield
        except StoreUnavailableError:
            self._ready_pool = None
            raise
        except MemoryContextError:
            raise  # some are a ValueError, too
        except SQLAlchemyError as error:
            if getattr(_cause(error), "sqlstate", None) in _WRITE_REFUSED:
                self._may_write = False
            if _SCHEMA_GONE.search(str(error)):
                self._ready_pool = None  # the next use creates the schema again
            raise self._store_error(error) from _without_values(error)
        # Drivers raise these for lone surrogates and for integers of more than 64 bits.
        except (UnicodeEncodeError, OverflowError) as error:
            # Without its cause, which contains the value.
            raise StoreError(f"the database cannot take this value: {error}") from None
        # A column's type raises it for what another program wrote, such as a text that is not JSON.
        except ValueError as error:
            raise StoreError(
                f"{urls.shown_url(self.url)}: a row that another program wrote cannot be read: {error}"
            ) from None
        except Exception as error:
            # The driver's own error, if rows are fetched without SQLAlchemy: for example a time that Python cannot represent.
            engine = self._engine
            if not engine or not isinstance(error, engine.dialect.loaded_dbapi.Error):
                raise
            translated = cast("SQLAlchemyError", of_sqlalchemy(error, engine))
            raise self._store_error(translated) from _without_values(translated)

    def _prepare_schema(self) -> None:
        """Create or upgrade the schema, and empty an outdated index, once for each pool."""
        if self._ready_pool is self.engine.pool:
            return
        with self._lock:
            pool = self.engine.pool  # a new one after the file was replaced
            # Once per pool and not per object, because a replaced file must be checked again.
            if self._ready_pool is pool:
                return
            # Each version is read in a reading transaction first, because a writing one would have to
            # wait for other writers.
            revision = self.run_as_it_is(migrate.revision_of)
            if revision != migrate.HEAD:
                if self.reads_only and revision in (None, *migrate.REVISIONS):
                    found = f"schema {revision}" if revision else "no schema yet"
                    raise SchemaVersionError(
                        f"the database has {found}, this library needs {migrate.HEAD}, and it can only be "
                        "read here; run `memory-context migrate` where it can be written"
                    )
                self.run_as_it_is(migrate.ensure_schema, kind="write")
            # Where nothing can be written, the index is used as it is.
            if not self.reads_only and self.run_as_it_is(keyword_index.version_of) < VERSION:
                with deadlines.waiting(None):
                    self.run_as_it_is(keyword_index.renew, kind="write")
            self.read_format()
            if self._row_format.index_key is None and self.codec.index != "plain":
                if self.reads_only:
                    raise EncryptionError(
                        "this database is not encrypted, or its index is not, and it can only be read here: open it "
                        "without encryption, or encrypt it by `reencrypt` where it can be written"
                    )
                self.run_as_it_is(keyword_index.hide_words, kind="write")
                self.read_format()
            self._ready_pool = pool

    def read_format(self) -> None:
        """Read from the database how its words and identities are hidden, if they are. Nothing is written.

        Raises:
            EncryptionError: The database is encrypted, and the codec does not encrypt or has other keys.
        """
        key = self.run_as_it_is(partial(held_key, codec=self.codec))
        self._row_format = RowFormat(self.codec, key)

    def _store_error(self, error: SQLAlchemyError) -> StoreError:
        message = f"{urls.shown_url(self.url)}: {_first_line(_cause(error))}"
        file = urls.file_of(self.url)
        if file and not file.parent.is_dir():
            message += f": there is no folder '{file.parent}'"
        if "disk I/O error" in message:
            message += ": the disk may be full, or broken"
        if "prepared statement" in message:
            message += ": behind a pooler, end the URL with ?prepare_threshold=none"
        is_closed = isinstance(error, DBAPIError) and error.connection_invalidated
        if is_closed or isinstance(error, OperationalError | InterfaceError | PoolTimeoutError):
            return StoreUnavailableError(message)
        return StoreError(message)


def _may_write(connection: sa.Connection) -> bool:
    return bool(connection.scalar(_MAY_WRITE))


def _cause(error: SQLAlchemyError) -> BaseException:
    """Return the driver's own error if there is one, else *error*."""
    return getattr(error, "orig", None) or error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    if lines:
        return lines[0]
    return type(error).__name__


def _without_values(error: SQLAlchemyError) -> BaseException | None:
    """Return the driver's error with only the first line of its message.

    The other lines quote rows ("Failing row contains …") and parameters, which tracebacks would show.
    """
    cause = _cause(error)
    with suppress(Exception):  # the class may take other arguments
        return type(cause)(_first_line(cause))
    return None
