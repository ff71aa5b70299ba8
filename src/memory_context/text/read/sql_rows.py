"""The rows of a table for which a SQL expression holds, by a temporary SQLite database that holds nothing else."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.model.selection import Cost, Selection
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.text.read.hints import listed
from memory_context.text.read.json_values import to_json
from memory_context.text.read.jsonpath import LIMITS, abridged
from memory_context.text.read.paging import CHARACTERS_TRIED_PER_TOKEN
from memory_context.text.read.tables import Row, TextTable, table_of
from memory_context.text.read.time_limit import TimeLimit, too_slow

SAMPLED = 1000
LONGEST_UTF8 = 4
LEAST_LENGTH = 1_000_000
LARGEST_LENGTH = 1_000_000_000
LARGEST_INTEGER = 2**63
STEPS = 1000
LONGEST_PART = 100
LONGEST_PATTERN = 200
LONGEST_TOLD = 80
DEEPEST = 100
TABLE: Final = "data"
# None of these makes a large text of a small one, or takes longer than linear time, within one call.
_ALLOWED_FUNCTIONS = """
-> ->> abs avg ceil ceiling coalesce count date datetime floor glob group_concat ifnull iif instr json_array_length
json_extract json_type json_valid julianday length like lower ltrim max min nullif replace round rtrim sign strftime
substr substring sum time total trim typeof unicode unixepoch upper
"""
_FUNCTIONS: Final = frozenset(_ALLOWED_FUNCTIONS.split())
# A number as people write one: 007 is an id, and SQLite would lose the last of more than 18 digits.
_NUMBER = re.compile(r"\s*[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d{1,17})?(?:[eE][-+]?\d{1,2})?\s*")
_NO_VALUE: Final = ("", "-", "—", "na", "n/a", "nan", "nil", "none", "null")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]""")
_AGGREGATE = re.compile(r"\b(avg|count|group_concat|max|min|sum|total)\s*\(", re.IGNORECASE)
_FILTER = re.compile(r"\s*filter\s*\(", re.IGNORECASE)
_ROW_NUMBERS: Final = ("rowid", "_rowid_", "oid")
_DEPTHS: Final = {"(": 1, ")": -1}


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows to page through, written as CSV below a line of names.

    Attributes:
        columns: The names.
        rows: Those that may be on the page.
        first: The number of the first of `rows`, from 0.
        total: How many rows were selected.
        of: How many rows the table has.
        name: Where the table was found.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    first: int
    total: int
    of: int
    name: str

    def size(self, index: int) -> int:
        """Return the least number of characters that one of them has."""
        row = self.rows[index - self.first]
        return sum(len(cell) if isinstance(cell, str) else 1 for cell in row) + len(self.columns)

    def part(self, start: int, end: int) -> str:
        """Say which of the rows they are."""
        return prompts.PART_ROWS.format(
            first=start + 1, last=end, total=self.total, of=self.of, name=self.name
        )

    def render(self, start: int, end: int) -> str:
        """Write CSV as RFC 4180 has it, lines ending in a line feed; nested values as JSON, missing ones empty."""
        rows = self.rows[start - self.first : end - self.first]
        return _csv([self.columns, *(map(cell_text, row) for row in rows)])

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """Write the row with its long cells cut."""
        cells = [cell_text(cell) for cell in self.rows[index - self.first]]
        for limit in LIMITS:
            text = _csv([self.columns, [abridged(cell, limit, 1) for cell in cells]])
            if cost(text) <= budget:
                return text
        return ""


