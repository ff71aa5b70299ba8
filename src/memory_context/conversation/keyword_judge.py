"""What the next step needs from memory: what a judge is asked and answers, and the answer that words alone give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from memory_context.model.item import MemoryItem, is_secret
from memory_context.text.terms import is_name, terms, weight

LEAST_SHARE = 0.5
LEAST_WORDS = 2
JUDGED_AT_MOST = 5_000_000
_VAGUE = re.compile(
    r"\b(?:same as|last time|as before|like before|as usual|the usual|previous(?:ly)?|earlier|again|remember|"
    r"the other day|once more|back then|yesterday|last week)\b",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"\b(?:the|my|our|that|this)\s+(?P<noun>[A-Za-z][\w-]+)", re.IGNORECASE)

Ranges: TypeAlias = tuple[tuple[int, int], ...]
Intent: TypeAlias = Literal["concrete", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Candidate:
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
    candidates: tuple[Candidate, ...]
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


def judge_by_words(question: Question) -> Verdict:
    """The verdict that needs no model.

    Opened is what `choose` finds. The message is ambiguous, and searched for, if it points back ("the same as last
    time"), or at something that stands nowhere ("connect to the DB" in a conversation without one), and nothing of the
    conversation answers it.
    """
    seen = {candidate.item.memory_key: candidate.seen for candidate in question.candidates}
    choices = choose(question.message, (candidate.item for candidate in question.candidates), seen)
    expand = tuple(
        Expansion(choice.item.memory_key, question.message, why=choice.why) for choice in choices
    )
    missing = list(_missing(question)) if question.has_memories and not expand else []
    if not missing:
        return Verdict(
            expand=expand,
            why="; ".join(choice.why for choice in choices) or "nothing out of sight is meant",
        )
    return Verdict(
        "ambiguous",
        search=_VAGUE.sub(" ", question.message),
        why=f"nothing in sight says {', '.join(missing[:3])}",
    )


def _missing(question: Question) -> Iterator[str]:
    """What the message points at and the prompt does not hold."""
    yield from (match.group() for match in _VAGUE.finditer(question.message))
    nouns = (match["noun"] for match in _DEFINITE.finditer(question.message))
    names = (word for word in terms(question.message) if is_name(word))
    yield from (word for word in (*nouns, *names) if not question.in_sight(word))


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory that has what is asked for, how much of it, and the reason for people."""

    item: MemoryItem
    why: str
    worth: int


def choose(
    question: str,
    candidates: Iterable[MemoryItem],
    seen: Mapping[str, Ranges],
    *,
    described: bool = False,
) -> list[Choice]:
    """The candidates whose best place holds at least half of what `question` asks for, best first.

    If a place that is as good is in sight, the candidate is none. A place is a line and the ones beside it. Names
    (words with digits or punctuation) weigh three times as much as other words; if the question has names, one of them
    must stand there, else two other words. The contents of secrets are not looked at. With `described`, descriptions,
    keys and tags are places too, and one word will do. `seen` has, for each key, the ranges of lines that stand in the
    prompt.
    """
    words = terms(question)
    choices = (
        _choice(words, item, seen.get(item.memory_key, ()), described)
        for item in candidates
        if words
    )
    return sorted((choice for choice in choices if choice), key=lambda choice: -choice.worth)


def _choice(words: list[str], item: MemoryItem, seen: Ranges, described: bool) -> Choice | None:  # noqa: FBT001 - private
    hidden = isinstance(item.content, bytes) or is_secret(item)
    places = {} if hidden else _places(item.text, words)
    if described:
        name = f"{item.summary} {item.memory_key} {' '.join(item.tags)}".lower()
        places[0] = {word for word in words if word in name} | places.get(1, set())
    best = max(places.values(), key=_worth, default=set[str]())
    if not _enough(best, words, 1 if described else LEAST_WORDS) or any(
        held == best and _within(line, seen) for line, held in places.items()
    ):
        return None
    return Choice(
        item, f"it holds {', '.join(word for word in words if word in best)}", _worth(best)
    )


def _places(text: str, words: list[str]) -> dict[int, set[str]]:
    """For each line (from 1) with a word of the question, those that stand in it or beside it."""
    lines = text[:JUDGED_AT_MOST].lower().split("\n")
    hits = {
        number: held
        for number, line in enumerate(lines, 1)
        if (held := {word for word in words if word in line})
    }
    return {n: held | hits.get(n - 1, set()) | hits.get(n + 1, set()) for n, held in hits.items()}


def _enough(held: set[str], words: list[str], least_words: int) -> bool:
    share = _worth(held) / sum(map(weight, words))
    needed = any(map(is_name, held)) if any(map(is_name, words)) else len(held) >= least_words
    return needed and share >= LEAST_SHARE


def _worth(held: Iterable[str]) -> int:
    return sum(map(weight, held))


def _within(number: int, ranges: Ranges) -> bool:
    return any(first <= number <= last for first, last in ranges)
