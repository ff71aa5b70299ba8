"""Find secrets that have no form of their own, but a name before them: ``password=…``, ``"api_key": "…"``.

Such names also occur where there is no secret: in code, schemas, translations, documentation. So the value decides: what
looks like a word, a name, a path, an expression or a placeholder is not a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import regex

from memory_context.text.redact.kinds_of_rules import Rule, SecretSpan, compiled_pattern
from memory_context.text.redact.names_of_secrets import (
    NAMED_SECRET,
    PASSWORD,
    PASSWORD_ELSEWHERE,
    PASSWORD_NOT_IN_ASCII,
    SECRET,
    SORTS_OF_KEY,
    TOKEN,
    names_password,
)
from memory_context.text.redact.value_looks_secret import (
    RELATIVE_PATH,
    is_code,
    is_made_up,
    is_no_secret,
    is_random,
)
from memory_context.text.spans import Span

# Patterns for the beginning of a value, by which it is judged, and for the rest of it. They are separate so that a
# rejected value is not read to its end: a value of megabytes may have many names of secrets in it, and would be read
# again from each of them.
_ValueForm = tuple[regex.Pattern[str], regex.Pattern[str]]

_LONGEST_JUDGED = 64
_QUOTE = r"\\{0,7}[\"'`]"
_SPACE = r"[ \t]{0,8}"
_TYPE = r"[A-Za-z_&\[?*][\w.|\[\]<>&'?* ]{0,40}"
# Up to three fields may be between a name and its value: "name": "password", "type": "string", "value": "…".
_FIELD = (
    rf"(?:{_QUOTE})?\w{{1,20}}(?:{_QUOTE})?\s?[:=]\s?(?:{_QUOTE})?[\w.:/-]{{0,40}}(?:{_QUOTE})?"
)
_FIELDS = rf"(?:{_FIELD}[,\s]{{1,20}}){{0,3}}"
_ATTRIBUTES = rf"(?:\s[\w:.-]{{1,40}}={_QUOTE}[^\"'<>\\]{{0,80}}{_QUOTE}){{0,4}}"
# <name>…</, <name id="…">…</, key="name">…</
_MARKUP = (
    rf"(?P<markup>(?:(?<=<[\w:.-]{{0,60}}){_ATTRIBUTES}|(?<=\b(?:key|name)={_QUOTE}[\w:.-]{{0,60}}){_QUOTE})"
    r">(?:<!\[CDATA\[(?=\S{4,256}\]\]>)|\s{0,40}(?=[^<>\s]{4,256}\s{0,40}</)))"
)
# The password is …; a password was generated for user ann: … Not: the password is base64-encoded.
_IS = "is|was|es|ist|lautet|est|é|è"
_WHOSE = rf"{_IS}|generated|set|to|for|user|[\w.-]+@[\w.-]+|(?<=(?:user|for) )[\w.-]+"
_SENTENCE = (
    rf" (?<=(?i:word|code|phrase|wort|passe|senha|contrase.a) )(?:(?:{_WHOSE})(?: |(?=: ))){{1,6}}"
    rf"(?:(?<=(?:{_IS}) )(?![A-Za-z0-9]+-[a-z]+\b)|: )"
)
_SET_OR_GET = (
    r"(?<=\b(?i:set|put|add|append|define|env|fetch|get|header)\w{0,20}"
    rf"\({_SPACE}{_QUOTE}[\w.-]{{1,60}}{_QUOTE},{_SPACE})"
)
# What may be between a name and its value; the first alternative that matches is taken.
_SIGNS = "|".join(
    (
        rf"(?:{_QUOTE})?{_SPACE}:{_SPACE}{_TYPE}+={_SPACE}(?={_QUOTE})",  # name: type = "…"
        rf"(?P<below>:{_SPACE}[|>][+-]?{_SPACE}\r?\n[ \t]{{1,40}}(?=\S{{4,256}}[ \t]{{0,8}}\r?$))",  # name: | of YAML
        rf"{_QUOTE}:\s?\[\s{{0,40}}(?=\"[^\s\"]{{4,256}}\"\s{{0,40}}\])",  # "name": ["…"]
        # name=…, "name": …, config["name"] = …; make's ?= and :::=, PHP's .=; not an empty name= before the next=…
        rf"(?:{_QUOTE}\]?)?{_SPACE}(?:=>|:{{1,3}}=|[?+.]=|={{1,3}}|!={{1,2}}|:){_SPACE}(?!(?<=\w=[ \t]+)[a-z_]+=)",
        # Go's var name string = "…"
        rf"[ \t]{{1,4}}[A-Za-z_*][\w.*\[\]]{{0,40}}[ \t]{{1,4}}={_SPACE}(?={_QUOTE})",
        # The arguments of a call that sets or gets a name: setProperty("name", "…"), getenv("name", "…")
        rf"{_QUOTE},{_SPACE}(?={_QUOTE}){_SET_OR_GET}",
        rf"\({_SPACE}(?={_QUOTE})(?<=\b(?i:set|with)\w{{1,60}}\({_SPACE})",  # setPassword("…")
        _SENTENCE,
        # "name", "value": "…", with other fields between them or none
        rf"(?:{_QUOTE})?[,\s]{{1,20}}{_FIELDS}(?:{_QUOTE})?(?i:(?:parameter)?value)(?:{_QUOTE})?{_SPACE}[:=]{_SPACE}",
        _MARKUP,
        r"[ \t]{1,8}(?=')",  # name '…', as in SQL
        r",(?=[\w.=+/~-]{16,512}(?:[,;\s]|\Z))",  # name,… in a table
    )
)
_SCHEME = r"(?:(?:Token|ApiKey|Key|apikey|token)[ =](?:token=)?)?"
# A string prefix of Python, or C#'s @, and the first two of three quotes; f"…" only if nothing is interpolated.
_STRING_PREFIX = (
    r"(?:(?:[bBrRuU]{1,2}|f(?=[\"'][^\"'{]*[\"']))(?=[\"'])|@(?=\"))?(?:''(?=')|\"\"(?=\"))?"
)

_ESCAPES = re.compile(r"\\[bfnrt]")
_BRACKETS = ("(", "[", "{")
_VALUE_ENDS = (" ", "\t", '"', "'", "`", ",", ";")
# What may be between the beginning of a line and a name to which the line assigns a value. The line may be inside a
# string, after an escaped line break.
_LINE_START = regex.compile(
    r"(?<=(?:\A|[\r\n]|(?P<escaped>\\n))[ \t]{0,120}(?:[+>-][ \t]{0,120})?"
    r"(?:(?:export|set|ENV|ARG)[ \t]{1,8})?[\w.-]{0,80})"
)
_ASSIGNMENT = regex.compile(r"[ \t]*=[ \t]*|:[ \t]+")


@dataclass(frozen=True, slots=True)
class AssignedRule(Rule):
    """Finds a kind of secret after a name.

    Attributes:
        named: A pattern of the name, the sign after it, and, in the group ``open``, the quote that opens the value.
    """

    named: str

    @property
    def is_password(self) -> bool:
        """Return whether a person may have chosen the secret, and not a machine."""
        return self.kind == "password"

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        name = compiled_pattern(self.named).match(text, position)
        if name is None:
            return None
        groups = name.groupdict()
        if groups.get("markup"):
            return self._find_value(text, name, _IN_MARKUP)
        if groups["open"]:
            return self._find_value(text, name, _in_quotes(groups["open"]))
        if groups.get("below"):
            return self._find_in_line(text, name, _IN_LINE)
        form = _BARE_PASSWORD if self.is_password else _BARE_KEY
        value = self._find_value(text, name, form, is_bare=True)
        sign = groups.get("assigned") or ""
        may_be_in_line = value or sign == "=" or sign.startswith(":")
        if may_be_in_line and _ASSIGNMENT.fullmatch(sign):
            # If the name is at the beginning of a line, the value may continue up to a blank.
            in_line = _line_form(text, name.start())
            if in_line:
                return self._find_in_line(text, name, in_line) or value
        return value

    def _find_value(
        self, text: str, name: regex.Match[str], form: _ValueForm, *, is_bare: bool = False
    ) -> Span | None:
        """Return the span of a value in this *form* after *name*, if it looks like a secret; otherwise None."""
        beginning, rest = form
        value = beginning.match(text, name.end())
        if value is None:
            return None
        end = value.end()
        if is_bare and text.startswith(_BRACKETS, end):
            return None
        is_cut = text.startswith((" ", "\t"), end)
        unescaped = value[0]
        # Few values have an escape, and looking for a backslash is cheaper than a substitution that finds none.
        if "\\" in unescaped:
            unescaped = _ESCAPES.sub("", unescaped)
        if not self._is_secret(name, unescaped, is_cut=is_cut, is_bare=is_bare):
            return None
        return value.start(), rest.match(text, end).end()  # type: ignore[union-attr] # it always matches

    def _find_in_line(
        self, text: str, name: regex.Match[str], form: regex.Pattern[str]
    ) -> Span | None:
        """Return the span of a value that may contain anything but blanks and quotes, if it looks like a secret."""
        value = form.match(text, name.end())
        if value is None:
            return None
        given = value[0]
        is_cut = text.startswith(_VALUE_ENDS, value.end())
        if not self._is_secret(name, given.rstrip(")]}"), is_cut=is_cut, is_bare=True):
            return None
        if is_code(given, is_cut=is_cut) or is_no_secret(given, is_cut=False):
            return None
        return value.span()

    def _is_secret(
        self, name: regex.Match[str], value: str, *, is_cut: bool, is_bare: bool
    ) -> bool:
        value = value.rstrip(".!?:")
        is_likely = is_made_up if self.is_password else is_random
        if not is_likely(value):
            return False
        written_name = name["name"].lower()
        holds_name = written_name in value.lower()
        if is_bare and (holds_name or is_code(value, is_cut=False)):
            return False
        if written_name == "pwd" and RELATIVE_PATH.fullmatch(value):  # the working directory
            return False
        return not is_no_secret(value, is_cut=is_cut)


_SAID = regex.compile(
    rf"(?:{PASSWORD_NOT_IN_ASCII})[\s\"'`]{{0,2}}(?:[:\uff1a=—は是为為는]|[「“])[\s\"'`「“]{{0,4}}"
    r"(?P<value>[A-Za-z0-9_!#$%*+./:=?@^~-]{5,64}+)(?!(?!です|입니다)\w)"
)


class WordRule(Rule):
    """Finds a password after a word for "password" that is not ASCII, which hints cannot find."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:  # noqa: ARG002 - the protocol's
        """See `Rule.find_all`."""
        if not names_password(text):
            return
        for match in _SAID.finditer(text):
            value = match["value"].rstrip(".!?:")
            is_other = is_code(value, is_cut=False) or is_no_secret(value, is_cut=False)
            if is_made_up(value) and not is_other:
                yield SecretSpan(*match.span("value"), self.kind)


