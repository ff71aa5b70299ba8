"""Find the last line of a long output if it sums it up: ``Found 30 errors in 30 files.`` below a list of 30 errors."""

from __future__ import annotations

import re
from collections import Counter

from memory_context.text.lines import line_start
from memory_context.text.ranges import Span
from memory_context.text.words_and_names import STOP_WORDS

# How many lines before the last one are read, to know what the text is a list of.
LOOKED_AT = 200
LEAST_LINES = 8
LONGEST = 200
# A word is common if this share of the lines have it. Fewer lines than this may begin like the closing line.
COMMON = 0.25
# In the closing line, less than this share of the words may be common ones.
MOST_COMMON = 0.5
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")


def closing_line(text: str) -> Span | None:
    """Return the span of the last line if it holds a number and mostly other words than those common above it.

    None for a text whose lines have no common words, such as prose: its last line is like the others.

    Args:
        text: A text, or the end of one.
    """
    stop = len(text.rstrip())
    start = line_start(text, stop)
    last = text[start:stop]
    if not 0 < len(last) <= LONGEST or not _DIGITS.search(last):
        return None
    before = text[max(0, start - LOOKED_AT * LONGEST) : start].split("\n")[-LOOKED_AT:]
    lines = [line for line in before if line.strip()]
    words = _words_of(last)
    if len(lines) < LEAST_LINES or not words:
        return None
    # An indented line belongs to the one above it.
    if _indentation(last) > min(map(_indentation, lines)):
        return None
    times = Counter[str]()
    for line in lines:
        times.update(_words_of(line))
    common = {word for word, count in times.items() if count >= COMMON * len(lines)}
    if not common or len(words & common) >= MOST_COMMON * len(words):
        return None
    alike = sum(1 for line in lines if _beginning(line) == _beginning(last))
    return (start, stop) if alike < COMMON * len(lines) else None


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _beginning(line: str) -> list[str]:
    """Return a line's first two words, with each number in them replaced by 0."""
    return [_DIGITS.sub("0", word) for word in line.split(maxsplit=2)[:2]]


def _words_of(line: str) -> set[str]:
    words = {match.group().casefold() for match in _WORD.finditer(line)}
    return words - STOP_WORDS
