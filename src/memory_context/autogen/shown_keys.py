"""Which keys of a conversation may be passed on, where that is seen from its messages alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autogen_core.models import LLMMessage

from memory_context.autogen.compaction import compacted_key
from memory_context.autogen.messages import parts_of
from memory_context.autogen.saved_state import ContextFacts
from memory_context.conversation.settings import PERSON
from memory_context.model.item import hash_content
from memory_context.model.reference import MemoryRef, leading_key


def trusted_by(facts: ContextFacts, messages: Sequence[LLMMessage]) -> list[str]:
    """The keys of a state that was saved before they were told apart.

    Those of its placeholders, of compactions, of notes, of what shows lines (recalls, and pages that were asked for),
    and those that a person has typed. A reference that only stands in a text has no lines.
    """
    made = set(facts.placeholders)
    parts = [
        (part, hash_content(part.text) in made)
        for message in messages
        for part in parts_of(message)
    ]
    folded = [
        key for part, is_made in parts if is_made and (key := leading_key(part.text)) is not None
    ]
    people = (part.text for part, is_made in parts if part.source == PERSON and not is_made)
    typed = [ref.key for text in people for ref in MemoryRef.find_all(text)]
    compacted = [key for message in messages if (key := compacted_key(message)) is not None]
    return [
        *(key for key, lines in facts.references.items() if lines),
        *facts.noted,
        *folded,
        *typed,
        *compacted,
    ]


def made_by_compaction(after: Sequence[LLMMessage], before: Sequence[LLMMessage]) -> Iterator[str]:
    """The keys of the references that a compaction has put into the messages."""
    old = {id(message) for message in before}
    known = {part.text for message in before for part in parts_of(message)}
    for message in after:
        if id(message) not in old:
            texts = [part.text for part in parts_of(message) if part.text not in known]
            yield from (
                key for key in (compacted_key(message), *map(leading_key, texts)) if key is not None
            )
