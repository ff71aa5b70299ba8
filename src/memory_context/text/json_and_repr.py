"""Values written down as text: JSON, or Python's repr of dicts and lists, whole or cut in the middle."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple, TypeGuard

PARSED_AT_MOST = 5_000_000
REPR_AT_MOST = 1_000_000
BEGINNING = 400_000
# A string of Python's, closed, or open up to the end of the text, or a constant. Possessive: no
# character is looked at twice, however many backslashes there are.
_STRING_OR_NAME = re.compile(
    r"""b?'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"""
    r"""|b?"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)"""
    r"""|\b(?:None|True|False)\b""",
    re.DOTALL,
)
_NUMBERS = re.compile(r"[\s\d.,:+\-ej(){}\[\]]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = set("\\'\"nrtxuU")
# Closed strings are skipped over; a quote by itself is the one that the text ends before closing.
_MARK = re.compile(
    r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\](){},'"]""", re.DOTALL
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# As much of a string as has no half of an escape sequence at its end; it matches at least nothing.
_WHOLE_ESCAPES = re.compile(r"[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|x..|[^ux])[^\\]*+)*+", re.DOTALL)


_OBJECT_START = re.compile(r"\s*(?=\{)")


class Literal(NamedTuple):
    """A list or an object that was read, and whether the text ends before it does."""

    value: Any
    is_cut: bool


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether this is an object of JSON."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether this is a list of JSON."""
    return isinstance(value, list)


def parse_literal(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the list or object that is the whole of `text`, in JSON or Python's repr, or None.

    Nothing is run, and JSON above 5 MB or a repr above 1 MB is not read.
    """
    if len(text) > PARSED_AT_MOST or text[:1] + text[-1:] not in ("[]", "{}"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > REPR_AT_MOST or not _NUMBERS.fullmatch(_STRING_OR_NAME.sub("", text)):
            return None
        value = _evaluate(text)
        if isinstance(value, set):  # it stands between braces too
            return None
        return value


def read_literal(text: str) -> Literal | None:
    """Return the list or object that `text` is, or the beginning of it; None if it is neither.

    A cut text, and one that is too large to be parsed, is read up to its last complete value.
    """
    text = text.strip()
    if text[:1] not in ("[", "{"):
        return None
    value = parse_literal(text)
    if value is not None:
        return Literal(value, is_cut=False)
    value = parse_literal(_closed(text[:BEGINNING]))
    return None if value is None else Literal(value, is_cut=True)


def objects_in(text: str) -> tuple[list[dict[str, Any]], int]:
    """Return the JSON objects that `text` begins with, one behind the other, and where the last of them ends."""
    decoder = json.JSONDecoder()
    objects, end = list[dict[str, Any]](), 0
    while start := _OBJECT_START.match(text, end):
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            break
        objects.append(value)
    return objects, end


def unquote(body: str, quote: str) -> str:
    """Return what a string of Python's says, given what stands between its quotes, perhaps cut."""
    whole = _WHOLE_ESCAPES.match(body)
    body = whole[0] if whole else ""
    value = _evaluate(f"{quote}{body}{quote}")
    return value if isinstance(value, str) else body


def _evaluate(text: str) -> Any:  # noqa: ANN401 - whatever a literal holds
    """Return the value of a repr; None for what makes Python's compiler raise errors or warn."""
    if not set(_ESCAPE.findall(text)) <= _REPR_ESCAPES:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _closed(text: str) -> str:
    """Return `text` up to its last complete value, with every bracket closed; nothing if none match."""
    waiting: list[str] = []
    end = depth = 0
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark in _CLOSING:
            waiting.append(_CLOSING[mark])
            end = match.end()
        elif mark == ",":
            end = match.start()
        elif mark in ("]", ")", "}"):
            if not waiting or waiting.pop() != mark:
                return ""
            end = match.end()
            if not waiting:
                return "" if text[end:].strip() else text[:end]
        elif mark in ("'", '"'):
            start = match.start()
            is_value = text[:start].rstrip().endswith(":") or waiting[-1:] == ["]"]
            if is_value:  # and not a key
                body = _WHOLE_ESCAPES.match(text, start + 1)
                closed = text[: body.end() if body else start + 1] + mark
                return closed + "".join(reversed(waiting))
            break
        else:
            continue
        depth = len(waiting)
    return text[:end] + "".join(reversed(waiting[:depth]))
