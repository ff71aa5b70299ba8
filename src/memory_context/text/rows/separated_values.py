"""Read CSV and similar text: lines that all have the same number of tabs, commas, semicolons or bars."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby, islice
from typing import Final

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.lines import lines_of
from memory_context.text.query.quantities_in_texts import is_quantity
from memory_context.text.rows.names_in_first_row import (
    has_names,
    names_another_table,
    names_numbers,
)
from memory_context.text.rows.rows_under_columns import (
    Row,
    TextTable,
    column_names,
    evened,
    with_nulls,
)

LINES_TRIED = 50
LEAST_EVEN = 0.9
DELIMITERS: Final = {"\t": "TSV", ",": "CSV", ";": "CSV", "|": "CSV"}
# A header and two rows, of three cells each, cannot be chance.
LEAST_LINES = 3
LEAST_CELLS = 2
LEAST_BARS = 2
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MILLISECONDS: Final = re.compile(r"\d{3}\b.*\s\S")
_CODE_ENDS = (".", ";", "{", ":", ")", "(", ",")


def separated_table(text: str) -> TextTable | None:
    """Return the table of a text whose lines nearly all have a delimiter as often as the first; None for other texts.

    The first row holds the names of the columns, unless it looks like the others. If cells of the first row are padded
    with blanks, all cells are stripped.
    """
    heads = list[tuple[str, list[list[str]]]]()
    for delimiter in DELIMITERS:
        with suppress(InvalidSelectionError):  # it may be a table with another delimiter
            heads.append((delimiter, list(islice(_rows(text, delimiter), LINES_TRIED)) or [[]]))
    # Tabs are tried first, because cells hardly ever contain one; then the delimiter that gives the most cells: a line
    # with one decimal comma has more semicolons.
    heads.sort(key=lambda tried: (tried[0] != "\t", -len(tried[1][0])))
    for delimiter, head in heads:
        if not _are_rows(head, delimiter) or _are_sentences(text, head, delimiter):
            continue
        width = len(head[0])
        is_named = has_names(head)
        if _holds_other_tables(text, delimiter, head[0] if is_named else []):
            return None
        if _may_lose_rows(text, delimiter):
            return None
        is_padded = any(cell != cell.strip() for cell in head[0])

        rows = partial(_cells, text, delimiter, width, int(is_named), is_padded=is_padded)
        names = column_names(head[0] if is_named else [""] * width)
        name = f"the {DELIMITERS[delimiter]}"
        return TextTable(names, rows, name, by_semicolons=delimiter == ";")
    return None


def answer_table(text: str) -> TextTable:
    """Return the table of a saved answer of a query: CSV below a line of names, of one column or without a row, too.

    Raises:
        InvalidSelectionError: A row cannot be read.
    """
    names = next(_parsed(csv.reader(_lines(text))))

    def rows() -> Iterator[Row]:
        # Somebody may have edited the answer, so that its rows are not all as long as the names.
        written = filter(None, islice(_parsed(csv.reader(_lines(text))), 1, None))
        for row in evened(written, len(names)):
            yield [cell or None for cell in row]

    return TextTable(column_names(names), rows, "the answer")


def _holds_other_tables(text: str, delimiter: str, names: Row) -> bool:
    """Return whether a later row is the names again, or a blank line is followed by the names of another table."""
    may_be_again = names and text.count(max(names, key=len)) > 1
    if may_be_again and names in islice(_rows(text, delimiter), 1, None):
        return True
    if not _BLANK_LINE.search(text.strip()):
        return False
    blocks = groupby(_rows(text, delimiter, keeps_blank=True), key=_is_blank)
    tables = (list(islice(block, LINES_TRIED)) for is_blank, block in blocks if not is_blank)
    first_table = next(tables, None)
    if first_table is None:
        return False
    above = first_table[1:]
    return any(
        names_another_table([row for row in table if len(row) > 1], [names, *above])
        for table in tables
    )


def _is_blank(row: Row) -> bool:
    return not any(map(str.strip, row))


def begins_with_names(head: str) -> bool:
    """Return whether the beginning of a text is a line of names above lines with as many cells.

    The cells may be times and levels, so that the lines look like those of a log. But a log may have one comma in each line,
    before its milliseconds.
    """
    table = separated_table(head)
    if table is None:
        return False
    first = head.partition("\n")[0]
    last_cells = [str(row[-1] or "") for row in islice(table.rows(), LINES_TRIED)]
    is_log = len(table.columns) == 2 and all(map(_MILLISECONDS.match, last_cells))
    return not is_log and all(name in first for name in table.columns)


def table_between_bars(text: str) -> TextTable | None:
    """Return the one table within a text, whose lines have equally many bars; None if other lines have bars, too."""
    blocks = list[list[str]]()
    for bars, lines in groupby(lines_of(text), key=lambda line: line.count("|")):
        if bars:
            blocks.append(list(lines))
    if len(blocks) != 1 or len(blocks[0]) < LEAST_LINES or blocks[0][0].count("|") < LEAST_BARS:
        return None
    return separated_table("\n".join(blocks[0]))


def _cells(
    text: str, delimiter: str, width: int, skipped: int, *, is_padded: bool
) -> Iterator[Row]:
    for row in evened(islice(_rows(text, delimiter), skipped, None), width, delimiter):
        yield with_nulls([cell and cell.strip() for cell in row] if is_padded else row)


def _are_rows(rows: list[list[str]], delimiter: str) -> bool:
    """Return whether these are rows of a table, and not sentences or code with equally many commas in each line."""
    width = len(rows[0])
    same = sum(1 for row in rows if len(row) == width)
    if len(rows) < 2 or width < LEAST_CELLS or same < LEAST_EVEN * len(rows):
        return False
    if delimiter == "\t":
        return True
    # The first cell may be blank: a table that numbers its rows has no name for the numbers.
    if not all(cell.strip() for cell in rows[0][1:]):
        return False
    # A cell in parentheses is not code, but a bookkeeper's negative amount.
    last_cells = (row[-1].strip() for row in rows if not is_quantity(row[-1]))
    ends = _CODE_ENDS if delimiter != "|" else (";", "{")
    code = sum(1 for cell in last_cells if cell.endswith(ends) and not cell.startswith("("))
    return code < 0.5 * len(rows)


def _are_sentences(text: str, rows: list[list[str]], delimiter: str) -> bool:
    """Return whether each line has one delimiter followed by a blank, as sentences have commas.

    With bars, a text that has only numbers below it shows that it is a table.
    """
    if delimiter == "|" and names_numbers(rows):
        return False
    lines = list(islice(filter(str.strip, lines_of(text)), len(rows)))
    return len(rows[0]) == 2 and all(f"{delimiter} " in line for line in lines)


def _rows(text: str, delimiter: str, *, keeps_blank: bool = False) -> Iterator[list[str]]:
    """Yield the rows, without blank lines unless they are kept.

    Raises:
        InvalidSelectionError: A row cannot be read.
    """
    for row in _parsed(_reader(text, delimiter)):
        if keeps_blank or not _is_blank_line(row, delimiter):
            yield row


def _reader(text: str, delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    is_spaced = delimiter != "\t"
    return csv.reader(_lines(text), delimiter=delimiter, skipinitialspace=is_spaced, strict=strict)


def _parsed(reader: Iterable[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise InvalidSelectionError(f"this CSV cannot be read: {error}") from error


def _lines(text: str) -> Iterable[str]:
    # Only a line feed ends a line, as everywhere in this package.
    return io.StringIO(text, newline="\n")


def _is_blank_line(row: list[str], delimiter: str) -> bool:
    """Return whether a row is a line of white space, which tabs are, too. One inside a cell is not a row."""
    return (len(row) < LEAST_CELLS or delimiter == "\t") and _is_blank(row)


def _may_lose_rows(text: str, delimiter: str) -> bool:
    """Return whether a quotation mark that nothing closes may have made one cell of several rows."""
    if '"' not in text:
        return False
    try:
        deque(_reader(text, delimiter, strict=True), maxlen=0)
    except csv.Error:
        return any("\n" in cell for row in _rows(text, delimiter) for cell in row)
    return False
