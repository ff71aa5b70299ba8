"""A store that fails as databases, disks and networks do, when it is told to."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from typing import Any, TypeVar

import sqlalchemy as sa

from memory_context.exceptions import StoreError, StoreUnavailableError
from memory_context.runtime.forks import Lock
from memory_context.stores import Administration, MemoryStore, StoreWrapper

T = TypeVar("T")

DELAY = 0.01


class Fault(StrEnum):
    """How a call of a store goes wrong.

    Attributes:
        ERROR: `StoreError`, and nothing is done.
        DELAY: The work is done, late.
        LOST: `StoreUnavailableError`, and nothing is done: the connection is lost before the work.
        LOST_AFTER: The work is done, then `StoreUnavailableError`: the connection is lost before the answer.
        FULL: `StoreError` of a verb that writes, and nothing is done; what reads goes well.
        LOCKED: `StoreUnavailableError` of a verb that writes, late, and nothing is done; what reads goes well.
    """

    ERROR = "error"
    DELAY = "delay"
    LOST = "lost"
    LOST_AFTER = "lost_after"
    FULL = "full"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that a call of a store met.

    Attributes:
        verb: The store's verb.
        fault: What went wrong.
    """

    verb: str
    fault: Fault


def random_faults(
    seed: int, kinds: Iterable[Fault] = tuple(Fault), share: float = 0.3
) -> Iterator[Fault | None]:
    """Faults without end, the same ones for the same arguments.

    Args:
        seed: What decides.
        kinds: Which faults there are, equally often.
        share: How many of the calls meet one, 0 to 1.
    """
    chance, listed = random.Random(seed), list(kinds)  # noqa: S311 - to be repeated, not to be secret
    while True:
        yield chance.choice(listed) if chance.random() < share else None


class FaultyStore(StoreWrapper):
    """A store that fails by a plan, to see what an application does then. With an empty plan nothing fails.

    Each call of a verb takes the next fault of the plan; None is none, and when the plan is at its end, all goes well.
    What comes in pages (`list_all`, `list_deleted`) fails at its first record, or after its last one.

    Args:
        store: The store inside; what `as_store` takes.
        faults: The plan: a list, `random_faults`, ``itertools.repeat(Fault.LOST)`` for an outage.
        delay: The seconds that something late takes.

    Attributes:
        injected: The faults that calls have met so far.
    """

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None,
        faults: Iterable[Fault | None] = (),
        *,
        delay: float = DELAY,
    ) -> None:
        super().__init__(store)
        self.delay = delay
        self.injected: list[Injected] = []
        self._lock = Lock()
        self.inject(faults)

    def inject(self, faults: Iterable[Fault | None]) -> None:
        """From the next call on, follow this plan. An empty one ends all trouble."""
        with self._lock:
            self._plan = iter(faults)

    def _next(self, verb: str) -> Fault | None:
        with self._lock:
            fault = next(self._plan, None)
            if fault is None or (fault in _OF_WRITES and verb not in _WRITES):
                return None
            self.injected.append(Injected(verb, fault))
            return fault

    def _met(self, verb: str, work: Callable[[], T]) -> T:
        fault = self._next(verb)
        self._before(fault)
        result = work()
        _after(fault)
        return result

    def _met_by_pages(self, verb: str, work: Callable[[], Iterator[T]]) -> Iterator[T]:
        fault = self._next(verb)
        self._before(fault)
        yield from work()
        _after(fault)

    def _before(self, fault: Fault | None) -> None:
        if fault in _LATE:
            time.sleep(self.delay)
        refused = _REFUSED.get(fault) if fault else None
        if refused is not None:
            kind, message = refused
            raise kind(message)


def _after(fault: Fault | None) -> None:
    if fault is Fault.LOST_AFTER:
        raise StoreUnavailableError(_LOST)


_LOST = "the connection was lost"
_REFUSED = {
    Fault.ERROR: (StoreError, "the store failed"),
    Fault.LOST: (StoreUnavailableError, _LOST),
    Fault.FULL: (StoreError, "the database or disk is full"),
    Fault.LOCKED: (StoreUnavailableError, "the database is locked"),
}
_LATE = {Fault.DELAY, Fault.LOCKED}
_OF_WRITES = {Fault.FULL, Fault.LOCKED}
_READS = {"get", "get_many", "query", "search", "deletion", "count", "sum", "usage", "users"}
_PAGES = {"list_all", "list_deleted"}
_VERBS = {
    name
    for protocol in (MemoryStore, Administration)
    for name in vars(protocol)
    if not name.startswith("_")
}
_WRITES = (_VERBS | {"reindex"}) - _READS - _PAGES - {"close"}


def _faulty(verb: str) -> Callable[..., Any]:
    """The wrapper's own verb, which may meet a fault."""
    passed_on = getattr(StoreWrapper, verb)

    @wraps(passed_on)
    def call(store: FaultyStore, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - the verb's own
        meet = store._met_by_pages if verb in _PAGES else store._met  # noqa: SLF001 - of this module
        return meet(verb, partial(passed_on, store, *args, **named))

    return call


for _verb in _READS | _WRITES | _PAGES:
    setattr(FaultyStore, _verb, _faulty(_verb))
