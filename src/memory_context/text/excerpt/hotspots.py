"""Where a very long text is worth a closer look: its ends, where the words of a question stand, and errors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from memory_context.text.terms import FAULTS, PLACES, occurrences, terms, weight

LARGE = 100_000
HEAD = 40_000
TAIL = 8_000
BLOCK = 2_000
BLOCKS = 24
FAULTY = 4


def regions(text: str, question: str) -> list[tuple[int, int]]:
    """Beginnings and ends of whole lines (or blocks, where lines are long), in order and apart from each other."""
    ends = [(0, HEAD), (len(text) - TAIL, len(text))]
    words = terms(question)
    found = {
        word: {place // BLOCK for place in places}
        for word, places in occurrences(text, {*words, *FAULTS})
    }
    numbers = [*_best_blocks(found, words), *_faulty_blocks(found)]
    blocks = [(number * BLOCK, (number + 1) * BLOCK) for number in numbers]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(_whole_lines(text, start, end) for start, end in [*ends, *blocks]):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _best_blocks(found: Mapping[str, set[int]], words: Iterable[str]) -> list[int]:
    """The blocks that hold most of `words`, each by its weight and by how few places it has, best first."""
    held: defaultdict[int, float] = defaultdict(float)
    for word in words:
        for number in found.get(word, ()):
            held[number] += weight(word) * math.log(1 + PLACES / len(found[word]))
    return sorted(held, key=lambda number: (-held[number], number))[:BLOCKS]


def _faulty_blocks(found: Mapping[str, set[int]]) -> list[int]:
    """The first and the last blocks that tell of errors."""
    faulty = sorted({number for fault in FAULTS for number in found.get(fault, ())})
    return [*faulty[:FAULTY], *faulty[-FAULTY:]]


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    before = text.rfind("\n", max(0, start - BLOCK), max(start, 0)) + 1
    behind = text.find("\n", min(end, len(text)), end + BLOCK)
    return (before or max(start, 0)), (behind if behind >= 0 else min(end, len(text)))
