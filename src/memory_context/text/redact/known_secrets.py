"""Take known secrets out of a line that was made from a text with them, where they may look like no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_context.text.redact.kinds_of_rules import SecretSpan
from memory_context.text.redact.markers import merged, outside_markers, without_spans

# From this length on, a secret is no part of a word by chance.
_LONG = 6
_SHORTEST_PIECE = 3
_LONGEST_PIECE = 100


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was taken out of a text."""

    kind: str
    value: str = field(repr=False)


def without_known(line: str, secrets: Sequence[Secret]) -> str:
    """Return *line* without *secrets*, and without the part of a secret before an ellipsis, where a line was cut.

    A secret shorter than six characters is taken out only where it is a whole word.
    """
    spans = [span for secret in dict.fromkeys(secrets) for span in _places(line, secret)]
    any_kind = dict.fromkeys((secret.kind for secret in secrets), 0)
    return without_spans(line, outside_markers(merged(spans, any_kind), line))


def _places(line: str, secret: Secret) -> Iterator[SecretSpan]:
    if secret.value in line:  # before a pattern is made of it, which may be long
        edges = (r"(?<!\w)", r"(?!\w)") if len(secret.value) < _LONG else ("", "")
        for match in re.finditer(re.escape(secret.value).join(edges), line):
            yield SecretSpan(*match.span(), secret.kind)
    for cut in re.finditer("…", line):
        for size in range(_SHORTEST_PIECE, min(_LONGEST_PIECE, len(secret.value))):
            if line.endswith(secret.value[:size], 0, cut.start()):
                yield SecretSpan(cut.start() - size, cut.start(), secret.kind)
