"""BM25 over an index that keeps, for each passage, a *set* of lexemes: how often each occurs is part of its name.

Counts are kept in four steps (1, 2, 3 to 4, 5 and more), which is all that BM25's saturation leaves of them.
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); k1 and b are its usual values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

K1 = 1.2
B = 0.75
MAX_TERMS = 32
MAX_TRIED = 256
MAX_READ = 200_000
LENGTH_BITS = 7
FINE_BITS = 4
LONGEST = 1984
STEPS = (("", 1.0), ("\u00b2", 2.0), ("\u00b3", 3.5), ("\u2075", 6.0))


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 must know of a user's index.

    Attributes:
        owner: The number that begins each of the user's lexemes.
        passages: How many passages there are.
        length: The sum of their lengths, in words.
    """

    owner: int
    passages: int
    length: int

    @property
    def average(self) -> float:
        """The average length of a passage."""
        return max(self.length / self.passages, 1.0) if self.passages else 1.0


@dataclass(frozen=True, slots=True)
class Posting:
    """One entry of the index that a query reads: a passage of length L in it gets ``weight / (base + L)``."""

    name: str
    weight: float
    base: float


def step_of(length: int) -> int:
    """The step, below 128, that a length in words is kept in: exact up to 32, above it 1 in 17 too low at most."""
    kept = min(length, LONGEST)
    above = max(kept.bit_length() - 1 - FINE_BITS, 0)
    return (above << FINE_BITS) + (kept >> above)


def length_at(step: int) -> int:
    """The length that stands for a step: the lowest one in it."""
    above = max((step >> FINE_BITS) - 1, 0)
    return (step - (above << FINE_BITS)) << above


def encoded(counts: Mapping[str, int]) -> str:
    """The names of a passage's lexemes in the index, with a space between them."""
    return " ".join(
        [lexeme if count == 1 else lexeme + _step(count) for lexeme, count in counts.items()]
    )


def _step(count: int) -> str:
    return STEPS[1][0] if count == 2 else STEPS[2][0] if count < 5 else STEPS[3][0]


def owned(names: str, owner: int) -> str:
    """`names` as those of one user."""
    return f"{owner}:" + names.replace(" ", f" {owner}:") if names else ""


def names_of(lexeme: str, owner: int) -> list[str]:
    """Every name that a lexeme of this user may have in the index."""
    return [f"{owner}:{lexeme}{mark}" for mark, _ in STEPS]


def rarest(frequencies: Mapping[str, Sequence[int]], terms: int = MAX_TERMS) -> list[str]:
    """The lexemes that are searched for: those that are there, rarest first, at most `terms` of them.

    More than 32 only as long as the index holds at most 200,000 entries of them together: reading takes 1 s for
    a million (`docs/search.md`).
    """
    held = {lexeme: sum(counts) for lexeme, counts in frequencies.items() if any(counts)}
    there = sorted(held, key=held.__getitem__)
    read = accumulate(map(held.__getitem__, there))
    cheap = sum(entries <= MAX_READ for entries in read)
    return there[: max(min(cheap, terms), MAX_TERMS)]


def postings(
    frequencies: Mapping[str, Sequence[int]], statistics: Statistics, terms: int = MAX_TERMS
) -> list[Posting]:
    """What a query reads of the index.

    Args:
        frequencies: For each lexeme of the query, how many passages hold it, for each of its names.
        statistics: Those of the user.
        terms: How many of the lexemes it goes by at most.
    """
    chosen = rarest(frequencies, terms)
    return [
        posting for lexeme in chosen for posting in _of(lexeme, frequencies[lexeme], statistics)
    ]


def _of(lexeme: str, counts: Sequence[int], statistics: Statistics) -> Iterable[Posting]:
    size = scale(statistics)
    rarity = idf(sum(counts), statistics.passages)
    for name, (_, often), count in zip(
        names_of(lexeme, statistics.owner), STEPS, counts, strict=True
    ):
        if count:
            yield Posting(name, rarity * often * (K1 + 1) * size, (often + K1 * (1 - B)) * size)


def scale(statistics: Statistics) -> float:
    """What BM25's fraction is multiplied by, so that a passage's length stands alone in its denominator."""
    return statistics.average / (K1 * B)


def idf(holding: int, passages: int) -> float:
    """How rare a lexeme is that `holding` of `passages` hold; never negative."""
    return math.log1p((max(passages, holding) - holding + 0.5) / (holding + 0.5))


def tried(lexemes: Sequence[str]) -> list[str]:
    """The lexemes of a long query whose rarity is looked up: the longest ones, which tend to be the rarest."""
    return sorted(lexemes, key=len, reverse=True)[:MAX_TRIED]
