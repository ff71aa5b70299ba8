"""Statements that run often: compiled once for each engine, and executed by its driver.

SQLAlchemy takes 30 to 70 microseconds around a statement that SQLite answers in 8, and a put has nine of them
(``benchmarks/langgraph_store.py``). Where somebody listens to an engine's statements, as tracing does, SQLAlchemy executes
them all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

Values: TypeAlias = Mapping[str, Any]
AnyConnection: TypeAlias = sa.Connection | sa.PoolProxiedConnection
_Processor: TypeAlias = Callable[[Any], Any]
# The option of a connection that says whether somebody listens: to ask each time would take as long as a small statement.
HEARD = "memory_context_heard"


@dataclass(slots=True)
class _Compiled:
    """A statement as a driver takes it.

    Attributes:
        text: The SQL.
        constants: The values that stand in the statement itself, as the driver takes them.
        processors: What other values are converted by, by name; those that go in as they are have none.
        order: The names in the order of their places; None where the driver takes them by name.
        types: Those of the columns that come out.
        results: What is converted of a row, by its place; None as long as the driver has not told its own types.
    """

    text: str
    constants: Values
    processors: Mapping[str, _Processor]
    order: Sequence[str] | None
    types: Sequence[sa.types.TypeEngine[Any]]
    results: Sequence[tuple[int, _Processor]] | None = None

    def parameters(self, values: Values) -> Any:  # noqa: ANN401 - a tuple or a dict, as the driver wants it
        bound = {**self.constants, **values}
        for name, processor in self.processors.items():
            bound[name] = processor(bound[name])
        return bound if self.order is None else tuple([bound[name] for name in self.order])

    def decoded(self, cursor: Any, dialect: sa.Dialect) -> list[list[Any]]:  # noqa: ANN401 - a driver's or SQLAlchemy's
        if self.results is None:
            found: list[tuple[int, _Processor]] = []
            description = getattr(cursor, "cursor", cursor).description
            for place, (kind, told) in enumerate(zip(self.types, description, strict=True)):
                convert = kind.dialect_impl(dialect).result_processor(dialect, told[1])
                if convert:
                    found.append((place, convert))
            self.results = found
        rows = list(map(list[Any], cursor.fetchall()))
        for row in rows:
            for place, processor in self.results:
                row[place] = processor(row[place])
        return rows


class Prepared:
    """A statement with named parameters, for connections of any engine.

    Args:
        statement: The statement. It has no IN with a list of values, which SQLAlchemy writes late.
        columns: Of an INSERT, the columns that it is given by name.
    """

    def __init__(self, statement: sa.ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled = WeakKeyDictionary[sa.Dialect, _Compiled]()

    def rows(self, connection: sa.Connection, values: Values) -> list[list[Any]]:
        """Return the rows that come out with *values*."""
        compiled = self._for(connection.dialect)
        cursor = execute(connection, compiled.text, compiled.parameters(values))
        return compiled.decoded(cursor, connection.dialect)

    def rows_on(
        self, pooled: sa.PoolProxiedConnection, engine: sa.Engine, values: Values
    ) -> list[list[Any]]:
        """Return the rows that come out with *values*, on a connection of the engine's pool without a transaction."""
        compiled = self._for(engine.dialect)
        cursor = _driven(pooled, engine, compiled.text, compiled.parameters(values))
        return compiled.decoded(cursor, engine.dialect)

    def run(self, connection: sa.Connection, values: Sequence[Values]) -> None:
        """Execute it with each of *values*."""
        compiled = self._for(connection.dialect)
        parameters = list(map(compiled.parameters, values))
        execute(connection, compiled.text, parameters[0] if len(parameters) == 1 else parameters)

    def counts(self, connection: sa.Connection, values: Sequence[Values]) -> list[int]:
        """Execute it with each of *values*; return how many rows each of them changed."""
        compiled = self._for(connection.dialect)
        parameters = list(map(compiled.parameters, values))
        if len(parameters) < 2 or connection.dialect.name == "sqlite" or _is_heard_on(connection):
            return [execute(connection, compiled.text, one).rowcount for one in parameters]
        # One way to the server and back for all of them.
        cursor = execute(connection, compiled.text, parameters, returning=True)
        counts: list[int] = [cursor.rowcount]
        while cursor.nextset():
            counts.append(cursor.rowcount)
        return counts

    def _for(self, dialect: sa.Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect)
        if compiled is None:
            compiled = _compile(self._statement, dialect, self._columns)
            self._compiled[dialect] = compiled
        return compiled


