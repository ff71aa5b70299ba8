"""Choose the records of the conversation's texts that a message is about, by where its terms stand.

Four ways are tried in turn:
- the records that a name or a rare value in the message identifies (`places_a_name_means`);
- else the records that hold all the words of the message, or of a question nearly all;
- if nothing was found or the message refers back, the windows of lines that hold most of it (`windows_of_text`);
- else, for a question, the records of a word that few records hold.

Terms that the chosen records hold are *covered*: no further record is looked for on their account. A word is *met* if it
stands at any place. `FoundTerms` explains the other words.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, takewhile

from memory_context.conversation.recall.judge_question_and_verdict import Expansion
from memory_context.conversation.recall.places_a_name_means import (
    FEW,
    MOST_COMPARED,
    MOST_NAMES,
    is_distinctive,
    is_listed,
    is_structured,
    names_its_record,
    places_meant,
)
from memory_context.conversation.recall.question_terms import (
    AskedTerm,
    asks,
    asks_about_kind,
    asks_for_fact,
    content_terms,
    is_pointed_at,
    names_alone,
    refers_back,
)
from memory_context.conversation.recall.records_with_reasons import MeantRecords
from memory_context.conversation.recall.term_occurrences import FoundTerms, Occurrence
from memory_context.conversation.recall.windows_of_text import (
    best_windows,
    line_of,
    terms_at,
    windows_of,
)
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.index.bm25 import idf

# How many terms of the message a window must hold at least, and the least sum of their weights: for a message that does
# not refer back, one that may, and one that surely does (`refers_back`).
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
# If a window holds as much as would do for a message that may refer back, a model may see more in the message.
UNSURE = 1
# A record holds "all" of a message if it holds this share of its words.
ALL_OF_IT = 0.8
# A message must have this many words to ask for a record by all of them; a question one less.
LEAST_ASKED = 3
# Two words alone must stand this near each other, in characters: in minutes of a parliament, "the Prime Minister" has
# little to do with "a number of seniors" further on, if a prime number is asked for.
BESIDE_ANOTHER = 30
# For each word of a question that stands nowhere, this many others must stand somewhere.
UNKNOWN_PART = 2
# Of records that are meant alike, one is shown in any case, and others up to this many characters: a few hundred tokens.
SEVERAL_CHARACTERS = 1500
LINE_CHARACTERS = 160
# How many characters of windows are shown.
REPORTED_CHARACTERS = 7000
WINDOWS_CHARACTERS = 3000
_FIRST_WORD = re.compile(r"\W*(\w+)")
# In more chunks than this, of 2,000 characters each, most words of a language stand somewhere by chance.
MANY_CHUNKS = 100
# A word is rare if it stands in this many records at most.
MOST_RARE = 5
# A rare word must have this many letters, unless it is a name.
SHORTEST_RARE = 3
# The record of a question's rare word must hold more than this share of what the question tells: of one that asks for a
# fact, and of any other.
LEAST_OF_FACT, LEAST_SHARE = 0.4, 0.7
# Other records are meant as well if they hold this share of what the best one holds.
NEARLY_AS_MUCH = 0.8
# The factors of what a word tells: if it is a name, and if it stands nowhere.
NAMED = 1.5
MET_NOWHERE = 0.5


def relevant(message: str, found: FoundTerms) -> tuple[list[Expansion], bool]:
    """Return what a message is about, best first, and whether that is clear.

    It is clear if the message identifies records, or if next to nothing of it stands anywhere. Otherwise a model may see
    more in the message than its words say.

    Args:
        message: The message.
        found: The places of its terms.
    """
    chosen = _Chosen(found)
    asked = _Asked(message, found)
    others_may_say_more = _choose_records(chosen, asked)
    if not chosen.covered:
        places = asked.places_with_all_words()
        others_may_say_more = not (places and all(map(is_listed, places)))
        chosen.take_all(places or _places_naming_records(message, found))
    certainty = refers_back(message)
    if chosen.covered and not (certainty and others_may_say_more):
        return chosen.expansions(message), True
    windows = windows_of(found)
    # The more surely a message speaks of something known, the less of it a window needs to hold.
    certainty = max(certainty, _points_at_rare(message, found))
    weight, term_count = _most_held(found, map(terms_at, windows.values()))
    if _is_enough(weight, term_count, certainty):
        # A question about what was said needs much context.
        most_characters = REPORTED_CHARACTERS if refers_back(message) else WINDOWS_CHARACTERS
        for key, record, held in best_windows(found, windows, most_characters):
            chosen.show(key, record, held)
    elif not chosen.covered:
        chosen.take_all(asked.places_of_rare_words(), FEW)
    is_clear = not _is_enough(weight, term_count, max(certainty, UNSURE))
    return chosen.expansions(message), is_clear


def _choose_records(chosen: _Chosen, asked: _Asked) -> bool:
    """Choose the records that single terms or phrases identify.

    Hour and minute identify some only if the message asks: "Remind me at 09:00." is about a time to come.

    Returns:
        Whether other passages may say more on the same subject, because a record that was chosen is not one of a list.
    """

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    def worth(place: Occurrence) -> tuple[float, int, int]:
        near = found.weight_of(found.held_near(place))
        return near, found.recency_of(place), -place.start

    found = asked.found
    others_may_say_more = False
    for rank, number in enumerate(sorted(range(len(found.terms)), key=order, reverse=True)):
        if number in chosen.covered:
            continue
        term = found.terms[number]
        if term.text.count(":") == 1 and asked.may_be_appointment(term):
            continue
        # A pasted log is full of names, and comparing records takes time.
        is_compared = rank < MOST_NAMES
        places = places_meant(found, number) if is_compared else found.of(number)
        places = sorted(found.newest(places), key=found.recency_of, reverse=True)
        if not is_distinctive(found, number, places, of_list=is_compared):
            continue
        best = sorted(places, key=worth, reverse=True)
        if not is_listed(best[0]):
            others_may_say_more = True
        chosen.take_all(_equally_meant(found, best[0], places))
    return others_may_say_more


def _equally_meant(
    found: FoundTerms, best: Occurrence, places: Iterable[Occurrence]
) -> list[Occurrence]:
    """Return the best place of a term and, if it is in a list, a place in each other record that holds as much."""
    alike = {_record_text(best): best}
    if not is_listed(best):
        return [best]
    held = found.held_by_record(best) | found.described[best.key]
    for place in places:
        if _record_text(place) not in alike and is_listed(place):
            also = found.held_by_record(place) | found.described[place.key]
            if also >= held:
                alike[_record_text(place)] = place
    return list(alike.values())


def _record_text(place: Occurrence) -> str:
    """Return the text of a place's record and heads. Records with the same text are copies, and one of them is enough."""
    return "\n".join(place.text[start:stop] for start, stop in place.record.spans)


