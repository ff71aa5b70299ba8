"""Read CSV and similar text: lines that all have the same number of tabs, commas, semicolons or bars."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, groupby, islice

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.lines import lines_of
from memory_context.text.query.quantities_in_texts import is_quantity
from memory_context.text.rows.names_in_first_row import (
    has_names,
    is_number,
    names_another_table,
    names_numbers,
)
from memory_context.text.rows.text_table import (
    Row,
    TextTable,
    column_names,
    evened,
    with_nulls,
)

LINES_TRIED = 50
BEGINNING = 4_000
LEAST_EVEN = 0.9
DELIMITERS = {"\t": "TSV", ",": "CSV", ";": "CSV", "|": "CSV"}
# A header and two rows, of three cells each, cannot be chance.
LEAST_LINES = 3
LEAST_CELLS = 2
# The comma in `12,345`, which does not separate cells.
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MILLISECONDS = re.compile(r"\d{3}\b.*\s\S")
# A word with a digit, such as a hash; not letters with a number after them (`Q3`), which may end a sentence.
_WORD_WITH_DIGIT = re.compile(r"\s*(?![A-Za-z]+\d+\W*$)[^\s\d]*\d\S*\s*")
_CODE_ENDS = (".", ";", "{", ":", ")", "(", ",")


def separated_table(text: str) -> TextTable | None:
    """Return the table of a text of which nearly all lines have a delimiter as often as the first; None for other texts.

    The first row holds the names of the columns, unless it looks like the others. If cells of the first row are padded
    with spaces, all cells are stripped.
    """
    heads = dict[str, list[Row]]()
    for delimiter in DELIMITERS:
        with suppress(InvalidSelectionError):  # it may be a table with another delimiter
            heads[delimiter] = list(islice(_rows(text, delimiter), LINES_TRIED)) or [[]]

    def rank(delimiter: str) -> tuple[bool, int]:
        # Tabs are tried first, because cells hardly ever contain one; then the delimiter that gives the most cells: a
        # line with one decimal comma has more semicolons.
        cells = heads[delimiter][0]
        return delimiter != "\t", -len(cells)

    for delimiter in sorted(heads, key=rank):
        head = heads[delimiter]
        if _are_rows(head, delimiter) and not _separates_no_cells(text, head, delimiter):
            return _table_of(text, delimiter, head)
    return None


def _table_of(text: str, delimiter: str, head: list[Row]) -> TextTable | None:
    """Return the table that begins with the rows *head*; None if rows may be lost or belong to another table."""
    first = head[0]
    width = len(first)
    is_named = has_names(head)
    names = first if is_named else []
    if _holds_other_tables(text, delimiter, names) or _may_lose_rows(text, delimiter):
        return None
    # The last two cells of `Oslo,1,234` may mean 1234; those of `Oslo,late, but paid` are one text with a comma in it.
    for row in _rows(text, delimiter):
        if any(row[width:]) and any(map(is_number, row[width - 1 :])):
            return None
    is_padded = any(cell != cell.strip() for cell in first)

    def rows() -> Iterator[Row]:
        below_names = islice(_rows(text, delimiter), int(is_named), None)
        for row in evened(below_names, width, delimiter):
            cells = row
            if is_padded:
                cells = [cell and cell.strip() for cell in row]
            yield with_nulls(cells)

    columns = column_names(names or [""] * width)
    name = f"the {DELIMITERS[delimiter]}"
    return TextTable(columns, rows, name, by_semicolons=delimiter == ";")


def answer_table(text: str) -> TextTable:
    """Return the table of a saved answer of a query: CSV below a line of names, perhaps of one column or without a row.

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
    """Return whether a later row repeats the names, or a blank line is followed by the names of another table."""
    longest_name = max(names, key=len, default="")
    # A cheap test first: names are seldom repeated.
    may_recur = names and text.count(longest_name) > 1
    if may_recur and names in islice(_rows(text, delimiter), 1, None):
        return True
    if not _BLANK_LINE.search(text.strip()):
        return False
    above = list[Row]()
    for is_blank, block in groupby(_rows(text, delimiter, keeps_blank=True), key=_is_blank):
        if is_blank:
            continue
        table = list(islice(block, LINES_TRIED))
        if not above:
            above = table
        elif names_another_table([row for row in table if len(row) > 1], above):
            return True
    return False


