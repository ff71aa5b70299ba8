"""The lines of a text that hold a word or a match of a regular expression, with their neighbours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import regex

from memory_context import wording_for_models as prompts
from memory_context.exceptions import (
    InvalidSelectionError,
    NothingMatchedError,
    SelectionTimeoutError,
)
from memory_context.model.item import count_lines
from memory_context.model.selection import Selection
from memory_context.runtime.regexes import compiled
from memory_context.text.json_documents import to_json
from memory_context.text.lines import line_end
from memory_context.text.read.nearest_lines import nearest_lines
from memory_context.text.read.pattern_time_limit import TimeLimit, too_slow

# With fewer characters nothing of a match could be recognised.
NARROWEST = 8


class LineMatch(NamedTuple):
    """Where a matching line begins, its number (from 1), and where in the text the match begins."""

    start: int
    number: int
    hit: int


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """Lines to page through; written as grep does: a match as ``120: text``, a neighbour as ``121- text``.

    Attributes:
        text: The whole text.
        count: How many lines it has.
        matches: The matching lines.
        context: How many neighbours each has before and behind it.
        width: Longer lines are cut to so many characters around their match; None cuts none.
    """

    text: str
    count: int
    matches: Sequence[LineMatch]
    context: int
    width: int | None

    @property
    def total(self) -> int:
        """Return how many lines match."""
        return len(self.matches)

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

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield one line with fewer and fewer neighbours, then what stands around its match."""
        for context in _halves(self.context):
            yield replace(self, context=context).render(index, index + 1)
        for width in _halves(self.width or 0):
            if width >= NARROWEST:
                yield replace(self, context=0, width=width).render(index, index + 1)

    def _with_neighbours(self, index: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield number and text of the line and of those around it that do not match, from behind line `last` on."""
        start, number, hit = self.matches[index]
        last_before, next_match = last, self.count + 1
        if index:
            last_before = max(last, self.matches[index - 1].number)
        if index + 1 < self.total:
            next_match = self.matches[index + 1].number
        first = number
        while start > 0 and first > max(last_before + 1, number - self.context):
            start = self.text.rfind("\n", 0, start - 1) + 1
            first -= 1
        for current in range(first, min(number + self.context + 1, next_match)):
            if current == number:
                yield current, f"{current}: {self._clipped(start, hit)}"
            else:
                yield current, f"{current}- {self._clipped(start, start)}"
            start = line_end(self.text, start) + 1

    def _clipped(self, start: int, hit: int) -> str:
        """Return the line at `start`, or of a long one what stands around `hit`."""
        end = line_end(self.text, start)
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

    Both have 5 seconds of the process's CPU (`regex` counts so).

    Raises:
        InvalidSelectionError: Not a regular expression; says where the mistake is.
        NothingMatchedError: No line matches; names the nearest.
        SelectionTimeoutError: The pattern took too long.
    """
    sought = selection.contains or selection.pattern or ""
    if "\r" not in sought and r"\r" not in sought:
        # Lines end where others see them end: at `failed$`, and at `.`.
        text = text.replace("\r\n", "\n")
    wanted = _caseless(selection.contains or "")
    if selection.pattern is not None:
        wanted = _pattern(selection.pattern)
    matches = list(_touched_lines(text, wanted))
    count = count_lines(text)
    if not matches:
        raise NothingMatchedError(_nothing_matched(text, count, selection))
    # A token is a character at least, so a longer line could never fit.
    width = None if budget is None else max(NARROWEST, budget)
    return MatchingLines(text, count, matches, selection.context, width)


def _caseless(wanted: str) -> regex.Pattern[str]:
    """Return the pattern of a text in any capitals, as Unicode folds them, its accents composed or apart."""
    composed = unicodedata.normalize("NFC", wanted)
    apart = unicodedata.normalize("NFD", wanted)
    # In capitals "i" with a dot above has a composed form, which `regex` does not fold.
    capitals = unicodedata.normalize("NFC", wanted.upper())
    alternatives = "|".join(map(regex.escape, (wanted, composed, apart, capitals)))
    return regex.compile(alternatives, regex.IGNORECASE | regex.FULLCASE)


def _pattern(pattern: str) -> regex.Pattern[str]:
    try:
        return compiled(pattern, regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError) as error:
        raise InvalidSelectionError(_wrong_pattern(pattern, error)) from error


def _touched_lines(text: str, wanted: regex.Pattern[str]) -> Iterator[LineMatch]:
    """Yield each line that a match touches."""
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
            yield LineMatch(start, number, max(hit, start))
            start = line_end(text, start) + 1
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
