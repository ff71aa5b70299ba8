"""What is stored, as metrics; and whether spans say whose it is. Spans and counters need nothing of this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

from opentelemetry.metrics import CallbackOptions, Observation

from memory_context.exceptions import StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.model.tier import Usage
from memory_context.runtime import events
from memory_context.runtime.forks import Lock
from memory_context.runtime.telemetry import ATTRIBUTES, METRICS, WHO, identify_users, meter
from memory_context.stores.protocol import url_of

Unit: TypeAlias = Literal["items", "bytes"]
UNITS: tuple[Unit, ...] = ("items", "bytes")


@dataclass(slots=True, eq=False)
class Observed:
    """Memories whose numbers are metrics until this is closed.

    Attributes:
        manager: Whose.
        users: Whether the metrics say so.
    """

    manager: MemoryManager
    users: bool
    _left: dict[Unit, list[Usage]] = field(default_factory=dict[Unit, list[Usage]])
    _lock: Lock = field(default_factory=Lock)

    def __enter__(self) -> Self:
        """What is observed."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Observe it no longer."""
        _observed.pop(self, None)

    @property
    def place(self) -> tuple[str | int, str]:
        """What two managers of the same memories have in common."""
        url = url_of(self.manager.memory_store)
        return url or id(self.manager.memory_store), self.manager.scope.user_id

    def usage(self, unit: Unit) -> list[Usage]:
        """What is stored; one query serves both units of a collection."""
        with self._lock:
            if unit not in self._left:
                usage = _usage(self.manager)
                self._left = {other: usage for other in UNITS if other != unit}
                return usage
            return self._left.pop(unit)


_observed: dict[Observed, None] = {}


def observe(manager: MemoryManager, *, users: bool = False) -> Observed:
    """Have the items and bytes of each tier of a user's memories in the metrics of this process, until it is closed.

    Each collection costs one query for each user, the one of `MemoryStore.usage`, which an index answers. Several
    managers of one user's memories on one URL count once; several users are summed up, unless `users` tells them apart.

    Args:
        manager: The user's memories.
        users: Whether the metrics have the attribute ``user.id``.
    """
    observed = Observed(manager, users)
    _observed[observed] = None
    return observed


def _usage(manager: MemoryManager) -> list[Usage]:
    try:
        return manager.memory_store.usage(manager.scope)
    except StoreError as error:
        events.USAGE_FAILED.log(error)
        return []


def _observations(unit: Unit) -> Iterator[Observation]:
    sums: dict[tuple[str, str | None], int] = {}
    for one in {observed.place: observed for observed in list(_observed)}.values():
        user = one.manager.scope.user_id if one.users else None
        for usage in one.usage(unit):
            sums[usage.tier, user] = sums.get((usage.tier, user), 0) + getattr(usage, unit)
    for (tier, user), total in sums.items():
        yield Observation(
            total, {ATTRIBUTES["tier"]: tier} | ({WHO[0]: user} if user is not None else {})
        )


def _gauge(unit: Unit) -> None:
    def observations(_: CallbackOptions) -> Iterable[Observation]:
        return list(_observations(unit))

    metric = METRICS[f"usage_{unit}"]
    meter.create_observable_gauge(metric.name, [observations], metric.unit, metric.description)


for _unit in UNITS:
    _gauge(_unit)

__all__ = ["Observed", "identify_users", "observe"]
