"""Find the lines of a text that are most like what was not found in it, as hints in an error."""

from __future__ import annotations

import difflib

import regex

from memory_context.text.lines import line_end, line_start
from memory_context.text.words_and_names import terms

CHARACTERS_SEARCHED = 500_000
WORDS_COMPARED = 3000
LEAST_LIKENESS = 0.7
NEAREST_LINES = 3
LONGEST_LINE = 120
SHORTEST_WORD = 3
_WORD = regex.compile(r"\w{3,40}")


def nearest_lines(text: str, wanted: str) -> list[str]:
    """Return up to three lines that share words with `wanted`, or else have similar words, each as ``120: text``.

    Only the first 500,000 characters are searched.
    """
    head = text[:CHARACTERS_SEARCHED]
    # The only letter that has more than one character in lower case, with which the offsets would not be those of `head`.
    lower = head.replace("İ", "i").lower()
    telling = terms(wanted)[:8]
    words = [word for word in telling if len(word) >= SHORTEST_WORD and word in lower]
    if not words:
        known = dict.fromkeys(_WORD.findall(lower))
        vocabulary = list(known)[:WORDS_COMPARED]
        sought = _WORD.findall(wanted.lower()[:200])
        for word in sought[:4]:
            words += difflib.get_close_matches(word, vocabulary, 1, LEAST_LIKENESS)
    starts = {line_start(head, lower.find(word)) for word in words}
    lines = list[str]()
    for start in sorted(starts)[:NEAREST_LINES]:
        number = text.count("\n", 0, start) + 1
        line = text[start : line_end(text, start)]
        lines.append(f"{number}: {line[:LONGEST_LINE]}")
    return lines
