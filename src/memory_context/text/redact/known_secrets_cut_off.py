"""Take pieces of known secrets out of a text that was made from the text with them: a description may cut secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_context.text.redact.kinds_of_rules import SecretSpan
from memory_context.text.redact.markers import merged, outside_markers, without_spans

_PIECE = 6
_SHORTEST_PIECE = 3
_COMPARED = 100_000


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was taken out of a text."""

    kind: str
    value: str = field(repr=False)


def without_pieces(text: str, secrets: Sequence[Secret]) -> str:
    """Return *text* without pieces of *secrets*.

    A piece is six characters long. A shorter secret is taken out where it is a whole word. At the end of *text*, where a
    secret may have been cut off, three characters are enough.
    """
    spans = merged(_pieces(text, secrets), {secret.kind: 0 for secret in secrets})
    return without_spans(text, outside_markers(spans, text))


def _pieces(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    """Yield the spans of pieces in *text*."""
    kinds = dict[str, str]()
    end = len(text.rstrip("… "))
    for secret in secrets:
        value = secret.value[:_COMPARED]
        if len(value) < _SHORTEST_PIECE:
            continue
        for start in range(len(value) - _PIECE + 1):
            kinds[value[start : start + _PIECE]] = secret.kind
        if len(value) < _PIECE:
            word = rf"(?<![^\W_]){re.escape(value)}(?![^\W_])"
            for match in re.finditer(word, text):
                yield SecretSpan(*match.span(), secret.kind)
        for size in range(_SHORTEST_PIECE, min(_PIECE, len(value))):
            if text.endswith(value[:size], 0, end):
                yield SecretSpan(end - size, end, secret.kind)
    for start in range(len(text) - _PIECE + 1):
        stop = start + _PIECE
        kind = kinds.get(text[start:stop])
        if kind:
            yield SecretSpan(start, stop, kind)
