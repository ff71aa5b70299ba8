"""The output of commands as rows: columns below names, and listings of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from memory_context.text.lines import lines_of
from memory_context.text.rows.text_table import Row, TextTable, column_names

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
_GAP = re.compile(r"\s{2,}")
_NAME = re.compile(r"\S+(?: \S+)*")


def command_table(text: str) -> TextTable | None:
    """Return the rows of `ls -l`, of `git log --oneline`, or of columns below a line of names; None for other texts."""
    lines = [line for line in islice(lines_of(text), TRIED) if line.strip()]
    if len(lines) < 2:
        return None
    for pattern, columns in ((_LONG, LISTING), (_COMMIT, ("commit", "message"))):
        listed = lines[1:] if lines[0].startswith("total ") else lines
        if listed and all(pattern.fullmatch(line) for line in listed):
            return TextTable(columns, lambda p=pattern: _matches(text, p), "the listing")  # type: ignore[misc]
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
    starts = [match.start() for match in _NAME.finditer(_joined_names(head))]
    if len(starts) > 1 and _are_aligned(rows, starts):
        columns = [
            head[start:stop].strip()
            for start, stop in zip(starts, [*starts[1:], None], strict=True)
        ]
        return TextTable(column_names(columns), lambda: _sliced(text, starts), "the columns")
    capitals = sum(1 for name in names if name[:1].isupper() or not name[:1].isalpha())
    narrowest = min(len(row.split()) for row in rows)
    if capitals < LEAST_CAPITALS * len(names) or narrowest < 2 or narrowest < len(names) - 1:
        return None
    width = min(len(names), narrowest)
    columns = [*names[: width - 1], " ".join(names[width - 1 :])]
    return TextTable(column_names(columns), lambda: _split(text, width), "the columns")


def _joined_names(head: str) -> str:
    """Return a line of names in which those that one blank parts are one, as in ``CONTAINER ID   IMAGE``."""
    return head if _GAP.search(head.strip()) else head.replace(" ", "  ")


def _are_aligned(rows: list[str], starts: list[int]) -> bool:
    """Return whether cells begin where the names do, with a blank before each."""
    aligned, cells = 0, 0
    for row in rows:
        for start in starts[1:]:
            if start < len(row):
                cells += 1
                aligned += row[start - 1] == " " and row[start] != " "
    return cells > 0 and aligned >= LEAST_ALIGNED * cells


def _sliced(text: str, starts: list[int]) -> Iterator[Row]:
    for line in _lines_below(text):
        ends = [*starts[1:], len(line)]
        yield [line[start:end].strip() or None for start, end in zip(starts, ends, strict=True)]


def _split(text: str, width: int) -> Iterator[Row]:
    for line in _lines_below(text):
        cells: Row = line.split(None, width - 1)
        yield [*cells, *[None] * (width - len(cells))]


def _lines_below(text: str) -> Iterator[str]:
    """Yield the lines below the names, blank ones left out."""
    filled = (line for line in lines_of(text) if line.strip())
    return islice(filled, 1, None)
