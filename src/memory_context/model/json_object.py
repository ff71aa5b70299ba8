"""JSON objects and lists as Python has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]


def members_of(value: object) -> Mapping[str, Any]:
    """Return the members of a JSON object; of any other value, an empty mapping."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {}


def elements_of(value: object) -> list[Any]:
    """Return the elements of a JSON list; of any other value, an empty list."""
    if isinstance(value, list):
        return cast("list[object]", value)
    return []
