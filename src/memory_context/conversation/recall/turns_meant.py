"""Choose the turns of stored conversations that a message is about.

A *turn* is what a person said with all that answered it. Its score is the weight of the message's terms in it; the fewer
turns hold a term, the more it weighs. A turn *answers* if its score is a large enough share of the message's weight.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from itertools import chain
from typing import TypeAlias

from memory_context.conversation.recall.stored_turns_within_budget import (
    TOOL_RESULT,
    as_said,
    spoken,
)
from memory_context.text.excerpt.record_around_place import (
    ASKED,
    LONGEST_TURN,
    NOTED,
    Record,
    turn_at,
)
from memory_context.text.index.analyzer import held_by
from memory_context.text.index.bm25 import idf
from memory_context.text.lines import line_end, line_spans
from memory_context.text.ranges import Span
from memory_context.text.relevance.question_terms import AskedTerm, is_pointed_at, refers_back
from memory_context.text.relevance.reasons_for_records import Expansion, MeantRecords
from memory_context.text.relevance.term_occurrences import (
    FoundTerms,
    Occurrence,
    wanted_lexemes,
)
from memory_context.text.words_and_names import is_pair

MOST_TURNS = 3
# To answer, a turn must hold this share of the weight of all the message's terms.
LEAST_SHARE = 0.3
# A turn that holds only one term answers if it has this share, and if the term is a name or the message takes it as known
# ("our next kickoff").
LEAST_SHARE_OF_ONE_WORD = 0.2
# A turn counts only if one of its terms occurs in at most MOST_TURNS turns, or in at most this share of all turns.
RARE = 0.04
# Further turns are shown beside the best one: those that answer and have this share of its score; and later ones, which
# may correct it, if they answer or have SHARE_OF_LATER of its score.
SHARE_OF_BEST = 0.8
SHARE_OF_LATER = 0.4
# In the line of a chat's message, this separates what was said from the data that the host keeps with it. Within what was
# said, the quotes would be escaped.
BESIDE_WORDS = '", "data": {'
# A short turn that begins with at most this many words depends on the turn before it: "No, on Tuesday."
FOLLOW_UP_WORDS = 6
FOLLOW_UP_CHARACTERS = 400

# A folded text in the line of a conversation: a reference, with or without a preview. The text is a memory of its own, and
# is searched there.
_FOLDED_TEXT = re.compile(r'(?<!\\)"\[MemoryRef: (?:[^"\\]|\\.)*? tokens\](?:\\n(?:[^"\\]|\\.)*)?"')
# A word that a sentence needs to state something.
_STATES = re.compile(r"\b(?:is|am|are|was|were|has|have|had|I|we)\b|\w['\u2019](?:s|m|re)\b")
_TURN_BEGINS = re.compile(rf"^(?:{'|'.join(map(re.escape, ASKED))})", re.MULTILINE)
_POSSESSIVE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)

Turn: TypeAlias = tuple[str, int, int]
"""The key of a stored conversation, and the offsets at which a turn begins and ends in it."""


def relevant_turns(message: str, found: FoundTerms, *, only_said: bool = False) -> list[Expansion]:
    """Return the turns that a message is about, by conversation, in the order in which they were said.

    People ask about a turn in words of their own, so one or two words that hardly any other turn holds are enough.

    Args:
        message: The message.
        found: The places of its terms in stored conversations.
        only_said: Whether to ignore terms in the results of tools.
    """
    holding = _held_by_turn(found, only_said=only_said)
    scores, answering = _scored_turns(message, found, holding)

    def said_at(turn: Turn) -> tuple[datetime, str, int]:
        key, start, _ = turn
        return found.texts.stored_at(key), key, start

    meant = MeantRecords(found.terms)
    chosen = best_turns(scores, answering, said_at)
    beginnings = {(key, start) for key, start, _ in chosen}
    for turn in sorted(chosen, key=said_at):
        key, start, stop = turn
        record = _with_short_follow_up(found.texts.text_of(key), Record(start, stop))
        if (key, stop + 1) in beginnings or found.texts.is_seen(key, stop + 1, record.stop):
            record = Record(start, stop)
        meant.add(key, record, sorted(holding[turn]))
    return meant.expansions(message)


def _scored_turns(
    message: str,
    found: FoundTerms,
    holding: Mapping[Turn, Mapping[int, AbstractSet[Span]]],
) -> tuple[dict[Turn, float], set[Turn]]:
    """Return the score of each turn that is not in the prompt, and the turns that answer the message.

    Turns without a rare term, or with only small words, get no score.
    """
    texts = {key: found.texts.text_of(key) for key, _, _ in holding}
    turns = max(1, sum(text.count(asked) for text in texts.values() for asked in ASKED))
    held_by = Counter(chain.from_iterable(holding.values()))
    weights = _weights(found.terms, held_by, turns)
    total_weight = sum(weights.values())
    pointed_at = {number for number in held_by if is_pointed_at(message, found.terms[number])}
    scores = dict[Turn, float]()
    answering = set[Turn]()
    for turn, held in holding.items():
        rarest = min(held_by[number] for number in held)
        if rarest > max(MOST_TURNS, RARE * turns):
            continue
        key, start, stop = turn
        lines = _said_lines(texts[key], start, stop).union(*held.values())
        if all(found.texts.is_seen(key, *line) for line in lines):
            continue
        is_meant = not held.keys().isdisjoint(pointed_at)
        # Small words are mostly those that are everywhere in their language, such as "is" and "the".
        if not is_meant and all(found.terms[number].is_small for number in held):
            continue
        scores[turn] = sum(weights[number] for number in held)
        least = LEAST_SHARE
        if len(held) == 1:
            least = LEAST_SHARE_OF_ONE_WORD if is_meant else math.inf
        if scores[turn] >= least * total_weight:
            answering.add(turn)
    return scores, answering


def _weights(
    terms: Sequence[AskedTerm], held_by: Mapping[int, int], turns: int
) -> dict[int, float]:
    """Return the weight of each single word among *terms*: the fewer turns hold it, the better it tells them apart.

    Args:
        terms: The terms of the message.
        held_by: How many turns hold each term.
        turns: How many turns there are.
    """
    weights = dict[int, float]()
    for number, term in enumerate(terms):
        held = held_by.get(number, 0)
        if not term.is_phrase:
            weights[number] = idf(held, turns) * (1.0 if held else _share_unheld(term))
    return weights


def best_turns(
    scores: Mapping[Turn, float],
    answering: AbstractSet[Turn],
    said_at: Callable[[Turn], tuple[datetime, str, int]],
) -> list[Turn]:
    """Return the best turn that answers, others that are nearly as good, and later ones on the same subject; three at most.

    Args:
        scores: The score of each turn.
        answering: The turns that answer.
        said_at: Returns a value that is higher for what was said later.
    """
    if not answering:
        return []
    # The earliest of equal ones, so that what corrects it is shown, too. Without the second part of the key, the choice
    # would depend on the order of a set, which differs between processes.
    best = min(answering, key=lambda turn: (-scores[turn], said_at(turn)))
    chosen = [best]
    for turn in sorted(scores, key=lambda turn: -scores[turn]):
        share = scores[turn] / scores[best]
        is_as_good = turn in answering and share >= SHARE_OF_BEST
        speaks_of_it = turn in answering or share >= SHARE_OF_LATER
        is_later = said_at(turn) > said_at(best) and speaks_of_it
        if turn != best and (is_as_good or is_later):
            chosen.append(turn)
    return chosen[:MOST_TURNS]


def _share_unheld(term: AskedTerm) -> float:
    """Return the share of a term's weight that counts if no turn holds it."""
    # A small word may just belong to another language than the conversation's. A text without spaces is split into pairs
    # of characters, about half of which are not words.
    if term.is_small:
        return 0.0
    return 0.5 if is_pair(term.text) else 1.0


