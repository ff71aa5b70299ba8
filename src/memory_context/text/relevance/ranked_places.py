"""Rank the places of a message's terms by the share of the message that their records hold, and tell which are meant.

The rarer a word is, the more it *tells*. A record *holds* what is in it or in its heads, or describes its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from itertools import chain, islice

from memory_context.text.excerpt.turns_of_conversations import said_lines
from memory_context.text.index.bm25 import idf
from memory_context.text.relevance.places_in_records import (
    is_listed,
    is_spoken_of,
    is_structured,
    names_its_record,
)
from memory_context.text.relevance.question_terms import (
    AskedTerm,
    asked_terms,
    asks,
    asks_about_kind,
    asks_for_fact,
    clauses,
    content_terms,
    is_pointed_at,
    may_be_noun,
    names_alone,
)
from memory_context.text.relevance.term_occurrences import FoundTerms, Occurrence

# Outside of lists, a term that is in more records than this does not identify one.
FEW = 3
# So many places of a term, or of all terms together, are compared by their records.
MOST_COMPARED = 40
# An order or a statement must have this many words to ask for a record by what they tell; the verb of an order is one.
LEAST_ASKED = 3
_FIRST_WORD = re.compile(r"\W*(\w+)")
# In more chunks than this, of 2,000 characters each, most words of a language occur by chance.
MANY_CHUNKS = 100
# A record must hold this share of what a message tells: of a question that asks for a fact, of any other
# question, and of what is no question.
LEAST_OF_FACT, LEAST_OF_QUESTION, LEAST_OF_STATEMENT = 0.41, 0.7, 0.9
# The same for turns; what else they must hold, `RankedPlaces` decides.
LEAST_OF_FACT_IN_TURN, LEAST_OF_QUESTION_IN_TURN, LEAST_OF_STATEMENT_IN_TURN = 0.33, 0.55, 0.5
# The same for a question about something that the answer before it named.
LEAST_OF_NAMED = 0.35
# Other records are meant as well if they hold this share of what the best one holds: in prose, and where it is uncertain
# whether the best one is meant.
NEARLY_AS_MUCH, ABOUT_AS_MUCH = 0.8, 0.6
# The same for a turn that was said later, and may correct the best one.
CORRECTS = 0.2
# The factors of what a word tells: if it is a name, if no text holds it, and if it only describes a record's text.
NAMED = 1.5
MET_NOWHERE = 0.5
# The factor of a name, number or kind of thing that no turn holds: a turn may be meant nevertheless.
NAMED_NOWHERE_IN_TURNS = 2.5
DESCRIBES = 0.5


@dataclass(frozen=True)
class RankedPlaces:
    """The words that a message asks with, and the records that hold them.

    Attributes:
        message: The message.
        found: The places of its terms.
        asked: Which of the terms the message asks with: not the names from the answer before it.
        of_turns: Whether the texts are stored conversations.
        only_said: Whether results of tools in turns do not make a turn an answer, as records say the same.
    """

    message: str
    found: FoundTerms
    asked: AbstractSet[int]
    of_turns: bool = False
    only_said: bool = False

    def clauses(self) -> Iterator[RankedPlaces]:
        """Yield each clause that asks by itself, if the message has several: "Who is it, and when does she come?"."""
        for part in clauses(self.message):
            words = {term.words for term in asked_terms(part)}
            terms = enumerate(self.found.terms)
            asked = {number for number, term in terms if term.words in words}
            yield replace(self, message=part, asked=asked & self.asked)

    @cached_property
    def is_question(self) -> bool:
        """Return whether the message is a question, or asks to be shown something, or names it alone."""
        return asks(self.message) or names_alone(self.message)

    def may_be_appointment(self, term: AskedTerm) -> bool:
        """Return whether a term is a time of day in a message that is no question, such as "Remind me at 09:00"."""
        return term.is_time and not asks(self.message)

    @cached_property
    def words(self) -> AbstractSet[int]:
        """Return the single words of the message that ask for something."""
        words = content_terms(self.message, self.found.terms) & self.asked
        return words - self.unmet_order

    @cached_property
    def unmet_order(self) -> AbstractSet[int]:
        """Return the verb of an order if no text holds it, as none need: "kill" in "kill the idle session"."""
        first = _FIRST_WORD.match(self.message)
        if self.is_question or first is None:
            return frozenset()
        terms = enumerate(self.found.terms)
        verb = {number for number, term in terms if term.is_plain and term.text == first[1]}
        return verb - self.found.met

    @cached_property
    def is_short(self) -> bool:
        """Return whether the message has too few words to be about something: it is no question, and for turns no name."""
        terms = [self.found.terms[number] for number in self.words]
        if self.of_turns and any(term.is_name or term.is_capitalised for term in terms):
            return False
        return not self.is_question and len(terms) < LEAST_ASKED - len(self.unmet_order)

    @cached_property
    def least_share(self) -> float:
        """Return the share of what the message tells that a record must hold.

        A message that does not ask for a fact, such as "Do newts hibernate?", may be about anything, so it needs more.
        """
        if not self.is_question:
            return LEAST_OF_STATEMENT_IN_TURN if self.of_turns else LEAST_OF_STATEMENT
        if self.of_turns:
            return LEAST_OF_FACT_IN_TURN if self.asks_for_fact else LEAST_OF_QUESTION_IN_TURN
        return LEAST_OF_FACT if self.asks_for_fact else LEAST_OF_QUESTION

    @cached_property
    def asks_for_fact(self) -> bool:
        """Return whether the message asks for a fact, and not for a reason or an explanation."""
        return asks_for_fact(self.message)

    def _names_what_is_meant(self, place: Occurrence) -> bool:
        """Return whether a place is the name of its record, and the message takes it as known: "the function dedent"."""
        term = self.found.terms[place.term]
        # A capitalised word may be a speaker's name, which is before each of their turns and names none of them.
        may_name = term.is_name or not term.is_capitalised
        return may_name and names_its_record(place) and is_pointed_at(self.message, term)

    def places_with_most(self) -> list[Occurrence]:
        """Return the places whose records hold most of what the message tells, if that is enough; else nothing.

        People ask in words of their own: "Where do I find the moonpetal?" means the line "In the Sunken Chapel grows the
        moonpetal". But a name, a number or a kind of thing that no text holds ("What is a prime number?") shows that the
        message is about something else; a turn must only hold more.

        More than three rows or items that hold as much are returned only if they hold much (`LEAST_OF_QUESTION`).
        """
        not_met = [self.found.terms[number] for number in self.asked - self.found.met]
        may_be_met = self.of_turns or all(map(self.may_be_own, not_met))
        if self.is_short or not self.words or not may_be_met:
            return []
        best_first = self._best_first(filter(self._is_sought, self.told))
        most = self._share_held(best_first[0]) if best_first else 0.0
        least_share = self.least_share
        if self.is_question and best_first and self._names_what_is_meant(best_first[0]):
            best_first = list(filter(self._names_what_is_meant, best_first))
            least_share = LEAST_OF_FACT
        if most < least_share:
            return []
        is_certain = most >= LEAST_OF_QUESTION
        meant = self._meant_alike(best_first, is_certain=is_certain)
        return meant if len(meant) <= FEW or is_certain else []

    def places_identified(self, number: int) -> list[Occurrence]:
        """Return the best places of a term if the term identifies their records; else nothing.

        A name does if it is in few records, or if most of them are structured, as the lines of a log are, and not only
        paths below the folder that an order names ("Rename it in src/v4"). So does a capitalised word if all of them
        are, with something else of the message near it. Any other word does if it is in few records, fills a value in
        those that are meant, and has something else of the message near it in one of them.

        A time without seconds identifies nothing unless the message asks: "Remind me at 09:00." is about the future.
        """
        term = self.found.terms[number]
        is_appointment = term.text.count(":") == 1 and self.may_be_appointment(term)
        is_frequent = term.is_plain and len(self.found.of(number)) > FEW
        if term.is_short_number or is_appointment or is_frequent:
            return []
        best_first = self._best_first([number])
        are_few = len(best_first) <= FEW
        if not are_few:
            listed = list(filter(self._lists_what_is_named, best_first))
            others = len(best_first) - len(listed)
            if others > (len(listed) - 1) * term.is_name:
                return []
            best_first = listed
        if not best_first:
            return []
        meant = self._meant_alike(best_first, is_certain=True)
        if term.is_name:
            return meant
        if term.is_capitalised:
            # "Thanks, Anna!" has no other term, and asks for nothing.
            has_more = len(self.found.terms) > 1 and is_spoken_of(self.found, meant[0])
            return meant if len(meant) <= FEW and has_more else []
        is_spoken = any(is_spoken_of(self.found, place) for place in meant)
        return meant if are_few and is_spoken and all(place.is_value for place in meant) else []

    def _lists_what_is_named(self, place: Occurrence) -> bool:
        """Return whether a place is in one of several records of what it names."""
        name = self.found.terms[place.term].text
        # "web-3" before a slash is the host of an address.
        is_below = "/" in name and f"{name}/" in place.text[place.start : place.stop]
        return is_structured(place) and (self.is_question or not is_below)

    def places_of_names(self) -> list[Occurrence]:
        """Return the best places of the names from the answer before, if a question is about one of them; else nothing.

        Their records must hold as much of the message itself as any other record does, and enough (`LEAST_OF_NAMED`).
        """
        if not self.is_question:
            return []
        best_first = self._best_first(self.found.met - self.asked)
        if not best_first:
            return []
        others = self._best_first(filter(self._is_sought, self.told))
        most = max(map(self._share_held, [*others[:1], best_first[0]]))
        if self._share_held(best_first[0]) < max(most, LEAST_OF_NAMED):
            return []
        return self._meant_alike(best_first, is_certain=True)[:FEW]

    def _best_first(self, terms: Iterable[int]) -> list[Occurrence]:
        """Return a place of some *terms* in each record that is compared, the best first.

        The places with most of the message beside them are compared; the best are those that hold most of what it tells.
        If none of them answers, return nothing.
        """
        found = self.found
        by_term = (found.newest(found.of(number)) for number in terms)
        places = sorted(
            chain.from_iterable(map(_not_naming_fields, by_term)),
            key=lambda place: (found.weight_beside(place), found.texts.recency_of(place.key)),
            reverse=True,
        )
        in_rows = (place for place in places if not place.names_a_column)
        compared = dict[str, Occurrence]()
        for place in islice(in_rows, MOST_COMPARED):
            compared.setdefault(_record_text(place), place)

        def worth(place: Occurrence) -> tuple[bool, float, float, float, int, int]:
            near = found.weight_of(found.held_near(place))
            share, names_it = self._share_held(place), names_its_record(place)
            # "Why does test_7 fail?" is answered where test_7 is, not by the line that repeats most of the question.
            first, second = (share, names_it) if self.asks_for_fact else (names_it, share)
            recency = found.texts.recency_of(place.key)
            return self._answers(place), first, second, near, recency, -place.start

        best_first = sorted(compared.values(), key=worth, reverse=True)
        return best_first if any(map(self._answers, best_first)) else []

    def _answers(self, place: Occurrence) -> bool:
        """Return whether the record of a place may be what is meant, and not only say more about that.

        A turn must hold a word that the message takes as known ("our kickoff"), or, for a question, two words that are not
        small: people use the same words about many things.
        """
        if not self.of_turns:
            return True
        terms = [self.found.terms[number] for number in self._held(place)]
        telling = [term for term in terms if not term.is_small]
        is_known = partial(is_pointed_at, self.message, in_orders=not self.is_question)
        return any(map(is_known, terms)) or (self.is_question and len(telling) > 1)

    def _meant_alike(
        self, best_first: Sequence[Occurrence], *, is_certain: bool
    ) -> list[Occurrence]:
        """Return the best place, and those that are meant as well: three at most that hold enough of what it holds.

        Rows and items that hold as much as the best one are all meant. Unless it *is_certain* that the best one is meant,
        others need to hold less; so do turns that were said later, which may correct it. Of turns that hold as much as
        the best one, the newest is the third at least.
        """
        best = best_first[0]
        of_list = is_listed(best)
        most = self._share_held(best)
        least = most * ABOUT_AS_MUCH
        if is_certain:
            least = most if of_list else most * NEARLY_AS_MUCH
        meant = list[Occurrence]()
        for place in best_first:
            share = self._share_held(place)
            is_one_more = len(meant) >= FEW and not (of_list and share >= most)
            is_as_good = share >= least and self._answers(place)
            is_later = self.of_turns and self._said_at(place) > self._said_at(best)
            may_correct = is_later and share >= most * CORRECTS
            if is_one_more or not (is_as_good or may_correct):
                continue
            if not any(map(place.overlaps, meant)):
                meant.append(place)
        if self.of_turns:
            as_good = [place for place in best_first if self._share_held(place) >= most]
            newest = max(filter(self._answers, as_good), key=self._said_at, default=best)
            if not any(map(newest.overlaps, meant)):
                meant[FEW - 1 :] = [newest]
        return meant

    def _said_at(self, place: Occurrence) -> tuple[datetime, int]:
        """Return a value that is higher for what was said later in conversations."""
        return self.found.texts.stored_at(place.key), place.start

    def may_be_own(self, term: AskedTerm) -> bool:
        """Return whether a term that no text holds may be the asker's own word for something."""
        is_word = term.is_plain or may_be_noun(self.message, term)
        return is_word and not asks_about_kind(self.message, term)

    def _share_held(self, place: Occurrence) -> float:
        """Return the share of what the message tells that the record of a place holds, itself or in its heads.

        A word that only describes the record's text counts half.
        """
        held = self._held(place)
        describing = self.found.described[place.key] - held
        # Rounded, so that it is the same for the same words, in whatever order they are summed.
        return round(self._share_told(held) + DESCRIBES * self._share_told(describing), 6)

    def _held(self, place: Occurrence) -> AbstractSet[int]:
        """Return the terms that the record of a place holds, itself or in its heads."""
        if not self.only_said:
            return self.found.held_by_record(place)
        lines = said_lines(place.text, place.record.start, place.record.stop)
        return set(chain.from_iterable(self.found.held_in(place.key, *line) for line in lines))

    def _share_told(self, terms: AbstractSet[int]) -> float:
        """Return the share of what the message tells that *terms* tell."""
        told = sum(tells for number, tells in self.told.items() if number in terms)
        return told / (sum(self.told.values()) or 1.0)

    def is_met_by(self, terms: AbstractSet[int]) -> bool:
        """Return whether *terms* tell enough of what the message tells."""
        return self._share_told(terms) >= self.least_share

    @cached_property
    def told(self) -> Mapping[int, float]:
        """Return how much each word tells, and each phrase that is met: rarer ones tell more, and so do names.

        A word that no text holds may be the asker's own. It tells half as much as one in a single chunk, but not more
        than the most telling word that is met: if a tool returned the same text ten times, that text has no rare words.
        """
        met, terms = self.found.met, self.found.terms
        told = dict[int, float]()
        for number in sorted(met):
            term = terms[number]
            if number in self.words or (term.is_phrase and number in self.asked):
                is_named = term.is_name or term.is_capitalised
                told[number] = self._rarity(number) * (NAMED if is_named else 1.0)
        most = max(told.values(), default=0.0)
        # A turn that holds an identifier is meant, whoever else is named.
        named = [terms[number] for number in met & self.asked]
        is_identified = any(term.is_name and not term.is_short_number for term in named)
        for number in sorted(self.words - met):
            term, rarity = terms[number], self._rarity(number)
            if self.of_turns and not is_identified and not self.may_be_own(term):
                told[number] = NAMED_NOWHERE_IN_TURNS * rarity
            elif not term.is_vague:
                told[number] = min(MET_NOWHERE * rarity, most)
        return told

    def _rarity(self, number: int) -> float:
        """Return the weight of a term, at most that of one in a single chunk."""
        return min(self.found.weights[number], idf(1, self.found.chunks))

    def _is_sought(self, number: int) -> bool:
        """Return whether records are looked for around a term: it says enough, and is not in a text by chance."""
        term = self.found.terms[number]
        says_little = term.is_short_number or term.is_vague
        if says_little or self.may_be_appointment(term) or asks_about_kind(self.message, term):
            return False
        may_be_chance = not term.is_phrase and self.found.chunks > MANY_CHUNKS
        return not may_be_chance or is_pointed_at(self.message, term)


def _record_text(place: Occurrence) -> str:
    """Return the text of a place's record and heads. Records with the same text are copies, and one of them is enough."""
    return "\n".join(place.text[start:stop] for start, stop in place.record.spans)


def _not_naming_fields(places: Sequence[Occurrence]) -> Sequence[Occurrence]:
    """Return the places that are not names of fields, which every record of a list repeats.

    If all are names of fields, return them if they are few, else nothing.
    """
    others = [place for place in places if not place.names_a_field]
    return others or (places if len(places) <= FEW else [])