def _line_form(text: str, name_start: int) -> regex.Pattern[str] | None:
    """Return the form of a value up to the end of its line, if the line begins with its name; otherwise None.

    The part of the name that a rule knows begins at *name_start*.
    """
    line = _LINE_START.match(text, name_start)
    if line is None:
        return None
    return _IN_ESCAPED_LINE if line["escaped"] else _IN_LINE


def _value_form(char: str, start: str = "") -> _ValueForm:
    beginning = regex.compile(f"{start}{char}{{4,{_LONGEST_JUDGED}}}+")
    return beginning, regex.compile(f"{char}*+")


# A quote is inside a value unless one of these follows it. Before one of these, it may end a JSON string around the value;
# before any other character, it cannot.
_INSIDE = r"(?![\s,:}\]+.;&%)]|\Z)"
# What a value in apostrophes may contain: other quotes, and apostrophes that are in quotes, escaped as in shells ('\''),
# or doubled as in SQL and YAML.
_IN_APOSTROPHES = rf"(?:\"{_INSIDE}|\\*+`)(?=[^\s']{{0,256}}')|'\"'\"'|'\\''|''(?![\s'\"])"

# Not a colon after a name in JSON that itself ends like an assignment: {"password=":1}.
_NO_VALUE_OF_JSON = r"(?!:(?:-?\d[\d.eE+-]*+[,}\]]|[\"\[{\\]|true|false|null))"


