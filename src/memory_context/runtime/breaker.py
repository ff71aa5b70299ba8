"""What the makers of limits share: numbers that are not negative, and a pause after failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from memory_context.exceptions import InvalidArgumentError

SLOW_FAILURE = 2.0
PAUSE = 15.0
"""After a failure that took more seconds than the first, a store or a trail is left alone for the second."""


class Patience(Protocol):
    """After how many failures in a row somebody is not asked for how many seconds."""

    @property
    def failures(self) -> int:
        """How many."""
        ...

    @property
    def pause(self) -> float:
        """How long."""
        ...


def check_not_negative(limits: object, names: Iterable[str]) -> None:
    """Check the numbers `names` of `limits`.

    Raises:
        InvalidArgumentError: One is negative.
    """
    for name in names:
        if getattr(limits, name) < 0:
            message = f"{name} must be 0 or more, not {getattr(limits, name)}"
            raise InvalidArgumentError(message)


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row, and says when to ask again."""

    limits: Patience
    clock: Callable[[], float] = time.monotonic
    in_a_row: int = 0
    closed_until: float = 0.0

    @property
    def lets_ask(self) -> bool:
        """Whether no pause is on."""
        return self.clock() >= self.closed_until

    def note_success(self) -> None:
        """Begin to count anew."""
        self.in_a_row = 0

    def note_failure(self) -> None:
        """Count one more; after as many as the limits say, pause."""
        self.in_a_row += 1
        if self.in_a_row >= self.limits.failures:
            self.in_a_row, self.closed_until = 0, self.clock() + self.limits.pause
