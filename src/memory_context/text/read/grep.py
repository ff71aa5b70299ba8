"""The lines of a text that hold a word or a match of a regular expression, with their neighbours."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import regex

from memory_context.exceptions import (
    InvalidSelectionError,
    NothingMatchedError,
    SelectionTimeoutError,
)
from memory_context.model.item import count_lines
from memory_context.model.selection import Cost, Selection
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.runtime.regexes import compiled
from memory_context.text.read.hints import nearest_lines
from memory_context.text.read.json_values import to_json
from memory_context.text.read.time_limit import TimeLimit, too_slow

# With fewer characters nothing of a match could be recognised.
NARROWEST = 8
UNKNOWN: Final = -1
# Folding character by character is slow, so it is done only in the block that the match lies in.
FOLDED_AT_ONCE = 4096
# So that of a text of 50 MB only one block stands in memory a second time, folded.
BLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """Lines to page through; written as grep does: a match as ``120: text``, a neighbour as ``121- text``.

    Attributes:
        text: The whole text.
        count: How many lines it has.
        starts: Where each matching line begins.
        numbers: The number of each, from 1.
        hits: Where in the text each match begins, or `UNKNOWN`.
        context: How many neighbours each has before and behind it.
        wanted: The case-folded text that is looked for; nothing for a pattern.
        width: Longer lines are cut to so many characters around their match; None cuts none.
    """

    text: str
    count: int
    starts: array[int]
    numbers: array[int]
    hits: array[int]
    context: int
    wanted: str
    width: int | None

    @property
    def total(self) -> int:
        """Return how many lines match."""
        return len(self.starts)

    def size(self, index: int) -> int:
        """Return the characters of one of them, without its neighbours."""
        start = self.starts[index]
        # Three more for the number's colon, space and line break, at least.
        size = _end_of_line(self.text, start) - start + 3
        if self.width is None:
            return size
        return min(size, self.width)

    def part(self, start: int, end: int) -> str:
        """Say which of the matching lines they are."""
        return prompts.PART_MATCHING.format(
            first=start + 1, last=end, total=self.total, count=self.count
        )

    def render(self, start: int, end: int) -> str:
        """Write the lines with their neighbours, each once, and a mark where lines between them are left out."""
        lines = list[str]()
        last = 0
        for index in range(start, end):
            for number, marked in self._with_neighbours(index, last):
                if self.context and 0 < last < number - 1:
                    lines.append(prompts.GAP)
                lines.append(marked)
                last = number
        return "\n".join(lines)

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """Write one line with as many neighbours as there is room for, or what stands around its match."""
        for context in _halves(self.context):
            text = replace(self, context=context).render(index, index + 1)
            if cost(text) <= budget:
                return text
        for width in _halves(self.width or budget):
            text = replace(self, context=0, width=width).render(index, index + 1)
            if width >= NARROWEST and cost(text) <= budget:
                return text
        return ""

    def _with_neighbours(self, index: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield number and text of the line and of those around it that do not match, from behind line `last` on."""
        number = self.numbers[index]
        last_before, next_match = last, self.count + 1
        if index:
            last_before = max(last, self.numbers[index - 1])
        if index + 1 < self.total:
            next_match = self.numbers[index + 1]
        first, start = number, self.starts[index]
        while start > 0 and first > max(last_before + 1, number - self.context):
            start = self.text.rfind("\n", 0, start - 1) + 1
            first -= 1
        for current in range(first, min(number + self.context + 1, next_match)):
            if current == number:
                yield current, f"{current}: {self._clipped(start, self._hit(index))}"
            else:
                yield current, f"{current}- {self._clipped(start, start)}"
            start = _end_of_line(self.text, start) + 1

    def _hit(self, index: int) -> int:
        """Return where the match begins; where folding has moved it, about where."""
        start, hit = self.starts[index], self.hits[index]
        if hit != UNKNOWN or self.width is None:
            return hit
        line = self.text[start : _end_of_line(self.text, start)]
        return start + _unfolded_position(line, self.wanted)

    def _clipped(self, start: int, hit: int) -> str:
        """Return the line at `start`, or of a long one what stands around `hit`."""
        end = _end_of_line(self.text, start)
        if self.width is None or end - start <= self.width:
            return self.text[start:end]
        # A third before the match and two behind: what follows a name is asked for more often.
        first = max(start, min(hit - self.width // 3, end - self.width))
        last = first + self.width
        clipped = self.text[first:last]
        if first > start:
            clipped = prompts.GAP_IN_LINE.format(count=first - start) + clipped
        if last < end:
            clipped += prompts.GAP_IN_LINE.format(count=end - last)
        return clipped.strip()


def matching_lines(text: str, selection: Selection, budget: int | None) -> MatchingLines:
    """Return the lines of `text` that `selection` asks for by ``contains`` or ``pattern``.

    Time is linear in the text for ``contains``; a pattern has 5 seconds of the process's CPU (`regex` counts so).

    Raises:
        InvalidSelectionError: Not a regular expression; says where the mistake is.
        NothingMatchedError: No line matches; names the nearest.
        SelectionTimeoutError: The pattern took too long.
    """
    wanted = case_folded(selection.contains or "")
    matches = _by_words(text, wanted)
    if selection.pattern is not None:
        matches = _by_pattern(text, selection.pattern)
    starts, numbers, hits = array("q"), array("q"), array("q")
    for start, number, hit in matches:
        starts.append(start)
        numbers.append(number)
        hits.append(hit)
    count = count_lines(text)
    if not starts:
        raise NothingMatchedError(_nothing_matched(text, count, selection))
    # A token is a character at least, so a longer line could never fit.
    width = None if budget is None else max(NARROWEST, budget)
    return MatchingLines(text, count, starts, numbers, hits, selection.context, wanted, width)


def case_folded(text: str) -> str:
    """Return `text` for caseless comparison: canonical caseless matching, Unicode Standard, section 3.13, D145.

    Line breaks stay where they are.
    """
    if text.isascii():
        return text.lower()
    # NFD first: folding is defined on decomposed characters; NFC last, or a text composed otherwise
    # would not be found.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def _by_words(text: str, wanted: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, number and (where folding moves nothing) place of the match, of each line that holds `wanted`."""
    # A text with line breaks in it touches several lines; one at its end does not touch the next.
    touched = wanted.count("\n", 0, len(wanted) - 1) + 1
    folding_moves = not text.isascii()
    last_yielded = 0
    number_at_block = 1
    for block_start, block_end in _blocks(text):
        # A match that begins in this block may end in the next one.
        stop = block_end
        for _ in range(touched - 1):
            stop = min(_end_of_line(text, stop) + 1, len(text))
        haystack = case_folded(text[block_start:stop])
        # `start` and `number` walk along the lines of the text, `passed` and `found` along those of the haystack.
        start, number, passed = block_start, number_at_block, 0
        while passed < len(haystack):
            found = haystack.find(wanted, passed)
            if found < 0:
                break
            for _ in range(haystack.count("\n", passed, found)):
                start = text.index("\n", start) + 1
                number += 1
            if start >= block_end:
                break
            hit = UNKNOWN if folding_moves else block_start + found
            line_start = start
            for line_number in range(number, number + touched):
                if line_number > last_yielded and line_start < len(text):
                    yield line_start, line_number, hit if folding_moves else max(hit, line_start)
                line_start = _end_of_line(text, line_start) + 1
            last_yielded = number + touched - 1
            passed = _end_of_line(haystack, found) + 1
            start = _end_of_line(text, start) + 1
            number += 1
        number_at_block += text.count("\n", block_start, block_end)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where runs of about 1,000,000 characters begin and end, cut behind lines."""
    start = 0
    while start < len(text):
        end = min(_end_of_line(text, min(start + BLOCK, len(text))) + 1, len(text))
        yield start, end
        start = end


def _by_pattern(text: str, pattern: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, number and place of the match, of each line that a match touches."""
    try:
        wanted = compiled(pattern, regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError) as error:
        raise InvalidSelectionError(_wrong_pattern(pattern, error)) from error
    time_limit = TimeLimit()
    start, number, passed = 0, 1, 0
    while start < len(text):
        try:
            # `concurrent` gives up the interpreter's lock, so that a slow pattern does not stop
            # other threads.
            match = wanted.search(text, start, timeout=time_limit.remaining(), concurrent=True)
        except SelectionTimeoutError:
            raise
        except (TimeoutError, MemoryError, RecursionError) as error:
            raise too_slow() from error
        # An empty match behind the last line break touches no line.
        if match is None or match.start() >= len(text):
            return
        hit = match.start()
        # A match that ends with a line break does not touch the line behind it.
        last = max(hit, match.end() - 1)
        number += text.count("\n", passed, hit)
        start = text.rfind("\n", 0, hit) + 1
        while start <= last:
            yield start, number, max(hit, start)
            start = _end_of_line(text, start) + 1
            number += 1
        passed = start


def _wrong_pattern(pattern: str, error: Exception) -> str:
    message = getattr(error, "msg", None) or "too complex"
    place = getattr(error, "pos", None)
    if place is not None:
        message += f" at position {place} ({pattern[:place][-20:]}⟨here⟩{pattern[place:][:20]})"
    return f"pattern={to_json(pattern[:80])} is not a regular expression: {message}"


def _nothing_matched(text: str, count: int, selection: Selection) -> str:
    name, value = "contains", selection.contains
    if value is None:
        name, value = "pattern", selection.pattern or ""
    message = prompts.NO_LINE.format(count=count, name=name, value=to_json(value[:80]))
    nearest = nearest_lines(text, value)
    if nearest:
        message += " " + prompts.NEAREST_LINES.format(lines="\n".join(nearest))
    return message


def _halves(number: int) -> Iterator[int]:
    """Yield `number`, its half, and so on, down to 0."""
    while number:
        yield number
        number //= 2
    yield 0


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return end if end >= 0 else len(text)


def _unfolded_position(line: str, wanted: str) -> int:
    """Return about where in `line` that stands which is case-folded to `wanted`."""
    left = case_folded(line).find(wanted)
    for place in range(0, len(line), FOLDED_AT_ONCE):
        block = line[place : place + FOLDED_AT_ONCE]
        size = len(case_folded(block))
        if size > left:
            ends = accumulate(len(case_folded(character)) for character in block)
            return place + sum(1 for end in ends if end <= left)
        left -= size
    return 0
