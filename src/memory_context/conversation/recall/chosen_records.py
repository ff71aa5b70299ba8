"""Choose the records of the conversation's texts that a message is about, by where its terms stand.

Three ways are tried in turn:
- the records that hold most of what the message *tells*, if that is enough (`places_with_most`). A word tells the more,
  the rarer it is;
- the records that a name or a rare value in the message identifies (`places_identified`), unless they came already. A
  question for a reason or an explanation looks for these first, and for the others only if there are none;
- if nothing was found or the message refers back, the windows of lines that hold most of it (`windows_of_text`).

Terms that the chosen records hold are *covered*: no further record is looked for on their account. A word is *met* if it
stands at any place. `FoundTerms` explains the other words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, takewhile

from memory_context.conversation.recall.judge_question_and_verdict import Expansion
from memory_context.conversation.recall.places_in_records import (
    is_listed,
    is_spoken_of,
    is_structured,
    is_value,
    names_its_record,
)
from memory_context.conversation.recall.question_terms import (
    MOST_TERMS,
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

# Outside of lists, a term that stands in more records than this does not identify one.
FEW = 3
# So many places of a term, or of all terms together, are compared by their records, and so many terms of a message.
MOST_COMPARED = 40
MOST_NAMES = 20
# How many terms of the message a window must hold at least, and the least sum of their weights: for a message that does
# not refer back, one that may, and one that surely does (`refers_back`).
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
# If a window holds as much as would do for a message that may refer back, a model may see more in the message.
UNSURE = 1
# An order or a statement must have this many words to ask for a record by what they tell; the verb of an order is one.
LEAST_ASKED = 3
# Of records that are meant alike, one is shown in any case, and others up to this many characters: a few hundred tokens.
SEVERAL_CHARACTERS = 1500
LINE_CHARACTERS = 160
# How many characters of windows are shown.
REPORTED_CHARACTERS = 7000
WINDOWS_CHARACTERS = 3000
_FIRST_WORD = re.compile(r"\W*(\w+)")
# In more chunks than this, of 2,000 characters each, most words of a language stand somewhere by chance.
MANY_CHUNKS = 100
# A record must hold this share of what a message tells: of a question that asks for a fact, of any other
# question, and of what is no question.
LEAST_OF_FACT, LEAST_OF_QUESTION, LEAST_OF_STATEMENT = 0.41, 0.7, 0.9
# The same of a question about something that the answer before it named.
LEAST_OF_NAMED = 0.35
# In prose, other passages are meant as well if they hold this share of what the best one holds.
NEARLY_AS_MUCH = 0.8
# The factors of what a word tells: if it is a name, if it stands nowhere, and if a record's text is described by it.
NAMED = 1.5
MET_NOWHERE = 0.5
DESCRIBES = 0.5


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
    if asks_for_fact(message):
        is_prose = _choose_most(chosen, asked), _choose_named(chosen, asked)
    else:
        # "Why does test_7 fail?" is answered around the name, and not by the one line that says most of it again.
        is_prose = _choose_named(chosen, asked), _choose_most(chosen, asked)
    others_may_say_more = any(is_prose)
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
        most_characters -= chosen.characters
        for key, record, held in best_windows(found, windows, most_characters):
            chosen.show(key, record, held)
    is_clear = not _is_enough(weight, term_count, max(certainty, UNSURE))
    return chosen.expansions(message), is_clear


def records_of_names(message: str, found: FoundTerms, own: int) -> list[Expansion]:
    """Return the records of what the answer before a message has named, if the message asks about that: "her number?".

    Args:
        message: The message.
        found: The places of its terms and of the names.
        own: How many terms are the message's own; the names come behind these.
    """
    chosen = _Chosen(found)
    chosen.take_all(_Asked(message, found, own).places_of_names())
    return chosen.expansions(message)


def _choose_most(chosen: _Chosen, asked: _Asked) -> bool:
    """Choose the records that hold most of what the message tells, if none has been chosen.

    Returns:
        Whether other passages may say more on the same subject, because a record that was chosen is not one of a list.
    """
    if chosen.covered:
        return False
    most = asked.places_with_most()
    chosen.take_all(most)
    return not all(map(is_listed, most))


def _choose_named(chosen: _Chosen, asked: _Asked) -> bool:
    """Choose the records that single names, phrases or rare values identify; a term that came with others is left out.

    Returns:
        Whether other passages may say more on the same subject, because a record that was chosen is not one of a list.
    """
    found = asked.found
    others_may_say_more = False

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    # A pasted log is full of names, and comparing records takes time.
    for number in sorted(range(len(found.terms)), key=order, reverse=True)[:MOST_NAMES]:
        if number in chosen.covered:
            continue
        meant = asked.places_identified(number)
        if meant and not is_listed(meant[0]):
            others_may_say_more = True
        chosen.take_all(meant)
    return others_may_say_more


def _record_text(place: Occurrence) -> str:
    """Return the text of a place's record and heads. Records with the same text are copies, and one of them is enough."""
    return "\n".join(place.text[start:stop] for start, stop in place.record.spans)


