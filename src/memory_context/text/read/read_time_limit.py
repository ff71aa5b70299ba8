"""Limit the time that a pattern, path, condition or query of a reader may take."""

from __future__ import annotations

import time

from memory_context.exceptions import SelectionTimeoutError

SECONDS = 5.0


class TimeLimit:
    """The time limit of one read. It starts when this object is created."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self._end

    def remaining(self) -> float:
        """Return the seconds that remain, always more than 0.

        Raises:
            SelectionTimeoutError: No time is left.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise too_slow(self.seconds)
        return seconds


def too_slow(seconds: float = SECONDS) -> SelectionTimeoutError:
    """Return the error for a pattern, path, condition or query that took too long."""
    return SelectionTimeoutError(
        f"this takes longer than {seconds:g} seconds; look for something simpler, or in fewer lines"
    )
