"""What a rule is: where something secret may stand, and what it must look like there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import regex

# A key may follow an escape that ends in a letter or a digit: of a string (\n), a URL (%20), a terminal (ESC[32m).
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=\[[0-9;]{1,12}m))"
END = r"(?![A-Za-z0-9])"

Match = regex.Match[str]


class Finding(Protocol):
    """What finds one kind of secret.

    Attributes:
        kind: What it is called: ``[redacted <kind>]``.
        hint: Where one may be: a cheap pattern of the standard library's ``re``, for text in lower-case ASCII. It
            begins with a literal, by which ``re`` passes over a megabyte in half a millisecond (measured).
    """

    @property
    def kind(self) -> str:
        """Its name."""
        ...

    @property
    def hint(self) -> re.Pattern[bytes]:
        """Its cheap pattern."""
        ...

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """Where the secret with its hint at `place` begins and ends; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret that has a form.

    Attributes:
        kind: See `Finding`.
        hint: See `Finding`.
        pattern: Begins where the hint does. What is redacted is its group ``value``, else all of it, from its group
            ``head`` on, which a lookbehind sets, where it has one.
        check: Whether a match is one.
    """

    kind: str
    hint: re.Pattern[bytes]
    pattern: regex.Pattern[str]
    check: Callable[[Match], bool] | None = None

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """See `Finding`."""
        match = self.pattern.match(text, place)
        if match is None or (self.check and not self.check(match)):
            return None
        groups = self.pattern.groupindex
        start, stop = match.span("value" if "value" in groups else 0)
        return (match.start("head") if "head" in groups else start), stop


def rule(kind: str, hint: str, pattern: str, check: Callable[[Match], bool] | None = None) -> Rule:
    """A rule."""
    return Rule(kind, re.compile(hint.encode()), regex.compile(pattern), check)