def _with_short_follow_up(text: str, turn: Record) -> Record:
    """Return a turn, together with the next one if that is short and begins with only a few words: "No, on Tuesday."."""
    begin = turn.stop + 1
    if not text.startswith(ASKED, begin) or text.startswith(NOTED, begin):
        return turn
    end = line_end(text, begin)
    asked = spoken(text[begin:end])
    following = turn_at(text, begin, end)
    is_brief = _said_length(text, following) <= FOLLOW_UP_CHARACTERS
    if is_brief and len(asked.split()) <= FOLLOW_UP_WORDS:
        return Record(turn.start, following.stop)
    return turn


def _held_by_turn(found: FoundTerms, *, only_said: bool) -> dict[Turn, dict[int, set[Span]]]:
    """Return, for each turn, the single words that it holds, each with the lines that hold it.

    Words in folded texts, in this library's own notes and in a host's data do not count; with *only_said*, neither do
    those in the results of tools.
    """
    holding = defaultdict[Turn, dict[int, set[Span]]](lambda: defaultdict(set))
    turns = dict[str, _Turns]()
    folded_texts = dict[tuple[str, int], list[Span]]()
    for place in found.occurrences.values():
        text = place.text
        line_start = text.rfind("\n", 0, place.start) + 1
        line = line_start, line_end(text, place.stop)
        is_ignored = only_said and text.startswith(TOOL_RESULT, line_start)
        if found.terms[place.term].is_phrase or is_ignored or _is_note(place, line_start):
            continue
        spans = folded_texts.get((place.key, line_start))
        if spans is None:
            spans = [match.span() for match in _FOLDED_TEXT.finditer(text, *line)]
            folded_texts[place.key, line_start] = spans
        if any(start <= place.start < stop for start, stop in spans):
            continue
        if place.key not in turns:
            turns[place.key] = _Turns(text)
        turn = turns[place.key].turn_of(*line)
        holding[place.key, turn.start, turn.stop][place.term].add(line)
    return holding


