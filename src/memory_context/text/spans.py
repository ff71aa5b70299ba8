"""Ranges of lines and of characters, as pairs of a first and a last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]


def joined(ranges: Iterable[Span]) -> list[Span]:
    """Return *ranges* sorted, with those that overlap or follow one another directly joined into one."""
    found = list[Span]()
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            begun, end = found.pop()
            found.append((begun, max(last, end)))
        else:
            found.append((first, last))
    return found
