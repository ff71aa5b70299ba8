"""Find the values of Kubernetes secrets, which are base64 under arbitrary names.

An object with ``kind: Secret`` has its values under ``data`` or ``stringData``, in YAML or JSON
(https://kubernetes.io/docs/concepts/configuration/secret).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import regex

from memory_context.text.lines import line_start
from memory_context.text.redact.kinds_of_rules import Rule, SecretSpan
from memory_context.text.redact.value_looks_secret import is_placeholder

# The name of a field in YAML may follow the dash of a list item.
_KIND = regex.compile(
    r"^(?P<indent>[ \t]*+(?:-[ \t]++)?)kind:[ \t]*+[\"']?Secret[\"']?[ \t]*+\r?$", regex.M
)
_LINE = regex.compile(r"(?P<blanks>[ \t]*+)[^\n]*+\n?")
_DATA = regex.compile(r"[ \t-]*+(?:data|stringData):[ \t]*+\r?\n?")
# A value is what follows a key, up to its second quote, a comma or a comment, or to the end of the line. In a block of text
# below a key, each line is a value, and a text in quotes may have several lines.
_VALUE = regex.compile(
    r"""
    [ \t]*+(?:["']?[\w.-]++["']?:\s++)?+
    (?:(?P<quote>["'])(?P<value>[^\n]+)(?P=quote)
    |["']?(?P<value>[^\s"'|>#!&][^\n"']*?)["']?
    |(?P<value>[^\s"'|>#!&][^\n]*?))
    [ \t]*+,?[ \t]*+(?:(?<=\s)\#[^\n]*+)?\r?\n?
    """,
    regex.VERBOSE,
)
# A longer text is no placeholder.
LONGEST_PLACEHOLDER = 200
# How many objects may be nested in a member of a secret. `managedFields` has six levels.
DEEPEST = 10
# JSON may be inside JSON, so there may be up to seven backslashes before each quote.
_KIND_IN_JSON = regex.compile(
    r"(?P<slashes>\\{0,7})\"kind\\{0,7}\"\s{0,4}:\s{0,4}\\{0,7}\"Secret\\{0,7}\""
)


class KubernetesRule(Rule):
    """Finds the values of objects of the kind Secret."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        if b"secret" not in flat or b"kind" not in flat:
            return
        for value in chain(_in_yaml(text), _in_json(text)):
            words = value["value"]
            # A text in braces is a placeholder, but with quotes in it it is JSON.
            may_be_placeholder = len(words) <= LONGEST_PLACEHOLDER and '"' not in words
            if not (may_be_placeholder and is_placeholder(words)):
                yield SecretSpan(*value.span("value"), self.kind)


def _in_yaml(text: str) -> Iterator[regex.Match[str]]:
    done = 0  # each line is read only once
    for kind in _KIND.finditer(text):
        if kind.start() < done:
            continue
        depth = len(kind["indent"])
        is_data = False
        for line in _lines_of_object(text, kind.start(), depth, done):
            done = line.end()
            if len(line["blanks"]) <= depth and line[0].strip():
                is_data = _DATA.fullmatch(line[0]) is not None
            elif is_data:
                value = _VALUE.fullmatch(text, *line.span())
                if value:
                    yield value


def _lines_of_object(text: str, start: int, depth: int, least: int) -> Iterator[regex.Match[str]]:
    """Yield the lines of the object around *start*: those indented by *depth* or more, none of them before *least*."""
    first = start
    while first > least and not _begins_item(text, first, depth):
        above = line_start(text, first - 1)
        if _is_outside(text, above, depth):
            break
        first = above
    for line in _LINE.finditer(text, first):
        place = line.start()
        begins_other = _begins_item(text, place, depth) or _is_outside(text, place, depth)
        if place > first and begins_other:
            return
        yield line


def _begins_item(text: str, place: int, depth: int) -> bool:
    """Return whether the line at *place* begins an item of a list whose fields are indented by *depth*."""
    return text[place : place + depth].strip(" \t") == "-"


def _is_outside(text: str, place: int, depth: int) -> bool:
    """Return whether the line at *place* is indented by less than *depth*, or begins another document."""
    indentation = text[place : place + depth]
    return text.startswith("---", place) or indentation.strip(" \t-\r\n") != ""


def _in_json(text: str) -> Iterator[regex.Match[str]]:
    for slashes in {len(kind["slashes"]) for kind in _KIND_IN_JSON.finditer(text)}:
        secrets, value = _patterns_of_json(slashes)
        for secret in secrets.finditer(text):
            for start, stop in secret.spans("data"):
                yield from value.finditer(text, start, stop)


@cache
def _patterns_of_json(slashes: int) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return the patterns of a secret and of a value in it, in JSON with so many backslashes before each quote.

    Of a secret, only the members from the kind to the values are needed, in either order, so that it may be cut off.
    """
    escape = rf"\\{{{slashes}}}"
    # Escaped backslashes at the end of a string may stand before the quote.
    quote = rf"(?<!\\)(?:\\{{{2 * slashes + 2}}})*+{escape}\""
    # In a string there are other characters, backslashes before them, and quotes with another number of backslashes.
    words = rf"(?:[^\"\\]++|\\++(?!\")|(?!{quote})\\*+\")*+"
    string = rf"{quote}{words}{quote}"
    kind = rf"{quote}kind{escape}\"\s{{0,4}}:\s{{0,4}}{escape}\"Secret{escape}\""
    begin = rf"{quote}(?:data|stringData){escape}\"\s{{0,4}}:\s{{0,4}}\{{"
    other = r"[^{}\"\\]++|\\++(?!\")"
    nested = rf"(?:{other}|{string})*+"
    for _ in range(DEEPEST):
        nested = rf"(?:{other}|{string}|\{{{nested}\}})*+"
    # Beside a kind or data, the next one ends the search, so that the time is linear.
    members = rf"(?:{other}|(?!{kind}|{begin}){string}|\{{{nested}\}})*+"
    data = rf"(?P<data>{begin}{members}(?:\}}|\Z))"
    secret = (
        rf"{kind}(?:{members}{data}){{1,2}}|(?:{data}{members}){{1,2}}{kind}(?:{members}{data})?+"
    )
    return regex.compile(secret), regex.compile(rf":\s{{0,4}}{quote}(?P<value>{words}){quote}")


KUBERNETES = (KubernetesRule("kubernetes_secret", "kind"),)
