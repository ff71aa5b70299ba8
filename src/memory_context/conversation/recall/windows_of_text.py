"""Where no record is named: the windows of lines that hold most of a message, near each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from memory_context.conversation.recall.term_occurrences import FoundTerms, Occurrence
from memory_context.text.excerpt.record_around_place import Record

# Characters.
WINDOW = 800
# A window counts more beside others that hold something, for people stay with a subject for a while.
OWN = 2.0
BESIDE = (0.8, 0.6, 0.4, 0.2)
LEAST_OF_BEST = 0.3
# BM25's saturation, for k1 = 1.2: the second time that a word stands in a window counts less than the first.
SATURATION = 1.2
# On recorded agents, "the newest three" hold what the next step uses in nine of ten cases.
NEWEST = 3
NEWER = 1.1
PROSE_CHARACTERS = 7000
# Of a numbered thing that stands in many places, the best say enough; a question in plain words needs what is around.
NAMED_CHARACTERS = 4000

Window: TypeAlias = tuple[str, int]
"""The key of a text, and the number of a window of some lines in it."""


def windows_of(found: FoundTerms) -> dict[Window, list[Occurrence]]:
    """Return where single terms stand in each window of lines."""
    windows = defaultdict[Window, list[Occurrence]](list)
    for place in found.occurrences.values():
        if not found.terms[place.term].is_phrase:
            index = line_of(place.text, place.start) // WINDOW
            windows[place.key, index].append(place)
    return windows


def terms_at(places: Iterable[Occurrence]) -> Counter[int]:
    """Return how often each term stands at some places."""
    return Counter(place.term for place in places)


def best_windows(
    found: FoundTerms, windows: Mapping[Window, Sequence[Occurrence]], recency: Mapping[str, int]
) -> Iterator[tuple[str, Record, list[int]]]:
    """Yield the windows of lines that hold most of the message, with the terms in them, best first.

    Of what came or was spoken of last each counts a little more.
    """
    scores = _scores(found, windows, recency)
    ranked = sorted(scores, key=lambda window: -scores[window])
    names = "".join(term.text for term in found.terms if term.is_name)
    left = NAMED_CHARACTERS if any(map(str.isdigit, names)) else PROSE_CHARACTERS
    for window in ranked:
        places = windows[window]
        record = _lines_of_window(places[0].text, window[1])
        left -= record.stop - record.start
        if left < 0 or scores[window] < LEAST_OF_BEST * scores[ranked[0]]:
            return
        yield window[0], record, list(terms_at(places))


def _scores(
    found: FoundTerms, windows: Mapping[Window, Sequence[Occurrence]], recency: Mapping[str, int]
) -> dict[Window, float]:
    """Return how much each window holds of the message, with a share of what those beside it hold."""
    alone = defaultdict[Window, float](float)
    for window, places in windows.items():
        for term, times in terms_at(places).items():
            often = times * (SATURATION + 1) / (times + SATURATION)
            alone[window] += found.weights[term] * often
    newest = sorted(recency, key=lambda key: -recency[key])[:NEWEST]
    scores = dict[Window, float]()
    for key, index in windows:
        score = OWN * alone[key, index]
        for distance, share in enumerate(BESIDE, 1):
            score += share * (alone[key, index - distance] + alone[key, index + distance])
        scores[key, index] = score * (NEWER if key in newest else 1.0)
    return scores


def line_of(text: str, place: int) -> int:
    """Return where the line begins that a place is in; of a long line, the place itself."""
    return text.rfind("\n", max(0, place - WINDOW), place) + 1 or place


def _lines_of_window(text: str, index: int) -> Record:
    """Return the lines that begin in a window; of long lines, the window."""
    start, end = index * WINDOW, min((index + 1) * WINDOW, len(text))
    stop = text.find("\n", end - 1, (index + 2) * WINDOW)
    if index:
        start = text.find("\n", start - 1, end) + 1 or start
    return Record(start, stop if stop >= 0 else end)
