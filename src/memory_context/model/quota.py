"""Quotas: how much a store may hold for one user."""

from __future__ import annotations

from dataclasses import dataclass

from memory_context.exceptions import QuotaExceededError
from memory_context.model.checked_numbers import check_whole


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a store may hold for one user, evicted memories included.

    Attributes:
        max_items: The most memories.
        max_bytes: The most bytes of all contents together, texts as UTF-8.

    Raises:
        InvalidArgumentError: A limit is not a whole number, or is below 0.
    """

    max_items: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("max_items", "max_bytes"):
            value = getattr(self, name)
            if value is not None:
                check_whole(name, value)


def check_quota(quota: Quota, items: int, size: int) -> QuotaExceededError | None:
    """Return the error if *items* memories of *size* bytes are more than the quota allows; None if not."""
    limits = (("memories", items, quota.max_items), ("bytes", size, quota.max_bytes))
    for unit, held, most in limits:
        if most is not None and held > most:
            return QuotaExceededError(
                f"that would be {held:,} {unit}, and the user's quota is {most:,}; this was not stored. "
                "Forget some memories, or raise the quota",
                unit=unit,
                size=held,
                limit=most,
            )
    return None
