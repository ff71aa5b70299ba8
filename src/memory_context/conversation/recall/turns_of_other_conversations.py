"""Tell whether a turn of another conversation may answer a message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from memory_context.conversation.recall.stored_turns_within_budget import as_said, spoken
from memory_context.text.excerpt.turns_of_conversations import ASKED
from memory_context.text.index.analyzer import held_by
from memory_context.text.relevance.question_terms import AskedTerm, refers_back
from memory_context.text.relevance.term_occurrences import wanted_lexemes

# A word that a sentence needs to state something.
_STATES = re.compile(r"\b(?:is|am|are|was|were|has|have|had|I|we)\b|\w['\u2019](?:s|m|re)\b")
_POSSESSIVE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)


def holds_a_name(asked: Sequence[AskedTerm], text: str) -> bool:
    """Return whether a text holds every lexeme of one of the names that are asked for; True if none is asked for."""
    names = [set(wanted_lexemes(term)) for term in asked if term.is_name]
    return not names or any(name <= held_by(text, name) for name in names)


def meets_from_elsewhere(
    message: str, asked: Sequence[AskedTerm], turn: str, *, only_stated: bool
) -> bool:
    """Return whether a turn of another conversation may answer a message: it must hold one of the message's names, if any.

    Args:
        message: The message.
        asked: Its terms.
        turn: The turn, as it is stored.
        only_stated: Whether only a person's statement may answer, not a question. It must hold a word of the message,
            and the turn two; one is enough if the message is about something of the person's ("my") or about the past.
    """
    readable = as_said(turn)
    if not holds_a_name(asked, readable):
        return False
    if not only_stated:
        return True
    held = held_by(readable, chain.from_iterable(map(wanted_lexemes, asked)))
    said = spoken(turn.partition("\n")[0])
    is_stated = turn.startswith(ASKED) and not said.endswith("?") and _STATES.search(said)
    is_specific = len(held) > 1 or _POSSESSIVE.search(message) or refers_back(message)
    return bool(is_stated and is_specific and held_by(said, held))
