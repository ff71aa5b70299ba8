"""A store that fails on demand, in the ways that databases, disks and networks fail."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from memory_context.exceptions import StoreError, StoreUnavailableError
from memory_context.runtime.after_fork import Lock
from memory_context.stores import AnyStore, SQLAlchemyStore, as_store

DELAY = 0.01


class Fault(StrEnum):
    """How a call to a store fails.

    Attributes:
        ERROR: `StoreError`, and nothing is done.
        DELAY: The work is done after a delay.
        LOST: `StoreUnavailableError`, and nothing is done: the connection drops before the work.
        LOST_AFTER: The work is done, then `StoreUnavailableError`: the connection drops before the answer.
        FULL: `StoreError` from a verb that writes, and nothing is done; reads succeed.
        LOCKED: `StoreUnavailableError` after a delay from a verb that writes, and nothing is done; reads succeed.
    """

    ERROR = "error"
    DELAY = "delay"
    LOST = "lost"
    LOST_AFTER = "lost_after"
    FULL = "full"
    LOCKED = "locked"


CONNECTION_LOST = "the connection was lost"
REFUSALS = {
    Fault.ERROR: (StoreError, "the store failed"),
    Fault.LOST: (StoreUnavailableError, CONNECTION_LOST),
    Fault.FULL: (StoreError, "the database or disk is full"),
    Fault.LOCKED: (StoreUnavailableError, "the database is locked"),
}
DELAYING_FAULTS = {Fault.DELAY, Fault.LOCKED}
WRITE_FAULTS = {Fault.FULL, Fault.LOCKED}

READS = {
    "get",
    "get_many",
    "query",
    "search",
    "term_hits",
    "deletion",
    "count",
    "sum",
    "usage",
    "users",
}
PAGED_READS = {"list_all", "list_deleted"}
WRITES = {"put", "delete", "touch", "expire_at", "restore", "clear", "forget_user", "reindex"}
# Attributes and methods of a store that are not verbs; they never fail.
PASSED_ON = {
    "has_embedder",
    "quota",
    "codec",
    "redactor",
    "password_variable",
    "database",
    "delete_rows",
    "close",
}


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that was injected into a call to a store.

    Attributes:
        verb: The store's verb that was called.
        fault: The fault.
    """

    verb: str
    fault: Fault


def random_faults(
    seed: int, kinds: Iterable[Fault] = tuple(Fault), share: float = 0.3
) -> Iterator[Fault | None]:
    """Yield faults without end, the same ones for the same arguments.

    Args:
        seed: The seed of the random numbers.
        kinds: The faults to choose from, all equally likely.
        share: The share of the calls that meet a fault, 0 to 1.
    """
    chance = random.Random(seed)  # noqa: S311 - has to be repeatable, not secret
    choices = list(kinds)
    while True:
        if chance.random() < share:
            yield chance.choice(choices)
        else:
            yield None


if TYPE_CHECKING:
    # Type checkers see the verbs of a store. At run time, the methods are made below, from the verbs' names.
    _Verbs = SQLAlchemyStore
else:
    _Verbs = object


class FaultyStore(_Verbs):
    """A store that fails by a plan, to test how an application handles it.

    Each call of a verb takes the next fault of the plan; None means that the call succeeds. After the end of the plan,
    every call succeeds. `list_all` and `list_deleted`, which read page by page, fail at their first record or after
    their last one.

    Args:
        store: The store inside: anything that `as_store` takes.
        faults: The plan, such as a list, `random_faults`, or ``itertools.repeat(Fault.LOST)`` for an outage.
        delay: How long a delayed call waits, in seconds.

    Attributes:
        inner: The store inside.
        injected: The faults that calls have met so far.
    """

    def __init__(
        self,
        store: AnyStore | None = None,
        faults: Iterable[Fault | None] = (),
        *,
        delay: float = DELAY,
    ) -> None:
        self.inner: Any = as_store(store)
        self.delay = delay
        self.injected: list[Injected] = []
        self._lock = Lock()
        self.inject(faults)

    def __repr__(self) -> str:
        """Name the store inside."""
        return f"<FaultyStore around {self.inner!r}>"

    @property
    def url(self) -> str | None:
        """Return None: a URL cannot express a store with a plan."""
        return None

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the store inside."""
        self.inner.close()

    def inject(self, faults: Iterable[Fault | None]) -> None:
        """Follow this plan from the next call on; an empty one ends all faults."""
        with self._lock:
            self._plan = iter(faults)

    @contextmanager
    def _under_fault(self, verb: str) -> Generator[None]:
        """Run a call's work inside the next fault of the plan.

        Raises:
            StoreError: The fault refuses the work, or loses its answer.
        """
        with self._lock:
            fault = next(self._plan, None)
            if fault in WRITE_FAULTS and verb not in WRITES:
                fault = None
            if fault:
                self.injected.append(Injected(verb, fault))
        if fault in DELAYING_FAULTS:
            time.sleep(self.delay)
        if fault and fault in REFUSALS:
            error, message = REFUSALS[fault]
            raise error(message)
        yield
        if fault is Fault.LOST_AFTER:
            raise StoreUnavailableError(CONNECTION_LOST)


def _faulty(verb: str) -> Callable[..., Any]:
    """Return a method that takes the next fault of the plan and passes the call of *verb* on."""

    def call(store: FaultyStore, *args: object, **named: object) -> object:
        with store._under_fault(verb):  # noqa: SLF001 - of this module
            return getattr(store.inner, verb)(*args, **named)

    def pages(store: FaultyStore, *args: object, **named: object) -> Iterator[object]:
        with store._under_fault(verb):  # noqa: SLF001 - of this module
            yield from getattr(store.inner, verb)(*args, **named)

    return pages if verb in PAGED_READS else call


# Every verb fails in the same way, so the methods are made from their names.
for _verb in READS | PAGED_READS | WRITES:
    setattr(FaultyStore, _verb, _faulty(_verb))
for _name in PASSED_ON:
    setattr(FaultyStore, _name, property(attrgetter(f"inner.{_name}")))
