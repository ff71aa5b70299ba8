"""The rows that a text holds: a JSON list, JSON lines, CSV, TSV, or a Markdown table."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import Any, Final, cast

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.read.json_values import (
    NOTHING,
    is_json_lines,
    lines_of,
    parse,
    records,
    wrapped,
)

MOST_COLUMNS = 1000
LINES_TRIED = 50
LEAST_EVEN = 0.9
DELIMITERS: Final = (",", "\t", ";", "|")
NO_TABLE = "where= and columns= need rows: a JSON list, JSON lines, CSV, TSV or a Markdown table; this text has none"
_MARKDOWN_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")

Row = list[Any]


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows under named columns; `rows` gives them from the first on, as often as it is called.

    Attributes:
        columns: The names, no two alike in any capitalisation.
        rows: As many cells as columns each: text, or what JSON holds; None for a missing cell.
        name: Where it was found, as ``the JSON list $.items``.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    name: str


def table_of(text: str) -> TextTable:
    """Return the rows of `text`; those inside an MCP result where the text itself is not a table.

    Raises:
        InvalidSelectionError: There are none.
    """
    if is_json_lines(text):
        return _of_json_lines(text)
    value = parse(text)
    if value is NOTHING:
        table = _of_markdown(text) or _of_csv(text)
    else:
        for part in wrapped(value):
            with suppress(InvalidSelectionError):
                return table_of(part)
        table = _of_json(value)
    if table is None:
        raise InvalidSelectionError(NO_TABLE)
    return table


def _of_json(value: Any) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return the rows of a list, or of the longest of the lists that are least deep in an object."""
    level: list[tuple[str, Any]] = [("$", value)]
    while level:
        longest: Sequence[Any] = ()
        path_of_longest = ""
        next_level = list[tuple[str, Any]]()
        for path, item in level:
            if isinstance(item, list):
                values = cast("Sequence[Any]", item)
                if len(values) > len(longest):
                    longest, path_of_longest = values, path
            elif isinstance(item, dict):
                for key, member in cast("dict[str, Any]", item).items():
                    next_level.append((f"{path}.{key}", member))
        if longest:
            return _of_values(longest, f"the JSON list {path_of_longest}")
        level = next_level
    return None


def _of_json_lines(text: str) -> TextTable:
    """Return each line as a row; lines are parsed again whenever rows are wanted, rather than kept."""
    keys: dict[str, None] = {}
    try:
        for record in records(text):
            if not isinstance(record, dict):
                return _of_values(list(records(text)), "the JSON lines")
            keys.update(dict.fromkeys(cast("dict[str, Any]", record)))
    except (ValueError, RecursionError) as error:
        message = f"a line of these JSON lines is not JSON: {error}"
        raise InvalidSelectionError(message) from error
    return TextTable(
        _column_names(list(keys)),
        lambda: ([record.get(key) for key in keys] for record in records(text)),
        "the JSON lines",
    )


def _of_values(values: Sequence[Any], name: str) -> TextTable:
    """Return objects as rows under their keys, lists under numbered columns, other values under ``value``."""
    if all(isinstance(value, dict) for value in values):
        keys = list(dict.fromkeys(key for value in values for key in value))
        return TextTable(
            _column_names(keys),
            lambda: ([value.get(key) for key in keys] for value in values),
            name,
        )
    if all(isinstance(value, list) for value in values):
        width = max(map(len, values))
        columns = _column_names([""] * width)
        return TextTable(columns, lambda: _evened(values, width), name)
    return TextTable(("value",), lambda: ([value] for value in values), name)


def _of_csv(text: str) -> TextTable | None:
    """Return CSV below a line of names, by the delimiter that gives most rows as many cells as that line has."""
    for delimiter in DELIMITERS:
        head = list(islice(_csv_rows(text, delimiter), LINES_TRIED))
        if len(head) < 2 or len(head[0]) < 2:
            continue
        width = len(head[0])
        even = sum(len(row) == width for row in head)
        if even >= LEAST_EVEN * len(head):
            name = "the TSV" if delimiter == "\t" else "the CSV"
            rows = partial(_rows_below_names, text, delimiter, width)
            return TextTable(_column_names(head[0]), rows, name)
    return None


def _rows_below_names(text: str, delimiter: str, width: int) -> Iterator[Row]:
    return _evened(islice(_csv_rows(text, delimiter), 1, None), width)


def _csv_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of CSV, empty lines left out."""
    lines = (f"{line}\n" for line in lines_of(text.removeprefix("\ufeff")))
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        message = f"this CSV cannot be read: {error}"
        raise InvalidSelectionError(message) from error


def _of_markdown(text: str) -> TextTable | None:
    """Return the first table: a line with bars above a line of hyphens, and the lines with bars below."""
    if "|" not in text:
        return None
    line_before, start = "", 0
    for line in lines_of(text):
        behind = start + len(line) + 1
        bars_and_hyphens = "-" in line and "|" in line and "|" in line_before
        if bars_and_hyphens and _MARKDOWN_DELIMITER_ROW.fullmatch(line):
            columns = _column_names(_markdown_cells(line_before))
            rows = partial(_markdown_rows, text, behind, len(columns))
            return TextTable(columns, rows, "the Markdown table")
        line_before, start = line, behind
    return None


def _markdown_rows(text: str, start: int, width: int) -> Iterator[Row]:
    rest = lines_of(text[start:])
    return _evened((_markdown_cells(line) for line in takewhile(_has_bar, rest)), width)


def _has_bar(line: str) -> bool:
    return "|" in line


def _markdown_cells(line: str) -> list[str]:
    cells = _BAR.split(line.strip().removeprefix("|"))
    if not cells[-1].strip():
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _evened(rows: Iterable[Row], width: int) -> Iterator[Row]:
    """Yield rows of `width` cells: missing ones are None, those too many are joined to the last."""
    for row in rows:
        if len(row) > width:
            yield [*row[: width - 1], ",".join(row[width - 1 :])]
        else:
            yield [*row, *[None] * (width - len(row))]


def _column_names(names: list[str]) -> tuple[str, ...]:
    """Return names for columns: without control characters, numbered where they are empty or taken."""
    if len(names) > MOST_COLUMNS:
        message = f"this table has {len(names)} columns; where= and columns= take {MOST_COLUMNS} at most; use path="
        raise InvalidSelectionError(message)
    taken = set[str]()
    unique = list[str]()
    for number, name in enumerate(names, 1):
        plain = _CONTROLS.sub(" ", str(name)).strip() or f"column{number}"
        while plain.lower() in taken:
            plain = f"{plain}_{number}"
        taken.add(plain.lower())
        unique.append(plain)
    return tuple(unique)
