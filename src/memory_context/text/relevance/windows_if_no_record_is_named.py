"""Find the windows of lines that hold most of a message, for a message that names no record.

A text is divided into windows of 800 characters. A window's score is the weight of the terms in it, with a share of what
the windows around it hold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.relevance.term_occurrences import FoundTerms

# In characters.
WINDOW = 800
# The factors of what a window itself holds, and of what the windows at a distance of one to four hold on either side:
# people stay on a subject for a while.
OWN_FACTOR = 2.0
FACTORS_BESIDE = (0.8, 0.6, 0.4, 0.2)
# Windows with less than this share of the best score are not shown.
LEAST_OF_BEST = 0.5
# The parameter k1 of BM25: the second occurrence of a word in a window counts less than the first.
SATURATION = 1.2

Window: TypeAlias = tuple[str, int]
"""The key of a text, and the index of a window in it."""


def windows_of(found: FoundTerms) -> dict[Window, Counter[int]]:
    """Return each window that holds terms of a single word, with how often it holds each."""
    windows = defaultdict[Window, Counter[int]](Counter)
    for place in found.occurrences.values():
        if not found.terms[place.term].is_phrase:
            index = line_of(place.text, place.start) // WINDOW
            windows[place.key, index][place.term] += 1
    return windows


def best_windows(
    found: FoundTerms, windows: Mapping[Window, Counter[int]], most_characters: int
) -> Iterator[tuple[str, Record, Iterable[int]]]:
    """Yield the windows that hold most of the message, best first, each as key, record and terms in it.

    Args:
        found: The places of all terms.
        windows: The windows, as `windows_of` returns them.
        most_characters: How many characters the windows may have together.
    """
    scores = _scores(found, windows)
    least = LEAST_OF_BEST * max(scores.values(), default=0.0)
    characters_left = most_characters
    for window in sorted(scores, key=scores.__getitem__, reverse=True):
        key, index = window
        record = _lines_of_window(found.texts.text_of(key), index)
        characters_left -= record.stop - record.start
        if characters_left < 0 or scores[window] < least:
            return
        yield key, record, windows[window]


def _scores(found: FoundTerms, windows: Mapping[Window, Counter[int]]) -> dict[Window, float]:
    """Return the score of each window: the weight of its terms, with a share of the weight in the windows around it."""
    weights = {window: _weight(found, held) for window, held in windows.items()}
    scores = dict[Window, float]()
    for key, index in windows:
        score = OWN_FACTOR * weights[key, index]
        for distance, share in enumerate(FACTORS_BESIDE, 1):
            before = weights.get((key, index - distance), 0.0)
            behind = weights.get((key, index + distance), 0.0)
            score += share * (before + behind)
        scores[key, index] = score
    return scores


def _weight(found: FoundTerms, held: Counter[int]) -> float:
    """Return the weight of the terms in a window; each further place of the same term adds less than the one before."""
    weight = 0.0
    for term, count in held.items():
        saturated = count * (SATURATION + 1) / (count + SATURATION)
        weight += found.weights[term] * saturated
    return weight


def line_of(text: str, place: int) -> int:
    """Return where the line of a place begins; if that is 800 or more characters before it, the place itself."""
    newline = text.rfind("\n", max(0, place - WINDOW), place)
    if newline < 0 and place >= WINDOW:
        return place
    return newline + 1


def _lines_of_window(text: str, index: int) -> Record:
    """Return the lines that begin in a window; where lines are long, the window itself."""
    start = index * WINDOW
    end = min(start + WINDOW, len(text))
    line_stop = text.find("\n", end - 1, end + WINDOW)
    if index:
        start = text.find("\n", start - 1, end) + 1 or start
    if line_stop < 0:
        line_stop = end
    return Record(start, line_stop)
