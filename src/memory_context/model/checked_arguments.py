"""Check the types of arguments that public methods pass on: an argument of one name has the same type everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import SupportsFloat

from memory_context.exceptions import InvalidArgumentError

_NAMES = ((Iterable, NoneType), "a text, or a list of texts")
_TEXT = ((str,), "a text")
_TEXT_OR_NONE = ((str, NoneType), "a text")
_WANTED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "query": _TEXT,
    "sql": _TEXT,
    "type": _TEXT,
    "source": _TEXT_OR_NONE,
    "order_by": _TEXT,
    "description": _TEXT_OR_NONE,
    "category": _TEXT_OR_NONE,
    "types": _NAMES,
    "tier": _NAMES,
    "tags": _NAMES,
    "filters": ((Mapping, NoneType), "a dict of columns and conditions, such as {'category': 'x'}"),
    "tier_ids": ((Mapping, NoneType), "a dict of tiers and ids, such as {'session': 'x'}"),
    "importance": ((SupportsFloat,), "a number from 0 to 1"),
    "limit": ((int, NoneType), "a whole number"),
    "offset": ((int,), "a whole number"),
}


def check_arguments(**given: object) -> None:
    """Check the types of arguments, given by their names.

    Raises:
        InvalidArgumentError: One has another type. The message does not quote it, since it may be a text of a user.
    """
    for name, value in given.items():
        kind, wanted = _WANTED[name]
        if not isinstance(value, kind):
            raise InvalidArgumentError(f"{name} must be {wanted}, not a {type(value).__name__}")
