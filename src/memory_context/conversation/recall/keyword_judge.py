"""The judge that needs no model: what keyword matching answers to what a judge is asked."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime

from memory_context.conversation.recall.chosen_records import Calls, relevant
from memory_context.conversation.recall.question_terms import (
    QUESTION_MARKS,
    AskedTerm,
    asked_terms,
    without_question_words,
)
from memory_context.conversation.recall.questions_and_verdicts import Expansion, Question, Verdict
from memory_context.conversation.recall.relevant_turns import is_conversation, relevant_turns
from memory_context.conversation.recall.term_occurrences import found_in, wanted_lexemes
from memory_context.model.item import MemoryItem, is_secret
from memory_context.text.index.chunks import card_of
from memory_context.text.index.term_hits import ChunkPlace, TermHits, term_hits
from memory_context.text.read.line_ranges import LineNumbers
from memory_context.text.words_and_names import is_name, terms, weight

LEAST_SHARE = 0.5
MOST_SAID = 5
# Phrases that refer to an earlier conversation without naming anything.
_EARLIER = re.compile(
    r"\b(?:same as|last time|as before|like before|as usual|the usual|previous(?:ly)?|earlier|remember|"
    r"the other day|back then|yesterday|last week|we (?:discussed|decided|agreed|said)|you (?:said|told))\b",
    re.IGNORECASE,
)
# Words that stand for something that was spoken of: "the one that failed", "show me those", "why is that?".
_POINTS = re.compile(
    r"\b(?:them|those|these|both|which ones?|(?:what|how) about|the (?:ones?|others?|rest|same|former|latter))\b"
    r"|\b(?:it|this|that|there|the (?:first|last|next|second|third|\w+th)(?: one)?)(?=[?!.,]|$)",
    re.IGNORECASE,
)
# "Why?", "and which one?": a question that names nothing, about what was said before it.
_BARE_QUESTION = re.compile(
    r"\W*(?:(?:and|but|so)\b\W*)?(?:why|how|where|when|who|what|which)(?:\W+(?:not|so|then|else|exactly|ones?))?\W*",
    re.IGNORECASE,
)
# A noun with a definite article or a possessive: something that the message takes as known.
_DEFINITE = re.compile(r"\b(?:the|my|our|that|this)\s+(?P<noun>[A-Za-z][\w-]+)", re.IGNORECASE)


def judge_by_keywords(question: Question) -> Verdict:
    """Return the verdict that needs no model.

    Opened is what `relevant` finds. The message is ambiguous, and searched for, if it refers back ("the same as
    last time"), or to something that occurs nowhere ("connect to the DB" in a conversation without one), and nothing of
    the conversation answers it.
    """
    asked = asked_terms(question.message)
    expansions, is_clear = relevant_candidates(question)
    if expansions:
        why = "; ".join(expansion.why for expansion in expansions)
        return Verdict(expand=expansions, why=why, is_clear=is_clear)
    if question.has_memories and (found := _searched(question, asked)):
        return found
    if question.candidates and _may_mean_more(question, asked):
        is_clear = False
    why = "the message names nothing to look for"
    if asked:
        words = listed(term.text for term in asked[:MOST_SAID])
        why = f"no text out of sight holds enough of {words}"
    return Verdict(why=why, is_clear=is_clear)


def _may_mean_more(question: Question, asked: Sequence[AskedTerm]) -> bool:
    """Return whether a model may see what a message means: it points at something, or asks about what stands out of sight."""
    message = question.message.rstrip()
    if _POINTS.search(message) or _BARE_QUESTION.fullmatch(message):
        return True
    here = question.hits.here if question.hits else frozenset[str]()
    is_question = message.endswith(QUESTION_MARKS)
    return is_question and any(here >= set(wanted_lexemes(term)) for term in asked)


def relevant_candidates(question: Question) -> tuple[tuple[Expansion, ...], bool]:
    """Return the candidates that the message is about, with the records that are meant, best first; and if it is clear."""
    message = question.message
    candidates = _Candidates(question)
    asked = asked_terms(message)
    hits = question.hits
    if hits is None:
        hits = term_hits(candidates.items(), list(map(wanted_lexemes, asked)))
    said, given = candidates.said_and_given(hits)
    found = found_in(asked, hits, given, candidates.text_of, candidates.card_of)
    meant = without_question_words(asked, found.met)
    if meant != asked:
        found = found_in(meant, hits, given, candidates.text_of, candidates.card_of)
    relevances, is_clear = relevant(message, found, candidates.is_seen, candidates.calls())
    turns = relevant_turns(
        message,
        found_in(asked, hits, said, candidates.text_of),
        candidates.text_of,
        candidates.is_seen,
        candidates.stored_at,
        only_said=bool(relevances),
    )
    expansions = tuple(
        Expansion(
            relevance.key,
            message,
            why=f"{relevance.key} holds {listed(relevance.terms[:MOST_SAID])}",
            records=tuple(relevance.records),
            more=relevance.more,
        )
        for relevance in (*relevances, *turns)
    )
    return expansions, is_clear and not turns


class _Candidates:
    """The candidates of a question whose texts may be searched, by their keys: no secrets, and nothing but text."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._by_key = {
            one.item.memory_key: one
            for one in question.candidates
            if isinstance(one.item.content, str) and not is_secret(one.item)
        }
        self._lines = {key: LineNumbers(self.text_of(key)) for key in self._by_key}

    def items(self) -> list[MemoryItem]:
        """Return their memories."""
        return [candidate.item for candidate in self._by_key.values()]

    def text_of(self, key: str) -> str:
        """Return the text of one."""
        return self._by_key[key].item.text

    def card_of(self, key: str) -> Iterable[str]:
        """Return what describes one in the index."""
        return card_of(self._by_key[key].item)

    def stored_at(self, key: str) -> datetime:
        """Return when one was stored."""
        return self._by_key[key].item.created_at

    def is_seen(self, key: str, start: int, stop: int) -> bool:
        """Return whether a part of one's text stands in the prompt: by its lines, or word for word."""
        first, last = self._lines[key].at(start), self._lines[key].at(stop)
        if any(begin <= first and last <= end for begin, end in self._by_key[key].seen):
            return True
        part = self.text_of(key)[start:stop]
        return part in self._question.message or self._question.in_sight(part)

    def said_and_given(self, hits: TermHits) -> tuple[list[ChunkPlace], list[ChunkPlace]]:
        """Return the chunks of stored conversations that hold terms, and those of other texts."""
        said, given = list[ChunkPlace](), list[ChunkPlace]()
        for chunk in hits.places:
            if chunk.memory_key not in self._by_key:
                continue
            if is_conversation(self.text_of(chunk.memory_key)):
                said.append(chunk)
            else:
                given.append(chunk)
        return said, given

    def calls(self) -> Calls:
        """Return when their texts came, and by which calls."""
        by_key = self._by_key.items()
        return Calls(
            recency={key: one.recency for key, one in by_key},
            call={key: _call_of(one.item) for key, one in by_key},
            came={key: (one.came, one.item.created_at) for key, one in by_key},
        )