@cache
def _in_quotes(opened: str) -> _ValueForm:
    """Return the form of values after an opening quote, given with the backslashes before it.

    In JSON there are 0 backslashes, in JSON inside JSON 1, then 3, then 7. If there are n, a quote inside the value has
    2n + 1 before it, and a backslash inside the value is written as 2n + 2. Another sort of quote may end the JSON around
    the value; an apostrophe does not.
    """
    quote = opened[-1]
    depth = len(opened) - 1
    ends = "\"'`"
    start = '(?!["`])'
    if quote == '"':
        ends = quote
        start = ""
    backslash = rf"\\{{{2 * depth + 2}}}"
    inner_quote = rf"(?:{backslash})*+\\{{{2 * depth + 1}}}{quote}"
    last_backslashes = rf"(?:{backslash})++(?=\\{{{depth}}}{quote})"
    others = f"|{_IN_APOSTROPHES}" if opened == "'" else ""
    char = rf"(?:[^\s\\{ends}]|\\++[^\s\\{ends}]|{inner_quote}|{last_backslashes}{others})"
    return _value_form(char, _NO_VALUE_OF_JSON + start)


_BARE_PASSWORD = _value_form(r"[^\s\"'`,;&(){}\[\]<>\\|]")
_BARE_KEY = _value_form(r"[^\s\"'`,;&(){}\[\]<>\\|@]")
# A value in markup: up to the closing tag or the end of CDATA. In a JSON string, quotes and slashes may be escaped.
_IN_MARKUP = _value_form(
    rf"(?:(?!\]\]>|</)[^\s\"\\]|\\++(?:(?!\]\]>|</)[^\s\"\\]|(?=</|\]\]>))|\"{_INSIDE})"
)
# A value in a line: up to a blank, a quote, a closing tag or <br>, the assignment to the next name in a query or
# connection string, or a comma or semicolon at the end.
_LINE = r"(?:(?!</|<br|[&;,][A-Za-z_][\w. -]{{0,40}}=|[,;]++(?:\s|$)){}){{4,512}}+"
_IN_LINE = regex.compile(_LINE.format(r"[^\s\"'`]"), regex.MULTILINE)
_IN_ESCAPED_LINE = regex.compile(_LINE.format(r"[^\s\"'`\\]"), regex.MULTILINE)


