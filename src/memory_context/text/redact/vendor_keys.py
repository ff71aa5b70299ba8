"""Keys that their makers gave a form of their own, by which they can be told from any other text.

The forms are data: each line of ``vendor_keys.tsv`` is one, with the page of the vendor that it comes from. Identifiers
that are no secrets (Stripe's ``pk_``, Twilio's ``AC``) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

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
# Of all that may follow a name, only what is mixed as by chance is a key.
_MIXED = "(?=[\\w-]{0,99}[0-9])(?=[\\w-]{0,99}[A-Z])(?=[\\w-]{0,99}[a-z])"
_LOOKAHEADS = re.compile(r"(?:\(\?[=!<][^()]*\))*")
# The beginning of a form that `re` can look for, too: characters, and sets of them with a count.
_PLAIN = re.compile(r"(\[[^\]]+\]|\\w|\\\.|[A-Za-z0-9_:/~-])(?:\{([0-9]+)(,?)[0-9]*\})?")
_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class KeyRule(PatternRule):
    """Find keys with a name.

    Attributes:
        words: The whole words of the name.
        head: How the word begins that goes on behind the name; nothing if none does, or it begins with less.
    """

    words: frozenset[bytes] = frozenset()
    head: bytes = b""

    def may_find(self, runs: Runs) -> bool:
        """See `Rule.may_find`."""
        return (
            self.words <= runs.words
            and (not self.head or self.head in runs.heads)
            and compiled_hint(self.hint).search(runs.flat) is not None
        )


@dataclass(frozen=True, slots=True)
class VendorKey:
    """A form of a vendor's keys.

    Attributes:
        kind: What stands in the place of such a key.
        form: A regular expression in which the name that all such keys have stands between « and », or several names
            with blanks between them. A ! behind them says that what follows has a digit and letters of both cases.
        source: The vendor's page or code about such keys, and in brackets what of the form only others were found to state.
    """

    kind: str
    form: str
    source: str

    def parts(self) -> tuple[str, list[str], str]:
        """Return what stands before the name, the names, and what stands behind, each but the names as an expression."""
        before, names, behind = _NAMES.fullmatch(self.form).groups()  # type: ignore[union-attr] # a test reads all
        if behind.startswith("!"):
            behind = _MIXED + behind[1:]
        return before, names.split(" "), behind

    def rules(self) -> Iterator[KeyRule]:
        """Yield a rule for each name. No letter or digit stands before or behind a key; a regex's word is ASCII."""
        before, names, behind = self.parts()
        start = f"(?<=(?P<head>{START}{before}))" if before else START
        for name in names:
            words, head = _words_of(before, name)
            yield KeyRule(
                self.kind,
                re.escape(name.lower()) + _hint_of(behind),
                f"(?a){start}{regex.escape(name)}{behind}{END}",
                words=words,
                head=head,
            )


def _hint_of(rest: str) -> str:
    """Return the beginning of a form in small letters, as far as it is plain."""
    position = _LOOKAHEADS.match(rest).end()  # type: ignore[union-attr] # it matches nothing too
    hint = ""
    while part := _PLAIN.match(rest, position):
        characters, count, is_open = part.groups()
        position = part.end()
        if rest[position : position + 1] in ("?", "*", "|"):
            break
        hint += characters.lower() + (f"{{{count}}}" if count else "")
        if is_open or rest[position : position + 1] == "+":
            break
    return hint


def _words_of(before: str, name: str) -> tuple[frozenset[bytes], bytes]:
    """Return the whole words of a name, and how the word begins that goes on behind it."""
    parts = _WORD.findall(name.lower())
    # A word before the name may go on in it, but for an escaped sign.
    if parts and name[0].isalnum() and before and before[-2:-1] != "\\":
        parts[0] = ""
    head = parts.pop() if name[-1].isalnum() else ""
    words = frozenset(part.encode() for part in parts if part)
    return words, head[:HEAD_BYTES].encode() if len(head) >= HEAD_BYTES else b""


VENDOR_KEYS = tuple(
    VendorKey(*line.split("\t"))
    for line in files("memory_context.text.redact").joinpath(_TABLE).read_text("utf-8").splitlines()
)
VENDOR_RULES = tuple(rule for key in VENDOR_KEYS for rule in key.rules())
