"""The redactor: finds secrets by rules, and puts markers in their place."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import events
from memory_context.text.redact.assigned_secrets import ASSIGNED
from memory_context.text.redact.prefixed_keys import PREFIXED_KEYS
from memory_context.text.redact.private_keys import BLOCKS
from memory_context.text.redact.record_texts import PASSES
from memory_context.text.redact.rules import Rule
from memory_context.text.redact.secret_pieces import Secret, without_pieces
from memory_context.text.redact.spans import (
    MARKER,
    SecretSpan,
    merged,
    outside_markers,
    whole_json_values,
    without_spans,
)
from memory_context.text.redact.url_secrets import CARRIED
from memory_context.text.redact.user_patterns import RedactionPattern, deadline_for, user_rule
from memory_context.text.redact.vendor_keys import ANYWHERE, IN_RUNS

Rules: TypeAlias = Literal["all", "known", "own"]
"""Which rules look at a text: the library's, a user's, or both."""

EVERYWHERE: tuple[Rule, ...] = (*BLOCKS, *PREFIXED_KEYS, *ANYWHERE, *CARRIED, *ASSIGNED)
KINDS = tuple(dict.fromkeys(rule.kind for rule in (*BLOCKS, *IN_RUNS, *EVERYWHERE)))
_SHORTEST_RUN = 16
_CHARACTERS_PER_RUN = 256
_LONGEST_NAME_OF_KEY = 10
_TAIL = re.compile(rb"[a-z0-9]{3}[_-]\Z")
_IN_KEYS = (string.ascii_letters + string.digits + "_-").encode()
_KEYS_AS_A = bytes(ord("a") if code in _IN_KEYS else ord(" ") for code in range(256))


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with ``[redacted <kind>]`` where a secret stood.
        counts: How many of each kind were taken out now. Nothing else of them is kept.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


class Redactor:
    """Takes secrets out of texts: keys and tokens of many vendors, passwords, private keys, JWTs, and your own.

    Args:
        patterns: What else to redact, by the name that stands in its place: a regular expression, or a
            `RedactionPattern`.
        without: Kinds that are left alone; `kinds` has them all.
        on_hit: Called with a kind, and how many of it were taken out of a record, on the thread that stores it. What it
            raises is logged, and changes nothing.

    Attributes:
        is_default: Whether it has no settings, so that another process can make the same.

    Raises:
        InvalidArgumentError: A name is not valid, or is taken; a pattern is not a regular expression, matches an
            empty text, or calls itself without end; a kind does not exist.
    """

    # For a `Redaction`, whose module compiles no patterns.
    deadline_for = staticmethod(deadline_for)
    without_pieces = staticmethod(without_pieces)

    def __init__(
        self,
        patterns: Mapping[str, str | RedactionPattern] | None = None,
        *,
        without: Iterable[str] = (),
        on_hit: Callable[[str, int], object] | None = None,
    ) -> None:
        left_out = frozenset(without)
        if unknown := left_out - set(KINDS):
            message = f"no kind {min(unknown)!r}; the kinds are {', '.join(KINDS)}"
            raise InvalidArgumentError(message)
        given: object = patterns or {}
        if not isinstance(given, Mapping):
            message = f"patterns must be a mapping of names to patterns, not {type(given).__name__}"
            raise InvalidArgumentError(message)
        self._everywhere = [rule for rule in EVERYWHERE if rule.kind not in left_out]
        self._in_runs = [(rule, _tail(rule)) for rule in IN_RUNS if rule.kind not in left_out]
        self._own = [user_rule(kind, own, KINDS) for kind, own in (patterns or {}).items()]
        self.on_hit = on_hit
        self.is_default = not (patterns or left_out or on_hit)
        own_kinds = [rule.kind for rule in self._own]
        self.kinds = (*(kind for kind in KINDS if kind not in left_out), *own_kinds)
        # Where secrets overlap, the lowest rank names them: a user's own kinds come first.
        self._ranks = {kind: rank for rank, kind in enumerate((*own_kinds, *KINDS))}

    def redact(self, text: str) -> Redacted:
        """Return *text* without its secrets. Line breaks stay, JSON stays JSON, and doing it again changes nothing.

        Raises:
            RedactionTimeoutError: A user's pattern took more than 5 seconds and a second for each megabyte.
        """
        return self.cleared(text)[0]

    @property
    def has_own(self) -> bool:
        """Return whether it has patterns that a user gave."""
        return bool(self._own)

    def tell(self, counts: Mapping[str, int]) -> None:
        """Tell the callback of what was taken out of a record; log what it raises."""
        if self.on_hit is None:
            return
        try:
            for kind, count in counts.items():
                self.on_hit(kind, count)
        except Exception as error:  # noqa: BLE001 - a caller's; the record is stored
            events.HIT_NOT_TOLD.log(error)

    def words(self, text: str) -> str:
        """Return *text* for a search: without secrets, and without the markers in their place."""
        redacted = self.redact(text)
        if not redacted.counts:
            return text
        return MARKER.sub(" ", redacted.text).strip()

    def cleared(
        self, text: str, rules: Rules = "all", *, until: float | None = None
    ) -> tuple[Redacted, tuple[Secret, ...]]:
        """Return what `redact` returns, and what was taken out: for `without_pieces`, and to be forgotten then.

        A user's patterns have time *until* a moment of the monotonic clock, where one is given.
        """
        secrets = list[Secret]()
        for _ in range(PASSES):  # what stood beside a secret may be one, too, once that is gone
            spans = self._spans(text, rules, until)
            if not spans:
                break
            secrets += (Secret(span.kind, text[span.start : span.end]) for span in spans)
            text = without_spans(text, spans)
        counts = Counter(secret.kind for secret in secrets)
        return Redacted(text, dict(counts)), tuple(secrets)

    def _spans(self, text: str, rules: Rules, until: float | None) -> list[SecretSpan]:
        found = list[SecretSpan]()
        if rules != "own":
            found += self._find_known(text)
        if rules != "known":
            deadline = deadline_for(text) if until is None else until
            for rule in self._own:
                found += rule.find_all(text, deadline)
        if not found:
            return []
        spans = outside_markers(merged(found, self._ranks), text)
        if self._own and text.lstrip().startswith(("{", "[")):
            return whole_json_values(spans, text)
        return spans

    def _find_known(self, text: str) -> Iterator[SecretSpan]:
        # One byte for each character, so positions are the same.
        flat = text.encode("ascii", "replace").lower()
        runs = _long_runs(flat)
        names, tails = _before_joints(runs)
        for rule, tail in self._in_runs:
            # One look at a set in place of a search through all runs: few texts have the end of a name.
            if tail is not None and tail not in tails:
                continue
            ends_in_joint = rule.hint.pattern.endswith((b"_", b"-"))
            if rule.hint.search(names if ends_in_joint else runs):
                yield from _find_all(rule, text, flat)
        for anywhere in self._everywhere:
            yield from _find_all(anywhere, text, flat)


def _tail(rule: Rule) -> bytes | None:
    """Return the last three characters of a rule's name with the _ or - behind them; None where it has none of its own."""
    found = _TAIL.search(rule.hint.pattern)
    return None if found is None else found[0]


