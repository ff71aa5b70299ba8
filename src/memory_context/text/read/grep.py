"""Find the lines of a text that hold a word or a match of a regular expression, with their neighbours."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import regex

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.model.item import count_lines
from memory_context.model.selection import Selection
from memory_context.runtime.regexes import compiled
from memory_context.text.json_documents import to_json
from memory_context.text.lines import line_end, line_start
from memory_context.text.read.nearest_lines import nearest_lines
from memory_context.text.read.read_time_limit import TimeLimit, too_slow
from memory_context.text.terminal_output import without_colours

# A match could not be recognised in fewer characters.
NARROWEST = 8


class LineMatch(NamedTuple):
    """A matching line: the offset of its beginning, its number (from 1), and the offset of the match."""

    start: int
    number: int
    hit: int


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """Matching lines to page through, written as grep does: a match as ``120: text``, a neighbour as ``121- text``.

    Attributes:
        text: The whole text.
        count: How many lines the text has.
        matches: The matching lines.
        context: How many neighbours are shown before and after each.
        width: Longer lines are cut to this many characters around their match; None for no limit.
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
        """Return a phrase that says which of the matching lines these are."""
        return prompts.PART_MATCHING.format(
            first=start + 1, last=end, total=self.total, count=self.count
        )

    def render(self, start: int, end: int) -> str:
        """Render the matching lines with their neighbours, each line once, with a gap mark where lines are left out."""
        lines = list[str]()
        last = 0
        for index in range(start, end):
            for number, marked in self._with_neighbours(index, last):
                is_after_gap = 0 < last < number - 1
                if self.context and is_after_gap:
                    lines.append(prompts.GAP)
                lines.append(marked)
                last = number
        return "\n".join(lines)

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield one matching line with fewer and fewer neighbours, then less and less of it around its match."""
        end = index + 1
        for context in _halves(self.context):
            yield replace(self, context=context).render(index, end)
        for width in _halves(self.width or 0):
            if width >= NARROWEST:
                yield replace(self, context=0, width=width).render(index, end)

    def _with_neighbours(self, index: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield the number and text of a matching line, and of its neighbours after line `last` that do not match."""
        start, number, hit = self.matches[index]
        least = max(last + 1, number - self.context)
        stop = min(self.count + 1, number + self.context + 1)
        if index:
            least = max(least, self.matches[index - 1].number + 1)
        if index + 1 < self.total:
            stop = min(stop, self.matches[index + 1].number)
        first = number
        while start > 0 and first > least:
            start = line_start(self.text, start - 1)
            first -= 1
        for current in range(first, stop):
            if current == number:
                yield current, f"{current}: {self._clipped(start, hit)}"
            else:
                yield current, f"{current}- {self._clipped(start, start)}"
            start = line_end(self.text, start) + 1

    def _clipped(self, start: int, hit: int) -> str:
        """Return the line at `start`; if it is too long, its part around `hit`."""
        end = line_end(self.text, start)
        width = self.width
        if width is None or end - start <= width:
            return self.text[start:end]
        # A third before the match and two thirds after it: what follows a name is wanted more often.
        wanted = hit - width // 3
        first = max(start, min(wanted, end - width))
        last = first + width
        clipped = self.text[first:last]
        if first > start:
            clipped = prompts.GAP_IN_LINE.format(count=first - start) + clipped
        if last < end:
            clipped += prompts.GAP_IN_LINE.format(count=end - last)
        return clipped.strip()


