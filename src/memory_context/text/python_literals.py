"""Parse values in text: JSON, or Python's repr of dicts, lists and objects, complete or cut off."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeGuard
from zoneinfo import ZoneInfo

from memory_context.model.json_object import JsonObject

PARSED_AT_MOST = 5_000_000
REPR_AT_MOST = 1_000_000
BEGINNING = 400_000
# In characters: how far below the lines that introduce it, such as the headers of an HTTP response, a value may begin.
FARTHEST_VALUE = 4_000
# A value that begins in the last quarter of a text is not what the text is about.
LATEST_START = 0.75
# How many lines that begin with a bracket are tried.
MOST_OPENINGS = 5
# A Python string, closed, or open up to the end of the text. The quantifiers are possessive, so that no character is
# read twice, however many backslashes there are.
_STRING = (
    r"""b?'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"""
    r"""|b?"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)"""
)
# A string, a constant, or the name of an object's class or field.
_STRING_OR_NAME = re.compile(
    rf"{_STRING}|\b(?:None|True|False|nan|inf|NaT|datetime\.timezone\.utc|null|true|false|NaN|Infinity)\b"
    r"|(?<![\w.])[A-Za-z_][\w.]{0,80}+(?=[(=])",
    re.DOTALL,
)
_NUMBERS = re.compile(r"[\s\d.,:=+\-eEj(){}\[\]]*")
# The beginning of a list, a tuple, a dict, or an object: `Order(`.
_BEGINNING = re.compile(r"\s*+(?:[\[{(]|[A-Za-z_][\w.]{0,80}+\()")
# The same, after fields without a list or an object in them: `meta=None content=[`.
_BEGINNING_AFTER_FIELDS = re.compile(
    rf"\s*+(?P<fields>(?:[a-z_]\w*+=\w*+\s++)*+(?:[a-z_]\w*+=)?+)(?={_BEGINNING.pattern})"
)
# Classes in lower case whose single argument is their value. Other such classes have a capital letter, as Decimal has.
_HOLDERS = ("frozenset", "deque", "mappingproxy")
_TIMES = {
    "datetime.datetime": dt.datetime,
    "datetime.date": dt.date,
    "datetime.time": dt.time,
    "datetime.timedelta": dt.timedelta,
    "datetime.timezone": dt.timezone,
    "zoneinfo.ZoneInfo": ZoneInfo,
}
# What parsing and evaluating may raise; OSError, because a time zone is looked up as a file of that name.
_NO_LITERAL = (
    ValueError,
    TypeError,
    SyntaxError,
    LookupError,
    ArithmeticError,
    OSError,
    RecursionError,
    MemoryError,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = set("\\'\"nrtxuU")
# Closed strings match as a whole, so that they are skipped; a quote alone opens a string that is never closed.
_MARK = re.compile(
    r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\](){},'"]""", re.DOTALL
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# The longest beginning of a string that does not end within an escape sequence; it may be empty, but always matches.
_WHOLE_ESCAPES = re.compile(r"[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|x..|[^ux])[^\\]*+)*+", re.DOTALL)
_VALUE_BELOW = re.compile(r"(?<=\n)[\[{]")
_OBJECT_START = re.compile(r"\s*(?=\{)")


class Literal(NamedTuple):
    """A list or an object that was read, and whether the text was cut off before its end."""

    value: Any
    is_cut: bool


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Return whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a JSON list."""
    return isinstance(value, list)


def begins_value(text: str) -> bool:
    """Return whether `text` begins like a list or an object."""
    return _BEGINNING.match(text) is not None


def parse_literal(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the list or object that the whole `text` is, in JSON or Python's repr; otherwise None.

    An object's repr, such as ``Order(id=7, total=Decimal('1.50'))``, becomes a dict of its fields; amounts and times in
    it become texts. No code is run. JSON of more than 5 million characters, or a repr of more than 1 million, is not read.
    """
    if len(text) > PARSED_AT_MOST or not begins_value(text) or text[-1] not in "]})":
        return None
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > REPR_AT_MOST or not _has_literals_alone(text):
        return None
    value = _evaluate(text)
    if is_object(value) or is_list(value):
        return value
    return None


def find_value(text: str) -> tuple[int, bool] | None:
    """Return the offset of the list or object that `text` looks like, in JSON or Python's repr, and whether it is complete.

    It may be cut off, or follow other fields, as in the repr of an MCP result. Return None for other texts, and for more
    than 1 million characters. This is a quick check: the text is not parsed.
    """
    begin = _BEGINNING_AFTER_FIELDS.match(text)
    if not begin or len(text) > REPR_AT_MOST:
        return None
    if not _has_literals_alone(text):
        return None
    value = text.strip()
    closed = _closed(value)
    if closed or begin["fields"]:
        return begin.end(), closed == value
    return None


def start_of_value(text: str) -> int | None:
    """Return the offset of a value that follows some lines and continues to the end of `text`; None if there is none.

    It must be at least a quarter of the text: a last line in brackets says nothing about the prose above it.
    """
    first_line = text[:FARTHEST_VALUE].partition("\n")[0]
    # The text itself is a value. A mark in brackets, such as `[notice]`, is not.
    if begins_value(text) and _has_literals_alone(first_line):
        return None
    for opening in islice(_VALUE_BELOW.finditer(text, 0, FARTHEST_VALUE), MOST_OPENINGS):
        start = opening.start()
        value = find_value(text[start:])
        if value and value[1] and start <= LATEST_START * len(text):
            return start
    return None


def read_literal(text: str) -> Literal | None:
    """Return the list or object that `text` is or begins; None if it is neither.

    A text that was cut off, or is too large to be parsed, is read up to its last complete value.
    """
    if not begins_value(text):
        return None
    text = text.strip()
    value = parse_literal(text)
    if value is not None:
        return Literal(value, is_cut=False)
    value = parse_literal(_closed(text[:BEGINNING]))
    if value is None:
        return None
    return Literal(value, is_cut=True)


def objects_in(text: str) -> tuple[list[JsonObject], int]:
    """Return the sequence of JSON objects that `text` begins with, and the offset at which the last one ends."""
    decoder = json.JSONDecoder()
    objects = list[JsonObject]()
    end = 0
    while start := _OBJECT_START.match(text, end):
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            break
        objects.append(value)
    return objects, end


def only_objects_in(text: str) -> list[JsonObject]:
    """Return the JSON objects if `text` is a sequence of them; empty if anything else follows them."""
    objects, end = objects_in(text)
    return [] if text[end:].strip() else objects


def _has_literals_alone(text: str) -> bool:
    """Return whether a text has only strings, numbers, brackets, and names of classes and fields."""
    return _NUMBERS.fullmatch(_STRING_OR_NAME.sub("", text)) is not None


def unquote(body: str, quote: str) -> str:
    """Return the value of a Python string, given the text between its quotes, which may be cut off."""
    body = body[: _WHOLE_ESCAPES.match(body).end()]  # type: ignore[union-attr] # it always matches
    value = _evaluate(f"{quote}{body}{quote}")
    if isinstance(value, str):
        return value
    return body


def _evaluate(text: str) -> Any:  # noqa: ANN401 - whatever a literal holds
    """Return the value of a repr; None if Python's compiler would raise an error or warn about it."""
    if not set(_ESCAPE.findall(text)) <= _REPR_ESCAPES:
        return None
    try:
        return _value_of(ast.parse(text, mode="eval").body)
    except _NO_LITERAL:
        return None


def _value_of(node: ast.expr) -> Any:  # noqa: ANN401 - whatever a literal holds
    """Return the value of a literal expression.

    Raises:
        ValueError, TypeError, LookupError, ArithmeticError: It is not a literal.
    """
    match node:
        case ast.List(items) | ast.Tuple(items):
            return [_value_of(item) for item in items]
        case ast.Dict(keys, values):
            names = map(ast.literal_eval, filter(None, keys))
            return dict(zip(names, map(_value_of, values), strict=True))
        case ast.Call():
            return _object_of(node)
        case ast.Name("NaT"):
            return None
        case ast.Name() | ast.UnaryOp(operand=ast.Name()):
            return float(ast.unparse(node))  # nan, inf, -inf
        case _:
            return ast.literal_eval(node)


def _object_of(call: ast.Call) -> Any:  # noqa: ANN401 - whatever an object holds
    """Return the fields of an object, or the single argument of its class: ``Decimal('1.50')``."""
    path = ast.unparse(call.func)
    name = path.rpartition(".")[2]
    if path.startswith("datetime."):
        return str(_time_of(call))
    fields = {field.arg: field.value for field in call.keywords if field.arg}
    is_class = name[:1].isupper() or name in _HOLDERS or path.startswith("np.")
    match call.args:
        case [] if len(fields) == len(call.keywords) and (fields or is_class):
            return {key: _value_of(value) for key, value in fields.items()}
        case [value] if is_class:
            return _value_of(value)
        case _:
            raise ValueError(path)


def _time_of(node: ast.expr) -> Any:  # noqa: ANN401 - a date, a time, a duration or a zone
    """Return the value of a call of `datetime`, or of an argument in it: a time, a date, a duration or a zone."""
    match node:
        case ast.Constant(int() | str() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
            return -value
        case ast.Attribute():
            return dt.UTC
        case ast.Call(function, arguments, keywords):
            made_by: Any = _TIMES[ast.unparse(function)]
            given = [_time_of(argument) for argument in arguments]
            named = {keyword.arg or "": _time_of(keyword.value) for keyword in keywords}
            return made_by(*given, **named)
        case _:
            raise ValueError


def _closed(text: str) -> str:
    """Return `text` up to its last complete value, with every bracket closed; empty if the brackets do not match."""
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
                if text[end:].strip():
                    return ""
                return text[:end]
        elif mark in ("'", '"'):
            start = match.start()
            before = text[:start].rstrip()
            is_item = waiting[-1:] == ["]"]
            if not is_item and not before.endswith((":", "=")):
                break  # the string is a key
            end = _WHOLE_ESCAPES.match(text, start + 1).end()  # type: ignore[union-attr] # it always matches
            return text[:end] + mark + "".join(reversed(waiting))
        else:
            continue
        depth = len(waiting)
    return text[:end] + "".join(reversed(waiting[:depth]))
