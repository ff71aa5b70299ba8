"""Values of JSON with less in them than there is, for an answer that has no room for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from memory_context.runtime import what_models_read as prompts
from memory_context.text.read.hints import listed

SHORTEST_TEXT = 8
LONGEST_KEY = 60
# How many characters of a text are shown, and three times the elements of a list, as a value is cut more and more.
# Each about a third of the one before: few tries, and little room wasted.
LIMITS = (10_000, 3000, 1000, 300, 100, 30, 10, 3)


def abridged(value: Any, limit: int, depth: int) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return `value` with texts of `limit` characters, lists and objects of `limit` // 3 parts, and `depth` levels."""
    most = max(1, limit // 3)
    match value:
        case str() if len(value) > max(limit, SHORTEST_TEXT):
            return value[:limit] + prompts.GAP_IN_LINE.format(count=len(value) - limit).rstrip()
        case list() | dict() if value and not depth:
            return gist(cast("Any", value))
        case list():
            items = cast("Sequence[Any]", value)
            shown = [abridged(item, limit, depth - 1) for item in items[:most]]
            if len(items) > most:
                shown.append(prompts.MORE_PARTS.format(count=len(items) - most))
            return shown
        case dict():
            members = list(cast("Mapping[str, Any]", value).items())
            short = dict[Any, Any]()
            for key, member in members[:most]:
                short[abridged(key, LONGEST_KEY, 1)] = abridged(member, limit, depth - 1)
            if len(members) > most:
                short["…"] = prompts.MORE_PARTS.format(count=len(members) - most)
            return short
        case _:
            return value


def gist(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Say what `value` is, in a few words."""
    match value:
        case str():
            return prompts.A_TEXT.format(count=len(value))
        case list():
            items = cast("Sequence[Any]", value)
            keys = ""
            if items and isinstance(items[0], dict) and items[0]:
                names = listed(cast("Mapping[str, Any]", items[0]))
                keys = prompts.WITH_KEYS.format(keys=names)
            return prompts.A_LIST.format(count=len(items), keys=keys)
        case dict():
            return prompts.AN_OBJECT.format(keys=listed(cast("Mapping[str, Any]", value)))
        case _:
            return str(value)[:100]