@dataclass(frozen=True)
class _Asked:
    """The words that a message asks with, and the records that hold them.

    Attributes:
        message: The message.
        found: The places of its terms.
    """

    message: str
    found: FoundTerms

    @cached_property
    def is_question(self) -> bool:
        """Return whether the message is a question, or asks to be shown something, or names it alone."""
        return asks(self.message) or names_alone(self.message)

    def may_be_appointment(self, term: AskedTerm) -> bool:
        """Return whether a term is a time of day in a message that is no question, such as "Remind me at 09:00"."""
        return term.is_time and not asks(self.message)

    @cached_property
    def words(self) -> AbstractSet[int]:
        """Return the single words of the message that ask for something; none in arithmetic such as "7 * 12?"."""
        terms = self.found.terms
        words = content_terms(self.message, terms)
        if all(terms[number].is_short_number for number in words):
            return frozenset()
        return words - self.unmet_order

    @cached_property
    def unmet_order(self) -> AbstractSet[int]:
        """Return the verb of an order if it stands nowhere, which it need not: "kill" in "kill the idle session"."""
        first = _FIRST_WORD.match(self.message)
        if self.is_question or first is None:
            return frozenset()
        terms = enumerate(self.found.terms)
        verb = {number for number, term in terms if term.is_plain and term.text == first[1]}
        return verb - self.found.met

    @cached_property
    def required(self) -> AbstractSet[int]:
        """Return the words that a record must hold: of a question those that stand anywhere, if they are most; else all."""
        return _required_words(self.words, self.found) if self.is_question else self.words

    @cached_property
    def least_words(self) -> int:
        """Return how many words a message must have to mean a record by them.

        That is three, for a question two. One is enough if the question takes it as known: "Who is the Licensor?".
        """
        if not self.is_question:
            return LEAST_ASKED - len(self.unmet_order)
        terms = self.found.terms
        is_meant = all(is_pointed_at(self.message, terms[number]) for number in self.words)
        return 1 if is_meant else LEAST_ASKED - 1

    def places_with_all_words(self) -> list[Occurrence]:
        """Return the places whose records hold all the words, best first.

        Where prose holds the words, at most three places of the rarest word are returned.
        """
        found = self.found
        best = found.newest(filter(self._holds_all, self._compared_places()))
        listed = list(filter(is_listed, best))
        if len(listed) == len(best):
            return listed
        met = [number for number in self.words if found.of(number)]
        rarest = max(met, key=found.weights.__getitem__)
        return [place for place in best if place.term == rarest][:FEW]

    def places_of_rare_words(self) -> list[Occurrence]:
        """Return the best places of the question's rare words, if their records hold enough of what it tells.

        Records that hold nearly as much as the best one are meant alike.

        People ask in words of their own: "Where do I find the moonpetal?" means the line "In the Sunken Chapel grows the
        moonpetal". What does not ask for a fact, such as "Do newts hibernate?", may be about anything, so there a record
        must hold more. A name, a number or a kind of thing that stands nowhere ("What is a prime number?") shows that
        the question is about something else.
        """
        found, met = self.found, self.found.met
        not_met = [term for number, term in enumerate(found.terms) if number not in met]
        if not (self.is_question and all(map(self._may_be_own, not_met))):
            return []

        def worth(place: Occurrence) -> tuple[float, float, int, int]:
            near = found.weight_of(found.held_near(place))
            return self._share_held(place), near, found.recency_of(place), -place.start

        rare = chain.from_iterable(map(self._places_in_few_records, self.words))
        best_first = sorted(rare, key=worth, reverse=True)
        most = self._share_held(best_first[0]) if best_first else 0.0
        if most <= (LEAST_OF_FACT if asks_for_fact(self.message) else LEAST_SHARE):
            return []
        least = NEARLY_AS_MUCH * most
        meant = dict[str, Occurrence]()
        for place in takewhile(lambda place: self._share_held(place) >= least, best_first):
            meant.setdefault(_record_text(place), place)
        return list(meant.values())

    def _may_be_own(self, term: AskedTerm) -> bool:
        """Return whether a term that stands nowhere may be the asker's own word for something."""
        return term.is_plain and not asks_about_kind(self.message, term)

    def _share_held(self, place: Occurrence) -> float:
        """Return the share of what the question tells that stands in the record of a place or in the record's heads."""
        held = self.found.held_by_record(place) & self.words
        share = sum(map(self._told.__getitem__, held)) / sum(self._told.values())
        return round(share, 6)  # the same for the same words, in whatever order they are summed

    @cached_property
    def _told(self) -> Mapping[int, float]:
        """Return how much each word tells."""
        met = self.found.met
        return {number: self._information(number, is_met=number in met) for number in self.words}

    def _information(self, number: int, *, is_met: bool) -> float:
        """Return how much a word tells: the more, the rarer it is, and a name more than others.

        A word that stands nowhere may be the asker's own, and tells half as much.
        """
        term = self.found.terms[number]
        rarity = min(self.found.weights[number], idf(1, self.found.chunks))
        if is_met:
            return rarity * (NAMED if term.is_name or term.is_capitalised else 1.0)
        return 0.0 if term.is_vague else rarity * MET_NOWHERE

    def _places_in_few_records(self, number: int) -> list[Occurrence]:
        """Return the places of a word if it stands in few records, and not by chance; else nothing."""
        term = self.found.terms[number]
        is_too_short = term.is_small and len(term.text) < SHORTEST_RARE
        says_little = term.is_short_number or is_too_short or term.is_vague
        if says_little or self.may_be_appointment(term) or asks_about_kind(self.message, term):
            return []
        if self.found.chunks > MANY_CHUNKS and not is_pointed_at(self.message, term):
            return []
        places, records = list[Occurrence](), set[tuple[str, int]]()
        for place in _not_naming_fields(self.found.newest(self.found.of(number))):
            if not place.names_a_column:
                places.append(place)
                records.add((place.key, place.record.start))
                # A common word stands in hundreds of records, and finding each of them takes time.
                if len(records) > MOST_RARE:
                    return []
        return places

    def _compared_places(self) -> Iterable[Occurrence]:
        """Return the places whose records may hold all the words: one in each record, those with most beside them first.

        They are places of the two words with the fewest places: one alone may stand in a header or a heading only, which
        is in no record.
        """
        by_word = filter(None, (_not_naming_fields(self.found.of(number)) for number in self.words))
        places = list(chain.from_iterable(sorted(by_word, key=len)[:2]))
        places.sort(
            key=lambda place: (self.found.weight_beside(place), self.found.recency_of(place)),
            reverse=True,
        )
        compared = dict[str, Occurrence]()
        for place in places[:MOST_COMPARED]:
            compared.setdefault(_record_text(place), place)
        return compared.values()

    def _holds_all(self, place: Occurrence) -> bool:
        """Return whether the record of a place holds all required words, or nearly (`ALL_OF_IT`), and all phrases."""
        found, required = self.found, self.required
        # Prose must hold every word: "Is a tomato a fruit or a vegetable?" isn't about a talk on fruit and vegetables.
        if len(required) < self.least_words or (
            required != self.words and not is_structured(place)
        ):
            return False
        phrases = {number for number, term in enumerate(found.terms) if term.is_phrase}
        # A card is a set of words, so it cannot tell whether those of a phrase stand side by side.
        above = found.held_above(place) - phrases
        held = found.held_by_record(place) | above
        if len(required) < LEAST_ASKED:
            begin, end = place.start - BESIDE_ANOTHER, place.stop + BESIDE_ANOTHER
            beside = found.held_in(place.key, begin, end)
            held &= beside | above if required == self.words else beside
        return held >= phrases and len(held & required) >= ALL_OF_IT * len(required)