def _compile(
    statement: sa.ClauseElement, dialect: sa.Dialect, columns: Sequence[str] | None
) -> _Compiled:
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    assert isinstance(compiled, SQLCompiler)  # noqa: S101 - for the type checkers: it is no DDL
    processors: dict[str, _Processor] = {}
    constants: dict[str, Any] = dict(compiled.params)
    for name, bind in compiled.binds.items():
        processor = bind.type.dialect_impl(dialect).bind_processor(dialect)
        if bind.required:
            del constants[name]
            if processor:
                processors[name] = processor
        elif processor:
            constants[name] = processor(constants[name])
    selected = statement.selected_columns if isinstance(statement, sa.Select) else ()
    types = [column.type for column in selected]
    return _Compiled(str(compiled), constants, processors, compiled.positiontup, types)


def execute(connection: sa.Connection, text: str, parameters: Any = (), **options: bool) -> Any:  # noqa: ANN401 - a driver's parameters and cursor
    """Execute SQL as the driver takes it, with parameters, or a list of them; return what has its rows or their number."""
    if _is_heard_on(connection):
        return connection.exec_driver_sql(text, parameters or None)
    return _driven(connection, connection.engine, text, parameters, **options)


def _driven(
    connection: AnyConnection,
    engine: sa.Engine,
    text: str,
    parameters: Any,  # noqa: ANN401 - as the driver takes them
    **options: bool,
) -> Any:  # noqa: ANN401 - a driver's cursor
    driver = driver_of(connection)
    cursor = driver.cursor()
    errors = engine.dialect.loaded_dbapi.Error
    try:
        if isinstance(parameters, list):
            cursor.executemany(text, parameters, **options)
        else:
            cursor.execute(text, parameters)
    except errors as error:
        # As SQLAlchemy does it: other idle connections of the engine are broken as well then.
        is_gone = engine.dialect.is_disconnect(error, driver, cursor)
        if is_gone:
            # Not the whole pool at once: what other threads have would come back to none, and stay open.
            pooled = connection.connection if isinstance(connection, sa.Connection) else connection
            engine.pool._invalidate(pooled, error)  # noqa: SLF001 - as SQLAlchemy's own connections do
            if isinstance(connection, sa.Connection):
                connection.invalidate(error)
        raise of_sqlalchemy(error, engine, text, is_gone=is_gone) from error
    return cursor


def of_sqlalchemy(
    error: Exception, engine: sa.Engine, text: str | None = None, *, is_gone: bool = False
) -> Exception:
    """Return a driver's error as SQLAlchemy raises it, without the values."""
    dialect = engine.dialect
    return DBAPIError.instance(
        text, None, error, dialect.loaded_dbapi.Error,
        hide_parameters=True, connection_invalidated=is_gone, dialect=dialect,
    )  # fmt: skip


def driver_of(connection: AnyConnection) -> Any:  # noqa: ANN401 - sqlite3's or psycopg's
    """Return the driver's own connection."""
    pooled = connection.connection if isinstance(connection, sa.Connection) else connection
    return pooled.driver_connection


def _is_heard_on(connection: sa.Connection) -> bool:
    return bool(connection.get_execution_options().get(HEARD, True))


def is_heard(engine: sa.Engine) -> bool:
    """Return whether somebody listens to the statements of an engine."""
    listeners = engine.dispatch
    return bool(listeners.before_cursor_execute or listeners.after_cursor_execute)
