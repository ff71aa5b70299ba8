"""Which segments of a text are shown for a budget: greedily those with the most worth for their price."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from memory_context.model.selection import Cost
from memory_context.text.excerpt.segment_scores import Ranking, SegmentScores
from memory_context.text.excerpt.segments import Segmentation

SAMPLE = 600
PATH_CHARACTERS = 3
GAP_CHARACTERS = 3
GAP_TOKENS = 2
NEIGHBOUR = 0.3
GOOD_ENOUGH = 1.15
# A name's form: its letters as a and A, its digits as 0. Each of the three stands for itself.
_FORMS = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz123456789",
    "A" * 26 + "a" * 25 + "0" * 9,
)


class SegmentPacker:
    """Packs the segments of one text, once.

    Each time, the segment with the most worth for its price, or nearly the most, is taken, until nothing fits or is
    worth it. Both change with what was taken before: names that are shown are worth nothing, a neighbour needs no gap.
    """

    def __init__(
        self,
        found: Segmentation,
        scores: SegmentScores,
        ranking: Ranking,
        cost: Cost,
    ) -> None:
        """Take nothing yet.

        Args:
            found: The segments of a text.
            scores: What they are worth by themselves.
            ranking: What makes a segment worth showing.
            cost: What a text costs. A segment is first thought to cost as much by its length as the text's beginning.
        """
        self._found, self._segments, self._containers = found, found.segments, found.containers
        self._scores, self._ranking, self._cost = scores, ranking, cost
        sample = found.text[:SAMPLE]
        # By length at first: tokens are counted only of what may be shown.
        unit = max(cost(sample), 1) / max(len(sample), 1)
        self._costs = [max(1.0, unit * (segment.end - segment.start)) for segment in found.segments]
        self._gap = GAP_CHARACTERS * max(1.0, unit)
        self._taken = dict[int, None]()
        self._opened = {0}
        self._gained = dict[int, float]()
        self._shown = set[str]()
        self._forms = {name: name.translate(_FORMS) for name in scores.worth}
        self._shown_of_form = Counter[str]()
        self._answers = Counter[frozenset[str]]()

    def pack(self, budget: float) -> list[int]:
        """Return the segments to show, in the order of their worth, each behind the one that it needs."""
        heap = [(-self._rate(index), index) for index in range(len(self._segments))]
        heapq.heapify(heap)
        spent, counted = self._gap, set[int]()
        while heap:
            _, index = heapq.heappop(heap)
            if index in self._taken:
                continue
            # What it really costs is counted only now, where it may be shown.
            if index not in counted:
                counted.add(index)
                self._costs[index] = max(1, self._cost(self._found.shown(index)))
            rate = self._rate(index)
            if rate <= 0:
                continue
            # Its rate may have fallen since it was pushed.
            if heap and rate * GOOD_ENOUGH < -heap[0][0]:
                heapq.heappush(heap, (-rate, index))
                continue
            # The heap gives the best first: the others are worth less still.
            if rate < self._ranking.least:
                break
            price = self._price(index)
            if spent + price <= budget:
                spent += price
                for neighbour in self._take(index):
                    heapq.heappush(heap, (-self._rate(neighbour), neighbour))
        return list(self._taken)

    def _rate(self, index: int) -> float:
        """Return what a segment is worth, by its price."""
        return self._worth(index) / self._price(index)

    def _worth(self, index: int) -> float:
        ranking, scores = self._ranking, self._scores
        relevance = scores.relevance[index]
        # Nothing is shown at first, when every segment is rated: then looking up the worth is
        # enough.
        value_of = self._novelty if self._shown else scores.worth.__getitem__
        new = sum(map(value_of, scores.names[index]))
        worth = (
            (ranking.names * new + ranking.plain)
            * scores.near[index]
            * (1 + ranking.relevance * relevance)
        )
        if relevance:
            repetitions = self._answers[scores.hits[index]]
            # Cubed, so that one segment with all that is asked beats several that hold a part of
            # it.
            worth += ranking.asked * relevance**3 / math.sqrt(1 + repetitions)
        return worth + self._gained.get(index, 0.0)

    def _novelty(self, name: str) -> float:
        """Return what a name is worth now: nothing once it was shown, less after others of its form."""
        if name in self._shown:
            return 0.0
        worth = self._scores.worth[name]
        alike = self._shown_of_form[self._forms[name]]
        if alike:
            worth /= (1 + alike) ** self._ranking.alike
        return worth

    def _price(self, index: int) -> float:
        """Return what it costs to show a segment: itself, the one that it needs, and the gaps around it."""
        price = self._costs[index] + self._gap
        neighbours = (index - 1 in self._taken) + (index + 1 in self._taken)
        # Each gap has two sides, so each neighbour takes half of one away.
        price -= self._gap / 2 * neighbours
        segment = self._segments[index]
        if segment.container not in self._opened:
            path = self._containers[segment.container].path
            price += self._gap + len(path) / PATH_CHARACTERS
        if segment.parent is not None and segment.parent not in self._taken:
            price += self._costs[segment.parent]
        return price

    def _take(self, index: int) -> list[int]:
        """Take a segment and the one that it needs; return its neighbours, whose worth or price changes by that."""
        scores, segment = self._scores, self._segments[index]
        for taken in (segment.parent, index):
            if taken is None or taken in self._taken:
                continue
            self._taken[taken] = None
            self._opened.add(self._segments[taken].container)
            for name in scores.names[taken]:
                if name not in self._shown:
                    self._shown.add(name)
                    self._shown_of_form[self._forms[name]] += 1
        relevance = scores.relevance[index]
        if relevance:
            self._answers[scores.hits[index]] += 1
        gain = NEIGHBOUR * self._ranking.asked * relevance**3
        neighbours = self._neighbours(index)
        for neighbour in neighbours:
            self._gained[neighbour] = max(self._gained.get(neighbour, 0.0), gain)
        return neighbours

    def _neighbours(self, index: int) -> list[int]:
        """Return the segments before and behind one that are not taken; of an object that answers, all members."""
        container = self._segments[index].container
        is_object = self._containers[container].kind == "object"
        reach = None if is_object and self._scores.relevance[index] else 1
        before, behind = range(index)[::-1], range(index + 1, len(self._segments))
        neighbours = list[int]()
        for side in (before, behind):
            for neighbour in side[:reach]:
                if self._segments[neighbour].container != container:
                    break
                if neighbour not in self._taken:
                    neighbours.append(neighbour)
        return neighbours


def with_more(
    found: Segmentation,
    chosen: Sequence[int],
    order: Iterable[int],
    budget: float,
    cost: Cost,
) -> list[int]:
    """Return *chosen* with those that come next in *order*, each behind the one that it needs, as far as *budget* goes."""
    shown = dict.fromkeys(chosen)
    left = budget - sum(price_of(found, index, cost) for index in shown)
    for index in order:
        if index in shown:
            continue
        left -= price_of(found, index, cost)
        if index - 1 not in shown and index + 1 not in shown:
            left -= GAP_TOKENS
        if left < 0:
            break
        parent = found.segments[index].parent
        if parent is not None:
            shown[parent] = None
        shown[index] = None
    return list(shown)


def price_of(found: Segmentation, index: int, cost: Cost) -> int:
    """Return what a segment costs, with the path that stands before it if it is of a record."""
    container = found.containers[found.segments[index].container]
    return cost(container.path + found.shown(index))
