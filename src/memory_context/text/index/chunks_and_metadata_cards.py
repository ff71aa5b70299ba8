"""Divide a memory into chunks: the parts of it that are indexed, each given by offsets into its content.

The *card* of a memory is the lexemes of its key, description, category, tags and metadata. It belongs to each chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from memory_context.model.item import CONVERSATION, RECALLED, MemoryItem, is_secret
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.bm25 import encoded, length_at, step_of

SIZE = 2000
# The card is indexed with every chunk, so unlimited metadata would outweigh the text.
CARD_CHARACTERS = 4000
CARD_LEXEMES = 40


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a memory in the index: a row of the table of passages.

    Attributes:
        ordinal: Its number among the memory's chunks, from 0.
        start: The offset of its first character in the content.
        stop: The offset after its last character.
        line: The number, from 1, of the line that `start` is in.
        length: Its length in words, as exactly as the index stores it.
        names: The names of its lexemes (see `bm25`), separated by spaces.
    """

    ordinal: int
    start: int
    stop: int
    line: int
    length: int
    names: str


@dataclass(frozen=True, slots=True)
class ChunkStart:
    """Where a chunk begins: see the attributes of `Chunk`."""

    ordinal: int = 0
    offset: int = 0
    line: int = 1


def chunks_of(item: MemoryItem, start: ChunkStart | None = None) -> Iterator[Chunk]:
    """Yield the chunks of a memory from `start` on; there is at least one.

    The card belongs to each of them. Of a secret, and of binary content, only the card is indexed.
    """
    card = card_of(item)
    text = searchable(item)
    start = start or ChunkStart()
    # A memory without searchable text is still found by its card.
    if not text:
        yield chunk_at(text, ChunkStart(), 0, card)
    while start.offset < len(text):
        stop = end_of_chunk(text, start.offset)
        yield chunk_at(text, start, stop, card)
        line = start.line + text.count("\n", start.offset, stop)
        start = ChunkStart(start.ordinal + 1, stop, line)


def chunk_at(text: str, start: ChunkStart, stop: int, card: Iterable[str]) -> Chunk:
    """Return the chunk of `text` from `start` to the offset `stop`, with the lexemes of the `card` added."""
    analysis = analyze(text[start.offset : stop])
    counts = Counter(analysis.counts)
    counts.update(card)
    names = encoded(counts)
    step = step_of(analysis.length)
    return Chunk(start.ordinal, start.offset, stop, start.line, length_at(step), names)


def searchable(item: MemoryItem) -> str:
    """Return the text that is indexed; empty for binary content and secrets."""
    if isinstance(item.content, bytes) or is_secret(item):
        return ""
    return item.content


def end_of_chunk(text: str, start: int) -> int:
    """Return where the chunk that begins at `start` ends: after a line break, or else a space, in its second half."""
    stop = start + SIZE
    if stop >= len(text):
        return len(text)
    half = start + SIZE // 2
    for space in ("\n", " "):
        place = text.rfind(space, half, stop)
        if place >= 0:
            return place + 1
    return stop


def card_of(item: MemoryItem) -> list[str]:
    """Return the lexemes by which a memory is found besides those of its content."""
    texts = [item.memory_key, item.summary, item.category or "", *item.tags]
    is_conversation = item.memory_type == CONVERSATION
    for name, value in item.content_metadata.items():
        # Otherwise a conversation would be found in place of the memories that were recalled in it.
        if is_conversation and name == RECALLED:
            continue
        texts += _texts(value)
    card = " ".join(texts)
    counts = analyze(card[:CARD_CHARACTERS]).counts
    lexemes = [lexeme for lexeme in counts if len(lexeme) > 1]
    return lexemes[:CARD_LEXEMES]


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Yield the texts and numbers of a JSON value, without its keys."""
    if isinstance(value, Mapping):
        value = list(cast("Mapping[str, Any]", value).values())
    if isinstance(value, list | tuple):
        for part in cast("Iterable[Any]", value):
            yield from _texts(part)
    elif not isinstance(value, bool | None):
        yield str(value)
