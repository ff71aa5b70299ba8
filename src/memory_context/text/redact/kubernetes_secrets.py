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
from memory_context.text.spans import Span

# The name of a field in YAML may follow the dash of a list item.
_KIND = regex.compile(
    r"^(?P<indent>[ \t]*+(?:-[ \t]++)?)kind:[ \t]*+[\"']?Secret[\"']?[ \t]*+\r?$", regex.M
)
_LINE = regex.compile(r"(?P<blanks>[ \t]*+)[^\n]*+\n?")
_DATA = regex.compile(r"[ \t-]*+(?:data|stringData):[ \t]*+\r?\n?")
# The key of a value, with the value's tag or anchor.
_KEY = regex.compile(
    r"[ \t]*+(?P<key>(?:\"[^\"\n]*+\"|'[^'\n]*+'|[\w.-]++):(?=\s|\Z)[ \t]*+(?:[!&]\S*+[ \t]*+)*+)?+"
)
_COMMENT = regex.compile(r"[ \t]++#")
# What may follow a value in quotes.
_BEHIND = regex.compile(r",?(?:[ \t]++#.*+)?")
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
        for start, stop in chain(_in_yaml(text), _in_json(text)):
            words = text[start:stop]
            # A text in braces is a placeholder, but with quotes in it it is JSON.
            may_be_placeholder = len(words) <= LONGEST_PLACEHOLDER and '"' not in words
            if not (may_be_placeholder and is_placeholder(words)):
                yield SecretSpan(start, stop, self.kind)


def _in_yaml(text: str) -> Iterator[Span]:
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
            elif is_data and (value := _value_in(text, *line.span())):
                yield value


def _value_in(text: str, start: int, stop: int) -> Span | None:
    """Return the value in a line of data, without its quotes and a comment behind it; None if there is none.

    All of a line without a key is a value, because it continues a text that has several lines.
    """
    key = _KEY.match(text, start, stop)
    begin = key.end() if key else start
    end = begin + len(text[begin:stop].rstrip())
    has_key = key is not None and key["key"] is not None
    first = text[begin:end][:1]
    # A text of several lines begins below its key.
    if first in ("", "#") or (has_key and first in ("|", ">")):
        return None
    if first in ('"', "'"):
        closing = text.rfind(first, begin + 1, end)
        is_closed = closing > begin and _BEHIND.fullmatch(text, closing + 1, end)
        return begin + 1, closing if is_closed else end
    comment = _COMMENT.search(text, begin, end) if has_key else None
    if comment:
        return begin, comment.start()
    last = text[end - 1]
    is_last_of_quoted = last in ('"', "'") and text.count(last, begin, end) == 1
    return begin, end - is_last_of_quoted


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


def _in_json(text: str) -> Iterator[Span]:
    for slashes in {len(kind["slashes"]) for kind in _KIND_IN_JSON.finditer(text)}:
        secrets, value = _patterns_of_json(slashes)
        for secret in secrets.finditer(text):
            for start, stop in secret.spans("data"):
                for match in value.finditer(text, start, stop):
                    yield match.span("value")


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
    return regex.compile(secret), regex.compile(
        rf"(?<=\"):\s{{0,4}}{quote}(?P<value>{words}){quote}"
    )


KUBERNETES = (KubernetesRule("kubernetes_secret", "kind"),)
