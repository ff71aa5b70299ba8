"""Which turns of compacted conversations a message is about: a question with what was answered."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias

from memory_context.conversation.asked_terms import AskedTerm, is_pointed_at
from memory_context.conversation.relevant_places import FoundTerms, Relevance
from memory_context.model.selection import Cost
from memory_context.runtime.what_models_read import GAP_AT_LINE
from memory_context.text.excerpt.excerpt import Excerpt
from memory_context.text.excerpt.record import ASKED, NOTED, SAID, Record, record_at
from memory_context.text.index.bm25 import idf
from memory_context.text.terms import is_pair

MOST_TURNS = 3
# Of what a message asks, by rarity among the turns, a turn must hold so much.
LEAST_SHARE = 0.3
# A single word is enough if hardly any turn holds it and it is a name, or a question takes it as known: "our next kickoff".
LEAST_SHARE_OF_ONE_WORD = 0.2
RARE = 0.04
# Others are shown beside the best turn if they are nearly as good, or came later, for these may correct it.
SHARE_OF_BEST = 0.8
SHARE_OF_LATER = 0.4
# So few words mean something only behind what was said before them: "No, on Tuesday."
LEANING_WORDS = 6
LEANING_CHARACTERS = 400

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
) -> list[Relevance]:
    """Return the turns that hold most of a message, in the order in which they were said; none that hold little.

    People ask about a turn in words of their own, so one or two words that hardly any other turn holds are enough.

    Args:
        message: The message.
        found: Where the terms of the message stand in stored conversations.
        text_of: The text under a key.
        is_seen: Whether a part of it stands in the prompt.
        stored_at: When what is under a key was stored.
    """
    holding = _terms_by_turn(found, text_of)
    texts = {key: text_of(key) for key, _, _ in holding}
    turns = max(1, sum(text.count(ASKED) for text in texts.values()))
    held_by = Counter(chain.from_iterable(holding.values()))
    weights = _weights(found.terms, held_by, turns)
    whole = sum(weights.values())
    scores = dict[Turn, float]()
    answering = set[Turn]()
    for turn, held in holding.items():
        rarest = min(held_by[number] for number in held)
        if rarest > max(MOST_TURNS, RARE * turns) or is_seen(*turn):
            continue
        scores[turn] = sum(weights[number] for number in held)
        least = LEAST_SHARE
        if len(held) == 1:
            is_meant = all(is_pointed_at(message, found.terms[number]) for number in held)
            least = LEAST_SHARE_OF_ONE_WORD if is_meant else math.inf
        if scores[turn] >= least * whole:
            answering.add(turn)

    def said_at(turn: Turn) -> tuple[datetime, str, int]:
        return stored_at(turn[0]), turn[0], turn[1]

    relevances = list[Relevance]()
    chosen = best_turns(scores, answering, said_at)
    beginnings = {(key, start) for key, start, _ in chosen}
    for turn in sorted(chosen, key=said_at):
        key, start, stop = turn
        terms = [found.terms[number].text for number in sorted(holding[turn])]
        record = _with_what_leans(texts[key], Record(start, stop))
        if (key, stop + 1) in beginnings or is_seen(key, stop + 1, record.stop):
            record = Record(start, stop)
        relevances.append(Relevance(key, (record,), terms, scores[turn]))
    return relevances


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
        is_later = said_at(turn) > said_at(best) and share >= SHARE_OF_LATER
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
    asked = _said(text[begin : end if end >= 0 else len(text)])
    following = record_at(text, begin, begin)
    is_short = following.stop - following.start <= LEANING_CHARACTERS
    if is_short and len(asked.split()) <= LEANING_WORDS:
        return Record(turn.start, following.stop)
    return turn


def _terms_by_turn(found: FoundTerms, text_of: Callable[[str], str]) -> dict[Turn, set[int]]:
    """Return the single terms that stand in each turn."""
    holding = defaultdict[Turn, set[int]](set)
    for place in found.occurrences.values():
        text = text_of(place.key)
        # The reference that an earlier compaction left is described by words, but nobody said them.
        is_note = text.startswith(NOTED, text.rfind("\n", 0, place.start) + 1)
        # Neither did anybody say "name": it is a key of the JSON. In a text the quotes behind a key are escaped.
        is_note = is_note or text.startswith('": ', place.stop)
        if not (is_note or found.terms[place.term].is_phrase):
            turn = record_at(text, place.start, place.stop)
            holding[place.key, turn.start, turn.stop].add(place.term)
    return holding


def show_turns(text: str, turns: Sequence[Record], budget: int, cost: Cost) -> Excerpt:
    """Return turns as people read them, ``user: …`` and ``assistant: …``; of those that come last, none that is too much."""
    shown = dict[int, str]()
    ranges = dict[int, tuple[int, int]]()
    left = budget
    for turn in turns:
        first = 1 + text.count("\n", 0, turn.start)
        last = first + text.count("\n", turn.start, turn.stop)
        said = "\n".join(_said(line) for line in text[turn.start : turn.stop].split("\n") if line)
        said = f"{GAP_AT_LINE.format(line=first)}\n{said}"
        left -= cost(said) + 1
        if left >= 0:
            shown[first] = said
            ranges[first] = (first, last)
    order = sorted(shown)
    return Excerpt("\n".join(shown[line] for line in order), tuple(ranges[line] for line in order))


def _said(line: str) -> str:
    """Return who said what, of a message as it is stored; the line itself if it is cut."""
    try:
        message: Mapping[str, Any] = json.loads(line)
        who = message["source"] if message["role"] == "tool" else message["role"]
        texts = [str(text) for text in message.get("texts", ()) if text is not None]
        calls = [f"calls {call['name']}({call['arguments']})" for call in message.get("calls", ())]
    except (ValueError, LookupError, TypeError):
        return line
    return f"{who}: {' '.join([*texts, *calls])}"
