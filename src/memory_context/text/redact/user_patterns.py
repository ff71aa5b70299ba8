"""Patterns that users add to the library's rules: checked when they are given, bounded in time when they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import regex

from memory_context.exceptions import InvalidArgumentError, RedactionTimeoutError
from memory_context.runtime.regexes import compiled
from memory_context.text.ranges import Span

SECONDS = 5.0
SECONDS_PER_MEGABYTE = 1.0
_KIND = regex.compile("[a-z][a-z0-9_]{0,39}")

Finder: TypeAlias = Callable[[str], Iterable[tuple[int, int]]]
"""Returns where in a text something stands that is to be redacted: the start and end of each."""
OwnFinder: TypeAlias = Callable[[str, float], Iterable[Span]]
"""Returns the same, and takes until a moment of the monotonic clock."""


@dataclass(frozen=True, slots=True)
class RedactionPattern:
    """A pattern of your own for what is to be redacted.

    Attributes:
        pattern: A regular expression of the package ``regex``. If it has a group ``value``, only that is redacted;
            the whole match where that group took no part in it.
        literal: A text that stands in everything the pattern finds. Where it is not in a text, the pattern is not
            tried, which makes it a hundred times as fast.
    """

    pattern: str
    literal: str = ""


def _matches(
    kind: str, pattern: regex.Pattern[str], literal: str, text: str, deadline: float
) -> Iterator[Span]:
    """Yield where a user's *pattern* of a *kind* matches in a *text* with its *literal*, until the *deadline*."""
    if literal not in text:
        return
    seconds_left = max(0.001, deadline - time.monotonic())
    try:
        for match in pattern.finditer(text, timeout=seconds_left, concurrent=True):
            is_part = "value" in pattern.groupindex and match.start("value") >= 0
            yield match.span("value" if is_part else 0)
    except TimeoutError as error:
        raise RedactionTimeoutError(
            f"the pattern of {kind!r} took too long on {len(text)} characters; give it a literal"
        ) from error
    except MemoryError as error:
        raise RedactionTimeoutError(
            f"the pattern of {kind!r} took too much memory on {len(text)} characters"
        ) from error


def _found_by(given: Finder, text: str, deadline: float) -> Iterable[Span]:  # noqa: ARG001 - a function takes its time
    return given(text)


def own_finder(
    kind: str, given: str | RedactionPattern | Finder, taken: tuple[str, ...]
) -> OwnFinder:
    """Compile a user's pattern for *kind*, which must not be one of *taken*; a function stays as it is.

    What it returns raises a `RedactionTimeoutError` where the pattern takes too long, or too much memory; what a
    function raises is the caller's to handle.

    Raises:
        InvalidArgumentError: The kind or the pattern is not one.
    """
    if not _KIND.fullmatch(kind) or kind in taken:
        raise InvalidArgumentError(
            f"a kind's name must be 1 to 40 of a-z 0-9 _, and none of {', '.join(taken)}; {kind!r} is not"
        )
    if callable(given):
        return partial(_found_by, given)
    pattern = given if isinstance(given, RedactionPattern) else RedactionPattern(given)
    given_texts: tuple[object, ...] = (pattern.pattern, pattern.literal)
    if not all(isinstance(text, str) for text in given_texts):
        raise InvalidArgumentError(
            f"the pattern of {kind!r} must be a string, a RedactionPattern of strings or a function, "
            f"not {given!r:.80}"
        )
    try:
        expression = compiled(pattern.pattern)
        matches_nothing = expression.fullmatch("", timeout=SECONDS)
    # `regex` raises more than its own error: some malformed patterns end in an index or a key that is missing.
    except (regex.error, RecursionError, OverflowError, ValueError, LookupError) as error:
        raise InvalidArgumentError(
            f"the pattern of {kind!r} is not a regular expression: {error}"
        ) from error
    except (MemoryError, TimeoutError) as error:
        raise InvalidArgumentError(
            f"the pattern of {kind!r} does not end, not even on an empty text; does it call itself?"
        ) from error
    if matches_nothing:
        raise InvalidArgumentError(
            f"the pattern of {kind!r} matches an empty text, which is everywhere"
        )
    return partial(_matches, kind, expression, pattern.literal)


def deadline_for(text: str) -> float:
    """Return until when a user's patterns may look at *text*, by the monotonic clock."""
    return time.monotonic() + SECONDS + SECONDS_PER_MEGABYTE * len(text) / 1e6