def cell_text(cell: object) -> str:
    """Return a cell as CSV has it: text as it is, nothing for None, other values as JSON."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    return to_json(cell)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    lines = list[str]()
    for row in rows:
        written = io.StringIO(newline="")
        # Up to Python 3.12 the writer quotes a carriage return only where it ends lines.
        csv.writer(written, lineterminator="\r\n").writerow(row)
        lines.append(written.getvalue().removesuffix("\r\n"))
    return "\n".join(lines)


def found_rows(text: str, selection: Selection, offset: int, budget: int | None) -> FoundRows:
    """Return the rows of the table in `text` for which ``where`` holds, with the ``columns`` that are asked for.

    Rows from `offset` on come along, as many as a page of `budget` tokens could hold. Cells come back as they stand in
    the text, unless ``columns`` holds expressions. In comparisons columns of numbers are numbers, and what stands for
    no value in them is NULL. Nothing but the table can be reached; the query has 5 seconds.

    Raises:
        InvalidSelectionError: No table, or not an expression or a column of it; names the columns.
        NothingMatchedError: It holds for no row; names the columns.
        SelectionTimeoutError: It took too long.
    """
    table = table_of(text)
    where = "1" if selection.where is None else selection.where
    stop = sys.maxsize
    if budget is not None:
        stop = offset + CHARACTERS_TRIED_PER_TOKEN * max(budget, 1) + 1
    with closing(_database(table, len(text))) as database:
        [(count,)] = database.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608 - a constant
        query = _LockedQuery(database, table, f"FROM {TABLE} WHERE (\n{where}\n)")
        try:
            names, rows, total = query.selected(selection.columns, slice(offset, stop))
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if "interrupted" in str(error):
                raise too_slow() from error
            raise InvalidSelectionError(_refused(selection, error, table)) from error
    if not total:
        message = prompts.NO_ROW.format(
            count=count,
            name=table.name,
            where=to_json((selection.where or "")[:LONGEST_TOLD]),
            columns=_columns_told(table),
        )
        raise NothingMatchedError(message)
    return FoundRows(names, rows, offset, total, count, table.name)


def _database(table: TextTable, length: int) -> sqlite3.Connection:
    """Open a database in memory with the one table, from a text of `length` characters."""
    sample = list(islice(table.rows(), SAMPLED))
    definitions, numeric = list[str](), list[str]()
    for index, column in enumerate(table.columns):
        name = _quoted_name(column)
        if _are_numbers([row[index] for row in sample]):
            numeric.append(name)
            definitions.append(f"{name} NUMERIC")
        else:
            definitions.append(f"{name} TEXT")
    database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    database.execute(f"CREATE TABLE {TABLE} ({', '.join(definitions)})")
    database.execute("BEGIN")
    marks = ", ".join("?" * len(definitions))
    stored = (list(map(_stored, row)) for row in table.rows())
    database.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", stored)  # noqa: S608 - a constant, and marks
    absent = ", ".join(f"'{text}'" for text in _NO_VALUE)
    for name in numeric:
        database.execute(
            f"UPDATE {TABLE} SET {name} = NULL WHERE lower(trim({name})) IN ({absent})"  # noqa: S608 - a quoted name
        )
    database.execute("COMMIT")
    # Every cell must fit, and nothing become much longer than all of them together. SQLite counts bytes.
    longest = min(LONGEST_UTF8 * length + LEAST_LENGTH, LARGEST_LENGTH)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    return database


def _are_numbers(cells: list[Any]) -> bool:
    """Return whether some cells of a column are numbers, or all that hold a value are texts of numbers."""
    if any(isinstance(cell, int | float) for cell in cells):
        return True
    texts = [cell for cell in cells if isinstance(cell, str)]
    texts = [text for text in texts if text.strip().lower() not in _NO_VALUE]
    for text in texts:
        if not _NUMBER.fullmatch(text) or not any(map(str.isdigit, text)):
            return False
    return bool(texts)


def _stored(cell: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return `cell` as the database holds it: without lone surrogates, large integers and nested values as text."""
    if cell is None or isinstance(cell, float):
        return cell
    if isinstance(cell, int) and -LARGEST_INTEGER <= cell < LARGEST_INTEGER:
        return cell
    return cell_text(cell).encode("utf-8", "replace").decode()


# SQLite looks at the clock between steps of a statement, never inside a function. Its own versions of these take as
# long as both arguments' lengths multiplied.


def _instr(text: object, part: object) -> int | None:
    if text is None or part is None:
        return None
    return str(text).find(str(part)) + 1


def _replace(text: object, old: object, new: object) -> str | None:
    if text is None or old is None or new is None:
        return None
    if old == "":
        return str(text)
    return str(text).replace(_short(old), _short(new))


def _refuse_characters(_text: object, _characters: object) -> None:
    message = "trim() takes one text here"
    raise ValueError(message)


def _short(value: object) -> str:
    text = str(value)
    if len(text) > LONGEST_PART:
        message = f"a text of {LONGEST_PART} characters at most is needed here"
        raise ValueError(message)
    return text


_OWN_FUNCTIONS: Final = (
    ("instr", 2, _instr),
    ("replace", 3, _replace),
    ("trim", 2, _refuse_characters),
    ("ltrim", 2, _refuse_characters),
    ("rtrim", 2, _refuse_characters),
)


