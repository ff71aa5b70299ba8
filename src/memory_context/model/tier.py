"""What a tier is: how much it holds, how long that lives, and which tiers are wider than which."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidTierError,
    QuotaExceededError,
    TierFullError,
)
from memory_context.model.item import MemoryItem
from memory_context.model.scope import DETAIL, OPEN_TIERS

Lifetime: TypeAlias = Literal["run", "session", "task", "project", "user"]
Action: TypeAlias = Literal["save", "update", "delete", "clear", "promote"]

LIFETIMES: tuple[Lifetime, ...] = get_args(Lifetime)
HIGHEST_PRIORITY = 10
TENTH = 0.1
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Room:
    """How much a tier holds of one run, session, plan, task or project; what is evicted does not count.

    Attributes:
        max_chars: The most characters of all contents together.
        max_items: The most memories.
        evict: Which share of `max_items`, or of what is there, makes room at a time where there is none, the least
            important first, of equally important ones the oldest; with 0 a full tier refuses.
    """

    max_chars: int | None = None
    max_items: int | None = None
    evict: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What the active memories of one category of a tier take.

    Attributes:
        tier: The tier.
        category: The category; None for those without one.
        items: How many memories.
        chars: How many characters (of binary content, bytes) their contents have together.
        bytes: How many bytes their contents take, texts as UTF-8.
    """

    tier: str
    category: str | None
    items: int
    chars: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a store holds of one user, evicted memories too.

    Attributes:
        max_items: The most memories.
        max_bytes: The most bytes of all contents together, texts as UTF-8.

    Raises:
        InvalidArgumentError: A limit that is no whole number, or below 0.
    """

    max_items: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("max_items", "max_bytes"):
            value = getattr(self, name)
            if value is not None and (
                not isinstance(value, int) or isinstance(value, bool) or value < 0
            ):
                message = (
                    f"{name} is a whole number, 0 or more, or None for no limit, not {value!r}"
                )
                raise InvalidArgumentError(message)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was removed of a user, row by row.

    Attributes:
        user_id: Whose it was.
        at: When it was done; in UTC.
        memories: How many memories, evicted ones too.
        passages: How many passages of the search index.
        vectors: How many vectors.
        reads: How many memories had a count of reads.
        deletions: How many notes of when and why a memory was deleted.
        audit_entries: How many entries of the audit trail.
        files: How many files.
        scrubbed: Whether the space that it took was overwritten too, so that SQLite's files hold nothing of it; on
            PostgreSQL whether it was given back for other rows, which overwrite it when they come. False where somebody
            else was reading, then `SQLAlchemyStore.scrub` does it later; and for a `FileStore`, which removes files and
            cannot tell what the disk keeps of them.
    """

    user_id: str
    at: datetime
    memories: int = 0
    passages: int = 0
    vectors: int = 0
    reads: int = 0
    deletions: int = 0
    audit_entries: int = 0
    files: int = 0
    scrubbed: bool = True


def check_quota(quota: Quota, items: int, size: int) -> QuotaExceededError | None:
    """The error where `items` memories of `size` bytes are more than the quota allows."""
    for unit, held, most in (
        ("memories", items, quota.max_items),
        ("bytes", size, quota.max_bytes),
    ):
        if most is not None and held > most:
            message = (
                f"that would be {held:,} {unit}, and the user's quota is {most:,}; this was not stored. "
                "Forget some memories, or raise the quota"
            )
            return QuotaExceededError(message, unit=unit, size=held, limit=most)
    return None


