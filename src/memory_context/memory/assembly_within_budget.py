"""Decide which of the ranked memories go into a budget of tokens, and in which form."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from memory_context.model.tiers_and_limits import GLOBAL

Allocation: TypeAlias = Mapping[str, float]
Form: TypeAlias = Literal["whole", "excerpt", "reference"]

DEFAULT_ALLOCATION: Allocation = {"task": 0.4, "project": 0.4, GLOBAL.name: 0.2}
DECAY_PER_HOUR = 0.995
LEAST_EXCERPT = 60
MEMORIES_PER_SHARE = 3


class AssemblyCandidate(NamedTuple):
    """A memory that may go in. Its fields are recorded in this order (`allocation_advice`).

    Attributes:
        key: Its key.
        tier: The tier whose share it takes.
        whole: The tokens that it takes whole.
        short: The tokens of its reference.
        opens: Whether its text may be shown, whole or as an excerpt.
        kept: Its position among those that are kept whatever their score; None for the others.
    """

    key: str
    tier: str
    whole: int
    short: int
    opens: bool = True
    kept: int | None = None


class Allotment(NamedTuple):
    """The form that a memory gets, and the most tokens that it may take."""

    form: Form
    tokens: int


def score(relevance: float, importance: float, age: timedelta) -> float:
    """Return a memory's worth for a task: the sum of relevance, importance and recency, each 0 to 1.

    The sum, its equal weights and the decay of 0.995 an hour are those of Park et al., "Generative
    Agents" (2023).
    """
    hours = max(0.0, age / timedelta(hours=1))
    return relevance + importance + math.pow(DECAY_PER_HOUR, hours)


def shares(budget: int, allocation: Allocation, demand: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens of each tier: its part of `budget`, and a part of what other tiers do not need."""
    tokens = dict.fromkeys(allocation, 0)
    remaining = budget
    waiting = [tier for tier, part in allocation.items() if part > 0 and demand.get(tier, 0) > 0]
    while waiting:
        parts = math.fsum(allocation[tier] for tier in waiting)
        fair = {tier: int(remaining * (allocation[tier] / parts)) for tier in waiting}
        # A tier that needs less than its share gives the rest back, which may satisfy another tier:
        # hence the loop.
        satisfied = [tier for tier in waiting if demand[tier] <= fair[tier]]
        if not satisfied:
            return tokens | fair
        for tier in satisfied:
            tokens[tier] = demand[tier]
            remaining -= demand[tier]
            waiting.remove(tier)
    return tokens


def choose(
    candidates: Iterable[AssemblyCandidate],
    budget: int,
    allocation: Allocation,
    longest: int | None = None,
) -> dict[str, Allotment]:
    """Return the allotments of the memories that go in, by key; together they take `budget` at most.

    Memories that are kept come first, and may use the shares of other tiers. Then each tier fills
    its share, best first. The tokens that are left go to the best of the rest, of any tier; a memory
    that does not fit in a longer form goes in as a reference.

    If everything of a tier fits into its share, all of it is shown whole. Otherwise one memory may
    take a third of the share, or what the other memories of the tier leave of it, if that is more. A
    longer memory becomes an excerpt, or a reference if it may take fewer than 60 tokens. A text no
    longer than its reference is shown whole in any case.

    Args:
        candidates: Best first; no key twice.
        budget: The tokens for all of them.
        allocation: The tiers' parts of it; only their proportions count. A tier without a part gets
            nothing.
        longest: The most tokens that one memory may take.
    """
    wanted = [candidate for candidate in candidates if allocation.get(candidate.tier, 0) > 0]
    filler = _BudgetFiller(wanted, budget, allocation, longest)
    kept = [candidate for candidate in wanted if candidate.kept is not None]
    for candidate in sorted(kept, key=attrgetter("kept")):
        filler.take_or_refer(candidate)
    for candidate in filler.without_allotment(wanted):
        filler.take_from_share(candidate)
    for candidate in filler.without_allotment(wanted):
        filler.take_or_refer(candidate)
    return filler.allotments


def choose_more(
    candidates: Iterable[AssemblyCandidate], chosen: Container[str], longest: int, spare: int
) -> dict[str, Allotment]:
    """Return the allotments of further memories that go in whole, because excerpts took less than allowed.

    Args:
        candidates: Best first; no key twice.
        chosen: The keys of those that are in already.
        longest: The most tokens that one memory may take.
        spare: The tokens that are left.
    """
    allotments = dict[str, Allotment]()
    for candidate in candidates:
        fits = candidate.opens and candidate.whole <= min(longest, spare)
        if fits and candidate.key not in chosen:
            allotments[candidate.key] = Allotment("whole", candidate.whole)
            spare -= candidate.whole
    return allotments


class _BudgetFiller:
    """A budget that is being filled: the tokens that remain, and the allotments so far."""

    def __init__(
        self,
        wanted: Iterable[AssemblyCandidate],
        budget: int,
        allocation: Allocation,
        longest: int | None,
    ) -> None:
        self.demand = dict.fromkeys(allocation, 0)
        for candidate in wanted:
            self.demand[candidate.tier] += candidate.whole
        self.shares = shares(budget, allocation, self.demand)
        self.remaining_of_share = dict(self.shares)
        self.longest = budget if longest is None else longest
        self.remaining = budget
        self.allotments = dict[str, Allotment]()

    def without_allotment(self, wanted: Sequence[AssemblyCandidate]) -> list[AssemblyCandidate]:
        return [candidate for candidate in wanted if candidate.key not in self.allotments]

    def take_from_share(self, candidate: AssemblyCandidate) -> None:
        room = min(self.remaining, self.remaining_of_share[candidate.tier])
        self._take(candidate, self._best_form(candidate), room)

    def take_or_refer(self, candidate: AssemblyCandidate) -> None:
        if not self._take(candidate, self._best_form(candidate), self.remaining):
            self._take(candidate, Allotment("reference", candidate.short), self.remaining)

    def _best_form(self, candidate: AssemblyCandidate) -> Allotment:
        reference = Allotment("reference", candidate.short)
        if not candidate.opens:
            return reference
        share = self.shares[candidate.tier]
        needed_by_others = self.demand[candidate.tier] - candidate.whole
        most = max(share // MEMORIES_PER_SHARE, share - needed_by_others)
        most = min(self.longest, most)
        # A text no longer than its reference is shown instead.
        if candidate.whole <= max(most, candidate.short):
            return Allotment("whole", candidate.whole)
        if most >= LEAST_EXCERPT:
            return Allotment("excerpt", most)
        return reference

    def _take(self, candidate: AssemblyCandidate, allotment: Allotment, room: int) -> bool:
        if allotment.tokens > room:
            return False
        self.allotments[candidate.key] = allotment
        self.remaining -= allotment.tokens
        self.remaining_of_share[candidate.tier] -= allotment.tokens
        return True
