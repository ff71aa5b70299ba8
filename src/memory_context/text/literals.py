"""Values written down as text: JSON, or Python's repr of dicts and lists, whole or cut off in the middle."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple

PARSED_AT_MOST = 5_000_000
REPR_AT_MOST = 1_000_000
BEGINNING = 400_000
# A string of Python's, closed, or open up to the end of the text. Possessive: no character is looked at twice, however
# many backslashes there are.
_STRING = (
    r"""b?'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"""
    r"""|b?"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)"""
)
_STRING_OR_NAME = re.compile(rf"{_STRING}|\b(?:None|True|False)\b", re.DOTALL)
# Names such as ``Decimal`` and ``datetime.date`` before a parenthesis; bounded, so that long ones cost no more.
_STRING_OR_CALL = re.compile(
    rf"({_STRING})|\b(?:[A-Z]\w{{0,60}}|[a-z_]\w{{0,30}}\.[\w.]{{1,30}})(?=\()", re.DOTALL
)
_NUMBERS = re.compile(r"[\s\d.,:+\-ej(){}\[\]]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = set("\\'\"nrtxuU")
# Closed strings are skipped over; a quote by itself is the one that the text ends before closing.
_MARK = re.compile(
    r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\](){},'"]""", re.DOTALL
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# As much of a string as has no half of an escape sequence at its end.
_WHOLE_ESCAPES = re.compile(r"[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|x..|[^ux])[^\\]*+)*+", re.DOTALL)


class Literal(NamedTuple):
    """A list or an object that was read, and whether the text ends before it does."""

    value: Any
    is_cut: bool


def parse_literal(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the list or object that is the whole of `text`, in JSON or in Python's repr; None if it is neither.

    Nothing is run, and JSON above 5 MB or a repr above 1 MB is not read.
    """
    if len(text) > PARSED_AT_MOST or text[:1] + text[-1:] not in ("[]", "{}"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _evaluate(text) if len(text) <= REPR_AT_MOST else None


def read_literal(text: str) -> Literal | None:
    """Return the list or object that `text` is, or the beginning of it; None if it is neither.

    A cut text, and one that is too large to be parsed, is read up to its last complete value. Reprs may have calls, as
    of ``Decimal`` or ``datetime``: their arguments stand for them.
    """
    text = text.strip()
    if text[:1] not in ("[", "{"):
        return None
    value = parse_literal(text)
    if value is None and len(text) <= BEGINNING and "(" in text:
        value = parse_literal(_without_calls(text))
    if value is not None:
        return Literal(value, is_cut=False)
    beginning = _closed(text[:BEGINNING])
    if beginning is None:
        return None
    value = parse_literal(beginning)
    if value is None:
        value = parse_literal(_without_calls(beginning))
    return None if value is None else Literal(value, is_cut=True)


def unquote(body: str, quote: str) -> str:
    """Return what a string of Python's says, given what stands between its quotes; a half escape at its end is dropped."""
    body = _whole_escapes(body)
    if "\\" not in body:
        return body
    value = _evaluate(f"{quote}{body}{quote}", is_string=True)
    return value if isinstance(value, str) else body


def _evaluate(text: str, *, is_string: bool = False) -> Any:  # noqa: ANN401 - whatever a literal holds
    """Return the value of a repr; None for anything that makes Python's compiler raise errors or print warnings."""
    if not set(_ESCAPE.findall(text)) <= _REPR_ESCAPES:
        return None
    if not is_string and _NUMBERS.fullmatch(_STRING_OR_NAME.sub("", text)) is None:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _without_calls(text: str) -> str:
    return _STRING_OR_CALL.sub(lambda match: match[1] or "", text)


def _closed(text: str) -> str | None:
    """Return `text` up to its last complete value, with every bracket closed; None if its brackets do not match."""
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
                return None
            end = match.end()
            if not waiting:
                return None if text[end:].strip() else text[:end]
        elif mark in ("'", '"'):
            start = match.start()
            if _is_value(text[:start].rstrip()[-1:], waiting):
                closed = text[:start] + mark + _whole_escapes(text[start + 1 :]) + mark
                return closed + "".join(reversed(waiting))
            break
        else:
            continue
        depth = len(waiting)
    return text[:end] + "".join(reversed(waiting[:depth]))


def _is_value(before: str, waiting: list[str]) -> bool:
    """Whether a string behind the character `before` is a value, not a key."""
    return before == ":" or waiting[-1:] == ["]"]


def _whole_escapes(body: str) -> str:
    match = _WHOLE_ESCAPES.match(body)
    return match[0] if match else ""
