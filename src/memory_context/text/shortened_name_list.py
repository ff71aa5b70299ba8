"""List names in a message: the first of them, each cut, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable

from memory_context.sentences_models_read import AND_MORE

MOST_NAMES = 20
LONGEST_NAME = 40
# A name that a query must spell is of no use if it is cut: the columns of a survey are whole questions.
LONGEST_COLUMN = 120


def listed(names: Iterable[object], longest: int = LONGEST_NAME) -> str:
    """Return `names` joined with commas: 20 at most, each cut to the *longest* length."""
    texts = list(map(str, names))
    sentence = ", ".join(_cut(text, longest) for text in texts[:MOST_NAMES])
    if len(texts) > MOST_NAMES:
        sentence += " " + AND_MORE.format(count=len(texts) - MOST_NAMES)
    return sentence


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    return f"{name[:longest]}…"
