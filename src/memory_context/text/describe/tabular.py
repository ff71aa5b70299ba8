"""Tables and records: CSV and its like, what databases print, `Name: value` lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import Sample
from memory_context.text.rows.command_columns import command_table
from memory_context.text.rows.names_in_first_row import SAMPLED, has_names, is_number
from memory_context.text.rows.record_blocks import HEADING, RECORDS, record_table
from memory_context.text.rows.rows_under_columns import Row
from memory_context.text.rows.ruled_tables import ruled_table

LEAST_COLUMNS = 3
COUNTED_EXACTLY = 2_000_000
_NOTATIONS = {"\t": "TSV", ",": "CSV", ";": "CSV"}
# `Name: value` or `NAME=value`, perhaps with the marks of Markdown around it; stricter than in a text known for records.
_FIELD = re.compile(
    r"\s*(?:[-*•] +)?\*{0,2}[A-Za-z][\w /()'.-]{0,30}?(?:\*{0,2} ?:\*{0,2}(?:\s|$)|=(?!=))"
)
_HAS_DIGIT = re.compile(r"\d")
_CODE_ENDS = (".", ";", "{", ":", ")", "(", ",")


def describe_table(sample: Sample) -> Description | None:
    """Describe a text that is a table."""
    if len(sample.lines) < 2:
        return None
    return _ruled(sample) or _separated(sample) or _in_columns(sample)


def _table(notation: str, rows: int, columns: int, names: list[str]) -> Description:
    size = f"{counted(rows, 'row')} x {counted(columns, 'column')}"
    cells = unique_names(name.strip().strip("\"'*`") for name in names)
    return Description(Kind.TABLE, f"{notation} {size}", cells)


def _ruled(sample: Sample) -> Description | None:
    """Describe a table with a rule above or below its header, in the first lines of a text."""
    table = None
    with suppress(InvalidSelectionError):  # it has more columns than can be asked for
        table = ruled_table(sample.text)
    if table is None or all(map(is_number, table.columns)):
        return None
    # Columns that the text does not name are numbered.
    names = [name for number, name in enumerate(table.columns, 1) if name != f"column{number}"]
    return _table("table", sum(1 for _ in table.rows()), len(table.columns), names)


def _separated(sample: Sample) -> Description | None:
    """Describe lines that all have as many tabs, commas or semicolons as the first."""
    for separator, notation in _NOTATIONS.items():
        sampled = _rows_of(sample.lines[:SAMPLED], separator)
        if not _are_rows(sampled, separator):
            continue
        header = sampled[0]
        rows = _filled_lines(sample.text)
        count = len(rows)
        if '"' in sample.head:
            # Cells in quotes may have line breaks in them.
            count = len(_rows_of(rows, separator))
        if not has_names(sampled):
            return _table(notation, count, len(header), [])
        return _table(notation, count - 1, len(header), header)
    return None


def _in_columns(sample: Sample) -> Description | None:
    """Describe columns below a line of names, as commands print them.

    A column of numbers says so: words below words with capitals may be a title and its text.
    """
    table = command_table(sample.text)
    if table is None or len(table.columns) < LEAST_COLUMNS:
        return None
    rows = list(table.rows())
    columns = list(zip(*rows[:SAMPLED], strict=True))
    if not any(all(cell and _HAS_DIGIT.search(cell) for cell in cells) for cells in columns[:-1]):
        return None
    return _table("table", len(rows), len(table.columns), list(table.columns))


def _rows_of(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return [line.split(separator) for line in lines]


def _are_rows(rows: list[list[str]], separator: str) -> bool:
    """Return whether these are rows, not sentences or code with as many commas in each line."""
    width = len(rows[0])
    same = sum(1 for row in rows if len(row) == width)
    if len(rows) < 2 or width < 2 or same < 0.9 * len(rows):
        return False
    if separator == "\t":
        return True
    if not all(cell.strip() for cell in rows[0]):
        return False
    # A comma with a blank behind it, once in a line, is a sentence's.
    if width == 2 and all(row[-1].startswith(" ") for row in rows if len(row) == width):
        return False
    code = sum(1 for row in rows if row[-1].rstrip().endswith(_CODE_ENDS))
    return code < 0.5 * len(rows)


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.isspace()]


def describe_records(sample: Sample) -> Description | None:
    """Describe records of the same fields, or the fields of one record."""
    lines = [line for line in sample.lines if not line.startswith(("#", ";", "["))]
    if any(line.endswith((";", "{")) for line in lines):
        return None  # code
    fields = sum(1 for line in lines if _FIELD.match(line))
    if fields < 0.3 * len(lines):
        return None  # prose
    # The rows themselves are counted, so that both say the same; of a very long text those of its beginning.
    head = sample.text[:COUNTED_EXACTLY]
    table = record_table(head)
    if table is None:
        return None
    rows = list(table.rows())
    count = len(rows) * len(sample.text) // len(head)
    noun, names = "field", unique_names(row[0] for row in rows)
    if table.name == RECORDS:
        noun, names = "record", _common_names(table.columns, rows)
    # A single name that comes again is a list of outcomes ("ok: web-1"), or chance.
    if len(names) < 2 or (noun == "field" and fields < 0.8 * len(lines)):
        return None
    return Description(Kind.RECORDS, counted(count, noun), names)


def _common_names(columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the names that half of the records have, and two at least."""
    filled = Counter[str]()
    for row in rows:
        filled.update(name for name, cell in zip(columns, row, strict=True) if cell)
    del filled[HEADING]
    return unique_names(name for name in filled if filled[name] >= max(2, 0.5 * len(rows)))