def as_quota(quota: object) -> Quota | None:
    """`quota` itself.

    Raises:
        InvalidArgumentError: It is none.
    """
    if quota is None or isinstance(quota, Quota):
        return quota
    message = f"a quota is a Quota(max_items=…, max_bytes=…), not {quota!r:.80}"
    raise InvalidArgumentError(message)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What somebody is asked to confirm before it is done.

    Attributes:
        action: ``save``, ``update``, ``delete``, ``clear`` or ``promote``.
        tier: Where.
        content: What would be written; for ``delete`` and ``clear`` nothing.
        item: The record that would be changed, deleted or moved; None where there is none, or many.
        count: How many records it is about.
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
    """A tier: what an agent remembers for the same time, within the same limits.

    Attributes:
        name: Small letters, digits, ``-`` and ``_``.
        max_chars: The most characters of all contents together; None for no limit.
        max_items: The most memories; None for no limit.
        lifetime: Whose id its memories carry, and with what they end: ``run``, ``session``, ``task``, ``project``; or
            ``user``, which ends never.
        auto_include: Whether all of it stands in every prompt, in full.
        confirm: Asked before a preference is changed, or saved where it asks for that, and before the tier is cleared;
            answers whether it may be done. None: nobody is asked.
        validate: Says what is wrong with a memory before it is written; None for nothing.
        evict: The share that makes room when the tier is full; with 0 it refuses.

    Raises:
        InvalidTierError: No name, or no lifetime of these.
        InvalidArgumentError: A limit below 1, or a share outside 0 to 1.
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
        if not _NAME.fullmatch(self.name) or self.name in OPEN_TIERS:
            message = f"a tier's name has small letters, digits, - and _, and is none of our own, not {self.name!r:.80}"
            raise InvalidTierError(message)
        if self.lifetime not in LIFETIMES:
            message = (
                f"a tier's lifetime is one of {', '.join(LIFETIMES)}, not {self.lifetime!r:.80}"
            )
            raise InvalidTierError(message)
        if any(limit is not None and limit < 1 for limit in (self.max_chars, self.max_items)):
            message = f"the limits of the tier {self.name!r} are 1 or more, or None for none"
            raise InvalidArgumentError(message)
        if not 0 <= self.evict <= 1:
            message = f"evict is a share from 0 to 1, not {self.evict!r}"
            raise InvalidArgumentError(message)

    @property
    def room(self) -> Room | None:
        """What the store checks when something is written; None where there is no limit."""
        limited = self.max_chars is not None or self.max_items is not None
        return Room(self.max_chars, self.max_items, self.evict) if limited else None


NOTE_CHARACTERS = 10_000
RUN = TierPolicy("run", NOTE_CHARACTERS, lifetime="run", auto_include=True)
PLAN = TierPolicy("plan", NOTE_CHARACTERS, lifetime="run")
SESSION = TierPolicy("session", NOTE_CHARACTERS, lifetime="session")
TASK = TierPolicy("task", lifetime="task")
PROJECT = TierPolicy("project", max_items=1000, lifetime="project", evict=TENTH)
GLOBAL = TierPolicy("global", lifetime="user")
TIERS = (RUN, PLAN, SESSION, TASK, PROJECT, GLOBAL)
"""The built-in tiers; DESIGN section 7 has the table. ``detail``, where folded outputs are, has no policy."""


def policies_with(changed: Iterable[TierPolicy] = ()) -> dict[str, TierPolicy]:
    """The built-in tiers by name, with `changed` ones in their place and further ones beside them."""
    return {policy.name: policy for policy in (*TIERS, *changed)}


def wider(source: str, policies: Mapping[str, TierPolicy]) -> list[str]:
    """The tiers that a memory of `source` may be promoted to: those that live as long or longer, shortest first.

    From ``detail`` and other tiers without a policy, that is any.
    """
    least = LIFETIMES.index(policies[source].lifetime) if source in policies else 0
    ranks = {
        name: LIFETIMES.index(policy.lifetime)
        for name, policy in policies.items()
        if name != source
    }
    return [name for name in sorted(ranks, key=ranks.__getitem__) if ranks[name] >= least]


def check_room(tier: str, room: Room, items: int, chars: int, needed: int) -> TierFullError | None:
    """What to raise where `needed` more characters in one more memory do not fit; None where they do."""
    if room.max_chars is not None and chars + needed > room.max_chars:
        return _full(tier, "characters", chars, room.max_chars, f"{needed} more")
    if room.max_items is not None and items + 1 > room.max_items:
        return _full(tier, "items", items, room.max_items, "one more")
    return None


def _full(tier: str, unit: str, size: int, limit: int, needed: str) -> TierFullError:
    message = (
        f"the tier {tier!r} is full: it holds {size:,} of {limit:,} {unit}, which leaves no room for {needed}; "
        "shorten this, delete or clear what is no longer needed, or use another tier"
    )
    return TierFullError(message, tier=tier, unit=unit, size=size, limit=limit)


def importance_of(priority: int) -> float:
    """The importance, 0 to 1, that a priority of 1 to 10 means.

    Raises:
        InvalidArgumentError: It is no such priority.
    """
    given: object = priority
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= HIGHEST_PRIORITY:
        return given / HIGHEST_PRIORITY
    message = f"a priority is a whole number from 1 to {HIGHEST_PRIORITY}, not {given!r:.80}"
    raise InvalidArgumentError(message)


def priority_of(importance: float) -> int:
    """The priority, 1 to 10, that an importance is told as."""
    return min(max(round(importance * HIGHEST_PRIORITY), 1), HIGHEST_PRIORITY)


__all__ = ["DETAIL", "TIERS", "Confirmation", "Room", "TierPolicy", "Usage"]
