"""The rows of a table for which a SQL expression holds, by a temporary SQLite database that holds nothing else."""

from __future__ import annotations

import re
import sqlite3
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.model.selection import (
    CHARACTERS_TRIED,
    Cost,
    Deadline,
    Selection,
    listed,
    quoted,
    too_slow,
)
from memory_context.runtime import prompts
from memory_context.text.read.json_values import to_json
from memory_context.text.read.tables import Row, Table, table_of

SAMPLED = 1000
UTF8 = 4
LEAST_LENGTH = 1_000_000
LARGEST_LENGTH = 1_000_000_000
LARGEST_INTEGER = 2**63
STEPS = 1000
LONGEST_PART = 100
LONGEST_PATTERN = 200
DEEPEST = 100
TABLE: Final = "data"
_ALLOWED_FUNCTIONS = """
-> ->> abs avg ceil ceiling coalesce count date datetime floor glob group_concat ifnull iif instr json_array_length
json_extract json_type json_valid julianday length like lower ltrim max min nullif replace round rtrim sign strftime
substr substring sum time total trim typeof unicode unixepoch upper
"""
_FUNCTIONS: Final = frozenset(_ALLOWED_FUNCTIONS.split())
_NUMBER = re.compile(r"\s*[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d{1,17})?(?:[eE][-+]?\d{1,2})?\s*")
_NO_VALUE: Final = ("", "-", "—", "na", "n/a", "nan", "nil", "none", "null")
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--|/\*|[(),;'"`\[]"""
)
_ROW_NUMBERS: Final = ("rowid", "_rowid_", "oid")
_QUOTED = re.compile(r'"([^"]+)"|`([^`]+)`|\[([^\]]+)\]')
_SPECIAL = re.compile(r'[,"\r\n]|^\s|\s$')
_BRACKETS: Final = {"(": 1, ")": -1}


@dataclass(frozen=True, slots=True)
class FoundRows:
    """A listing of rows, rendered as CSV below a line of names. `rows` begins with the row number `first` (from 0)."""

    columns: tuple[str, ...]
    rows: list[Row]
    first: int
    total: int
    of: int
    name: str

    def size(self, index: int) -> int:
        """At least that many characters."""
        row = self.rows[index - self.first]
        return sum(len(cell) if isinstance(cell, str) else 1 for cell in row) + len(self.columns)

    def part(self, start: int, end: int) -> str:
        """Which of the rows they are."""
        return prompts.PART_ROWS.format(
            first=start + 1, last=end, total=self.total, of=self.of, name=self.name
        )

    def render(self, start: int, end: int) -> str:
        """CSV as RFC 4180 has it, lines ending in a line feed; nested values as JSON, missing ones empty."""
        rows = self.rows[start - self.first : end - self.first]
        return _csv([self.columns, *(map(cell_text, row) for row in rows)])

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """The row with its long cells cut."""
        texts = [cell_text(cell) for cell in self.rows[index - self.first]]
        width = min(max(map(len, texts), default=0), CHARACTERS_TRIED * max(budget, 1))
        while width > 1:
            width = width * 2 // 3
            text = _csv([self.columns, [_cut(cell, width) for cell in texts]])
            if cost(text) <= budget:
                return text
        return ""


def _cut(cell: str, width: int) -> str:
    return (
        cell
        if len(cell) <= width
        else cell[:width] + prompts.GAP_IN_LINE.format(count=len(cell) - width).rstrip()
    )


def found_rows(text: str, selection: Selection, offset: int, budget: int | None) -> FoundRows:
    """The rows of the table in `text` for which ``where`` holds, with the ``columns`` that are asked for.

    Rows from `offset` on come along, as many as a page of `budget` tokens could hold. Cells come back as they stand in
    the text, unless ``columns`` holds expressions. In comparisons columns of numbers are numbers, and what stands for
    no value in them is NULL. Nothing but the table can be reached; the query has 5 seconds.

    Raises:
        InvalidSelectionError: No table, or no such expression or column; names the columns.
        NothingMatchedError: It holds for no row; names the columns.
        SelectionTimeoutError: It took too long.
    """
    table = table_of(text)
    where = "1" if selection.where is None else _expression("where", selection.where)
    columns = _columns(table, selection.columns)
    window = slice(
        offset, None if budget is None else offset + CHARACTERS_TRIED * max(budget, 1) + 1
    )
    with closing(_database(table)) as database:
        [(count,)] = database.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608 - a constant
        _lock_up(database)
        try:
            names, rows, total = _selected(database, table, where, columns, window)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if "interrupted" in str(error):
                raise too_slow() from error
            raise InvalidSelectionError(_refused(selection, error, table)) from error
    if not total:
        raise NothingMatchedError(_nothing(selection, table, count))
    return FoundRows(names, rows, offset, total, count, table.name)


