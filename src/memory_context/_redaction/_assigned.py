"""Secrets that have no form of their own, but a name before them: ``password=…``, ``"api_key": "…"``.

Such a name stands in much that is no secret: code, schemas, translations, documentation. So the value decides: what
looks like a word, a name, a path, an expression or a place to fill in is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import regex

from memory_context._redaction._rules import Match

LOOKED_AT = 64
_QUOTE = r"\\{0,7}[\"'`]"
_SPACE = r"[ \t]{0,8}"
_SIGNS = "|".join(
    (
        rf"(?:{_QUOTE})?{_SPACE}:{_SPACE}[A-Za-z_][\w.|\[\] ]{{0,40}}+={_SPACE}(?={_QUOTE})",  # name: type = "…"
        rf"(?:{_QUOTE})?{_SPACE}(?:=>|:=|={{1,3}}|!={{1,2}}|:){_SPACE}",
        rf"(?:{_QUOTE})?[,\s]{{1,20}}(?:{_QUOTE})?value(?:{_QUOTE})?{_SPACE}[:=]{_SPACE}",  # name: …, value: …
        r">(?=[^<>\s]{4,256}</)",
        r"[ \t]{1,8}(?=')",
    )
)
_SCHEME = r"(?:(?:Token|ApiKey|Key|apikey|token)[ =](?:token=)?)?"

_PLACEHOLDER = regex.compile(
    r"(?i)[$%]?[{<\[(].*|!\w+|\$\w+|%\w+%?|[*•.x_#?-]+|.*(?:\.\.\.|…).*|[a-z][a-z0-9+.-]*://.*|arn:.*|(?:your|my|the)[_-].*"
    r"|.*(?:example|placeholder|change[_-]?(?:me|it)|dummy|redacted|[$]\{|\{\{).*"
)
_ESCAPES = regex.compile(r"\\[bfnrt]")
_CALLS = ("(", "[", "{")
_SIGN = regex.compile(r"[^\p{L}\p{M}\p{N}_./:-]")
_PATH = regex.compile(r"[/~.].*/.*")
_EXPRESSION = regex.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*[!?]?)+")
_PART = r"(?:[A-Z]?[a-z]+|[A-Z]+)?[0-9]{0,4}"
_LIKE_A_NAME = regex.compile(
    rf"{_PART}(?:[-_./:@]+{_PART})+|(?:[A-Z]?[a-z]{{2,}})+[0-9]{{0,4}}(?:[A-Z][a-z]{{2,}})*|[A-Z]+(?:_[A-Z0-9]+)*"
)
_LEAST_PASSWORD, _LEAST_KEY, _LETTERS_ALONE = 5, 8, 20


@dataclass(frozen=True, slots=True)
class Assigned:
    """A kind of secret that stands behind a name.

    Attributes:
        kind: See `Finding`.
        hint: See `Finding`.
        named: The end of the name, the sign after it, and the quote that opens the value, as group ``open``.
        is_password: Whether a person may have made it up.
    """

    kind: str
    hint: re.Pattern[bytes]
    named: regex.Pattern[str]
    is_password: bool = False

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """See `Finding`."""
        name = self.named.match(text, place)
        if name is None:
            return None
        opened = name["open"]
        some, rest = _in_quotes(opened) if opened else _BARE_PASSWORD if self.is_password else _BARE_KEY
        value = some.match(text, name.end())
        if value is None or not self._is_meant(text, name, value):
            return None
        return value.start(), rest.match(text, value.end()).end()  # type: ignore[union-attr] # it matches nothing too

    def _is_meant(self, text: str, name: Match, value: Match) -> bool:
        found = value[0].rstrip(".!?:")
        if "\\" in found:
            found = _ESCAPES.sub("", found)
        if not (is_made_up(found) if self.is_password else is_random(found)):
            return False
        if name["open"] is None and (
            text.startswith(_CALLS, value.end())
            or name["name"].lower() in found.lower()
            or _EXPRESSION.fullmatch(found)
        ):
            return False
        return not _PLACEHOLDER.fullmatch(found)


def is_made_up(value: str) -> bool:
    """Whether a person may have chosen this as a password: letters with digits or signs, or digits with signs."""
    if len(value) < _LEAST_PASSWORD or value.isalpha():
        return False
    kinds = (any(map(str.isalpha, value)), any(map(str.isdigit, value)), bool(_SIGN.search(value)))
    return sum(kinds) > 1 and not _PATH.fullmatch(value)


def is_random(value: str) -> bool:
    """Whether a machine may have made this: letters and digits, and not as they stand in names, paths and versions."""
    if len(value) < _LEAST_KEY or not value.isascii():
        return False
    if not any(map(str.isdigit, value)):
        return len(value) >= _LETTERS_ALONE and value.isalpha() and not value.islower() and not _is_name(value)
    return any(map(str.isalpha, value)) and not _is_name(value)


def _is_name(value: str) -> bool:
    return _LIKE_A_NAME.fullmatch(value) is not None


def _values(char: str, begins: str = "") -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """The beginning of a value, by which it is judged, and the rest of it."""
    return regex.compile(f"{begins}{char}{{4,{LOOKED_AT}}}+"), regex.compile(f"{char}*+")


@cache
def _in_quotes(opened: str) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Values behind a quote with so many backslashes before it: in JSON 0, in JSON inside JSON 1, then 3, then 7.

    With n of them, a quote of the value has 2n + 1 before it, and a backslash of the value is 2n + 2 of them. Another
    sort of quote may end the JSON around the value; an apostrophe does not.
    """
    quote, depth = opened[-1], len(opened) - 1
    ends = '"' if quote == '"' else "\"'`"
    backslash = rf"\\{{{2 * depth + 2}}}"
    inner_quote = rf"(?:{backslash})*+\\{{{2 * depth + 1}}}{quote}"
    last_backslashes = rf"(?:{backslash})++(?=\\{{{depth}}}{quote})"
    return _values(rf"(?:[^\s\\{ends}]|\\++[^\s\\{ends}]|{inner_quote}|{last_backslashes})", begins="(?!:)")


