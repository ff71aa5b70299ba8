"""Which pieces of a text are shown for a budget."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator

from memory_context.text.excerpt.scoring import Ranking, Weights
from memory_context.text.excerpt.segments import Pieces

SAMPLE = 600
PATH_CHARACTERS = 3
GAP = 3
NEIGHBOUR = 0.3
GOOD_ENOUGH = 1.15
_SHAPES = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz123456789",
    "A" * 26 + "a" * 25 + "0" * 9,
)


class Choice:
    """One choice among the pieces of a text; it is made once.

    Each time, the piece with the most worth for its price, or nearly the most, is taken, until nothing fits or is worth
    it. Both change with what was taken before: names that are shown are worth nothing, a neighbour needs no gap.
    """

    def __init__(
        self,
        text: str,
        found: Pieces,
        weights: Weights,
        ranking: Ranking,
        cost: Callable[[str], int],
    ) -> None:
        """Take nothing yet.

        Args:
            text: The whole text.
            found: Its pieces.
            weights: What they are worth by themselves.
            ranking: What makes a piece worth showing.
            cost: What a text costs. A piece is first thought to cost as much by its length as the text's beginning.
        """
        self.pieces, self.groups, self.weights, self.ranking = (
            found.pieces,
            found.groups,
            weights,
            ranking,
        )
        self._text, self._cost = text, cost
        unit = max(cost(text[:SAMPLE]), 1) / max(len(text[:SAMPLE]), 1)
        self._costs = [max(1.0, unit * (piece.end - piece.start)) for piece in self.pieces]
        self._gap = GAP * max(1.0, unit)
        self._chosen = dict[int, None]()
        self._opened = {0}
        self._beside = dict[int, float]()
        self._shown = set[str]()
        self._alike, self._shapes = Counter[str](), dict[str, str]()
        self._answered = Counter[frozenset[str]]()

    def take(self, budget: float) -> list[int]:
        """The pieces to show, in the order of their worth, each behind the one that it needs; `budget` at most."""
        heap = [(-self._yield(index), index) for index in range(len(self.pieces))]
        heapq.heapify(heap)
        spent, priced = self._gap, set[int]()
        while heap:
            index = heapq.heappop(heap)[1]
            if index not in priced:
                priced.add(index)
                self._set_cost(index)
            gain = 0.0 if index in self._chosen else self._yield(index)
            if gain <= 0:
                continue
            if heap and gain * GOOD_ENOUGH < -heap[0][0]:
                heapq.heappush(heap, (-gain, index))
            elif gain < self.ranking.least and spent > self.ranking.gist:
                break
            elif spent + self._price(index) <= budget:
                spent += self._price(index)
                for changed in self._show(index):
                    heapq.heappush(heap, (-self._yield(changed), changed))
        return list(self._chosen)

    def _set_cost(self, index: int) -> None:
        """What a piece really costs; asked for only where it may be shown."""
        piece = self.pieces[index]
        self._costs[index] = max(1, self._cost(self._text[piece.start : piece.end]))

    def _yield(self, index: int) -> float:
        """What a piece is worth, by its price."""
        return self._worth(index) / self._price(index)

    def _worth(self, index: int) -> float:
        ranking, relevance = self.ranking, self.weights.relevance[index]
        names = self.weights.names[index]
        new = sum(map(self._novelty if self._shown else self.weights.worth.__getitem__, names))
        worth = (
            (ranking.names * new + ranking.plain)
            * self.weights.near[index]
            * (1 + ranking.relevance * relevance)
        )
        if relevance:
            worth += (
                ranking.asked
                * relevance**3
                / math.sqrt(1 + self._answered[self.weights.hits[index]])
            )
        return worth + self._beside.get(index, 0.0)

    def _novelty(self, name: str) -> float:
        """What a name is worth now: nothing once it was shown, less after others of its form."""
        if name in self._shown:
            return 0.0
        alike = self._alike[self._shape(name)]
        return (
            self.weights.worth[name] / (1 + alike) ** self.ranking.alike
            if alike
            else self.weights.worth[name]
        )

    def _shape(self, name: str) -> str:
        """A name's form: its letters as a and A, its digits as 0."""
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = name.translate(_SHAPES)
        return shape

    def _price(self, index: int) -> float:
        """What it costs to show a piece: itself, the one that it needs, and the gaps around it."""
        price = self._costs[index] + self._gap
        price -= self._gap / 2 * ((index - 1 in self._chosen) + (index + 1 in self._chosen))
        parent, group = self.pieces[index].parent, self.pieces[index].group
        if group not in self._opened:
            price += self._gap + len(self.groups[group].path) / PATH_CHARACTERS
        return price if parent is None or parent in self._chosen else price + self._costs[parent]

    def _show(self, index: int) -> Iterator[int]:
        """Choose a piece and those that it needs; those beside it, whose worth or price changes by that."""
        title = self.ranking.before * self._worth(index)
        for shown in (*self._parent(index), index):
            self._chosen[shown] = None
            self._opened.add(self.pieces[shown].group)
            for name in self.weights.names[shown]:
                if name not in self._shown:
                    self._shown.add(name)
                    self._alike[self._shape(name)] += 1
        if self.weights.relevance[index]:
            self._answered[self.weights.hits[index]] += 1
        bonus = NEIGHBOUR * self.ranking.asked * self.weights.relevance[index] ** 3
        for beside in self._around(index):
            if beside not in self._chosen:
                gain = max(
                    bonus, title if beside == index - 1 and not self.weights.names[beside] else 0.0
                )
                self._beside[beside] = max(self._beside.get(beside, 0.0), gain)
                yield beside

    def _parent(self, index: int) -> tuple[int, ...]:
        """The piece that is needed to understand one, if there is such a piece that is not shown."""
        parent = self.pieces[index].parent
        return () if parent is None or parent in self._chosen else (parent,)

    def _around(self, index: int) -> Iterator[int]:
        """The pieces before and behind one; of a record, all its members."""
        group = self.pieces[index].group
        reach = (
            len(self.pieces)
            if self.groups[group].kind == "object" and self.weights.relevance[index]
            else 1
        )
        for step in (-1, 1):
            beside = index + step
            while (
                abs(beside - index) <= reach
                and 0 <= beside < len(self.pieces)
                and self._in(group, beside)
            ):
                yield beside
                beside += step

    def _in(self, group: int, index: int) -> bool:
        return self.pieces[index].group == group
