"""Find keys of vendors that have a form of their own, by which they can be told from any other text.

The forms are data: each line of ``vendor_keys.tsv`` is one, with the vendor's page that documents it. Identifiers that
are not secret (Stripe's ``pk_``, Twilio's ``AC``) are left out. The *name* of a key is its fixed part, such as ``ghp_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import regex

from memory_context.text.redact.kinds_of_rules import (
    END,
    HEAD_BYTES,
    START,
    PatternRule,
    Runs,
    compiled_hint,
)

_TABLE = "vendor_keys.tsv"
_NAMES = re.compile("(.*)«(.+)»(.*)")
# Only a rest with digits and letters of both cases makes a key; other texts may follow the same name.
_MIXED = "(?=[\\w-]{0,99}[0-9])(?=[\\w-]{0,99}[A-Z])(?=[\\w-]{0,99}[a-z])"
_LOOKAHEADS = re.compile(r"(?:\(\?[=!<][^()]*\))*")
# A part of a form that `re` reads too, so that a hint can have it: a character or a set, perhaps with a count.
_PLAIN = re.compile(r"(\[[^\]]+\]|\\w|\\\.|[A-Za-z0-9_:/~-])(?:\{([0-9]+)(,?)[0-9]*\})?")
_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class KeyRule(PatternRule):
    """Finds keys by their name.

    Attributes:
        words: The words that the name holds entirely.
        head: The first three characters of the word that begins in the name and continues after it; empty if there is
            no such word, or fewer of its characters are in the name.
    """

    words: frozenset[bytes] = frozenset()
    head: bytes = b""

    def may_find(self, runs: Runs) -> bool:
        """See `Rule.may_find`."""
        if not self.words <= runs.words:
            return False
        if self.head and self.head not in runs.heads:
            return False
        return compiled_hint(self.hint).search(runs.flat) is not None


class VendorKey(NamedTuple):
    """The form of a vendor's keys.

    Attributes:
        kind: The kind that the marker shows.
        form: A regular expression in which the name that all such keys have is between « and »; there may be several
            names, separated by blanks. A ! after them says that the rest has a digit and letters of both cases.
        source: The vendor's page or code about such keys. In parentheses, who states the form: this page or code
            (``form: vendor``), or only published scanners, either all of it or its lengths.
    """

    kind: str
    form: str
    source: str

    def parts(self) -> tuple[str, list[str], str]:
        """Return the expression before the name, the names, and the expression after the name."""
        before, names, after = _NAMES.fullmatch(self.form).groups()  # type: ignore[union-attr] # a test reads all
        if after.startswith("!"):
            after = _MIXED + after[1:]
        return before, names.split(" "), after

    def rules(self) -> Iterator[KeyRule]:
        """Yield a rule for each name. No letter or digit may precede or follow a key. Classes are ASCII only."""
        before, names, after = self.parts()
        start = f"(?<=(?P<head>{START}{before}))" if before else START
        for name in names:
            words, head = _words_of(before, name)
            yield KeyRule(
                self.kind,
                re.escape(name.lower()) + _hint_of(after),
                f"(?a){start}{regex.escape(name)}{after}{END}",
                words=words,
                head=head,
            )


def _hint_of(rest: str) -> str:
    """Return the beginning of a form in lower case, as far as a hint can have it."""
    position = _LOOKAHEADS.match(rest).end()  # type: ignore[union-attr] # it always matches
    hint = ""
    while part := _PLAIN.match(rest, position):
        characters, count, is_open = part.groups()
        position = part.end()
        if rest.startswith(("?", "*", "|"), position):
            break
        hint += characters.lower()
        if count:
            hint += f"{{{count}}}"
        if is_open or rest.startswith("+", position):
            break
    return hint


def _words_of(before: str, name: str) -> tuple[frozenset[bytes], bytes]:
    """Return the words that a name holds entirely, and the first characters of the word that continues after it."""
    parts = _WORD.findall(name.lower())
    is_apart = not before or before[-2:-1] == "\\"
    # A word before the name may continue in it, unless an escaped sign separates them.
    if parts and name[0].isalnum() and not is_apart:
        parts[0] = ""
    head = parts.pop() if name[-1].isalnum() else ""
    if len(head) < HEAD_BYTES:
        head = ""
    words = frozenset(part.encode() for part in parts if part)
    return words, head[:HEAD_BYTES].encode()


VENDOR_KEYS = tuple(
    VendorKey(*line.split("\t"))
    for line in files("memory_context.text.redact").joinpath(_TABLE).read_text("utf-8").splitlines()
)
VENDOR_RULES = tuple(rule for key in VENDOR_KEYS for rule in key.rules())
