"""What part of a text is asked for, and what a page of the answer is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from memory_context.exceptions import (
    BudgetTooSmallError,
    InvalidSelectionError,
    SelectionTimeoutError,
)
from memory_context.runtime.prompts import AND_MORE

Cost: TypeAlias = Callable[[str], int]
"""Counts what a text costs, in tokens or in whatever unit its budget has."""

SECONDS = 5.0
LONGEST_EXPRESSION = 10_000
CHARACTERS_TRIED = 8
NARROWEST = 8
NAMES_TOLD = 20
NAME_TOLD = 40
_SELECTORS = ("lines", "contains", "pattern", "path", "where", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A part of a text: the whole, or what one of the selectors says.

    Attributes:
        lines: ``120-180``, ``500-``, ``-40`` (the last 40), ``7``; several with commas.
        contains: The lines that hold this text, however it is capitalised.
        pattern: The lines that hold a match of this regular expression.
        context: With `contains` and `pattern`, how many lines around each.
        path: What this JSONPath (RFC 9535) finds.
        where: The rows for which this SQL expression holds.
        columns: The columns of the rows, with commas; expressions too. Without `where`, of all rows.
        query: The lines that speak of this.

    Raises:
        InvalidSelectionError: More than one selector, or one that is no text.
    """

    lines: str | None = None
    contains: str | None = None
    pattern: str | None = None
    context: int = 0
    path: str | None = None
    where: str | None = None
    columns: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        """Check that there is one selector at most, and that it is a text."""
        given: dict[str, object] = asdict(self)
        context = given.pop("context")
        if not isinstance(context, int) or context < 0:
            message = f"context is a number of lines, 0 or more, not {context!r:.80}"
            raise InvalidSelectionError(message)
        for name, value in given.items():
            if not isinstance(value, str | None):
                message = f"{name} is given as a text, not as {value!r:.80}"
                raise InvalidSelectionError(message)
            if value is not None and len(value) > LONGEST_EXPRESSION:
                message = f"{name} has {LONGEST_EXPRESSION} characters at most, not {len(value)}"
                raise InvalidSelectionError(message)
        self._check_one()

    @property
    def selector(self) -> str:
        """The name of the selector that is given: ``lines``, ``contains``, …; ``whole`` without one."""
        return "where" if self.columns is not None else next(iter(self._given()), "whole")

    @property
    def arguments(self) -> dict[str, Any]:
        """What was given, by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, 0)}

    def _given(self) -> list[str]:
        return [name for name in _SELECTORS if getattr(self, name) is not None]

    def _check_one(self) -> None:
        given = self._given()
        if self.columns is not None and given not in ([], ["where"]):
            given = [*given, "columns"]
        if len(given) > 1:
            message = f"give one of lines, contains, pattern, path, where (with columns) or query, not {listed(given)}"
            raise InvalidSelectionError(message)
        if self.context and given not in (["contains"], ["pattern"]):
            message = "context goes with contains or pattern"
            raise InvalidSelectionError(message)
        if any(getattr(self, name) == "" for name in ("contains", "pattern", "path")):
            message = f"{given[0]} is empty; say what to look for"
            raise InvalidSelectionError(message)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of what was selected.

    Attributes:
        text: The text, the lines, JSON or CSV, as the selector gives it.
        part: What part of how much it is, in words: ``matching lines 1-20 of 135, in 5000 lines``.
        next_offset: Where the next page begins, None after the last one.
        total: How many characters, matching lines, matches or rows were selected; `next_offset` counts the same.
    """

    text: str
    part: str
    next_offset: int | None
    total: int


class Listing(Protocol):
    """What was selected, one after the other."""

    @property
    def total(self) -> int:
        """How many there are."""
        ...

    def size(self, index: int) -> int:
        """About how many characters one of them takes."""
        ...

    def render(self, start: int, end: int) -> str:
        """Those from `start` up to `end`."""
        ...

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """One of them, cut to what `budget` allows; nothing if that is too little."""
        ...

    def part(self, start: int, end: int) -> str:
        """What part of how much those from `start` up to `end` are."""
        ...


def page_of(listing: Listing, offset: int, budget: int | None, cost: Cost) -> Page:
    """As many as `budget` allows, from `offset` on; at least one, shortened if need be.

    Raises:
        InvalidSelectionError: `offset` lies behind the end.
        BudgetTooSmallError: `budget` would not hold a shortened one.
    """
    check_offset(offset, listing.total)
    end = listing.total if budget is None else _fitting(listing, offset, budget, cost)
    text = listing.render(offset, end)
    if end == offset < listing.total and budget is not None:
        text, end = listing.shortened(offset, budget, cost), offset + 1
        if not text:
            message = f"max_tokens leaves {budget} tokens for the text, which is too little; give more, or select less"
            raise BudgetTooSmallError(message)
    return Page(
        text, listing.part(offset, end), end if end < listing.total else None, listing.total
    )


def check_offset(offset: int, total: int) -> None:
    """Check that there is something at `offset`.

    Raises:
        InvalidSelectionError: There is not.
    """
    if not 0 <= offset < max(total, 1):
        message = f"offset={offset} lies outside what was selected, which goes from 0 to {max(total, 1) - 1}"
        raise InvalidSelectionError(message)


def _fitting(listing: Listing, start: int, budget: int, cost: Cost) -> int:
    """Where the largest page from `start` on ends."""
    low, high = start, _tried(listing, start, budget)
    while low < high:
        middle = (low + high + 1) // 2
        if cost(listing.render(start, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _tried(listing: Listing, start: int, budget: int) -> int:
    """Where a page ends that is certainly too large, or the end of it all."""
    left, end = CHARACTERS_TRIED * max(budget, 1), start
    while end < listing.total and left > 0:
        left -= listing.size(end)
        end += 1
    return end if left > 0 else end - 1


class Deadline:
    """A moment by which an answer must be there."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left, more than none.

        Raises:
            SelectionTimeoutError: None are.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise too_slow()
        return left

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return time.monotonic() > self._end


def too_slow() -> SelectionTimeoutError:
    """The error that says so."""
    message = (
        f"this takes longer than {SECONDS:g} seconds; look for something simpler, or in fewer lines"
    )
    return SelectionTimeoutError(message)


def listed(names: Iterable[object]) -> str:
    """`names` with commas, cut where they are many or long."""
    texts = [str(name) for name in names]
    told = ", ".join(
        text if len(text) <= NAME_TOLD else f"{text[:NAME_TOLD]}…" for text in texts[:NAMES_TOLD]
    )
    return (
        told
        if len(texts) <= NAMES_TOLD
        else f"{told} {AND_MORE.format(count=len(texts) - NAMES_TOLD)}"
    )


def quoted(value: object) -> str:
    """`value` as it is written in a call."""
    return json.dumps(value, ensure_ascii=False)
