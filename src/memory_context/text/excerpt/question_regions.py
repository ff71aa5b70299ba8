"""The regions of a text that hold most of a question: people write on a subject for a while, and use its words now and then.

Measured on meetings of which people marked what answers a question: of 2,000 tokens the best segments alone showed 21%
of it, because little holds half of the words; with regions it is 52%, as precise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

from memory_context.model.selection import Cost
from memory_context.text.excerpt.segments import Segmentation
from memory_context.text.excerpt.segments_within_budget import with_more

# Within so many characters what a segment holds has fallen to a third for its neighbours.
REACH = 1500
OWN = 2
LEAST_OF_BEST = 0.6


def fill(
    found: Segmentation,
    relevance: Sequence[float],
    best: Sequence[int],
    budget: float,
    cost: Cost,
) -> list[int]:
    """Return the segments *best*, and those of the densest regions, as many as the budget takes.

    Args:
        found: The segments of a text.
        relevance: How much of the question each segment holds.
        best: The segments that are shown in any case.
        budget: The most that all of them cost.
        cost: What a text costs, in tokens or characters.
    """
    if not best:
        return []
    density = _densities(found, relevance)
    least = LEAST_OF_BEST * max(density)
    densest = sorted(range(len(density)), key=density.__getitem__, reverse=True)
    in_regions = takewhile(lambda index: density[index] >= least, densest)
    return with_more(found, best, in_regions, budget, cost)


def _densities(found: Segmentation, relevance: Sequence[float]) -> list[float]:
    """Return what each segment holds of the question, with what is near counting less by its distance."""
    density = [OWN * held for held in relevance]
    indexes = range(len(relevance))
    for order in (indexes, indexes[::-1]):
        near, previous = 0.0, order[0] if order else 0
        for index in order:
            distance = abs(found.segments[index].start - found.segments[previous].start)
            near *= math.exp(-distance / REACH)
            density[index] += near
            near += relevance[index]
            previous = index
    return density
