"""The redactor: finds spans by rules, and puts what they are in their place."""

from __future__ import annotations

import copy
import string
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import regex

from memory_context.exceptions import InvalidArgumentError, RedactionTimeoutError
from memory_context.runtime.regexes import compiled
from memory_context.text.redact.assigned_secrets import ASSIGNED
from memory_context.text.redact.printed_secrets import PRINTED
from memory_context.text.redact.private_keys import BLOCKS, JOINT
from memory_context.text.redact.rules import Finding
from memory_context.text.redact.url_secrets import CARRIED
from memory_context.text.redact.vendor_keys import ANYWHERE, IN_RUNS

SECONDS = 5.0
SECONDS_PER_MEGABYTE = 1.0
PASSES = 8
_PIECE = 6
_LEAST_PIECE = 3
_COMPARED = 100_000
_RUN = 16
_MANY = 256
_JOINTED = 10
_EVERYWHERE: tuple[Finding, ...] = (*BLOCKS, *PRINTED, *ANYWHERE, *CARRIED, *ASSIGNED)
_ORDER = {
    one: rank
    for rank, one in enumerate(
        dict.fromkeys(rule.kind for rule in (*BLOCKS, *IN_RUNS, *_EVERYWHERE))
    )
}
KINDS = tuple(_ORDER)
_IN_KEYS = (string.ascii_letters + string.digits + "_-").encode()
_RUNS = bytes(ord("a") if code in _IN_KEYS else ord(" ") for code in range(256))
_NAME = regex.compile("[a-z][a-z0-9_]{0,39}")
_OPENING = "[redacted "
_MARKED = regex.compile(r"\[redacted [a-z][a-z0-9_]{0,39}\]")
_TOKENS_OF_JSON = regex.compile(
    r'"(?:[^"\\]|\\.)*+"?|(?P<bare>-?[0-9][0-9.eE+-]*+|true|false|null)(?=\s*[,}\]])|[a-zA-Z0-9.]++'
)
_BREAKS = regex.compile(r"\r\n|[\n\r]")
_BREAKS_IN_KEYS = regex.compile(rf"{JOINT}|\r\n|[\n\r]|\\+[nr]")


@dataclass(frozen=True, slots=True)
class RedactionPattern:
    """What a user wants to have redacted.

    Attributes:
        pattern: A regular expression of the package ``regex``. If it has a group ``value``, only that is redacted;
            all of what was found where that group took no part in it.
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
class Secret:
    """What stood in a text."""

    kind: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    stop: int
    kind: str
    is_quoted: bool = False


class Redactor:
    """Takes secrets out of texts: keys and tokens of many vendors, passwords, private keys, JWTs, a user's own.

    Args:
        patterns: What else to redact, by the name that stands in its place: a regular expression, or a
            `RedactionPattern`.
        without: Kinds that are left alone; `kinds` has them all.

    Raises:
        InvalidArgumentError: A name that is none, or is taken; a pattern that is no regular expression, that matches
            an empty text, or that calls itself without end; a kind that does not exist.
    """

    def __init__(
        self,
        patterns: Mapping[str, str | RedactionPattern] | None = None,
        *,
        without: Iterable[str] = (),
    ) -> None:
        left_out = frozenset(without)
        if unknown := left_out - set(KINDS):
            message = f"there is no kind {min(unknown)!r}; there are {', '.join(KINDS)}"
            raise InvalidArgumentError(message)
        self._everywhere = [rule for rule in _EVERYWHERE if rule.kind not in left_out]
        self._in_runs = [rule for rule in IN_RUNS if rule.kind not in left_out]
        given: object = patterns or {}
        if not isinstance(given, Mapping):
            message = f"patterns are a mapping of names to patterns, not {type(given).__name__}"
            raise InvalidArgumentError(message)
        self._own = [_Own.of(name, pattern) for name, pattern in (patterns or {}).items()]
        self.kinds = (
            *(kind for kind in KINDS if kind not in left_out),
            *(own.kind for own in self._own),
        )
        self._ranks = {
            kind: rank for rank, kind in enumerate((*(own.kind for own in self._own), *KINDS))
        }

    def redact(self, text: str) -> Redacted:
        """`text` without its secrets. Line breaks stay, JSON stays JSON, and doing it again changes nothing.

        Raises:
            RedactionTimeoutError: A user's pattern took more than 5 seconds and a second for each megabyte.
        """
        return self.cleared(text)[0]

    @property
    def has_own(self) -> bool:
        """Whether it has patterns of a user's."""
        return bool(self._own)

    @property
    def known(self) -> Redactor:
        """What finds the kinds that the library knows, and nothing of a user's."""
        part = copy.copy(self)
        part._own = []  # noqa: SLF001 - a copy of this very object
        return part

    @property
    def own(self) -> Redactor:
        """What finds a user's patterns, and nothing else."""
        part = copy.copy(self)
        part._everywhere, part._in_runs = [], []  # noqa: SLF001 - see `known`
        return part

    def words(self, text: str) -> str:
        """`text` for a search: without secrets, and without what stands in their place."""
        redacted = self.redact(text)
        return _MARKED.sub(" ", redacted.text).strip() if redacted.counts else text

    def cleared(
        self, text: str, *, until: float | None = None
    ) -> tuple[Redacted, tuple[Secret, ...]]:
        """What `redact` returns, and what was taken out: for `without_pieces`, and to be forgotten then.

        A user's patterns have time `until` a moment of the monotonic clock, where one is given.
        """
        secrets = list[Secret]()
        for _ in range(PASSES):  # what stood beside a secret may be one, too, once that is gone
            spans = self._spans(text, until)
            if not spans:
                break
            secrets += (Secret(span.kind, text[span.start : span.stop]) for span in spans)
            text = _without(text, spans)
        return Redacted(text, dict(Counter(secret.kind for secret in secrets))), tuple(secrets)

    def _spans(self, text: str, until: float | None) -> list[_Span]:
        found = [
            *self._known(text),
            *self._users(text, deadline_for(text) if until is None else until),
        ]
        if not found:
            return []
        spans = _outside(_merged(found, self._ranks), text)
        return (
            _of_whole_values(spans, text)
            if self._own and text.lstrip()[:1] in ("{", "[")
            else spans
        )

    def _known(self, text: str) -> Iterator[_Span]:
        if not self._everywhere and not self._in_runs:
            return
        flat = text.encode(
            "ascii", "replace"
        ).lower()  # one byte for each character, so places are the same
        runs = _long_runs(flat)
        joints = _before_joints(runs)
        for rule in self._in_runs:
            if rule.hint.search(joints if rule.hint.pattern.endswith((b"_", b"-")) else runs):
                yield from _of_rule(rule, text, flat)
        for finding in self._everywhere:
            yield from _of_rule(finding, text, flat)

    def _users(self, text: str, deadline: float) -> Iterator[_Span]:
        for own in self._own:
            yield from own.spans(text, deadline)