def _call_of(item: MemoryItem) -> Hashable:
    """Return the call that brought a text: tool and arguments; its key where these are not known."""
    facts = item.content_metadata
    source, arguments = facts.get("source"), facts.get("arguments")
    # What else stores a memory may keep anything under these names.
    if item.memory_type == "tool_output" and isinstance(source, str) and isinstance(arguments, str):
        return source, arguments
    return item.memory_key


def listed(words: Iterable[str]) -> str:
    """Return *words* in quotes, as a sentence lists them."""
    *most, last = [f'"{word}"' for word in words]
    return f"{', '.join(most)} and {last}" if most else last


def _searched(question: Question, asked: Sequence[AskedTerm]) -> Verdict | None:
    """Return the verdict that looks among the user's other memories; None if the message takes nothing from them.

    What was folded in other conversations is looked at only if the message refers to these, or to a name that this one
    does not know: "the log" is a log that is still to be read.
    """
    message = question.message
    phrase = _EARLIER.search(message)
    if phrase is not None:
        rest = _EARLIER.sub(" ", message)
        why = f"{phrase.group()!r} refers to earlier conversations; searched them"
        return Verdict("ambiguous", search=rest, why=why)
    hits = question.hits or TermHits()
    # That a person has spoken of something says nothing about it.
    is_told = question.is_told or question.in_sight
    unknown = list[AskedTerm]()
    for term in asked:
        lexemes = wanted_lexemes(term)
        is_here = is_told(term.text) or hits.here >= set(lexemes)
        is_anywhere = not hits.holding.keys().isdisjoint(lexemes)
        if is_anywhere and not (is_here or term.is_short_number):
            unknown.append(term)
    names = [term.text for term in unknown if term.is_name]
    nouns = {match["noun"] for match in _DEFINITE.finditer(message)}
    words = names or [term.text for term in unknown if term.text in nouns]
    if not words:
        return None
    why = f"{listed(words[:MOST_SAID])} does not occur in this conversation; searched earlier ones"
    return Verdict("ambiguous", search=message, why=why, kept_only=not names)


def is_answered(query: str, held: Iterable[str]) -> bool:
    """Return whether the words *held* are at least half of what a query asks for, and one of its names, if it has some.

    Names (words with digits or punctuation) weigh three times as much as other words.
    """
    words = terms(query)
    found = {word.lower() for word in held}.intersection(words)
    if any(map(is_name, words)) and not any(map(is_name, found)):
        return False
    return bool(found) and _weight(found) >= LEAST_SHARE * _weight(words)


def _weight(words: Iterable[str]) -> int:
    return sum(weight(word) for word in words)
