"""Abridge JSON values for an answer that has no room for all of them."""

from __future__ import annotations

from itertools import islice
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.shortened_name_list import listed

SHORTEST_TEXT = 8
LONGEST_KEY = 60
# The limits to try in turn: the characters of a text that are shown, and three times the items of a list. Each is about
# a third of the one before, which needs few attempts and wastes little room.
LIMITS = (10_000, 3000, 1000, 300, 100, 30, 10, 3)


def abridged(value: Any, limit: int, depth: int) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return `value` with texts cut to `limit` characters, lists and objects to `limit` // 3 parts, and `depth` levels."""
    if isinstance(value, str) and len(value) > max(limit, SHORTEST_TEXT):
        gap = prompts.GAP_IN_LINE.format(count=len(value) - limit)
        return value[:limit] + gap.rstrip()
    has_parts = is_list(value) or is_object(value)
    if not value or not has_parts:
        return value
    if not depth:
        return gist(value)
    most = max(1, limit // 3)
    left_out = len(value) - most
    more = prompts.MORE_PARTS.format(count=left_out)
    if is_object(value):
        members = dict[Any, Any]()
        for key in islice(value, most):
            short_key = abridged(key, LONGEST_KEY, 1)
            if short_key in members:
                short_key = key
            members[short_key] = abridged(value[key], limit, depth - 1)
        if left_out > 0:
            members["…"] = more
        return members
    items = [abridged(item, limit, depth - 1) for item in islice(value, most)]
    if left_out > 0:
        items.append(more)
    return items


def gist(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return a few words that say what `value` is."""
    if isinstance(value, str):
        return prompts.A_TEXT.format(count=len(value))
    if is_object(value):
        return prompts.AN_OBJECT.format(keys=listed(value))
    if is_list(value):
        keys = ""
        first = value[0] if value else None
        if first and is_object(first):
            keys = prompts.WITH_KEYS.format(keys=listed(first))
        return prompts.A_LIST.format(count=len(value), keys=keys)
    return str(value)[:100]
