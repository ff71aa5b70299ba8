"""Find what a person said that counts beyond its turn: standing wishes, and lasting facts about the person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from memory_context.conversation.message import Message
from memory_context.model.reference import MemoryRef
from memory_context.text.quotations_of_people import without_quotations

# A longer text is more likely to be a document than something that a person says in passing.
MOST_CHARACTERS = 1000
SENTENCE_CHARACTERS = 300
LEAST_WORDS = 2

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
# Words that may precede a wish: "And please, …".
_BEFORE = r"(?:(?:and|also|but|so|ok(?:ay)?|please|one more thing|just|actually)\b[,:]?\s+)*"
# Sentences that ask for something from then on ("Always answer in French."), or take that back.
_WISHES = (
    r"(?:remember|note)(?:\s+(?:that|this)\b|\s*[:,])",
    r"(?:keep|bear)\s+in\s+mind\b",
    r"(?:don't|do\s+not)\s+(?!worry\b|know\b|mind\b|bother\b)\w",
    r"for\s+(?:the\s+record|future\s+reference)\b",
    r"(?:always|never|only\s+ever)\s+(?!mind\b|the\b|an?\b|my\b|been\b|had\b|got\b|seen\b|heard\b)\w",
    r"(?:stop\s+\w+ing|avoid|prefer|no\s+more)\b|no\s+\w+,?\s+please\b",
    r"(?:answer|respond|reply|write)\s+(?:me\s+)?(?:only\s+)?(?:in|with)\b",
    r"keep\s+(?:(?:your|the|all|every)\s+)?(?:answers?|replies|reply|responses?)\b",
    r"use\b.*\b(?:not|never|only|instead)\b",
    r"under\s+no\s+circumstances\b|as\s+a\s+rule\b",
    r"(?:when(?:ever)?|every\s+time|each\s+time)\s+(?:you|I\s+(?:say|ask|write|tell))\b.*,",
    r"(?:make\s+sure|see\s+to\s+it)\s+(?:that\s+)?you\b",
    r"you\s+(?:must|may|should\s+(?:always|never)|need\s+not|don't\s+(?:have|need)\s+to|(?:can|may)\s+forget)\b",
    r"ask\s+(?:me|us)\b.*\b(?:before|first)\b",
    r"call\s+me\s+\w",
    r"(?:forget|ignore|disregard)\s+(?:what|that|my|about)\b",
    r".*\b(?:from\s+now\s+on|going\s+forward|in\s+future)\b",
)
# Things that a person has for a long time, and relatives.
_POSSESSIONS = (
    "name|birthday|address|e-?mail|phone|number|allerg(?:y|ies)|pronouns|time\\s?zone|budget|deadline"
    "|wife|husband|partner|son|daughter|mother|father|sister|brother"
)
# Sentences with something lasting about the person ("I'm allergic to nuts."), or saying that it no longer holds.
_FACTS = (
    r"\bby\s+the\s+way\b",
    r"\b(?:I|we)\s+(?:can't|cannot|can\s+not)\s+(?:bear|drink|drive|eat|fly|hear|smell|stand|swim|take|tolerate|travel|wear)\b",
    r"\b(?:I|we)\s+(?:don't|do\s+not)\s+(?:drink|drive|eat|fly|own|smoke|speak|wear|work)\b",
    r"\b(?:I|we)\s+(?:prefer|live|speak|own|use|only\s+(?:eat|drink|use|work|take))\b|\bwe\s+(?:always|never)\b",
    r"\b(?:I|we)\s+work\s+(?:as|at|for|in|on|from|with)\b|\b(?:I|we)(?:'ve|\s+have)?\s+moved\s+to\b",
    r"(?<!\bif\s)\b(?:I'm|I\s+am|we're|we\s+are)\s+(?:an?(?!\s+(?:bit|little)\b)|allergic|from|based|vegan|vegetarian|intolerant|married|pregnant|born|\d+\s+years)\b",
    r"\b(?:I|we|my|our)\b.*\b(?:no\s+longer|any\s?more)\b|\b(?:I|we)\s+can\s+\w+\b.*\b(?:again|after\s+all)\b",
    rf"\b(?:my|our)\s+(?:\w+(?:'s)?\s+)?(?:{_POSSESSIONS})\b.*\b(?:is|are|has|can't|cannot|was)\b",
)
_ANY_WISH = "|".join(_WISHES)
_WISH = re.compile(f"{_BEFORE}(?:{_ANY_WISH})", re.IGNORECASE)
_FACT = re.compile("|".join(_FACTS), re.IGNORECASE)


def standing_words(messages: Iterable[Message]) -> list[str]:
    """Return the sentences of persons in *messages* that count beyond their turn, in order and without repetitions.

    Notes on earlier compactions hand on theirs. Only English is understood. A sentence that is missed is stored like
    every turn, and can be recalled.
    """
    sentences = list[str]()
    for message in messages:
        sentences += message.known.standing
        if message.is_typed and not message.known.folded:
            sentences += _in_text(message.text)
    # From the end, so that the last of several equal sentences is kept.
    newest_first = dict.fromkeys(reversed(sentences))
    return list(reversed(newest_first))


def within_budget(sentences: Sequence[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """Return, in their order, the *sentences* that fit into *budget* tokens: wishes before facts, newer before older."""
    newest_first = sentences[::-1]
    kept = set[str]()
    for sentence in sorted(newest_first, key=lambda sentence: not _WISH.match(sentence)):
        cost = count(sentence) + 2
        if cost <= budget:
            kept.add(sentence)
            budget -= cost
    return [sentence for sentence in sentences if sentence in kept]


def _in_text(text: str) -> list[str]:
    """Return the sentences of a short text that express a wish or something lasting about the writer; [] if it is long."""
    if len(text) > MOST_CHARACTERS:
        return []
    found = list[str]()
    for part in _SENTENCE_END.split(without_quotations(text)):
        words = part.split()
        sentence = " ".join(words)
        is_long = len(sentence) > SENTENCE_CHARACTERS
        if is_long or len(words) < LEAST_WORDS or sentence.endswith("?"):
            continue
        is_lasting = _WISH.match(sentence) or _FACT.search(sentence)
        if is_lasting and not MemoryRef.find_all(sentence):
            found.append(sentence)
    return found
