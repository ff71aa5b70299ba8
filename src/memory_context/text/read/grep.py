"""The lines of a text that hold a word or a match of a regular expression, with their neighbours."""

from __future__ import annotations

import difflib
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import regex

from memory_context.exceptions import (
    InvalidSelectionError,
    NothingMatchedError,
    SelectionTimeoutError,
)
from memory_context.model.selection import NARROWEST, Cost, Deadline, Selection, quoted, too_slow
from memory_context.runtime import prompts
from memory_context.runtime.regexes import compiled
from memory_context.text.terms import terms

UNKNOWN: Final = -1
FOLDED_AT_ONCE = 4096
BLOCK = 1_000_000
SCANNED_FOR_HINTS = 500_000
WORDS_COMPARED = 3000
NEAREST = 3
LONGEST_HINT = 120
SHORTEST_WORD = 3
_WORDS = regex.compile(r"\w{3,40}")


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """A listing of lines, by where they begin, their numbers (from 1), and where in them the match begins.

    A matching line is rendered as ``120: text``, a neighbour as ``121- text``, as grep does.
    """

    text: str
    count: int
    starts: array[int]
    numbers: array[int]
    hits: array[int]
    context: int
    folded: str
    width: int | None = None

    @property
    def total(self) -> int:
        """How many lines match."""
        return len(self.starts)

    def size(self, index: int) -> int:
        """The characters of one of them, without its neighbours."""
        size = _end_of_line(self.text, self.starts[index]) - self.starts[index] + 3
        return size if self.width is None else min(size, self.width)

    def part(self, start: int, end: int) -> str:
        """Which of the matching lines they are."""
        return prompts.PART_MATCHING.format(
            first=start + 1, last=end, total=self.total, count=self.count
        )

    def render(self, start: int, end: int) -> str:
        """The lines with their neighbours, each once, and a mark where lines between them are left out."""
        parts, shown = list[str](), 0
        for index in range(start, end):
            for number, line, mark in self._with_neighbours(index, shown):
                if self.context and 0 < shown < number - 1:
                    parts.append(prompts.GAP)
                parts.append(f"{number}{mark} {line}")
                shown = number
        return "\n".join(parts)

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """One line with as many neighbours as there is room for, or what stands around its match."""
        for context in _halves(self.context):
            text = replace(self, context=context).render(index, index + 1)
            if cost(text) <= budget:
                return text
        for width in _halves(self.width or budget):
            text = replace(self, context=0, width=width).render(index, index + 1)
            if width >= NARROWEST and cost(text) <= budget:
                return text
        return ""

    def _with_neighbours(self, index: int, shown: int) -> Iterator[tuple[int, str, str]]:
        """The line and those around it that do not match, from behind line `shown` on."""
        number, start = self.numbers[index], self.starts[index]
        before = max(shown, self.numbers[index - 1] if index else 0)
        after = self.numbers[index + 1] if index + 1 < self.total else self.count + 1
        first, place = _lines_before(self.text, start, min(self.context, number - 1 - before))
        for i in range(number - first, number):
            yield i, self._clipped(place, place), "-"
            place = _end_of_line(self.text, place) + 1
        yield number, self._clipped(start, self._hit(index)), ":"
        place = _end_of_line(self.text, start) + 1
        for i in range(number + 1, min(number + self.context + 1, after)):
            yield i, self._clipped(place, place), "-"
            place = _end_of_line(self.text, place) + 1

    def _hit(self, index: int) -> int:
        start, hit = self.starts[index], self.hits[index]
        if hit != UNKNOWN or self.width is None:
            return hit
        return start + _folded_position(
            self.text[start : _end_of_line(self.text, start)], self.folded
        )

    def _clipped(self, start: int, hit: int) -> str:
        """The line at `start`, or of a long one what stands around `hit`."""
        end = _end_of_line(self.text, start)
        if self.width is None or end - start <= self.width:
            return self.text[start:end]
        first = max(start, min(hit - self.width // 3, end - self.width))
        last = first + self.width
        left = prompts.GAP_IN_LINE.format(count=first - start) if first > start else ""
        right = prompts.GAP_IN_LINE.format(count=end - last) if last < end else ""
        return f"{left}{self.text[first:last]}{right}".strip()


def matching_lines(
    text: str, count: int, selection: Selection, budget: int | None
) -> MatchingLines:
    """The lines of `text`, which has `count`, that `selection` asks for by ``contains`` or ``pattern``.

    Time is linear in the text for ``contains``; a pattern has 5 seconds of the process's CPU (`regex` counts so).

    Raises:
        InvalidSelectionError: No regular expression; says where the mistake is.
        NothingMatchedError: No line matches; names the nearest.
        SelectionTimeoutError: The pattern took too long.
    """
    wanted = folded(selection.contains or "")
    starts, numbers, hits = array("q"), array("q"), array("q")
    found = (
        _by_pattern(text, selection.pattern)
        if selection.pattern is not None
        else _by_words(text, wanted)
    )
    for start, number, hit in found:
        starts.append(start)
        numbers.append(number)
        hits.append(hit)
    if not starts:
        raise NothingMatchedError(_nothing(text, count, selection))
    width = None if budget is None else max(NARROWEST, budget)
    return MatchingLines(text, count, starts, numbers, hits, selection.context, wanted, width)


def folded(text: str) -> str:
    """`text` for caseless comparison: canonical caseless matching, Unicode Standard, section 3.13, D145.

    Line breaks stay where they are.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def _by_words(text: str, wanted: str) -> Iterator[tuple[int, int, int]]:
    """Start, number and (where folding moves nothing) place of the match, of each line that holds `wanted`."""
    touched = wanted.count("\n", 0, len(wanted) - 1) + 1
    number, done = 1, 0
    for start, end in _blocks(text):
        stretched = _behind_lines(text, end, touched - 1)
        haystack = folded(text[start:stretched])
        same = text.isascii()
        place, line, passed, found = start, number, 0, haystack.find(wanted)
        while found >= 0:
            for _ in range(haystack.count("\n", passed, found)):
                place, line = text.index("\n", place) + 1, line + 1
            if place >= end:
                break
            hit = start + found if same else UNKNOWN
            yield from _touched(text, place, line, hit, touched, done)
            done = line + touched - 1
            passed = _end_of_line(haystack, found) + 1
            place, line = _end_of_line(text, place) + 1, line + 1
            found = haystack.find(wanted, passed) if passed < len(haystack) else -1
        number += text.count("\n", start, end)


def _touched(
    text: str, place: int, line: int, hit: int, count: int, done: int
) -> Iterator[tuple[int, int, int]]:
    """`count` lines from the one at `place` on, without those up to line `done`."""
    for i in range(line, line + count):
        if i > done and place < len(text):
            yield place, i, hit if hit == UNKNOWN else max(hit, place)
        place = _end_of_line(text, place) + 1


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where pieces of about 1,000,000 characters begin and end, cut behind lines."""
    start = 0
    while start < len(text):
        end = min(_end_of_line(text, min(start + BLOCK, len(text))) + 1, len(text))
        yield start, end
        start = end


def _behind_lines(text: str, place: int, lines: int) -> int:
    """Where the text is that many lines behind `place`, which begins one."""
    for _ in range(lines):
        place = min(_end_of_line(text, place) + 1, len(text))
    return place


def _by_pattern(text: str, pattern: str) -> Iterator[tuple[int, int, int]]:
    """Start, number and place of the match, of each line that a match touches."""
    search, deadline = _searcher(pattern), Deadline()
    place, number, passed = 0, 1, 0
    while place < len(text) and (span := search(text, place, deadline)):
        found, last = span[0], max(span[0], span[1] - 1)
        if found >= len(text):
            return
        number += text.count("\n", passed, found)
        place = passed = text.rfind("\n", 0, found) + 1
        while place <= last:
            yield place, number, max(found, place)
            place, number = _end_of_line(text, place) + 1, number + 1
        passed = place


def _searcher(pattern: str) -> Callable[[str, int, Deadline], tuple[int, int] | None]:
    """Where the next match begins and ends."""
    try:
        wanted = compiled(pattern, regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError) as error:
        raise InvalidSelectionError(_wrong_pattern(pattern, error)) from error

    def search(text: str, place: int, deadline: Deadline) -> tuple[int, int] | None:
        try:
            match = wanted.search(text, place, timeout=deadline.left(), concurrent=True)
        except SelectionTimeoutError:
            raise
        except (TimeoutError, MemoryError, RecursionError) as error:
            raise too_slow() from error
        return match.span() if match else None

    return search


def _wrong_pattern(pattern: str, error: Exception) -> str:
    place = getattr(error, "pos", None)
    reason = getattr(error, "msg", None) or "too complex"
    where = (
        ""
        if place is None
        else f" at position {place} ({pattern[:place][-20:]}⟨here⟩{pattern[place:][:20]})"
    )
    return f"pattern={quoted(pattern[:80])} is no regular expression: {reason}{where}"


def _nothing(text: str, count: int, selection: Selection) -> str:
    given = selection.contains if selection.contains is not None else selection.pattern or ""
    name = "contains" if selection.contains is not None else "pattern"
    nearest = "\n".join(f"{number}: {line}" for number, line in _nearest(text, given))
    said = prompts.NO_LINE.format(count=count, name=name, value=quoted(given[:80]))
    return f"{said} {prompts.NEAREST_LINES.format(lines=nearest)}" if nearest else said


def _nearest(text: str, wanted: str) -> list[tuple[int, str]]:
    """Lines of the first 500,000 characters that share words with `wanted`, or have words like them."""
    head = text[:SCANNED_FOR_HINTS]
    low = head.lower()
    places = [low.find(word) for word in terms(wanted)[:8] if len(word) >= SHORTEST_WORD]
    if all(place < 0 for place in places):
        vocabulary = list(dict.fromkeys(_WORDS.findall(low)))[:WORDS_COMPARED]
        words = _WORDS.findall(wanted.lower()[:200])[:4]
        near = [
            match for word in words for match in difflib.get_close_matches(word, vocabulary, 1, 0.7)
        ]
        places = [low.find(word) for word in near]
    starts = sorted({head.rfind("\n", 0, place) + 1 for place in places if place >= 0})[:NEAREST]
    return [
        (text.count("\n", 0, start) + 1, text[start : _end_of_line(text, start)][:LONGEST_HINT])
        for start in starts
    ]


def _halves(number: int) -> Iterator[int]:
    """`number`, its half, and so on, down to nothing."""
    while number:
        yield number
        number //= 2
    yield 0


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return end if end >= 0 else len(text)


def _lines_before(text: str, start: int, most: int) -> tuple[int, int]:
    """How many lines there are before `start`, `most` at most, and where they begin."""
    for number in range(most):
        if start == 0:
            return number, start
        start = text.rfind("\n", 0, start - 1) + 1
    return max(most, 0), start


def _folded_position(line: str, wanted: str) -> int:
    """About where in `line` stands what is folded to `wanted`."""
    left = folded(line).find(wanted)
    for place in range(0, len(line), FOLDED_AT_ONCE):
        piece = line[place : place + FOLDED_AT_ONCE]
        size = len(folded(piece))
        if size > left:
            ends = accumulate(len(folded(character)) for character in piece)
            return place + sum(1 for end in ends if end <= left)
        left -= size
    return 0
