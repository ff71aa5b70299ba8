"""Tiers: how much each may hold, how long its memories live, and which tiers are wider than others."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidTierError,
    TierFullError,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import MemoryItem
from memory_context.model.scope import OPEN_TIERS

Lifetime: TypeAlias = Literal["run", "session", "task", "project", "user"]
Action: TypeAlias = Literal["save", "update", "delete", "clear", "promote"]

LIFETIMES: tuple[Lifetime, ...] = get_args(Lifetime)
TENTH = 0.1
# Notes of a run expire after this: a process can die before it reports that its run has ended.
LONGEST_RUN = timedelta(days=7)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a tier may hold for one run, session, plan, task or project. Evicted memories do not count.

    Attributes:
        max_chars: The most characters of all contents together.
        max_items: The most memories.
        evict: The share of `max_items` (without that, of the memories there are) that is evicted when the tier is full:
            the least important first, and among equally important ones the oldest. With 0, a full tier refuses.
    """

    max_chars: int | None = None
    max_items: int | None = None
    evict: float = 0.0


Room = Capacity
"""The public name of `Capacity`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How much the active memories of one category of a tier take.

    Attributes:
        tier: The tier.
        category: The category; None for those without one.
        items: How many memories.
        chars: How many characters (for binary content, bytes) their contents have together.
        bytes: How many bytes their contents take, texts as UTF-8.
    """

    tier: str
    category: str | None
    items: int
    chars: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An action that somebody is asked to confirm.

    Attributes:
        action: ``save``, ``update``, ``delete``, ``clear`` or ``promote``.
        tier: The tier that it would change.
        content: What would be written; None for ``delete`` and ``clear``.
        item: The record that would be changed, deleted or moved; None if there is none, or many.
        count: How many records it affects.
    """

    action: Action
    tier: str
    content: str | bytes | None = None
    item: MemoryItem | None = None
    count: int = 1


Confirm: TypeAlias = Callable[[Confirmation], bool | Awaitable[bool]]
Validate: TypeAlias = Callable[[MemoryItem], str | None]


@dataclass(frozen=True, slots=True)
class TierPolicy:
    """A tier: memories that live equally long, within the same limits.

    Attributes:
        name: At most 64 lower-case letters, digits, ``-`` and ``_``, beginning with a letter.
        max_chars: The most characters of all contents together; None for no limit.
        max_items: The most memories; None for no limit.
        lifetime: What its memories end with, and whose id they carry: ``run``, ``session``, ``task``, ``project``; or
            ``user``, which never ends.
        auto_include: Whether all its memories are in every prompt, in full.
        confirm: Called before anything is saved in the tier or promoted to it (except learned patterns), changed,
            deleted or cleared there; returns whether that may be done. That of ``global`` is also called before a
            preference, or anything with the tag ``always``, is stored without a tier. None: nobody is asked.
        validate: Called with a memory before it is written; returns what is wrong with it, or None.
        evict: The share that is evicted when the tier is full; with 0, a full tier refuses.

    Raises:
        InvalidTierError: The name is not valid, or the lifetime is not one of these.
        InvalidArgumentError: A limit is below 1, the share outside 0 to 1, or `auto_include` not a bool.
    """

    name: str
    max_chars: int | None = None
    max_items: int | None = None
    lifetime: Lifetime = "project"
    auto_include: bool = False
    confirm: Confirm | None = None
    validate: Validate | None = None
    evict: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        check_arguments(
            name=self.name,
            auto_include=self.auto_include,
            confirm=self.confirm,
            validate=self.validate,
            evict=self.evict,
        )
        if not _NAME.fullmatch(self.name) or self.name in OPEN_TIERS:
            raise InvalidTierError(
                "a tier's name has at most 64 lower-case letters, digits, - and _, beginning with a letter, and is not "
                "one that memory-context uses itself; "
                f"not {self.name!r:.80}"
            )
        if self.lifetime not in LIFETIMES:
            lifetimes = ", ".join(LIFETIMES)
            raise InvalidTierError(
                f"a tier's lifetime is one of {lifetimes}, not {self.lifetime!r:.80}"
            )
        for name in ("max_chars", "max_items"):
            limit = getattr(self, name)
            if limit is not None:
                check_whole(f"{name} of the tier {self.name!r}", limit, 1)

    @property
    def room(self) -> Capacity | None:
        """Return the limits that the store checks at each write; None for a tier without limits."""
        if self.max_chars is None and self.max_items is None:
            return None
        return Capacity(self.max_chars, self.max_items, self.evict)


NOTE_CHARACTERS = 10_000
RUN = TierPolicy("run", NOTE_CHARACTERS, lifetime="run", auto_include=True)
PLAN = TierPolicy("plan", NOTE_CHARACTERS, lifetime="run")
SESSION = TierPolicy("session", NOTE_CHARACTERS, lifetime="session")
TASK = TierPolicy("task", lifetime="task")
PROJECT = TierPolicy("project", max_items=1000, lifetime="project", evict=TENTH)
GLOBAL = TierPolicy("global", lifetime="user")
TIERS = (RUN, PLAN, SESSION, TASK, PROJECT, GLOBAL)
"""The built-in tiers; `docs/tiers.md` has the table. ``detail``, where folded outputs are, has no policy."""


def policies_with(changed: Iterable[TierPolicy] = ()) -> dict[str, TierPolicy]:
    """Return the built-in tiers by name, with those of *changed* in place of them or beside them.

    Raises:
        InvalidArgumentError: *changed* is not a list of `TierPolicy` objects.
    """
    check_arguments(policies=changed)
    given: list[Any] = list(changed)
    if not all(isinstance(policy, TierPolicy) for policy in given):
        raise InvalidArgumentError(
            f'tiers are given as a list of policies, such as [TierPolicy("team")], not {changed!r:.80}'
        )
    return {policy.name: policy for policy in (*TIERS, *given)}


def wider(source: str, policies: Mapping[str, TierPolicy]) -> list[str]:
    """Return the tiers that a memory of *source* may be promoted to: those that live as long or longer, shortest first.

    From ``detail`` and other tiers without a policy, a memory may be promoted to any tier.
    """
    ranks = {name: LIFETIMES.index(policy.lifetime) for name, policy in policies.items()}
    least = ranks.pop(source, 0)
    allowed = [name for name in ranks if ranks[name] >= least]
    return sorted(allowed, key=ranks.__getitem__)


def check_room(
    tier: str, capacity: Capacity, items: int, chars: int, needed: int
) -> TierFullError | None:
    """Return the error if one more memory of *needed* characters does not fit; None if it does."""
    limits = (
        ("characters", chars, needed, capacity.max_chars),
        ("items", items, 1, capacity.max_items),
    )
    for unit, held, added, most in limits:
        if most is not None and held + added > most:
            more = "one" if unit == "items" else added
            return TierFullError(
                f"the tier {tier!r} is full: it holds {held:,} of {most:,} {unit}, which leaves no room for {more} more; "
                "shorten this, delete or clear what is no longer needed, or use another tier",
                tier=tier,
                unit=unit,
                size=held,
                limit=most,
            )
    return None
