"""Secrets that have no form of their own, but a name before them: ``password=…``, ``"api_key": "…"``.

Such a name stands in much that is no secret: code, schemas, translations, documentation. So the value decides: what
looks like a word, a name, a path, an expression or a place to fill in is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import regex

from memory_context.text.redact.plausibility import (
    RELATIVE_PATH,
    is_code,
    is_made_up,
    is_no_secret,
    is_random,
)
from memory_context.text.redact.rules import Match

LOOKED_AT = 64
_QUOTE = r"\\{0,7}[\"'`]"
_SPACE = r"[ \t]{0,8}"
_WORDS = r"[A-Za-z_][\w.|\[\] ]{0,40}"
_FIELDS = rf"(?:(?:{_QUOTE})?\w{{1,20}}(?:{_QUOTE})?\s?[:=]\s?(?:{_QUOTE})?[\w.:/-]{{0,40}}(?:{_QUOTE})?[,\s]{{1,20}}){{0,3}}"
_ATTRIBUTES = rf"(?:\s[\w:.-]{{1,40}}={_QUOTE}[^\"'<>\\]{{0,80}}{_QUOTE}){{0,4}}"
_MARKUP = (  # <name>…</, <name id="…">…</, key="name">…</
    rf"(?P<markup>(?:(?<=<[\w:.-]{{0,60}}){_ATTRIBUTES}|(?<=\b(?:key|name)={_QUOTE}[\w:.-]{{0,60}}){_QUOTE})"
    r">(?:<!\[CDATA\[(?=\S{4,256}\]\]>)|(?=[^<>\s]{4,256}</)))"
)
_SIGNS = "|".join(
    (
        rf"(?:{_QUOTE})?{_SPACE}:{_SPACE}{_WORDS}+={_SPACE}(?={_QUOTE})",  # name: type = "…"
        rf"(?P<below>:{_SPACE}[|>][+-]?{_SPACE}\r?\n[ \t]{{1,40}}(?=\S{{4,256}}[ \t]{{0,8}}\r?$))",  # name: | of YAML
        rf"{_QUOTE}:\s?\[\s{{0,40}}(?=\"[^\s\"]{{4,256}}\"\s{{0,40}}\])",  # "name": ["…"]
        rf"(?:{_QUOTE}\]?)?{_SPACE}(?:=>|:=|={{1,3}}|!={{1,2}}|:){_SPACE}",
        rf"(?:{_QUOTE})?[,\s]{{1,20}}{_FIELDS}(?:{_QUOTE})?(?i:(?:parameter)?value)(?:{_QUOTE})?{_SPACE}[:=]{_SPACE}",
        _MARKUP,
        r"[ \t]{1,8}(?=')",
    )
)
_SCHEME = r"(?:(?:Token|ApiKey|Key|apikey|token)[ =](?:token=)?)?"
_OF_PYTHON = (
    r"(?:(?:[bBrRuU]{1,2}|f(?=[\"'][^\"'{]*[\"']))(?=[\"'])|@(?=\"))?(?:''(?=')|\"\"(?=\"))?"
)

_ESCAPES = regex.compile(r"\\[bfnrt]")
_CALLS = ("(", "[", "{")
# What may stand between the beginning of a line and the end of a name that is assigned to there.
_BEGINS_LINE = regex.compile(r"[ \t]*+(?:[+>-][ \t]*+)?(?:(?:export|set|ENV|ARG)[ \t]++)?[\w.-]*+")
_BEFORE_NAME = 120
_ASSIGNS = regex.compile(r"[ \t]*=[ \t]*|:[ \t]+")


@dataclass(frozen=True, slots=True)
class Assigned:
    """A kind of secret that stands behind a name.

    Attributes:
        kind: See `Finding`.
        hint: See `Finding`.
        named: The end of the name, the sign after it, and the quote that opens the value, as group ``open``.
        is_password: Whether a person may have made it up.
        has_signs: Whether what stands after the name is one of `_SIGNS`, and no blank.
    """

    kind: str
    hint: re.Pattern[bytes]
    named: regex.Pattern[str]
    is_password: bool = False
    has_signs: bool = False

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """See `Finding`."""
        name = self.named.match(text, place)
        if name is None:
            return None
        if self.has_signs and name["markup"]:
            return self._whole(text, name, _IN_MARKUP, is_bare=False)
        if opened := name["open"]:
            return self._whole(text, name, _in_quotes(opened), is_bare=False)
        return self._bare(text, name)

    def _bare(self, text: str, name: Match) -> tuple[int, int] | None:
        """A piece by which anybody would end it, or all up to a blank where the name begins a line."""
        if self.has_signs and name["below"]:
            return self._line(text, name, _OF_LINE)
        sign = name["assigned"] if self.has_signs else ""
        piece = self._whole(text, name, _BARE_PASSWORD if self.is_password else _BARE_KEY)
        if not _ASSIGNS.fullmatch(sign) or (piece is None and sign != "=" and sign[0] != ":"):
            return piece
        values = _of_line(text, name.start())
        return (self._line(text, name, values) if values else None) or piece

    def _whole(
        self, text: str, name: Match, values: _Values, *, is_bare: bool = True
    ) -> tuple[int, int] | None:
        some, rest = values
        value = some.match(text, name.end())
        if value is None or not self._is_meant(text, name, value, is_bare=is_bare):
            return None
        return value.start(), rest.match(text, value.end()).end()  # type: ignore[union-attr] # it matches nothing too

    def _line(self, text: str, name: Match, values: regex.Pattern[str]) -> tuple[int, int] | None:
        value = values.match(text, name.end())
        if value is None:
            return None
        is_cut = text[value.end() : value.end() + 1] in _CUTS
        if not self._is_secret(name, value[0].rstrip(")]}"), is_cut=is_cut, is_bare=True):
            return None
        return (
            None
            if is_code(value[0], is_cut=is_cut) or is_no_secret(value[0], is_cut=False)
            else value.span()
        )

    def _is_meant(self, text: str, name: Match, value: Match, *, is_bare: bool) -> bool:
        found = _ESCAPES.sub("", value[0]) if "\\" in value[0] else value[0]
        if is_bare and text.startswith(_CALLS, value.end()):
            return False
        return self._is_secret(name, found, is_cut=_is_cut(text, value.end()), is_bare=is_bare)

    def _is_secret(self, name: Match, value: str, *, is_cut: bool, is_bare: bool) -> bool:
        found, called = value.rstrip(".!?:"), name["name"].lower()
        if not (is_made_up(found) if self.is_password else is_random(found)):
            return False
        if is_bare and (called in found.lower() or is_code(found, is_cut=False)):
            return False
        return not (called == "pwd" and RELATIVE_PATH.fullmatch(found)) and not is_no_secret(
            found, is_cut=is_cut
        )


_CUTS = frozenset(" \t\"'`,;")


def _is_cut(text: str, place: int) -> bool:
    return text[place : place + 1] in (" ", "\t")


def _of_line(text: str, place: int) -> regex.Pattern[str] | None:
    """What a value may have in it whose name ends at `place` and begins a line, perhaps one of a string; or None."""
    first = max(0, place - _BEFORE_NAME)
    before = text[first:place]
    head = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    line = head[head.rfind("\\n") + 2 :] if "\\n" in head else head
    if not _BEGINS_LINE.fullmatch(line) or (first and len(line) == len(before)):
        return None
    return _OF_LINE if line is head else _OF_ESCAPED_LINE


_Values = tuple[regex.Pattern[str], regex.Pattern[str]]


def _values(char: str, begins: str = "") -> _Values:
    """The beginning of a value, by which it is judged, and the rest of it."""
    return regex.compile(f"{begins}{char}{{4,{LOOKED_AT}}}+"), regex.compile(f"{char}*+")


# A quote before one of these may end the JSON around the value; before any other, text is no JSON.
_NO_END = r"(?![\s,:}\]+.;&%)]|\Z)"
_IN_APOSTROPHES = rf"(?:\"{_NO_END}|\\*+`)(?=[^\s']{{0,256}}')|'\"'\"'|'\\''|''(?![\s'\"])"


@cache
def _in_quotes(opened: str) -> _Values:
    """Values behind a quote with so many backslashes before it: in JSON 0, in JSON inside JSON 1, then 3, then 7.

    With n of them, a quote of the value has 2n + 1 before it, and a backslash of the value is 2n + 2 of them. Another
    sort of quote may end the JSON around the value; an apostrophe does not.
    """
    quote, depth = opened[-1], len(opened) - 1
    ends = '"' if quote == '"' else "\"'`"
    backslash = rf"\\{{{2 * depth + 2}}}"
    inner_quote = rf"(?:{backslash})*+\\{{{2 * depth + 1}}}{quote}"
    last_backslashes = rf"(?:{backslash})++(?=\\{{{depth}}}{quote})"
    others = f"|{_IN_APOSTROPHES}" if opened == "'" else ""
    char = rf"(?:[^\s\\{ends}]|\\++[^\s\\{ends}]|{inner_quote}|{last_backslashes}{others})"
    first = "" if quote == '"' else '(?!["`])'
    # A colon here may stand behind the name of something in JSON, which ends like a value's name: {"password=":1}.
    return _values(
        char, begins=rf"(?!:(?:-?\d[\d.eE+-]*+[,}}\]]|[\"\[{{\\]|true|false|null)){first}"
    )


_BARE_PASSWORD = _values(r"[^\s\"'`,;&(){}\[\]<>\\|]")
_BARE_KEY = _values(r"[^\s\"'`,;&(){}\[\]<>\\|@]")
_IN_MARKUP = _values(
    rf"(?:(?!\]\]>|</)[^\s\"\\]|\\++(?:(?!\]\]>|</)[^\s\"\\]|(?=</|\]\]>))|\"{_NO_END})"
)
# Up to a blank, a quote, a tag, or what is assigned to the next name: of a query string, of a connection's string.
_LINE = r"(?:(?!</|<br|[&;,][A-Za-z_][\w. -]{{0,40}}=|[,;]++(?:\s|$)){}){{4,512}}+"
_OF_LINE = regex.compile(_LINE.format(r"[^\s\"'`]"), regex.MULTILINE)
_OF_ESCAPED_LINE = regex.compile(_LINE.format(r"[^\s\"'`\\]"), regex.MULTILINE)


_DEPLOYED = (
    "BASE|PROD|PRODUCTION|LIVE|STAGING|STAGE|DEV|TEST|QA|UAT|CI|LOCAL|OLD|NEW|PRIMARY|SECONDARY"
)

# What must follow a name before it is worth a closer look: a sign and some of a value.
_AHEAD = (
    rf"(?:[0-9_\-]{{0,3}}|_(?:{_DEPLOYED.lower()})(?==))(?:[\\\"'`]{{0,8}}\]?[ \t]{{0,8}}(?:[:=!]{{1,3}}>?[ \t]{{0,8}}"
    r"(?:[bfru@]{0,2}[\\\"'`]{1,8}\S{4}|[^\s\"'`]{4}|\[\s{0,40}\"|[|>][+-]?[ \t]{0,8}\r?\n)"
    r"|:[ \t]{0,8}[a-z_][a-z0-9_.|\[\] ]{0,40}=[ \t]{0,8}[\\\"'`]|,?\s{0,20}[\\\"'`]{0,8}(?:parameter)?value|')"
    r"|[\\\"']{1,8}[,\s][^{}]{0,160}?value|[\\\"']{0,8}>[^>\s]{4}|\s[a-z0-9_:.-]{1,40}=[\\\"'][^<>]{0,80}>)"
)


def _assigned(kind: str, hint: str, name: str, *, is_password: bool = False) -> Assigned:
    suffix = rf"(?:[_-]?[0-9]{{1,2}}|_(?-i:{_DEPLOYED})(?==))?"
    named = rf"(?P<name>(?i:{name})){suffix}(?P<assigned>{_SIGNS})(?(markup)|{_SCHEME}{_OF_PYTHON}(?P<open>{_QUOTE})?)"
    ready = regex.compile(named, regex.MULTILINE)
    return Assigned(kind, re.compile((hint + _AHEAD).encode()), ready, is_password, has_signs=True)


def _argument(
    kind: str,
    hint: str,
    name: str = "",
    before: str = "--[A-Za-z0-9_-]{0,40}?",
    *,
    is_password: bool = False,
) -> Assigned:
    """A rule for a value that stands behind a blank: of an option, or in .netrc."""
    named = rf"{before}(?P<name>(?i:{name or hint}))[ \t]{{1,8}}(?P<open>{_QUOTE})?"
    return Assigned(
        kind,
        re.compile(f"{before}(?:{hint})[ \\t]".lower().encode()),
        regex.compile(named),
        is_password,
    )


def _planned(kind: str, name: str, *, is_password: bool = False) -> Assigned:
    """A rule for the new value where Terraform plans to change one: ``name = "old" -> "new"``."""
    named = rf"(?<=(?P<name>(?i:{name}))[ \t]{{0,40}}=[ \t]{{1,8}}(?:\"[^\"\n]{{0,256}}\"|null) )-> (?P<open>\")"
    return Assigned(kind, re.compile(rb'-> "'), regex.compile(named), is_password)


_CURSORS = (
    "page|next|continuation|continue|cursor|sync|resume|pagination|skip|delta|starting|scroll|idempotency"
    "|public[_-]?key|(?-i:[Cc]lient(?=T))"
)
_OF_TOKENIZERS = "start|end|[beps]os|pad|unk|sep|cls|mask|stop"
_TOKEN = f"token(?<!(?:{_CURSORS}|{_OF_TOKENIZERS})[_-]?token)"
_SORTS_OF_KEY = "api|access|private|account|auth|encryption|signing|master"
_PASSWORD, _SECRET = "pass(?:word|wd|phrase|code)", "secret(?:[ _-]?(?:access[ _-]?)?key)?"
_KEY = f"(?:{_SORTS_OF_KEY})[ _-]?key"

ASSIGNED = (
    _assigned(
        "password",
        f"{_PASSWORD}?",
        rf"{_PASSWORD}|(?<=[_\"'-])pass|(?<![A-Za-z0-9])(?-i:PASS)(?!:[ \t])",
        is_password=True,
    ),
    _assigned("password", "pwd", "pwd", is_password=True),
    _assigned("secret", _SECRET, _SECRET),
    _assigned("token", "token", _TOKEN),
    _assigned("token", "authorization", "authorization"),
    _assigned("api_key", "key(?<=[iesthngr _-]key)", f"key(?<={_KEY})"),
    _argument("password", f"{_PASSWORD}?|pwd", is_password=True),
    _argument(
        "password", "password", before=r"login[ \t]{1,8}[^\s]{1,64}\s{1,8}", is_password=True
    ),
    _argument("secret", "secret(?:[_-]?key)?"),
    _argument("token", "token", _TOKEN),
    _argument("api_key", f"(?:{_SORTS_OF_KEY})[_-]?key"),
    _planned("password", f"{_PASSWORD}|pwd", is_password=True),
    _planned("secret", f"{_SECRET}|{_TOKEN}|{_KEY}"),
)
