"""Which turns of compacted conversations a message is about: a question with what was answered."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_context.conversation.asked_terms import AskedTerm
from memory_context.conversation.relevant_places import FoundTerms, Relevance
from memory_context.model.selection import Cost
from memory_context.runtime.what_models_read import GAP_AT_LINE
from memory_context.text.excerpt.excerpt import Excerpt
from memory_context.text.excerpt.record import ASKED, NOTED, SAID, Record, record_at
from memory_context.text.index.bm25 import idf

MOST_TURNS = 3
# Of what a message asks, by rarity among the turns, a turn must hold so much.
LEAST_SHARE = 0.3
# A single word is enough if hardly any turn holds it and it is a name, or a question takes it as known: "our next kickoff".
LEAST_SHARE_OF_ONE_WORD = 0.2
RARE = 0.04
_TAKEN_AS_KNOWN = r"\b(?:the|this|that|my|our|your|his|her|their)\s+(?:[\w-]+\s+)?{word}\b.*\?"
# Others are shown beside the best turn if they are nearly as good.
SHARE_OF_BEST = 0.8


def is_conversation(text: str) -> bool:
    """Return whether *text* is a stored conversation: one message a line, as JSON."""
    return text.startswith(SAID)


def relevant_turns(
    message: str,
    found: FoundTerms,
    text_of: Callable[[str], str],
    is_seen: Callable[[str, int, int], bool],
) -> list[Relevance]:
    """Return the turns that hold most of a message, best first; none that hold little.

    People ask about a turn in words of their own, so one or two words that hardly any other turn holds are enough.

    Args:
        message: The message.
        found: Where the terms of the message stand in stored conversations.
        text_of: The text under a key.
        is_seen: Whether a part of it stands in the prompt.
    """
    holding = _terms_by_turn(found, text_of)
    texts = {key: text_of(key) for key, _, _ in holding}
    turns = sum(text.count(ASKED) for text in texts.values())
    singles = [number for number, term in enumerate(found.terms) if not term.is_phrase]
    weights = dict[int, float]()
    held_by = dict[int, int]()
    for number in singles:
        held_by[number] = sum(number in held for held in holding.values())
        weights[number] = idf(held_by[number], max(turns, 1))
    whole = sum(weights.values())
    scores = dict[tuple[str, int, int], float]()
    for turn, held in holding.items():
        rarest = min(held_by[number] for number in held)
        if rarest > max(MOST_TURNS, RARE * turns) or is_seen(*turn):
            continue
        least = LEAST_SHARE
        if len(held) == 1:
            [number] = held
            if not _is_pointed_at(message, found.terms[number]):
                continue
            least = LEAST_SHARE_OF_ONE_WORD
        score = sum(weights[number] for number in held)
        if score >= least * whole:
            scores[turn] = score
    best = sorted(scores, key=lambda turn: -scores[turn])[:MOST_TURNS]
    return [
        Relevance(
            key,
            (Record(start, stop),),
            [found.terms[number].text for number in sorted(holding[key, start, stop])],
            scores[key, start, stop],
        )
        for key, start, stop in best
        if scores[key, start, stop] >= SHARE_OF_BEST * scores[best[0]]
    ]


def _is_pointed_at(message: str, term: AskedTerm) -> bool:
    """Return whether a message means something by *term* alone: a name, or what a question takes as known."""
    if term.is_name and not term.is_short_number:
        return True
    known = _TAKEN_AS_KNOWN.format(word=re.escape(term.text))
    return re.search(known, message, re.IGNORECASE | re.DOTALL) is not None


def _terms_by_turn(
    found: FoundTerms, text_of: Callable[[str], str]
) -> dict[tuple[str, int, int], set[int]]:
    """Return the single terms that stand in each turn: its key, where it begins, where it ends."""
    holding = defaultdict[tuple[str, int, int], set[int]](set)
    for place in found.occurrences.values():
        text = text_of(place.key)
        # The reference that an earlier compaction left is described by words, but nobody said them.
        is_note = text.startswith(NOTED, text.rfind("\n", 0, place.start) + 1)
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
