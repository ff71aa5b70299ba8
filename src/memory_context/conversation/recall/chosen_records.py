"""What of a conversation's texts a message is about: places that hold its distinctive terms, by what the index says.

First the records that it names (`places_a_name_means`), then the places that hold all that it asks with, and where there are
none, or it refers back, the lines that hold most of it (`windows_of_text`). Where nothing of that is found, a question gets
the record of a word of it that hardly any other record holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from memory_context.conversation.recall.places_a_name_means import (
    FEW,
    MOST_COMPARED,
    MOST_NAMES,
    is_distinctive,
    is_listed,
    is_no_prose,
    is_value,
    names_its_record,
    places_meant,
)
from memory_context.conversation.recall.question_terms import (
    AskedTerm,
    asks,
    content_terms,
    is_any_one,
    is_pointed_at,
    is_the_one,
    refers_back,
)
from memory_context.conversation.recall.term_occurrences import FoundTerms, Occurrence
from memory_context.conversation.recall.windows_of_text import (
    best_windows,
    line_of,
    terms_at,
    windows_of,
)
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.words_and_names import is_pair

# So many terms must a window hold of a message, and so much must their rarities be together: less if it refers back.
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
# How much of a message must be met that a model may see more in it: as much as if it referred back.
UNSURE = 1
# Of what a message asks for a record must hold so much, by rarity and of the words, and that must tell so much apart, to be
# what it is about.
ALL_OF_IT = 0.9
LEAST_WORDS_OF_IT = 0.8
LEAST_TOGETHER = 0.5
# With so many words something is asked, with one less if it is a question.
LEAST_ASKED = 3
# Then the two words must stand so near each other: "the Prime Minister" has little to do with a number further on.
BESIDE_ANOTHER = 30
# For each word of a question that stands nowhere, so many others must.
UNKNOWN_PART = 2
# Of records that are meant alike so many characters are shown, a few hundred tokens, and one in any case.
SEVERAL_CHARACTERS = 1500
LINE_CHARACTERS = 160
# In more chunks than these, each of 2,000 characters, most words of a language stand somewhere, if by chance.
MANY_CHUNKS = 100
# A word that stands in more records than these means none of them.
MOST_RARE = 2
# Of a question's words the record of a rare one must hold so much.
LEAST_BESIDE_RARE = 0.5

IsSeen: TypeAlias = Callable[[str, int, int], bool]
"""Says whether a part of the text under a key stands in the prompt."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """A memory that a message is about.

    Attributes:
        key: The memory.
        records: What of it is meant, best first.
        terms: The terms of the message that stand there.
        more: How many further records are meant alike, of this memory and those before it.
    """

    key: str
    records: Sequence[Record]
    terms: Sequence[str]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Calls:
    """When the texts came, and by which calls.

    Attributes:
        recency: For each key, a number that is higher for texts that came or were mentioned later.
        call: For each key, what brought the text: the same call made again tells the newer state of the same.
        came: For each key, what is higher for texts that came or were named later, whatever was recalled of them.
    """

    recency: Mapping[str, int]
    call: Mapping[str, Hashable]
    came: Mapping[str, tuple[int, datetime]]

    def newest(self, places: Iterable[Occurrence]) -> list[Occurrence]:
        """Return the places without those in texts of a call that was made again later, and whose answer then has some."""
        places = list(places)
        last = dict[Hashable, str]()
        for key in sorted(dict.fromkeys(place.key for place in places), key=self.came.__getitem__):
            last[self.call[key]] = key
        kept = frozenset(last.values())
        return [place for place in places if place.key in kept]

    def recency_of(self, place: Occurrence) -> int:
        """Return a number that is higher for places in texts that came or were mentioned later."""
        return self.recency.get(place.key, 0)


def relevant(
    message: str, found: FoundTerms, is_seen: IsSeen, calls: Calls
) -> tuple[list[Relevance], bool]:
    """Return what a message is about, best first: the records that it names, else the lines that hold most of it.

    Also returned is whether that is clear: it names something, or next to nothing of it is met.

    Args:
        message: The message.
        found: Where its terms stand.
        is_seen: Whether a part of the text under a key stands in the prompt.
        calls: When the texts came, and by which calls.
    """
    chosen = _Chosen(found, is_seen)
    others_may_say_more = _choose_records(chosen, found, calls)
    asked = _Asked(message, found)
    if not chosen.covered:
        others_may_say_more = True
        chosen.take_all(asked.places_of_all(calls) or _places_called(message, found, calls))
    leans = refers_back(message)
    if chosen.covered and not (leans and others_may_say_more):
        return chosen.relevances(), True
    windows = windows_of(found)
    # The more a message leans on what was said before, the less of it must a window hold.
    leans = max(leans, _points_at_rare(message, found))
    weight, several = _most_held(found, map(terms_at, windows.values()))
    if _is_enough(weight, several, leans):
        for key, record, held in best_windows(found, windows, calls.recency):
            chosen.show(key, record, held)
    elif not chosen.covered:
        chosen.take_all(asked.place_of_rare_word(calls))
    return chosen.relevances(), not _is_enough(weight, several, max(leans, UNSURE))


def _choose_records(chosen: _Chosen, found: FoundTerms, calls: Calls) -> bool:
    """Choose the records of each term that stands for some; return whether others may say more of what is in them."""

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    def worth(place: Occurrence) -> tuple[float, int, int]:
        near = found.weight_of(found.held_near(place))
        return near, calls.recency_of(place), -place.start

    others_may_say_more = False
    for rank, number in enumerate(sorted(range(len(found.terms)), key=order, reverse=True)):
        if number in chosen.covered:
            continue
        # A pasted log is full of names.
        is_compared = rank < MOST_NAMES
        places = places_meant(found, number) if is_compared else found.of(number)
        places = sorted(calls.newest(places), key=calls.recency_of, reverse=True)
        if not is_distinctive(found, number, places, of_list=is_compared):
            continue
        best = sorted(places, key=worth, reverse=True)
        if not is_listed(best[0]):
            others_may_say_more = True
        # Of a time of day each log tells its part.
        is_time = found.terms[number].is_time
        chosen.take_all(best if is_time else _told_alike(found, best[0], places))
    return others_may_say_more


def _told_alike(
    found: FoundTerms, best: Occurrence, places: Iterable[Occurrence]
) -> list[Occurrence]:
    """Return the best place of a term with those in other records that hold as much of the message, if it is in a list."""
    alike = {_written(best): best}
    if not is_listed(best):
        return [best]
    held = found.held_by_record(best) | found.described[best.key]
    for place in places:
        if _written(place) not in alike and is_listed(place):
            also = found.held_by_record(place) | found.described[place.key]
            if also >= held:
                alike[_written(place)] = place
    return list(alike.values())


def _written(place: Occurrence) -> str:
    """Return the record of a place as it is written, with its heads: a copy of it tells nothing new."""
    return "\n".join(place.text[start:stop] for start, stop in place.record.spans)


@dataclass(frozen=True)
class _Asked:
    """What a message asks with.

    Attributes:
        message: The message.
        found: Where its terms stand.
    """

    message: str
    found: FoundTerms

    @cached_property
    def is_question(self) -> bool:
        """Return whether it asks for something."""
        return asks(self.message)

    @cached_property
    def words(self) -> AbstractSet[int]:
        """Return its single words."""
        return content_terms(self.message, self.found.terms)

    @cached_property
    def known(self) -> AbstractSet[int]:
        """Return the words that stand anywhere, if it is a question and that is most of it; else all."""
        return _known_of(self.words, self.found) if self.is_question else self.words

    @cached_property
    def least(self) -> int:
        """Return how many words a record must hold: several, or one that a question means something by."""
        if not self.is_question:
            return LEAST_ASKED
        terms = self.found.terms
        is_meant = all(is_pointed_at(self.message, terms[number]) for number in self.words)
        return 1 if is_meant else LEAST_ASKED - 1

    def places_of_all(self, calls: Calls) -> list[Occurrence]:
        """Return the places whose records hold all that is asked with, best first; of a question all but one word.

        They must tell something apart: by how many words that are and how rare, or in records that are told alike.
        """
        found = self.found
        compared = self._compared(calls)
        best = list(filter(self._is_all_in, compared))
        if self.is_question and not best:
            best = list(filter(self._is_all_but_one_in, compared))
        best = calls.newest(best)
        listed = list(filter(is_listed, best))
        met = [number for number in self.words if found.of(number)]
        is_told_apart = len(self.words) >= LEAST_ASKED or found.weight_of(met) >= LEAST_TOGETHER
        if not is_told_apart or len(listed) == len(best):
            return listed
        rarest = max(met, key=found.weights.__getitem__)
        return [place for place in best if place.term == rarest][:FEW]

    def place_of_rare_word(self, calls: Calls) -> list[Occurrence]:
        """Return the place of a word that hardly any other record holds, where its record holds half of what is asked with.

        People ask in words of their own: "Where do I find the moonpetal?" means the line that has the moonpetal.
        """
        found = self.found
        if not self.is_question:
            return []
        met = found.met
        unknown = [term for number, term in enumerate(found.terms) if number not in met]
        if any(map(self._is_subject, unknown)):
            return []
        rare = list(
            chain.from_iterable(self._places_in_few_records(one, calls) for one in self.words)
        )
        if not rare:
            return []

        def worth(place: Occurrence) -> tuple[float, float, int, int]:
            held = found.weight_of(found.held_by_record(place))
            near = found.weight_of(found.held_near(place))
            return held, near, calls.recency_of(place), -place.start

        best = max(rare, key=worth)
        held = found.held_by_record(best) & self.words
        return [best] if len(held) >= LEAST_BESIDE_RARE * len(self.words) else []

    def _is_subject(self, term: AskedTerm) -> bool:
        """Return whether the message is about *term*, as "Why is the sky blue?" is about the sky, whatever else it says."""
        of_one, of_kind = is_the_one(self.message, term), is_any_one(self.message, term)
        return of_one or of_kind or not term.is_plain

    def _places_in_few_records(self, number: int, calls: Calls) -> list[Occurrence]:
        """Return the places of a word if it means a record: it stands in hardly any other, and not by chance."""
        term = self.found.terms[number]
        if term.is_small or is_any_one(self.message, term):
            return []
        if self.found.chunks > MANY_CHUNKS and not is_pointed_at(self.message, term):
            return []
        # A pair of characters stands inside what is written without spaces.
        may_be_within = is_pair(term.text)
        places, records = list[Occurrence](), set[tuple[str, int]]()
        for place in _told(calls.newest(self.found.of(number))):
            if (place.is_exact or may_be_within) and not place.names_a_column:
                places.append(place)
                records.add((place.key, place.record.start))
                # A common word stands in hundreds of records, and each takes time to find.
                if len(records) > MOST_RARE:
                    return []
        return places

    def _compared(self, calls: Calls) -> Iterable[Occurrence]:
        """Return the places, each in another record, beside which most stands of the words that stand at fewest places."""
        met = filter(None, (_told(self.found.of(number)) for number in self.words))
        # What stands in a header or a heading alone stands in no record.
        places = list(chain.from_iterable(sorted(met, key=len)[:2]))
        places.sort(
            key=lambda place: (self.found.weight_beside(place), calls.recency_of(place)),
            reverse=True,
        )
        compared = dict[str, Occurrence]()
        for place in places[:MOST_COMPARED]:
            compared.setdefault(_written(place), place)
        return compared.values()

    def _is_all_in(self, place: Occurrence) -> bool:
        """Return whether the record of a place holds all."""
        found, known = self.found, self.known
        # In prose, whoever asks in words of their own may well ask for something else.
        if len(known) < self.least or (known != self.words and not is_no_prose(place)):
            return False
        phrases = {number for number, term in enumerate(found.terms) if term.is_phrase}
        # What describes a text is words, and holds no phrase.
        above = found.held_above(place) - phrases
        held = found.held_by_record(place) | above
        if len(known) < LEAST_ASKED:
            begin, end = place.start - BESIDE_ANOTHER, place.stop + BESIDE_ANOTHER
            beside = found.held_in(place.key, begin, end)
            held &= beside | above if known == self.words else beside
        if not held >= phrases or len(held & known) < LEAST_WORDS_OF_IT * len(known):
            return False
        return found.weight_of(held & known) >= ALL_OF_IT * found.weight_of(known)

    def _is_all_but_one_in(self, place: Occurrence) -> bool:
        """Return whether it holds all but one word that is no name, as "the salary expectation of the candidate".

        If that leaves two, it must stand nowhere else, and they side by side in the question as in the record.
        """
        found = self.found
        held = {number for number in self.words if not found.terms[number].is_short_number}
        held &= found.held_by_record(place)
        missing = self.words - held - found.held_above(place)
        if len(missing) != 1 or len(held) < LEAST_ASKED - 1:
            return False
        (unknown,) = missing
        if not found.terms[unknown].is_plain:
            return False
        if len(held) >= LEAST_ASKED:
            return is_no_prose(place)
        first, last = min(held), max(held)
        between = self.words & set(range(first + 1, last)) - missing
        begin, end = place.start - BESIDE_ANOTHER, place.stop + BESIDE_ANOTHER
        beside = [
            other
            for other in found.places_in(place.key, begin, end)
            if other.term in held and not other.names_a_field
        ]
        is_near = {other.term for other in beside} >= held
        # "What does the word serendipity mean?" is about that word; "Who of support lives in Graz?" about two cells.
        is_aside = unknown > last or all(map(is_value, beside))
        return is_near and is_aside and not between and not found.of(unknown)


def _known_of(asked: AbstractSet[int], found: FoundTerms) -> AbstractSet[int]:
    """Return what a question asks with that stands anywhere, if that is most of it: people ask in words of their own.

    A name or a number that stands nowhere is no such word: the question is about something else.
    """
    known = asked & found.met
    unknown = asked - known
    is_named = not all(found.terms[number].is_plain for number in unknown)
    telling = [number for number in known if not found.terms[number].is_short_number]
    if is_named or UNKNOWN_PART * len(unknown) > len(telling):
        return asked
    return known


def _places_called(message: str, found: FoundTerms, calls: Calls) -> list[Occurrence]:
    """Return the places that name their records by a word that a message means: "show me the function dedent"."""
    for number in sorted(content_terms(message, found.terms)):
        term = found.terms[number]
        # A speaker's name stands before each of his turns.
        is_called = term.is_name or not term.is_capitalised
        if is_called and is_pointed_at(message, term):
            places = calls.newest(filter(names_its_record, found.of(number)[:MOST_COMPARED]))
            if 0 < len(places) <= FEW:
                return places
    return []


def _told(places: Sequence[Occurrence]) -> Sequence[Occurrence]:
    """Return the places that are no names of fields, which each record of a list has; of a few all."""
    told = [place for place in places if not place.names_a_field]
    return told or (places if len(places) <= FEW else [])


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


def _is_enough(weight: float, terms: int, leans: int) -> bool:
    """Return whether a window that holds so much of a message shows that the message is about it."""
    least_terms, least_weight = LEAST_HELD[leans]
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
        self._left = SEVERAL_CHARACTERS
        self._more = 0
        self._records = defaultdict[str, list[Record]](list)
        self._terms = defaultdict[str, dict[int, None]](dict)

    def take_all(self, places: Iterable[Occurrence]) -> None:
        """Take the records of places that are meant alike, best first, as far as there is room, and count the others.

        The first one is taken in any case.
        """
        for rank, place in enumerate(places):
            record = place.record
            length = record.stop - record.start
            if rank == 0 or length <= self._left:
                self._left -= length
                self.take(place)
            elif not self._is_seen(place.key, record.start, record.stop):
                self._more += 1

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
        if found and self._more:
            found[-1] = replace(found[-1], more=self._more)
        return found
