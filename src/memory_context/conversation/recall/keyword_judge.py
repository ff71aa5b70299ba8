"""Decide what to recall by keyword matching alone, without a model.

Chooses among the candidates of the conversation by the terms that they share with the message, decides whether to search
the user's other memories, and whether there is something left for a model to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.index.term_hits import ChunkPlace, TermHits, term_hits
from memory_context.text.relevance.chosen_records import records_of_names, relevant, relevant_turns
from memory_context.text.relevance.question_terms import (
    QUESTION_MARKS,
    AskedTerm,
    asked_terms,
    names_pointed_at,
)
from memory_context.text.relevance.reasons_for_records import Expansion, listed
from memory_context.text.relevance.recall_candidates_and_their_calls import SearchedCandidates
from memory_context.text.relevance.term_occurrences import (
    FoundTerms,
    found_as_meant,
    wanted_lexemes,
)
from memory_context.text.words_and_names import is_name, terms, weight

# Half of a query's words must be found for a memory to answer it.
LEAST_SHARE = 0.5
# Phrases that refer to an earlier conversation without naming anything in it: "same as last time".
_EARLIER = re.compile(
    r"\b(?:same as|last time|as before|like before|as usual|the usual|previous(?:ly)?|earlier|remember|"
    r"the other day|back then|yesterday|last week|we (?:discussed|decided|agreed|said)|you (?:said|told))\b",
    re.IGNORECASE,
)
# Words that stand for something mentioned before: "the one that failed", "show me those", "why is that?".
_POINTER = re.compile(
    r"\b(?:them|those|these|both|which ones?|(?:what|how) about|the (?:ones?|others?|rest|same|former|latter))\b"
    r"|\b(?:it|this|that|there|the (?:first|last|next|second|third|\w+th)(?: one)?)(?=[?!.,]|$)",
    re.IGNORECASE,
)
# A question that names nothing, and is about what was said before it: "Why?", "and which one?".
_BARE_QUESTION = re.compile(
    r"\W*(?:(?:and|but|so)\b\W*)?(?:why|how|where|when|who|what|which)(?:\W+(?:not|so|then|else|exactly|ones?))?\W*",
    re.IGNORECASE,
)
# A noun after a definite article or a possessive, which the message takes as known: "the database".
_DEFINITE = re.compile(r"\b(?:the|my|our|that|this)\s+(?P<noun>[A-Za-z][\w-]+)", re.IGNORECASE)


def judge_by_keywords(question: Question) -> Verdict:
    """Return the verdict of keyword matching.

    The candidates that the message is about are opened. If there are none, and the message refers to an earlier
    conversation ("the same as last time") or to something that this one does not mention ("connect to the DB"), the
    message is ambiguous, and the user's other memories are searched.
    """
    asked = asked_terms(question.message)
    expansions, is_clear = relevant_candidates(question)
    if expansions:
        why = "; ".join(expansion.why for expansion in expansions)
        return Verdict(expand=expansions, why=why, is_clear=is_clear)
    elsewhere = _search_elsewhere(question, asked) if question.has_memories else None
    if elsewhere:
        return elsewhere
    if question.candidates and _may_mean_more(question, asked):
        is_clear = False
    why = "the message names nothing to look for"
    if asked:
        words = listed(term.text for term in asked)
        why = f"no text out of sight holds enough of {words}"
    return Verdict(why=why, is_clear=is_clear)


def _may_mean_more(question: Question, asked: Sequence[AskedTerm]) -> bool:
    """Return whether a model may see more in a message: it points at something, or asks about a term that occurs here."""
    message = question.message.rstrip()
    if _POINTER.search(message) or _BARE_QUESTION.fullmatch(message):
        return True
    hits = question.hits or TermHits()
    is_question = message.endswith(QUESTION_MARKS)
    return is_question and any(hits.here >= set(wanted_lexemes(term)) for term in asked)


def relevant_candidates(question: Question) -> tuple[tuple[Expansion, ...], bool]:
    """Return the candidates that the message is about, best first, with the records and turns that are meant.

    The second value is whether that is clear: whether a model would hardly see more in the message.
    """
    message = question.message
    texts = SearchedCandidates(
        question.candidates, lambda part: part in message or question.in_sight(part)
    )
    asked = asked_terms(message)
    named_before = names_pointed_at(message, asked, question.answer)
    hits = question.hits
    if hits is None:
        wanted = map(wanted_lexemes, [*asked, *named_before])
        hits = term_hits(texts.items(), list(wanted))
    chunks = [chunk for chunk in hits.places if chunk.memory_key in texts]
    of_turns = list[ChunkPlace]()
    in_others = list[ChunkPlace]()
    for chunk in chunks:
        if is_conversation(texts.text_of(chunk.memory_key)):
            of_turns.append(chunk)
        else:
            in_others.append(chunk)
    found = found_as_meant(asked, hits, in_others, texts)
    records = list[Expansion]()
    is_clear = True
    if named_before:
        with_names = FoundTerms([*found.terms, *named_before], hits, in_others, texts)
        records = records_of_names(message, with_names, len(found.terms))
    if not records:
        records, is_clear = relevant(message, found)
    # What was asked before is asked again in the same words, so turns are compared with turns only.
    found_in_turns = found_as_meant(asked, hits, of_turns, texts)
    turns = relevant_turns(message, found_in_turns, only_said=bool(records))
    return (*records, *turns), is_clear and not turns


def _search_elsewhere(question: Question, asked: Sequence[AskedTerm]) -> Verdict | None:
    """Return a verdict to search the user's other memories; None if nothing in the message refers to them.

    A phrase such as "as last time" refers to them, and so does a name or "the …" that occurs in them but not in this
    conversation. For "the …", what other conversations folded is left out: "the log" means one that is yet to be read.
    """
    message = question.message
    phrase = _EARLIER.search(message)
    if phrase is not None:
        rest = _EARLIER.sub(" ", message)
        why = f"{phrase.group()!r} refers to earlier conversations; searched them"
        return Verdict("ambiguous", search=rest, why=why)
    hits = question.hits or TermHits()
    # A person who mentions something does not explain it, so only what others wrote counts.
    is_explained = question.is_told or question.in_sight
    unknown = list[AskedTerm]()
    for term in asked:
        lexemes = wanted_lexemes(term)
        is_here = is_explained(term.text) or hits.here >= set(lexemes)
        is_anywhere = not hits.holding.keys().isdisjoint(lexemes)
        if is_anywhere and not (is_here or term.is_short_number):
            unknown.append(term)
    names = [term.text for term in unknown if term.is_name]
    nouns = {match["noun"] for match in _DEFINITE.finditer(message)}
    words = names or [term.text for term in unknown if term.text in nouns]
    if not words:
        return None
    why = f"{listed(words)} does not occur in this conversation; searched earlier ones"
    return Verdict("ambiguous", search=message, why=why, kept_only=not names)


def is_answered(query: str, held: Iterable[str]) -> bool:
    """Return whether the words *held* are at least half of a query's words, including a name if the query has one.

    Names (words with digits or punctuation) count three times as much as other words.
    """
    words = terms(query)
    found = {word.lower() for word in held}.intersection(words)
    if any(map(is_name, words)) and not any(map(is_name, found)):
        return False
    return bool(found) and _weight(found) >= LEAST_SHARE * _weight(words)


def _weight(words: Iterable[str]) -> int:
    return sum(weight(word) for word in words)
