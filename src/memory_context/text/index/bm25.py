"""Compute BM25 over an index that stores only a *set* of names for each chunk.

The *name* of a lexeme in the index is the lexeme with a mark for how often it occurs in the chunk. Counts are kept in
four *steps* (1, 2, 3 to 4, 5 and more), because BM25's saturation makes further ones pointless. Robertson and Zaragoza,
"The Probabilistic Relevance Framework: BM25 and Beyond" (2009); k1 and b have their usual values.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory_context.text.index.lexemes_looked_up import MAX_TERMS, rarest

K1 = 1.2
B = 0.75
LENGTH_BITS = 7
FINE_BITS = 4
# The largest length whose step has seven bits: (16 + 15) << 6.
LONGEST = 1984
# For each step, the mark at the end of a name, and the count that represents the step.
STEPS = (("", 1.0), ("\u00b2", 2.0), ("\u00b3", 3.5), ("\u2075", 6.0))
# The lowest count of each step.
LEAST_COUNTS = (1, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of an index's entries, which determines the names of lexemes in the index.

    Attributes:
        number: The prefix of each name, so that a query reads no entries of other users.
        hashed: Hashes a name for the index; None if names are stored as they are.
    """

    number: int
    hashed: Callable[[str], str] | None = None

    def named(self, names: str) -> str:
        """Return the names of a chunk's lexemes, separated by spaces, as the index stores them for this owner."""
        return " ".join(map(self._name, names.split()))

    def names_of(self, lexeme: str) -> list[str]:
        """Return every name that a lexeme may have in the index."""
        return [self._name(lexeme + mark) for mark, _ in STEPS]

    def _name(self, name: str) -> str:
        owned = f"{self.number}:{name}"
        if self.hashed is None:
            return owned
        return f"{self.number}:{self.hashed(owned)}"


@dataclass(frozen=True, slots=True)
class Statistics:
    """The numbers that BM25 needs about a user's index.

    Attributes:
        owner: The owner of the index.
        passages: How many chunks there are.
        length: The sum of their lengths, in words.
    """

    owner: Owner
    passages: int
    length: int

    @property
    def average(self) -> float:
        """Return the average length of a chunk, at least 1."""
        return max(self.length / max(self.passages, 1), 1.0)


@dataclass(frozen=True, slots=True)
class Posting:
    """An entry of the index that a query reads: each of its chunks, of length L, scores ``weight / (base + L)``."""

    name: str
    weight: float
    base: float


def step_of(length: int) -> int:
    """Return the step, below 128, that is stored for a length in words.

    It is exact up to 32; above that, the stored length is too low by at most 1 in 17. A step is a small floating-point
    number: an exponent, and four bits below the leading one.
    """
    kept = min(length, LONGEST)
    leading = kept.bit_length() - 1
    above = max(leading - FINE_BITS, 0)
    return (above << FINE_BITS) + (kept >> above)


def length_at(step: int) -> int:
    """Return the length that represents a step: the lowest one in it."""
    above = max((step >> FINE_BITS) - 1, 0)
    return (step - (above << FINE_BITS)) << above


def _count_step(count: int) -> tuple[str, float]:
    """Return the step of a count: its mark, and the count that represents it."""
    return STEPS[bisect(LEAST_COUNTS, count) - 1]


def often(count: int) -> float:
    """Return the count that represents the step of a count."""
    return _count_step(count)[1]


def encoded(counts: Mapping[str, int]) -> str:
    """Return the names of a chunk's lexemes, separated by spaces."""
    names = [lexeme + _count_step(count)[0] for lexeme, count in counts.items()]
    return " ".join(names)


def postings(
    frequencies: Mapping[str, Sequence[int]], statistics: Statistics, terms: int = MAX_TERMS
) -> list[Posting]:
    """Return the entries of the index that a query reads.

    Args:
        frequencies: For each lexeme of the query and each of its names, how many chunks hold it.
        statistics: The statistics of the user's index.
        terms: How many of the lexemes are used at most.
    """
    size = scale(statistics)
    found = list[Posting]()
    for lexeme in rarest(frequencies, terms):
        counts = frequencies[lexeme]
        rarity = idf(sum(counts), statistics.passages)
        names = statistics.owner.names_of(lexeme)
        for name, (_, occurring), count in zip(names, STEPS, counts, strict=True):
            if count:
                weight = rarity * occurring * (K1 + 1) * size
                base = (occurring + K1 * (1 - B)) * size
                found.append(Posting(name, weight, base))
    return found


def scale(statistics: Statistics) -> float:
    """Return the factor that expands BM25's fraction, so that its denominator is a constant plus the chunk's length."""
    return statistics.average / (K1 * B)


def idf(holding: int, chunks: int) -> float:
    """Return the inverse document frequency of a lexeme that is in `holding` of `chunks` chunks; never negative."""
    # One count may lag behind the other for a moment. With more holders than chunks the logarithm would be negative.
    others = max(chunks - holding, 0)
    return math.log1p((others + 0.5) / (holding + 0.5))