# Stages of deployment that may follow a name: DB_PASSWORD_PROD=…
_STAGES = "PROD|PRODUCTION|LIVE|STAGING|STAGE|DEV|TEST|QA|UAT|CI|LOCAL|OLD|NEW|PRIMARY|SECONDARY"

# What must follow a name to make a closer look worthwhile: a sign and the beginning of a value, as in `_SIGNS`, but with
# cheaper patterns.
_AHEAD = (
    rf"(?:_(?:{_STAGES.lower()})|[0-9_\-]{{0,3}}+)(?![a-z0-9_])"
    r"(?:[\\\"'`]{0,8}\]?[ \t]{0,8}(?:[?+.]?[:=!]{1,4}>?[ \t]{0,8}"
    r"(?:[bfru@]{0,2}[\\\"'`]{1,8}\S{4}|[^\s\"'`]{4}|\[\s{0,40}\"|[|>][+-]?[ \t]{0,8}\r?\n)"
    r"|:[ \t]{0,8}[a-z_&\[?*][a-z0-9_.|\[\]<>&'?* ]{0,40}=[ \t]{0,8}[\\\"'`]|,?\s{0,20}[\\\"'`]{0,8}(?:parameter)?value|'"
    r"|,[a-z0-9_.=+/~-]{16})"
    r"|[ \t]{1,4}[a-z_*][a-z0-9_.*\[\]]{0,40}[ \t]{1,4}=[ \t]{0,8}[\\\"'`]|[\\\"'`]{1,8},[ \t]{0,8}[\\\"'`]{1,8}\S{4}"
    r"|\([\\\"'`]{1,8}\S{4}| (?:is|was|for|set|generated|es|ist|lautet|est|\?)[ :]"
    r"|[\\\"']{1,8}[,\s](?:[^{}v]{0,99}+v(?!alue)){0,4}[^{}v]{0,99}+value|[\\\"']{0,8}>\s{0,40}[^>\s]{4}"
    r"|\s[a-z0-9_:.-]{1,40}=[\\\"'][^<>]{0,80}>)"
)


