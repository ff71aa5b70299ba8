"""Two rankings as one: a weighted sum of scores that were brought to 0 to 1 in each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

SEMANTIC_SHARE = 0.5


def normalized(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores from 0 for the lowest to 1 for the highest; all 1 where they are equal."""
    lowest, highest = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    width = highest - lowest
    return {key: (score - lowest) / width if width > 0 else 1.0 for key, score in scores.items()}


def fused(
    keyword: Mapping[K, float], semantic: Mapping[K, float], share: float = SEMANTIC_SHARE
) -> dict[K, float]:
    """The blend of two rankings' scores, from 0 to 1, best first.

    What one ranking lacks has 0 there, as its lowest has: the edge of a ranking makes no step.

    Args:
        keyword: Scores by words.
        semantic: Scores by meaning.
        share: What the second counts, from 0 to 1.
    """
    words, meaning = normalized(keyword), normalized(semantic)
    keys = dict.fromkeys((*words, *meaning))
    blend = {key: (1 - share) * words.get(key, 0.0) + share * meaning.get(key, 0.0) for key in keys}
    return dict(sorted(blend.items(), key=lambda pair: -pair[1]))
