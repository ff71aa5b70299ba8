"""Passages: the parts of a memory that are indexed, each as offsets into its content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from memory_context.model.item import MemoryItem, is_secret
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.bm25 import encoded, length_at, step_of

SIZE = 2000
CARD_CHARACTERS = 4000
CARD_LEXEMES = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a memory, as the index knows it.

    Attributes:
        ordinal: Its place among the memory's passages, from 0.
        start: The offset of its first character in the content.
        stop: The offset behind its last character.
        line: The number of the line that `start` lies in, from 1.
        length: Its length in words, as exact as the index keeps it.
        names: Its lexemes, as the index writes them, with a space between them.
    """

    ordinal: int
    start: int
    stop: int
    line: int
    length: int
    names: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the next passage begins."""

    ordinal: int = 0
    start: int = 0
    line: int = 1


def passages_of(item: MemoryItem, place: Place | None = None) -> Iterator[Passage]:
    """The passages of a memory, one at least, from `place` on.

    The memory's key, description, category, tags and metadata belong to each of them. Of a secret, and of binary
    content, only these are indexed.
    """
    card, text, place = card_of(item), searchable(item), place or Place()
    if not text:
        yield passage_at(text, Place(), 0, card)
        return
    while place.start < len(text):
        stop = cut(text, place.start)
        yield passage_at(text, place, stop, card)
        place = Place(place.ordinal + 1, stop, place.line + text.count("\n", place.start, stop))


def passage_at(text: str, place: Place, stop: int, card: Iterable[str]) -> Passage:
    """The passage of `text` from `place` to the offset `stop`."""
    found = analyze(text[place.start : stop])
    counts = dict(found.counts)
    for lexeme in card:
        counts[lexeme] = counts.get(lexeme, 0) + 1
    return Passage(
        place.ordinal,
        place.start,
        stop,
        place.line,
        length_at(step_of(found.length)),
        encoded(counts),
    )


def searchable(item: MemoryItem) -> str:
    """The text that is indexed: nothing of binary content, nothing of a secret."""
    return item.content if isinstance(item.content, str) and not is_secret(item) else ""


def cut(text: str, start: int) -> int:
    """Where the passage that begins at `start` ends: at a line break if there is one in its second half, or a space."""
    stop = start + SIZE
    if stop >= len(text):
        return len(text)
    half = start + SIZE // 2
    return (text.rfind("\n", half, stop) + 1) or (text.rfind(" ", half, stop) + 1) or stop


def card_of(item: MemoryItem) -> list[str]:
    """The lexemes that a memory is found by beside its content."""
    texts = (
        item.memory_key,
        item.summary,
        item.category or "",
        *item.tags,
        *_texts(item.content_metadata),
    )
    found = analyze(" ".join(texts)[:CARD_CHARACTERS]).counts
    return list(islice((lexeme for lexeme in found if len(lexeme) > 1), CARD_LEXEMES))


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """The texts and numbers of a JSON value, without its keys."""
    if isinstance(value, Mapping):
        yield from (
            text for part in cast("Mapping[str, Any]", value).values() for text in _texts(part)
        )
    elif isinstance(value, list | tuple):
        yield from (text for part in cast("Iterable[Any]", value) for text in _texts(part))
    elif value is not None and not isinstance(value, bool):
        yield str(value)
