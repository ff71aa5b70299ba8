"""Draw JSON as a tree that folds, and rows as a table; both are bounded in size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from memory_context.display.escaped_html import Html, folded, joined, soft, table, tag
from memory_context.model.json_object import elements_of, members_of
from memory_context.text.describe.description import counted
from memory_context.text.json_documents import to_json
from memory_context.text.rows.text_table import TextTable

ROWS = 20
COLUMNS = 12
CELL = 160  # characters
NODES = 300
MEMBERS = 50
DEEPEST = 8
OPEN_MEMBERS = 12
OPEN_LEVELS = 2


def rows_of(found: TextTable) -> Html:
    """Draw the first rows of a table, and say how many more there are."""
    columns = found.columns[:COLUMNS]
    every_row = iter(found.rows())
    rows = [row[:COLUMNS] for row in islice(every_row, ROWS)]
    more_rows = sum(1 for _ in every_row)
    more_columns = len(found.columns) - len(columns)
    by_column = enumerate(zip(*rows, strict=True))
    numbers = [index for index, cells in by_column if all(map(_is_number, cells))]
    cells = [map(_cell, row) for row in rows]
    left_out = list[str]()
    if more_rows:
        left_out.append(counted(more_rows, "more row"))
    if more_columns:
        left_out.append(counted(more_columns, "more column"))
    drawn = table(columns, cells, numbers)
    if left_out:
        return joined(drawn, soft(f"⋯ {' and '.join(left_out)}"))
    return drawn


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        digits = value.replace(".", "", 1).removeprefix("-")
        return digits.isdecimal()
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, int | float)


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value
    if not isinstance(text, str):
        text = to_json(value)
    if len(text) <= CELL:
        return text
    return f"{text[:CELL]}…"


class JsonTree:
    """Draws one JSON value: up to `NODES` parts of it, and how many more there are."""

    def __init__(self) -> None:
        self._nodes_left = NODES

    def draw(self, value: Any, name: str | None = None, depth: int = 0) -> Html:  # noqa: ANN401 - whatever JSON holds
        """Draw a value under its name in the enclosing object or list."""
        self._nodes_left -= 1
        label = Html("")
        if name is not None:
            label = joined(tag("span", name, cls="name"), ": ")
        members = list(members_of(value).items())
        for number, element in enumerate(elements_of(value)):
            members.append((str(number), element))
        if not members:
            if isinstance(value, str):
                quoted = json.dumps(_cell(value), ensure_ascii=False)
                drawn = tag("span", quoted, cls="string")
            else:
                drawn = tag("span", to_json(value), cls="number")
            return tag("div", label, drawn, cls="leaf")
        size = f"[{len(members):,}]"
        if isinstance(value, dict):
            size = f"{{{len(members):,}}}"
        is_small = depth < OPEN_LEVELS and len(members) <= OPEN_MEMBERS
        inner = self._draw_members(members, depth)
        return folded(joined(label, soft(size)), *inner, is_open=depth == 0 or is_small)

    def _draw_members(self, members: Sequence[tuple[str, Any]], depth: int) -> Iterator[Html]:
        drawn = 0
        if depth < DEEPEST:
            for name, member in members[:MEMBERS]:
                if self._nodes_left <= 0:
                    break
                yield self.draw(member, name, depth + 1)
                drawn += 1
        more = len(members) - drawn
        if more:
            yield tag("div", soft(f"⋯ {more:,} more"), cls="leaf")
