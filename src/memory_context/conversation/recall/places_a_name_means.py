"""Decide which of a name's places a message means, and whether the name stands for a record at all.

A *place* is where a term of the message stands (`Occurrence`), a *record* what makes sense alone around it. Of a name's
places those are *meant* whose records hold the most of the message's other names. A record is *listed* if it is one of
several of a kind: a row, an item, a line of a log. Prose is what is not structured in any such way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from memory_context.conversation.recall.term_occurrences import (
    NEAR,
    FoundTerms,
    Occurrence,
    wanted_lexemes,
)
from memory_context.text.index.analyzer import held_by

# Outside of lists, a name that stands at more places than this does not identify a record.
FEW = 3
# Fewer places than MOST_COMPARED are all compared by their records. Of more, only the BEST_COMPARED are that have most
# of the message near them. It is done for MOST_NAMES terms of a message, because a pasted log is full of names.
MOST_COMPARED = 40
BEST_COMPARED = 12
MOST_NAMES = 12
# Two neighbouring lines with the same signs between their words are entries of a list if they have this many words.
LEAST_WORDS = 4
BESIDE_CHARACTERS = 600
# The name of a function has fewer words than this before it: "async def name".
MOST_BEFORE_NAME = 3
NAME_CLOSES = frozenset(("(", "[", "{", "<", ":", "=", "]", ">", "\n"))
_WORD = re.compile(r"\w+")
VALUE_OPENS = frozenset(('"', "'", "=", ",", "\t", "|", ">"))
VALUE_CLOSES = frozenset(('"', "'", ",", "\t", "|", "<", "\n", "", " ", ";"))


def places_meant(found: FoundTerms, number: int) -> list[Occurrence]:
    """Return the places of a term that the message means.

    Names in a message narrow each other down: "request 57 on web-7" means the places of "web-7" whose records hold
    "request 57" too. So of a name only the places are returned whose records, with what describes their texts, hold
    most of the message's names, provided that these places are structured. Of any other term, all places are returned.
    """
    term, places = found.terms[number], found.of(number)
    if len(places) < 2 or not (term.is_name or term.is_capitalised):
        return places
    meant = _with_most_names(found, places)
    # In prose and in what people say in turns, a passage with fewer of the names may say the same in other words.
    # "Flight" in a message is not the name of something because a text has a "flight_number".
    is_name = term.is_name or all(place.text[place.start].isupper() for place in meant)
    return meant if is_name and all(map(is_listed, meant)) else places


def _with_most_names(found: FoundTerms, places: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the places whose records, with what describes their texts, hold the most names of the message, by weight."""

    def weights_near(place: Occurrence) -> tuple[float, bool, float]:
        near = found.weight_of(found.held_near(place) | found.described[place.key])
        return near, is_value(place), found.weight_beside(place)

    names = {
        number
        for number, term in enumerate(found.terms)
        if term.is_name or term.is_capitalised or term.is_phrase
    }

    def weights_held(place: Occurrence) -> tuple[float, float]:
        held = found.held_by_record(place) & names
        described = found.described[place.key] & names
        return found.weight_of(held | described), found.weight_of(held)

    compared = sorted(places, key=weights_near, reverse=True)[: _most_compared(places)]
    weights = list(map(weights_held, compared))
    most = max(weights)
    return [place for place, weight in zip(compared, weights, strict=True) if weight == most]


def _most_compared(places: Sequence[Occurrence]) -> int:
    """Return how many of *places* are compared at most."""
    return MOST_COMPARED if len(places) < MOST_COMPARED else BEST_COMPARED


