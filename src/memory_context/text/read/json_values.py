"""The values that a text holds: JSON, JSON lines, Python's repr, and such texts inside the results of MCP tools."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from memory_context.text.describe import parsed

NOTHING: Final = object()


def documents(text: str) -> list[Any]:
    """The values of `text`, the outermost first: itself, or a list of its lines; then those inside an MCP result.

    Empty if it holds none.
    """
    value = NOTHING if is_json_lines(text) else parse(text)
    if value is NOTHING:
        try:
            lines = list(records(text))
        except (ValueError, RecursionError):
            return []
        return [lines] if lines else []
    inside = [parse(part) for part in wrapped(value)]
    return [value, *(part for part in inside if part is not NOTHING)]


def is_json_lines(text: str) -> bool:
    """Whether the first two lines, blank ones left out, are JSON values of their own, the first a list or object."""
    if _first(text) not in ("[", "{"):
        return False
    try:
        return len(list(islice(records(text), 2))) > 1
    except (ValueError, RecursionError):
        return False


def records(text: str) -> Iterator[Any]:
    """The values of the lines of JSON lines, one at a time.

    Raises:
        ValueError: A line is not JSON.
        RecursionError: A line is nested too deeply.
    """
    return (
        json.loads(line, parse_constant=str)
        for line in lines_of(text)
        if line and not line.isspace()
    )


def wrapped(value: Any) -> list[str]:  # noqa: ANN401 - whatever JSON holds
    """The texts of an MCP tool's result, or of the list of parts that AutoGen makes of it."""
    parts = cast("Mapping[str, Any]", value).get("content") if isinstance(value, dict) else value
    return (
        [part["text"] for part in cast("Sequence[Any]", parts) if _is_text(part)]
        if isinstance(parts, list)
        else []
    )


def _is_text(part: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    match part:
        case {"type": "text", "text": str()}:
            return True
        case _:
            return False


def parse(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The list or object of a text in JSON or in Python's repr (up to 1 MB); `NOTHING` if it is neither."""
    if _first(text) not in ("[", "{"):
        return NOTHING
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        value = parsed(text.strip())
        return NOTHING if value is None else plain(value)


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a literal holds
    """`value` as JSON can express it: other types, numbers that are not finite and keys as text."""
    match value:
        case dict():
            items = cast("Mapping[Any, Any]", value).items()
            return {key if isinstance(key, str) else str(key): plain(item) for key, item in items}
        case list() | tuple() | set():
            return [plain(item) for item in cast("Iterable[Any]", value)]
        case float() if not math.isfinite(value):
            return str(value)
        case None | str() | int() | float():
            return value
        case _:
            return str(value)


def to_json(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """`value` as JSON on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(plain(value), ensure_ascii=False, default=str)


def lines_of(text: str) -> Iterator[str]:
    """The lines of `text`, one at a time, without their line breaks."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def _first(text: str) -> str:
    return text[:1000].lstrip()[:1]
