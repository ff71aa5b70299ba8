"""The output of commands as rows: columns below names, and listings of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from memory_context.text.lines import lines_of
from memory_context.text.rows.rows_under_columns import Row, TextTable, column_names, evened, sliced

TRIED = 50
LEAST_ALIGNED = 0.95
LEAST_CAPITALS = 0.6
LISTING: Final = ("mode", "links", "owner", "group", "size", "modified", "name")
# A line of `ls -l`; without an owner or a group, as options of it leave them out, it is none.
_LONG = re.compile(
    r"(?P<mode>[-dlcbps][-rwxsStT]{9}[.+@]?) +(?P<links>\d+) +(?P<owner>\S+) +(?P<group>\S+) +"
    r"(?P<size>[\d,.]+[KMGTP]?) +"
    r"(?P<modified>[A-Z][a-z]{2} +\d{1,2} +[\d:]{4,5}|\d{4}-\d\d-\d\d(?: \d\d:\d\d\S*)?(?: [+-]\d{4})?)"
    r" (?P<name>.*)"
)
_COMMIT = re.compile(r"(?P<commit>[0-9a-f]{7,40}) (?P<message>\S.*)")
# Of one word or a few, with two blanks at least before the next, as in `CONTAINER ID   IMAGE`.
_NAME = re.compile(r"\S+(?: \S+)*")


def command_table(text: str) -> TextTable | None:
    """Return the rows of `ls -l`, of `git log --oneline`, or of columns below a line of names; None for other texts."""
    lines = [line for line in islice(lines_of(text), TRIED) if line.strip()]
    if len(lines) < 2:
        return None
    listed = lines[1:] if lines[0].startswith("total ") else lines
    for pattern, columns in ((_LONG, LISTING), (_COMMIT, ("commit", "message"))):
        if all(map(pattern.fullmatch, listed)):
            return TextTable(columns, partial(_matches, text, pattern), "the listing")
    return _below_names(text, lines)


def _matches(text: str, pattern: re.Pattern[str]) -> Iterator[Row]:
    for line in lines_of(text):
        if match := pattern.fullmatch(line):
            yield list(match.groups())


def _below_names(text: str, lines: list[str]) -> TextTable | None:
    """Return columns below names: by where these stand, or by blanks where the last column alone has some."""
    head, rows = lines[0], lines[1:]
    names = head.split()
    if len(names) < 2 or any(character in head for character in ":=.,;()[]{}<>\"'|"):
        return None
    starts = [match.start() for match in _NAME.finditer(head)]
    if len(starts) > 1 and _are_aligned(rows, starts):
        columns = column_names(sliced(head, starts))
        return TextTable(
            columns, lambda: (sliced(line, starts) for line in _lines_below(text)), "the columns"
        )
    capitals = sum(1 for name in names if name[:1].isupper() or not name[:1].isalpha())
    narrowest = min(len(row.split()) for row in rows)
    if capitals < LEAST_CAPITALS * len(names) or narrowest < 2 or narrowest < len(names) - 1:
        return None
    width = min(len(names), narrowest)
    columns = column_names([*names[: width - 1], " ".join(names[width - 1 :])])
    cells = partial(str.split, maxsplit=width - 1)
    return TextTable(columns, lambda: evened(map(cells, _lines_below(text)), width), "the columns")


def _are_aligned(rows: list[str], starts: list[int]) -> bool:
    """Return whether cells begin where the names do, with a blank before each."""
    aligned, cells = 0, 0
    for row in rows:
        for start in starts[1:]:
            if start < len(row):
                cells += 1
                aligned += row[start - 1] == " " and row[start] != " "
    return cells > 0 and aligned >= LEAST_ALIGNED * cells


def _lines_below(text: str) -> Iterator[str]:
    """Yield the lines below the names, blank ones left out."""
    filled = (line for line in lines_of(text) if line.strip())
    return islice(filled, 1, None)
