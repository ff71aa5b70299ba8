"""Find the terms of a message in an index: the chunks that hold most of them, and how rare each lexeme is.

A *term* is a word or name of the message; it consists of one or several lexemes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain

from memory_context.model.item import MemoryItem
from memory_context.text.index.analyzer import analyze
from memory_context.text.index.bm25 import idf, often
from memory_context.text.index.chunks_and_metadata_cards import card_of, end_of_chunk, searchable
from memory_context.text.spans import Span

MOST_CHUNKS = 40
CHUNKS_OF_TERM = 8


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk of a memory.

    Attributes:
        memory_key: The key of the memory.
        start: The offset of the chunk's first character.
        stop: The offset after its last character.
    """

    memory_key: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class TermHits:
    """What an index knows about the terms of a message, for some of a user's memories.

    Attributes:
        chunks: How many chunks the user has in all.
        holding: How many of them hold each lexeme, without lexemes that no chunk holds.
        here: The lexemes that these memories hold, and those that are too common to be looked up.
        places: The chunks of these memories that are worth reading; see `best_chunks`.
    """

    chunks: int = 0
    holding: Mapping[str, int] = field(default_factory=dict[str, int])
    here: AbstractSet[str] = frozenset()
    places: Sequence[ChunkPlace] = ()

    def rarity(self, lexeme: str) -> float:
        """Return how well a lexeme distinguishes chunks: its inverse document frequency, as in BM25."""
        return idf(self.holding.get(lexeme, 0), self.chunks)


def best_chunks(
    terms: Iterable[Sequence[str]],
    held: Mapping[str, Mapping[int, float]],
    rarity: Callable[[str], float],
) -> list[int]:
    """Return the chunks to read: those that hold most of a message, and the best ones for each of its terms.

    Args:
        terms: The lexemes of each term.
        held: For each lexeme, the numbers of the chunks that hold it, with how often they do, which breaks ties.
        rarity: Returns how well a lexeme distinguishes chunks.
    """
    scores = defaultdict[int, float](float)
    counts = defaultdict[int, float](float)
    for lexeme, chunks in held.items():
        worth = rarity(lexeme)
        for chunk, count in chunks.items():
            scores[chunk] += worth
            counts[chunk] += count
    ranked = sorted(scores, key=lambda chunk: (-scores[chunk], -counts[chunk], chunk))
    chosen = dict.fromkeys(ranked[:MOST_CHUNKS])
    for term in terms:
        rarest = max(term, key=rarity, default="")
        of_rarest = held.get(rarest, {})
        holding = [chunk for chunk in ranked if chunk in of_rarest]
        if len(term) > 1:
            # How many of its lexemes each chunk holds, however often.
            together = Counter(chain.from_iterable(held.get(lexeme, ()) for lexeme in term))
            holding.sort(key=together.__getitem__, reverse=True)
        chosen |= dict.fromkeys(holding[:CHUNKS_OF_TERM])
    return list(chosen)


def term_hits(
    items: Iterable[MemoryItem],
    terms: Sequence[Sequence[str]],
    regions: Sequence[Span] | None = None,
) -> TermHits:
    """Return the hits that an index of *items* would give, by analyzing their texts.

    Args:
        items: The memories.
        terms: The terms, each as its lexemes.
        regions: The parts of the text to analyze, if there is only one memory; None for the whole texts.
    """
    wanted = frozenset(chain.from_iterable(terms))
    held = defaultdict[str, dict[int, float]](dict)
    places = list[ChunkPlace]()
    for item in items:
        card = card_of(item)
        text = searchable(item)
        for begin, stop in regions or [(0, len(text))]:
            start = begin
            while start < stop:
                end = min(end_of_chunk(text, start), stop)
                counts = Counter(analyze(text[start:end]).counts)
                counts.update(card)
                number = len(places)
                places.append(ChunkPlace(item.memory_key, start, end))
                for lexeme in wanted.intersection(counts):
                    held[lexeme][number] = often(counts[lexeme])
                start = end
    holding = {lexeme: len(chunks) for lexeme, chunks in held.items()}
    hits = TermHits(len(places), holding, held.keys())
    best = best_chunks(terms, held, hits.rarity)
    return replace(hits, places=[places[number] for number in best])
