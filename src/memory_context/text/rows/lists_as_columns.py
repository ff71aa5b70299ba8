"""Records that an object holds column by column, as ``{"time": [1, 2], "rain": [0, 5]}`` does."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memory_context.text.python_literals import is_list, is_object


def records_by_columns(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    """Return a record for each place in the lists of an object that are as long as each other, the longest such ones.

    Nothing for an object that has one such list alone, or a list of records, or as many other members as the lists are
    long, and for other values.
    """
    if not is_object(value):
        return []
    lists = {key: member for key, member in value.items() if is_list(member)}
    if any(isinstance(member, dict | list) for members in lists.values() for member in members):
        return []
    lengths = Counter(map(len, lists.values()))
    length = max((length for length, count in lengths.items() if count > 1), default=0)
    columns = {key: members for key, members in lists.items() if len(members) == length}
    # Beside a name, an id and an owner, two tags and two ports are fields of one record.
    if length <= len(value) - len(columns):
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
