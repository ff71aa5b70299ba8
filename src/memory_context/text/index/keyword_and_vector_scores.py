"""Combine keyword scores and vector scores: keywords decide, and vectors where one text stands out from the others.

The embedder is the user's, and may not know the user's words. So a cosine counts by how far it stands out from the
cosines that the user's texts have with the same question by chance. Those of a weak embedder do not stand out, and so do
not change the order of the keyword scores.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

SEMANTIC_SHARE = 0.5
# A cosine begins to count at the first of these multiples of what chance gives, and counts in full from the second on.
# With 1.0 in place of 1.25, embedders that only compare words lost a hit (`docs/search.md`).
LEAST_TIMES = 1.25
MOST_TIMES = 1.9
# Texts that only vectors find, and that do not stand out, follow in the order of their cosines.
TIE = 1e-6


@dataclass(frozen=True, slots=True)
class Chance:
    """How similar a user's texts are to a question by chance.

    Attributes:
        usual: The mean of their cosines.
        deviation: The standard deviation of their cosines.
        texts: How many texts there are.
    """

    usual: float
    deviation: float
    texts: int

    def standing_out(self, cosine: float) -> float:
        """Return how clearly, from 0 to 1, a cosine exceeds the greatest one that is expected by chance."""
        # The greatest of n normally distributed values is about sqrt(2 ln n) deviations above their mean.
        deviations = math.sqrt(2 * math.log(max(self.texts, 2)))
        expected = self.deviation * deviations
        if expected <= 0:
            return 0.0
        times = (cosine - self.usual) / expected
        part = (times - LEAST_TIMES) / (MOST_TIMES - LEAST_TIMES)
        return min(max(part, 0.0), 1.0) ** 2


def fused(
    keyword: Mapping[K, float],
    semantic: Mapping[K, float],
    chance: Chance,
    share: float = SEMANTIC_SHARE,
) -> dict[K, float]:
    """Return the combined scores of two rankings, from 0 to 1, best first.

    Args:
        keyword: The scores of keyword matching, above 0.
        semantic: The cosines of vectors.
        chance: The distribution of such cosines by chance.
        share: The share of the vectors in the score, from 0 to 1.
    """
    best = max(keyword.values(), default=1.0)
    blend = dict[K, float]()
    for key in (*keyword, *semantic):
        by_words = keyword.get(key, 0.0) / best
        blend[key] = (1 - share) * by_words
        if key in semantic:
            blend[key] += share * chance.standing_out(semantic[key])
        if key not in keyword:
            blend[key] += TIE * semantic[key]
    best_first = sorted(blend, key=blend.__getitem__, reverse=True)
    return {key: blend[key] for key in best_first}
