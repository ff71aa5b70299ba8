"""Assembly, decided: which of the ranked memories go into a budget, in which form; and how good an allocation was."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

Allocation: TypeAlias = Mapping[str, float]
Form: TypeAlias = Literal["whole", "excerpt", "reference"]

DECAY_PER_HOUR = 0.995
LEAST_EXCERPT = 60
PARTS = 3
STEPS = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may go in.

    Attributes:
        key: Its key.
        tier: Whose share it takes.
        whole: The tokens that it takes whole.
        short: The tokens of its reference.
        opens: Whether an excerpt of it can be shown.
        kept: Its place among those that are kept whatever they are worth; None for the others.
    """

    key: str
    tier: str
    whole: int
    short: int
    opens: bool = True
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What a memory gets: its form, and the most tokens that it may take."""

    form: Form
    tokens: int


def score(relevance: float, importance: float, age: timedelta) -> float:
    """What a memory is worth for a task: relevance, importance and recency, each 0 to 1, count alike.

    The sum, its equal weights and the decay of 0.995 an hour are those of Park et al., "Generative Agents" (2023).
    """
    return (
        relevance
        + importance
        + math.exp(math.log(DECAY_PER_HOUR) * max(0.0, age / timedelta(hours=1)))
    )


def shares(budget: int, allocation: Allocation, demand: Mapping[str, int]) -> dict[str, int]:
    """The tokens of each tier: its part of `budget`, and what others do not need, in proportion to their parts."""
    found, left = dict.fromkeys(allocation, 0), budget
    waiting = [tier for tier, part in allocation.items() if part > 0 and demand.get(tier, 0) > 0]
    while waiting:
        parts = math.fsum(allocation[tier] for tier in waiting)
        fair = {tier: int(left * (allocation[tier] / parts)) for tier in waiting}
        sated = [tier for tier in waiting if demand[tier] <= fair[tier]]
        found |= {tier: demand[tier] for tier in sated} if sated else fair
        left -= sum(demand[tier] for tier in sated)
        waiting = [tier for tier in waiting if tier not in sated] if sated else []
    return found


def choose(
    candidates: Sequence[Candidate], budget: int, allocation: Allocation, longest: int | None = None
) -> dict[str, Place]:
    """The places of those that go in, by key; together they take `budget` at most.

    Those that are kept come first and may use what is not their tier's. Then each tier fills its share, best first.
    What is left goes to the best of the rest, of any tier, as references where no more fits.

    Where everything of a tier fits into its share, it is whole. Else one memory may take a third of the share, or what
    the others of its tier leave of it: a longer one comes as an excerpt, or as a reference where that is less than 60
    tokens. What is no longer than its reference is whole.

    Args:
        candidates: Best first; no key twice.
        budget: Tokens.
        allocation: The tiers' parts of it; only their proportions count. A tier without a part gets nothing.
        longest: The most tokens that one memory may take.
    """
    wanted = [one for one in candidates if allocation.get(one.tier, 0) > 0]
    return _Filling(wanted, budget, allocation, longest).fill(wanted)


def also(
    candidates: Iterable[Candidate], chosen: Container[str], longest: int, spare: int
) -> dict[str, Place]:
    """The places of more that go in whole, best first, where excerpts took less than they might have.

    Args:
        candidates: Best first; no key twice.
        chosen: The keys of those that are in.
        longest: The most tokens that one memory may take.
        spare: The tokens that are left.
    """
    places = dict[str, Place]()
    for one in candidates:
        if one.opens and one.key not in chosen and one.whole <= min(longest, spare):
            places[one.key] = Place("whole", one.whole)
            spare -= one.whole
    return places


class _Filling:
    """A budget while it is filled."""

    def __init__(
        self, wanted: Iterable[Candidate], budget: int, allocation: Allocation, longest: int | None
    ) -> None:
        self.demand = dict.fromkeys(allocation, 0)
        for one in wanted:
            self.demand[one.tier] += one.whole
        self.shares = shares(budget, allocation, self.demand)
        self.room = dict(self.shares)
        self.longest = budget if longest is None else longest
        self.left = budget
        self.places = dict[str, Place]()

    def fill(self, wanted: Sequence[Candidate]) -> dict[str, Place]:
        for one in sorted(
            (one for one in wanted if one.kept is not None), key=lambda one: one.kept or 0
        ):
            _ = self._take(one, self._best(one), self.left) or self._take(
                one, Place("reference", one.short), self.left
            )
        for one in self._rest(wanted):
            self._take(one, self._best(one), min(self.left, self.room[one.tier]))
        for one in self._rest(wanted):
            _ = self._take(one, self._best(one), self.left) or self._take(
                one, Place("reference", one.short), self.left
            )
        return self.places

    def _rest(self, wanted: Sequence[Candidate]) -> list[Candidate]:
        return [one for one in wanted if one.key not in self.places]

    def _best(self, one: Candidate) -> Place:
        share = self.shares[one.tier]
        most = min(self.longest, max(share // PARTS, share - (self.demand[one.tier] - one.whole)))
        if one.opens and one.whole <= max(most, one.short):
            return Place("whole", one.whole)
        if one.opens and most >= LEAST_EXCERPT:
            return Place("excerpt", most)
        return Place("reference", one.short)

    def _take(self, one: Candidate, place: Place, room: int) -> bool:
        if place.tokens > room:
            return False
        self.places[one.key] = place
        self.left -= place.tokens
        self.room[one.tier] -= place.tokens
        return True


@dataclass(frozen=True, slots=True)
class Assembled:
    """What is remembered of one assembly.

    Attributes:
        candidates: Best first.
        budget: What there was for them.
        used: The keys that turned out to be needed, whether they went in or not.
        longest: The most tokens that one might take.
    """

    candidates: tuple[Candidate, ...]
    budget: int
    used: frozenset[str]
    longest: int | None = None


def served(history: Iterable[Assembled], allocation: Allocation) -> float:
    """How many of the memories that were needed `allocation` would have put in: a reference counts half."""
    worth = {"whole": 1.0, "excerpt": 1.0, "reference": 0.5}
    total = 0.0
    for one in history:
        places = choose(one.candidates, one.budget, allocation, one.longest)
        total += math.fsum(worth[places[key].form] for key in one.used & places.keys())
    return total


def improved(history: Sequence[Assembled], allocation: Allocation) -> dict[str, float]:
    """The allocation that would have served best, found from `allocation` by moving parts from one tier to another.

    Each step is the best single move of a number of tenths, the smallest of equally good ones, until none serves
    more memories. The answer's parts sum up to 1; it is `allocation` itself, so scaled, where that is best.
    """
    best = _scaled(allocation)
    value = served(history, best)
    while True:
        moves = [(served(history, one), -place, one) for place, one in enumerate(_moves(best))]
        better = max(moves, key=lambda move: move[:2], default=None)
        if better is None or better[0] <= value:
            return best
        value, best = better[0], better[2]


def _scaled(allocation: Allocation) -> dict[str, float]:
    whole = math.fsum(allocation.values())
    return {tier: part / whole for tier, part in allocation.items()}


def _moves(allocation: Mapping[str, float]) -> Iterable[dict[str, float]]:
    """Every allocation that is one move away, the smallest moves first."""
    for step in range(1, STEPS + 1):
        for giver in allocation:
            left = round(allocation[giver] - step / STEPS, 9)
            for taker in allocation if left >= 0 else ():
                if taker != giver:
                    yield {
                        **allocation,
                        giver: left,
                        taker: round(allocation[taker] + step / STEPS, 9),
                    }
