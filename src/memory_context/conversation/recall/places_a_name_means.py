"""Which of a name's places a message means, and whether one record is meant by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from memory_context.conversation.recall.term_occurrences import (
    NEAR,
    FoundTerms,
    Occurrence,
    wanted_lexemes,
)
from memory_context.text.index.analyzer import held_by

# A name that stands at more places than these stands for no record, outside of lists.
FEW = 3
# The records of fewer places than these are all held against each other, else of those that hold most of a message near
# them so many; and this for so many terms.
MOST_COMPARED = 40
BEST_COMPARED = 12
MOST_NAMES = 12
# So many words must a line have that another one with the same signs between its words tells the same of something else.
LEAST_WORDS = 4
BESIDE_CHARACTERS = 600
# "async def name".
MOST_BEFORE_NAME = 3
NAME_CLOSES = frozenset(("(", "[", "{", "<", ":", "=", "]", ">", "\n"))
_WORD = re.compile(r"\w+")
VALUE_OPENS = frozenset(('"', "'", "=", ",", "\t", "|", ">"))
VALUE_CLOSES = frozenset(('"', "'", ",", "\t", "|", "<", "\n", "", " ", ";"))


def places_meant(found: FoundTerms, number: int) -> list[Occurrence]:
    """Return the places of a term: of a name those whose records hold most of the names, which mean it together.

    What describes a text belongs to each of its records.
    """
    term, places = found.terms[number], found.of(number)
    if len(places) < 2 or not (term.is_name or term.is_capitalised):
        return places
    meant = _with_most_names(found, places)
    # What is quoted there, or is all of a cell, is what is told of.
    meant = list(filter(is_value, meant)) or meant
    # In prose, and where people speak in turns, others may say it in other words.
    is_numbered = any(map(str.isdigit, term.text))
    is_told_apart = is_listed if is_numbered else _has_head_or_is_value
    # "Flight" in a message is no name because of a text's "flight_number".
    is_name = term.is_name or all(place.text[place.start].isupper() for place in meant)
    return meant if is_name and all(map(is_told_apart, meant)) else places


def _with_most_names(found: FoundTerms, places: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the places whose records, with what describes their texts, hold most of the names of a message."""

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

    compared = sorted(places, key=weights_near, reverse=True)[: _compared_of(places)]
    weights = list(map(weights_held, compared))
    most = max(weights)
    return [place for place, weight in zip(compared, weights, strict=True) if weight == most]


def _compared_of(places: Sequence[Occurrence]) -> int:
    """Return how many of some places are held against each other at most."""
    return MOST_COMPARED if len(places) < MOST_COMPARED else BEST_COMPARED


def is_distinctive(
    found: FoundTerms, number: int, places: Sequence[Occurrence], *, of_list: bool
) -> bool:
    """Return whether a term stands for some records: a name that is meant at few places, or a rare word that is a value.

    So does a name at more places, if these are records *of_list*: rows, lines of a log.
    """
    term = found.terms[number]
    # The same line in a copy of a log is the same place.
    different = {place.text[max(0, place.start - NEAR) : place.stop + NEAR] for place in places}
    if term.is_short_number or not different:
        return False
    # A file's name stands four times in the head of its hunks, which are one record.
    is_in_few = term.is_name and len(places) <= MOST_COMPARED and len(_records_of(places)) <= FEW
    if len(different) > FEW and not is_in_few:
        is_few = len(places) < _compared_of(found.of(number))
        is_told_of = of_list and term.is_name and is_few
        return is_told_of and all(map(is_no_prose, places))
    if term.is_name:
        return True
    is_in_address = all("@" in place.text[place.start : place.stop] for place in places)
    beside = found.held_near(places[0]) | found.held_above(places[0])
    if term.is_capitalised and (is_in_address or len(beside) > 1):
        return True
    if any(place.names_a_column for place in places):
        return False
    return all(map(_is_whole_value, places)) and any(
        _is_spoken_of(found, place) for place in places
    )


def _records_of(places: Iterable[Occurrence]) -> set[tuple[str, int, int]]:
    return {(place.key, place.record.start, place.record.stop) for place in places}


def is_listed(place: Occurrence) -> bool:
    """Return whether a place is in one of several things that are told alike: a record, a row, a value, a line of a log."""
    return place.record.comes_again or is_no_prose(place)


def is_no_prose(place: Occurrence) -> bool:
    """Return whether a place is in something that has a head, a value, or a line of a list: no sentence, no turn."""
    return _is_line_of_list(place) or _has_head_or_is_value(place)


def names_its_record(place: Occurrence) -> bool:
    """Return whether a place is among the first words of a record of several lines, as the name of a function is.

    What opens a body ends it there; behind a word of prose stands the next one.
    """
    if not place.is_exact or place.text[place.stop : place.stop + 1] not in NAME_CLOSES:
        return False
    start, stop = place.record.start, place.record.stop
    before = _WORD.findall(place.text, start, place.start)
    return place.start < place.text.find("\n", start, stop) and len(before) < MOST_BEFORE_NAME


def _is_spoken_of(found: FoundTerms, place: Occurrence) -> bool:
    """Return whether something else of a message stands near a place or in its heads, or the message names nothing else.

    A word that is all of a cell may be any word: "short" and "cook" are people's names too.
    """
    others = [term for number, term in enumerate(found.terms) if number != place.term]
    if len(found.held_near(place)) > 1 or not others:
        return True
    asked = set(chain.from_iterable(map(wanted_lexemes, others)))
    return any(held_by(place.text[start:stop], asked) for start, stop in place.record.heads)


def is_value(place: Occurrence) -> bool:
    """Return whether a place is all of a value: of a field, a cell, a string."""
    before = place.text[max(0, place.start - 2) : place.start]
    opens = before[-1:] in VALUE_OPENS or before in (": ", "= ")
    return opens and place.text[place.stop : place.stop + 1] in VALUE_CLOSES


def _is_whole_value(place: Occurrence) -> bool:
    """Return whether a place is all of a value, of a quoted one as well."""
    before = place.text[max(0, place.start - 1) : place.start]
    quote = before if before in ('"', "'") else ""
    return is_value(place) and place.text.startswith(quote, place.stop)


def _has_head_or_is_value(place: Occurrence) -> bool:
    return bool(place.record.heads) or is_value(place)


def _is_line_of_list(place: Occurrence) -> bool:
    """Return whether a place with a digit begins its line, as a number, date or id does, or a line beside has its form.

    Of a line that has a time before the place it is enough that one beside begins so.
    """
    text = place.text
    nearest = max(0, place.start - BESIDE_CHARACTERS)
    line_start = text.rfind("\n", nearest, place.start) + 1
    if line_start == 0 and nearest > 0:
        return False  # far in a long line, as minified JSON is
    before, written = text[line_start : place.start], text[place.start : place.stop]
    if not any(map(str.isalnum, before)) and any(map(str.isdigit, written)):
        return True
    begin = max(0, line_start - BESIDE_CHARACTERS)
    above = text[begin:line_start].split("\n")[-2:-1]
    line, *below = text[line_start : place.stop + BESIDE_CHARACTERS].split("\n")[:2]
    form, beside = _form(line), list(map(_form, [*above, *below]))
    # Entries of a log begin alike, with a time, whatever they go on with.
    stamp = _form(before)
    if any(map(str.isdigit, before)) and stamp.count("w") >= LEAST_WORDS:
        return any(other.startswith(stamp) for other in beside)
    return form.count("w") >= LEAST_WORDS and form in beside


def _form(line: str) -> str:
    """Return a line with each of its words as one letter."""
    return _WORD.sub("w", line)
