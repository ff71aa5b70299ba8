"""Delete memories whose `expires_at` has passed, or that a retention rule names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeAlias, cast, get_args
from uuid import UUID

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.batches import slices_of
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import FIRST, in_utc, now, with_zone
from memory_context.stores import MemoryStore, as_auditor
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail
from memory_context.stores.protocol import Progress
from memory_context.stores.sql.listings_and_totals_of_memories import (
    EXPIRED,
    Catalog,
    Expiry,
    happened_by,
)

# Each batch is one transaction, and other writers wait for it.
BATCH = 50
Since: TypeAlias = Literal["created", "changed", "read"]
UNITS = {"d": "days", "h": "hours", "w": "weeks"}

# Such as tool_output=30d, tier:detail=12h, evicted=4w and =365d:read.
_RULE = re.compile(
    r"""
    (?P<target> [^=]* ) =
    (?P<number> [0-9]{1,6} ) (?P<unit> [dhw] )
    (?: : (?P<since> created | changed | read ) )?
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A rule on which memories are deleted, and when.

    Attributes:
        after: How long after `since` they are deleted.
        memory_type: Only those of this type.
        tier: Only those of this tier.
        evicted: Only those that were evicted or softly forgotten.
        since: The event that `after` counts from. ``changed``: stored, stored again, rewritten or
            evicted. ``created``: stored for the first time, even if an output was stored again today.
            ``read``: last read; created if it never was.

    Raises:
        InvalidArgumentError: `after` is negative or reaches back beyond the first date, a type or
            tier is no name, or `since` is unknown: rules delete, so mistakes are refused early.
    """

    after: timedelta
    memory_type: str | None = None
    tier: str | None = None
    evicted: bool = False
    since: Since = "changed"

    def __post_init__(self) -> None:
        """Check the fields."""
        after: object = self.after
        if not isinstance(after, timedelta) or after < timedelta():
            raise InvalidArgumentError(f"after= must be a timedelta of 0 or more, not {after!r}")
        # Subtracting it from a date would raise OverflowError at the time of deletion.
        if after > now() - FIRST:
            raise InvalidArgumentError(
                f"there is no date {after.days:,} days ago; give the rule a shorter time"
            )
        for name in ("memory_type", "tier"):
            given: object = getattr(self, name)
            if given is not None and not (isinstance(given, str) and given.strip()):
                raise InvalidArgumentError(f"{name}= must be a name or None, not {given!r}")
        if self.since not in get_args(Since):
            raise InvalidArgumentError(
                f"since= must be one of {', '.join(get_args(Since))}, not {self.since!r}"
            )

    @classmethod
    def parse(cls, text: str) -> RetentionRule:
        """Read a rule: ``tool_output=30d``, ``tier:detail=12h``, ``evicted=4w``, ``=365d:read``.

        Hours, days and weeks count from the last change of a memory, or from the event named after
        the last colon.

        Raises:
            InvalidArgumentError: It is not a rule.
        """
        check_arguments(text=text)
        match = _RULE.fullmatch(text.strip())
        if not match:
            raise InvalidArgumentError(
                f"not a rule: {text[:80]!r}; write TYPE=30d, tier:NAME=12h, evicted=4w or =365d:read"
            )
        target = match["target"]
        after = timedelta(**{UNITS[match["unit"]]: int(match["number"])})
        since = cast("Since", match["since"] or "changed")
        if target == "evicted":
            return cls(after, evicted=True, since=since)
        if target.startswith("tier:"):
            return cls(after, tier=target.removeprefix("tier:"), since=since)
        return cls(after, target or None, since=since)

    @property
    def reason(self) -> str:
        """Return the reason that references give for a memory that this rule deleted."""
        targets = list[str]()
        if self.memory_type:
            targets.append(self.memory_type)
        if self.tier:
            targets.append(f"tier {self.tier}")
        if self.evicted:
            targets.append("evicted")
        target = ", ".join(targets) or "everything"
        return f"kept for {self.after} since it was {self.since}: {target}"

    def expiry(self, at: datetime) -> Expiry:
        """Return the condition that says which memories have expired by this rule at a moment."""
        where = happened_by(
            self.since,
            in_utc(at, -self.after),
            memory_type=self.memory_type,
            tier=self.tier,
            is_active=False if self.evicted else None,
        )
        return Expiry(self.reason, where)


def delete_expired(
    store: MemoryStore,
    rules: Iterable[RetentionRule] = (),
    *,
    user_id: str | None = None,
    tier: str | None = None,
    at: datetime | None = None,
    progress: Progress | None = None,
    audit: AnyAuditTrail | None = None,
    agent_id: str | None = None,
) -> int:
    """Delete memories that have expired by their `expires_at` or by a rule, evicted ones too, and count them.

    Each batch is one transaction, so an interruption leaves whole batches. References to deleted
    memories say when and why, as after `forget`.

    Args:
        store: Where the memories are.
        rules: Which memories are deleted besides those whose `expires_at` has passed: all that any
            rule names.
        user_id: Whose memories; without it, everybody's.
        tier: Limits deletion by `expires_at` to this tier; rules name their own.
        at: The moment at which they have expired; without it, now.
        progress: Called after each batch with how many are done, and of how many.
        audit: The audit trail of what was deleted (see `MemoryManager`).
        agent_id: The agent that does it, for the audit trail.

    Raises:
        InvalidArgumentError: `at` has no time zone.
        StoreError: The store failed, or is of a kind that keeps no catalog. Earlier batches stay
            deleted.
    """
    check_arguments(progress=progress)
    catalog = Catalog(store)
    expiries = _expiries(rules, at, tier)
    auditor = as_auditor(audit, store)
    # All are looked for before any is deleted: what one rule deletes, another would no longer find.
    found = [(which, catalog.expired(which, user_id)) for which in expiries]
    total = sum(len(rows) for _, rows in found)
    done = deleted = 0
    for which, rows in found:
        for user, ids in _batches(rows):
            gone = catalog.delete_expired(user, ids, which)
            if auditor:
                auditor.note("deleted", (user, agent_id, None), sorted(gone))
            deleted += len(gone)
            done += len(ids)
            if progress:
                progress(done, total)
    if auditor:
        auditor.close()
    return deleted


def count_expired(
    store: MemoryStore,
    rules: Iterable[RetentionRule] = (),
    *,
    user_id: str | None = None,
    at: datetime | None = None,
) -> dict[str, int]:
    """Count, for each user, the memories that `delete_expired` would delete."""
    catalog = Catalog(store)
    expired = set[tuple[str, UUID]]()
    for which in _expiries(rules, at):
        expired.update(catalog.expired(which, user_id))
    counts = Counter(user for user, _ in expired)
    return dict(sorted(counts.items()))


def _expiries(
    rules: Iterable[RetentionRule], at: datetime | None, tier: str | None = None
) -> list[Expiry]:
    check_arguments(rules=rules)
    moment = with_zone(at, "at") or now()
    expiries = [Expiry(EXPIRED, happened_by("expired", moment, tier=tier))]
    for rule in rules:
        check_arguments(rule=rule)
        expiries.append(rule.expiry(moment))
    return expiries


def _batches(rows: Sequence[tuple[str, UUID]]) -> Iterator[tuple[str, Sequence[UUID]]]:
    """Yield a user and up to 50 of their memories at a time."""
    for user, rows_of_user in groupby(rows, itemgetter(0)):
        ids = [memory_id for _, memory_id in rows_of_user]
        for batch in slices_of(ids, BATCH):
            yield user, batch
