"""Importance, 0 to 1, and priority, its ten steps."""

from __future__ import annotations

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_numbers import is_whole, shown

HIGHEST_PRIORITY = 10


def importance_of(priority: object) -> float:
    """Return the importance, 0 to 1, of a priority of 1 to 10.

    Raises:
        InvalidArgumentError: It is not a whole number from 1 to 10.
    """
    if is_whole(priority) and 1 <= priority <= HIGHEST_PRIORITY:
        return priority / HIGHEST_PRIORITY
    raise InvalidArgumentError(
        f"a priority is a whole number from 1 to {HIGHEST_PRIORITY}, not {shown(priority)}"
    )
