"""What a rule is: it finds one kind of secret, first by a cheap hint, then by a close look at that position."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Self

import regex

from memory_context.text.ranges import Span

# What may stand before a key: no letter or digit, or an escape that ends in one: of a string (\n, \u0027), a URL (%20),
# a terminal (ESC[32m).
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=\[[0-9;]{1,12}m))"
END = r"(?![A-Za-z0-9])"
_ESCAPES = tuple(
    re.compile(escape)
    for escape in (rb"\\(?:[bfnrt]|u[0-9a-f]{4})", b"%[0-9a-f]{2}", rb"\[[0-9;]{1,12}m")
)
_SHORTEST_RUN = 16
# What a hint begins with; a character that a count follows may be missing.
_LITERAL = re.compile(r"(?:[a-z0-9_:/<> =\"-](?![?*{|]))*")


def _others_as_blanks(characters: str) -> bytes:
    kept = (string.ascii_lowercase + string.digits + characters).encode()
    return bytes(code if code in kept else ord(" ") for code in range(256))


_RUNS = _others_as_blanks("_-.+/=~%:|!")
_WORDS = _others_as_blanks("")
HEAD_BYTES = 3


@dataclass(frozen=True, slots=True)
class Runs:
    """What in a text in lower-case ASCII may be a key: 16 characters or more without a blank.

    A look at their words, in place of a search through the text, tells of most rules that they find nothing.

    Attributes:
        flat: The runs, with a blank between them.
        words: Their words.
        heads: Their first three characters.
    """

    flat: bytes
    words: set[bytes]
    heads: set[bytes]

    @classmethod
    def of(cls, flat: bytes) -> Self:
        """Return those of a text."""
        for escape in _ESCAPES:
            flat = escape.sub(b" ", flat)
        runs = [run for run in flat.translate(_RUNS).split() if len(run) >= _SHORTEST_RUN]
        joined = b" ".join(runs)
        words = set(joined.translate(_WORDS).split())
        return cls(joined, words, {word[:HEAD_BYTES] for word in words})


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """Where a secret stands; *is_quoted* says that its marker needs quotes."""

    start: int
    end: int
    kind: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """How one kind of secret is found.

    Attributes:
        kind: The name that stands in the secret's place: ``[redacted <kind>]``.
        hint: A regular expression for where a secret may be, in text in lower-case ASCII. It begins with a literal, by
            which the standard library's ``re`` passes over a megabyte in half a millisecond (measured).
    """

    kind: str
    hint: str

    def find(self, text: str, position: int) -> Span | None:
        """Return the start and end of the secret whose hint matches at *position*; None if there is none."""
        raise NotImplementedError

    def may_find(self, runs: Runs) -> bool:  # noqa: ARG002 - for rules of keys
        """Return whether a text with these runs may have such a secret."""
        return True

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """Yield where such secrets stand in *text*, which is *flat* in lower-case ASCII."""
        search = compiled_hint(self.hint).search
        position = 0
        while hint := search(flat, position):
            position = hint.start() + 1
            if found := self.find(text, hint.start()):
                yield SecretSpan(*found, self.kind)
                position = max(position, found[1])


@dataclass(frozen=True, slots=True)
class PatternRule(Rule):
    """Find a kind of secret that has a form of its own.

    Attributes:
        pattern: Begins where the hint does. Its group ``value`` is redacted, or the whole match without that group. A
            group ``head``, inside a lookbehind, says that the secret begins before the hint.
        is_secret: Decides whether the matched value is a secret.
    """

    pattern: str
    is_secret: Callable[[str], bool] = bool

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        match = _compiled(self.pattern).match(text, position)
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
    """Look through a text once for several rules whose hints begin alike.

    Attributes:
        rules: The rules; their hints are tried where one of them matches.
    """

    rules: tuple[Rule, ...]

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        search = compiled_hint(self.hint).search
        tries = [(compiled_hint(rule.hint).match, rule.find, rule.kind) for rule in self.rules]
        position = 0
        while hint := search(flat, position):
            start = hint.start()
            position = start + 1
            for begins, find, kind in tries:
                if begins(flat, start) and (found := find(text, start)):
                    yield SecretSpan(*found, kind)
                    position = max(position, found[1])


def joint(rules: Iterable[Rule]) -> list[Rule]:
    """Return *rules* with those whose hints begin with the same literal as one."""
    groups = dict[object, list[Rule]]()
    for rule in rules:
        literal = _LITERAL.match(rule.hint)
        begins: object = literal[0] if literal else ""
        if type(rule).find_all is not Rule.find_all:  # it looks through the text in its own way
            begins = rule
        groups.setdefault(begins, []).append(rule)
    return [
        group[0]
        if len(group) == 1
        # Python takes what alternatives begin with out of them, so that it is looked for as a literal.
        else JointRule(group[0].kind, "|".join(rule.hint for rule in group), tuple(group))
        for group in groups.values()
    ]


# Most rules never find their hint: they are compiled when they first do.
@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


@cache
def compiled_hint(hint: str) -> re.Pattern[bytes]:
    """Return a hint that can be searched for."""
    return re.compile(hint.encode())
