"""Describe a table's columns in a preview, so that the model's first query on it is right."""

from __future__ import annotations

from itertools import islice
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidSelectionError
from memory_context.text.python_literals import is_object
from memory_context.text.query.number_notations_and_missing_values import SAMPLED, notations_of
from memory_context.text.query.sandboxed_database import cell_text
from memory_context.text.rows.rows_in_text import LINES, table_of
from memory_context.text.shortened_name_list import LONGEST_COLUMN, listed
from memory_context.text.tokens.counter import TokenCounter

# If the columns take more than a third of the budget, the table is wide, and the rows are worth more than its columns.
LARGEST_PART = 3
LONGEST_CELL = 40
LONGEST_MEMBERS = 160


def table_line(text: str, counter: TokenCounter, budget: int) -> str:
    """Return a line with the columns of a text's table, their kinds, the first row, and the list in JSON that they are of.

    Empty if the text has no rows, or if the line takes more than a third of *budget* tokens.
    """
    try:
        table = table_of(text)
    except InvalidSelectionError:
        return ""
    sample = list(islice(table.rows(), SAMPLED))
    if not sample or table.name == LINES:
        return ""
    columns = list[str]()
    for name, notation in zip(table.columns, notations_of(table, sample), strict=True):
        kind = notation.kind if notation else "text"
        columns.append(f"{name} {kind}")
    _, _, path = table.name.partition(" $.")
    line = prompts.TABLE_COLUMNS.format(
        of_list=prompts.OF_LIST.format(path=path) if path else "",
        columns=listed(columns, LONGEST_COLUMN),
        row=", ".join(map(_shown, sample[0])),
    )
    if counter.count(line) > budget // LARGEST_PART:
        return ""
    return line


def _shown(cell: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return the beginning of a cell on one line; of an object, the names of its members, which a query needs."""
    longest = LONGEST_CELL
    if is_object(cell):
        cell = f"{{{', '.join(cell)}}}"
        longest = LONGEST_MEMBERS
    return " ".join(cell_text(cell)[:longest].split())
