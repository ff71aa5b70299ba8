"""Describe a table's columns in a preview, so that the model's first query on it is right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidSelectionError
from memory_context.text.excerpt.objects_of_json import step_to
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
# A path that `path=` follows: not of YAML or TOML, and not cut.
_PATH_IN_JSON = re.compile(r"the JSON \w+ \$(.{1,120})")


def table_line(text: str, counter: TokenCounter, budget: int) -> str:
    """Return a line with the columns of a text's table, their kinds, the first row, and in JSON the path of the table.

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
    path = _PATH_IN_JSON.fullmatch(table.name)
    line = prompts.TABLE_COLUMNS.format(
        of_list=prompts.OF_LIST.format(path=path[1]) if path else "",
        columns=listed(columns, LONGEST_COLUMN),
        row=", ".join(map(_shown, zip(*sample, strict=True))),
    )
    if counter.count(line) > budget // LARGEST_PART:
        return ""
    return line


def _shown(cells: Sequence[Any]) -> str:
    """Return a column's first cell on one line, cut; in a column of objects, their members if it is long or missing."""
    text = cell_text(cells[0])
    longest = LONGEST_CELL
    named = next(filter(is_object, cells), None)
    if named and (not cells[0] or len(text) > LONGEST_CELL):
        names = (step_to(name).strip(".[]") for name in named)
        text = f"{{{', '.join(names)}}}"
        longest = LONGEST_MEMBERS
    return listed([" ".join(text.split())], longest)
