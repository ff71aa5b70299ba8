"""What an agent starts with: preferences, notes and references from its tiers, within a budget of tokens."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, cast
from uuid import uuid4

from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.budgeting import (
    Allocation,
    Assembled,
    Candidate,
    also,
    choose,
    improved,
    score,
    served,
)
from memory_context.memory.context_package import (
    GLOBAL,
    ContextPackage,
    Ranked,
    candidate_of,
    copies,
    entry_of,
    fitted,
    left_out_of,
    overhead,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import ASSEMBLY, JSON, PREFERENCE, MemoryItem, hash_content, now
from memory_context.model.reference import one_line
from memory_context.model.scope import DETAIL, Scope
from memory_context.runtime.forks import Lock
from memory_context.runtime.telemetry import operation
from memory_context.stores import Filters

DEFAULT_ALLOCATION: Allocation = {"task": 0.4, "project": 0.4, GLOBAL: 0.2}
MOST_PART = 100
ALWAYS = "always"
RECORD = ASSEMBLY
RECORDED = 50
LEFT_OUT_RECORDED = 100
LEAST_LOOKED_AT = 100
TOKENS_PER_CANDIDATE = 20
OLDEST, NEWEST, MOST_IMPORTANT = "-created_at", "created_at", "importance"

# What is the user's without a tier. In a tier, a preference or a note belongs to its run, session, task or project.
_OF_THE_USER: tuple[Filters, ...] = (
    {"memory_type": PREFERENCE, "tier": DETAIL},
    {"tags": ALWAYS, "tier": DETAIL, "memory_type": {"$ne": PREFERENCE}},
)


@dataclass(frozen=True, slots=True)
class AllocationAdvice:
    """Which allocation would have served better.

    Attributes:
        assemblies: How many recorded ones this rests on.
        needed: How many memories turned out to be needed in them.
        current: The allocation in use.
        served: How many of the needed ones it puts in; a reference counts half.
        suggested: The allocation that puts in most; `current` where none is better.
        would_serve: How many that would be.
    """

    assemblies: int
    needed: int
    current: Allocation
    served: float
    suggested: Allocation
    would_serve: float


@dataclass(frozen=True, slots=True)
class _Look:
    """The first memories of a place, and how many there are, of how many tokens."""

    items: tuple[MemoryItem, ...]
    count: int
    tokens: int


class ContextAssembler:
    """Assembles what an agent starts with from the tiers of a user. Safe under threads.

    To the tier ``global`` belong also the user's preferences and notes with the tag ``always`` that were stored without
    a tier.

    Args:
        memories: The user's memories. What is behind walls there (`MemoryManager.within`) is not looked at.
        task_id: Which task's memories are looked at; none without it.
        project_id: Which project's; none without it.
        tier_ids: For other tiers of an allocation, which run, session or plan: ``{"session": thread_id}``.
        clock: This moment, in UTC: recency is measured against it.

    Raises:
        InvalidScopeError: An id that no database column can hold.
    """

    def __init__(
        self,
        memories: MemoryManager,
        *,
        task_id: str | None = None,
        project_id: str | None = None,
        tier_ids: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        user = memories.scope.user_id
        ids = {"task": task_id, "project": project_id, **(tier_ids or {})}
        self.memories = memories
        self._tiers = {
            tier: Scope(user, tier=tier, tier_id=one)
            for tier, one in ids.items()
            if one is not None
        }
        self._tiers[GLOBAL] = Scope(user, tier=GLOBAL)
        self._history = Scope(user, tier=RECORD, tier_id=project_id or RECORD)
        self._clock = clock
        self._recording = Lock()

    def build(
        self,
        task: str,
        budget_tokens: int,
        allocation: Allocation | None = None,
        head_tail: int = 0,
        *,
        max_item_tokens: int | None = None,
    ) -> ContextPackage:
        """The memories that serve `task` best, in a text of at most `budget_tokens`.

        Ranked by relevance, importance and recency (`_assembly.score`), each tier within its share; what one does not
        need goes to the others (`_assembly.choose`). Long memories come as excerpts for the task, or as references;
        secrets and binary contents as references. Of equal texts one is shown.

        Args:
            task: What the agent is about to do, in words.
            budget_tokens: The most that the text takes, counted as it stands.
            allocation: For each tier its part of the budget, 0 to 100; only proportions count. A tier that is not
                named, or of which no id is known, is not looked at. 0.4 task, 0.4 project, 0.2 global without it.
            head_tail: So many memories of each tier that were written first, and so many that were written last, are
                kept whatever they are worth, as far as the whole budget goes: the last one, the first one, the last
                but one, …
            max_item_tokens: The most that one memory takes.

        Raises:
            InvalidArgumentError: A negative number, or an allocation without a part above 0.
            StoreError: The store could not do it.
        """
        _check_counts(
            budget_tokens=budget_tokens, head_tail=head_tail, max_item_tokens=max_item_tokens or 0
        )
        parts = _checked(DEFAULT_ALLOCATION if allocation is None else allocation)
        known = {tier: part for tier, part in parts.items() if part > 0 and tier in self._tiers}
        looked_at = max(LEAST_LOOKED_AT, budget_tokens // TOKENS_PER_CANDIDATE)
        with operation("assemble", self.memories.who, budget=budget_tokens) as assembling:
            looks = {tier: self._look(tier, looked_at) for tier in known}
            found = [
                one
                for tier, look in looks.items()
                for one in self._ranked(tier, look, task, looked_at, head_tail)
            ]
            found.sort(key=lambda one: (-one.worth, one.item.created_at, one.item.memory_key))
            package = self._package(task, budget_tokens, known, looks, found, max_item_tokens)
            keys = tuple(entry.item.memory_key for entry in package.entries)
            assembling.note(candidates=len(found), hits=len(keys), keys=keys, tokens=package.tokens)
        self.memories.audit("recalled", *keys)
        return package

    def record(self, package: ContextPackage, *texts: str) -> frozenset[str]:
        """Note in the store which memories `texts` made use of (`ContextPackage.used`); all keys noted so far.

        Each package has one record, of the type ``assembly``, which no search offers; what was noted before stays.

        Raises:
            StoreError: The store could not do it.
        """
        store, key, found = (
            self.memories.memory_store,
            f"{RECORD}_{package.id}",
            package.used(*texts),
        )
        with self._recording:
            before = store.get(self._history, key)
            known = frozenset[str](json.loads(before.text)["used"]) if before else frozenset[str]()
            if before is None or not found <= known:
                store.put(self._history, self._record(package, key, known | found), replace=True)
                self.memories.audit("stored", key)
        return known | found

    def advice(
        self, allocation: Allocation | None = None, *, limit: int = RECORDED
    ) -> AllocationAdvice:
        """Which allocation would have put in most of the memories that turned out to be needed.

        The newest recorded assemblies of this project are made again, out of what was ranked then, with other
        allocations.

        Args:
            allocation: The one in use; that of the newest record without it.
            limit: How many assemblies at most.

        Raises:
            InvalidArgumentError: An allocation without a part above 0.
            StoreError: The store could not do it.
        """
        recorded: Filters = {"memory_type": RECORD, "is_active": False}
        items = self.memories.memory_store.query(
            self._history, recorded, limit=limit, order_by=NEWEST
        )
        facts: list[dict[str, Any]] = [json.loads(item.text) for item in items]
        history = [_assembled(one) for one in facts]
        current = _checked(allocation or (facts[0]["allocation"] if facts else DEFAULT_ALLOCATION))
        suggested = improved(history, current)
        before, after = served(history, current), served(history, suggested)
        needed = sum(len(one.used) for one in history)
        better = after > before
        return AllocationAdvice(
            len(history), needed, current, before, suggested if better else current, after
        )

    def _package(
        self,
        task: str,
        budget: int,
        allocation: Allocation,
        looks: Mapping[str, _Look],
        ranked: Sequence[Ranked],
        longest: int | None,
    ) -> ContextPackage:
        count, tiers, same = self.memories.counter.count, tuple(allocation), copies(ranked)
        wanted = [one for one in ranked if one.item.memory_key not in same]
        candidates = {one.item.memory_key: candidate_of(one, count, budget) for one in wanted}
        room = max(
            0,
            budget
            - count(overhead([tier for tier in tiers if any(one.tier == tier for one in wanted)])),
        )
        places = choose(list(candidates.values()), room, allocation, longest)
        made = {
            key: entry_of(one, places[key], task, count)
            for one in wanted
            if (key := one.item.memory_key) in places
        }
        spare = room - sum(entry.tokens + 1 for entry in made.values())
        more = also(candidates.values(), made, room if longest is None else longest, spare)
        made |= {
            key: entry_of(one, more[key], task, count)
            for one in wanted
            if (key := one.item.memory_key) in more
        }
        entries, text = fitted(made, wanted, tiers, budget, count)
        number = Counter(one.tier for one in ranked)
        return ContextPackage(
            id=uuid4().hex,
            task=task,
            text=text,
            tokens=count(text) if text else 0,
            budget=budget,
            allocation=allocation,
            entries=tuple(entries),
            left_out=tuple(left_out_of(ranked, candidates, entries, same)),
            unranked={tier: max(0, look.count - number[tier]) for tier, look in looks.items()},
            all_tokens=sum(look.tokens for look in looks.values()),
            candidates=tuple(candidates.values()),
            room=room,
            longest=longest,
        )

    def _scope(self, tier: str) -> Scope:
        """A tier, behind the walls that there are now."""
        return replace(self._tiers[tier], places=self.memories.scope.places)

    def _ranked(self, tier: str, look: _Look, task: str, limit: int, ends: int) -> Iterator[Ranked]:
        """The memories of a tier that one of the rankings puts among its first `limit`, with what they are worth."""
        search = self.memories.memory_store.search
        hits = search(self._scope(tier), task, limit=limit, passages=False) if look.count else []
        best = max((item.match.score for item in hits if item.match), default=0.0)
        kept = self._ends(tier, ends) if ends else []
        items = {item.id: item for item in (*kept, *look.items, *hits)}
        places = {item.id: place for place, item in reversed([*enumerate(kept)])}
        for item in items.values():
            relevance = item.match.score / best if item.match and best > 0 else 0.0
            worth = score(relevance, item.importance, self._clock() - item.updated_at)
            yield Ranked(item, tier, worth, places.get(item.id))

    def _look(self, tier: str, limit: int) -> _Look:
        """The first of a tier by importance and by age, and how much there is of it."""
        others = [
            self._look_at(self.memories.offered, filters, limit)
            for filters in _OF_THE_USER
            if tier == GLOBAL
        ]
        looks = [self._look_at(self._scope(tier), None, limit), *others]
        items = tuple(item for look in looks for item in look.items)
        return _Look(items, sum(look.count for look in looks), sum(look.tokens for look in looks))

    def _look_at(self, scope: Scope, filters: Filters | None, limit: int) -> _Look:
        store = self.memories.memory_store
        items = store.query(scope, filters, limit=limit, order_by=MOST_IMPORTANT)
        if len(items) < limit:
            return _Look(tuple(items), len(items), sum(item.token_count for item in items))
        items += store.query(scope, filters, limit=limit, order_by=NEWEST)
        return _Look(
            tuple(items), store.count(scope, filters), store.sum(scope, "token_count", filters)
        )

    def _ends(self, tier: str, count: int) -> list[MemoryItem]:
        """The memory of a tier that was written last, the first one, the last but one, and so on."""
        store, scope = self.memories.memory_store, self._scope(tier)
        last, first = (
            store.query(scope, limit=count, order_by=order) for order in (NEWEST, OLDEST)
        )
        return [item for pair in zip(last, first, strict=False) for item in pair]

    def _record(self, package: ContextPackage, key: str, used: frozenset[str]) -> MemoryItem:
        content = json.dumps(_facts(package, used), ensure_ascii=False)
        return MemoryItem(
            user_id=self.memories.scope.user_id,
            agent_id=self.memories.agent_id,
            thread_id=self.memories.thread_id,
            memory_key=key,
            content=content,
            memory_type=RECORD,
            tier=RECORD,
            tier_id=self._history.tier_id,
            summary=one_line(self.memories.kept(package.task)),
            media_type=JSON,
            token_count=self.memories.counter.count(content),
            char_count=len(content),
            line_count=1,
            content_hash=hash_content(content),
            is_active=False,
        )


def _facts(package: ContextPackage, used: frozenset[str]) -> dict[str, Any]:
    """What is kept of an assembly: of what was left out, the best and what turned out to be needed."""
    shown = {entry.item.memory_key for entry in package.entries}
    best = {one.key for one in package.left_out[:LEFT_OUT_RECORDED]}
    kept = [one for one in package.candidates if one.key in shown | best | used]
    return {
        "task": package.task,
        "budget": package.budget,
        "room": package.room,
        "longest": package.longest,
        "allocation": dict(package.allocation),
        "tokens": package.tokens_by_tier,
        "candidates": [list(asdict(one).values()) for one in kept],
        "used": sorted(used),
    }


def _assembled(facts: Mapping[str, Any]) -> Assembled:
    candidates = tuple(Candidate(*one) for one in cast("list[list[Any]]", facts["candidates"]))
    return Assembled(candidates, facts["room"], frozenset(facts["used"]), facts["longest"])


def _checked(allocation: Allocation) -> dict[str, float]:
    """The allocation, if it is one."""
    parts = dict(allocation)
    wrong = {
        tier: part
        for tier, part in parts.items()
        if not (math.isfinite(part) and 0 <= part <= MOST_PART)
    }
    if wrong or not any(parts.values()):
        message = f"an allocation gives tiers parts from 0 to {MOST_PART}, one of them above 0; not {wrong or parts}"
        raise InvalidArgumentError(message)
    return parts


def _check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            message = f"{name} is a whole number, 0 or more, not {count!r}"
            raise InvalidArgumentError(message)


__all__ = ["AllocationAdvice", "ContextAssembler", "ContextPackage"]
