"""Pause after failures, so that a service that is down is not asked again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SLOW_FAILURE = 2.0
PAUSE = 15.0
"""After a failure that took more than `SLOW_FAILURE` seconds, a store or a trail is left alone for `PAUSE` seconds."""


def breaker_of_a_store() -> Breaker:
    """Return a breaker for a store or an audit trail, whose failures are reported by `Breaker.note_slow_failure`."""
    return Breaker(failures=1, pause=PAUSE)


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row, and pauses after too many of them.

    Attributes:
        failures: After how many failures in a row it pauses.
        pause: How many seconds it pauses.
        clock: Returns the current moment, in seconds.
        in_a_row: How many failures in a row there have been.
        paused_until: When the next attempt may be made.
    """

    failures: int
    pause: float
    clock: Callable[[], float] = time.monotonic
    in_a_row: int = 0
    paused_until: float = 0.0

    @property
    def lets_ask(self) -> bool:
        """Return whether the service may be asked now: there is no pause."""
        return self.clock() >= self.paused_until

    def note_success(self) -> None:
        """Count from zero again, and end a pause: the service has just answered."""
        self.in_a_row = 0
        self.paused_until = 0.0

    def note_slow_failure(self, started: float) -> None:
        """Count a failure if it took more than `SLOW_FAILURE` seconds from *started*: only such failures cost time."""
        if self.clock() - started > SLOW_FAILURE:
            self.note_failure()

    def note_failure(self) -> None:
        """Count one more failure; pause after `failures` in a row."""
        self.in_a_row += 1
        if self.in_a_row >= self.failures:
            # After the pause it may fail as often again before the next one.
            self.in_a_row = 0
            self.paused_until = self.clock() + self.pause
