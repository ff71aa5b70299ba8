"""Take pieces of known secrets out of a text that was made from the text with them: a description may cut secrets."""

from __future__ import annotations

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

    A piece is six characters long. A shorter secret is taken out where it is a whole word. At either end of *text*,
    where a secret may have been cut, three characters are enough.
    """
    pieces = [*_pieces(text, secrets), *_at_ends(text, secrets)]
    spans = merged(pieces, {secret.kind: 0 for secret in secrets})
    return without_spans(text, outside_markers(spans, text))


def _pieces(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    """Yield the spans in *text* of any six characters of a secret, or of a whole shorter secret that is a word."""
    kinds = dict[str, str]()
    for secret in secrets:
        value = secret.value[:_COMPARED]
        if len(value) < _SHORTEST_PIECE:
            continue
        size = min(_PIECE, len(value))
        for _, piece in _runs(value, size):
            kinds[piece] = secret.kind
    sizes = set(map(len, kinds))
    for size in sorted(sizes, reverse=True):
        for start, piece in _runs(text, size):
            if piece not in kinds:
                continue
            stop = start + size
            if size == _PIECE or _is_word(text, start, stop):
                yield SecretSpan(start, stop, kinds[piece])


def _runs(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Yield each run of *size* characters of *text*, with its offset."""
    for start in range(len(text) - size + 1):
        yield start, text[start : start + size]


def _is_word(text: str, start: int, stop: int) -> bool:
    is_joined = text[max(0, start - 1) : start].isalnum()
    goes_on = text[stop : stop + 1].isalnum()
    return not is_joined and not goes_on


def _at_ends(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    """Yield the spans of three to five characters at either end of *text* that are the end or beginning of a secret."""
    start = len(text) - len(text.lstrip("… "))
    end = len(text.rstrip("… "))
    for secret in secrets:
        value = secret.value
        for size in range(_SHORTEST_PIECE, min(_PIECE, len(value))):
            if text.startswith(value[-size:], start):
                yield SecretSpan(start, start + size, secret.kind)
            if text.endswith(value[:size], 0, end):
                yield SecretSpan(end - size, end, secret.kind)
