"""Find the members of a long object that a message asks for, beside the member by which it means the object.

The lists of AWS, Docker and Kubernetes have objects of thousands of characters, whose name is in one member ("Tags") and
whose address in another. An object that is too long to be shown whole is shown with the members that answer.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import chain

from memory_context.text.excerpt.record_around_place import Record, end_of_object, member_in_item
from memory_context.text.ranges import Span
from memory_context.text.relevance.term_occurrences import FoundTerms, Occurrence

# If more members than these hold as much of the message, none of them answers it.
MOST_MEMBERS = 3


def with_members_asked_for(found: FoundTerms, place: Occurrence) -> Record:
    """Return the record of a place with the members around it that hold most of what it does not hold of the message.

    Only the members of the item of a list are looked at that the record is a part of (`Record.item`).
    """
    record = place.record
    if record.item is None:
        return record
    held = found.held_by_record(place)
    held_by = defaultdict[tuple[Span, ...], set[int]](set)
    stop = end_of_object(place.text, record.item)
    for other in found.places_in(place.key, record.item, stop):
        if other.term not in held and not found.terms[other.term].is_vague:
            held_by[member_in_item(place.text, record.item, other.start)].add(other.term)
    held_by.pop((), None)
    most = max(map(found.weight_of, held_by.values()), default=0.0)
    best = [spans for spans, terms in held_by.items() if found.weight_of(terms) == most]
    if len(best) > MOST_MEMBERS:
        return record
    spans = sorted(set(chain(record.heads, record.rest, *best)))
    before = [span for span in spans if span < (record.start, record.stop)]
    return replace(record, heads=before, rest=spans[len(before) :])
