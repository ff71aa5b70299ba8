"""Tell whole numbers from other values."""

from __future__ import annotations

from typing import TypeGuard


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether *number* is a whole number; True and False are not."""
    return isinstance(number, int) and not isinstance(number, bool)
