"""The redactor: finds spans by rules, and puts what they are in their place."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import regex

from memory_context._redaction._assigned import ASSIGNED
from memory_context._redaction._blocks import BLOCKS
from memory_context._redaction._carried import CARRIED
from memory_context._redaction._rules import Finding
from memory_context._redaction._vendors import ANYWHERE, IN_RUNS
from memory_context.exceptions import InvalidArgumentError, RedactionTimeoutError

SECONDS = 5.0
SECONDS_PER_MEGABYTE = 1.0
PASSES = 8
_RUN = 16
_MANY = 256
_JOINTED = 10
_EVERYWHERE: tuple[Finding, ...] = (*BLOCKS, *ANYWHERE, *CARRIED, *ASSIGNED)
_ORDER = {one: rank for rank, one in enumerate(dict.fromkeys(rule.kind for rule in (*BLOCKS, *IN_RUNS, *_EVERYWHERE)))}
KINDS = tuple(_ORDER)
_RUNS = bytes(
    ord("a") if chr(code).isalnum() and code < 128 or chr(code) in "_-" else ord(" ") for code in range(256)
)
_NAME = regex.compile("[a-z][a-z0-9_]{0,39}")
_MARKED = regex.compile(r"\[redacted [a-z][a-z0-9_]{0,39}\]")
_BREAKS = regex.compile(r"\r\n|[\n\r]")
_ESCAPED_BREAKS = regex.compile(r"\r\n|[\n\r]|\\+[nr]")


@dataclass(frozen=True, slots=True)
class UserPattern:
    """What a user wants to have redacted.

    Attributes:
        pattern: A regular expression of the package ``regex``. If it has a group ``value``, only that is redacted.
        literal: A text that stands in everything the pattern finds. Where it is not in a text, the pattern is not
            tried, which makes it a hundred times as fast.
    """

    pattern: str
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with ``[redacted <kind>]`` where a secret stood.
        counts: How many of each kind were taken out now. Nothing else of them is kept.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    stop: int
    kind: str


class Redactor:
    """Takes secrets out of texts: keys and tokens of many vendors, passwords, private keys, JWTs, and a user's own.

    Args:
        patterns: What else to redact, by the name that stands in its place: a regular expression, or a `UserPattern`.
        without: Kinds that are left alone; `kinds` has them all.

    Raises:
        InvalidArgumentError: A name that is none, or is taken; a pattern that is no regular expression, or that
            matches an empty text; a kind that does not exist.
    """

    def __init__(self, patterns: Mapping[str, str | UserPattern] | None = None, *, without: Iterable[str] = ()) -> None:
        left_out = frozenset(without)
        if unknown := left_out - set(KINDS):
            message = f"there is no kind {sorted(unknown)[0]!r}; there are {', '.join(KINDS)}"
            raise InvalidArgumentError(message)
        self._everywhere = [rule for rule in _EVERYWHERE if rule.kind not in left_out]
        self._in_runs = [rule for rule in IN_RUNS if rule.kind not in left_out]
        self._own = [_Own.of(name, pattern) for name, pattern in (patterns or {}).items()]
        self.kinds = (*(kind for kind in KINDS if kind not in left_out), *(own.kind for own in self._own))
        self._ranks = {kind: rank for rank, kind in enumerate((*(own.kind for own in self._own), *KINDS))}

    def redact(self, text: str) -> Redacted:
        """`text` without its secrets. Line breaks stay, JSON stays JSON, and doing it again changes nothing.

        Raises:
            RedactionTimeoutError: A user's pattern took more than 5 seconds and a second for each megabyte.
        """
        counts = Counter[str]()
        for _ in range(PASSES):  # what stood beside a secret may be one, too, once that is gone
            spans = self._spans(text)
            if not spans:
                break
            counts.update(span.kind for span in spans)
            text = _without(text, spans)
        return Redacted(text, dict(counts))

    def _spans(self, text: str) -> list[_Span]:
        found = [*self._known(text), *self._users(text)]
        if not found:
            return []
        return _outside(_merged(found, self._ranks), text)

    def _known(self, text: str) -> Iterator[_Span]:
        flat = text.encode("ascii", "replace").lower()  # one byte for each character, so places are the same
        runs = _long_runs(flat)
        joints = _before_joints(runs)
        for rule in self._in_runs:
            if rule.hint.search(joints if rule.hint.pattern.endswith((b"_", b"-")) else runs):
                yield from _of_rule(rule, text, flat)
        for rule in self._everywhere:
            yield from _of_rule(rule, text, flat)

    def _users(self, text: str) -> Iterator[_Span]:
        deadline = time.monotonic() + SECONDS + SECONDS_PER_MEGABYTE * len(text) / 1e6
        for own in self._own:
            yield from own.spans(text, deadline)


@dataclass(frozen=True, slots=True)
class _Own:
    """A user's pattern, ready for use."""

    kind: str
    pattern: regex.Pattern[str]
    literal: str

    @classmethod
    def of(cls, name: str, given: str | UserPattern) -> _Own:
        pattern = given if isinstance(given, UserPattern) else UserPattern(given)
        if not _NAME.fullmatch(name) or name in KINDS:
            message = f"a kind is named by 1 to 40 of a-z 0-9 _, other than {', '.join(KINDS)}; not {name!r}"
            raise InvalidArgumentError(message)
        try:
            compiled = regex.compile(pattern.pattern)
        except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError) as error:
            message = f"the pattern of {name!r} is no regular expression: {getattr(error, 'msg', error)}"
            raise InvalidArgumentError(message) from error
        if compiled.fullmatch(""):
            message = f"the pattern of {name!r} matches an empty text, which is everywhere"
            raise InvalidArgumentError(message)
        return cls(name, compiled, pattern.literal)

    def spans(self, text: str, deadline: float) -> Iterator[_Span]:
        """What it finds."""
        if self.literal not in text:
            return
        group = "value" if "value" in self.pattern.groupindex else 0
        left = max(0.001, deadline - time.monotonic())
        try:
            for match in self.pattern.finditer(text, timeout=left, concurrent=True):
                if match.end(group) > match.start(group):
                    yield _Span(*match.span(group), self.kind)
        except TimeoutError as error:
            message = f"the pattern of {self.kind!r} took too long on {len(text)} characters; give it a literal"
            raise RedactionTimeoutError(message) from error


