"""Check the numbers of settings and limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from memory_context.exceptions import InvalidArgumentError


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether *number* is a whole number; True and False are not."""
    return isinstance(number, int) and not isinstance(number, bool)


def shown(value: object) -> str:
    """Return a value as messages quote it: the first 80 characters of its repr."""
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python writes out no number of more than 4,300 digits
        return "a number of too many digits"


def check_whole(
    name: str,
    number: object,
    least: int = 0,
    *,
    unit: str = "",
    error: type[InvalidArgumentError] = InvalidArgumentError,
) -> int:
    """Return *number*, which is called *name* and must be a whole number, *least* or more.

    Raises:
        InvalidArgumentError: It is not. It is an *error*, and its message names the *unit*, such as " of tokens".
    """
    if is_whole(number) and number >= least:
        return number
    raise error(f"{name} must be a whole number{unit}, {least} or more, not {shown(number)}")


def check_not_negative(limits: object, names: Iterable[str]) -> None:
    """Check the numbers *names* of *limits*.

    Raises:
        InvalidArgumentError: One is negative, or not a number.
    """
    for name in names:
        value = getattr(limits, name)
        if not isinstance(value, int | float) or value < 0:
            raise InvalidArgumentError(f"{name} must be 0 or more, not {shown(value)}")
