"""Reads JSON and Python's repr of plain values as far as they go: a text that was cut in the middle has values too."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

WHOLE_AT_MOST = 5_000_000
READ_AT_MOST = 400_000
DEEPEST = 500
_TOKEN = re.compile(
    r"""[\s]*(?:
      (?P<string>[bru]?"[^"\\]*(?:\\.[^"\\]*)*"|[bru]?'[^'\\]*(?:\\.[^'\\]*)*')
    | (?P<open>[\[({]) | (?P<close>[\])}]) | (?P<comma>,) | (?P<colon>:)
    | (?P<number>[-+]?(?:Infinity|inf|\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?j?|\.\d+)(?![\w.]))
    | (?P<name>(?:true|false|null|None|True|False|NaN|nan|Ellipsis|undefined)(?![\w.(]))
    | (?P<call>(?:[A-Za-z_]\w{0,60}\.)*[A-Z]\w{0,60}\(|(?:[A-Za-z_]\w{0,60}\.)+\w{1,60}\(|(?:array|deque|set|frozenset)\()
    | (?P<opaque><[^<>\n"']{1,300}>)
    )""",
    re.VERBOSE | re.DOTALL,
)
_STRING = re.compile(
    r"""('[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z))""", re.DOTALL
)
_NO_REPR = re.compile(r"[\w)\]}]\(|\0\(|[(\[]\s*,|true|false|null|NaN|Infinity")
_DATE = re.compile(r"\bdatetime\.date(?:time)?\((\d+), (\d+), (\d+)(?:, \d+)*\)")
_AS_BRACKETS = {ord("("): "[", ord(")"): "]"}
_AS_JSON = ((",]", "]"), ("None", "null"), ("True", "true"), ("False", "false"))
_UNFINISHED = re.compile(r"""[\s]*(?:[bru]?["']|[-+]?[\w.]{0,60}\Z|<|\Z)""")
_KEYWORD = re.compile(r"\s*[A-Za-z_]\w{0,60}\s*=(?!=)")
_PAIRS = {"[": "]", "(": ")", "{": "}"}
_NAMES: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False}
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": "", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Read:
    """A value and how it was written.

    Attributes:
        value: Dicts, lists, texts, numbers, booleans, None; an unfinished text is a text.
        end: Where it ends in the text.
        cut: Whether the text ends before the value does.
        is_plain: Whether nothing in it was Python's alone: no tuple, no set, no call.
    """

    value: Any
    end: int
    cut: bool
    is_plain: bool


class _NoValueError(Exception):
    """There is no value here."""


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    close: str
    value: Any
    is_call: bool = False
    key: Any = None
    has_key: bool = False
    may_take: bool = True
    members: list[Any] = field(default_factory=list[Any])

    @property
    def wants_key(self) -> bool:
        """Whether a key, or a set's member, comes next."""
        return isinstance(self.value, dict) and not self.has_key


def read_whole(text: str) -> Read | None:
    """The value that `text`, apart from white space around it, is or begins; None if it is none.

    A text of more than 400,000 characters that is not JSON of at most 5 MB is read for its beginning only.
    """
    stripped = text.strip() if len(text) <= WHOLE_AT_MOST else text.lstrip()
    if not stripped or stripped[0] not in "[{(":
        return None
    if len(stripped) <= WHOLE_AT_MOST and stripped[-1] in "]}":
        with suppress(ValueError, RecursionError):
            return Read(json.loads(stripped), len(text), cut=False, is_plain=True)
        if len(stripped) <= READ_AT_MOST and (found := _read_repr(stripped, len(text))) is not None:
            return found
    found = read_value(stripped[:READ_AT_MOST])
    return (
        found
        if found and (found.cut or not stripped[found.end : found.end + 2000].strip())
        else None
    )


def _read_repr(text: str, end: int) -> Read | None:
    """A repr by writing it as JSON, much faster than token by token; None if it has sets, calls or keys like numbers."""
    pieces = _STRING.split(text)  # what stands outside of strings, and each of these between
    outside = "\0".join(pieces[::2])
    is_odd = "\0" in text or not pieces[-1] or outside.count("(") != outside.count(")")
    with_types = _DATE.sub(r'"\1-\2-\3"', outside.replace("Decimal(\0)", "\0"))
    if is_odd or _NO_REPR.search(with_types):
        return None
    bare = with_types.translate(_AS_BRACKETS)
    for python, written in _AS_JSON:
        bare = bare.replace(python, written)
    pieces[::2] = bare.split("\0")
    pieces[1::2] = [_as_json(token) for token in pieces[1::2]]
    try:
        return Read(json.loads("".join(pieces)), end, cut=False, is_plain="(" not in outside)
    except (ValueError, RecursionError):
        return None


def _as_json(token: str) -> str:
    """A string of Python's as one of JSON."""
    body = token[1:-1]
    if "\\" in body or '"' in body or not body.isprintable():
        return json.dumps(unescaped(body))
    return f'"{body}"'


def read_value(text: str, start: int = 0) -> Read | None:
    """The value that begins at `start`; None if there is none, or if it breaks off before the text ends."""
    try:
        return _Reader(text, start).read()
    except (_NoValueError, ValueError, TypeError):
        return None


class _Reader:
    """Reads one value, without recursion."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.position = start
        self.stack: list[_Open] = []
        self.result: Any = None
        self.done = False
        self.is_plain = True

    def read(self) -> Read:
        """The value.

        Raises:
            _NoValueError: The text is none.
        """
        while not self.done:
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                return self._unfinished()
            self.position = match.end()
            self._take(match)
        return Read(self.result, self.position, cut=False, is_plain=self.is_plain)

    def _take(self, match: re.Match[str]) -> None:
        kind, written = match.lastgroup, match[match.lastgroup or 0]
        if kind == "open":
            self._push(_Open(_PAIRS[written], {} if written == "{" else []))
            self.is_plain = self.is_plain and written != "("
        elif kind == "call":
            self._push(_Open(")", [], is_call=True))
            self.is_plain = False
        elif kind == "close":
            self._close(written)
        elif kind == "comma":
            self._next()
        elif kind == "colon":
            self._colon()
        else:
            self._value(self._plain(kind, written))

    def _push(self, one: _Open) -> None:
        if len(self.stack) >= DEEPEST or (self.stack and not self.stack[-1].may_take):
            raise _NoValueError
        self.stack.append(one)
        if one.is_call:
            self._skip_keyword()

    def _skip_keyword(self) -> None:
        if match := _KEYWORD.match(self.text, self.position):
            self.position = match.end()

    def _close(self, bracket: str) -> None:
        if not self.stack or self.stack[-1].close != bracket:
            raise _NoValueError
        one = self.stack.pop()
        if one.has_key and one.may_take:
            raise _NoValueError
        if is_dict(one.value) and not one.has_key and not one.may_take:
            self._member(one)
        if self.stack and self.stack[-1].wants_key and bracket != ")":
            raise _NoValueError  # only a tuple can be a key or a set's member
        self._value(self._closed(one))

    def _closed(self, one: _Open) -> Any:  # noqa: ANN401 - any value
        if one.is_call:  # Decimal('1.5') is 1.5, datetime(2024, 1, 2) is 2024-1-2
            parts = cast("list[Any]", one.value)
            return parts[0] if len(parts) == 1 else "-".join(str(part)[:20] for part in parts[:3])
        return one.members if one.members and not one.value else one.value

    def _next(self) -> None:
        if not self.stack or self.stack[-1].may_take:
            raise _NoValueError
        one = self.stack[-1]
        if is_dict(one.value) and not one.has_key:
            self._member(one)
        one.may_take, one.has_key = True, False
        if one.is_call:
            self._skip_keyword()

    def _member(self, one: _Open) -> None:
        """What stands between braces without a colon is a set's."""
        if one.value:
            raise _NoValueError
        one.members.append(one.key)
        self.is_plain = False

    def _colon(self) -> None:
        if not self.stack or not isinstance(self.stack[-1].value, dict):
            raise _NoValueError
        one = self.stack[-1]
        if one.has_key or one.may_take:
            raise _NoValueError
        one.has_key, one.may_take = True, True

    def _value(self, value: Any) -> None:  # noqa: ANN401 - any value
        if not self.stack:
            self.result, self.done = value, True
            return
        one = self.stack[-1]
        if not one.may_take:
            raise _NoValueError
        if is_dict(one.value) and not one.has_key:
            one.key = value if isinstance(value, str) else str(value)[:100]
        elif is_dict(one.value):
            one.value[one.key] = value
        else:
            one.value.append(value)
        one.may_take = False

    def _plain(self, kind: str | None, token: str) -> Any:  # noqa: ANN401 - any value
        if kind == "string":
            return self._string(token)
        if kind == "number":
            return _number(token)
        if kind == "name":
            return _NAMES.get(token)
        self.is_plain = False
        return token

    def _string(self, token: str) -> str:
        body = token[1:-1] if token[0] in "\"'" else token[2:-1]
        return unescaped(body) if "\\" in body else body

    def _unfinished(self) -> Read:
        """What is there when the text ends inside a value."""
        match = _UNFINISHED.match(self.text, self.position)
        if match is None or not self.stack:
            raise _NoValueError
        rest = self.text[self.position :].lstrip()
        if rest[:1] in ("'", '"') or rest[1:2] in ("'", '"'):
            self._unfinished_text(rest)
        while self.stack:
            one = self.stack.pop()
            value = self._closed(one)
            if not self.stack:
                self.result = value
            elif self.stack[-1].may_take and (value or len(self.stack) < 2):
                self._value(value)
        return Read(self.result, len(self.text), cut=True, is_plain=self.is_plain)

    def _unfinished_text(self, rest: str) -> None:
        one = self.stack[-1]
        body = rest[1:] if rest[0] in "\"'" else rest[2:]
        if one.may_take and (one.has_key or not is_dict(one.value)):
            self._value(unescaped(body[: len(body) - (len(body) - len(body.rstrip("\\"))) % 2]))


def _number(token: str) -> int | float | str:
    if len(token) > 400:
        return "a large number"
    try:
        return int(token) if token.lstrip("+-").isdigit() else float(token)
    except ValueError:
        return token


def as_list(value: object) -> list[Any]:
    """A value that is a list, with the type that checkers need."""
    return cast("list[Any]", value)


def is_list(value: object) -> bool:
    """Whether it is one; checkers learn nothing by it."""
    return isinstance(value, list)


def is_dict(value: object) -> bool:
    """Whether it is one; checkers learn nothing by it."""
    return isinstance(value, dict)


def unescaped(body: str) -> str:
    """A string's text, with the escapes that JSON and Python have in common or for themselves."""
    if "\\" not in body:
        return body
    plain = _ESCAPE.sub(_character, body)
    # JSON writes a character beyond the first plane as two halves.
    return (
        plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\\u" in body.lower()
        else plain
    )


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return _SIMPLE_ESCAPES.get(match[4], match[4])
