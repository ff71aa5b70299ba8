"""The base classes of rules. A rule finds one kind of secret: first a cheap hint, then a close look at that offset."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import regex

from memory_context.text.spans import Span

# The beginning of a key: no letter or digit precedes it, except the end of an escape: in a string (\n, \u0027), a URL
# (%20), or a terminal (ESC[32m).
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=\[[0-9;]{1,12}m))"
END = r"(?![A-Za-z0-9])"
_ESCAPES = tuple(
    re.compile(escape)
    for escape in (rb"\\(?:[bfnrt]|u[0-9a-f]{4})", b"%[0-9a-f]{2}", rb"\[[0-9;]{1,12}m")
)
_SHORTEST_RUN = 16
# The literal at the beginning of a hint, without a last character that a count or an alternative follows.
_LITERAL = re.compile(r"(?:[a-z0-9_:/<> =\"-](?![?*{|]))*")


def _others_as_blanks(characters: str) -> bytes:
    kept = (string.ascii_lowercase + string.digits + characters).encode()
    return bytes(code if code in kept else ord(" ") for code in range(256))


_RUNS = _others_as_blanks("_-.+/=~%:|!")
_WORDS = _others_as_blanks("")
HEAD_BYTES = 3


class Runs(NamedTuple):
    """The parts of a text, in lower-case ASCII, that may be a key: runs of at least 16 characters without a blank.

    Their words show, without a search through the text, that most rules cannot find anything in it.

    Attributes:
        flat: The runs, joined with blanks.
        words: The words in the runs: their sequences of letters and digits.
        heads: The first three characters of each word.
    """

    flat: bytes
    words: set[bytes]
    heads: set[bytes]

    @classmethod
    def of(cls, flat: bytes) -> Self:
        """Return the runs of a text."""
        for escape in _ESCAPES:
            flat = escape.sub(b" ", flat)
        runs = flat.translate(_RUNS).split()
        joined = b" ".join(run for run in runs if len(run) >= _SHORTEST_RUN)
        words = set(joined.translate(_WORDS).split())
        return cls(joined, words, {word[:HEAD_BYTES] for word in words})


class SecretSpan(NamedTuple):
    """The span of a secret and its kind; *is_quoted* says that the marker in its place needs quotes."""

    start: int
    end: int
    kind: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that finds one kind of secret.

    Attributes:
        kind: The name that the marker shows in the secret's place: ``[redacted <kind>]``.
        hint: A regular expression, for text in lower-case ASCII, that matches wherever a secret may be. It begins with a
            literal, with which the standard library's ``re`` searches a megabyte in half a millisecond (measured).
    """

    kind: str
    hint: str

    def find(self, text: str, position: int) -> Span | None:
        """Return the start and end of the secret whose hint matches at *position*; None if there is none."""
        raise NotImplementedError

    def may_find(self, runs: Runs) -> bool:  # noqa: ARG002 - used by `KeyRule`
        """Return whether a text with these runs may hold such a secret."""
        return True

    def joined(self) -> tuple[Rule, ...]:
        """Return the rules that are tried wherever the hint matches."""
        return (self,)

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """Yield the spans of such secrets in *text*; *flat* is the same text in lower-case ASCII."""
        search = compiled_hint(self.hint).search
        tries = [(compiled_hint(rule.hint).match, rule.find, rule.kind) for rule in self.joined()]
        position = 0
        while hint := search(flat, position):
            start = hint.start()
            position = start + 1
            for begins, find, kind in tries:
                if not begins(flat, start):
                    continue
                found = find(text, start)
                if found:
                    yield SecretSpan(*found, kind)
                    position = max(position, found[1])


@dataclass(frozen=True, slots=True)
class PatternRule(Rule):
    """Finds a kind of secret by a pattern.

    Attributes:
        pattern: A regular expression that is matched where the hint begins. Its group ``value`` is redacted, or the
            whole match if it has no such group. If the secret begins before the hint, a lookbehind has a group ``head``
            that matches this part.
        is_secret: Decides whether the matched value is a secret.
    """

    pattern: str
    is_secret: Callable[[str], bool] = bool

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        match = compiled_pattern(self.pattern).match(text, position)
        if match is None:
            return None
        groups = match.re.groupindex
        start, end = match.span("value" if "value" in groups else 0)
        if not self.is_secret(text[start:end]):
            return None
        if "head" in groups:
            start = match.start("head")
        return start, end


@dataclass(frozen=True, slots=True)
class JointRule(Rule):
    """Searches a text only once for several rules whose hints begin with the same literal.

    Attributes:
        rules: The rules, whose hints are tried wherever the joint hint matches.
    """

    rules: tuple[Rule, ...]

    def joined(self) -> tuple[Rule, ...]:
        """See `Rule.joined`."""
        return self.rules


def joint(rules: Iterable[Rule]) -> list[Rule]:
    """Return *rules*, but with one joint rule in place of those whose hints begin with the same literal."""
    groups = dict[object, list[Rule]]()
    for rule in rules:
        end = _LITERAL.match(rule.hint).end()  # type: ignore[union-attr] # it always matches
        begins: object = rule.hint[:end]
        if type(rule).find_all is not Rule.find_all:  # it searches the text in its own way
            begins = rule
        groups.setdefault(begins, []).append(rule)
    found = list[Rule]()
    for first, *others in groups.values():
        rule = first
        if others:
            # Python's `re` takes the common beginning out of the alternatives, so that it is searched as a literal.
            hint = "|".join(rule.hint for rule in (first, *others))
            rule = JointRule(first.kind, hint, (first, *others))
        found.append(rule)
    return found


# Compiled when a hint first matches, because the hints of most rules never do.
@cache
def compiled_pattern(pattern: str) -> regex.Pattern[str]:
    """Return the compiled pattern of a rule."""
    return regex.compile(pattern)


@cache
def compiled_hint(hint: str) -> re.Pattern[bytes]:
    """Return the compiled pattern of a hint."""
    return re.compile(hint.encode())
