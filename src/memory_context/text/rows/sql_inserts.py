"""Read the rows that a dump of a database inserts: `INSERT INTO orders (id, total) VALUES (1, 'x'), (2, NULL);`."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from contextlib import suppress

from memory_context.text.rows.rows_under_columns import Row, TextTable, with_nulls
from memory_context.text.rows.values_as_rows import rows_of_values

# What parentheses hold: quoted texts, in which MySQL escapes a quote by a backslash, and others in parentheses.
_INSIDE = r"((?:[^()'`]++|'(?:[^'\\]++|''|\\.)*+'|`[^`]*+`|\((?:[^()']++|'[^']*+')*+\))*+)"
_NAME = r"([\w.`\"\[\]-]++)"
_INSERT = re.compile(
    rf"^INSERT (?:OR \w+ |IGNORE )?INTO {_NAME}\s*(?:\(([^()]*+)\)\s*)?VALUES",
    re.MULTILINE | re.IGNORECASE,
)
_ROW = re.compile(rf"[\s,]*\({_INSIDE}\)", re.DOTALL)
_END = re.compile(r"\s*(?:;|ON\b|\Z)", re.IGNORECASE)
_CREATE = re.compile(
    rf"^CREATE TABLE (?:IF NOT EXISTS )?{_NAME}\s*\({_INSIDE}\)", re.MULTILINE | re.IGNORECASE
)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_QUOTES = '`"[]'


def inserted_table(text: str) -> TextTable | None:
    """Return the rows of the table into which a text inserts the most, if half of the text does that; otherwise None.

    Their names stand in the statements, or in the one that creates the table.
    """
    rows = defaultdict[tuple[str, str], list[str]](list)
    read = 0
    for insert in _INSERT.finditer(text):
        place = insert.end()
        while row := _ROW.match(text, place):
            rows[insert[1], insert[2] or ""].append(row[1].replace("\\'", "''"))
            place = row.end()
        if not _END.match(text, place):
            return None
        read += place - insert.start()
    if not rows or 2 * read < len(text):
        return None
    (table, names), written = max(rows.items(), key=lambda item: sum(map(len, item[1])))
    cells = list[Row]()
    with suppress(csv.Error):  # cells stand in lines of their own
        cells += map(with_nulls, csv.reader(written, quotechar="'", skipinitialspace=True))
    if len(cells) < len(written) or len(set(map(len, cells))) > 1:
        return None
    for created in _CREATE.finditer(text):
        if not names and created[1] == table:
            names = _IN_PARENTHESES.sub("", created[2])
    named = [words[0].strip(_QUOTES) for words in map(str.split, names.split(",")) if words]
    width = len(cells[0])
    first = named[:width] if len(named) >= width else ()
    return rows_of_values(cells, f"the rows of {table.strip(_QUOTES)}", first)