def is_distinctive(
    found: FoundTerms, number: int, places: Sequence[Occurrence], *, of_list: bool
) -> bool:
    """Return whether a term identifies the records at *places*.

    A name does if they are few, or if all of them are structured, such as its rows or its lines in a log. A capitalised
    word does if they are few and near something else of the message. Any other word does if they
    are few, it fills a value at each of them, and something else of the message stands near one.

    Args:
        found: The places of all terms.
        number: The term.
        places: The places of the term that the message means.
        of_list: Whether a name at more places may mean all of them.
    """
    term = found.terms[number]
    # A place with the same surroundings in a copy of a log is the same place.
    different = {place.text[max(0, place.start - NEAR) : place.stop + NEAR] for place in places}
    if term.is_short_number or not different:
        return False
    if len(different) > FEW:
        return of_list and term.is_name and all(map(is_structured, places))
    if term.is_name:
        return True
    beside = found.held_near(places[0]) | found.held_above(places[0])
    if term.is_capitalised and len(beside) > 1:
        return True
    if any(place.names_a_column for place in places):
        return False
    return all(map(is_value, places)) and any(_is_spoken_of(found, place) for place in places)


def is_listed(place: Occurrence) -> bool:
    """Return whether a place is in one of several records of a kind: an item, a row, a value, a line of a log."""
    return place.record.comes_again or is_structured(place)


def is_structured(place: Occurrence) -> bool:
    """Return whether a place is in a line of a list, a record with a head, or a value: not in a sentence or a turn."""
    return _is_line_of_list(place) or _has_head_or_is_value(place)


def names_its_record(place: Occurrence) -> bool:
    """Return whether a place names its record, as a function's name does: among the first words of several lines.

    Behind such a name stands a sign that opens a body or ends the line; behind a word of prose stands the next word.
    """
    if not place.is_exact or place.text[place.stop : place.stop + 1] not in NAME_CLOSES:
        return False
    start, stop = place.record.start, place.record.stop
    before = _WORD.findall(place.text, start, place.start)
    return place.start < place.text.find("\n", start, stop) and len(before) < MOST_BEFORE_NAME


def _is_spoken_of(found: FoundTerms, place: Occurrence) -> bool:
    """Return whether another term of the message stands near a place or in its heads, or the message has no other term.

    A cell may hold any word. "Keep the answers short" has nothing to do with a person called Short, but "What is the
    name of short?" does: the table has a column "name".
    """
    others = [term for number, term in enumerate(found.terms) if number != place.term]
    if len(found.held_near(place)) > 1 or not others:
        return True
    asked = set(chain.from_iterable(map(wanted_lexemes, others)))
    return any(held_by(place.text[start:stop], asked) for start, stop in place.record.heads)


def is_value(place: Occurrence) -> bool:
    """Return whether a place fills a value, which is a field's, a cell or a string, as far as the signs around it tell."""
    before = place.text[max(0, place.start - 2) : place.start]
    opens = before[-1:] in VALUE_OPENS or before in (": ", "= ")
    return opens and place.text[place.stop : place.stop + 1] in VALUE_CLOSES


def _has_head_or_is_value(place: Occurrence) -> bool:
    return bool(place.record.heads) or is_value(place)


def _is_line_of_list(place: Occurrence) -> bool:
    """Return whether a place is in a line of a list.

    That is so if the place has a digit and begins its line, as a number, a date or an id does, or if the line above or
    below has the same form: the same signs between as many words. If something with a digit, such as a time, stands
    before the place, the neighbour need only begin in the same form.
    """
    text = place.text
    nearest = max(0, place.start - BESIDE_CHARACTERS)
    line_start = text.rfind("\n", nearest, place.start) + 1
    if line_start == 0 and nearest > 0:
        return False  # far into a long line, such as minified JSON
    before, written = text[line_start : place.start], text[place.start : place.stop]
    if not any(map(str.isalnum, before)) and any(map(str.isdigit, written)):
        return True
    begin = max(0, line_start - BESIDE_CHARACTERS)
    above = text[begin:line_start].split("\n")[-2:-1]
    line, *below = text[line_start : place.stop + BESIDE_CHARACTERS].split("\n")[:2]
    form, beside = _form(line), list(map(_form, [*above, *below]))
    # The entries of a log begin alike, with a time, and go on differently.
    stamp = _form(before)
    if any(map(str.isdigit, before)) and stamp.count("w") >= LEAST_WORDS:
        return any(other.startswith(stamp) for other in beside)
    return form.count("w") >= LEAST_WORDS and form in beside


def _form(line: str) -> str:
    """Return the form of a line: each of its words replaced by the same letter."""
    return _WORD.sub("w", line)
