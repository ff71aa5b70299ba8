"""Run one SELECT over the rows of texts, in an in-memory SQLite database that can reach nothing else.

Before it runs, the statement is checked: by `ungrouped_columns`, `texts_used_as_numbers` and `checked_casts`, for what
SQLite would compute wrongly without an error.
"""

from __future__ import annotations

import re
import resource
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Self

from memory_context.exceptions import InvalidQueryError
from memory_context.text.json_documents import to_json
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.query.number_notations_and_missing_values import (
    NO_VALUE,
    SAMPLED,
    Notation,
    has_commas,
    is_filled,
    notation_of,
    notations_of,
)
from memory_context.text.read.read_time_limit import TimeLimit, too_slow
from memory_context.text.rows.text_table import Row, TextTable
from memory_context.text.rows.values_as_rows import with_members
from memory_context.text.shortened_name_list import LONGEST_COLUMN, listed

LARGEST_INTEGER = 2**63
LONGEST_UTF8 = 4
# SQLite asks whether to stop whenever it has run this many steps of its virtual machine.
STEPS = 100
LONGEST_PART = 100
LONGEST_PATTERN = 200
DEEPEST = 100
MOST_TABLES = 50
LONGEST_STATEMENT = 10_000
# How much longer than the longest cell a computed value may be, in bytes.
LEAST_LENGTH = 1_000_000
MOST_MEMORY = 2**30
MOST_ROWS = 100_000
MOST_BYTES = 20_000_000
LONGEST_EXAMPLE = 30
# Each of them reads only its arguments, and takes at most linear time in one call.
_ALLOWED_FUNCTIONS = """
-> ->> abs acos asin atan atan2 avg ceil ceiling char coalesce concat concat_ws cos count cume_dist date datetime
degrees dense_rank exp first_value floor format glob group_concat hex ifnull iif instr json json_array json_array_length
json_each json_extract json_group_array json_group_object json_object json_patch json_quote json_remove json_replace
json_set json_tree json_type json_valid julianday lag last_value lead length like ln log log10 log2 lower ltrim max min
mod nth_value ntile nullif number_to_cast percent_rank pi pow power printf quote radians random rank replace round
row_number rtrim sign sin sqrt strftime string_agg substr substring sum tan time timediff total trim trunc typeof
unicode unixepoch upper
"""
_FUNCTIONS = frozenset(_ALLOWED_FUNCTIONS.split())
_TABLES_OF_JSON = frozenset({"json_each", "json_tree"})
_OWN_TABLES = ("dbstat", "pragma_", "sqlite_")
_ABSENT = ", ".join(f"'{text}'" for text in NO_VALUE)
_IS_ABSENT = f"lower(trim({{name}})) IN ({_ABSENT})"
# Finds a cell with decimals. A column that has one is REAL, so that its 9 is divided with decimals, as its 12.50 is.
_HAS_DECIMALS = (
    "typeof({name}) = 'real' OR (typeof({name}) = 'text' AND {name} GLOB '*[{decimal}eE]*')"
)
_SELECT = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE | re.DOTALL
)
_MISSING = re.compile(r"no such table: (.+)", re.DOTALL)
_NO_COLUMN = re.compile(r"no such column: (.+)", re.DOTALL)
# A name in double quotes; or a string, another kind of name or a comment, in which double quotes mean nothing.
_IN_QUOTES = re.compile(
    r"""'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|"(?P<name>(?:[^"]|"")*)\"""",
    re.DOTALL,
)
_PART = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^\W\d]\w*')
_NAME = rf"(?:{_PART.pattern})"
# Names with dots between them, but not of a function; or what `_IN_QUOTES` passes over.
_DOTTED = re.compile(
    rf"""(?<![\w."])(?P<dotted>{_NAME}(?:\.{_NAME})*)(?![\w."(])|{_IN_QUOTES.pattern}""", re.DOTALL
)
# SQLite reads a schema, a table and a column; a longer name is a syntax error.
LONGEST_PATH = 3


