"""Find the rows that a text holds, whatever its form; the form is recognised as it is for the text's description."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.describe.choose_describer import identify
from memory_context.text.describe.description import Kind
from memory_context.text.describe.sample_for_describers import HEAD, behind_lead
from memory_context.text.html_pages import CELL_BAR, RULE_CELL
from memory_context.text.json_documents import NOTHING, is_json_lines, parse, records
from memory_context.text.lines import BLANK_LINE, BYTE_ORDER_MARK, lines_of
from memory_context.text.python_literals import is_object, only_objects_in
from memory_context.text.rows.columns_printed_by_commands import command_table
from memory_context.text.rows.log_lines import log_table
from memory_context.text.rows.names_above_rows import blocks_with_names, end_of_names
from memory_context.text.rows.names_in_first_row import has_names, names_numbers
from memory_context.text.rows.record_blocks import record_table
from memory_context.text.rows.ruled_tables import (
    is_no_single_table,
    markdown_table,
    ruled_table,
)
from memory_context.text.rows.separated_values import answer_table, separated_table
from memory_context.text.rows.text_table import Row, TextTable, column_names, with_nulls
from memory_context.text.rows.values_as_rows import rows_of_values, table_of_value
from memory_context.text.rows.yaml_and_toml_values import configuration_table, yaml_documents
from memory_context.text.unwrap_mcp_json_and_fences import unwrap
from memory_context.text.words_of_page import words_of_page

# A table that is a smaller share of a page is not what the page is about.
LEAST_OF_PAGE = 0.01
LEAST_ROWS = 2
# A table of two columns may describe a term in each row, and have no names.
LEAST_COLUMNS = 3
_BARS_AT_ENDS = re.compile(r"\| .*\|")
# What the table of a text without rows is called.
LINES = "the lines"
NO_TABLE = "this text has no rows: it is empty"


def table_of(text: str, *, is_answer: bool = False) -> TextTable:
    """Return the rows of `text`; if it has none by its form, its lines.

    A wrapper around the rows, and a line that introduces them, are skipped.

    Args:
        text: The text.
        is_answer: Whether it is a saved answer of a query, whose form need not be guessed.

    Raises:
        InvalidSelectionError: The text is empty, or a row cannot be read.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    if not text.strip():
        raise InvalidSelectionError(NO_TABLE)
    if is_answer:
        return answer_table(text)
    text = text.replace("\r\n", "\n")

    def lines() -> Iterator[Row]:
        for number, line in enumerate(lines_of(text), 1):
            yield [number, line]

    return _rows_in(text) or TextTable(("line", "text"), lines, LINES)


def _rows_in(text: str, *, may_lead: bool = True) -> TextTable | None:
    """Return the rows of a text that has some by its form, perhaps after one introductory line; otherwise None."""
    if is_json_lines(text):
        return _of_json_lines(text)
    inner = unwrap(text).text
    if inner is not text:
        return table_of(inner)
    value = parse(text)
    if value is not NOTHING:
        return table_of_value(value)
    table = _of_objects(text) or _of_page(text) or _of_other_text(text)
    if table or not may_lead:
        return table
    rest = behind_lead(text)
    return _rows_in(rest, may_lead=False) if rest else None


def _of_other_text(text: str) -> TextTable | None:
    """Return the rows of a text that is not JSON, read as the kind of text that it is described as."""
    head = text
    if len(text) > HEAD:
        last_line = text.rfind("\n", 0, HEAD) + 1
        head = text[: last_line or HEAD]
    match identify(head).kind:
        case Kind.LOG:
            return log_table(text)
        case Kind.RECORDS:
            return record_table(text, yaml_documents(text))
        case Kind.YAML:
            return configuration_table(text, yaml_documents(text))
        case _ if is_no_single_table(text):
            return None
        case Kind.TABLE | Kind.TEXT | Kind.FILES:
            return markdown_table(text) or _of_single_table(text) or _of_block(text)
        case _:
            return markdown_table(text)


def _of_page(text: str) -> TextTable | None:
    """Return the rows of the largest table of an HTML page; None for other texts."""
    page = words_of_page(text)
    if page is None:
        return None
    tables = (block for block in page.text.split(BLANK_LINE) if block.startswith("| "))
    largest = max(tables, key=len, default="")
    if "\n" not in largest or len(largest) < LEAST_OF_PAGE * len(page.text):
        return None
    return _of_table_in_page(largest)


def _of_table_in_page(block: str) -> TextTable | None:
    """Return the rows of a table as `words_of_page` writes it; None if a row has other cells, as a title has."""
    lines = list(lines_of(block))
    if not all(map(_BARS_AT_ENDS.fullmatch, lines)):
        return None
    rows = [list(map(str.strip, CELL_BAR.split(line)[1:-1])) for line in lines]
    if len(set(map(len, rows))) > 1:
        return None
    names: Row = []
    may_have_names = len(rows[0]) >= LEAST_COLUMNS and has_names(rows)
    if set(rows[1]) == {RULE_CELL}:
        names = rows[0]
        del rows[:2]
    elif may_have_names or names_numbers(rows):
        names = rows.pop(0)
    if len(rows) < LEAST_ROWS:
        return None
    cells = [[cell.replace("\\|", "|") for cell in row] for row in rows]
    return rows_of_values(list(map(with_nulls, cells)), "the largest table of the page", names)


def _of_block(text: str) -> TextTable | None:
    """Return the rows of the longest block, as below a summary; None unless it alone has names and is most of the text."""
    block = max(text.split(BLANK_LINE), key=len)
    # The other lines must not be rows, and not too many.
    others = text.replace(block, "", 1)
    filled = sum(1 for line in lines_of(others) if line.strip())
    are_too_many = filled > block.count("\n") + 1
    if are_too_many or ("|" in block and "|" in others):
        return None
    if not end_of_names(block, 0, len(block)):
        return None
    if any(blocks_with_names(others, 0, len(others))):
        return None
    return _of_single_table(block)


def _of_single_table(text: str) -> TextTable | None:
    return ruled_table(text) or separated_table(text) or command_table(text)


def _of_objects(text: str) -> TextTable | None:
    """Return the rows of JSON objects that follow one another, each over several lines; None for other texts."""
    objects = only_objects_in(text)
    if not objects:
        return None
    return rows_of_values(objects, "the JSON objects")


def _of_json_lines(text: str) -> TextTable:
    """Return each JSON line as a row; the lines are not kept in memory, but parsed again at each call of `rows`."""
    keys: dict[str, None] = {}
    try:
        for record in records(text):
            if not is_object(record):
                return rows_of_values(list(records(text)), "the JSON lines")
            keys.update(dict.fromkeys(record))
    except (ValueError, RecursionError) as error:
        raise InvalidSelectionError(f"a line of these JSON lines is not JSON: {error}") from error
    return TextTable(
        column_names(list(keys)),
        lambda: ([record.get(key) for key in keys] for record in records(text)),
        "the JSON lines",
    )
