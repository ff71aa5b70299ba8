"""Choose the lexemes of a query that are looked up: the rarest ones, as many as cost little to read."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate

# In characters. A caller may pass a whole document as a query; this much of it has more lexemes than are looked up.
MAX_QUERY = 100_000
MAX_TERMS = 32
MAX_TRIED = 256
MAX_READ = 200_000
# Lexemes are looked up, rarest first, as long as they are in no more than this many chunks together.
MAX_HELD = 6_000
# A lexeme in more than half of the chunks does not distinguish them: in the probabilistic model it would count against a
# chunk (Robertson and Zaragoza, 3.5). But one in no more than this many chunks is kept.
FEW_CHUNKS = 300


def rarest(frequencies: Mapping[str, Sequence[int]], terms: int) -> list[str]:
    """Return the lexemes to search for: those that the index has, rarest first, at most `terms` of them.

    There are more than 32 only as long as they have at most 200,000 entries in the index together: reading a million
    entries takes 1 s (`docs/search.md`).
    """
    held = {lexeme: sum(counts) for lexeme, counts in frequencies.items() if any(counts)}
    rarest_first, cheap = _rarest_first(held, MAX_READ)
    used = max(min(cheap, terms), MAX_TERMS)
    return rarest_first[:used]


def readable(holding: Mapping[str, int], chunks: int) -> list[str]:
    """Return the lexemes that distinguish `chunks` and are in few enough of them to be looked up, rarest first."""
    most = max(FEW_CHUNKS, chunks // 2)
    rarest_first, cheap = _rarest_first(holding, MAX_HELD)
    return [lexeme for lexeme in rarest_first[:cheap] if holding[lexeme] <= most]


def _rarest_first(holding: Mapping[str, int], most: int) -> tuple[list[str], int]:
    """Return the lexemes, rarest first, and how many of the rarest have at most *most* entries together."""
    rarest_first = sorted(holding, key=holding.__getitem__)
    entries = map(holding.__getitem__, rarest_first)
    read = list(accumulate(entries))
    return rarest_first, bisect(read, most)


def tried(lexemes: Sequence[str]) -> list[str]:
    """Return the lexemes of a long query whose rarity is looked up: the longest, which tend to be the rarest."""
    return sorted(lexemes, key=len, reverse=True)[:MAX_TRIED]
