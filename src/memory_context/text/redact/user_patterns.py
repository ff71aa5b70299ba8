"""Patterns that users add to the library's rules: they are checked when given, and limited in time when they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import regex

from memory_context.exceptions import InvalidArgumentError, RedactionTimeoutError
from memory_context.runtime.regexes import compiled
from memory_context.text.spans import Span

SECONDS = 5.0
SECONDS_PER_MEGABYTE = 1.0
_KIND = regex.compile("[a-z][a-z0-9_]{0,39}")

Finder: TypeAlias = Callable[[str], Iterable[tuple[int, int]]]
"""Returns the start and end of each part of a text that is to be redacted."""
OwnFinder: TypeAlias = Callable[[str, float], Iterable[Span]]
"""Returns the same as a `Finder`, within a deadline of the monotonic clock."""


@dataclass(frozen=True, slots=True)
class RedactionPattern:
    """A pattern of your own for what is to be redacted.

    Attributes:
        pattern: A regular expression of the package ``regex``. If it has a group ``value`` that matches, only that is
            redacted; otherwise the whole match.
        literal: A string that every match contains. In a text that does not contain it, the pattern is not tried, which
            is a hundred times as fast.
    """

    pattern: str
    literal: str = ""


def _matches(
    kind: str, pattern: regex.Pattern[str], literal: str, text: str, deadline: float
) -> Iterator[Span]:
    """Yield the spans that a user's *pattern* finds, if *text* contains the *literal*.

    Raises:
        RedactionTimeoutError: It did not end before the *deadline*, or took too much memory.
    """
    if literal not in text:
        return
    seconds_left = max(0.001, deadline - time.monotonic())
    try:
        for match in pattern.finditer(text, timeout=seconds_left, concurrent=True):
            has_value = "value" in pattern.groupindex and match.start("value") >= 0
            group = "value" if has_value else 0
            yield match.span(group)
    except TimeoutError as error:
        raise RedactionTimeoutError(
            f"the pattern of {kind!r} took too long on {len(text)} characters; give it a literal"
        ) from error
    except MemoryError as error:
        raise RedactionTimeoutError(
            f"the pattern of {kind!r} took too much memory on {len(text)} characters"
        ) from error


def _found_by(given: Finder, text: str, deadline: float) -> Iterable[Span]:  # noqa: ARG001 - a function has no time limit
    return given(text)


def own_finder(
    kind: str, given: str | RedactionPattern | Finder, taken: tuple[str, ...]
) -> OwnFinder:
    """Return a finder for a user's pattern or function for *kind*, which must not be one of *taken*.

    The finder of a pattern raises a `RedactionTimeoutError` if the pattern takes too long or too much memory. Errors
    that a user's function raises are not handled.

    Raises:
        InvalidArgumentError: The kind or the pattern is invalid.
    """
    if not _KIND.fullmatch(kind) or kind in taken:
        raise InvalidArgumentError(
            f"a kind's name must be 1 to 40 of a-z 0-9 _, and not one of {', '.join(taken)}; {kind!r} is not valid"
        )
    if callable(given):
        return partial(_found_by, given)
    pattern = given if isinstance(given, RedactionPattern) else RedactionPattern(given)
    given_texts = (pattern.pattern, pattern.literal)
    if not all(isinstance(text, str) for text in given_texts):
        raise InvalidArgumentError(
            f"the pattern of {kind!r} must be a string, a RedactionPattern of strings or a function, "
            f"not {given!r:.80}"
        )
    try:
        expression = compiled(pattern.pattern)
        matches_nothing = expression.fullmatch("", timeout=SECONDS)
    # `regex` raises more than its own error: some malformed patterns cause an IndexError or a KeyError.
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
    """Return the moment of the monotonic clock until which a user's patterns may search *text*."""
    return time.monotonic() + SECONDS + SECONDS_PER_MEGABYTE * len(text) / 1e6