def _long_runs(flat: bytes) -> bytes:
    """The runs of 16 or more of A-Z a-z 0-9 _ -, one after the other: where keys can be."""
    shape = flat.translate(_RUNS)
    run, pieces, place = b"a" * _RUN, list[bytes](), 0
    while (place := shape.find(run, place)) >= 0:
        stop = shape.find(b" ", place)
        stop = len(shape) if stop < 0 else stop
        pieces.append(flat[place:stop])
        place = stop
        if len(pieces) * _MANY > len(flat):
            return flat
    return b" ".join(pieces)


def _before_joints(runs: bytes) -> bytes:
    """What stands before each _ and each -: where most keys have their name."""
    return b" ".join(joint.join(part[-_JOINTED:] for part in runs.split(joint)) for joint in (b"_", b"-"))


def _of_rule(rule: Finding, text: str, flat: bytes) -> Iterator[_Span]:
    place = 0
    while hint := rule.hint.search(flat, place):
        span = rule.span(text, hint.start())
        if span:
            yield _Span(*span, rule.kind)
        place = max(hint.start() + 1, span[1] if span else 0)


def _merged(spans: Iterable[_Span], ranks: Mapping[str, int]) -> list[_Span]:
    """Those that overlap as one, of the kind that says most."""
    merged = list[_Span]()
    for span in sorted(spans, key=lambda one: (one.start, -one.stop)):
        if merged and span.start < merged[-1].stop:
            last = merged.pop()
            kind = min(last.kind, span.kind, key=ranks.__getitem__)
            span = _Span(last.start, max(last.stop, span.stop), kind)
        merged.append(span)
    return merged


def _outside(spans: Sequence[_Span], text: str) -> list[_Span]:
    """`spans` without what was redacted before."""
    marks = [mark.span() for mark in _MARKED.finditer(text)] if "[redacted " in text else []
    if not marks:
        return list(spans)
    return [part for span in spans for part in _cut(span, marks)]


def _cut(span: _Span, marks: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    place = span.start
    for start, stop in marks:
        if start < span.stop and stop > place:
            if start > place:
                yield _Span(place, start, span.kind)
            place = stop
    if place < span.stop:
        yield _Span(place, span.stop, span.kind)


def _without(text: str, spans: Iterable[_Span]) -> str:
    pieces, place = list[str](), 0
    for span in spans:
        breaks = _ESCAPED_BREAKS if span.kind == "private_key" else _BREAKS
        kept = "".join(breaks.findall(text[span.start : span.stop]))
        pieces += [text[place : span.start], f"[redacted {span.kind}]{kept}"]
        place = span.stop
    return "".join([*pieces, text[place:]])
