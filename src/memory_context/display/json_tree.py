"""JSON as a tree that folds, and rows as a table; both bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from memory_context.display.html import Html, folded, joined, soft, table, tag
from memory_context.text.read.json_values import to_json
from memory_context.text.read.tables import TextTable

ROWS = 20
COLUMNS = 12
CELL = 160
NODES = 300
MEMBERS = 50
DEEPEST = 8
OPEN_MEMBERS = 12
OPEN_LEVELS = 2


def rows_of(found: TextTable) -> Html:
    """The first rows of a table, and how many more there are."""
    columns = found.columns[:COLUMNS]
    rows, more = list[Sequence[Any]](), 0
    for row in found.rows():
        if len(rows) < ROWS:
            rows.append(row[:COLUMNS])
        else:
            more += 1
    numbers = [
        at for at in range(len(columns)) if rows and all(_is_number(row[at]) for row in rows)
    ]
    drawn = table(columns, ([_cell(value) for value in row] for row in rows), numbers)
    return joined((drawn, *_notes(more, len(found.columns) - len(columns))))


def _notes(rows: int, columns: int) -> Iterator[Html]:
    left = [
        f"{count:,} more {noun}" for count, noun in ((rows, "rows"), (columns, "columns")) if count
    ]
    if left:
        yield soft(f"⋯ {' and '.join(left)}")


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value.replace(".", "", 1).removeprefix("-").isdecimal()
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else to_json(value)
    return text if len(text) <= CELL else f"{text[:CELL]}…"


class Tree:
    """Draws one JSON value; after `NODES` parts of it, it says how much it leaves out."""

    def __init__(self) -> None:
        self._left = NODES

    def draw(self, value: Any, name: str | None = None, depth: int = 0) -> Html:  # noqa: ANN401 - whatever JSON holds
        """A value, under the name that it has in what holds it."""
        self._left -= 1
        label = () if name is None else (tag("span", name, cls="name"), ": ")
        members = _members_of(value)
        if not members:
            return tag("div", *label, _scalar(value), cls="leaf")
        brackets = "{}" if isinstance(value, dict) else "[]"
        size = soft(f"{brackets[0]}{len(members):,}{brackets[1]}")
        is_open = depth == 0 or (depth < OPEN_LEVELS and len(members) <= OPEN_MEMBERS)
        return folded(joined((*label, size)), *self._members(members, depth), is_open=is_open)

    def _members(self, members: Sequence[tuple[str, Any]], depth: int) -> Iterator[Html]:
        drawn = 0
        for name, member in members[: MEMBERS if depth < DEEPEST else 0]:
            if self._left <= 0:
                break
            yield self.draw(member, name, depth + 1)
            drawn += 1
        if drawn < len(members):
            yield tag("div", soft(f"⋯ {len(members) - drawn:,} more"), cls="leaf")


def _members_of(value: object) -> list[tuple[str, Any]]:
    """What a value holds, with names or numbers; nothing where it is no object and no list."""
    if isinstance(value, dict):
        return list(cast("Mapping[str, Any]", value).items())
    if isinstance(value, list):
        return [(str(number), member) for number, member in enumerate(cast("Sequence[Any]", value))]
    return []


def _scalar(value: object) -> Html:
    if isinstance(value, str):
        return tag("span", json.dumps(_cell(value), ensure_ascii=False), cls="string")
    return tag("span", to_json(value), cls="number")
