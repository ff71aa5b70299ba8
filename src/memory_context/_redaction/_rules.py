"""What a rule is: where something secret may stand, and what it must look like there."""

from __future__ import annotations

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
        literals: Lower-case ASCII; one of them stands in every secret of the kind, however it is capitalised there.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102 - see above
    @property
    def literals(self) -> tuple[str, ...]: ...  # noqa: D102 - see above

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """Where the secret that has its literal at `place` begins and ends; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret that has a form.

    Attributes:
        kind: See `Finding`.
        literals: See `Finding`.
        pattern: Begins with a literal. What is redacted is its group ``value``, else all of it, from its group
            ``head`` on, which a lookbehind sets, where it has one.
        check: Whether a match is one.
    """

    kind: str
    literals: tuple[str, ...]
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


def rule(kind: str, literals: str, pattern: str, check: Callable[[Match], bool] | None = None) -> Rule:
    """A rule; `literals` with blanks between them."""
    return Rule(kind, tuple(literals.lower().split()), regex.compile(pattern), check)
