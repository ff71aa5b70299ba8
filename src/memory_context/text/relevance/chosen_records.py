"""Choose the records of the conversation's texts that a message is about, by where its terms occur.

Five ways are tried in turn (`RankedPlaces` ranks the places for the second to fourth):
- the rows that a message asks for by a value, such as the largest one (`rows_by_value`);
- the records that hold most of what the message tells, if that is enough;
- the records that a name or a rare value in the message identifies, unless they came already. A question for a reason or
  an explanation looks for these first, and for the others only if there are none;
- for each clause of a question that these do not answer, the records that hold most of what it tells;
- if nothing was found or the message refers back, the windows of lines that hold most of it
  (`windows_if_no_record_is_named`).

A question with a pronoun may mean something that the answer before it named; that is looked for separately
(`records_of_names`). Turns of stored conversations are chosen in the second to fourth way, and are compared with turns only
(`relevant_turns`).

Terms that the chosen records hold are *covered*: no further record is looked for on their account. A term is *met* if it
is anywhere in the texts. `FoundTerms` explains the other words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.lines import line_end, line_start
from memory_context.text.relevance.places_in_records import is_listed
from memory_context.text.relevance.question_terms import (
    is_pointed_at,
    refers_back,
)
from memory_context.text.relevance.ranked_places import FEW, RankedPlaces
from memory_context.text.relevance.reasons_for_records import Expansion, MeantRecords
from memory_context.text.relevance.rows_by_value import rows_by_value
from memory_context.text.relevance.term_occurrences import FoundTerms, Occurrence
from memory_context.text.relevance.windows_if_no_record_is_named import (
    best_windows,
    line_of,
    windows_of,
)

# So many terms of a message are looked for one by one: a pasted log is full of names, and comparing records takes time.
MOST_NAMES = 20
# How many terms of the message a window must hold at least, and the least sum of their weights: for a message that does
# not refer back, one that may, and one that surely does (`refers_back`).
LEAST_HELD = ((3, 7.0), (2, 4.0), (1, 2.5))
# If a window holds as much as would do for a message that may refer back, a model may see more in the message.
UNSURE = 1
# Of records that are meant alike, one is shown in any case, and others up to this many characters in all: a few hundred
# tokens.
SEVERAL_CHARACTERS = 1500
LINE_CHARACTERS = 160
# How many characters of windows are shown.
REPORTED_CHARACTERS = 7000
WINDOWS_CHARACTERS = 3000


def relevant(message: str, found: FoundTerms) -> tuple[list[Expansion], bool]:
    """Return what a message is about, best first, and whether that is clear.

    It is clear if the message identifies records, or if the texts hold next to nothing of it. Otherwise a model may see
    more in the message than its words say.

    Args:
        message: The message.
        found: The places of its terms.
    """
    chosen = _Chosen(found)
    ranked = RankedPlaces(message, found, frozenset(range(len(found.terms))))
    chosen.take_all(rows_by_value(ranked))
    choose, choose_then = _choose_most, _choose_named
    if not ranked.asks_for_fact:
        # "Why does test_7 fail?" is answered around the name, and not by the one line that repeats most of it.
        choose, choose_then = choose_then, choose
    others_may_say_more = choose(chosen, ranked)
    others_may_say_more |= choose_then(chosen, ranked)
    _choose_for_clauses(chosen, ranked)
    certainty = refers_back(message)
    if chosen.covered and not (certainty and others_may_say_more):
        return chosen.expansions(message), True
    windows = windows_of(found)
    # The more surely a message speaks of something known, the less of it a window needs to hold.
    certainty = max(certainty, _points_at_rare(message, found))
    weights = ((found.weight_of(held), len(held)) for held in windows.values())
    most = max(weights, default=(0.0, 0))
    if _is_enough(most, certainty):
        # A question about what was said needs much context.
        most_characters = REPORTED_CHARACTERS if refers_back(message) else WINDOWS_CHARACTERS
        most_characters -= chosen.characters
        for key, record, held in best_windows(found, windows, most_characters):
            chosen.show(key, record, held)
    is_clear = not _is_enough(most, max(certainty, UNSURE))
    return chosen.expansions(message), is_clear


def relevant_turns(message: str, found: FoundTerms, *, only_said: bool = False) -> list[Expansion]:
    """Return the turns of stored conversations that a message is about, three at most.

    Args:
        message: The message.
        found: The places of its terms in conversations.
        only_said: Whether turns that hold them only in results of tools are left out.
    """
    chosen = _Chosen(found)
    terms = frozenset(range(len(found.terms)))
    ranked = RankedPlaces(message, found, terms, of_turns=True, only_said=only_said)
    # No single name identifies a turn: a text that a person pastes is full of names.
    _choose_most(chosen, ranked)
    _choose_for_clauses(chosen, ranked)
    return chosen.expansions(message)


def records_of_names(message: str, found: FoundTerms, own: int) -> list[Expansion]:
    """Return the records of what the answer before a message named, if the message asks about that: "her number?".

    Args:
        message: The message.
        found: The places of its terms and of the names.
        own: How many of the terms are the message's own; the names follow these.
    """
    chosen = _Chosen(found)
    chosen.take_all(RankedPlaces(message, found, frozenset(range(own))).places_of_names())
    return chosen.expansions(message)


def _choose_for_clauses(chosen: _Chosen, ranked: RankedPlaces) -> None:
    """Choose the records for each clause that asks by itself and is not met yet: "Who is it, and when does she come?"."""
    for clause in ranked.clauses():
        if not clause.is_met_by(chosen.covered):
            chosen.take_all(clause.places_with_most())


def _choose_most(chosen: _Chosen, ranked: RankedPlaces) -> bool:
    """Choose the records that hold most of what the message tells, if none has been chosen.

    Returns:
        Whether other passages may say more on the same subject, because a record that was chosen is not one of a list.
    """
    if chosen.covered:
        return False
    most = ranked.places_with_most()
    chosen.take_all(most)
    return not all(map(is_listed, most))


def _choose_named(chosen: _Chosen, ranked: RankedPlaces) -> bool:
    """Choose the records that single names, phrases or rare values identify, unless chosen records hold these already.

    Returns:
        Whether other passages may say more on the same subject, because a record that was chosen is not one of a list.
    """
    found = ranked.found
    others_may_say_more = False

    def order(number: int) -> tuple[bool, float]:
        return found.terms[number].is_phrase, found.weights[number]

    for number in sorted(range(len(found.terms)), key=order, reverse=True)[:MOST_NAMES]:
        if number in chosen.covered:
            continue
        meant = ranked.places_identified(number)
        if meant and not is_listed(meant[0]):
            others_may_say_more = True
        chosen.take_all(meant)
    return others_may_say_more


def _points_at_rare(message: str, found: FoundTerms) -> bool:
    """Return whether the message takes something as known ("our landlord") that occurs at few places."""
    return any(
        0 < len(found.of(number)) <= FEW and is_pointed_at(message, term)
        for number, term in enumerate(found.terms)
    )


def _is_enough(held: tuple[float, int], certainty: int) -> bool:
    """Return whether a message is about a window that holds so much of it, given how surely it refers back.

    Args:
        held: The weight and the number of its terms in the window.
        certainty: See `refers_back`.
    """
    weight, term_count = held
    least_terms, least_weight = LEAST_HELD[certainty]
    return term_count >= least_terms and weight >= least_weight


def best_lines(found: FoundTerms) -> dict[str, str]:
    """Return, for each memory, the line with the greatest weight of the message's terms, cut to 160 characters."""
    weights = defaultdict[tuple[str, int], float](float)
    for place in found.occurrences.values():
        line = line_of(place.text, place.start)
        weights[place.key, line] += found.weights[place.term]
    return {
        key: found.texts.text_of(key)[start : start + LINE_CHARACTERS].partition("\n")[0]
        for key, start in sorted(weights, key=weights.__getitem__)
    }


