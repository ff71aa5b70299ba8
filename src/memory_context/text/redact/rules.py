"""What a rule is: it finds one kind of secret, first by a cheap hint, then by a close look at that position."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import regex

# What may stand before a key: no letter or digit, or an escape that ends in one: of a string (\n, \u0027), a URL (%20),
# a terminal (ESC[32m).
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=\[[0-9;]{1,12}m))"
END = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Rule:
    """How one kind of secret is found.

    Attributes:
        kind: The name that stands in the secret's place: ``[redacted <kind>]``.
        hint: Finds where a secret may be, in text in lower-case ASCII. It begins with a literal, by which the standard
            library's ``re`` passes over a megabyte in half a millisecond (measured).
    """

    kind: str
    hint: re.Pattern[bytes]

    def find(self, text: str, position: int) -> tuple[int, int] | None:
        """Return the start and end of the secret whose hint matches at *position*; None if there is none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PatternRule(Rule):
    """Find a kind of secret that has a form of its own.

    Attributes:
        pattern: Begins where the hint does. Its group ``value`` is redacted, or the whole match without that group. A
            group ``head``, inside a lookbehind, says that the secret begins before the hint.
        is_secret: Decides whether the matched value is a secret.
    """

    pattern: regex.Pattern[str]
    is_secret: Callable[[str], bool] = bool

    def find(self, text: str, position: int) -> tuple[int, int] | None:
        """See `Rule.find`."""
        match = self.pattern.match(text, position)
        if match is None:
            return None
        groups = self.pattern.groupindex
        start, end = match.span("value" if "value" in groups else 0)
        if not self.is_secret(text[start:end]):
            return None
        if "head" in groups:
            start = match.start("head")
        return start, end


def pattern_rule(
    kind: str, hint: str, pattern: str, is_secret: Callable[[str], bool] = bool
) -> PatternRule:
    """Compile a rule."""
    return PatternRule(kind, re.compile(hint.encode()), regex.compile(pattern), is_secret)
