"""Frequent statements, compiled once for each dialect and executed directly by the driver, without SQLAlchemy.

SQLAlchemy adds 30 to 70 microseconds to a statement that SQLite answers in 8, and a put has nine of them
(``benchmarks/langgraph_store.py``). If an engine has listeners for its statements, as with tracing, SQLAlchemy executes
them after all, so that the listeners are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

Values: TypeAlias = Mapping[str, Any]
AnyConnection: TypeAlias = sa.Connection | sa.PoolProxiedConnection
_Processor: TypeAlias = Callable[[Any], Any]


class _Compiled:
    """A statement in the form that the driver of a dialect takes.

    Attributes:
        text: The SQL.
    """

    def __init__(
        self, statement: sa.ClauseElement, dialect: sa.Dialect, columns: Sequence[str] | None
    ) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 - for the type checkers: it is not DDL
        self.text = str(compiled)
        # The names of the parameters by position; None if the driver takes parameters by name.
        self._order = compiled.positiontup
        # The values that the statement itself contains, converted for the driver.
        self._constants = dict(compiled.params)
        # The conversions of the other values, by parameter name. A value without one is passed as it is.
        self._processors: dict[str, _Processor] = {}
        for name, bind in compiled.binds.items():
            processor = bind.type.dialect_impl(dialect).bind_processor(dialect)
            if bind.required:
                del self._constants[name]
                if processor:
                    self._processors[name] = processor
            elif processor:
                self._constants[name] = processor(self._constants[name])
        self._selected = statement.selected_columns if isinstance(statement, sa.Select) else ()
        # The conversions of a row's values, with their positions; None before the first execution, because they depend
        # on the types that the driver reports.
        self._results: list[tuple[int, _Processor]] | None = None

    def parameters(self, values: Values) -> Any:  # noqa: ANN401 - a tuple or a dict, as the driver wants it
        bound = {**self._constants, **values}
        for name, processor in self._processors.items():
            bound[name] = processor(bound[name])
        if self._order is None:
            return bound
        return tuple([bound[name] for name in self._order])

    def decoded(self, cursor: Any, dialect: sa.Dialect) -> list[list[Any]]:  # noqa: ANN401 - a driver's or SQLAlchemy's
        """Return the rows of *cursor*, with each value converted as SQLAlchemy's types convert it."""
        if self._results is None:
            found: list[tuple[int, _Processor]] = []
            description = getattr(cursor, "cursor", cursor).description
            for position, column in enumerate(self._selected):
                _, type_code, *_ = description[position]
                convert = column.type.dialect_impl(dialect).result_processor(dialect, type_code)
                if convert:
                    found.append((position, convert))
            self._results = found
        rows = list(map(list[Any], cursor.fetchall()))
        for row in rows:
            for position, processor in self._results:
                row[position] = processor(row[position])
        return rows


class Prepared:
    """A statement with named parameters, for connections of any engine.

    Args:
        statement: The statement. It must not have an IN with a list of values, which SQLAlchemy renders only when it
            executes the statement.
        columns: For an INSERT, the columns whose values are given when it is executed.
    """

    def __init__(self, statement: sa.ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled = WeakKeyDictionary[sa.Dialect, _Compiled]()

    def rows(self, connection: AnyConnection, engine: sa.Engine, values: Values) -> list[list[Any]]:
        """Execute the statement with *values* and return its rows. The connection may be one of the engine's pool."""
        compiled = self._compiled_for(engine.dialect)
        cursor = execute(connection, engine, compiled.text, compiled.parameters(values))
        return compiled.decoded(cursor, engine.dialect)

    def run(self, connection: sa.Connection, values: Sequence[Values]) -> None:
        """Execute the statement with each of *values*."""
        compiled = self._compiled_for(connection.dialect)
        parameters = list(map(compiled.parameters, values))
        given = parameters[0] if len(parameters) == 1 else parameters
        execute(connection, connection.engine, compiled.text, given)

    def counts(self, connection: sa.Connection, values: Sequence[Values]) -> list[int]:
        """Execute the statement with each of *values*; return the numbers of rows that they changed."""
        compiled = self._compiled_for(connection.dialect)
        parameters = list(map(compiled.parameters, values))
        engine = connection.engine
        has_server = engine.dialect.name != "sqlite"
        if len(parameters) < 2 or not has_server or has_listeners(engine):
            return [execute(connection, engine, compiled.text, one).rowcount for one in parameters]
        # A single round trip to the server for all of them.
        cursor = execute(connection, engine, compiled.text, parameters, returning=True)
        counts = [cursor.rowcount]
        while cursor.nextset():
            counts.append(cursor.rowcount)
        return counts

    def _compiled_for(self, dialect: sa.Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect)
        if not compiled:
            compiled = _Compiled(self._statement, dialect, self._columns)
            self._compiled[dialect] = compiled
        return compiled


def execute(
    connection: AnyConnection,
    engine: sa.Engine,
    text: str,
    parameters: Any = (),  # noqa: ANN401 - as the driver takes them
    **options: bool,
) -> Any:  # noqa: ANN401 - a driver's cursor
    """Execute the driver's SQL with its parameters, or with each of a list of them; return a cursor or result."""
    if isinstance(connection, sa.Connection) and has_listeners(engine):
        return connection.exec_driver_sql(text, parameters or None)
    driver = driver_of(connection)
    cursor = driver.cursor()
    errors = engine.dialect.loaded_dbapi.Error
    try:
        if isinstance(parameters, list):
            cursor.executemany(text, parameters, **options)
        else:
            cursor.execute(text, parameters)
    except errors as error:
        # As SQLAlchemy does it: if the connection is broken, so are the engine's other idle connections.
        is_gone = engine.dialect.is_disconnect(error, driver, cursor)
        if is_gone:
            # The pool is not disposed of: connections that other threads use could not be returned to it, and would
            # stay open.
            engine.pool._invalidate(_pooled(connection), error)  # noqa: SLF001 - as SQLAlchemy's own connections do
            if isinstance(connection, sa.Connection):
                connection.invalidate(error)
        raise of_sqlalchemy(error, engine, text, is_gone=is_gone) from error
    return cursor


def of_sqlalchemy(
    error: Exception, engine: sa.Engine, text: str | None = None, *, is_gone: bool = False
) -> Exception:
    """Return a driver's error as the error that SQLAlchemy would raise for it, without the statement's values."""
    dialect = engine.dialect
    return DBAPIError.instance(
        text, None, error, dialect.loaded_dbapi.Error,
        hide_parameters=True, connection_invalidated=is_gone, dialect=dialect,
    )  # fmt: skip


def driver_of(connection: AnyConnection) -> Any:  # noqa: ANN401 - sqlite3's or psycopg's
    """Return the driver's own connection."""
    return _pooled(connection).driver_connection


def _pooled(connection: AnyConnection) -> sa.PoolProxiedConnection:
    if isinstance(connection, sa.Connection):
        return connection.connection
    return connection


def has_listeners(engine: sa.Engine) -> bool:
    """Return whether an engine has listeners for its statements."""
    listeners = engine.dispatch
    return bool(listeners.before_cursor_execute or listeners.after_cursor_execute)
