"""What a text is, in one line: its kind, its size, its first words. Deterministic, without a model."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from memory_context._items import Content, count_lines
from memory_context._refs import MAX_DESCRIPTION, one_line

PARSED_AT_MOST = 5_000_000
REPR_AT_MOST = 1_000_000
SCANNED_AT_MOST = 1_000_000
_LOG_LINE = re.compile(r"^\S*\d\d:\d\d:\d\d|\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b")
_STRING_OR_NAME = re.compile(
    r"""b?'(?:\\.|[^'\\])*(?:'|\Z)|b?"(?:\\.|[^"\\])*(?:"|\Z)|\b(?:None|True|False)\b""", re.DOTALL
)
_NUMBERS = re.compile(r"[\s\d.,:+\-ej(){}\[\]]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = set("\\'\"nrtxuU")
_ERROR = re.compile(r"\b(?:error|failed|fatal|exception)\b", re.IGNORECASE)


def describe(content: Content) -> str:
    """One line on `content`, as in ``JSON list of 81 objects: name, version``."""
    return one_line(_binary(content) if isinstance(content, bytes) else _text(content))


def _binary(content: bytes) -> str:
    return f"binary content, {len(content)} bytes"


def _text(text: str) -> str:
    if not text.strip():
        return "blank text" if text else "empty text"
    return _structure(text) or _table(text) or _lines(text)


def _structure(text: str) -> str | None:
    match parsed(text.strip()):
        case [*items]:
            return f"JSON list of {len(items)} {_element(items)}"
        case {**keys} if keys:
            return f"JSON object: {', '.join(map(str, list(keys)[:6]))}"
        case _:
            return None


def parsed(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """JSON, or the Python repr that AutoGen makes of dicts and lists."""
    if len(text) > PARSED_AT_MOST or text[0] + text[-1] not in ("[]", "{}"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _evaluated(text) if len(text) <= REPR_AT_MOST and _is_repr(text) else None


def _is_repr(text: str) -> bool:
    """Whether `text` has only what a repr of plain values has: anything else makes Python's compiler print warnings."""
    bare = _STRING_OR_NAME.sub("", text)
    return _NUMBERS.fullmatch(bare) is not None and set(_ESCAPE.findall(text)) <= _REPR_ESCAPES


def _evaluated(text: str) -> Any:  # noqa: ANN401 - whatever a literal holds
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _element(items: list[Any]) -> str:
    if items and all(isinstance(item, dict) for item in items):
        return f"objects: {', '.join(map(str, list(items[0])[:6]))}"
    return "values"


def _table(text: str) -> str | None:
    """Lines that all have as many commas or tabs as the first."""
    lines = text[:SCANNED_AT_MOST].rstrip("\n").split("\n")
    for separator in ("\t", ","):
        columns = lines[0].count(separator)
        if columns and len(lines) > 1 and all(line.count(separator) == columns for line in lines[1:20] if line):
            names = ", ".join(name.strip().strip('"') for name in lines[0].split(separator)[:6])
            kind = "CSV" if separator == "," else "TSV"
            return f"{kind}, {count_lines(text) - 1} rows x {columns + 1} columns: {names}"
    return None


def _lines(text: str) -> str:
    head = text[:SCANNED_AT_MOST].split("\n")
    size = f"{count_lines(text)} lines"
    errors = sum(1 for line in head if _ERROR.search(line))
    facts = f"{size}, {errors} with errors" if errors else size
    kind = "log" if sum(1 for line in head[:50] if _LOG_LINE.search(line)) > len(head[:50]) // 2 else "text"
    first = text.strip()[: 2 * MAX_DESCRIPTION].partition("\n")[0]
    return f"{kind}, {facts}: {first}"