def _required_words(asked: AbstractSet[int], found: FoundTerms) -> AbstractSet[int]:
    """Return the words of a question that stand anywhere, if they are most of them; else all that are *asked*.

    People ask in words of their own, so a record need not have every word. But a name or a number that stands nowhere
    shows that the question is about something else; then all words are required, which hardly any record holds.
    """
    known = asked & found.met
    unknown = asked - known
    is_named = not all(found.terms[number].is_plain for number in unknown)
    significant = [number for number in known if not found.terms[number].is_short_number]
    if is_named or UNKNOWN_PART * len(unknown) > len(significant):
        return asked
    return known


def _places_naming_records(message: str, found: FoundTerms) -> list[Occurrence]:
    """Return the places where a word of the message is the name of a record: "show me the function dedent"."""
    for number in sorted(content_terms(message, found.terms)):
        term = found.terms[number]
        # A capitalised word may be a speaker's name, which stands before each of their turns and names none of them.
        may_name = term.is_name or not term.is_capitalised
        if may_name and is_pointed_at(message, term):
            places = found.newest(filter(names_its_record, found.of(number)[:MOST_COMPARED]))
            if 0 < len(places) <= FEW:
                return places
    return []


def _not_naming_fields(places: Sequence[Occurrence]) -> Sequence[Occurrence]:
    """Return the places that are not names of fields, which every record of a list repeats.

    If all are names of fields, return them if they are few, else nothing.
    """
    others = [place for place in places if not place.names_a_field]
    return others or (places if len(places) <= FEW else [])


