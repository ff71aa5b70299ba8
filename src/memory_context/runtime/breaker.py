"""A pause after failures, so that what is down is not asked again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from memory_context.exceptions import InvalidArgumentError

SLOW_FAILURE = 2.0
PAUSE = 15.0
"""After a failure that took more than `SLOW_FAILURE` seconds, a store or a trail is left alone for `PAUSE` seconds."""


class BreakerLimits(Protocol):
    """When a breaker pauses."""

    @property
    def failures(self) -> int:
        """Return after how many failures in a row it pauses."""
        ...

    @property
    def pause(self) -> float:
        """Return for how many seconds."""
        ...


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row, and says whether to ask again."""

    limits: BreakerLimits
    clock: Callable[[], float] = time.monotonic
    in_a_row: int = 0
    paused_until: float = 0.0

    @property
    def lets_ask(self) -> bool:
        """Return whether no pause is on."""
        return self.clock() >= self.paused_until

    def note_success(self) -> None:
        """Count from zero again."""
        self.in_a_row = 0

    def note_failure(self) -> None:
        """Count one more failure; after as many as the limits say, pause."""
        self.in_a_row += 1
        if self.in_a_row >= self.limits.failures:
            # After the pause it may fail as often again before the next one.
            self.in_a_row = 0
            self.paused_until = self.clock() + self.limits.pause


def check_not_negative(limits: object, names: Iterable[str]) -> None:
    """Check the numbers *names* of *limits*.

    Raises:
        InvalidArgumentError: One is negative.
    """
    for name in names:
        value = getattr(limits, name)
        if value < 0:
            raise InvalidArgumentError(f"{name} must be 0 or more, not {value}")
