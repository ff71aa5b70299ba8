"""Choose the parts of a very long text to read closely: its ends, and those with words of the question or with errors.

The text is searched in blocks of 2,000 characters; the best blocks become *hotspots*, widened to whole lines.
"""

from __future__ import annotations

import math
from collections import defaultdict

from memory_context.text.excerpt.error_words import FAULTS, begins_fault
from memory_context.text.excerpt.objects_of_json import BEGINS_WITH_OBJECT
from memory_context.text.spans import Span, joined
from memory_context.text.words_and_names import MOST_OCCURRENCES, occurrences, terms, weight

LARGE = 100_000
# JSON that begins with an object is read as a whole up to here: a part of it does not say which record it belongs to.
LARGE_JSON = 300_000
HEAD = 40_000
TAIL = 8_000
BLOCK = 2_000
BEST_BLOCKS = 24
FAULTY_BLOCKS = 4


def is_read_in_parts(text: str) -> bool:
    """Return whether a text is so long that only parts of it are read closely."""
    longest = LARGE_JSON if BEGINS_WITH_OBJECT.match(text) else LARGE
    return len(text) > longest


def hotspots(text: str, question: str) -> list[Span]:
    """Return the start and end of each hotspot, in order and not overlapping.

    They are whole lines, or plain blocks where lines are long.
    """
    words = terms(question)
    blocks_of = dict[str, set[int]]()
    with_fault = set[int]()
    for word, places in occurrences(text, {*words, *FAULTS}):
        blocks_of[word] = {place // BLOCK for place in places}
        with_fault.update(place // BLOCK for place in places if begins_fault(text, place))
    scores = defaultdict[int, float](float)
    for word in words:
        blocks = blocks_of.get(word, ())
        for block in blocks:
            rarity = math.log(1 + MOST_OCCURRENCES / len(blocks))
            scores[block] += weight(word) * rarity
    best_first = sorted(scores, key=lambda block: (-scores[block], block))
    faulty = sorted(with_fault)
    chosen = best_first[:BEST_BLOCKS] + faulty[:FAULTY_BLOCKS] + faulty[-FAULTY_BLOCKS:]
    spans = [(block * BLOCK, block * BLOCK + BLOCK) for block in chosen]
    ends = [(0, HEAD), (len(text) - TAIL, len(text))]
    return joined(_whole_lines(text, start, end) for start, end in ends + spans)


def _whole_lines(text: str, start: int, end: int) -> Span:
    """Return the region widened to whole lines; an end that is within a long line stays where it is."""
    start = max(start, 0)
    end = min(end, len(text))
    farthest = max(0, start - BLOCK)
    line_start = text.rfind("\n", farthest, start) + 1
    line_end = text.find("\n", end, end + BLOCK)
    if line_end < 0:
        line_end = end
    return line_start or start, line_end