class _Chosen:
    """The records chosen so far, and the terms that they cover.

    Attributes:
        covered: The terms that the chosen records hold, whether these are shown or are in the prompt already.
        characters: How long the chosen records are together, without those that are in the prompt already.
    """

    def __init__(self, found: FoundTerms) -> None:
        self.covered = set[int]()
        self.characters = 0
        self._found = found
        self._is_seen = found.texts.is_seen
        self._left_out = 0
        self._said = set[str]()
        self._meant = MeantRecords(found.terms)

    def take_all(self, places: Iterable[Occurrence]) -> None:
        """Take the records of places that are meant alike, best first: each covers its terms and those of its text.

        The first one is taken in any case, the others as long as there is room. Those left out are counted.
        """
        for rank, place in enumerate(places):
            if is_conversation(place.text) and self._meant.count >= FEW:
                return
            record = place.record
            length = sum(stop - start for start, stop in record.body)
            # A mail quotes those before it.
            body = place.text[record.start : record.stop]
            said = " ".join(body.replace(">", " ").split())
            is_quoted = body.startswith(">") and said in self._said
            is_in_prompt = is_quoted or self._is_in_prompt(place)
            if not is_in_prompt:
                is_much = self.characters + length > SEVERAL_CHARACTERS
                # A turn may correct the others, and is cut where it is shown.
                if rank > 0 and is_much and not is_conversation(place.text):
                    self._left_out += 1
                    continue
                self.characters += length
            self._said.add(said)
            held = self._found.held_in(place.key, record.start, record.stop)
            held |= self._found.described[place.key]
            self.covered |= held
            if not is_in_prompt:
                self._meant.add(place.key, record, [place.term, *sorted(held)])

    def _is_in_prompt(self, place: Occurrence) -> bool:
        """Return whether the record of a place is in the prompt; of a turn also its line, which may be a tool's result."""
        spans = place.record.body
        if is_conversation(place.text):
            spans.append((line_start(place.text, place.start), line_end(place.text, place.stop)))
        return all(self._is_seen(place.key, *span) for span in spans)

    def show(self, key: str, record: Record, held: Iterable[int]) -> None:
        """Add a passage with the terms that it holds, unless it is in the prompt or within one that was added."""
        if not self._is_seen(key, record.start, record.stop):
            self._meant.add(key, record, held)

    def expansions(self, message: str) -> list[Expansion]:
        """Return the memories to open, each with the records that were added, in the order in which they were added."""
        found = self._meant.expansions(message)
        if found and self._left_out:
            found[-1] = replace(found[-1], more=self._left_out)
        return found
