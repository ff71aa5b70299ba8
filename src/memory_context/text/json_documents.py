"""Parse the values that a text holds: JSON, JSON lines, Python's repr, and such texts inside results of MCP tools."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from memory_context.text.lines import lines_of
from memory_context.text.python_literals import (
    begins_value,
    is_list,
    is_object,
    only_objects_in,
    parse_literal,
)

NOTHING = object()


def documents(text: str) -> list[Any]:
    """Return the value that `text` is, then the values of the texts in it if it is an MCP result; empty if it is no value.

    JSON lines, or JSON objects in sequence, are a single value: the list of them.
    """
    value = NOTHING if is_json_lines(text) else parse(text)
    if value is NOTHING:
        try:
            values = list(records(text))
        except (ValueError, RecursionError):
            values = only_objects_in(text)
        return [values] if values else []
    inside = map(parse, wrapped(value))
    return [value, *(document for document in inside if document is not NOTHING)]


def is_json_lines(text: str) -> bool:
    """Return whether the first two lines that are not blank are JSON values, and the first is a list or object."""
    if not text[:1000].lstrip().startswith(("[", "{")):
        return False
    try:
        return len(list(islice(records(text), 2))) > 1
    except (ValueError, RecursionError):
        return False


def records(text: str) -> Iterator[Any]:
    """Yield the values of JSON lines, one at a time.

    Raises:
        ValueError: A line is not JSON.
        RecursionError: A line is nested too deeply.
    """
    for line in lines_of(text):
        if line and not line.isspace():
            yield json.loads(line, parse_constant=str)


def wrapped(value: Any) -> list[str]:  # noqa: ANN401 - whatever JSON holds
    """Return the texts of an MCP tool's result, or of the list of parts that AutoGen makes of it; empty for other values."""
    parts = value.get("content") if is_object(value) else value
    if not is_list(parts):
        return []
    texts = list[str]()
    for part in parts:
        if not is_object(part) or "type" not in part:
            return []
        text = part.get("text")
        if isinstance(text, str):
            texts.append(text)
    return texts


def parse(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the list or object that `text` is, in JSON or (up to 1 million characters) Python's repr; else `NOTHING`."""
    if not begins_value(text):
        return NOTHING
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        value = parse_literal(text.strip())
        if value is None:
            return NOTHING
        return plain(value)


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a literal holds
    """Return `value` as JSON can express it: with keys, other types and numbers that are not finite as texts."""
    match value:
        case dict():
            items = cast("Mapping[Any, Any]", value).items()
            return {str(key): plain(item) for key, item in items}
        case list() | tuple() | set():
            return [plain(item) for item in cast("Iterable[Any]", value)]
        case None | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            return str(value)


def json_of_any(value: Any) -> str:  # noqa: ANN401 - whatever a framework's message holds
    """Return `value` as JSON on one line; a value in it that JSON cannot express becomes its ``str()``.

    Raises:
        ValueError: It contains itself.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except TypeError:
        # A key may be a tuple or a date.
        return to_json(value)


def to_json(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return `value` as JSON on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(plain(value), ensure_ascii=False, default=str)