def _points_at_rare(message: str, found: FoundTerms) -> bool:
    """Return whether the message takes something as known ("our landlord") that stands at few places."""
    return any(
        0 < len(found.of(number)) <= FEW and is_pointed_at(message, term)
        for number, term in enumerate(found.terms)
    )


def _most_held(found: FoundTerms, held: Iterable[Mapping[int, int]]) -> tuple[float, int]:
    """Return the weight of the window that holds most of the message, and the number of its terms.

    Args:
        found: The places of all terms.
        held: For each window, its terms with how often they stand there.
    """
    most = (0.0, 0)
    for terms in held:
        weight = sum(found.weights[term] for term in terms)
        most = max(most, (weight, len(terms)))
    return most


def _is_enough(weight: float, term_count: int, certainty: int) -> bool:
    """Return whether a message is about a window with so many of its terms, given how surely it refers back."""
    least_terms, least_weight = LEAST_HELD[certainty]
    return term_count >= least_terms and weight >= least_weight


def best_lines(found: FoundTerms) -> dict[str, str]:
    """Return, for each memory, the line with the greatest weight of the message's terms, cut to 160 characters."""
    weights = defaultdict[tuple[str, int], float](float)
    for place in found.occurrences.values():
        line = line_of(place.text, place.start)
        weights[place.key, line] += found.weights[place.term]
    lines = dict[str, str]()
    for key, start in sorted(weights, key=weights.__getitem__):
        text = found.texts.text_of(key)
        lines[key] = text[start : start + LINE_CHARACTERS].partition("\n")[0]
    return lines


