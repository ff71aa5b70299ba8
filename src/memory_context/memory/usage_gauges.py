"""Gauges of how much is stored. Spans and counters work without them (`runtime.telemetry`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from opentelemetry.metrics import CallbackOptions, Observation

from memory_context.exceptions import StoreError
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.model.tiers_and_limits import Usage
from memory_context.runtime import log_events
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.runtime.telemetry import ATTRIBUTES, METRICS, WHO, meter
from memory_context.stores.protocol import url_of

Unit: TypeAlias = Literal["items", "bytes"]


@dataclass(slots=True, eq=False)
class Observed(ClosedAtExit):
    """Memories whose items and bytes are published as metrics until this is closed.

    Attributes:
        manager: Whose memories they are.
        users: Whether the metrics have the attribute ``user.id``.
    """

    manager: MemoryManager
    users: bool

    def close(self) -> None:
        """Stop publishing them."""
        _observed.pop(self, None)

    @property
    def identity(self) -> tuple[str | int, str]:
        """Return the store and the user, which managers of the same memories have in common."""
        store = self.manager.memory_store
        return url_of(store) or id(store), self.manager.scope.user_id

    def usage(self) -> list[Usage]:
        """Return how much each tier holds; nothing if the store fails."""
        try:
            return self.manager.memory_store.usage(self.manager.scope)
        except StoreError as error:
            log_events.USAGE_FAILED.log(error)
            return []


_observed: dict[Observed, None] = {}


def observe(manager: MemoryManager, *, users: bool = False) -> Observed:
    """Publish the items and bytes of each tier of a user's memories as metrics, until the result is closed.

    Each collection costs two queries for each user, those of `MemoryStore.usage`, which an index
    answers. Several managers of one user's memories on one URL count once; several users are added
    up, unless `users` tells them apart.

    Args:
        manager: The user's memories.
        users: Whether the metrics have the attribute ``user.id``.
    """
    check_owner(manager, MemoryManager)
    observed = Observed(manager, users)
    _observed[observed] = None
    return observed


def _observations(unit: Unit, _: CallbackOptions) -> Iterable[Observation]:
    """Return the sums for a gauge, by tier, and by user for those observed with `users`."""
    sums = Counter[tuple[str, str | None]]()
    distinct = {observed.identity: observed for observed in list(_observed)}
    for observed in distinct.values():
        user = observed.manager.scope.user_id if observed.users else None
        for usage in observed.usage():
            sums[usage.tier, user] += getattr(usage, unit)
    observations = list[Observation]()
    for (tier, user), total in sums.items():
        attributes = {ATTRIBUTES["tier"]: tier}
        if user:
            attributes[WHO[0]] = user
        observations.append(Observation(total, attributes))
    return observations


def _create_gauge(unit: Unit) -> None:
    metric = METRICS[f"usage_{unit}"]
    callback = partial(_observations, unit)
    meter.create_observable_gauge(metric.name, [callback], metric.unit, metric.description)


_create_gauge("items")
_create_gauge("bytes")
