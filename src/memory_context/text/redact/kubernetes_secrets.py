"""Find the values of Kubernetes secrets, which are base64 under arbitrary names.

An object with ``kind: Secret`` has its values under ``data`` or ``stringData``, in YAML or JSON
(https://kubernetes.io/docs/concepts/configuration/secret).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import regex

from memory_context.text.ranges import Span
from memory_context.text.redact.kinds_of_rules import Rule, SecretSpan, compiled_hint
from memory_context.text.redact.value_looks_secret import is_placeholder

# The name of a field in YAML may follow the dash of a list item.
_KIND = regex.compile(
    r"^(?P<margin>[ \t]{0,40}(?:-[ \t]{1,4})?)kind:[ \t]*+[\"']?Secret[\"']?[ \t]*+\r?$", regex.M
)
_REST_OF_LINE = r"[^\n]*+(?:\n|\Z)"
_BLANK_LINE = r"[ \t\r]*+\n"
_VALUE = regex.compile(
    r"^[ \t]*+(?:[\"']?[\w.-]++[\"']?:[ \t]++)?[\"']?(?P<value>[^\s\"'|>#][^\s\"']*+)[\"']?[ \t]*+\r?$",
    regex.M,
)
# JSON may be inside JSON, so there may be up to seven backslashes before each quote.
# All values are strings, so the first closing brace ends the data.
_TOKEN_OF_JSON = regex.compile(
    r"(?P<kind>\"kind\\{0,7}\"\s{0,4}:\s{0,4}\\{0,7}\"Secret\\{0,7}\")"
    r"|\"(?:data|stringData)\\{0,7}\"\s{0,4}:\s{0,4}\{(?P<values>[^{}]*+)\}"
    r"|[{}]"
)
_VALUE_IN_JSON = regex.compile(r":\s{0,4}\\{0,7}\"(?P<value>[^\"\\\s]++)\\{0,7}\"")


class KubernetesRule(Rule):
    """Finds the values of objects of the kind Secret."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        if not compiled_hint(self.hint).search(flat):
            return
        for value in chain(_in_yaml(text), _in_json(text)):
            if not is_placeholder(value["value"]):
                yield SecretSpan(*value.span("value"), self.kind)


def _in_yaml(text: str) -> Iterator[regex.Match[str]]:
    """Yield the values in YAML, object by object, of those whose fields are indented as far as a field ``kind: Secret``."""
    for depth in {len(kind["margin"]) for kind in _KIND.finditer(text)}:
        for found in regex.finditer(_object_of_yaml(depth), text, regex.M):
            if found["kind"]:
                for span in found.spans("values"):
                    yield from _VALUE.finditer(text, *span)


def _object_of_yaml(depth: int) -> str:
    """Return a pattern for an object whose fields are indented by *depth*: the first one may be an item of a list."""
    deeper = rf"[ \t]{{{depth + 1},}}{_REST_OF_LINE}"
    field = (
        rf"(?:kind:[ \t]*+[\"']?(?P<kind>Secret)[\"']?[ \t]*+\r?(?:\n|\Z)"
        rf"|(?:data|stringData):{_BLANK_LINE}(?P<values>(?:{deeper}|{_BLANK_LINE})*+)"
        rf"|{_REST_OF_LINE})"
    )
    first = rf"^(?!---)[ \t-]{{{depth}}}{field}"
    return rf"{first}(?:{_BLANK_LINE}|(?!---)[ \t]{{{depth}}}{field})*+"


def _in_json(text: str) -> Iterator[regex.Match[str]]:
    """Yield the values in JSON, whose first and last objects may be cut off."""
    around = [0]  # the objects around a token, each known by the offset of its brace
    secrets = set[int]()
    data = list[tuple[int, Span]]()
    for token in _TOKEN_OF_JSON.finditer(text):
        if token["kind"]:
            secrets.add(around[-1])
        elif token["values"]:
            data.append((around[-1], token.span("values")))
        elif token[0] == "{":
            around.append(token.end())
        elif token[0] == "}" and len(around) > 1:
            around.pop()
    for place, span in data:
        if place in secrets:
            yield from _VALUE_IN_JSON.finditer(text, *span)


KUBERNETES = (
    KubernetesRule("kubernetes_secret", r"kind[\\\"']{0,8}\s{0,4}:[\s\\\"']{0,12}secret"),
)
