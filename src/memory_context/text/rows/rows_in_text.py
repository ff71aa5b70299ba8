"""The rows that a text holds, whatever its form; the form is the one that describes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.describe.choose_describer import behind_lead, identify
from memory_context.text.describe.description import Kind
from memory_context.text.describe.sample import HEAD
from memory_context.text.describe.unwrap import unwrap
from memory_context.text.json_and_repr import is_list, is_object, objects_in
from memory_context.text.lines import lines_of
from memory_context.text.read.json_values import NOTHING, is_json_lines, parse, records
from memory_context.text.rows.command_columns import command_table
from memory_context.text.rows.lists_as_columns import records_by_columns
from memory_context.text.rows.log_lines import log_table
from memory_context.text.rows.names_in_first_row import has_names
from memory_context.text.rows.record_blocks import record_table
from memory_context.text.rows.rows_under_columns import (
    Row,
    TextTable,
    column_names,
    evened,
    with_nulls,
)
from memory_context.text.rows.ruled_tables import markdown_table, ruled_table

LINES_TRIED = 50
LEAST_EVEN = 0.9
DELIMITERS: Final = ("\t", ",", ";", "|")
NO_TABLE = "this text has no rows: it is empty"


def table_of(text: str) -> TextTable:
    """Return the rows of `text`, of what it is wrapped in, or behind a line that introduces them; else its lines.

    Raises:
        InvalidSelectionError: It is empty; or a row is damaged.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.strip():
        raise InvalidSelectionError(NO_TABLE)
    table = _rows_in(text)
    if table is None:
        table = TextTable(("line", "text"), lambda: _lines(text), "the lines")
    return table


def _rows_in(text: str, *, may_lead: bool = True) -> TextTable | None:
    """Return the rows of a text that has some by its form, or behind one lead; None if it has but lines."""
    if is_json_lines(text):
        return _of_json_lines(text)
    inner = unwrap(text).text
    if inner is not text:
        return table_of(inner)
    value = parse(text)
    if value is NOTHING:
        table = _of_objects(text) or _of_plain(text)
        if table is None and may_lead and (rest := behind_lead(text)):
            return _rows_in(rest, may_lead=False)
        return table
    return _of_json(value)


def _of_plain(text: str) -> TextTable | None:
    """Return the rows of a text that is no JSON, read as what describes it."""
    match identify(text[:HEAD]).kind:
        case Kind.LOG:
            return log_table(text)
        case Kind.RECORDS:
            return record_table(text)
        case Kind.TABLE | Kind.TEXT | Kind.FILES:
            return markdown_table(text) or ruled_table(text) or _of_csv(text) or command_table(text)
        case _:
            return markdown_table(text)


def _lines(text: str) -> Iterator[Row]:
    return ([number, line] for number, line in enumerate(lines_of(text), 1))


def _of_objects(text: str) -> TextTable | None:
    """Return JSON objects that stand one behind the other, each over several lines; None for other texts."""
    objects, end = objects_in(text)
    if not objects or text[end:].strip():
        return None
    return _of_values(objects, "the JSON objects")


def _of_json(value: Any) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return the rows of a list, or of the longest of the lists that are least deep in an object."""
    level: list[tuple[str, Any]] = [("$", records_by_columns(value) or value)]
    while level:
        lists = [(path, item) for path, item in level if is_list(item)]
        path, longest = max(lists, key=lambda found: len(found[1]), default=("", list[Any]()))
        if longest:
            return _of_values(longest, f"the JSON list {path}")
        objects = [(path, item) for path, item in level if is_object(item)]
        level = []
        for path, item in objects:
            for key, member in item.items():
                level.append((f"{path}.{key}", records_by_columns(member) or member))
    return _of_object(value)


def _of_object(value: Any) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return an object of objects as a row for each, under its key in a first column; any other object as one row."""
    if not is_object(value) or not value:
        return None
    rows = [value]
    if all(map(is_object, value.values())):
        rows = [{"key": key, **member} for key, member in value.items()]
    return _of_values(rows, "the JSON object")


def _of_json_lines(text: str) -> TextTable:
    """Return each line as a row; lines are parsed again whenever rows are wanted, rather than kept."""
    keys: dict[str, None] = {}
    try:
        for record in records(text):
            if not is_object(record):
                return _of_values(list(records(text)), "the JSON lines")
            keys.update(dict.fromkeys(record))
    except (ValueError, RecursionError) as error:
        raise InvalidSelectionError(f"a line of these JSON lines is not JSON: {error}") from error
    return TextTable(
        column_names(list(keys)),
        lambda: ([record.get(key) for key in keys] for record in records(text)),
        "the JSON lines",
    )


def _of_values(values: Sequence[Any], name: str) -> TextTable:
    """Return objects as rows under their keys, lists under numbered columns, other values under ``value``."""
    if all(map(is_object, values)):
        keys = list(dict.fromkeys(key for value in values for key in value))
        return TextTable(
            column_names(keys),
            lambda: ([value.get(key) for key in keys] for value in values),
            name,
        )
    if all(map(is_list, values)):
        width = max(map(len, values))
        columns = column_names([""] * width)
        return TextTable(columns, lambda: evened(values, width), name)
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
            is_named = has_names(head)
            names = column_names(head[0] if is_named else [""] * width)
            rows = partial(_cells_of, text, delimiter, width, int(is_named))
            return TextTable(names, rows, name, by_semicolons=delimiter == ";")
    return None


def _cells_of(text: str, delimiter: str, width: int, first: int) -> Iterator[Row]:
    return map(
        with_nulls, evened(islice(_csv_rows(text, delimiter), first, None), width, delimiter)
    )


def _csv_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of CSV, empty lines left out."""
    # Lines end with a line feed alone, as they do everywhere here.
    lines = io.StringIO(text, newline="\n")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise InvalidSelectionError(f"this CSV cannot be read: {error}") from error
