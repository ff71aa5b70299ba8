"""Find the values of Kubernetes secrets, which are base64 under arbitrary names.

An object with ``kind: Secret`` has its values under ``data`` or ``stringData``, in YAML or JSON
(https://kubernetes.io/docs/concepts/configuration/secret).
"""

from __future__ import annotations

from collections.abc import Iterator
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
_VALUE = regex.compile(
    r"[ \t]*+(?:[\"']?[\w.-]++[\"']?:[ \t]++)?[\"']?(?P<value>[^\s\"'|>#][^\s\"']*+)[\"']?[ \t]*+\r?\n?"
)
# JSON may be inside JSON, so there may be up to seven backslashes before each quote.
_KIND_IN_JSON = regex.compile(r"\"kind\\{0,7}\"\s{0,4}:\s{0,4}\\{0,7}\"Secret\\{0,7}\"")
_BRACE = regex.compile("[{}]")
# All values are strings, so the first closing brace ends the data.
_DATA_IN_JSON = regex.compile(r"\\{0,7}\"(?:data|stringData)\\{0,7}\"\s{0,4}:\s{0,4}\{[^{}]*+\}")
_VALUE_IN_JSON = regex.compile(r":\s{0,4}\\{0,7}\"(?P<value>[^\"\\\s]++)\\{0,7}\"")


class KubernetesRule(Rule):
    """Finds the values of objects of the kind Secret."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        if b"secret" not in flat or b"kind" not in flat:
            return
        for value in chain(_in_yaml(text), _in_json(text)):
            if not is_placeholder(value["value"]):
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
    done = 0  # each character is read only once
    for kind in _KIND_IN_JSON.finditer(text):
        place = kind.start()
        if place < done:
            continue
        backwards = text[done:place][::-1]
        start = place - _to_brace(backwards, 0, "{")
        done = _to_brace(text, kind.end(), "}")
        for data in _DATA_IN_JSON.finditer(text, start, done):
            yield from _VALUE_IN_JSON.finditer(text, *data.span())


def _to_brace(text: str, position: int, closing: str) -> int:
    """Return the offset of the brace after *position* that closes the object around it; without one, the text's end."""
    depth = 0
    for brace in _BRACE.finditer(text, position):
        if brace[0] != closing:
            depth += 1
        elif depth:
            depth -= 1
        else:
            return brace.start()
    return len(text)


KUBERNETES = (KubernetesRule("kubernetes_secret", "kind"),)