_BARE_PASSWORD = _values(r"[^\s\"'`,;&(){}\[\]<>\\|]")
_BARE_KEY = _values(r"[^\s\"'`,;&(){}\[\]<>\\|@]")


# What must follow a name before it is worth a closer look: a sign and some of a value.
_AHEAD = (
    r"[0-9_\-]{0,3}(?:[\\\"'`]{0,8}[ \t]{0,8}(?:[:=!]{1,3}>?[ \t]{0,8}[\\\"'`]{0,8}[^\s\"'`<>(){}\[\],;|]{4}"
    r"|:[ \t]{0,8}[a-z_][a-z0-9_.|\[\] ]{0,40}=[ \t]{0,8}[\\\"'`]|,?\s{0,20}[\\\"'`]{0,8}value|')|>[^<>\s]{4})"
)


def _assigned(kind: str, hint: str, name: str, *, is_password: bool = False) -> Assigned:
    named = rf"(?P<name>(?i:{name}))(?:[_-]?[0-9]{{1,2}})?(?:{_SIGNS}){_SCHEME}(?P<open>{_QUOTE})?"
    return Assigned(kind, re.compile((hint + _AHEAD).encode()), regex.compile(named, regex.MULTILINE), is_password)


def _argument(kind: str, name: str, before: str = "--[A-Za-z0-9_-]{0,40}?", *, is_password: bool = False) -> Assigned:
    """A rule for a value that stands behind a blank: of an option, or in .netrc."""
    hint = re.compile(f"{before}(?:{name})[ \\t]".lower().encode())
    named = rf"{before}(?P<name>(?i:{name}))[ \t]{{1,8}}(?P<open>{_QUOTE})?"
    return Assigned(kind, hint, regex.compile(named), is_password)


_CURSORS = "page|next|continuation|cursor|sync|resume|pagination|public[_-]?key"
_OF_TOKENIZERS = "start|end|[beps]os|pad|unk|sep|cls|mask|stop"
_NO_CURSOR = f"(?<!(?:{_CURSORS}|{_OF_TOKENIZERS})[_-]?token)"
_SORTS_OF_KEY = "api|access|private|account|auth|encryption|signing|master"

ASSIGNED = (
    _assigned(
        "password",
        "pass(?:word|wd|phrase|code)?",
        r"pass(?:word|wd|phrase|code)|(?<=[_\"'-])pass|(?-i:PASS)",
        is_password=True,
    ),
    _assigned("password", "pwd", "pwd", is_password=True),
    _assigned("secret", "secret(?:[_-]?(?:access[_-]?)?key)?", "secret(?:[_-]?(?:access[_-]?)?key)?"),
    _assigned("token", "token", f"token{_NO_CURSOR}"),
    _assigned("token", "authorization", "authorization"),
    _assigned("api_key", "key(?<=[iesthngr_-]key)", f"key(?<=(?:{_SORTS_OF_KEY})[_-]?key)"),
    _argument("password", "pass(?:word|wd|phrase|code)?|pwd", is_password=True),
    _argument("password", "password", r"login[ \t]{1,8}[^\s]{1,64}\s{1,8}", is_password=True),
    _argument("secret", "secret(?:[_-]?key)?"),
    _argument("token", "token"),
    _argument("api_key", f"(?:{_SORTS_OF_KEY})[_-]?key"),
)
