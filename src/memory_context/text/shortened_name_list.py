"""List names in a message: the first of them, each cut, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable

from memory_context.sentences_models_read import AND_MORE

MOST_NAMES = 20
LONGEST_NAME = 40


def listed(names: Iterable[object]) -> str:
    """Return `names` joined with commas: 20 at most, each cut to 40 characters."""
    texts = list(map(str, names))
    sentence = ", ".join(map(_cut, texts[:MOST_NAMES]))
    if len(texts) > MOST_NAMES:
        sentence += " " + AND_MORE.format(count=len(texts) - MOST_NAMES)
    return sentence


def _cut(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}…"