@dataclass(frozen=True, slots=True)
class _Own:
    """A user's pattern, ready for use."""

    kind: str
    pattern: regex.Pattern[str]
    literal: str

    @classmethod
    def of(cls, name: str, given: str | RedactionPattern) -> _Own:
        pattern = given if isinstance(given, RedactionPattern) else RedactionPattern(given)
        parts: tuple[object, ...] = (pattern.pattern, pattern.literal)
        if not all(isinstance(part, str) for part in parts):
            message = f"the pattern of {name!r} is a text or a RedactionPattern of texts, not {given!r:.80}"
            raise InvalidArgumentError(message)
        if not _NAME.fullmatch(name) or name in KINDS:
            message = f"a kind is named by 1 to 40 of a-z 0-9 _, other than {', '.join(KINDS)}; not {name!r}"
            raise InvalidArgumentError(message)
        try:
            ready = compiled(pattern.pattern)
            matches_nothing = ready.fullmatch("", timeout=SECONDS)
        except (
            regex.error,
            RecursionError,
            OverflowError,
            ValueError,
            IndexError,
            KeyError,
        ) as error:
            message = (
                f"the pattern of {name!r} is no regular expression: {getattr(error, 'msg', error)}"
            )
            raise InvalidArgumentError(message) from error
        except (MemoryError, TimeoutError) as error:
            message = f"the pattern of {name!r} does not end, not even on an empty text; does it call itself?"
            raise InvalidArgumentError(message) from error
        if matches_nothing:
            message = f"the pattern of {name!r} matches an empty text, which is everywhere"
            raise InvalidArgumentError(message)
        return cls(name, ready, pattern.literal)

    def spans(self, text: str, deadline: float) -> Iterator[_Span]:
        """What it finds."""
        if self.literal not in text:
            return
        group = "value" if "value" in self.pattern.groupindex else 0
        left = max(0.001, deadline - time.monotonic())
        try:
            for match in self.pattern.finditer(text, timeout=left, concurrent=True):
                start, stop = match.span(group) if match.start(group) >= 0 else match.span()
                if stop > start:
                    yield _Span(start, stop, self.kind)
        except TimeoutError as error:
            message = f"the pattern of {self.kind!r} took too long on {len(text)} characters; give it a literal"
            raise RedactionTimeoutError(message) from error
        except MemoryError as error:
            message = f"the pattern of {self.kind!r} took too much memory on {len(text)} characters"
            raise RedactionTimeoutError(message) from error


def deadline_for(text: str) -> float:
    """Until when a user's patterns may look at `text`, by the monotonic clock."""
    return time.monotonic() + SECONDS + SECONDS_PER_MEGABYTE * len(text) / 1e6


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
    return b" ".join(
        joint.join(part[-_JOINTED:] for part in runs.split(joint)) for joint in (b"_", b"-")
    )


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
            last = merged[-1]
            kind = min(last.kind, span.kind, key=ranks.__getitem__)
            merged[-1] = _Span(last.start, max(last.stop, span.stop), kind)
        else:
            merged.append(span)
    return merged


