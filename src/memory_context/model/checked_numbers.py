"""Check the numbers of settings and limits."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import SupportsFloat, TypeGuard

from memory_context.exceptions import InvalidArgumentError

LARGEST = 2**63 - 1
"""The largest whole number that databases accept."""


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether *number* is a whole number; True and False are not."""
    return isinstance(number, int) and not isinstance(number, bool)


def is_from(number: object, least: int) -> TypeGuard[int]:
    """Return whether *number* is a whole number, *least* or more, that databases accept."""
    return is_whole(number) and number >= least and not is_too_large(number)


def is_share(value: object, most: int = 1) -> bool:
    """Return whether a value is a number from 0 to *most*, of any type that converts to a float."""
    try:
        return isinstance(value, SupportsFloat) and 0 <= float(value) <= most
    except (TypeError, ValueError, OverflowError):  # an array, a signaling NaN, a huge fraction
        return False


def is_too_large(number: object) -> bool:
    """Return whether *number* is a whole number that databases do not accept."""
    return isinstance(number, int) and abs(number) > LARGEST


def shown(value: object) -> str:
    """Return a value as messages quote it: the first 80 characters of its repr."""
    with suppress(ValueError):  # Python writes no number of more than 4,300 digits
        if not is_too_large(value):
            return f"{value!r:.80}"
    return f"a number beyond ±{LARGEST}"


def check_whole(
    name: str,
    number: object,
    least: int = 0,
    *,
    unit: str = "",
    error: type[InvalidArgumentError] = InvalidArgumentError,
) -> int:
    """Return *number* if it is a whole number, *least* or more.

    Raises:
        InvalidArgumentError: It is not. The error is an *error*, and its message contains *name* and *unit* (" of tokens").
    """
    if is_from(number, least):
        return number
    raise error(f"{name} must be a whole number{unit}, {least} or more, not {shown(number)}")


def check_not_negative(limits: object, names: Iterable[str]) -> None:
    """Check the numbers that *limits* holds under *names*.

    Raises:
        InvalidArgumentError: One is negative, or not a number.
    """
    for name in names:
        value = getattr(limits, name)
        if not isinstance(value, int | float) or value < 0:
            raise InvalidArgumentError(
                f"{name} must be an int or a float, 0 or more, not {shown(value)}"
            )
