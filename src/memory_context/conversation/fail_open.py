"""Run work that may fail without stopping the agent."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from memory_context.conversation.context_stats import ContextStats
from memory_context.runtime import log_events
from memory_context.runtime.circuit_breaker import Breaker, breaker_of_a_store
from memory_context.runtime.deadlines import unless_hung

T = TypeVar("T")

STORE_SECONDS = 30.0
"""How long the store may wait for a disk or a lock, without doing any work, before the agent goes on without it."""


@dataclass(slots=True)
class FailOpen:
    """Lets work fail without stopping the run: one warning for each outage, every failure counted.

    An outage ends when the store succeeds at what it failed to do: where a write failed, as on a full disk, successful
    reads do not end it. After a slow failure, such as that of a locked database or a silent server,
    the store is left alone for some seconds (`circuit_breaker.PAUSE`).
    """

    stats: ContextStats
    warned: bool = False
    write_failed: bool = False
    breaker: Breaker = field(default_factory=breaker_of_a_store)

    def run(self, work: Callable[..., T], *args: Any) -> T | None:  # noqa: ANN401 - passes through
        """Return ``work(*args)``; None if it fails, or while nothing is tried after a slow failure."""
        if not self.breaker.lets_ask:
            self.stats.add(store_failures=1)
            return None
        return self.run_without_store(
            unless_hung, STORE_SECONDS, partial(work, *args), "memory-context-store"
        )

    def run_without_store(self, work: Callable[..., T], *args: Any) -> T | None:  # noqa: ANN401 - passes through
        """Return ``work(*args)``; None if it fails. For work that needs no store, such as counting tokens."""
        started = self.breaker.clock()
        try:
            return work(*args)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the agent's run goes on
            self.stats.add(store_failures=1)
            self.breaker.note_slow_failure(started)
            if not self.warned:
                log_events.STORE_FAILED.log(error, where=True)
            self.warned = True
            return None

    @contextmanager
    def writing(self) -> Generator[None]:
        """Wrap a write. If it succeeds, the outage is over; if it fails, only a later write can end the outage."""
        self.write_failed = True
        yield
        self.write_failed = False
        self.warned = False

    def note_read(self) -> None:
        """Note that the store was read: an outage in which no write failed is over."""
        if not self.write_failed:
            self.warned = False
