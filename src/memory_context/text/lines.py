"""Iterate over the lines of a text. Throughout this package only a line feed ends a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memory_context.text.spans import Span

# Some programs on Windows put this before a text. It is not part of the first line.
BYTE_ORDER_MARK = "\ufeff"
BLANK_LINE = "\n\n"
# What `cat -n` and file viewers write before a line: its number, aligned to the right or with an arrow behind it.
_LINE_NUMBER = re.compile(r"^(?= +\d|\d+→)( *+(\d{1,7})[\t→])(.*)", re.MULTILINE)
# Numbers count as those of lines if so many characters at the beginning hold enough of them, without a gap.
NUMBERED = 4_000
LEAST_NUMBERED = 5


def without_line_numbers(text: str) -> str:
    """Return *text* without the numbers that `cat -n` and file viewers put before its lines."""
    return _LINE_NUMBER.sub(r"\3", text) if _is_numbered(text) else text


def without_indenting_numbers(text: str) -> str:
    """Return *text* with the space that such numbers take behind its lines, which begin and end at the same offsets.

    Then indentation and blank lines mean what they do in the file.
    """
    return _with_numbers_behind(text) if _is_numbered(text) else text


def _is_numbered(text: str) -> bool:
    numbers = [int(number) for _, number, _ in _LINE_NUMBER.findall(text, 0, NUMBERED)]
    return len(numbers) >= LEAST_NUMBERED and numbers[-1] - numbers[0] == len(numbers) - 1


# Cached, because the same is needed for each place in a text.
@lru_cache(maxsize=2)
def _with_numbers_behind(text: str) -> str:
    def moved(line: re.Match[str]) -> str:
        _, _, words = line.groups()
        # Line breaks behind a line break are a blank line, and spaces behind it are not.
        return words.ljust(len(line[0]), " " if words else "\n")

    return _LINE_NUMBER.sub(moved, text)


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of `text`, one at a time, without their line breaks."""
    start = 0
    while start < len(text):
        end = line_end(text, start)
        yield text[start:end]
        start = end + 1


def line_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield where each line of ``text[start:end]`` begins and ends; an empty line follows a final line break."""
    while start <= end:
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def line_start(text: str, place: int) -> int:
    """Return the offset at which the line that holds the offset `place` begins."""
    return text.rfind("\n", 0, place) + 1


def line_end(text: str, place: int) -> int:
    """Return the offset at which the line that holds the offset `place` ends: its line break, or the end of the text."""
    end = text.find("\n", place)
    if end >= 0:
        return end
    return len(text)
