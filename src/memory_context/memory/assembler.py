"""Assemble the memories that an agent starts with, from its tiers, within a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from memory_context.exceptions import InvalidArgumentError, InvalidTierError
from memory_context.memory.allocation_advice import (
    RECORDED,
    AllocationAdvice,
    RecordedAssembly,
    advise,
    record_of_assembly,
)
from memory_context.memory.assembly_within_budget import DEFAULT_ALLOCATION, Allocation, score
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.memory.package_text_and_what_was_used import (
    ContextPackage,
    RankedMemory,
    make_package,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole, is_share
from memory_context.model.item import ALWAYS, ASSEMBLY, JSON, PREFERENCE, MemoryItem, now
from memory_context.model.one_line import one_line
from memory_context.model.origin import CONFIRMED, PROGRAM
from memory_context.model.scope import DETAIL, Scope
from memory_context.model.tiers_and_limits import GLOBAL, TIERS
from memory_context.runtime.after_fork import Lock
from memory_context.runtime.telemetry import operation
from memory_context.stores import Filters
from memory_context.text.redact import Redaction

LARGEST_PART = 100
LEAST_LOOKED_AT = 100
# No memory takes less than its reference, about 20 tokens: more candidates could not all go in.
TOKENS_PER_CANDIDATE = 20
OLDEST = "-created_at"
NEWEST = "created_at"
MOST_IMPORTANT = "importance"

# Preferences and notes that were stored without a tier are the user's own. In a tier, they belong to
# its run, session, task or project.
_WITHOUT_TIER: tuple[Filters, ...] = (
    {"memory_type": PREFERENCE, "tier": DETAIL},
    {"tags": ALWAYS, "tier": DETAIL, "memory_type": {"$ne": PREFERENCE}},
)


@dataclass(slots=True)
class _TierSample:
    """The memories of a tier that may lead a ranking, those that a search found, and how much the whole tier holds."""

    items: list[MemoryItem]
    hits: list[MemoryItem]
    count: int = 0
    tokens: int = 0


class ContextAssembler:
    """Assembles the memories that an agent starts with, from the tiers of a user. Safe under threads.

    The tier ``global`` includes the user's preferences, and notes with the tag ``always``, that
    were stored without a tier.

    Args:
        memories: The user's memories. Those that a view leaves out (`MemoryManager.within`) are not
            looked at.
        task_id: The task whose memories are looked at; without it, no task's are.
        project_id: The project whose memories are looked at; without it, no project's are.
        tier_ids: For other tiers of an allocation, which run, session or plan:
            ``{"session": thread_id}``.
        clock: Returns the current moment, in UTC; recency is measured against it.
        require_confirmed: Whether only what a person or a program said is looked at (`NotesPolicy`).

    Raises:
        InvalidScopeError: An id does not fit a database column.
        InvalidTierError: `tier_ids` names the task, the project or the tier ``global``.
    """

    def __init__(
        self,
        memories: MemoryManager,
        *,
        task_id: str | None = None,
        project_id: str | None = None,
        tier_ids: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = now,
        require_confirmed: bool = False,
    ) -> None:
        check_owner(memories, MemoryManager)
        user = memories.scope.user_id
        self.memories = memories
        check_arguments(tier_ids=tier_ids, clock=clock)
        self._tiers = {GLOBAL.name: Scope(user, tier=GLOBAL.name)}
        known: dict[str, str | None] = {"task": task_id, "project": project_id}
        others = dict(tier_ids or {})
        if wrong := others.keys() & {*known, GLOBAL.name}:
            raise InvalidTierError(
                f"tier_ids= takes no {' and '.join(sorted(wrong))}: "
                "use task_id= and project_id=; the tier global has no id"
            )
        for tier, tier_id in (known | others).items():
            if tier_id is not None:
                self._tiers[tier] = Scope(user, tier=tier, tier_id=tier_id)
        self._history = Scope(user, tier=ASSEMBLY, tier_id=project_id or ASSEMBLY)
        self._clock = clock
        self._wanted: Filters = {"origin": CONFIRMED} if require_confirmed else {}
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
        """Assemble the memories that serve `task` best, in a text of at most `budget_tokens`.

        Memories are ranked by relevance, importance and recency (`memory.assembly_within_budget.score`). Each tier has
        its share of the budget; what one tier does not need goes to the others (`memory.assembly_within_budget.choose`).
        Long memories are excerpts for the task, or references; secrets and binary contents are references.
        Of equal texts, one is shown.

        Args:
            task: What the agent is about to do, in words.
            budget_tokens: The most tokens that the text may take.
            allocation: Each tier's part of the budget, 0 to 100; only proportions count. A tier that
                is not named here, or whose id is unknown, is not looked at. The default is 0.4 task,
                0.4 project, 0.2 global.
            head_tail: How many of the memories written first, and of those written last, each tier
                keeps whatever their score, as far as the whole budget goes: the last one, the first
                one, the last but one, …
            max_item_tokens: The most tokens that one memory may take.

        Raises:
            InvalidArgumentError: A number is negative, or the allocation has no part above 0.
            InvalidTierError: The allocation names a tier that does not exist.
            StoreError: The store failed.
        """
        check_arguments(task=task)
        check_whole("budget_tokens", budget_tokens)
        check_whole("head_tail", head_tail)
        if max_item_tokens is not None:
            check_whole("max_item_tokens", max_item_tokens)
        if allocation is None:
            allocation = DEFAULT_ALLOCATION
        parts = _checked(allocation)
        tiers = {policy.name for policy in TIERS} | self._tiers.keys()
        for name in parts.keys() - tiers:
            raise InvalidTierError(
                f"there is no tier {name!r:.80}; there are {', '.join(sorted(tiers))}, and those of tier_ids="
            )
        known = {tier: part for tier, part in parts.items() if part > 0 and tier in self._tiers}
        limit = max(LEAST_LOOKED_AT, budget_tokens // TOKENS_PER_CANDIDATE)
        ranked = list[RankedMemory]()
        held: dict[str, tuple[int, int]] = {}
        with operation("assemble", self.memories.who, budget=budget_tokens) as assembling:
            for tier in known:
                sample = self._sample(tier, task, limit, head_tail)
                held[tier] = sample.count, sample.tokens
                ranked += self._ranked(tier, sample, head_tail)
            # By time and key among equals, so that the same memories make the same text again.
            ranked.sort(key=lambda memory: (-memory.worth, memory.item.created_at, memory.key))
            count = self.memories.counter.count
            package = make_package(ranked, task, budget_tokens, known, max_item_tokens, held, count)
            keys = tuple(item.memory_key for item in package.items)
            assembling.note(
                candidates=len(ranked), hits=len(keys), keys=keys, tokens=package.tokens
            )
        self.memories.audit("recalled", *keys)
        return package

    def record(self, package: ContextPackage, *texts: str) -> frozenset[str]:
        """Record which memories `texts` made use of, and return all keys noted so far.

        Each package has one record, of the type ``assembly``, which no search offers; what was
        noted before stays.

        Raises:
            StoreError: The store failed.
        """
        check_arguments(package=package)
        store = self.memories.memory_store
        key = f"{ASSEMBLY}_{package.id}"
        used = package.used(*texts)
        with self._recording:
            before = store.get(self._history, key)
            # Reading and writing are two steps: without the lock two threads would lose what the
            # other noted.
            known = frozenset[str]()
            if before:
                known = frozenset(json.loads(before.text)["used"])
            if not before or not used <= known:
                redaction = self.memories.redaction()
                record = self._record(package, key, known | used, redaction)
                store.put(self._history, record, replace=True)
                self.memories.audit("stored", key)
                self.memories.note_redacted(redaction)
        return known | used

    def advice(
        self, allocation: Allocation | None = None, *, limit: int = RECORDED
    ) -> AllocationAdvice:
        """Return the allocation that would have put in most of the memories that were needed.

        The newest recorded assemblies of this project are repeated with other allocations, on what
        was ranked then.

        Args:
            allocation: The one in use; without it, that of the newest record.
            limit: How many assemblies at most.

        Raises:
            InvalidArgumentError: The allocation has no part above 0.
            StoreError: The store failed.
        """
        items = self.memories.memory_store.query(
            self._history,
            {"memory_type": ASSEMBLY, "is_active": False},
            limit=limit,
            order_by=NEWEST,
        )
        records = [json.loads(item.text) for item in items]
        newest = records[0]["allocation"] if records else DEFAULT_ALLOCATION
        history = [RecordedAssembly.from_record(record) for record in records]
        return advise(history, _checked(allocation or newest))

    def _ranked(self, tier: str, sample: _TierSample, ends: int) -> Iterator[RankedMemory]:
        """Yield the memories of a tier that may lead a ranking or are kept, with their scores."""
        best = max((hit.match.score for hit in sample.hits if hit.match), default=0.0)
        # Hits come last, so that of equal records the one with its match stays.
        distinct = {item.id: item for item in (*sample.items, *sample.hits)}
        by_age = sorted(distinct.values(), key=lambda item: (item.created_at, item.id))
        positions = dict[object, int]()
        if ends:
            # The memory written last, the first one, the last but one, and so on.
            kept = chain.from_iterable(zip(by_age[: -ends - 1 : -1], by_age[:ends], strict=True))
            for position, item in enumerate(kept):
                # With few memories the first are the last, too.
                positions.setdefault(item.id, position)
        for item in distinct.values():
            relevance = item.match.score / best if item.match and best > 0 else 0.0
            worth = score(relevance, item.importance, self._clock() - item.updated_at)
            yield RankedMemory(item, tier, worth, positions.get(item.id))

    def _sample(self, tier: str, task: str, limit: int, ends: int) -> _TierSample:
        """Return the memories of a tier that may lead a ranking or are kept, and how much the tier holds."""
        store = self.memories.memory_store
        # Limited to the places that are open now.
        scope_of_tier = replace(self._tiers[tier], places=self.memories.scope.places)
        parts: list[tuple[Scope, Filters]] = [(scope_of_tier, self._wanted)]
        if tier == GLOBAL.name:
            parts += [(self.memories.offered, {**one, **self._wanted}) for one in _WITHOUT_TIER]
        sample = _TierSample([], [])
        for scope, filters in parts:
            items = store.query(scope, filters, limit=limit, order_by=MOST_IMPORTANT)
            # These are the whole tier, so neither a count nor the newest ones are needed.
            if len(items) < limit:
                sample.count += len(items)
                sample.tokens += sum(item.token_count for item in items)
            else:
                items += store.query(scope, filters, limit=max(limit, ends), order_by=NEWEST)
                if ends:
                    items += store.query(scope, filters, limit=ends, order_by=OLDEST)
                sample.count += store.count(scope, filters)
                sample.tokens += store.sum(scope, "token_count", filters)
            sample.items += items
            if items:
                sample.hits += self.memories.hits(
                    scope, task, limit=limit, passages=False, filters=filters
                )
        return sample

    def _record(
        self, package: ContextPackage, key: str, used: frozenset[str], redaction: Redaction
    ) -> MemoryItem:
        content = json.dumps(record_of_assembly(package, used), ensure_ascii=False)
        return MemoryItem(
            user_id=self.memories.scope.user_id,
            agent_id=self.memories.agent_id,
            thread_id=self.memories.thread_id,
            memory_key=key,
            content=content,
            memory_type=ASSEMBLY,
            tier=ASSEMBLY,
            tier_id=self._history.tier_id,
            summary=one_line(redaction.text(package.task)),
            media_type=JSON,
            # Inactive: no search and no list offers it.
            is_active=False,
            origin=PROGRAM,
            **self.memories.facts_of(content),
        )


def _checked(allocation: Allocation) -> dict[str, float]:
    """Return the allocation.

    Raises:
        InvalidArgumentError: A part is not from 0 to 100, or none is above 0.
    """
    check_arguments(allocation=allocation)
    are_valid = all(is_share(part, LARGEST_PART) for part in allocation.values())
    if not (are_valid and any(allocation.values())):
        raise InvalidArgumentError(
            f"an allocation gives tiers parts from 0 to {LARGEST_PART}, one of them above 0; not {allocation}"
        )
    return {tier: float(part) for tier, part in allocation.items()}
