"""Find the lines with the names of columns above rows, whatever the form of the table.

A table begins a *block*: the lines between two blank ones. So a text may hold several tables, one below another or below
prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from memory_context.text.excerpt.records_by_line_forms import LONGEST_RECORD
from memory_context.text.lines import BLANK_LINE
from memory_context.text.rows.columns_printed_by_commands import LEAST_COLUMNS, certain_columns
from memory_context.text.rows.ruled_tables import begins_ruled, lines_of_names
from memory_context.text.rows.separated_values import named_columns
from memory_context.text.spans import Span

# So much of the beginning of a block shows whether it is a table.
HEADER_LINES = 20
HEADER_CHARACTERS = 4000
LEAST_LINES = 3
# Names are within this many characters of the beginning of their block.
NEAR = 400
# Without gaps, separators and rules there are no columns.
_MAY_HOLD_NAMES = re.compile(r"  |[\t,;|│]|[-=─━═]{2}")


def names_above(text: str, place: int) -> Span | None:
    """Return the span of the names that the block around a place begins with; None if it does not begin with any.

    A short table below a title, as psql describes one of several tables, counts as a paragraph, which is read as a whole.
    """
    above = text.rfind(BLANK_LINE, 0, place)
    start = above + len(BLANK_LINE) if above >= 0 else 0
    stop = end_of_names(text, start, len(text))
    if not stop:
        return None
    names = text[start:stop]
    is_titled = "\n" in names and not begins_ruled(names)
    if is_titled and BLANK_LINE in text[stop : start + LONGEST_RECORD]:
        return None
    return start, stop


def blocks_with_names(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield, for each block of ``text[start:end]`` that begins with names, its start, the end of the names, and its end."""
    while start < end:
        stop = text.find(BLANK_LINE, start, end)
        if stop < 0:
            stop = end
        if names := end_of_names(text, start, stop):
            yield start, names, stop
        start = stop + len(BLANK_LINE)


def end_of_names(text: str, start: int, end: int) -> int:
    """Return where the names of columns at the beginning of ``text[start:end]`` end; 0 if it does not begin with any."""
    if not _MAY_HOLD_NAMES.search(text, start, min(end, start + NEAR)):
        return 0
    names = _length_of_names(text[start : min(end, start + HEADER_CHARACTERS)])
    return start + names if names else 0


@lru_cache(maxsize=64)
def _length_of_names(beginning: str) -> int:
    """Return the length of the names at the beginning of a text, 0 without any; cached, as it is needed for each row."""
    first_lines = beginning.split("\n")[:HEADER_LINES]
    lines = list(takewhile(bool, first_lines))
    if len(beginning) == HEADER_CHARACTERS and len(lines) < HEADER_LINES:
        lines = lines[:-1]  # the last one may be cut off
    if len(lines) < LEAST_LINES:
        return 0
    names = lines_of_names(lines)
    if not names and _begins_with_names(lines):
        names = 1
    return len("\n".join(lines[:names]))


def _begins_with_names(lines: list[str]) -> bool:
    """Return whether the first of these lines names columns that have no rule below their names."""
    # A drawn table may have a bar at either end.
    block = "\n".join(line.replace("│", "|").strip("|") for line in lines)
    # With two columns, prose that has one comma in every line would look like a table.
    if len(named_columns(block)) >= LEAST_COLUMNS:
        return True
    # Two names must have a gap between them, which titles lack.
    first = block.partition("\n")[0].strip()
    if "  " not in first:
        return False
    table = certain_columns(block)
    # The columns of a listing have names that are not in it.
    return table is not None and first.endswith(table.columns[-1])
