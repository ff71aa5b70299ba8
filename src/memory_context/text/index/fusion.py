"""Two rankings as one: a weighted sum of scores that were brought to 0 to 1 in each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

SEMANTIC_SHARE = 0.5


def normalized(scores: Mapping[K, float]) -> dict[K, float]:
    """Return scores from 0 for the lowest to 1 for the highest; all 1 where they are equal."""
    lowest = min(scores.values(), default=0.0)
    width = max(scores.values(), default=0.0) - lowest
    # A single hit, or equal ones: dividing by the width would fail.
    if width <= 0:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - lowest) / width for key, score in scores.items()}


def fused(
    keyword: Mapping[K, float], semantic: Mapping[K, float], share: float = SEMANTIC_SHARE
) -> dict[K, float]:
    """Return the blend of two rankings' scores, from 0 to 1, best first.

    What one ranking lacks has 0 there, as its lowest has: the edge of a ranking makes no step.

    Args:
        keyword: Scores of keyword matching.
        semantic: Scores of vectors.
        share: What the second counts, from 0 to 1.
    """
    keyword, semantic = normalized(keyword), normalized(semantic)
    blend = dict[K, float]()
    for key in (*keyword, *semantic):
        blend[key] = (1 - share) * keyword.get(key, 0.0) + share * semantic.get(key, 0.0)
    return dict(sorted(blend.items(), key=lambda pair: -pair[1]))