class _LockedQuery:
    """Selects from the one table; nothing else is in reach, nor functions that reach further or take long in one call.

    What is no expression, as a second statement or an open bracket, SQLite refuses by itself.
    """

    def __init__(self, database: sqlite3.Connection, table: TextTable, condition: str) -> None:
        self._database, self._table, self._condition = database, table, condition
        self._select_count = 0
        self._columns_read = set[str]()
        time_limit = TimeLimit()
        for name, arguments, function in _OWN_FUNCTIONS:
            database.create_function(name, arguments, function, deterministic=True)
        database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)
        database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, DEEPEST)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.set_authorizer(self._allow)
        database.set_progress_handler(lambda: time_limit.is_over, STEPS)

    def _allow(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        allowed = False
        if action == sqlite3.SQLITE_SELECT:
            self._select_count += 1
            allowed = self._select_count == 1  # no subquery, which could multiply the work
        elif action == sqlite3.SQLITE_READ:
            allowed = first == TABLE
            self._columns_read.add(second or "")
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = str(second).lower() in _FUNCTIONS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _execute(self, statement: str) -> sqlite3.Cursor:
        self._select_count = 0
        self._columns_read.clear()
        return self._database.execute(statement)

    def selected(
        self, columns: str | None, window: slice
    ) -> tuple[tuple[str, ...], list[Row], int]:
        """Return the names, the rows in `window`, and how many rows there are.

        Raises:
            ValueError: A column stands beside an aggregate.
            sqlite3.Error: SQLite refuses the query.
        """
        indexes = _column_indexes(self._table, columns)
        taken = {column.lower() for column in self._table.columns}
        row_number = next((name for name in _ROW_NUMBERS if name not in taken), None)
        if indexes and row_number is not None:
            # Cells are given as they stand in the text, where the database has numbers and NULL.
            found = self._execute(f"SELECT {row_number} {self._condition}")
            numbers = [number for (number,) in found]
            wanted = set(numbers[window])
            rows = list[Row]()
            for number, row in enumerate(self._table.rows(), 1):
                if number in wanted:
                    rows.append([row[index] for index in indexes])
            return tuple(self._table.columns[index] for index in indexes), rows, len(numbers)
        if indexes:
            columns = ", ".join(_quoted_name(self._table.columns[index]) for index in indexes)
        else:
            self._refuse_column_beside_aggregate(columns or "")
        cursor = self._execute(f"SELECT {columns}\n{self._condition}")
        names = tuple(description[0] for description in cursor.description)
        rows, total = list[Row](), 0
        for total, row in enumerate(cursor, 1):
            if window.start < total <= window.stop:
                rows.append(list(row))
        return names, rows, total

    def _refuse_column_beside_aggregate(self, columns: str) -> None:
        """Raise for ``city, sum(total)``: SQLite would give the one total with the city of any row.

        Raises:
            ValueError: A column stands beside an aggregate; says what can be asked instead.
        """
        rest, aggregate = _without_aggregates(columns)
        if not aggregate:
            return
        try:
            self._execute(f"EXPLAIN SELECT {rest}\n{self._condition.partition('WHERE')[0]}")
        except sqlite3.Error:
            return  # the query itself tells what is wrong with it
        beside = ", ".join(sorted(filter(None, self._columns_read)))
        if beside:
            message = (
                f"{aggregate} gives one value for all rows, and {beside} has one in each; for one group take "
                f"where= with columns={to_json(aggregate)}, for the rows themselves leave {aggregate} out"
            )
            raise ValueError(message)


def _without_aggregates(columns: str) -> tuple[str, str]:
    """Return `columns` with 1 in place of each aggregate, and the first of these; nothing if there is none."""
    # Of the same length, so that what is found in one stands at the same place in the other.
    bare = _QUOTED.sub(lambda quoted: "'" * len(quoted[0]), columns)
    rest, first, copied, start = "", "", 0, 0
    while call := _AGGREGATE.search(bare, start):
        end, has_commas = _rest_of_call(bare, call.end())
        # With several arguments max and min compare the cells of one row.
        if has_commas and call[1].lower() in ("max", "min"):
            start = call.end()
            continue
        first = first or columns[call.start() : end]
        condition = _FILTER.match(bare, end)
        if condition:
            end, _ = _rest_of_call(bare, condition.end())
        rest += columns[copied : call.start()] + "1"
        copied = start = end
    return rest + columns[copied:], first


def _rest_of_call(text: str, start: int) -> tuple[int, bool]:
    """Return where the call ends whose bracket opens before `start`, and whether it has several arguments."""
    depth, has_commas = 1, False
    while depth and start < len(text):
        character = text[start]
        if character == "," and depth == 1:
            has_commas = True
        depth += _DEPTHS.get(character, 0)
        start += 1
    return start, has_commas


def _column_indexes(table: TextTable, columns: str | None) -> list[int]:
    """Return which of the table's columns are asked for; nothing if `columns` holds other expressions too."""
    if columns is None:
        return list(range(len(table.columns)))
    indexes = {name.lower(): index for index, name in enumerate(table.columns)}
    wanted = list[int]()
    for part in columns.split(","):
        name = part.strip().lower()
        if name == "*":
            wanted += indexes.values()
            continue
        if name not in indexes and _QUOTED.fullmatch(name):
            name = name[1:-1]
        if name not in indexes:
            return []
        wanted.append(indexes[name])
    return wanted


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refused(selection: Selection, error: Exception, table: TextTable) -> str:
    given = list[str]()
    for name, value in (("where", selection.where), ("columns", selection.columns)):
        if value:
            given.append(f"{name}={to_json(value[:LONGEST_TOLD])}")
    problem = str(error)
    if "not authorized" in problem or "prohibited" in problem:
        problem = "only the columns of the table and SQL's plain functions can be used"
    return f"{', '.join(given)} cannot be used: {problem}; {_columns_told(table)}"


def _columns_told(table: TextTable) -> str:
    """Name the columns, with an example of what stands in each."""
    row = next(table.rows(), [None] * len(table.columns))
    named = list[str]()
    for name, cell in zip(table.columns, row, strict=True):
        named.append(f"{name} ({cell_text(cell)[:30]})")
    return prompts.COLUMNS.format(columns=listed(named))
