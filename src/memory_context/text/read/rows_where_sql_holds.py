"""Find the rows of a text's table for which a SQL expression holds: a short form of a query on one text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import (
    InvalidQueryError,
    InvalidSelectionError,
    NothingMatchedError,
)
from memory_context.model.query_result import csv_text
from memory_context.model.selection import Selection
from memory_context.text.json_documents import to_json
from memory_context.text.query.sandboxed_database import (
    LockedDatabase,
    cell_text,
    columns_with_examples,
)
from memory_context.text.read.abridged_values import LIMITS, abridged
from memory_context.text.read.paging import CHARACTERS_TRIED_PER_TOKEN
from memory_context.text.read.read_time_limit import TimeLimit
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.rows.text_table import Row

LONGEST_SHOWN = 80
TABLE = "data"


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows to page through, written as CSV below a line with the names of the columns.

    Attributes:
        columns: The names of the columns.
        rows: The rows that may be on the page.
        first: The index of the first of `rows` among the selected ones.
        total: How many rows were selected.
        of: How many rows the table has.
        name: The table's name, such as ``the JSON list $.items``; empty if the rows are not of a single table.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    first: int
    total: int
    of: int = 0
    name: str = ""

    def part(self, start: int, end: int) -> str:
        """Return a phrase that says which of the rows these are."""
        wording = prompts.PART_ROWS if self.name else prompts.PART_ANSWER
        return wording.format(
            first=start + 1, last=end, total=self.total, of=self.of, name=self.name
        )

    def render(self, start: int, end: int) -> str:
        """Render CSV by RFC 4180, but with line feeds; nested values are JSON, and missing ones are empty."""
        rows = self.rows[start - self.first : end - self.first]
        written = [map(cell_text, row) for row in rows]
        return csv_text([self.columns, *written])

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield the row with its long cells cut more and more."""
        cells = [cell_text(cell) for cell in self.rows[index - self.first]]
        for limit in LIMITS:
            shorter = [abridged(cell, limit, 1) for cell in cells]
            yield csv_text([self.columns, shorter])


def found_rows(
    text: str,
    selection: Selection,
    offset: int,
    budget: int | None,
    *,
    is_answer: bool,
) -> FoundRows:
    """Return the rows of the table in `text` for which ``where`` holds, with the ``columns`` that are asked for.

    Only rows from `offset` on are returned, as many as a page of `budget` tokens could hold. As in a query, columns of
    numbers are numbers, and cells without a value are NULL. The expressions can reach nothing but the table, and have 5
    seconds. *is_answer* is whether `text` is the saved answer of a query.

    Raises:
        InvalidSelectionError: The text has no table, or an expression is invalid; the message names the columns.
        NothingMatchedError: ``where`` holds for no row; the message names the columns.
        SelectionTimeoutError: It took too long.
    """
    table = table_of(text, is_answer=is_answer)
    where = "1" if selection.where is None else selection.where
    stop = sys.maxsize
    if budget is not None:
        stop = offset + CHARACTERS_TRIED_PER_TOKEN * max(budget, 1) + 1
    columns = "*" if selection.columns is None else selection.columns
    tables = {TABLE: table}
    with LockedDatabase(tables.get, TimeLimit()) as database:
        # First, so that the error of the next statement names the columns, even if that one cannot be parsed.
        [[count]] = database.select(f"SELECT count(*) FROM {TABLE}").rows  # noqa: S608 - a constant
        try:
            found = database.select(
                f"SELECT {columns}\nFROM {TABLE} WHERE (\n{where}\n)", bounded=False
            )
        except InvalidQueryError as error:
            raise InvalidSelectionError(_error_message(selection, error)) from error
    if not found.rows:
        message = prompts.NO_ROW.format(
            count=count,
            name=table.name,
            where=to_json((selection.where or "")[:LONGEST_SHOWN]),
            columns=prompts.COLUMNS.format(columns=columns_with_examples(table)),
        )
        raise NothingMatchedError(message)
    return FoundRows(
        found.columns, found.rows[offset:stop], offset, len(found.rows), count, table.name
    )


def _error_message(selection: Selection, error: InvalidQueryError) -> str:
    given = list[str]()
    for name, value in (("where", selection.where), ("columns", selection.columns)):
        if value:
            shown = to_json(value[:LONGEST_SHOWN])
            given.append(f"{name}={shown}")
    return f"{', '.join(given)} cannot be used: {error}"
