"""Tell what a place is in its record: a value, the record's name, or one of several of a kind.

A *place* is where a term of the message occurs (`Occurrence`); its *record* is what makes sense by itself around it. A
record is *listed* if it is one of several of a kind: a row, an item, a line of a log. Prose has no such structure.
"""

from __future__ import annotations

import re
from itertools import chain

from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.index.analyzer import held_by
from memory_context.text.relevance.term_occurrences import (
    FoundTerms,
    Occurrence,
    wanted_lexemes,
)

# Two neighbouring lines with the same signs between their words are entries of a list if they have this many words.
LEAST_WORDS = 4
BESIDE_CHARACTERS = 600
# The name of a function has fewer words than this before it: "async def name".
MOST_BEFORE_NAME = 3
NAME_CLOSES = frozenset(("(", "[", "{", "<", ":", "=", "]", ">", "\n"))
_WORD = re.compile(r"\w+")


def is_listed(place: Occurrence) -> bool:
    """Return whether a place is in one of several records of a kind: an item, a row, a value, a line of a log."""
    return place.record.comes_again or is_structured(place)


def is_structured(place: Occurrence) -> bool:
    """Return whether a place is in a line of a list, a record with a head, or a value: not in a sentence or a turn."""
    if is_conversation(place.text):
        return False
    return _is_line_of_list(place) or bool(place.record.heads) or place.is_value


def names_its_record(place: Occurrence) -> bool:
    """Return whether a place names its record, as a function's name does: among the first words of several lines.

    Such a name is followed by a sign that opens a body or ends the line; a word of prose is followed by the next word.
    """
    behind = place.text[place.stop : place.stop + 1]
    if not place.is_exact or behind not in NAME_CLOSES:
        return False
    record = place.record
    first_line_end = place.text.find("\n", record.start, record.stop)
    words_before = _WORD.findall(place.text, record.start, place.start)
    return place.start < first_line_end and len(words_before) < MOST_BEFORE_NAME


def is_spoken_of(found: FoundTerms, place: Occurrence) -> bool:
    """Return whether another term of the message is near a place or in its heads, or the message has no other term.

    A cell may hold any word. "Keep the answers short" has nothing to do with a person called Short, but "What is the
    name of short?" does: the table has a column "name".
    """
    others = [term for number, term in enumerate(found.terms) if number != place.term]
    if not others or len(found.held_near(place)) > 1:
        return True
    asked = set(chain.from_iterable(map(wanted_lexemes, others)))
    return any(held_by(place.text[slice(*head)], asked) for head in place.record.heads)


def _is_line_of_list(place: Occurrence) -> bool:
    """Return whether a place is in a line of a list.

    A place with a digit is if it begins its line, as a number, a date or an id does. Any place is if the line above or
    below has the same form: the same signs between as many words. If something with a digit, such as a time, precedes the
    place in its line, the neighbour need only begin with the same form.
    """
    text = place.text
    farthest = max(0, place.start - BESIDE_CHARACTERS)
    line_start = text.rfind("\n", farthest, place.start) + 1
    if line_start == 0 and farthest > 0:
        return False  # far into a long line, such as minified JSON
    before = text[line_start : place.start]
    written = text[place.start : place.stop]
    begins_line = not any(map(str.isalnum, before))
    if begins_line and any(map(str.isdigit, written)):
        return True
    above = text[max(0, line_start - BESIDE_CHARACTERS) : line_start].split("\n")
    line, *below = text[line_start : place.stop + BESIDE_CHARACTERS].split("\n")
    forms_beside = list(map(_form, above[-2:-1] + below[:1]))
    # The entries of a log begin alike, with a time, and continue differently.
    stamp = _form(before)
    if any(map(str.isdigit, before)) and stamp.count("w") >= LEAST_WORDS:
        return any(form.startswith(stamp) for form in forms_beside)
    form = _form(line)
    return form.count("w") >= LEAST_WORDS and form in forms_beside


def _form(line: str) -> str:
    """Return the form of a line: each of its words replaced by the same letter."""
    return _WORD.sub("w", line)