@dataclass(frozen=True)
class _Asked:
    """The words that a message asks with, and the records that hold them.

    Attributes:
        message: The message.
        found: The places of its terms.
        own: How many of these are the message's own. Behind them may come names from the answer before it.
    """

    message: str
    found: FoundTerms
    own: int = MOST_TERMS

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
        terms = self.found.terms[: self.own]
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
    def least_share(self) -> float:
        """Return the share of what the message tells that a record must hold.

        What does not ask for a fact, such as "Do newts hibernate?", may be about anything, so there it is more.
        """
        if not self.is_question:
            return LEAST_OF_STATEMENT
        return LEAST_OF_FACT if asks_for_fact(self.message) else LEAST_OF_QUESTION

    def _names_what_is_meant(self, place: Occurrence) -> bool:
        """Return whether a place gives the record the name that the message takes as known: "the function dedent"."""
        term = self.found.terms[place.term]
        # A capitalised word may be a speaker's name, which stands before each of their turns and names none of them.
        may_name = term.is_name or not term.is_capitalised
        return may_name and names_its_record(place) and is_pointed_at(self.message, term)

    def places_with_most(self) -> list[Occurrence]:
        """Return the places whose records hold most of what the message tells, if that is enough; else nothing.

        People ask in words of their own: "Where do I find the moonpetal?" means the line "In the Sunken Chapel grows the
        moonpetal". But a name, a number or a kind of thing that stands nowhere ("What is a prime number?") shows that
        the message is about something else.

        More than three rows or items that hold as much are returned only if they hold much (`LEAST_OF_QUESTION`).
        """
        met = self.found.met
        not_met = [term for number, term in enumerate(self.found.terms) if number not in met]
        is_short = not self.is_question and len(self.words) < LEAST_ASKED - len(self.unmet_order)
        if is_short or not self.words or not all(map(self._may_be_own, not_met)):
            return []
        best_first = self._best_first(filter(self._is_sought, self._told))
        most = self._share_held(best_first[0]) if best_first else 0.0
        least_share = self.least_share
        if self.is_question and best_first and self._names_what_is_meant(best_first[0]):
            best_first = list(filter(self._names_what_is_meant, best_first))
            least_share = LEAST_OF_FACT
        if not best_first or most < least_share:
            return []
        meant = self._meant_alike(best_first)
        return meant if len(meant) <= FEW or most >= LEAST_OF_QUESTION else []

    def places_identified(self, number: int) -> list[Occurrence]:
        """Return the best places of a term if the term identifies their records; else nothing.

        A name does if it stands in few records, or if all of them are structured, as the lines of a log are; so does a
        capitalised word with something else of the message near it. Any other word does if it stands in few records,
        fills a value in those that are meant, and something else of the message stands near one.

        Hour and minute identify nothing unless the message asks: "Remind me at 09:00." is about a time to come.
        """
        term = self.found.terms[number]
        is_appointment = term.text.count(":") == 1 and self.may_be_appointment(term)
        if term.is_short_number or is_appointment:
            return []
        best_first = self._best_first([number])
        are_few = len(best_first) <= FEW
        if not best_first or not (are_few or all(map(is_structured, best_first))):
            return []
        meant = self._meant_alike(best_first)
        if term.is_name:
            return meant
        if term.is_capitalised:
            near = self.found.held_near(meant[0]) | self.found.held_above(meant[0])
            return meant if len(meant) <= FEW and len(near) > 1 else []
        is_spoken = any(is_spoken_of(self.found, place) for place in meant)
        return meant if are_few and is_spoken and all(map(is_value, meant)) else []

    def places_of_names(self) -> list[Occurrence]:
        """Return the best places of the names from the answer before, if a question is about one of them; else nothing.

        Their records must hold as much of the message itself as any other record does, and enough (`LEAST_OF_NAMED`).
        """
        best_first = self._best_first(range(self.own, len(self.found.terms)))
        if not best_first or not self.is_question:
            return []
        others = self._best_first(filter(self._is_sought, self._told))
        most = max(map(self._share_held, [*others[:1], best_first[0]]))
        if self._share_held(best_first[0]) < max(most, LEAST_OF_NAMED):
            return []
        return self._meant_alike(best_first)[:FEW]

    def _best_first(self, terms: Iterable[int]) -> list[Occurrence]:
        """Return a place of some *terms* in each record that is compared, the best first.

        Compared are the places with most of the message beside them; best is what holds most of what it tells.
        """
        found = self.found
        by_term = (found.newest(found.of(number)) for number in terms)
        places = sorted(
            chain.from_iterable(map(_not_naming_fields, by_term)),
            key=lambda place: (found.weight_beside(place), found.recency_of(place)),
            reverse=True,
        )
        in_rows = (place for place in places if not place.names_a_column)
        compared = dict[str, Occurrence]()
        for place in islice(in_rows, MOST_COMPARED):
            compared.setdefault(_record_text(place), place)

        def worth(place: Occurrence) -> tuple[float, bool, float, int, int]:
            near = found.weight_of(found.held_near(place))
            share, names_it = self._share_held(place), names_its_record(place)
            return share, names_it, near, found.recency_of(place), -place.start

        return sorted(compared.values(), key=worth, reverse=True)

    def _meant_alike(self, best_first: Sequence[Occurrence]) -> list[Occurrence]:
        """Return the best place, and those that are meant as well: of rows and items, all whose records hold as much.

        Of passages in prose, those that hold nearly as much, three at most.
        """
        of_list = is_listed(best_first[0])
        least = self._share_held(best_first[0]) * (1.0 if of_list else NEARLY_AS_MUCH)
        meant = list[Occurrence]()
        for place in takewhile(lambda place: self._share_held(place) >= least, best_first):
            if not any(map(place.overlaps, meant)):
                meant.append(place)
        return meant if of_list else meant[:FEW]

    def _may_be_own(self, term: AskedTerm) -> bool:
        """Return whether a term that stands nowhere may be the asker's own word for something."""
        return term.is_plain and not asks_about_kind(self.message, term)

    def _share_held(self, place: Occurrence) -> float:
        """Return the share of what the message tells that the record of a place holds, itself or in its heads.

        A word that only describes the record's text counts half.
        """
        held = self.found.held_by_record(place)
        describing = self.found.described[place.key] - held
        told = sum(tells for number, tells in self._told.items() if number in held)
        described = sum(tells for number, tells in self._told.items() if number in describing)
        # Rounded, so that it is the same for the same words, in whatever order they are summed.
        return round((told + DESCRIBES * described) / (sum(self._told.values()) or 1.0), 6)

    @cached_property
    def _told(self) -> Mapping[int, float]:
        """Return how much each word tells, and each phrase that stands somewhere: the more, the rarer, and names more.

        A word that stands nowhere may be the asker's own. It tells half as much as one that stands once, and not more
        than the one that tells most: what a tool has answered ten times has no rare words.
        """
        met, terms = self.found.met, self.found.terms
        told = dict[int, float]()
        for number in sorted(met):
            term = terms[number]
            if number in self.words or (term.is_phrase and number < self.own):
                is_named = term.is_name or term.is_capitalised
                told[number] = self._rarity(number) * (NAMED if is_named else 1.0)
        most = max(told.values(), default=0.0)
        for number in sorted(self.words - met):
            if not terms[number].is_vague:
                told[number] = min(MET_NOWHERE * self._rarity(number), most)
        return told

    def _rarity(self, number: int) -> float:
        """Return the weight of a term, at most that of one that stands in a single chunk."""
        return min(self.found.weights[number], idf(1, self.found.chunks))

    def _is_sought(self, number: int) -> bool:
        """Return whether records are looked for around a term: it says enough, and does not stand there by chance."""
        term = self.found.terms[number]
        says_little = term.is_short_number or term.is_vague
        if says_little or self.may_be_appointment(term) or asks_about_kind(self.message, term):
            return False
        may_be_chance = not term.is_phrase and self.found.chunks > MANY_CHUNKS
        return not may_be_chance or is_pointed_at(self.message, term)


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
        characters: How long the chosen records are together, without those that stand in the prompt already.
    """

    def __init__(self, found: FoundTerms) -> None:
        self.covered = set[int]()
        self.characters = 0
        self._found = found
        self._is_seen = found.texts.is_seen
        self._left_out = 0
        self._meant = MeantRecords(found.terms)

    def take_all(self, places: Iterable[Occurrence]) -> None:
        """Take the records of places that are meant alike, best first.

        The first one is taken in any case, the others as long as there is room. Those left out are counted.
        """
        for rank, place in enumerate(places):
            record = place.record
            length = record.stop - record.start
            is_seen = self._is_seen(place.key, record.start, record.stop)
            if is_seen or rank == 0 or self.characters + length <= SEVERAL_CHARACTERS:
                self.characters += 0 if is_seen else length
                self.take(place)
            else:
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
