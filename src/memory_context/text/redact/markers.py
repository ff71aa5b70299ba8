"""Combine the spans of secrets in a text, and replace them by markers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from operator import attrgetter, itemgetter

import regex

from memory_context.text.lines import BYTE_ORDER_MARK
from memory_context.text.redact.kinds_of_rules import SecretSpan
from memory_context.text.redact.private_keys import JOINT

MARKER_BEGINS = "[redacted "
LONGEST_MARKER = 60
MARKER = regex.compile(rf"{re.escape(MARKER_BEGINS)}[a-z][a-z0-9_]{{0,39}}\]")
# Tokens of JSON. Only its numbers and words are wanted, which are in the group; strings match so that they are skipped.
_JSON_TOKEN = regex.compile(
    r'"(?:[^"\\]|\\.)*+"?|(?P<bare>-?[0-9][0-9.eE+-]*+|true|false|null)(?=\s*[,}\]])|[a-zA-Z0-9.]++'
)
_BREAK = regex.compile(r"\r\n|[\n\r]")
_BREAK_IN_KEY = regex.compile(rf"{JOINT}|\r\n|[\n\r]|\\+[nr]")


def merged(spans: Iterable[SecretSpan], ranks: Mapping[str, int]) -> list[SecretSpan]:
    """Join overlapping spans; a joined span has the kind with the lowest rank."""
    joined = list[SecretSpan]()
    for span in sorted(spans, key=attrgetter("start")):
        if not joined or span.start >= joined[-1].end:
            joined.append(span)
            continue
        last = joined.pop()
        end = max(last.end, span.end)
        kind = min(last.kind, span.kind, key=ranks.__getitem__)
        joined.append(SecretSpan(last.start, end, kind))
    return joined


def outside_markers(spans: Iterable[SecretSpan], text: str) -> list[SecretSpan]:
    """Return the parts of *spans* outside the markers that *text* already has, except those that are only line breaks."""
    outside = list[SecretSpan]()
    for start, end, kind, _ in spans:
        begin = start
        markers = MARKER.finditer(text, max(0, start - LONGEST_MARKER), end + LONGEST_MARKER)
        for marker in markers:
            outside.append(SecretSpan(begin, min(marker.start(), end), kind))
            begin = max(begin, marker.end())
        outside.append(SecretSpan(begin, end, kind))
    return [part for part in outside if text[part.start : part.end].strip("\r\n")]


def whole_json_values(spans: Iterable[SecretSpan], text: str) -> list[SecretSpan]:
    """Return *spans*; in a text that is JSON, each span inside a number or a word is widened to the whole of it.

    The marker that replaces such a value must be a string.
    """
    document = text.removeprefix(BYTE_ORDER_MARK).lstrip()
    if not document.startswith(("{", "[")):
        return list(spans)
    values = [token.span() for token in _JSON_TOKEN.finditer(text) if token["bare"]]
    widened = list[SecretSpan]()
    for span in spans:
        begun = bisect_right(values, span.start, key=itemgetter(0))
        start, end = values[begun - 1] if begun else (0, 0)
        if span.end > end:
            widened.append(span)
        elif not widened or widened[-1].end != end:  # otherwise two secrets are in one number
            widened.append(SecretSpan(start, end, span.kind, is_quoted=True))
    return widened


def without_spans(text: str, spans: Iterable[SecretSpan]) -> str:
    """Return *text* with each span replaced by a marker, followed by the line breaks that were in the span."""
    parts = list[str]()
    position = 0
    for span in spans:
        line_break = _BREAK_IN_KEY if span.kind == "private_key" else _BREAK
        breaks = "".join(line_break.findall(text, span.start, span.end))
        marker = f"{MARKER_BEGINS}{span.kind}]{breaks}"
        if span.is_quoted:
            marker = f'"{marker}"'
        parts.append(text[position : span.start])
        parts.append(marker)
        position = span.end
    parts.append(text[position:])
    return "".join(parts)