def _is_note(place: Occurrence, line_start: int) -> bool:
    """Return whether nobody said the words at a place of a stored conversation."""
    text = place.text
    # This library's own message, such as the reference to an earlier compaction with its description.
    if text.startswith(NOTED, line_start):
        return True
    # A key of the line's JSON, such as "name". In what was said, the quote after a word would be escaped.
    is_key = text.startswith('": ', place.stop)
    # Data that a host keeps with a chat's message.
    return is_key or text.find(BESIDE_WORDS, line_start, place.start) >= 0


class _Turns:
    """The turns of a conversation, each measured once: an agent that works alone has one turn of thousands of messages."""

    def __init__(self, text: str) -> None:
        self._text = text
        begins = [match.start() for match in _TURN_BEGINS.finditer(text)]
        # What precedes the first turn counts as one, and the last turn ends with the text.
        self._starts = [0, *begins, len(text) + 1]
        self._said = dict[int, int]()

    def turn_of(self, line_start: int, line_stop: int) -> Record:
        """Return the turn that a line is in.

        If the turn is too long, return the line alone if it is a tool's result, or if what was said is too long as well.
        """
        number = bisect_right(self._starts, line_start)
        start = self._starts[number - 1]
        stop = self._starts[number] - 1
        turn = Record(start, stop)
        length = stop - start
        if length > LONGEST_TURN and not self._text.startswith(TOOL_RESULT, line_start):
            if start not in self._said:
                self._said[start] = _said_length(self._text, turn)
            length = self._said[start]
        return turn if length <= LONGEST_TURN else Record(line_start, line_stop)


def _said_length(text: str, turn: Record) -> int:
    """Return the number of characters in a turn without the results of tools."""
    return sum(stop - start for start, stop in _said_lines(text, turn.start, turn.stop))


def _said_lines(text: str, start: int, stop: int) -> set[Span]:
    """Return the lines in a part of a conversation that are not results of tools."""
    return {
        line for line in line_spans(text, start, stop) if not text.startswith(TOOL_RESULT, line[0])
    }


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