def _long_runs(flat: bytes) -> bytes:
    """Return the runs of 16 or more of A-Z a-z 0-9 _ -, where keys can be; all of *flat* if they are many."""
    shape = flat.translate(_KEYS_AS_A)
    runs = list[bytes]()
    end = 0
    while (start := shape.find(b"a" * _SHORTEST_RUN, end)) >= 0:
        end = shape.find(b" ", start)
        if end < 0:
            end = len(shape)
        runs.append(flat[start:end])
        if len(runs) * _CHARACTERS_PER_RUN > len(flat):
            return flat
    return b" ".join(runs)


def _before_joints(runs: bytes) -> tuple[bytes, set[bytes]]:
    """Return what stands before each _ and each -, where most keys have their name, and the ends of that, with them."""
    names, tails = list[bytes](), set[bytes]()
    for joint in (b"_", b"-"):
        ends = [part[-_LONGEST_NAME_OF_KEY:] for part in runs.split(joint)]
        names.append(joint.join(ends))
        tails.update([end[-3:] + joint for end in ends])
    return b" ".join(names), tails


def _find_all(rule: Rule, text: str, flat: bytes) -> Iterator[SecretSpan]:
    position = 0
    while hint := rule.hint.search(flat, position):
        position = hint.start() + 1
        if found := rule.find(text, hint.start()):
            yield SecretSpan(*found, rule.kind)
            position = max(position, found[1])