def _is_blank(row: Row) -> bool:
    return not any(map(str.strip, row))


def named_columns(head: str) -> tuple[str, ...]:
    """Return the names in the first line of a text, above lines with as many cells; empty if it holds none.

    The cells may be times and levels, as in the lines of a log. But the only comma in each line of a log may be that
    before its milliseconds, which separates no cells.
    """
    table = separated_table(head)
    if table is None:
        return ()
    last_cells = [str(row[-1] or "") for row in islice(table.rows(), LINES_TRIED)]
    if len(table.columns) == 2 and all(map(_MILLISECONDS.match, last_cells)):
        return ()
    first = head.partition("\n")[0]
    # The first column may have no name, as that of row numbers.
    return table.columns if table.columns[-1] in first else ()


def _are_rows(rows: list[Row], delimiter: str) -> bool:
    """Return whether these are rows of a table, and not sentences or code with equally many commas in each line."""
    if len(rows) < 2:
        return False
    first = rows[0]
    # Without any first cell it is an indented list.
    if len(first) < LEAST_CELLS or not any(row[0].strip() for row in rows):
        return False
    widths = list(map(len, rows))
    if widths.count(len(first)) < LEAST_EVEN * len(rows):
        return False
    if delimiter == "\t":
        return True
    # The first cell may be blank: a table that numbers its rows has no name for the numbers.
    if not all(map(str.strip, first[1:])):
        return False
    ends: tuple[str, ...] = _CODE_ENDS
    if delimiter == "|":
        ends = (";", "{")
    code = 0
    for row in rows:
        cell = row[-1].strip()
        # A cell in parentheses is not code, but a bookkeeper's negative amount.
        may_be_code = cell.endswith(ends) and not cell.startswith("(")
        if may_be_code and not is_quantity(row[-1]):
            code += 1
    return code < 0.5 * len(rows)


def _separates_no_cells(text: str, rows: list[Row], delimiter: str) -> bool:
    """Return whether all commas are within numbers, or each line has one delimiter with a space after it, as sentences do.

    A column of words with digits, such as hashes, shows that it is a table; if bars separate the cells, so does a text
    with only numbers below it.
    """
    if delimiter == "," and "," not in _GROUPED.sub("", text[:BEGINNING]):
        return True
    if len(rows[0]) != 2:
        return False
    last_cells = [row[-1] for row in rows[1:]]
    if len(rows) >= LEAST_LINES and all(map(_WORD_WITH_DIGIT.fullmatch, last_cells)):
        return False
    if delimiter == "|" and names_numbers(rows):
        return False
    filled = filter(str.strip, lines_of(text))
    lines = islice(filled, len(rows))
    return all(f"{delimiter} " in line for line in lines)


def _rows(text: str, delimiter: str, *, keeps_blank: bool = False) -> Iterator[Row]:
    """Yield the rows, without blank lines unless they are kept.

    Raises:
        InvalidSelectionError: A row cannot be read.
    """
    for row in _parsed(_reader(text, delimiter)):
        # A line of white space, tabs included, is no row.
        may_be_blank = len(row) < LEAST_CELLS or delimiter == "\t"
        if keeps_blank or not (may_be_blank and _is_blank(row)):
            yield row


def _reader(text: str, delimiter: str, *, strict: bool = False) -> Iterator[Row]:
    is_spaced = delimiter != "\t"
    return csv.reader(_lines(text), delimiter=delimiter, skipinitialspace=is_spaced, strict=strict)


def _parsed(reader: Iterable[Row]) -> Iterator[Row]:
    try:
        yield from reader
    except csv.Error as error:
        raise InvalidSelectionError(f"this CSV cannot be read: {error}") from error


def _lines(text: str) -> Iterable[str]:
    # Only a line feed ends a line, as everywhere in this package.
    return io.StringIO(text, newline="\n")


def _may_lose_rows(text: str, delimiter: str) -> bool:
    """Return whether a quotation mark that is never closed may have made one cell of several rows."""
    if '"' not in text:
        return False
    try:
        for _ in _reader(text, delimiter, strict=True):
            pass
    except csv.Error:
        cells = chain.from_iterable(_rows(text, delimiter))
        return any("\n" in cell for cell in cells)
    return False
