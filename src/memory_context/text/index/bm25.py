"""BM25 over an index that keeps, for each chunk, a *set* of lexemes: how often each occurs is part of its name.

Counts are kept in four steps (1, 2, 3 to 4, 5 and more), which is all that BM25's saturation leaves of them.
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); k1 and b are its usual values.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

K1 = 1.2
B = 0.75
MAX_TERMS = 32
MAX_TRIED = 256
MAX_READ = 200_000
# Of so many chunks together it is looked up which lexeme they hold.
MAX_HELD = 6_000
# A lexeme in more than half of the chunks tells nothing apart: probability would have it count against them
# (Robertson and Zaragoza, 3.5). Among so few it is looked up all the same.
FEW_CHUNKS = 300
LENGTH_BITS = 7
FINE_BITS = 4
# The largest length whose step has seven bits: (16 + 15) << 6.
LONGEST = 1984
# The mark that a name has behind it, for each step, and the count that stands for it.
STEPS = (("", 1.0), ("\u00b2", 2.0), ("\u00b3", 3.5), ("\u2075", 6.0))
# The least count of each step.
LEAST_COUNTS = (1, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose lexemes they are: it tells under which names the index has them.

    Attributes:
        number: What begins each name, so that a query reads nothing of other users'.
        hashed: What stands in the index for a name; None where names stand there as they are.
    """

    number: int
    hashed: Callable[[str], str] | None = None

    def named(self, names: str) -> str:
        """Return the names of a chunk's lexemes, with a space between them, as the index has them."""
        return " ".join(map(self._name, names.split()))

    def names_of(self, lexeme: str) -> list[str]:
        """Return every name that a lexeme may have in the index."""
        return [self._name(lexeme + mark) for mark, _ in STEPS]

    def _name(self, name: str) -> str:
        owned = f"{self.number}:{name}"
        return owned if self.hashed is None else f"{self.number}:{self.hashed(owned)}"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 must know of a user's index.

    Attributes:
        owner: Whose index it is.
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
    """An entry of the index that a query reads: a chunk of length L in it scores ``weight / (base + L)``."""

    name: str
    weight: float
    base: float


def step_of(length: int) -> int:
    """Return the step, below 128, that a length in words is kept in: exact up to 32, above it 1 in 17 too low at most.

    It is a small floating-point number: an exponent, and four bits below the leading one.
    """
    kept = min(length, LONGEST)
    above = max(kept.bit_length() - 1 - FINE_BITS, 0)
    return (above << FINE_BITS) + (kept >> above)


def length_at(step: int) -> int:
    """Return the length that stands for a step: the lowest one in it."""
    above = max((step >> FINE_BITS) - 1, 0)
    return (step - (above << FINE_BITS)) << above


def _count_step(count: int) -> tuple[str, float]:
    """Return the step of a count: its mark, and the count that stands for it."""
    return STEPS[bisect(LEAST_COUNTS, count) - 1]


def often(count: int) -> float:
    """Return the count that stands for the step of a count."""
    _, stands_for = _count_step(count)
    return stands_for


def encoded(counts: Mapping[str, int]) -> str:
    """Return the names of a chunk's lexemes in the index, with a space between them."""
    names = list[str]()
    for lexeme, count in counts.items():
        mark, _ = _count_step(count)
        names.append(lexeme + mark)
    return " ".join(names)


def rarest(frequencies: Mapping[str, Sequence[int]], terms: int = MAX_TERMS) -> list[str]:
    """Return the lexemes that are searched for: those that are there, rarest first, at most `terms` of them.

    More than 32 only as long as the index holds at most 200,000 entries of them together: reading takes 1 s for
    a million (`docs/search.md`).
    """
    held = {lexeme: sum(counts) for lexeme, counts in frequencies.items() if any(counts)}
    rarest_first, cheap = _rarest_first(held, MAX_READ)
    return rarest_first[: max(min(cheap, terms), MAX_TERMS)]


def readable(holding: Mapping[str, int], chunks: int) -> list[str]:
    """Return the lexemes that tell `chunks` apart and whose own are few enough to be looked up, rarest first."""
    most = max(FEW_CHUNKS, chunks // 2)
    telling = {lexeme: count for lexeme, count in holding.items() if count <= most}
    rarest_first, cheap = _rarest_first(telling, MAX_HELD)
    return rarest_first[:cheap]


def _rarest_first(holding: Mapping[str, int], most: int) -> tuple[list[str], int]:
    """Return lexemes, rarest first, and how many of these have *most* entries together."""
    rarest_first = sorted(holding, key=holding.__getitem__)
    read = accumulate(holding[lexeme] for lexeme in rarest_first)
    return rarest_first, sum(entries <= most for entries in read)


def postings(
    frequencies: Mapping[str, Sequence[int]], statistics: Statistics, terms: int = MAX_TERMS
) -> list[Posting]:
    """Return what a query reads of the index.

    Args:
        frequencies: For each lexeme of the query, how many chunks hold it, for each of its names.
        statistics: Those of the user.
        terms: How many of the lexemes it goes by at most.
    """
    size = scale(statistics)
    found = list[Posting]()
    for lexeme in rarest(frequencies, terms):
        counts = frequencies[lexeme]
        rarity = idf(sum(counts), statistics.passages)
        names = statistics.owner.names_of(lexeme)
        for name, (_, often), count in zip(names, STEPS, counts, strict=True):
            if count:
                weight = rarity * often * (K1 + 1) * size
                found.append(Posting(name, weight, (often + K1 * (1 - B)) * size))
    return found


def scale(statistics: Statistics) -> float:
    """Return what BM25's fraction is multiplied by, so that a chunk's length stands alone in its denominator."""
    return statistics.average / (K1 * B)


def idf(holding: int, chunks: int) -> float:
    """Return how rare a lexeme is that `holding` of `chunks` hold; never negative."""
    # The counts may lag behind each other for a moment; more holders than chunks would make the
    # logarithm negative.
    return math.log1p((max(chunks, holding) - holding + 0.5) / (holding + 0.5))


def tried(lexemes: Sequence[str]) -> list[str]:
    """Return the lexemes of a long query whose rarity is looked up: the longest, which tend to be the rarest."""
    return sorted(lexemes, key=len, reverse=True)[:MAX_TRIED]
