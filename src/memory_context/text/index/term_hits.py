"""Where the lexemes of a message stand: the chunks that hold each of them, and how rare each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory_context.model.item import MemoryItem
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.bm25 import idf
from memory_context.text.index.chunks import card_of, end_of_chunk, searchable


@dataclass(frozen=True, slots=True)
class TermHit:
    """A chunk of a memory that holds a lexeme.

    Attributes:
        lexeme: The lexeme.
        memory_key: The memory.
        start: The offset of the chunk's first character.
        stop: The offset behind its last character.
    """

    lexeme: str
    memory_key: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class TermHits:
    """What an index knows of some lexemes.

    Attributes:
        chunks: How many chunks the user has.
        holding: How many of them hold each lexeme; none that no chunk holds.
        hits: The chunks that hold one, of the memories that were asked about. Lexemes that are too common to be read
            have none.
    """

    chunks: int = 0
    holding: Mapping[str, int] | None = None
    hits: Sequence[TermHit] = ()

    def rarity(self, lexeme: str) -> float:
        """Return how much a lexeme tells apart: as BM25 has it."""
        return idf((self.holding or {}).get(lexeme, 0), self.chunks)


def term_hits(items: Iterable[MemoryItem], lexemes: Iterable[str]) -> TermHits:
    """Return what an index of *items* would say, by analyzing their texts: for stores without an index."""
    wanted = frozenset(lexemes)
    holding = Counter[str]()
    hits = list[TermHit]()
    chunks = 0
    for item in items:
        card, text, start = wanted.intersection(card_of(item)), searchable(item), 0
        while start < len(text):
            stop = end_of_chunk(text, start)
            held = card.union(wanted.intersection(analyze(text[start:stop]).counts))
            holding.update(held)
            hits += [TermHit(lexeme, item.memory_key, start, stop) for lexeme in sorted(held)]
            chunks += 1
            start = stop
    return TermHits(chunks, holding, hits)