def cell_text(cell: object) -> str:
    """A cell as CSV has it: text as it is, nothing for None, other values as JSON."""
    return cell if isinstance(cell, str) else "" if cell is None else to_json(cell)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(",".join(map(_quoted_cell, row)) for row in rows)


def _quoted_cell(cell: str) -> str:
    """`cell`, in quotes where its characters ask for it."""
    return '"' + cell.replace('"', '""') + '"' if _SPECIAL.search(cell) else cell


def _database(table: Table) -> sqlite3.Connection:
    """A database in memory with the one table; no text in it may become much longer than the longest row."""
    database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    numeric, longest = _numeric(table), LEAST_LENGTH
    kinds = ("NUMERIC" if number else "TEXT" for number in numeric)
    names = ", ".join(
        f"{_name(name)} {kind}" for name, kind in zip(table.columns, kinds, strict=True)
    )

    def stored() -> Iterator[Row]:
        nonlocal longest
        for row in table.rows():
            cells = row if table.only_texts else [*map(_stored, row)]
            if (length := sum(len(cell) for cell in cells if isinstance(cell, str))) > longest:
                longest = length
            yield cells

    database.execute(f"CREATE TABLE {TABLE} ({names})")
    database.execute("BEGIN")
    marks = ", ".join("?" * len(numeric))
    database.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", stored())  # noqa: S608 - a constant, and marks
    absent = ", ".join(f"'{text}'" for text in _NO_VALUE)
    for name in (
        _name(name) for name, number in zip(table.columns, numeric, strict=True) if number
    ):
        database.execute(
            f"UPDATE {TABLE} SET {name} = NULL WHERE lower(trim({name})) IN ({absent})"  # noqa: S608 - a quoted name
        )
    database.execute("COMMIT")
    database.setlimit(
        sqlite3.SQLITE_LIMIT_LENGTH, min(UTF8 * longest + LEAST_LENGTH, LARGEST_LENGTH)
    )
    return database


