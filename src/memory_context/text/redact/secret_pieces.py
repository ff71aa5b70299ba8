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
    any_kind = dict.fromkeys((secret.kind for secret in secrets), 0)
    return without_spans(text, outside_markers(merged(pieces, any_kind), text))


def _pieces(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    """Yield the spans in *text* of any six characters of a secret, or of a whole shorter secret that is a word."""
    for size in range(_PIECE, _SHORTEST_PIECE - 1, -1):
        kinds = dict[str, str]()
        for secret in secrets:
            value = secret.value[:_COMPARED]
            if size == _PIECE or size == len(value):
                for start in range(len(value) - size + 1):
                    kinds[value[start : start + size]] = secret.kind
        if not kinds:
            continue
        for start in range(len(text) - size + 1):
            stop = start + size
            kind = kinds.get(text[start:stop])
            if kind and (size == _PIECE or _is_word(text, start, stop)):
                yield SecretSpan(start, stop, kind)


def _is_word(text: str, start: int, stop: int) -> bool:
    around = text[max(0, start - 1) : start] + text[stop : stop + 1]
    return not any(map(str.isalnum, around))


def _at_ends(text: str, secrets: Sequence[Secret]) -> Iterator[SecretSpan]:
    start = len(text) - len(text.lstrip("… "))
    end = len(text.rstrip("… "))
    for secret in secrets:
        for size in range(_SHORTEST_PIECE, min(_PIECE, len(secret.value))):
            if text.startswith(secret.value[-size:], start):
                yield SecretSpan(start, start + size, secret.kind)
            if text.endswith(secret.value[:size], 0, end):
                yield SecretSpan(end - size, end, secret.kind)
