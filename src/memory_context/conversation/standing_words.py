"""What a person said that counts beyond its turn: standing wishes, and what is so of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from memory_context.conversation.message import Message
from memory_context.model.reference import MemoryRef
from memory_context.text.quoting import without_quotations

# A longer text is a document more likely than something that a person says in passing.
MOST_CHARACTERS = 600
SENTENCE_CHARACTERS = 160
LEAST_WORDS = 3

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
# Asked for outright, at the beginning of a sentence: "Please remember that …", "From now on …", "Never …"; and taken
# back, for an earlier wish would outlive that: "Forget what I said about …".
_WISH = re.compile(
    r"(?:(?:and|also|but|so|ok(?:ay)?|please|one more thing|just)\b[,:]?\s+)*"
    r"(?:(?:remember|note)\s+(?:that|this)\b|(?:remember|note)\s*[:,]|(?:keep|bear)\s+in\s+mind\b|(?:don't|do not)\s+forget\b"
    r"|for\s+the\s+record\b|for\s+future\s+reference\b|from\s+now\s+on\b|going\s+forward\b|in\s+future\b"
    r"|(?:always|never)\s+(?!mind\b)\w|call\s+me\s+\w|(?:forget|ignore|disregard)\s+(?:what|that|my)\b)",
    re.IGNORECASE,
)
# Said in passing: "I can't eat …", "I'm a nurse", "We never …", "My daughter is …", "…, by the way"; and no longer true.
_SELF = re.compile(
    r"\bby\s+the\s+way\b"
    r"|\b(?:I|we)\s+(?:can't|cannot|can\s+not)\s+(?:bear|drink|drive|eat|fly|hear|smell|stand|swim|take|tolerate|travel|wear|work)\b"
    r"|\b(?:I|we)\s+(?:always|never|usually|prefer|live|speak|own|avoid|hate|dislike|only\s+(?:eat|drink|use|work|take))\b"
    r"|\b(?:I|we)\s+(?:don't|do\s+not)\s+(?:drink|drive|eat|fly|like|own|smoke|speak|use|wear|work)\b"
    r"|\b(?:I'm|I\s+am|we're|we\s+are)\s+(?:an?|allergic|from|based|vegan|vegetarian|intolerant|married|pregnant|born)\b"
    r"|\b(?:I|we|my)\b.*\b(?:no\s+longer|any\s?more)\b|\b(?:I|we)\s+can\s+\w+\b.*\bagain\b"
    r"|\b(?:I|we)\s+(?:work|live)\s+(?:as|at|for|in|on|from|with)\b"
    r"|\bmy\s+(?:\w+\s+)?(?:name|birthday|address|e-?mail|phone|number|allerg(?:y|ies)|pronouns|time\s?zone|wife|husband"
    r"|partner|son|daughter|mother|father|sister|brother|boss|team)\b.*\b(?:is|are|has|have|can't|cannot|was)\b",
    re.IGNORECASE,
)


def standing_words(messages: Iterable[Message]) -> list[str]:
    """Return what persons said in *messages* that counts beyond its turn, in their words and order, each once.

    Earlier compactions among the messages hand on what they hold. Only English is understood; what is missed is in the
    store like every turn, and can be recalled.
    """
    sentences = list[str]()
    for message in messages:
        sentences += message.known.standing
        if message.is_typed and not message.known.folded:
            sentences += _in_text(message.text)
    newest = dict.fromkeys(reversed(sentences))
    return list(newest)[::-1]


def newest_within(sentences: list[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """Return the newest of *sentences* that *budget* tokens hold, in their order."""
    kept = list[str]()
    for sentence in reversed(sentences):
        budget -= count(sentence) + 2
        if budget < 0:
            break
        kept.append(sentence)
    return kept[::-1]


def _in_text(text: str) -> list[str]:
    """Return the sentences of a short text that hold a wish, or something lasting of the writer."""
    if len(text) > MOST_CHARACTERS:
        return []
    found = list[str]()
    for part in _SENTENCE_END.split(without_quotations(text)):
        sentence = " ".join(part.split())
        is_short = len(sentence) <= SENTENCE_CHARACTERS
        is_told = is_short and not sentence.endswith("?") and len(sentence.split()) >= LEAST_WORDS
        if (
            is_told
            and not MemoryRef.find_all(sentence)
            and (_WISH.match(sentence) or _SELF.search(sentence))
        ):
            found.append(sentence)
    return found
