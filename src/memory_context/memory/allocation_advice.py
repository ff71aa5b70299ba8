"""Find the allocation that would have served recorded assemblies better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memory_context.memory.assembly_within_budget import Allocation, AssemblyCandidate, choose
from memory_context.memory.package_text_and_what_was_used import ContextPackage
from memory_context.model.json_object import JsonObject

# The advice rests on this many of the newest recorded assemblies.
RECORDED = 50
STEPS = 10
LEFT_OUT_RECORDED = 100
WORTH = {"whole": 1.0, "excerpt": 1.0, "reference": 0.5}


class RecordedAssembly(NamedTuple):
    """A recorded assembly.

    Attributes:
        candidates: The ranked memories, best first.
        budget: The tokens that they could take together.
        used: The keys that turned out to be needed, whether they went in or not.
        longest: The most tokens that one of them could take.
    """

    candidates: tuple[AssemblyCandidate, ...]
    budget: int
    used: frozenset[str]
    longest: int | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RecordedAssembly:
        """Read a record that `record_of_assembly` returned."""
        candidates = tuple(AssemblyCandidate(*fields) for fields in record["candidates"])
        return cls(candidates, record["room"], frozenset(record["used"]), record["longest"])


@dataclass(frozen=True, slots=True)
class AllocationAdvice:
    """The allocation that would have served recorded assemblies better.

    Attributes:
        assemblies: How many recorded assemblies this rests on.
        needed: How many memories turned out to be needed in them.
        current: The allocation in use.
        served: How many of the needed ones it would have put in; a reference counts half.
        suggested: The allocation that would have put in most; `current` if none is better.
        would_serve: How many it would have put in.
    """

    assemblies: int
    needed: int
    current: Allocation
    served: float
    suggested: Allocation
    would_serve: float


def record_of_assembly(package: ContextPackage, used: frozenset[str]) -> JsonObject:
    """Return the record of an assembly. Of the memories left out, it has the best 100 and those that were used."""
    kept = {entry.item.memory_key for entry in package.entries} | used
    kept |= {memory.key for memory in package.left_out[:LEFT_OUT_RECORDED]}
    return {
        "room": package.room,
        "longest": package.longest,
        "allocation": dict(package.allocation),
        "candidates": [candidate for candidate in package.candidates if candidate.key in kept],
        "used": sorted(used),
    }


def advise(history: Sequence[RecordedAssembly], current: Allocation) -> AllocationAdvice:
    """Compare the allocation in use with the best one that can be found from there."""
    suggested = improved(history, current)
    before = served(history, current)
    after = served(history, suggested)
    needed = sum(len(assembly.used) for assembly in history)
    if after <= before:
        suggested = dict(current)
    return AllocationAdvice(len(history), needed, current, before, suggested, after)


def served(history: Iterable[RecordedAssembly], allocation: Allocation) -> float:
    """Count the needed memories that `allocation` would have put in; a reference counts half."""
    total = 0.0
    for assembly in history:
        allotments = choose(assembly.candidates, assembly.budget, allocation, assembly.longest)
        put_in = assembly.used & allotments.keys()
        total += math.fsum(WORTH[allotments[key].form] for key in put_in)
    return total


def improved(history: Sequence[RecordedAssembly], allocation: Allocation) -> dict[str, float]:
    """Return the allocation that would have served best, found by moving parts from tier to tier.

    Each step is the best single move of a number of tenths, the smallest of equally good ones,
    until none serves more memories. The parts of the answer add up to 1. If nothing is better than
    `allocation`, the answer is `allocation`, scaled to that sum.
    """
    total = math.fsum(allocation.values())
    best = {tier: part / total for tier, part in allocation.items()}
    best_served = served(history, best)
    while True:
        start = best
        for moved in _moves(start):
            value = served(history, moved)
            if value > best_served:
                best = moved
                best_served = value
        if best is start:
            return best


def _moves(allocation: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Yield every allocation that is one move away, the smallest moves first."""
    for step in range(1, STEPS + 1):
        for giver in allocation:
            less = round(allocation[giver] - step / STEPS, 9)
            if less < 0:
                continue
            for taker in allocation:
                if taker != giver:
                    more = round(allocation[taker] + step / STEPS, 9)
                    yield {**allocation, giver: less, taker: more}
