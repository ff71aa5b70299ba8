"""What a judge is asked and what it answers; and the answer of keyword matching, which needs no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from memory_context.model.item import MemoryItem, is_secret
from memory_context.text.terms import is_name, terms, weight

LEAST_SHARE = 0.5
LEAST_WORDS = 2
JUDGED_CHARACTERS = 5_000_000
# Phrases that refer to an earlier conversation without naming anything.
_VAGUE = re.compile(
    r"\b(?:same as|last time|as before|like before|as usual|the usual|previous(?:ly)?|earlier|again|remember|"
    r"the other day|once more|back then|yesterday|last week)\b",
    re.IGNORECASE,
)
# A noun with a definite article or a possessive: something that the message takes as known.
_DEFINITE = re.compile(r"\b(?:the|my|our|that|this)\s+(?P<noun>[A-Za-z][\w-]+)", re.IGNORECASE)

Ranges: TypeAlias = tuple[tuple[int, int], ...]
Intent: TypeAlias = Literal["concrete", "ambiguous"]


@dataclass(frozen=True, slots=True)
class RecallCandidate:
    """A memory of the conversation whose text is not in the prompt, with the lines of it that are."""

    item: MemoryItem
    seen: Ranges = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked.

    Attributes:
        message: The newest message, without references.
        task: The first message of the conversation.
        candidates: The conversation's references whose text is not in the prompt, lexically best first.
        has_memories: Whether the user has other memories, to search.
        in_sight: Whether a text stands in the prompt before the message.
    """

    message: str
    task: str
    candidates: tuple[RecallCandidate, ...]
    has_memories: bool
    in_sight: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A memory to open: for a question, or at some lines.

    Attributes:
        key: Its key.
        query: What is wanted of it; without it and without lines, the newest message.
        lines: Which lines, as ``120-180``.
        why: The reason, for people.
    """

    key: str
    query: str | None = None
    lines: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge answers.

    Attributes:
        intent: Whether the message says all that it takes to act on it.
        expand: The memories of the conversation to open, best first.
        search: What to look for among the user's other memories; None for nothing.
        why: The reason, for people.
        tokens: The tokens that it cost.
    """

    intent: Intent = "concrete"
    expand: tuple[Expansion, ...] = ()
    search: str | None = None
    why: str = ""
    tokens: int = 0


def judge_by_keywords(question: Question) -> Verdict:
    """Return the verdict that needs no model.

    Opened is what `keyword_matches` finds. The message is ambiguous, and searched for, if it refers back ("the same as
    last time"), or to something that occurs nowhere ("connect to the DB" in a conversation without one), and nothing of
    the conversation answers it.
    """
    seen = {candidate.item.memory_key: candidate.seen for candidate in question.candidates}
    items = [candidate.item for candidate in question.candidates]
    matches = keyword_matches(question.message, items, seen)
    if matches:
        expansions = [
            Expansion(match.item.memory_key, question.message, why=match.why) for match in matches
        ]
        return Verdict(expand=tuple(expansions), why="; ".join(match.why for match in matches))
    why = _reason_to_search(question) if question.has_memories else None
    if why is None:
        return Verdict(why="nothing out of sight is meant")
    return Verdict("ambiguous", search=_VAGUE.sub(" ", question.message), why=why)


def _reason_to_search(question: Question) -> str | None:
    """Return why earlier conversations are searched, for people; None if the message takes nothing from them."""
    phrase = _VAGUE.search(question.message)
    if phrase:
        return f"{phrase.group()!r} refers to earlier conversations; searched them"
    nouns = [match["noun"] for match in _DEFINITE.finditer(question.message)]
    names = [word for word in terms(question.message) if is_name(word)]
    missing = [word for word in (*nouns, *names) if not question.in_sight(word)]
    if not missing:
        return None
    words = ", ".join(repr(word) for word in missing[:3])
    return f"{words} does not occur in this conversation; searched earlier ones"


@dataclass(frozen=True, slots=True)
class KeywordMatch:
    """A memory that holds what is asked for.

    Attributes:
        item: The memory.
        why: The reason, for people.
        weight: The weight of the words that its best passage holds.
    """

    item: MemoryItem
    why: str
    weight: int


def keyword_matches(
    question: str,
    candidates: Iterable[MemoryItem],
    seen: Mapping[str, Ranges],
    *,
    described: bool = False,
) -> list[KeywordMatch]:
    """Return the candidates whose best passage holds at least half of what *question* asks for, best first.

    A candidate with a passage in sight that is as good does not count. A passage is a line and the ones beside it. Names
    (words with digits or punctuation) weigh three times as much as other words; if the question has names, one of them
    must occur there, else two other words. The contents of secrets are not looked at.

    Args:
        question: What is asked.
        candidates: The memories.
        seen: For each key, the ranges of lines that stand in the prompt.
        described: Whether descriptions, keys and tags are passages too; then one word will do.
    """
    words = terms(question)
    if not words:
        return []
    matches = list[KeywordMatch]()
    for item in candidates:
        match = _match(words, item, seen.get(item.memory_key, ()), described=described)
        if match is not None:
            matches.append(match)
    return sorted(matches, key=lambda match: -match.weight)


def _match(
    words: list[str], item: MemoryItem, seen: Ranges, *, described: bool
) -> KeywordMatch | None:
    passages = dict[int, set[str]]()
    if not isinstance(item.content, bytes) and not is_secret(item):
        passages = _passages(item.text, words)
    if described:
        # Line 0 stands for the description; what the first line holds counts with it.
        name = f"{item.summary} {item.memory_key} {' '.join(item.tags)}".lower()
        passages[0] = {word for word in words if word in name} | passages.get(1, set())
    best = max(passages.values(), key=_weight, default=set[str]())
    if not _enough(best, words, 1 if described else LEAST_WORDS):
        return None
    for line, held in passages.items():
        if held == best and any(first <= line <= last for first, last in seen):
            return None
    held_words = ", ".join(word for word in words if word in best)
    return KeywordMatch(item, f"it holds {held_words}", _weight(best))


def _passages(text: str, words: list[str]) -> dict[int, set[str]]:
    """Return, for each line (from 1) with a word of the question, the words in it or in the lines beside it."""
    hits = dict[int, set[str]]()
    for number, line in enumerate(text[:JUDGED_CHARACTERS].lower().split("\n"), 1):
        held = {word for word in words if word in line}
        if held:
            hits[number] = held
    nothing = set[str]()
    return {
        number: hits.get(number - 1, nothing) | held | hits.get(number + 1, nothing)
        for number, held in hits.items()
    }


def _enough(held: set[str], words: list[str], least_words: int) -> bool:
    """Return whether a passage that holds these of the question's words answers it."""
    asks_for_name = any(is_name(word) for word in words)
    if asks_for_name and not any(is_name(word) for word in held):
        return False
    if not asks_for_name and len(held) < least_words:
        return False
    return _weight(held) >= LEAST_SHARE * _weight(words)


def _weight(words: Iterable[str]) -> int:
    return sum(weight(word) for word in words)
