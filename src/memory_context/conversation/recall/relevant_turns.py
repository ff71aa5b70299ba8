"""Which turns of compacted conversations a message is about: a question with what was answered."""

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

from memory_context.conversation.recall.chosen_records import Relevance
from memory_context.conversation.recall.question_terms import AskedTerm, is_pointed_at, refers_back
from memory_context.conversation.recall.shown_turns import GIVEN, as_said, spoken
from memory_context.conversation.recall.term_occurrences import (
    FoundTerms,
    Occurrence,
    wanted_lexemes,
)
from memory_context.text.excerpt.record_around_place import (
    ASKED,
    LONGEST_TURN,
    NOTED,
    SAID,
    Record,
    turn_at,
)
from memory_context.text.index.analyzer import held_by
from memory_context.text.index.bm25 import idf
from memory_context.text.lines import line_end, line_spans
from memory_context.text.ranges import Span
from memory_context.text.words_and_names import is_pair

MOST_TURNS = 3
# Of what a message asks, by rarity among the turns, a turn must hold so much.
LEAST_SHARE = 0.3
# A single word is enough if hardly any turn holds it and it is a name, or a question takes it as known: "our next kickoff".
LEAST_SHARE_OF_ONE_WORD = 0.2
RARE = 0.04
# Others are shown beside the best turn if they are nearly as good, or came later, for these may correct it.
SHARE_OF_BEST = 0.8
SHARE_OF_LATER = 0.4
# What stands behind the words of a chat's line; in them its quotes would be escaped.
BESIDE_WORDS = '", "data": {'
# So few words mean something only behind what was said before them: "No, on Tuesday."
LEANING_WORDS = 6
LEANING_CHARACTERS = 400

# A text that is kept apart, as the line of a conversation has it: a reference alone, or with its preview. What is asked
# of the text is looked for there.
_KEPT_APART = re.compile(r'(?<!\\)"\[MemoryRef: (?:[^"\\]|\\.)*? tokens\](?:\\n(?:[^"\\]|\\.)*)?"')
# What makes a sentence say something of its subject.
_TELLS = re.compile(r"\b(?:is|am|are|was|were|has|have|had|I|we)\b|\w['\u2019](?:s|m|re)\b")
_TURN_BEGINS = re.compile(rf"^(?:{'|'.join(map(re.escape, ASKED))})", re.MULTILINE)
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)

Turn: TypeAlias = tuple[str, int, int]
"""The key of a conversation, where in it a turn begins, and where it ends."""


def is_conversation(text: str) -> bool:
    """Return whether *text* is a stored conversation: one message a line, as JSON."""
    return text.startswith(SAID)


def relevant_turns(
    message: str,
    found: FoundTerms,
    text_of: Callable[[str], str],
    is_seen: Callable[[str, int, int], bool],
    stored_at: Callable[[str], datetime],
    *,
    only_said: bool = False,
) -> list[Relevance]:
    """Return the turns that hold most of a message, of each memory in the order in which they were said.

    People ask about a turn in words of their own, so one or two words that hardly any other turn holds are enough.

    Args:
        message: The message.
        found: Where the terms of the message stand in stored conversations.
        text_of: The text under a key.
        is_seen: Whether a part of it stands in the prompt.
        stored_at: When what is under a key was stored.
        only_said: Whether what tools gave in a turn is nothing that the turn says.
    """
    holding = _held_by_turn(found, text_of, only_said=only_said)
    scores, answering = _scored_turns(message, found, holding, text_of, is_seen)

    def said_at(turn: Turn) -> tuple[datetime, str, int]:
        return stored_at(turn[0]), turn[0], turn[1]

    relevances = dict[str, Relevance]()
    chosen = best_turns(scores, answering, said_at)
    beginnings = {(key, start) for key, start, _ in chosen}
    for turn in sorted(chosen, key=said_at):
        key, start, stop = turn
        terms = [found.terms[number].text for number in sorted(holding[turn])]
        record = _with_what_leans(text_of(key), Record(start, stop))
        if (key, stop + 1) in beginnings or is_seen(key, stop + 1, record.stop):
            record = Record(start, stop)
        before = relevances.get(key, Relevance(key, (), ()))
        terms = list(dict.fromkeys((*before.terms, *terms)))
        relevances[key] = Relevance(key, (*before.records, record), terms)
    return list(relevances.values())


def _scored_turns(
    message: str,
    found: FoundTerms,
    holding: Mapping[Turn, Mapping[int, AbstractSet[Span]]],
    text_of: Callable[[str], str],
    is_seen: Callable[[str, int, int], bool],
) -> tuple[dict[Turn, float], set[Turn]]:
    """Return how much of a message each turn out of sight holds, by rarity, and which turns hold enough to answer it."""
    texts = {key: text_of(key) for key, _, _ in holding}
    turns = max(1, sum(text.count(asked) for text in texts.values() for asked in ASKED))
    held_by = Counter(chain.from_iterable(holding.values()))
    weights = _weights(found.terms, held_by, turns)
    whole = sum(weights.values())
    pointed_at = {number for number in held_by if is_pointed_at(message, found.terms[number])}
    scores = dict[Turn, float]()
    answering = set[Turn]()
    for turn, held in holding.items():
        rarest = min(held_by[number] for number in held)
        if rarest > max(MOST_TURNS, RARE * turns):
            continue
        key, start, stop = turn
        lines = _said_lines(texts[key], start, stop).union(*held.values())
        if all(is_seen(key, *line) for line in lines):
            continue
        is_meant = not held.keys().isdisjoint(pointed_at)
        # Of small words each language has many, such as its "is" and "the".
        if not is_meant and all(found.terms[number].is_small for number in held):
            continue
        scores[turn] = sum(weights[number] for number in held)
        least = LEAST_SHARE
        if len(held) == 1:
            least = LEAST_SHARE_OF_ONE_WORD if is_meant else math.inf
        if scores[turn] >= least * whole:
            answering.add(turn)
    return scores, answering


