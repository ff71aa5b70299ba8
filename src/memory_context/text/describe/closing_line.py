"""The line that sums a long output up: ``Found 30 errors in 30 files.`` below thirty that tell of one each."""

from __future__ import annotations

import re
from collections import Counter

from memory_context.text.ranges import Span
from memory_context.text.words_and_names import STOP_WORDS

# So many lines before the last one say what the text is a list of.
LOOKED_AT = 200
LEAST_LINES = 8
LONGEST = 200
# A word in so many of the lines is one that the list repeats.
COMMON = 0.25
# Of the words of a closing line less than so many are such words, and so many lines at most begin as it does.
MOST_COMMON = 0.5
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")


def closing_line(text: str) -> Span | None:
    """Return where the last line stands if it counts something, in other words than the lines before it repeat.

    None for a text whose lines repeat no words, such as prose: its last line is like the others.

    Args:
        text: A text, or its end.
    """
    stop = len(text.rstrip())
    start = text.rfind("\n", 0, stop) + 1
    last = text[start:stop]
    if not 0 < len(last) <= LONGEST or not _DIGITS.search(last):
        return None
    before = text[max(0, start - LOOKED_AT * LONGEST) : start].split("\n")[-LOOKED_AT:]
    lines = [line for line in before if line.strip()]
    words = _words_of(last)
    if len(lines) < LEAST_LINES or not words:
        return None
    # What is indented belongs to the line above it.
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
    """Return a line's first two words, with 0 for each of their numbers."""
    return [_DIGITS.sub("0", word) for word in line.split(maxsplit=2)[:2]]


def _words_of(line: str) -> set[str]:
    words = {match.group().casefold() for match in _WORD.finditer(line)}
    return words - STOP_WORDS
