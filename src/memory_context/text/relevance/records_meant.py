"""Find the records of one text that a question means, without an index."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.model.item import MemoryItem
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.index.term_hits import term_hits
from memory_context.text.relevance.chosen_records import relevant, relevant_turns
from memory_context.text.relevance.question_terms import asked_terms
from memory_context.text.relevance.ranked_places import RankedPlaces
from memory_context.text.relevance.recall_candidates_and_their_calls import (
    RecallCandidate,
    SearchedCandidates,
)
from memory_context.text.relevance.rows_by_value import rows_by_value
from memory_context.text.relevance.term_occurrences import found_as_meant, wanted_lexemes
from memory_context.text.spans import Span

# If more records than these are meant alike, such as all that name one service, the first few are no answer, unless a
# value chose them. Segments tell such records apart, by parts of words, too.
MOST_ALIKE = 20
# A single letter is no lexeme, so nothing is found by the key.
_KEY = "t"


def records_meant(text: str, question: str, regions: Sequence[Span]) -> list[Record]:
    """Return the records of a text that *question* means, best first; in a stored conversation these are turns.

    Args:
        text: The whole text.
        question: What the reader wants to know.
        regions: The parts of the text to look at.
    """
    asked = asked_terms(question)
    if not asked:
        return []
    item = MemoryItem(user_id="", memory_key=_KEY, memory_type="text", tier="detail", content=text)
    texts = SearchedCandidates([RecallCandidate(item)], lambda _: False)
    hits = term_hits([item], list(map(wanted_lexemes, asked)), regions)
    found = found_as_meant(asked, hits, hits.places, texts)
    expansions = relevant_turns(question, found) if is_conversation(text) else []
    if not expansions:
        # Of a text that a reader has named, one word may be enough.
        expansions, _ = relevant(question, found)
    are_many = any(one.more or len(one.records) > MOST_ALIKE for one in expansions)
    if are_many:
        ranked = RankedPlaces(question, found, frozenset(range(len(found.terms))))
        return [place.record for place in rows_by_value(ranked)]
    return [record for expansion in expansions for record in expansion.records]
