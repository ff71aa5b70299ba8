"""What of a conversation's texts a message is about: places that hold its distinctive terms, by what the index says.

First the records that it names (`named_records`), then the places that hold all that it asks with, and where there are
none, or it refers back, the lines that hold most of it (`best_windows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memory_context.conversation.recall.best_windows import line_of, passages, terms_at, windows_of
from memory_context.conversation.recall.named_records import (
    FEW,
    MOST_COMPARED,
    is_distinctive,
    is_listed,
    is_no_prose,
    places_meant,
)
from memory_context.conversation.recall.question_terms import (
    AskedTerm,
    content_terms,
    is_pointed_at,
    refers_back,
)
from memory_context.conversation.recall.term_occurrences import FoundTerms, Occurrence
from memory_context.text.excerpt.record import Record

# So many terms must a window hold of a message, and so much must their rarities be together: less if it refers back.
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
# How much of a message must be met that a model may see more in it: as much as if it referred back.
UNSURE = 1
# Of what a message asks for a record must hold so much, by rarity, and that must tell so much apart, to be what it is about.
ALL_OF_IT = 0.9
LEAST_TOGETHER = 0.5
# With so many words something is asked, with one less if it is a question.
LEAST_ASKED = 3
# Then the two words must stand so near each other: "the Prime Minister" has little to do with a number further on.
BESIDE_ANOTHER = 30
# For each word of a question that stands nowhere, so many others must.
UNKNOWN_PART = 2
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
LINE_CHARACTERS = 160

IsSeen: TypeAlias = Callable[[str, int, int], bool]
"""Says whether a part of the text under a key stands in the prompt."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """A memory that a message is about.

    Attributes:
        key: The memory.
        records: What of it is meant, best first.
        terms: The terms of the message that stand there.
    """

    key: str
    records: Sequence[Record]
    terms: Sequence[str]


def relevant(
    message: str, found: FoundTerms, is_seen: IsSeen, recency: Mapping[str, int]
) -> tuple[list[Relevance], bool]:
    """Return what a message is about, best first: the records that it names, else the passages that it speaks of.

    Also returned is whether that is clear: it names something, or next to nothing of it is met.

    Args:
        message: The message.
        found: Where its terms stand.
        is_seen: Whether a part of the text under a key stands in the prompt.
        recency: For each key, a number that is higher for texts that came or were mentioned later.
    """
    chosen = _Chosen(found, is_seen)
    is_open = _choose_records(chosen, found, recency)
    back = refers_back(message)
    if not chosen.covered:
        is_open = True
        for place in _places_of_all(message, found):
            chosen.take(place)
    if chosen.covered and not (back and is_open):
        return chosen.relevances(), True
    windows = windows_of(found)
    back = max(back, _points_at_rare(message, found))
    weight, several = _most_held(found, map(terms_at, windows.values()))
    if _is_enough(weight, several, back):
        for key, record, held in passages(found, windows, recency):
            chosen.show(key, record, held)
    return chosen.relevances(), not _is_enough(weight, several, max(back, UNSURE))


def _choose_records(chosen: _Chosen, found: FoundTerms, recency: Mapping[str, int]) -> bool:
    """Choose a record for each term that stands for one; return whether others may say more of what is in it."""

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    def worth(place: Occurrence) -> tuple[float, int, int]:
        near = found.weight_of(found.held_near(place))
        return near, recency.get(place.key, 0), -place.start

    is_open = False
    for rank, number in enumerate(sorted(range(len(found.terms)), key=order, reverse=True)):
        if number in chosen.covered:
            continue
        # A pasted log is full of names.
        places = places_meant(found, number) if rank < MOST_COMPARED else found.of(number)
        if not is_distinctive(found, number, places):
            continue
        best = sorted(places, key=worth, reverse=True)
        # Of a time of day each log tells its part.
        if not found.terms[number].is_time:
            best = best[:1]
        is_open = is_open or not is_listed(best[0])
        for place in best:
            chosen.take(place)
    return is_open


def _places_of_all(message: str, found: FoundTerms) -> list[Occurrence]:
    """Return the best places whose records hold all that a message asks with.

    That must be several words, or one that a question means something by; and they must tell something apart.
    """
    asked = content_terms(message, found.terms)
    least, known = LEAST_ASKED, asked
    if message.rstrip().endswith(QUESTION_MARKS):
        is_meant = all(is_pointed_at(message, found.terms[number]) for number in asked)
        least = 1 if is_meant else LEAST_ASKED - 1
        known = _known_of(asked, found)
    whole = found.weight_of(known)
    if len(known) < least or whole < LEAST_TOGETHER:
        return []
    phrases = {number for number, term in enumerate(found.terms) if term.is_phrase}
    chosen = list[Occurrence]()
    for place in _places_of_rarest(known, found):
        # In prose, whoever asks in words of their own may well ask for something else.
        if known != asked and not is_no_prose(place):
            continue
        # What describes a text is words, and holds no phrase.
        above = found.held_above(place) - phrases
        held = found.held_by_record(place) | above
        if len(known) < LEAST_ASKED:
            begin, end = place.start - BESIDE_ANOTHER, place.stop + BESIDE_ANOTHER
            held &= above | found.held_in(place.key, begin, end)
        is_all = held >= phrases and found.weight_of(held & known) >= ALL_OF_IT * whole
        if is_all and not any(place.is_in(other.key, other.record) for other in chosen):
            chosen.append(place)
    return chosen[:FEW]


def _known_of(asked: set[int], found: FoundTerms) -> set[int]:
    """Return what a question asks with that stands anywhere, if that is most of it: people ask in words of their own.

    A name or a number that stands nowhere is no such word: the question is about something else.
    """
    known = asked & {place.term for place in found.occurrences.values()}
    unknown = asked - known
    is_named = not all(_is_plain(found.terms[number]) for number in unknown)
    if is_named or UNKNOWN_PART * len(unknown) > len(known):
        return asked
    return known


def _is_plain(term: AskedTerm) -> bool:
    return not (term.is_name or term.is_capitalised or term.is_short_number)


def _places_of_rarest(asked: set[int], found: FoundTerms) -> list[Occurrence]:
    """Return the places of the rarest of some terms, of several that are as rare of all of them, best first."""
    most = max(found.weights[number] for number in asked)
    rarest = [number for number in sorted(asked) if found.weights[number] == most]
    places = [place for number in rarest for place in found.of(number)]
    return sorted(places, key=found.weight_beside, reverse=True)[:MOST_COMPARED]


def _points_at_rare(message: str, found: FoundTerms) -> bool:
    """Return whether a question takes something as known ("our landlord") that stands at few places."""
    return any(
        0 < len(found.of(number)) <= FEW and is_pointed_at(message, term)
        for number, term in enumerate(found.terms)
    )


def _most_held(found: FoundTerms, held: Iterable[Mapping[int, int]]) -> tuple[float, int]:
    """Return the most that a window holds of a message: by rarity, and how many terms that are no short numbers."""
    numbers = {number for number, term in enumerate(found.terms) if term.is_short_number}
    most = (0.0, 0)
    for terms in held:
        weight = sum(found.weights[term] for term in terms)
        most = max(most, (weight, len(terms.keys() - numbers)))
    return most


def _is_enough(weight: float, terms: int, back: int) -> bool:
    """Return whether a window that holds so much of a message shows that the message is about it."""
    least_terms, least_weight = LEAST_HELD[back]
    return terms >= least_terms and weight >= least_weight


def best_lines(found: FoundTerms, text_of: Callable[[str], str]) -> dict[str, str]:
    """Return, for each memory, the line that holds most of the message, cut to 160 characters."""
    weights = defaultdict[tuple[str, int], float](float)
    for place in found.occurrences.values():
        line = line_of(text_of(place.key), place.start)
        weights[place.key, line] += found.weights[place.term]
    lines = dict[str, str]()
    for key, start in sorted(weights, key=weights.__getitem__):
        lines[key] = text_of(key)[start : start + LINE_CHARACTERS].partition("\n")[0]
    return lines


class _Chosen:
    """The records that were chosen, and the terms that they cover.

    Attributes:
        covered: The numbers of these terms.
    """

    def __init__(self, found: FoundTerms, is_seen: IsSeen) -> None:
        self.covered = set[int]()
        self._found = found
        self._is_seen = is_seen
        self._records = defaultdict[str, list[Record]](list)
        self._terms = defaultdict[str, dict[int, None]](dict)

    def take(self, place: Occurrence) -> None:
        """Note that the record of a place covers its term, and the others that stand in it; show what is not in sight."""
        record, terms = place.record, self._found.terms
        held = self._found.held_in(place.key, record.start, record.stop)
        held |= self._found.described[place.key]
        words = set(terms[place.term].words)
        held |= {number for number, term in enumerate(terms) if words.issuperset(term.words)}
        self.covered |= held
        self.show(place.key, record, [place.term, *sorted(held)])

    def show(self, key: str, record: Record, held: Iterable[int]) -> None:
        """Show a passage, unless it stands in the prompt or lies in one that is shown."""
        if self._is_seen(key, record.start, record.stop):
            return
        records = self._records[key]
        if any(shown.start <= record.start and record.stop <= shown.stop for shown in records):
            return
        records.append(record)
        self._terms[key].update(dict.fromkeys(held))

    def relevances(self) -> list[Relevance]:
        """Return what was chosen, for each memory the records in their order."""
        found = list[Relevance]()
        for key, records in self._records.items():
            terms = [self._found.terms[number].text for number in self._terms[key]]
            found.append(Relevance(key, records, terms))
        return found
