"""Take pieces of known secrets out of a text that was made from theirs: a description may cut secrets short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_context.text.redact.rules import SecretSpan
from memory_context.text.redact.spans import merged, outside_markers, without_spans

_PIECE = 6
_SHORTEST_PIECE = 3
_COMPARED = 100_000


@dataclass(frozen=True, slots=True)
class Secret:
    """What stood in a text."""

    kind: str
    value: str = field(repr=False)


def without_pieces(text: str, secrets: Sequence[Secret]) -> str:
    """Return *text* without pieces of *secrets*.

    A piece has six characters; a shorter secret goes where it stands as a word, and of what is cut off at an end of
    *text* three characters are enough.
    """
    pieces = [
        *_long_pieces(text, secrets),
        *_short_secrets(text, secrets),
        *_at_ends(text, secrets),
    ]
    any_kind = dict.fromkeys((secret.kind for secret in secrets), 0)
    return without_spans(text, outside_markers(merged(pieces, any_kind), text))


def _long_pieces(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    kinds = dict[str, str]()
    for secret in secrets:
        value = secret.value[:_COMPARED]
        for start in range(len(value) - _PIECE + 1):
            kinds[value[start : start + _PIECE]] = secret.kind
    return _slices(text, _PIECE, kinds)


def _short_secrets(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    for size in range(_SHORTEST_PIECE, _PIECE):
        kinds = {secret.value: secret.kind for secret in secrets if len(secret.value) == size}
        for span in _slices(text, size, kinds):
            around = text[max(0, span.start - 1) : span.start] + text[span.end : span.end + 1]
            if not any(map(str.isalnum, around)):
                yield span


def _slices(text: str, size: int, kinds: dict[str, str]) -> Iterator[SecretSpan]:
    """Yield where a slice of *text* is one of *kinds*, each of which has this size."""
    if not kinds:
        return
    for start in range(len(text) - size + 1):
        kind = kinds.get(text[start : start + size])
        if kind:
            yield SecretSpan(start, start + size, kind)


def _at_ends(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    start = len(text) - len(text.lstrip("… "))
    end = len(text.rstrip("… "))
    for secret in secrets:
        for size in range(_SHORTEST_PIECE, min(_PIECE, len(secret.value))):
            if text.startswith(secret.value[-size:], start):
                yield SecretSpan(start, start + size, secret.kind)
            if text.endswith(secret.value[:size], 0, end):
                yield SecretSpan(end - size, end, secret.kind)