def _assigned(kind: str, hint: str, name: str = "") -> AssignedRule:
    """Make a rule for a value that is assigned to *name* (by default, the hint), perhaps with a number or a stage."""
    suffix = rf"(?:[_-]?[0-9]{{1,2}}|_(?-i:{_STAGES}))?"
    value_start = rf"(?(markup)|{_SCHEME}{_STRING_PREFIX}(?P<open>{_QUOTE})?)"
    named = rf"(?m)(?P<name>(?i:{name or hint})){suffix}(?P<assigned>{_SIGNS}){value_start}"
    return AssignedRule(kind, hint + _AHEAD, named)


def _argument(
    kind: str,
    hint: str,
    name: str = "",
    before: str = "--[A-Za-z0-9_-]{0,40}?",
) -> AssignedRule:
    """Make a rule for a value after a blank: of an option (``--token …``), or in .netrc."""
    hint_of_argument = rf"{before}(?:{hint})[ \t]".lower()
    named = rf"{before}(?P<name>(?i:{name or hint}))[ \t]{{1,8}}(?P<open>{_QUOTE})?"
    return AssignedRule(kind, hint_of_argument, named)


def _planned(kind: str, name: str) -> AssignedRule:
    """Make a rule for the new value of a change in a Terraform plan: ``name = "old" -> "new"``."""
    old = rf"(?P<name>(?i:{name}))[ \t]{{0,40}}=[ \t]{{1,8}}(?:\"[^\"\n]{{0,256}}\"|null) "
    return AssignedRule(kind, '-> "', rf'(?<={old})-> (?P<open>")')


_KEY = f"(?:{SORTS_OF_KEY})[ _-]?key"

ASSIGNED = (
    _assigned(
        "password",
        f"{PASSWORD}?",
        rf"{PASSWORD}|(?<=[_.\"'-])pass"
        r"|(?<![A-Za-z0-9])(?-i:PASS(?!:[ \t])|pass(?=\s?(?::|=>)\s?[\"']))",
    ),
    _assigned("password", "pwd"),
    _assigned("password", "identified by"),
    *(_assigned("password", name) for name in PASSWORD_ELSEWHERE),
    _assigned("password", "psk"),
    WordRule("password", "password"),
    _assigned("secret", SECRET, NAMED_SECRET),
    # https://api.wordpress.org/secret-key/1.1/salt/
    _assigned("secret", "salt(?<=[dehn]_salt)", "salt(?<=(?:auth|nonce|logged_in)_salt)"),
    _assigned("token", "token", TOKEN),
    _assigned("token", "authorization"),
    _assigned("api_key", "key(?<=[iesthngr _-]key)", f"key(?<={_KEY})"),
    _argument("password", f"{PASSWORD}?|pwd"),
    _argument("password", "pw", before="bind"),
    _argument("password", "pass", before="require"),  # of Redis
    _argument("password", "securestring", before="ConvertTo-"),  # of PowerShell
    _argument("password", "password", before=r"login[ \t]{1,8}[^\s]{1,64}\s{1,8}"),
    _argument("secret", "secret(?:[_-]?key)?"),
    _argument("token", "token", TOKEN),
    _argument("api_key", f"(?:{SORTS_OF_KEY})[_-]?key"),
    _planned("password", f"{PASSWORD}|pwd"),
    _planned("secret", f"{SECRET}|{TOKEN}|{_KEY}"),
)
