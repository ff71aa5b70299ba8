"""Find the objects and lists of JSON, or of a Python repr, and their members, without reading the text around them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from memory_context.text.spans import Span

LONGEST_OBJECT = 6000
# So many objects of a list are compared, and so many characters of each, to find the member that names them.
COMPARED = 20
READ_CHARACTERS = 1200
# One in so many of these objects need not have a title of its own; in a shorter list, a single one.
EXCEPTION = 10
# The share of names that are in words. A title may have a year in it, and a word may be short.
LEAST_IN_WORDS = 0.7
# Brackets, and strings of JSON or of a Python repr: neither holds a line break. A string may be cut off by the end.
STRING_OR_BRACKET = re.compile(
    r"""
    "(?:[^"\\\n]|\\.)*+(?:"|\\?\Z)
    | '(?:[^'\\\n]|\\.)*+(?:'|\\?\Z)
    | [{}\[\]]
    """,
    re.VERBOSE,
)
# Where an object begins. An unescaped quote right after a brace cannot be inside a string.
OBJECT_START = re.compile(r"""\{\s*["']""")
BEGINS_WITH_OBJECT = re.compile(rf"\s*(?:\[\s*)?{OBJECT_START.pattern}")
# The tokens of JSON and of a Python repr: strings, closed or cut off, and the punctuation around members.
_MARK = re.compile(
    r"""'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\](){},:=]""",
    re.DOTALL,
)
_SPACE = re.compile(r"[ \t\n\r]*")
# A value that may name an object: a number, or a short text that is no link.
_NAME = re.compile(r"""(?s)["'](?:(?!://).){1,80}["']|-?\d[\d.]*""")
_LETTERS = re.compile(r"[^\W\d_]{3}")
# What ids, hashes and times have, and words have not: three digits, digits among capitals and small letters, eight
# hexadecimal digits, or twenty letters.
_NO_WORDS = re.compile(r"\d{3}|(?=\S*\d)(?=\S*[A-Z])(?=\S*[a-z])\S{8}|[0-9a-f]{8}|[A-Za-z]{20}")
_FIRST_KEY = re.compile(r"[^:=]{,100}")


class Member(NamedTuple):
    """A member of an object, or an item of a list.

    Attributes:
        step: Its step in a JSONPath.
        start: The offset at which it begins.
        value: The offset at which its value begins.
        stop: The offset at which it ends.
    """

    step: str
    start: int
    value: int
    stop: int


def short_objects(text: str, start: int, end: int) -> list[Span]:
    """Return the objects of at most 6,000 characters in ``text[start:end]`` that are not in another such object."""
    # `start` may be inside a string; an object's beginning is not.
    first = OBJECT_START.search(text, start, end)
    if first is None:
        return []
    found = list[Span]()
    closed, _ = containers_in(text, first.start(), end)
    for begin, stop in closed:
        if text[stop - 1] == "}" and stop - begin <= LONGEST_OBJECT:
            # The objects in this one were found before it.
            while found and found[-1][0] > begin:
                found.pop()
            found.append((begin, stop))
    return found


def containers_in(text: str, begin: int, end: int) -> tuple[list[Span], list[int]]:
    """Return the objects and lists in ``text[begin:end]``, inner ones first, and the starts of those left open."""
    closed = list[Span]()
    opened = list[int]()
    for token in STRING_OR_BRACKET.finditer(text, begin, end):
        mark = token.group()
        if mark in ("{", "["):
            opened.append(token.start())
        elif mark in ("}", "]") and opened:
            closed.append((opened.pop(), token.end()))
    return closed, opened


def members_of(text: str, start: int, stop: int) -> Iterator[Member]:
    """Yield each member of the container that begins at `start`, in JSON or a repr; the text may end before it does."""
    opening = _MARK.search(text, start)
    begin = len(text)
    if opening:
        begin = skip_space(text, opening.end())
    value = begin
    depth = index = 0

    def member_up_to(end: int) -> Iterator[Member]:
        """Yield the member that has begun, unless it is empty."""
        if member := text[begin:end].rstrip():
            step = _step(text[begin:value]) if value > begin else f"[{index}]"
            yield Member(step, begin, value, begin + len(member))

    for match in _MARK.finditer(text, begin, stop):
        mark = match[0]
        if depth == 0 and mark in ",)]}":
            yield from member_up_to(match.start())
            if mark != ",":
                return
            begin = value = skip_space(text, match.end())
            index += 1
        elif depth == 0 and mark in ":=" and value == begin:
            value = skip_space(text, match.end())
        else:
            depth += (mark in "([{") - (mark in ")]}")
    # The text ends before the container does.
    yield from member_up_to(stop)


def _step(key: str) -> str:
    """Return the step to a key as it is written before its value, with its quotes and the sign after it."""
    key = key.rstrip(" \t\r\n:=")
    # An escape before a closing quote has become a space (`unescaped_in_place`).
    name = key.strip("'\" ")
    if "\\" in key and key.startswith('"'):
        with suppress(ValueError):  # a repr may have other escapes than JSON
            name = json.loads(key)
    return step_to(name)


def step_to(key: str) -> str:
    """Return the step of a JSONPath to a key: RFC 9535 allows the dot for names only, other keys go in brackets.

    Names that are not ASCII go there, too: the library that follows paths does not read all of them after a dot.
    """
    if key.isascii() and key.isidentifier():
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=not key.isprintable())}]"


def skip_space(text: str, place: int) -> int:
    """Return the offset of the first character from *place* that is no space."""
    return _SPACE.match(text, place).end()  # type: ignore[union-attr] # matches anything


def steps_to_names(text: str, objects: Iterable[Span]) -> list[str]:
    """Return the steps to the members that tell the objects of a list apart, such as ``.id`` and ``.title``.

    A member tells them apart if its values are short, and more than half as many as the first 20 objects: meetings of a
    series have the same title. The last step is to the first such member whose values are mostly in words, as titles
    are. If there are several, one with another value in nearly each object comes before those that recur, as authors do;
    if there is none, one whose values have letters comes before the others. The step before it is to the member right
    before that one if this tells them apart, too, as an id does.
    """
    values = defaultdict[str, set[str]](set)
    compared = list(islice(objects, COMPARED))
    for start, stop in compared:
        for member in members_of(text, start, min(stop, start + READ_CHARACTERS)):
            value = text[member.value : member.stop]
            held = values[member.step]
            if _NAME.fullmatch(value):
                held.add(value)
    steps = list(values)
    telling = [step for step in steps if len(values[step]) > max(1, len(compared) / 2)]
    with_letters = [step for step in telling if _share(_LETTERS, values[step]) >= LEAST_IN_WORDS]
    in_words = [
        step for step in with_letters if _share(_NO_WORDS, values[step]) <= 1 - LEAST_IN_WORDS
    ]
    least = len(compared) - max(1, len(compared) // EXCEPTION)
    own = [step for step in in_words if len(values[step]) >= least]
    best = [*own, *in_words, *with_letters, *telling]
    if not best:
        return []
    place = steps.index(best[0])
    return [step for step in steps[max(0, place - 1) : place + 1] if step in telling]


def _share(pattern: re.Pattern[str], values: Collection[str]) -> float:
    """Return the share of *values* in which a pattern is found."""
    return sum(pattern.search(value) is not None for value in values) / len(values)


def first_key(text: str, start: int) -> str:
    """Return how the object that begins at *start* begins, up to its first value."""
    return _FIRST_KEY.match(text, start)[0]  # type: ignore[index] # it matches nothing, too
