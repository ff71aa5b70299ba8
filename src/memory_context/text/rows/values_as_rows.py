"""Make rows of a value of JSON or YAML: of a list of records in it, of objects under keys, or of its members.

*Records* are a list, or an object whose members are objects with names in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from memory_context.model.json_object import JsonObject
from memory_context.text.excerpt.objects_of_json import step_to
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.rows.lists_as_columns import records_by_columns
from memory_context.text.rows.text_table import Row, TextTable, column_names, evened

KEY = "key"
PAIRS = "the fields"
# A single common name may be chance: several sections of a configuration have a port.
LEAST_COMMON = 2


@dataclass(frozen=True)
class FoundRecords:
    """A list, or an object of similar objects, found in a value.

    Attributes:
        path: Its JSONPath.
        key: Its key in the object around it; empty if there is none.
        value: The list or object itself.
        owner: The object around it; empty if there is none.
    """

    path: str
    key: str
    value: Any
    owner: JsonObject

    @cached_property
    def weight(self) -> int:
        """Return its length when written as text."""
        return len(str(self.value))

    def are_records(self, *, mostly: bool) -> bool:
        """Return whether its items are objects or lists; if *mostly*, at least half of them are enough."""
        if is_object(self.value):
            return True
        count = sum(1 for item in self.value if isinstance(item, dict | list))
        if mostly:
            count *= 2
        return count >= len(self.value)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of its columns, if they are beside it; otherwise ``()``."""
        return names_beside(self.owner, self.value)


def table_of_value(value: Any) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return the rows of the records in a JSON value, or else of a list that is most of it, or of the object itself."""
    table = records_in(value, "JSON")
    if table:
        return table
    longest = max(_records_of(value), key=lambda found: found.weight, default=None)
    if longest and 2 * longest.weight >= len(str(value)):
        return rows_of_values(longest.value, f"the JSON list {longest.path}")
    return _of_object(value)


def records_in(value: Any, notation: str) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return the rows of the largest records in a value; None if it has no records."""
    chosen = largest_records(value)
    if chosen is None:
        return None
    records = chosen.value
    if is_object(records):
        return _under_keys(records, f"the {notation} object {chosen.path}")
    return rows_of_values(records, f"the {notation} list {chosen.path}", chosen.names)


def largest_records(value: Any, *, mostly: bool = False) -> FoundRecords | None:  # noqa: ANN401 - whatever JSON holds
    """Return the largest records in a value; a list with its column names beside it is preferred. None if there are none.

    If *mostly*, up to half of the items may be something else, such as null: enough to say how many items there are.
    """
    found = (one for one in _records_of(value) if one.are_records(mostly=mostly))
    return max(found, key=lambda records: (bool(records.names), records.weight), default=None)


def names_beside(owner: JsonObject, rows: list[Any]) -> tuple[str, ...]:
    """Return the column names beside a list of rows, as in ``{"columns": […], "rows": [[…], …]}``; empty if none.

    They are a list of texts, or of objects with a ``name``, as long as each row.
    """
    if not all(map(is_list, rows)):
        return ()
    widths = set(map(len, rows))
    members = list[Any]()
    for key, member in owner.items():
        # What pandas calls the index holds names of rows, not of columns.
        if key == "index":
            continue
        if is_object(member):
            members += member.values()
        else:
            members.append(member)
    for member in members:
        if not is_list(member) or member is rows:
            continue
        if widths != {len(member)}:
            continue
        named = [item.get("name") if is_object(item) else item for item in member]
        names = [name for name in named if isinstance(name, str)]
        if len(set(names)) == len(member):
            return tuple(names)
    return ()


def rows_of_values(values: Sequence[Any], name: str, names: Sequence[str] = ()) -> TextTable:
    """Return objects as rows under their keys, lists under *names* or numbered columns, other values under ``value``."""
    if all(map(is_object, values)):
        keys = list(dict.fromkeys(chain.from_iterable(values)))
        columns = column_names(keys)
        return TextTable(columns, lambda: ([*map(value.get, keys)] for value in values), name)
    if all(map(is_list, values)):
        width = max(map(len, values))
        unnamed = [""] * width
        columns = column_names(names or unnamed)
        return TextTable(columns, lambda: evened(values, width), name)
    return TextTable(("value",), lambda: ([value] for value in values), name)


def with_members(table: TextTable, names: Iterable[str]) -> TextTable:
    """Return a table with a column for each of *names* that is a member of its objects, such as ``user.login``.

    A member that no row has is left out.
    """
    paths = {name: name.split(".") for name in names if name not in table.columns}
    missing = set(paths)
    for row in table.rows():
        record = dict(zip(table.columns, row, strict=True))
        missing = {name for name in missing if _member(record, paths[name]) is None}
        if not missing:
            break
    found = [name for name in paths if name not in missing]

    def rows() -> Iterator[Row]:
        for row in table.rows():
            record = dict(zip(table.columns, row, strict=True))
            yield [*row, *(_member(record, paths[name]) for name in found)]

    if not found:
        return table
    columns = (*table.columns, *found)
    return replace(table, columns=columns, rows=rows)


def _member(value: Any, path: list[str]) -> Any:  # noqa: ANN401 - whatever JSON holds
    for step in path:
        value = value.get(step) if is_object(value) else None
    return value


def pairs_of(value: JsonObject) -> TextTable:
    """Return the members of an object as rows of key and value; those of nested objects under their full path."""
    return TextTable((KEY, "value"), lambda: _pairs(value, ""), PAIRS)


def _pairs(value: JsonObject, before: str) -> Iterator[Row]:
    for key, member in value.items():
        if is_object(member):
            yield from _pairs(member, f"{before}{key}.")
        else:
            yield [before + key, member]


def _records_of(value: Any) -> Iterator[FoundRecords]:  # noqa: ANN401 - whatever JSON holds
    """Yield the lists, and the objects of similar objects, in a value, but not those within others."""
    waiting = [FoundRecords("$", "", value, {})]
    while waiting:
        found = waiting.pop()
        value = records_by_columns(found.value) or found.value
        if is_object(value) and not _are_alike(list(value.values())):
            for key, member in value.items():
                path = found.path + step_to(key)
                waiting.append(FoundRecords(path, key, member, value))
        elif value and isinstance(value, dict | list):
            yield replace(found, value=value)


def _are_alike(members: list[Any]) -> bool:
    """Return whether these are several objects with at least two names in common, as records have."""
    if len(members) < 2 or not all(map(is_object, members)):
        return False
    counts = Counter(chain.from_iterable(members))
    common = sum(1 for count in counts.values() if count > 1)
    return common >= LEAST_COMMON


def _of_object(value: Any) -> TextTable | None:  # noqa: ANN401 - whatever JSON holds
    """Return an object of objects as a row for each, with its key in the first column; any other object as one row."""
    name = "the JSON object"
    if not is_object(value) or not value:
        return None
    if all(map(is_object, value.values())):
        return _under_keys(value, name)
    return rows_of_values([value], name)


def _under_keys(members: dict[str, JsonObject], name: str) -> TextTable:
    """Return objects as rows, each with its key in the first column."""
    table = rows_of_values(list(members.values()), name)

    def rows() -> Iterator[Row]:
        for key, row in zip(members, table.rows(), strict=True):
            yield [key, *row]

    return TextTable(column_names([KEY, *table.columns]), rows, name)