def _weights(
    terms: Sequence[AskedTerm], held_by: Mapping[int, int], turns: int
) -> dict[int, float]:
    """Return how much each single term tells the turns apart."""
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
    """Return the best of the turns that answer, those that are nearly as good, and later ones that speak of the same."""
    if not answering:
        return []
    # Of several the first one, so that what came later is shown beside it; a set has another order in each process.
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
    """Return how much of a term counts as asked for if no turn holds it."""
    # A small word may be of a language that the conversation is not held in; of pairs of characters half are no words.
    if term.is_small:
        return 0.0
    return 0.5 if is_pair(term.text) else 1.0


def _with_what_leans(text: str, turn: Record) -> Record:
    """Return a turn, together with the next one if a few words began that."""
    begin = turn.stop + 1
    if not text.startswith(ASKED, begin) or text.startswith(NOTED, begin):
        return turn
    end = text.find("\n", begin)
    asked = spoken(text[begin : end if end >= 0 else len(text)])
    following = turn_at(text, begin, line_end(text, begin))
    is_short = _said_length(text, following) <= LEANING_CHARACTERS
    if is_short and len(asked.split()) <= LEANING_WORDS:
        return Record(turn.start, following.stop)
    return turn


def _held_by_turn(
    found: FoundTerms, text_of: Callable[[str], str], *, only_said: bool
) -> dict[Turn, dict[int, set[Span]]]:
    """Return the single terms that stand in each turn, and the lines in which each of them does."""
    holding = defaultdict[Turn, dict[int, set[Span]]](lambda: defaultdict(set))
    turns = dict[str, _Turns]()
    kept_apart = dict[tuple[str, int], list[Span]]()
    for place in found.occurrences.values():
        text = text_of(place.key)
        line = text.rfind("\n", 0, place.start) + 1, line_end(text, place.stop)
        is_given = text.startswith(GIVEN, line[0])
        if (
            found.terms[place.term].is_phrase
            or (only_said and is_given)
            or _is_note(place, line[0])
        ):
            continue
        spans = kept_apart.get((place.key, line[0]))
        if spans is None:
            spans = [match.span() for match in _KEPT_APART.finditer(text, *line)]
            kept_apart[place.key, line[0]] = spans
        if any(start <= place.start < stop for start, stop in spans):
            continue
        if place.key not in turns:
            turns[place.key] = _Turns(text)
        turn = turns[place.key].turn_of(*line)
        holding[place.key, turn.start, turn.stop][place.term].add(line)
    return holding


def _is_note(place: Occurrence, line_start: int) -> bool:
    """Return whether nobody said what stands at a place of a conversation's line."""
    text = place.text
    # The reference that an earlier compaction left is described by words.
    if text.startswith(NOTED, line_start):
        return True
    # "name" is a key of the JSON. In a text the quotes behind a key are escaped.
    is_key = text.startswith('": ', place.stop)
    # And something is what a host keeps beside the words of a chat.
    return is_key or text.find(BESIDE_WORDS, line_start, place.start) >= 0


class _Turns:
    """The turns of a conversation, each read once: an agent that works alone has one turn of thousands of messages."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [match.start() for match in _TURN_BEGINS.finditer(text)]
        self._said = dict[int, int]()

    def turn_of(self, line_start: int, line_stop: int) -> Record:
        """Return the turn of a line; of a long one a result alone, and the line alone where too much was said."""
        number = bisect_right(self._starts, line_start)
        start = self._starts[number - 1] if number else 0
        stop = self._starts[number] - 1 if number < len(self._starts) else len(self._text)
        turn, length = Record(start, stop), stop - start
        if length > LONGEST_TURN and not self._text.startswith(GIVEN, line_start):
            if start not in self._said:
                self._said[start] = _said_length(self._text, turn)
            length = self._said[start]
        return turn if length <= LONGEST_TURN else Record(line_start, line_stop)


def _said_length(text: str, turn: Record) -> int:
    """Return how many characters long is what was said in a turn."""
    return sum(stop - start for start, stop in _said_lines(text, turn.start, turn.stop))


def _said_lines(text: str, start: int, stop: int) -> set[Span]:
    """Return the lines of a part of a conversation that no tool gave."""
    return {line for line in line_spans(text, start, stop) if not text.startswith(GIVEN, line[0])}


def holds_a_name(asked: Sequence[AskedTerm], text: str) -> bool:
    """Return whether a text holds one of the names that are asked for whole, if there are some."""
    names = [set(wanted_lexemes(term)) for term in asked if term.is_name]
    return not names or any(name <= held_by(text, name) for name in names)


def meets_from_elsewhere(
    message: str, asked: Sequence[AskedTerm], turn: str, *, only_stated: bool
) -> bool:
    """Return whether a turn of another conversation may answer a message: it holds one of its names, if it has some.

    Args:
        message: The message.
        asked: Its terms.
        turn: The turn, as it is stored.
        only_stated: Whether only what a person stated may answer. A single word is enough then where the message
            speaks of what is the person's, or of the past.
    """
    whole = as_said(turn)
    if not holds_a_name(asked, whole):
        return False
    if not only_stated:
        return True
    held = held_by(whole, chain.from_iterable(map(wanted_lexemes, asked)))
    said = spoken(turn.partition("\n")[0])
    is_stated = turn.startswith(ASKED) and not said.endswith("?") and _TELLS.search(said)
    is_known = len(held) > 1 or _OWN.search(message) or refers_back(message)
    return bool(is_stated and is_known and held_by(said, held))
