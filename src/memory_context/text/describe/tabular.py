"""Describe tables and records: CSV and similar text, tables that databases and commands print, `Name: value` lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample_for_describers import Sample
from memory_context.text.rows.columns_printed_by_commands import certain_columns
from memory_context.text.rows.names_in_first_row import is_number
from memory_context.text.rows.record_blocks import HEADING, TEXT, record_table
from memory_context.text.rows.ruled_tables import is_no_single_table, ruled_table
from memory_context.text.rows.separated_values import separated_table
from memory_context.text.rows.text_table import Row, TextTable
from memory_context.text.rows.values_as_rows import KEY, PAIRS

COUNTED_EXACTLY = 2_000_000
# A line of code. In psql, the value behind a bar may be a statement.
_CODE = re.compile(r"(?!\w+ +\|).*[;{]", re.DOTALL)
# `Name: value`, `NAME=value` or `name | value` of psql, perhaps with Markdown marks. Stricter than the pattern for a text known to hold records.
_FIELD = re.compile(
    r"\s*(?:[-*•] +)?\*{0,2}[A-Za-z](?:[\w-]{0,40}(?:\.[\w-]{1,40}){1,9}|[\w /()'.-]{0,30}?)(?:\*{0,2} ?:\*{0,2}(?:\s|$)| ?=(?!=)| \|(?=[^|]*$))"
)


def describe_table(sample: Sample) -> Description | None:
    """Describe a text that is a table."""
    text = sample.text
    found = (
        _described(_named_table, text)
        or _described(separated_table, text)
        or _described(certain_columns, text, "table")
    )
    # Looked at last, because the whole text is searched for it.
    if found is None or is_no_single_table(text):
        return None
    return found


def _named_table(text: str) -> TextTable | None:
    """Return the ruled table in the first lines of a text, unless its header has only numbers; None if there is none."""
    table = ruled_table(text)
    if table and all(map(is_number, table.columns)):
        return None
    return table


def _described(
    read: Callable[[str], TextTable | None], text: str, notation: str = ""
) -> Description | None:
    """Describe the table that *read* finds in a text, by its size and its columns; None if it finds no table.

    The table is called by its *notation*, or else as queries call it.
    """
    # A table may have more columns than a query may have, or a row that cannot be read.
    try:
        table = read(text)
        if table is None:
            return None
        count = sum(1 for _ in table.rows())
    except InvalidSelectionError:
        return None
    notation = notation or table.name.removeprefix("the ")
    names = unique_names(name.strip().strip("\"'*`") for name in _named(table))
    rows = counted(count, "row")
    columns = counted(len(table.columns), "column")
    return Description(Kind.TABLE, f"{notation} {rows} x {columns}", names)


def describe_records(sample: Sample) -> Description | None:
    """Describe records that have the same fields, or the fields of a single record."""
    lines = [line for line in sample.lines if not line.startswith(("#", ";", "["))]
    if any(map(_CODE.fullmatch, lines)):
        return None
    fields = sum(1 for line in lines if _FIELD.match(line))
    if fields < 0.3 * len(lines):
        return None  # prose
    # The rows are counted with the reader that queries use, so that both agree. In a very long text, their number is
    # estimated from its beginning.
    head = sample.text
    if len(head) > COUNTED_EXACTLY:
        head = head[: head.rfind("\n", 0, COUNTED_EXACTLY) + 1]
    table = record_table(head, sample.yaml)
    if table is None:
        return None
    rows = list(table.rows())
    count = len(rows) * len(sample.text) // max(len(head), 1)
    noun = "record"
    names = _common_names(table, rows)
    if table.name == PAIRS:
        if fields < 0.8 * len(lines):
            return None
        noun = "field"
        names = unique_names(row[0] for row in rows)
    # If only one name recurs, that is by chance, or the text is a list of outcomes ("ok: web-1").
    if len(names) < 2:
        return None
    return Description(Kind.RECORDS, counted(count, noun), names)


def _common_names(table: TextTable, rows: list[Row]) -> tuple[str, ...]:
    """Return the names that at least half of the records have, and at least two of them."""
    filled = Counter[str]()
    for row in rows:
        cells = zip(table.columns, row, strict=True)
        filled.update(name for name, cell in cells if cell not in (None, ""))
    for name in (HEADING, TEXT, KEY):
        del filled[name]
    least = max(2, 0.5 * len(rows))
    return unique_names(name for name in _named(table) if filled[name] >= least)


def _named(table: TextTable) -> list[str]:
    """Return the columns that the text names, without those that are only numbered."""
    return [name for number, name in enumerate(table.columns, 1) if name != f"column{number}"]
