"""The value that a text writes down: JSON, or Python's repr of dicts and lists. Strict: the whole text or nothing."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

PARSED_AT_MOST = 5_000_000
REPR_AT_MOST = 1_000_000
_STRING_OR_NAME = re.compile(
    r"""b?'(?:\\.|[^'\\])*(?:'|\Z)|b?"(?:\\.|[^"\\])*(?:"|\Z)|\b(?:None|True|False)\b""", re.DOTALL
)
_NUMBERS = re.compile(r"[\s\d.,:+\-ej(){}\[\]]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = set("\\'\"nrtxuU")


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
