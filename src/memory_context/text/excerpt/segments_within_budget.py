"""Choose the segments of a text to show within a budget: greedily, those with the most worth for their price.

A segment's *worth* comes from `segment_scores`; its *price* is what it adds to the cost of the excerpt.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from memory_context.model.selection import Cost
from memory_context.text.excerpt.segment_scores import Ranking, SegmentScores
from memory_context.text.excerpt.segments import Segmentation

# So many characters of the text are counted to estimate the cost of its segments.
SAMPLE = 600
# A path is estimated to cost one token per so many characters.
PATH_CHARACTERS = 3
GAP_CHARACTERS = 3
GAP_TOKENS = 2
# The share of what a segment gains for the question (`Ranking.asked`) that its neighbours gain, too.
NEIGHBOUR = 0.3
# So many members of an object before a match, and behind it, gain by it. All of thousands took seconds for each preview.
MEMBERS_BESIDE = 50
# How many times its worth a segment gains if it holds all of the question.
RELEVANCE = 3.0
# How fast names of the same form lose worth: it is divided by the number shown plus one, to this power.
ALIKE = 0.4
# A segment is taken if no other is better by more than this factor.
GOOD_ENOUGH = 1.15
# Maps a name to its form: small letters become a, capitals A, digits 0. These three are not in the table, because
# they stay as they are.
_FORMS = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz123456789",
    "A" * 26 + "a" * 25 + "0" * 9,
)


class SegmentPacker:
    """Packs the segments of one text, once.

    In each step it takes a segment whose worth for its price is the highest, or nearly so, until none fits or is worth
    its price. Worth and price depend on what was already taken: a name that is shown is worth nothing when it comes
    again, and a segment next to one that is shown needs no gap mark.
    """

    def __init__(
        self,
        found: Segmentation,
        scores: SegmentScores,
        ranking: Ranking,
        cost: Cost,
    ) -> None:
        """Prepare to pack; take nothing yet.

        Args:
            found: The segments of a text.
            scores: What each of them is worth by itself.
            ranking: What makes a segment worth showing.
            cost: Counts what a text costs. Until a segment is counted, its cost is estimated from its length and the
                cost of the text's beginning.
        """
        self._found = found
        self._segments = found.segments
        self._scores = scores
        self._ranking = ranking
        is_plain = len(found.containers) == 1
        self._cost = cost
        least = ranking.share * max(scores.relevance, default=0.0)
        self._relevance = [share if share >= least else 0.0 for share in scores.relevance]
        sample = found.text[:SAMPLE]
        # Estimated by length at first. Tokens are counted only for the segments that may be shown.
        unit = max(cost(sample), 1) / max(len(sample), 1)
        self._costs = [max(1.0, unit * (one.end - one.start)) for one in found.segments]
        self._gap = GAP_CHARACTERS * max(1.0, unit)
        self._heads = [one.heads for one in found.segments]
        if ranking.finds_records:
            # In an answer, what is beside a match in an object of JSON need not bring the object's name.
            for index, one in enumerate(found.segments):
                if one.container and not self._relevance[index]:
                    self._heads[index] = ()
        self._taken = dict[int, None]()
        self._opened = {0}
        # The members of an object need not be adjacent: between them are those of the objects and lists in it.
        self._indexes_of = defaultdict[int, list[int]](list)
        for index, segment in enumerate(found.segments):
            self._indexes_of[segment.container].append(index)
        self._bonus = dict[int, float]()
        self._shown = set[str]()
        # The links of JSON are alike: each object may have a dozen. In prose and listings they are what is looked for.
        self._forms = {
            name: "://" if "://" in name and not is_plain else name.translate(_FORMS)
            for name in scores.worth
        }
        self._shown_of_form = Counter[str]()
        self._answers = Counter[frozenset[str]]()

    def pack(self, budget: float, first: Iterable[int] = ()) -> list[int]:
        """Return the segments to show, in the order in which they were taken, each after the heads that it needs.

        The *first* ones are shown in any case.
        """
        spent = self._gap + sum(map(self._taken_at, first))
        heap = [(-self._rate(index), index) for index in range(len(self._segments))]
        heapq.heapify(heap)
        counted = set[int]()
        while heap:
            _, index = heapq.heappop(heap)
            if index in self._taken:
                continue
            # Its real cost and that of its heads are counted only now that it may be shown.
            for one in {*self._heads[index], index} - counted:
                counted.add(one)
                self._costs[one] = max(1, self._cost(self._found.shown(one)))
            rate = self._rate(index)
            if rate <= 0:
                continue
            # Its rate may have fallen since it was pushed.
            next_best = -heap[0][0] if heap else 0.0
            if rate * GOOD_ENOUGH < next_best:
                heapq.heappush(heap, (-rate, index))
                continue
            # The heap yields the best first, so the others are worth even less.
            if rate < self._ranking.least:
                break
            heads = self._heads[index]
            # An answer can do without the header, a preview without the row's beginning.
            fewer = heads[1:] if self._ranking.finds_records else heads[:1]
            price = self._price(index)
            if spent + price <= budget:
                spent += price
                for neighbour in self._take(index):
                    heapq.heappush(heap, (-self._rate(neighbour), neighbour))
            elif fewer != heads and self._relevance[index]:
                # What matches tells more than nothing, even if there is no room for what it belongs to.
                self._heads[index] = fewer
                heapq.heappush(heap, (-self._rate(index), index))
        return list(self._taken)

    def _rate(self, index: int) -> float:
        """Return the worth of a segment divided by its price; in an object, with what the object's names are worth."""
        worth = self._worth(index)
        # A table's header and the first line of a block are in the price, but are not what is looked for.
        if self._segments[index].container:
            names = (head for head in self._heads[index] if head not in self._taken)
            worth += sum(map(self._worth, names))
        return worth / self._price(index)

    def _worth(self, index: int) -> float:
        ranking = self._ranking
        relevance = self._relevance[index]
        new = sum(map(self._novelty, self._scores.names[index]))
        worth = (new + ranking.plain) * self._scores.near[index]
        worth *= 1 + RELEVANCE * relevance
        repetitions = self._answers[self._scores.hits[index]]
        # Cubed, so that one segment that holds the whole question beats several that each hold a part of it.
        worth += self._ranking.asked * relevance**3 / math.sqrt(1 + repetitions)
        return worth + self._bonus.get(index, 0.0)

    def _novelty(self, name: str) -> float:
        """Return what a name is worth now: nothing if it was shown, less if others of its form were."""
        if name in self._shown:
            return 0.0
        worth = self._scores.worth[name]
        alike = self._shown_of_form[self._forms[name]]
        if alike:
            worth /= (1 + alike) ** ALIKE
        return worth

    def _price(self, index: int) -> float:
        """Return what showing a segment adds to the cost: its own, that of heads not yet taken, of path and gap marks."""
        price = self._costs[index] + self._gap
        is_after_shown = index - 1 in self._taken
        is_before_shown = index + 1 in self._taken
        # A gap mark lies between two segments, so each neighbour that is shown saves half of one.
        price -= self._gap / 2 * (is_after_shown + is_before_shown)
        segment = self._segments[index]
        if segment.container not in self._opened:
            path = self._found.containers[segment.container].path
            price += self._gap + len(path) / PATH_CHARACTERS
        for head in self._heads[index]:
            if head not in self._taken:
                price += self._costs[head]
        return price

    def _taken_at(self, index: int) -> float:
        """Take a segment whatever it is worth; return its price."""
        self._costs[index] = max(1, self._cost(self._found.shown(index)))
        price = self._price(index)
        self._take(index)
        return price

    def _take(self, index: int) -> list[int]:
        """Take a segment and its heads; return its neighbours, whose worth or price this changes."""
        scores = self._scores
        for taken in (*self._heads[index], index):
            if taken in self._taken:
                continue
            self._taken[taken] = None
            self._opened.add(self._segments[taken].container)
            new = set(scores.names[taken]) - self._shown
            self._shown |= new
            self._shown_of_form.update(self._forms[name] for name in new)
        relevance = self._relevance[index]
        self._answers[scores.hits[index]] += 1
        gain = NEIGHBOUR * self._ranking.asked * relevance**3
        neighbours = self._neighbours(index)
        for neighbour in neighbours:
            earlier = self._bonus.get(neighbour, 0.0)
            self._bonus[neighbour] = max(earlier, gain)
        return neighbours

    def _neighbours(self, index: int) -> list[int]:
        """Return the neighbours of a segment that are not taken; in a JSON object that matches, of 100 members."""
        container = self._segments[index].container
        siblings = self._indexes_of[container]
        is_object = self._found.containers[container].kind == "object"
        reach = MEMBERS_BESIDE if is_object and self._relevance[index] else 1
        place = bisect_left(siblings, index)
        nearby = siblings[max(0, place - reach) : place + reach + 1]
        return [sibling for sibling in nearby if sibling not in self._taken]


def with_more(
    found: Segmentation,
    chosen: Sequence[int],
    order: Iterable[int],
    budget: float,
    cost: Cost,
) -> list[int]:
    """Return *chosen*, and then segments in the given *order*, each after its heads, as far as *budget* goes."""
    shown = dict.fromkeys(chosen)
    remaining = budget - sum(price_of(found, index, cost) for index in shown)
    for index in order:
        if index in shown:
            continue
        new = [one for one in (*found.segments[index].heads, index) if one not in shown]
        remaining -= sum(price_of(found, one, cost) for one in new)
        is_beside_shown = index - 1 in shown or index + 1 in shown
        if not is_beside_shown:
            remaining -= GAP_TOKENS
        if remaining < 0:
            break
        shown.update(dict.fromkeys(new))
    return list(shown)


def price_of(found: Segmentation, index: int, cost: Cost) -> int:
    """Return what a segment costs, with the path that is written before it if it belongs to a JSON record."""
    container = found.containers[found.segments[index].container]
    return cost(container.path + found.shown(index))
