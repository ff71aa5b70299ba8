"""Read records that a JSON object holds column by column, as in ``{"time": [1, 2], "rain": [0, 5]}``."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

from memory_context.model.json_object import JsonObject
from memory_context.text.python_literals import is_list, is_object


def records_by_columns(value: Any) -> list[JsonObject]:  # noqa: ANN401 - whatever JSON holds
    """Return a record for each index of an object's lists of equal length; if there are several lengths, the longest.

    Empty if the object has fewer than two such lists, has a list of records or lists, or has at least as many other
    members as the lists have items; and empty for any other value.
    """
    if not is_object(value):
        return []
    lists = {key: member for key, member in value.items() if is_list(member)}
    for item in chain.from_iterable(lists.values()):
        if is_object(item) or is_list(item):
            return []
    lengths = Counter(map(len, lists.values()))
    recurring = [length for length, count in lengths.items() if count > 1]
    length = max(recurring, default=0)
    names = [key for key, members in lists.items() if len(members) == length]
    # With a name, an id and an owner beside them, two tags and two ports are fields of one record.
    if length <= len(value) - len(names):
        return []
    columns = [lists[name] for name in names]
    rows = zip(*columns, strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]
