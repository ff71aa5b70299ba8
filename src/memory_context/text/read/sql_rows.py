"""The rows of a table for which a SQL expression holds, by a temporary SQLite database that holds nothing else."""

from __future__ import annotations

import re
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.model.selection import Cost, Selection
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.text.read.hints import listed
from memory_context.text.read.json_values import to_json
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
# What matters for where an expression ends: whole quotations, as SQLite takes them; beginnings of comments; brackets,
# commas and semicolons; and last a quotation mark whose quotation does not end.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--|/\*|[(),;'"`\[]"""
)
_FORBIDDEN_TOKENS: Final = ("--", "/*", ";", "'", '"', "`", "[")
_ROW_NUMBERS: Final = ("rowid", "_rowid_", "oid")
_QUOTED_NAME = re.compile(r'"([^"]+)"|`([^`]+)`|\[([^\]]+)\]')
_NEEDS_QUOTES = re.compile(r'[,"\r\n]|^\s|\s$')
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
        width = CHARACTERS_TRIED_PER_TOKEN * max(budget, 1)
        width = min(width, max(map(len, cells), default=0))
        while width > 1:
            width = width * 2 // 3
            text = _csv([self.columns, [_cut_cell(cell, width) for cell in cells]])
            if cost(text) <= budget:
                return text
        return ""


def _cut_cell(cell: str, width: int) -> str:
    if len(cell) <= width:
        return cell
    return cell[:width] + prompts.GAP_IN_LINE.format(count=len(cell) - width).rstrip()