def matching_lines(text: str, selection: Selection, budget: int | None) -> MatchingLines:
    """Return the lines of `text` that `selection` asks for by ``contains`` or ``pattern``.

    The search may take 5 seconds of the process's CPU time, which is what `regex` counts.

    Raises:
        InvalidSelectionError: ``pattern`` is not a regular expression; the message says where the mistake is.
        NothingMatchedError: No line matches; the message shows the most similar lines.
        SelectionTimeoutError: The search took too long.
    """
    sought = selection.contains or selection.pattern or ""
    if "\r" not in sought and r"\r" not in sought:
        # Without the carriage returns `failed$` matches at the end of a line, and `.` does not match them.
        text = text.replace("\r\n", "\n")
    compile_sought = _caseless if selection.pattern is None else _pattern
    wanted = compile_sought(sought)
    # The words of a line match as they are seen, whatever the colours between them, or else with these.
    written = text
    text = without_colours(written)
    matches = list(_touched_lines(text, wanted))
    if not matches and written != text:
        text = written
        matches = list(_touched_lines(text, wanted))
    count = count_lines(text)
    if not matches:
        raise NothingMatchedError(_nothing_matched(text, count, selection.selector, sought))
    width = None
    if budget is not None:
        # A token has at least one character, so a longer line could never fit.
        width = max(NARROWEST, budget)
    return MatchingLines(text, count, matches, selection.context, width)


def _caseless(wanted: str) -> regex.Pattern[str]:
    """Return a pattern that finds *wanted* in any case by Unicode's rules, as it is written or as JSON escapes it.

    Accents may be composed or decomposed.
    """
    composed = unicodedata.normalize("NFC", wanted)
    apart = unicodedata.normalize("NFD", wanted)
    # In upper case "i" with a dot above has a composed form, which `regex` does not fold.
    capitals = unicodedata.normalize("NFC", wanted.upper())
    escaped = json.dumps(wanted)[1:-1]
    forms = map(regex.escape, (wanted, composed, apart, capitals, escaped))
    return regex.compile("|".join(forms), regex.IGNORECASE | regex.FULLCASE)


def _pattern(pattern: str) -> regex.Pattern[str]:
    try:
        return compiled(pattern, regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError) as error:
        raise InvalidSelectionError(_wrong_pattern(pattern, error)) from error


def _touched_lines(text: str, wanted: regex.Pattern[str]) -> Iterator[LineMatch]:
    """Yield each line that contains a match or a part of one.

    Raises:
        SelectionTimeoutError: The search took too long, or too much memory.
    """
    time_limit = TimeLimit()
    start = 0
    number = 1
    passed = 0
    while start < len(text):
        seconds = time_limit.remaining()
        try:
            # `concurrent` releases the interpreter's lock, so that a slow pattern does not block other threads.
            match = wanted.search(text, start, timeout=seconds, concurrent=True)
        except (TimeoutError, MemoryError, RecursionError) as error:
            raise too_slow() from error
        # An empty match after the last line break is not in a line.
        if match is None or match.start() >= len(text):
            return
        hit = match.start()
        # A match that ends with a line break does not touch the next line.
        last = max(hit, match.end() - 1)
        number += text.count("\n", passed, hit)
        start = line_start(text, hit)
        while start <= last:
            yield LineMatch(start, number, max(hit, start))
            start = line_end(text, start) + 1
            number += 1
        passed = start


def _wrong_pattern(pattern: str, error: Exception) -> str:
    message = getattr(error, "msg", None) or "too complex"
    place = getattr(error, "pos", None)
    if place is not None:
        before = pattern[:place][-20:]
        after = pattern[place:][:20]
        message += f" at position {place} ({before}⟨here⟩{after})"
    return f"pattern={to_json(pattern[:80])} is not a regular expression: {message}"


def _nothing_matched(text: str, count: int, selector: str, sought: str) -> str:
    shown = to_json(sought[:80])
    message = prompts.NO_LINE.format(count=count, name=selector, value=shown)
    nearest = "\n".join(nearest_lines(text, sought))
    if nearest:
        message += " " + prompts.NEAREST_LINES.format(lines=nearest)
    return message


def _halves(number: int) -> Iterator[int]:
    """Yield `number`, half of it, and so on, down to 0."""
    while number:
        yield number
        number //= 2
    yield 0