def _lock_up(database: sqlite3.Connection) -> None:
    """Leave nothing in reach but the table and functions that neither reach further nor take long in one call."""
    selects = 0

    def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        nonlocal selects
        selects += action == sqlite3.SQLITE_SELECT
        allowed = (
            (action == sqlite3.SQLITE_SELECT and selects == 1)
            or (action == sqlite3.SQLITE_READ and first == TABLE)
            or (action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _FUNCTIONS)
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    deadline = Deadline()
    for name, count, function in _OWN_FUNCTIONS:
        database.create_function(name, count, function, deterministic=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, DEEPEST)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.set_authorizer(allow)
    database.set_progress_handler(lambda: deadline.is_over, STEPS)


def _instr(text: object, part: object) -> int | None:
    """As SQLite's own, which takes as long as both lengths multiplied."""
    return None if text is None or part is None else str(text).find(str(part)) + 1


def _replace(text: object, old: object, new: object) -> str | None:
    """As SQLite's own, for short texts in the place of short texts."""
    if text is None or old is None or new is None:
        return None
    return str(text).replace(_short(old), _short(new)) if old != "" else str(text)


def _trimmed(trim: Callable[[str, str], str]) -> Callable[[object, object], str | None]:
    """As SQLite's own, for few characters."""
    return lambda text, characters: (
        None if text is None or characters is None else trim(str(text), _short(characters))
    )


def _short(value: object) -> str:
    text = str(value)
    if len(text) > LONGEST_PART:
        message = f"a text of {LONGEST_PART} characters at most is needed here"
        raise ValueError(message)
    return text


_OWN_FUNCTIONS: Final = (
    ("instr", 2, _instr),
    ("replace", 3, _replace),
    ("trim", 2, _trimmed(str.strip)),
    ("ltrim", 2, _trimmed(str.lstrip)),
    ("rtrim", 2, _trimmed(str.rstrip)),
)


def _selected(
    database: sqlite3.Connection, table: Table, where: str, columns: list[int | str], window: slice
) -> tuple[tuple[str, ...], list[Row], int]:
    """The names, the rows in `window`, and how many rows there are."""
    plain = [column for column in columns if isinstance(column, int)]
    number = next(
        (name for name in _ROW_NUMBERS if name not in map(str.lower, table.columns)), None
    )
    condition = f"FROM {TABLE} WHERE (\n{where}\n)"
    if number is not None and len(plain) == len(columns):
        numbers = array(
            "q", (number for (number,) in database.execute(f"SELECT {number} {condition}"))
        )
        rows = [[row[i] for i in plain] for row in _numbered(table.rows(), numbers[window])]
        return tuple(table.columns[i] for i in plain), rows, len(numbers)
    wanted = ", ".join(
        _name(table.columns[column]) if isinstance(column, int) else column for column in columns
    )
    cursor = database.execute(f"SELECT {wanted} {condition}")
    names = tuple(description[0] for description in cursor.description)
    stop = window.stop or sys.maxsize
    rows, total = list[Row](), 0
    for total, row in enumerate(cursor, 1):
        if window.start < total <= stop:
            rows.append(list(row))
    return names, rows, total


def _numbered(rows: Iterator[Row], numbers: Sequence[int]) -> Iterator[Row]:
    """Those of `rows` that have these numbers (from 1, ascending)."""
    wanted = iter(numbers)
    number = next(wanted, None)
    for place, row in enumerate(rows, 1):
        if number is None:
            return
        if place == number:
            yield row
            number = next(wanted, None)


def _numeric(table: Table) -> list[bool]:
    """For each column, whether it holds numbers, or texts that all are numbers, in the first 1,000 rows."""
    sample = list(islice(table.rows(), SAMPLED))
    return [_is_numeric([row[i] for row in sample]) for i in range(len(table.columns))]


def _is_numeric(cells: list[Any]) -> bool:
    texts = [
        cell for cell in cells if isinstance(cell, str) and cell.strip().lower() not in _NO_VALUE
    ]
    if any(isinstance(cell, int | float) for cell in cells):
        return True
    return bool(texts) and all(
        _NUMBER.fullmatch(text) and any(map(str.isdigit, text)) for text in texts
    )


def _stored(cell: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """`cell` as the database holds it."""
    match cell:
        case str():
            return cell if cell.isascii() else cell.encode("utf-8", "replace").decode()
        case int():
            return cell if -LARGEST_INTEGER <= cell < LARGEST_INTEGER else str(cell)
        case None | float():
            return cell
        case _:
            return to_json(cell).encode("utf-8", "replace").decode()


def _columns(table: Table, columns: str | None) -> list[int | str]:
    """The columns that are asked for: the places of those of the table, other expressions as they are."""
    if columns is None:
        return list(range(len(table.columns)))
    places = {name.lower(): place for place, name in enumerate(table.columns)}
    pieces = [piece.strip() for piece in columns.split(",")]
    if not all(piece.lower() in places for piece in pieces):
        pieces = _split(columns)
    result = list[int | str]()
    for piece in pieces:
        bare = piece if piece.lower() in places else _bare(piece)
        result += list(places.values()) if piece == "*" else [places.get(bare.lower(), piece)]
    return result


def _bare(name: str) -> str:
    """A quoted name without its quotes."""
    match = _QUOTED.fullmatch(name)
    return name if match is None else next(part for part in match.groups() if part is not None)


def _split(columns: str) -> list[str]:
    """The expressions between the commas that stand in no brackets and no quotes."""
    _expression("columns", columns)
    depth, start, pieces = 0, 0, list[str]()
    for token in _TOKEN.finditer(columns):
        depth += _BRACKETS.get(token.group(), 0)
        if token.group() == "," and depth == 0:
            pieces.append(columns[start : token.start()].strip())
            start = token.end()
    pieces.append(columns[start:].strip())
    return [piece for piece in pieces if piece]


def _expression(name: str, text: str) -> str:
    """`text`, if it is one expression: every bracket and quote closed, no comment, no second statement."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += _BRACKETS.get(token.group(), 0)
        if depth < 0 or token.group() in ("--", "/*", ";", "'", '"', "`", "["):
            message = f"{name}={quoted(text[:80])} is no expression: {token.group()!r} at position {token.start()}"
            raise InvalidSelectionError(message)
    if depth or not text.strip():
        problem = "a bracket is not closed" if depth else "it is empty"
        message = f"{name}={quoted(text[:80])} is no expression: {problem}"
        raise InvalidSelectionError(message)
    return text


def _name(name: str) -> str:
    """`name` as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _refused(selection: Selection, error: Exception, table: Table) -> str:
    given = ", ".join(
        f"{k}={quoted(v[:80])}"
        for k, v in (("where", selection.where), ("columns", selection.columns))
        if v
    )
    problem = str(error)
    if "not authorized" in problem or "prohibited" in problem:
        problem = "only the columns of the table and SQL's plain functions can be used"
    return f"{given} cannot be used: {problem}; {_told(table)}"


def _nothing(selection: Selection, table: Table, count: int) -> str:
    where = quoted((selection.where or "")[:80])
    return prompts.NO_ROW.format(count=count, name=table.name, where=where, columns=_told(table))


def _told(table: Table) -> str:
    """The names of the columns, with an example of what stands in each."""
    row = next(table.rows(), [None] * len(table.columns))
    named = (
        f"{name} ({cell_text(cell)[:30]})" for name, cell in zip(table.columns, row, strict=True)
    )
    return prompts.COLUMNS.format(columns=listed(named))