def cell_text(cell: object) -> str:
    """Return a cell as CSV has it: text as it is, nothing for None, other values as JSON."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    return to_json(cell)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(",".join(map(_csv_cell, row)) for row in rows)


def _csv_cell(cell: str) -> str:
    if not _NEEDS_QUOTES.search(cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


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
    where = "1"
    if selection.where is not None:
        where = selection.where
        _check_expression("where", where)
    columns = _columns(table, selection.columns)
    stop = sys.maxsize
    if budget is not None:
        stop = offset + CHARACTERS_TRIED_PER_TOKEN * max(budget, 1) + 1
    with closing(_database(table)) as database:
        [(count,)] = database.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608 - a constant
        _lock_up(database)
        try:
            names, rows, total = _selected(database, table, where, columns, slice(offset, stop))
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


def _database(table: TextTable) -> sqlite3.Connection:
    """Open a database in memory with the one table; no text in it may become much longer than the longest row."""
    sample = list(islice(table.rows(), SAMPLED))
    definitions, numeric = list[str](), list[str]()
    for index, column in enumerate(table.columns):
        name = _quoted_name(column)
        if _are_numbers([row[index] for row in sample]):
            numeric.append(name)
            definitions.append(f"{name} NUMERIC")
        else:
            definitions.append(f"{name} TEXT")
    longest = LEAST_LENGTH

    def stored_rows() -> Iterator[Row]:
        nonlocal longest
        for row in table.rows():
            cells = row if table.only_texts else [*map(_stored, row)]
            longest = max(longest, sum(len(cell) for cell in cells if isinstance(cell, str)))
            yield cells

    database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    database.execute(f"CREATE TABLE {TABLE} ({', '.join(definitions)})")
    database.execute("BEGIN")
    marks = ", ".join("?" * len(definitions))
    database.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", stored_rows())  # noqa: S608 - a constant, and marks
    absent = ", ".join(f"'{text}'" for text in _NO_VALUE)
    for name in numeric:
        database.execute(
            f"UPDATE {TABLE} SET {name} = NULL WHERE lower(trim({name})) IN ({absent})"  # noqa: S608 - a quoted name
        )
    database.execute("COMMIT")
    # SQLite counts bytes.
    length = min(LONGEST_UTF8 * longest + LEAST_LENGTH, LARGEST_LENGTH)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
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
    match cell:
        case str():
            return cell if cell.isascii() else cell.encode("utf-8", "replace").decode()
        case int():
            return cell if -LARGEST_INTEGER <= cell < LARGEST_INTEGER else str(cell)
        case None | float():
            return cell
        case _:
            return to_json(cell).encode("utf-8", "replace").decode()


def _lock_up(database: sqlite3.Connection) -> None:
    """Leave nothing in reach but the table and functions that neither reach further nor take long in one call."""
    selects = 0

    def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        nonlocal selects
        allowed = False
        if action == sqlite3.SQLITE_SELECT:
            selects += 1
            allowed = selects == 1  # no subquery, which could multiply the work
        elif action == sqlite3.SQLITE_READ:
            allowed = first == TABLE
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = str(second).lower() in _FUNCTIONS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    time_limit = TimeLimit()
    for name, arguments, function in _OWN_FUNCTIONS:
        database.create_function(name, arguments, function, deterministic=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, DEEPEST)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.set_authorizer(allow)
    database.set_progress_handler(lambda: time_limit.is_over, STEPS)


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


def _selected(
    database: sqlite3.Connection,
    table: TextTable,
    where: str,
    columns: list[int | str],
    window: slice,
) -> tuple[tuple[str, ...], list[Row], int]:
    """Return the names, the rows in `window`, and how many rows there are."""
    condition = f"FROM {TABLE} WHERE (\n{where}\n)"
    taken = {column.lower() for column in table.columns}
    row_number = next((name for name in _ROW_NUMBERS if name not in taken), None)
    indexes = [column for column in columns if isinstance(column, int)]
    if row_number is not None and len(indexes) == len(columns):
        # Cells are given as they stand in the text, where the database has numbers and NULL.
        found = database.execute(f"SELECT {row_number} {condition}")
        numbers = array("q", (number for (number,) in found))
        rows = [[row[i] for i in indexes] for row in _numbered(table.rows(), numbers[window])]
        return tuple(table.columns[i] for i in indexes), rows, len(numbers)
    expressions = list[str]()
    for column in columns:
        expressions.append(
            column if isinstance(column, str) else _quoted_name(table.columns[column])
        )
    cursor = database.execute(f"SELECT {', '.join(expressions)} {condition}")
    names = tuple(description[0] for description in cursor.description)
    rows, total = list[Row](), 0
    for total, row in enumerate(cursor, 1):
        if window.start < total <= window.stop:
            rows.append(list(row))
    return names, rows, total


def _numbered(rows: Iterator[Row], numbers: Sequence[int]) -> Iterator[Row]:
    """Yield those of `rows` that have these numbers (from 1, ascending)."""
    wanted = iter(numbers)
    next_number = next(wanted, None)
    for number, row in enumerate(rows, 1):
        if next_number is None:
            return
        if number == next_number:
            yield row
            next_number = next(wanted, None)


def _columns(table: TextTable, columns: str | None) -> list[int | str]:
    """Return the columns that are asked for: the index of one of the table's, other expressions as they are."""
    if columns is None:
        return list(range(len(table.columns)))
    indexes = {name.lower(): index for index, name in enumerate(table.columns)}
    expressions = [part.strip() for part in columns.split(",")]
    if not all(expression.lower() in indexes for expression in expressions):
        expressions = _split_expressions(columns)
    wanted = list[int | str]()
    for expression in expressions:
        if expression == "*":
            wanted += indexes.values()
            continue
        name = expression.lower()
        if name not in indexes and (match := _QUOTED_NAME.fullmatch(name)):
            name = match[1] or match[2] or match[3]
        wanted.append(indexes.get(name, expression))
    return wanted


def _split_expressions(columns: str) -> list[str]:
    """Return the expressions between the commas that stand in no brackets and no quotes."""
    _check_expression("columns", columns)
    depth, start = 0, 0
    expressions = list[str]()
    for token in _TOKEN.finditer(columns):
        depth += _DEPTHS.get(token[0], 0)
        if token[0] == "," and depth == 0:
            expressions.append(columns[start : token.start()].strip())
            start = token.end()
    expressions.append(columns[start:].strip())
    return [expression for expression in expressions if expression]


def _check_expression(name: str, text: str) -> None:
    """Raise unless `text` is one expression: every bracket and quote closed, no comment, no second statement."""
    problem = "" if text.strip() else "it is empty"
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += _DEPTHS.get(token[0], 0)
        if depth < 0 or token[0] in _FORBIDDEN_TOKENS:
            problem = f"{token[0]!r} at position {token.start()}"
            break
    else:
        if depth:
            problem = "a bracket is not closed"
    if problem:
        message = f"{name}={to_json(text[:LONGEST_TOLD])} is not an expression: {problem}"
        raise InvalidSelectionError(message)


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
