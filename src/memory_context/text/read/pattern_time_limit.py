"""How long a reader's pattern, path or condition may take."""

from __future__ import annotations

import time

from memory_context.exceptions import SelectionTimeoutError

SECONDS = 5.0


class TimeLimit:
    """The time that one read has; it runs from now on."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() > self._end

    def remaining(self) -> float:
        """Return the seconds that are left, more than 0.

        Raises:
            SelectionTimeoutError: No time is left.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise too_slow(self.seconds)
        return seconds


def too_slow(seconds: float = SECONDS) -> SelectionTimeoutError:
    """Return the error for a pattern, path, condition or query that was stopped."""
    return SelectionTimeoutError(
        f"this takes longer than {seconds:g} seconds; look for something simpler, or in fewer lines"
    )
