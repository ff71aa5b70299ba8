"""How long memories are kept: what `expires_at` or a rule says is over goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeAlias, cast, get_args
from uuid import UUID

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.audit import AuditTrail
from memory_context.model.item import FIRST, in_utc, now, with_zone
from memory_context.stores import MemoryStore, as_auditor
from memory_context.stores.sql.catalog import EXPIRED, Catalog, Expiry

BATCH = 50
Since: TypeAlias = Literal["created", "changed", "read"]
UNITS = {"d": "days", "h": "hours", "w": "weeks"}
_RULE = re.compile(
    r"(?P<what>[^=]*)=(?P<number>[0-9]{1,6})(?P<unit>[dhw])(?::(?P<since>created|changed|read))?"
)


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Which memories go, and when.

    Attributes:
        after: How long after `since` they go.
        memory_type: Only those of this type.
        tier: Only those of this tier.
        evicted: Only those that were evicted or softly forgotten.
        since: ``changed``: stored, stored again, written anew or evicted. ``created``: stored for the first time, so
            that an output which was stored again today may go. ``read``: read, or created where it never was.

    Raises:
        InvalidArgumentError: A time that is negative or longer than there are dates, or another `since`.
    """

    after: timedelta
    memory_type: str | None = None
    tier: str | None = None
    evicted: bool = False
    since: Since = "changed"

    def __post_init__(self) -> None:
        """Check what a type checker would."""
        after: object = self.after
        if not isinstance(after, timedelta) or after < timedelta():
            message = f"memories go after a timedelta of 0 or more, not {self.after!r}"
            raise InvalidArgumentError(message)
        if after > now() - FIRST:
            message = f"there is no date {after.days:,} days ago; a rule is for less"
            raise InvalidArgumentError(message)
        if self.since not in get_args(Since):
            message = f"a rule counts since {', '.join(get_args(Since))}, not {self.since!r}"
            raise InvalidArgumentError(message)

    @classmethod
    def parse(cls, text: str) -> RetentionRule:
        """The rule that ``tool_output=30d``, ``tier:detail=12h``, ``evicted=4w`` or ``=365d:read`` stands for.

        Hours, days and weeks since a memory was changed, or what stands behind the last colon.

        Raises:
            InvalidArgumentError: It is none.
        """
        match = _RULE.fullmatch(text.strip())
        if match is None:
            message = f"not a rule: {text[:80]!r}; write TYPE=30d, tier:NAME=12h, evicted=4w or =365d:read"
            raise InvalidArgumentError(message)
        what, after = match["what"], timedelta(**{UNITS[match["unit"]]: int(match["number"])})
        since = cast("Since", match["since"] or "changed")
        if what == "evicted":
            return cls(after, evicted=True, since=since)
        tier = what.removeprefix("tier:") if what.startswith("tier:") else None
        return cls(after, (what or None) if tier is None else None, tier, since=since)

    @property
    def reason(self) -> str:
        """What references to a memory that went by this rule say."""
        which = [
            self.memory_type,
            self.tier and f"tier {self.tier}",
            "evicted" if self.evicted else None,
        ]
        what = ", ".join(filter(None, which)) or "everything"
        return f"kept for {self.after} since it was {self.since}: {what}"

    def expiry(self, at: datetime) -> Expiry:
        """Return which memories have expired by this rule at a moment."""
        return Expiry(
            self.reason,
            in_utc(at, -self.after),
            self.since,
            self.memory_type,
            self.tier,
            evicted=self.evicted,
        )


def delete_expired(
    store: MemoryStore,
    rules: Sequence[RetentionRule] = (),
    *,
    user_id: str | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], object] | None = None,
    audit: AuditTrail | str | bool | None = None,
    agent_id: str | None = None,
) -> int:
    """Delete the memories whose `expires_at` or rule says that they are over, evicted ones too; how many there were.

    Batch by batch, each in one transaction: an interruption leaves whole batches. References to them say when and why
    afterwards, as after `forget`.

    Args:
        store: Where.
        rules: What goes beside that; what one of them says goes.
        user_id: Whose; everybody's without it.
        at: The moment that counts; now without it.
        progress: Called after each batch with how many are done, and of how many.
        audit: Where it is written what was deleted: see `MemoryManager`.
        agent_id: Who does it, for that.

    Raises:
        InvalidArgumentError: `at` has no time zone.
        StoreError: The store could not do it, or is of a kind that keeps no catalog. Batches before stay deleted.
    """
    catalog, moment = Catalog(store), with_zone(at, "at") or now()
    auditor = as_auditor(audit, store)
    found = {which: catalog.expired(which, user_id) for which in _all(rules, moment)}
    done = deleted = 0
    total = sum(map(len, found.values()))
    for which, rows in found.items():
        for user, ids in _batches(rows):
            keys = catalog.keys_of(user, ids) if auditor else []
            deleted += catalog.delete_expired(user, ids, which)
            if auditor:
                kept = set(catalog.keys_of(user, ids))
                auditor.note(
                    "deleted", (user, agent_id, None), (key for key in keys if key not in kept)
                )
            done += len(ids)
            if progress:
                progress(done, total)
    if auditor:
        auditor.close()
    return deleted


def count_expired(
    store: MemoryStore,
    rules: Sequence[RetentionRule] = (),
    *,
    user_id: str | None = None,
    at: datetime | None = None,
) -> dict[str, int]:
    """For each user how many memories `delete_expired` would delete."""
    catalog = Catalog(store)
    rows = {
        row
        for which in _all(rules, with_zone(at, "at") or now())
        for row in catalog.expired(which, user_id)
    }
    return {user: len(list(those)) for user, those in groupby(sorted(rows), itemgetter(0))}


def _all(rules: Sequence[RetentionRule], at: datetime) -> list[Expiry]:
    return [Expiry(EXPIRED, at, "expired"), *(rule.expiry(at) for rule in rules)]


def _batches(doomed: Sequence[tuple[str, UUID]]) -> Iterator[tuple[str, list[UUID]]]:
    """Those of one user, so many at a time."""
    for user, those in groupby(doomed, itemgetter(0)):
        ids = [id_ for _, id_ in those]
        yield from ((user, ids[start : start + BATCH]) for start in range(0, len(ids), BATCH))