@dataclass(frozen=True, slots=True)
class Selected:
    """The result of a SELECT: rows, and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[Row]


class LockedDatabase:
    """Runs a SELECT over tables, which it loads when a statement names them.

    A column whose cells all write numbers in one notation, such as ``$1,200``, is loaded as numbers; cells like ``n/a``
    in it become NULL. Ids keep their leading zeros.

    Args:
        table_named: Returns the table of a name; None if there is none.
        limit: How long loading and selecting may take together.

    Attributes:
        tables: The tables that statements have named so far, by the names used there.
    """

    def __init__(self, table_named: Callable[[str], TextTable | None], limit: TimeLimit) -> None:
        self._table_named = table_named
        self._limit = limit
        self.tables = dict[str, TextTable]()
        self._notations = dict[str, dict[str, Notation]]()
        self._longest_cell = 0
        self._refusal: InvalidQueryError | None = None
        self._memory_before = _memory_used()
        self._database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        # Sorting and grouping stay in memory too, so that nobody's rows are left in a temporary file.
        self._database.execute("PRAGMA temp_store = MEMORY")
        for table in _TABLES_OF_JSON:
            # SQLite creates these tables at their first use, and a query is not allowed to.
            self._database.execute(f"SELECT 1 FROM {table}('[]')").close()  # noqa: S608 - a constant
        for name, arguments, function in _OWN_FUNCTIONS:
            keeping = partial(self._keeping_refusal, function)
            self._database.create_function(name, arguments, keeping, deterministic=True)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, DEEPEST)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)

    def __enter__(self) -> Self:
        """Return this database, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop all tables."""
        self._database.close()

    def select(self, sql: str, *, bounded: bool = True) -> Selected:
        """Run a SELECT.

        Args:
            sql: One statement that begins with SELECT, WITH or VALUES.
            bounded: Whether more than 100,000 rows or 20 MB are an error.

        Raises:
            InvalidQueryError: The statement is refused, or SQLite reports an error; the message names the columns that
                exist.
            SelectionTimeoutError: It took too long, or too much memory.
        """
        # Imported here, because they load sqlglot: a tenth of the time of a command that runs no query.
        from sqlglot import exp  # noqa: PLC0415

        from memory_context.text.query import checked_casts  # noqa: PLC0415
        from memory_context.text.query.texts_used_as_numbers import check_numbers  # noqa: PLC0415
        from memory_context.text.query.ungrouped_columns import checked_statement  # noqa: PLC0415

        try:
            _check_statement(sql)
            sql = self._find_tables_of(sql)
            statement = checked_statement(sql, self.tables)
            for name in self.tables.keys() - self._notations.keys():
                self._fill(name)
            # In "x IN orders", sqlglot takes the table for a column.
            after_in = (one.args.get("field") for one in statement.find_all(exp.In))
            named = chain(statement.find_all(exp.Table), filter(None, after_in))
            self._check_capitals(table.name for table in named)
            check_numbers(statement, self)
            casts = checked_casts.CheckedCasts(sql)
            number = partial(self._keeping_refusal, casts.number)
            self._database.create_function(checked_casts.FUNCTION, 2, number)
            selected = self._selected(casts.sql, bounded=bounded)
            return Selected(tuple(map(checked_casts.as_written, selected.columns)), selected.rows)
        except RecursionError as error:
            raise InvalidQueryError("this statement nests too many queries") from error
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeEncodeError) as error:
            if "interrupted" in str(error):
                raise too_slow(self._limit.seconds) from error
            if "user-defined function" in str(error) and self._refusal:
                raise self._refusal from error
            message = str(error).removesuffix(".")  # like all messages of this library
            raise InvalidQueryError(self._error_message(message, sql)) from error

    def _find_tables_of(self, sql: str) -> str:
        """Create the tables that a statement names, still empty; return the statement with members of JSON in quotes.

        Names in double quotes are tried in backticks: SQLite takes "x" for a string if there is no such column, but
        `x` is an error.

        Raises:
            OperationalError: The statement names a column that does not exist, or has another error.
        """
        tables_with_members = 0
        while True:
            named = _IN_QUOTES.sub(_in_backticks, sql)
            try:
                with self._locked():
                    self._database.execute(f"EXPLAIN {named}").close()
            except sqlite3.OperationalError as error:
                if missing := _MISSING.fullmatch(str(error)):
                    self._create(missing[1])
                    continue
                in_quotes = _DOTTED.sub(_in_quotes, sql)
                if "syntax error" in str(error) and in_quotes != sql:
                    sql = in_quotes
                    continue
                if not _NO_COLUMN.fullmatch(str(error)) or tables_with_members == len(self.tables):
                    raise
                tables_with_members = len(self.tables)
                sql = self._with_members(sql)
            else:
                return sql

    def _with_members(self, sql: str) -> str:
        """Return a statement with names such as ``user.login`` in quotes, as the columns that its tables now have for them.

        Those are the tables whose objects in ``user`` have ``login``. If a source of the statement is called ``user``,
        what follows is a name in this source: ``p.user.login`` is ``user.login`` in ``p``.
        """
        from memory_context.text.query.ungrouped_columns import names_of_sources  # noqa: PLC0415 - loads sqlglot

        sources = names_of_sources(sql)
        meant = dict[str, list[str]]()
        for match in _DOTTED.finditer(sql):
            parts = _parts(match)
            after = 1 if len(parts) > 1 and parts[0].lower() in sources else 0
            meant[match["dotted"]] = [*parts[:after], ".".join(parts[after:])]
        members = [name[-1] for name in meant.values() if "." in name[-1]]
        columns = set[str]()
        for key, table in list(self.tables.items()):
            more = with_members(table, members)
            if more is not table:
                self._database.execute(f"DROP TABLE {quoted_name(key)}")
                self._define(key, more)
            columns.update(more.columns)
        columns.intersection_update(members)

        def quoted(match: re.Match[str]) -> str:
            """Return the column for a member in quotes; any other match unchanged."""
            name = meant[match["dotted"]]
            return _joined(name) if name[-1] in columns else match[0]

        return _DOTTED.sub(quoted, sql)

    def _create(self, name: str) -> None:
        """Create the table *name*, still empty.

        Raises:
            InvalidQueryError: There is no such table, or there are too many.
        """
        if name in self.tables:
            raise InvalidQueryError(f'write the table {name} in double quotes: "{name}"')
        if len(self.tables) == MOST_TABLES:
            raise InvalidQueryError(f"a statement reads {MOST_TABLES} tables at most")
        table = self._table_named(name)
        if table is None:
            raise InvalidQueryError(f"no such table: {name}")
        self._define(name, table)

    def _define(self, name: str, table: TextTable) -> None:
        """Create a table, to be filled before the statement runs."""
        self.tables[name] = table
        self._notations.pop(name, None)
        self._database.execute(_definition(name, table, {}))

    def _check_capitals(self, names: Iterable[str]) -> None:
        """Refuse two names that differ only in capitals: SQLite would read one table for both."""
        loaded = {name.lower(): name for name in self.tables}
        for name in names:
            other = loaded.get(name.lower(), name)
            if other != name:
                raise InvalidQueryError(
                    f"{name} and {other} would be one table here: capitals matter in keys"
                )

    def _fill(self, name: str) -> None:
        """Load the rows of a table."""
        table = self.tables[name]
        quoted = quoted_name(name)
        marks = ", ".join("?" * len(table.columns))
        insert = f"INSERT INTO {quoted} VALUES ({marks})"  # noqa: S608 - a quoted name
        self._database.execute("BEGIN")
        try:
            self._database.executemany(insert, self._rows_within_limit(table))
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            # Only a table that SQLite refuses is converted cell by cell. Nearly all are plain text, for which that
            # would double the time of loading.
            self._database.execute(f"DELETE FROM {quoted}")  # noqa: S608
            rows = self._rows_within_limit(table)
            self._database.executemany(insert, (tuple(map(_stored, row)) for row in rows))
        self._notations[name] = self._found_notations(name)
        self._make_numeric(name)
        self._note_longest(name)
        self._database.execute("COMMIT")

    def _found_notations(self, name: str) -> dict[str, Notation]:
        """Return the notation of each column in which every cell that holds a value is a number."""
        table = self.tables[name]
        sample = list(islice(table.rows(), SAMPLED))
        sampled = notations_of(table, sample)
        has_doubts = has_commas(table, sampled)
        found = dict[str, Notation]()
        for index, (column, notation) in enumerate(zip(table.columns, sampled, strict=True)):
            is_filled_here = any(is_filled(cell_text(row[index])) for row in sample)
            if is_filled_here and notation is None:
                continue  # it holds texts
            checked = self._notation_of_all(name, index, notation)
            if checked and not (checked.is_doubtful and has_doubts):
                found[column] = checked
        return found

    def _notation_of_all(self, name: str, index: int, sampled: Notation | None) -> Notation | None:
        """Return the notation of all cells of a column; None for a column of texts.

        If it is not plain, make a SQL function ``numeral_<index>`` that converts the cells.
        """
        column = self.tables[name].columns[index]
        is_there = f"{quoted_name(column)} IS NOT NULL"
        cells = set(self._cells(name, column, is_there))
        texts = {cell for cell in cells if isinstance(cell, str)}
        if not any(map(is_filled, texts)):
            return sampled
        notation = notation_of(texts)
        if notation is None or notation.is_plain:
            return notation
        if len(texts) < len(cells):
            return None
        numerals = notation.numerals(texts)
        self._database.create_function(f"numeral_{index}", 1, numerals.get)
        return notation

    def _cells(self, name: str, column: str, condition: str) -> list[Any]:
        """Return the cells of a column in the rows that meet the *condition*, which may end with a LIMIT."""
        self._limit.remaining()
        found = self._database.execute(
            f"SELECT {quoted_name(column)} FROM {quoted_name(name)} WHERE {condition}"  # noqa: S608
        )
        return [cell for (cell,) in found]

    def notation(self, table: str, column: str) -> Notation | None:
        """Return the notation of the numbers in a column; None for a column of texts."""
        return self._notations[table].get(column)

    def given(self, expression: str, table: str) -> tuple[bool, list[str]]:
        """Evaluate an expression over all rows of a table; return whether some values are numbers, and the texts.

        If it cannot be evaluated, return ``(False, [])``. *table* is empty for an expression without columns, which is
        evaluated once.
        """
        rows = f"FROM {quoted_name(table)}" if table else ""
        # All numbers become 0, so that DISTINCT leaves one of them.
        given = f"FROM (SELECT {expression} AS value {rows}) WHERE typeof(value) IN ('text', 'integer', 'real')"
        values = f"SELECT DISTINCT iif(typeof(value) = 'text', value, 0) {given}"
        try:
            with self._locked():
                cells = [cell for (cell,) in self._database.execute(values)]
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise
            return False, []
        texts = [cell for cell in cells if isinstance(cell, str)]
        return 0 in cells, texts

    def _make_numeric(self, name: str) -> None:
        """Replace a table by one whose columns of numbers have a numeric affinity, and NULL for cells without a value."""
        table = self.tables[name]
        quoted = quoted_name(name)
        values = list[str]()
        affinities = dict[str, str]()
        for index, column in enumerate(table.columns):
            value = quoted_name(column)
            notation = self.notation(name, column)
            if notation:
                affinities[column] = self._affinity(name, column)
            if notation and not notation.is_plain:
                value = f"numeral_{index}({value})"
            elif notation or self._begin_with_digits(name, column):
                is_absent = _IS_ABSENT.format(name=value)
                value = f"CASE WHEN {is_absent} THEN NULL ELSE {value} END"
            values.append(value)
        if values == list(map(quoted_name, table.columns)):
            return
        old = quoted_name(f"{name}\n")  # no table has such a name
        self._database.execute(f"ALTER TABLE {quoted} RENAME TO {old}")
        self._database.execute(_definition(name, table, affinities))
        self._database.execute(
            f"INSERT INTO {quoted} SELECT {', '.join(values)} FROM {old} ORDER BY rowid"  # noqa: S608
        )
        self._database.execute(f"DROP TABLE {old}")

    def _begin_with_digits(self, name: str, column: str) -> bool:
        """Return whether the cells that hold a value begin with digits, as dates do; ``n/a`` would be the largest of them."""
        quoted = quoted_name(column)
        begins = f"{quoted} GLOB '[0-9]*'"
        is_absent = _IS_ABSENT.format(name=quoted)
        is_other = f"typeof({quoted}) = 'text' AND NOT {begins} AND NOT ({is_absent})"
        if self._cells(name, column, f"{is_other} LIMIT 1"):
            return False
        return bool(self._cells(name, column, f"{begins} LIMIT 1"))

    def _affinity(self, name: str, column: str) -> str:
        """Return SQLite's affinity for a column of numbers: REAL if it has a unit or any decimals, otherwise NUMERIC."""
        notation = self._notations[name][column]
        if notation.of_truths:
            return "NUMERIC"
        if notation.unit:
            return "REAL"
        condition = _HAS_DECIMALS.format(name=quoted_name(column), decimal=notation.decimal)
        if self._cells(name, column, f"{condition} LIMIT 1"):
            return "REAL"
        return "NUMERIC"

    def _note_longest(self, name: str) -> None:
        """Record the length of the longest cell, which limits how long a computed value may be."""
        columns = map(quoted_name, self.tables[name].columns)
        longest = ", ".join(f"max(length({column}))" for column in columns)
        [lengths] = self._database.execute(f"SELECT {longest} FROM {quoted_name(name)}")  # noqa: S608
        for length in filter(None, lengths):
            self._longest_cell = max(self._longest_cell, LONGEST_UTF8 * length)

    def _rows_within_limit(self, table: TextTable) -> Iterator[Row]:
        """Yield the rows until the time limit, which is checked once per thousand rows: a check costs as much as a row."""
        rows = table.rows()
        while portion := list(islice(rows, SAMPLED)):
            self._limit.remaining()
            yield from portion

    def _selected(self, sql: str, *, bounded: bool) -> Selected:
        rows = list[Row]()
        size = 0
        with self._locked():
            cursor = self._database.execute(sql)
            names = tuple(description[0] for description in cursor.description)
            for row in cursor:
                rows.append(list(map(_shown, row)))
                size += sum(len(cell) for cell in row if isinstance(cell, str))
                is_too_large = len(rows) > MOST_ROWS or size > MOST_BYTES
                if bounded and is_too_large:
                    raise InvalidQueryError(
                        f"the answer has more than {MOST_ROWS:,} rows or {MOST_BYTES // 1_000_000} MB: "
                        "aggregate, or add LIMIT"
                    )
        return Selected(names, rows)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """In the block, allow only SELECTs over the tables and the listed functions, and limit time and length."""
        self._refusal = None  # an earlier statement's
        longest = self._longest_cell + LEAST_LENGTH
        usual = self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        self._database.set_authorizer(self._allow)
        self._database.set_progress_handler(self._must_stop, STEPS)
        try:
            yield
        finally:
            self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, usual)
            self._database.set_authorizer(None)
            self._database.set_progress_handler(None, STEPS)

    def _must_stop(self) -> bool:
        more = _memory_used() - self._memory_before
        return self._limit.is_over or more > MOST_MEMORY

    def _allow(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Tell SQLite whether a statement may do *action* (https://sqlite.org/c3ref/c_alter_table.html)."""
        allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_READ and second:
            allowed = first in self.tables or first in _TABLES_OF_JSON
        elif action == sqlite3.SQLITE_READ:
            # No column is read: only the rows of a table or a WITH clause are counted. The name may be of either, so
            # only SQLite's own tables are refused.
            allowed = not str(first).lower().startswith(_OWN_TABLES)
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = str(second).lower() in _FUNCTIONS
        if allowed:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _keeping_refusal(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - what SQLite takes
        """Call one of our functions, and keep its refusal, which SQLite does not pass on; return NULL if it is given one."""
        if None in arguments:
            return None
        try:
            return function(*arguments)
        except InvalidQueryError as error:
            self._refusal = error
            raise

    def _error_message(self, problem: str, sql: str) -> str:
        """Return an error message with the problem, and the columns of the tables that were named."""
        if column := _NO_COLUMN.fullmatch(problem):
            problem += self._meaning_of(column[1], sql)
        if problem.endswith("syntax error"):
            problem += '; a name such as "order id" or "group" needs double quotes'
            if "[" in sql:
                problem += """; in JSON, write "column" ->> '$.list[0].name'"""
        if "not authorized" in problem or "prohibited" in problem:
            problem = "a query can use only the rows of memories and SQL's plain functions"
        parts = [problem]
        for name, table in self.tables.items():
            parts.append(f"{name} has the columns {columns_with_examples(table)}")
        return "; ".join(parts)

    def _meaning_of(self, name: str, sql: str) -> str:
        """Return what a name that is no column may mean: a text, or a member of the JSON in a table's first row."""
        if quoted_name(name) in sql:
            return f" (a text is written in single quotes: '{name}')"
        member = name.rpartition(".")[2]
        for table in self.tables.values():
            for column, cell in zip(table.columns, next(table.rows(), ()), strict=False):
                if is_object(cell) and member in cell:
                    return f" (in JSON it is {quoted_name(column)} ->> '$.{member}')"
                if is_list(cell) and any(is_object(item) and member in item for item in cell):
                    return (
                        f" (in JSON it is value ->> '$.{member}' of each, "
                        f"after FROM …, json_each({quoted_name(column)}))"
                    )
        return ""


def columns_with_examples(table: TextTable) -> str:
    """Return the names of a table's columns, each with its cell in the first row as an example."""
    no_row: Row = [None] * len(table.columns)
    row = next(table.rows(), no_row)
    examples = list[str]()
    for name, cell in zip(table.columns, row, strict=True):
        example = cell_text(cell)[:LONGEST_EXAMPLE]
        examples.append(f"{name} ({example})")
    return listed(examples, LONGEST_COLUMN)


def cell_text(cell: object) -> str:
    """Return a cell as CSV writes it: a text as it is, nothing for None, other values as JSON."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    return to_json(cell)


def _check_statement(sql: str) -> None:
    if len(sql) > LONGEST_STATEMENT:
        raise InvalidQueryError(
            f"a statement has {LONGEST_STATEMENT:,} characters at most, not {len(sql):,}"
        )
    if "\0" in sql or not _SELECT.match(sql):
        raise InvalidQueryError("a query is one SELECT; begin with SELECT or WITH")


def _definition(name: str, table: TextTable, affinities: Mapping[str, str]) -> str:
    columns = [f"{quoted_name(column)} {affinities.get(column, '')}" for column in table.columns]
    return f"CREATE TABLE {quoted_name(name)} ({', '.join(columns)})"


def quoted_name(name: str) -> str:
    """Return a name in double quotes, as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _in_quotes(match: re.Match[str]) -> str:
    """Return ``order.id``, of which ``order`` is a word of SQL, as ``"order"."id"``; a name without a dot unchanged.

    Of a name that is too long for SQLite, the path becomes one: ``"t"."user.address.city"``.
    """
    first, *path = _parts(match)
    if len(path) >= LONGEST_PATH:
        path = [".".join(path)]
    if not path:
        return match[0]
    return _joined([first, *path])


def _parts(match: re.Match[str]) -> list[str]:
    """Return the parts of a name without their quotes; an empty one for any other match."""
    parts = _PART.findall(match["dotted"] or '""')
    return [part if part[0].isidentifier() else part[1:-1].replace('""', '"') for part in parts]


def _joined(parts: Iterable[str]) -> str:
    return ".".join(map(quoted_name, parts))


def _in_backticks(match: re.Match[str]) -> str:
    """Return a double-quoted name in backticks; any other match unchanged."""
    name = match["name"]
    if name is None:
        return match[0]
    unquoted = name.replace('""', '"')
    return "`" + unquoted.replace("`", "``") + "`"


def _stored(cell: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return `cell` as the database can hold it: without lone surrogates; large integers and nested values as text."""
    if cell is None or isinstance(cell, float):
        return cell
    if isinstance(cell, int) and -LARGEST_INTEGER <= cell < LARGEST_INTEGER:
        return cell
    return cell_text(cell).encode("utf-8", "replace").decode()


def _shown(cell: Any) -> Any:  # noqa: ANN401 - whatever the database gives
    """Return a cell of an answer; as text, if it is bytes, which only an expression can have made."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return cell


def _memory_used() -> int:
    """Return the peak memory of this process so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform == "darwin":
        return most
    return most * 1024


# SQLite checks the time limit between the steps of a statement, never inside a function. Its own versions of the
# following functions take time proportional to the product of their arguments' lengths, so they are replaced.


def _instr(text: object, part: object) -> int:
    return str(text).find(str(part)) + 1


def _replace(text: object, old: object, new: object) -> str:
    if old == "":
        return str(text)
    return str(text).replace(_short(old), _short(new))


def _stripped(strip: Callable[[str, str], str], text: object, characters: object) -> str:
    return strip(str(text), _short(characters))


def _short(value: object) -> str:
    text = str(value)
    if len(text) > LONGEST_PART:
        raise InvalidQueryError(f"a text of {LONGEST_PART} characters at most is needed here")
    return text


_OWN_FUNCTIONS = (
    ("instr", 2, _instr),
    ("replace", 3, _replace),
    ("trim", 2, partial(_stripped, str.strip)),
    ("ltrim", 2, partial(_stripped, str.lstrip)),
    ("rtrim", 2, partial(_stripped, str.rstrip)),
)