class _Chosen:
    """The records chosen so far, and the terms that they cover.

    Attributes:
        covered: The terms that the chosen records hold, whether these are shown or stand in the prompt already.
    """

    def __init__(self, found: FoundTerms) -> None:
        self.covered = set[int]()
        self._found = found
        self._is_seen = found.texts.is_seen
        self._characters_left = SEVERAL_CHARACTERS
        self._left_out = 0
        self._meant = MeantRecords(found.terms)

    def take_all(self, places: Iterable[Occurrence], most: float = math.inf) -> None:
        """Take the records of places that are meant alike, best first, *most* of them at most.

        The first one is taken in any case, the others as long as there is room. Those left out are counted.
        """
        for rank, place in enumerate(places):
            record = place.record
            length = record.stop - record.start
            if rank == 0 or (rank < most and length <= self._characters_left):
                self._characters_left -= length
                self.take(place)
            elif not self._is_seen(place.key, record.start, record.stop):
                self._left_out += 1

    def take(self, place: Occurrence) -> None:
        """Take the record of a place: it covers the terms in it and those that describe its text."""
        record = place.record
        held = self._found.held_in(place.key, record.start, record.stop)
        held |= self._found.described[place.key]
        self.covered |= held
        self.show(place.key, record, [place.term, *sorted(held)])

    def show(self, key: str, record: Record, held: Iterable[int]) -> None:
        """Add a passage with the terms that it holds, unless it stands in the prompt or lies in one that was added."""
        if not self._is_seen(key, record.start, record.stop):
            self._meant.add(key, record, held)

    def expansions(self, message: str) -> list[Expansion]:
        """Return the memories to open, each with the records that were added, in the order in which they were added."""
        found = self._meant.expansions(message)
        if found and self._left_out:
            found[-1] = replace(found[-1], more=self._left_out)
        return found