def _outside(spans: Sequence[_Span], text: str) -> list[_Span]:
    """`spans` without what was redacted before, and without those of line breaks alone, which stay in any case."""
    marks = [mark.span() for mark in _MARKED.finditer(text)] if _OPENING in text else []
    parts = (part for span in spans for part in _cut(span, marks)) if marks else spans
    return [one for one in parts if _BREAKS.sub("", text[one.start : one.stop])]


def _cut(span: _Span, marks: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    place = span.start
    for start, stop in marks[bisect_right(marks, span.start, key=itemgetter(1)) :]:
        if start >= span.stop:
            break
        if start > place:
            yield _Span(place, start, span.kind)
        place = stop
    if place < span.stop:
        yield _Span(place, span.stop, span.kind)


def _of_whole_values(spans: Sequence[_Span], text: str) -> list[_Span]:
    """`spans`, where `text` may be JSON: numbers and words of JSON go whole, and a string comes in their place."""
    bare = [one.span() for one in _TOKENS_OF_JSON.finditer(text) if one["bare"]]
    if not bare:
        return list(spans)
    found = list[_Span]()
    for span in spans:
        start, stop = bare[max(0, bisect_right(bare, span.start, key=itemgetter(0)) - 1)]
        is_inside = start <= span.start and span.stop <= stop
        whole = _Span(start, stop, span.kind, is_quoted=True) if is_inside else span
        if not (found and found[-1].stop == whole.stop):  # two in one number
            found.append(whole)
    return found


def _without(text: str, spans: Iterable[_Span]) -> str:
    pieces, place = list[str](), 0
    for span in spans:
        breaks = _BREAKS_IN_KEYS if span.kind == "private_key" else _BREAKS
        kept = "".join(breaks.findall(text[span.start : span.stop]))
        quote = '"' if span.is_quoted else ""
        pieces += [text[place : span.start], f"{quote}[redacted {span.kind}]{kept}{quote}"]
        place = span.stop
    return "".join([*pieces, text[place:]])


def without_pieces(text: str, secrets: Iterable[Secret]) -> Redacted:
    """`text`, which was made of a text with `secrets`, without pieces of them: a description may cut them short.

    A piece has six characters; a shorter secret goes where it stands as a word, and of what is cut off at an end of
    `text` three characters are enough.
    """
    found = list(secrets)
    pieces = [*_long_pieces(text, found), *_short_ones(text, found), *_at_ends(text, found)]
    spans = _outside(_joined(pieces), text)
    return Redacted(_without(text, spans), dict(Counter(span.kind for span in spans)))


def _long_pieces(text: str, secrets: Sequence[Secret]) -> Iterator[_Span]:
    kinds = {
        secret.value[place : place + _PIECE]: secret.kind
        for secret in secrets
        for place in range(min(len(secret.value), _COMPARED) - _PIECE + 1)
    }
    return _slices_of(text, _PIECE, kinds)


def _short_ones(text: str, secrets: Sequence[Secret]) -> Iterator[_Span]:
    for size in range(_LEAST_PIECE, _PIECE):
        kinds = {secret.value: secret.kind for secret in secrets if len(secret.value) == size}
        for span in _slices_of(text, size, kinds):
            around = text[max(0, span.start - 1) : span.start] + text[span.stop : span.stop + 1]
            if not any(map(str.isalnum, around)):
                yield span


def _slices_of(text: str, size: int, kinds: Mapping[str, str]) -> Iterator[_Span]:
    """Where a slice of `text` is one of `kinds`, which have this size."""
    for place in range(len(text) - size + 1 if kinds else 0):
        kind = kinds.get(text[place : place + size])
        if kind:
            yield _Span(place, place + size, kind)


def _at_ends(text: str, secrets: Sequence[Secret]) -> Iterator[_Span]:
    begin = len(text) - len(text.lstrip("… "))
    end = len(text.rstrip("… "))
    for size in range(_LEAST_PIECE, _PIECE):
        for secret in secrets:
            if len(secret.value) > size and text[begin : begin + size] == secret.value[-size:]:
                yield _Span(begin, begin + size, secret.kind)
            if len(secret.value) > size and text[max(0, end - size) : end] == secret.value[:size]:
                yield _Span(end - size, end, secret.kind)


def _joined(spans: Iterable[_Span]) -> list[_Span]:
    """Those that overlap or follow each other as one."""
    joined = list[_Span]()
    for span in sorted(spans, key=lambda one: (one.start, -one.stop)):
        if joined and span.start <= joined[-1].stop:
            last = joined[-1]
            joined[-1] = _Span(last.start, max(last.stop, span.stop), last.kind)
        else:
            joined.append(span)
    return joined
