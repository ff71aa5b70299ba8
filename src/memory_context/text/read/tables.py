"""The rows that a text holds: a JSON list, JSON lines, CSV, TSV, or a Markdown table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, cast

from memory_context.exceptions import InvalidSelectionError
from memory_context.model.item import is_storable
from memory_context.text.read.json_values import (
    NOTHING,
    is_json_lines,
    lines_of,
    parse,
    records,
    wrapped,
)

MOST_COLUMNS = 1000
LINES_TRIED = 50
LEAST_EVEN = 0.9
DELIMITERS: Final = (",", "\t", ";", "|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `rows` gives them from the first on, as often as it is called.

    Attributes:
        columns: The names, no two alike in any capitalisation.
        rows: As many cells as columns each: text, or what JSON holds; None for a cell that is not there.
        name: What it was found in, as ``the JSON list $.items``.
        only_texts: Whether all cells are text that a database takes, or None.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    name: str
    only_texts: bool = False


def table_of(text: str) -> Table:
    """The rows of `text`; those inside an MCP result where the text itself is no table.

    Raises:
        InvalidSelectionError: There are none.
    """
    if is_json_lines(text):
        return _of_json_lines(text)
    value = parse(text)
    if value is NOTHING:
        return _of_text(text)
    inside = [part for part in wrapped(value) if part.strip()]
    found = next((table for table in map(_inside, inside) if table), None)
    if found := found or _of_json(value):
        return found
    raise InvalidSelectionError(_no_table())


def _inside(text: str) -> Table | None:
    """The rows of a text inside an MCP result."""
    try:
        return table_of(text)
    except InvalidSelectionError:
        return None


def _no_table() -> str:
    return "where= and columns= need rows: a JSON list, JSON lines, CSV, TSV or a Markdown table; this text has none"


def _of_json(value: Any) -> Table | None:  # noqa: ANN401 - whatever JSON holds
    """The rows of a list, or of the longest of the lists that are least deep in an object."""
    level: list[tuple[str, Any]] = [("$", value)]
    while level:
        lists = [
            (path, cast("Sequence[Any]", item))
            for path, item in level
            if isinstance(item, list) and item
        ]
        if lists:
            path, longest = max(lists, key=lambda pair: len(pair[1]))
            return _of_values(longest, f"the JSON list {path}")
        objects = (
            (path, cast("dict[str, Any]", item)) for path, item in level if isinstance(item, dict)
        )
        level = [
            (f"{path}.{key}", item) for path, members in objects for key, item in members.items()
        ]
    return None


def _of_json_lines(text: str) -> Table:
    """Each line a row; objects are read again whenever rows are wanted, rather than kept."""
    try:
        keys: dict[str, None] = {}
        for record in records(text):
            if not isinstance(record, dict):
                return _of_values(list(records(text)), "the JSON lines")
            keys.update(dict.fromkeys(cast("Mapping[str, Any]", record)))
    except (ValueError, RecursionError) as error:
        message = f"a line of these JSON lines is not JSON: {error}"
        raise InvalidSelectionError(message) from error
    return Table(
        _names(list(keys)),
        lambda: ([r.get(key) for key in keys] for r in records(text)),
        "the JSON lines",
    )


def _of_values(values: Sequence[Any], name: str) -> Table:
    """Objects become rows under their keys, lists rows under numbered columns, other values one column ``value``."""
    if all(isinstance(value, dict) for value in values):
        keys = list(dict.fromkeys(key for value in values for key in value))
        return Table(
            _names(keys), lambda: ([value.get(key) for key in keys] for value in values), name
        )
    if all(isinstance(value, list) for value in values):
        width = max(map(len, values))
        columns = _names([""] * width)
        return Table(
            columns, lambda: ([*value, *[None] * (width - len(value))] for value in values), name
        )
    return Table(("value",), lambda: ([value] for value in values), name)


def _of_text(text: str) -> Table:
    table = _markdown(text) or _delimited(text)
    if table is None:
        raise InvalidSelectionError(_no_table())
    return table


def _delimited(text: str) -> Table | None:
    """CSV with a line of names, by the delimiter that gives most rows as many cells as that line has."""
    for delimiter in DELIMITERS:
        head = list(islice(_cells(text, delimiter), LINES_TRIED))
        width = len(head[0]) if head else 0
        if (
            width > 1
            and len(head) > 1
            and sum(len(row) == width for row in head) >= LEAST_EVEN * len(head)
        ):
            name = "the TSV" if delimiter == "\t" else "the CSV"
            return Table(
                _names(head[0]),
                partial(_rows_of_csv, text, delimiter, width),
                name,
                is_storable(text),
            )
    return None


def _rows_of_csv(text: str, delimiter: str, width: int) -> Iterator[Row]:
    return _even(islice(_cells(text, delimiter), 1, None), width)


def _cells(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of CSV, empty lines left out."""
    lines = (f"{line}\n" for line in lines_of(text.removeprefix("\ufeff")))
    try:
        yield from (
            row
            for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
            if row
        )
    except csv.Error as error:
        message = f"this CSV cannot be read: {error}"
        raise InvalidSelectionError(message) from error


def _markdown(text: str) -> Table | None:
    """The first table: a line with bars above a line of hyphens, and the lines with bars below."""
    before, place = "", 0
    for line in lines_of(text) if "|" in text else ():
        if "-" in line and "|" in line and "|" in before and _RULE.fullmatch(line):
            columns = _names(_split(before))
            return Table(
                columns,
                partial(_rows_below, text, place + len(line) + 1, len(columns)),
                "the Markdown table",
            )
        before, place = line, place + len(line) + 1
    return None


def _rows_below(text: str, start: int, width: int) -> Iterator[Row]:
    return _even(_bars(text, start), width)


def _bars(text: str, start: int) -> Iterator[list[str]]:
    while start < len(text):
        end = text.find("\n", start) % (len(text) + 1)
        if "|" not in (line := text[start:end]):
            return
        yield _split(line)
        start = end + 1


def _split(line: str) -> list[str]:
    cells = _BAR.split(line.strip().removeprefix("|"))
    if cells and not cells[-1].strip():
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _even(rows: Iterable[list[str]], width: int) -> Iterator[Row]:
    """Rows of `width` cells: missing ones are None, those too many are joined to the last."""
    for row in rows:
        if len(row) > width:
            yield [*row[: width - 1], ",".join(row[width - 1 :])]
        else:
            yield [*row, *[None] * (width - len(row))]


def _names(names: list[str]) -> tuple[str, ...]:
    """Names for columns: without control characters, numbered where they are empty or taken."""
    if len(names) > MOST_COLUMNS:
        message = f"this table has {len(names)} columns; where= and columns= take {MOST_COLUMNS} at most; use path="
        raise InvalidSelectionError(message)
    taken: Counter[str] = Counter()
    result = list[str]()
    for number, name in enumerate(names, 1):
        plain = _CONTROLS.sub(" ", str(name)).strip() or f"column{number}"
        while taken[plain.lower()]:
            plain = f"{plain}_{number}"
        taken[plain.lower()] += 1
        result.append(plain)
    return tuple(result)
