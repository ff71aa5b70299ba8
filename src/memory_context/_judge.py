"""Which memories the next step needs: decided by the words that they share with the newest message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from memory_context._excerpt import is_name, terms, weight
from memory_context._items import SECRET, MemoryItem

LEAST_SHARE = 0.5
LEAST_WORDS = 2

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory to bring back, and the reason.

    Attributes:
        item: The memory.
        question: What is wanted of it.
        why: The reason, for people.
        worth: What it has of the question; the higher, the better.
    """

    item: MemoryItem
    question: str
    why: str
    worth: int = 0


def choose(question: str, candidates: Iterable[MemoryItem], seen: Mapping[str, Ranges]) -> list[Choice]:
    """The candidates with a place that holds at least half of what `question` asks for and is not in sight, best first.

    A place is a line and the ones beside it. Names (words with digits or punctuation) weigh three times as much as
    other words; if the question has names, one of them must stand there, else two other words. Secrets are never among
    them. `seen` has, for each key, the ranges of lines that stand in the prompt.
    """
    words = terms(question)
    choices = (_choice(question, words, item, seen.get(item.memory_key, ())) for item in candidates if words)
    return sorted((choice for choice in choices if choice), key=lambda choice: -choice.worth)


def _choice(question: str, words: list[str], item: MemoryItem, seen: Ranges) -> Choice | None:
    if isinstance(item.content, bytes) or item.memory_type == SECRET:
        return None
    places = _places(item.content, words)
    best = max(places.values(), key=_worth, default=set[str]())
    if not _enough(best, words) or any(held == best and _within(line, seen) for line, held in places.items()):
        return None
    return Choice(item, question, f"it holds {', '.join(word for word in words if word in best)}", _worth(best))


def _places(text: str, words: list[str]) -> dict[int, set[str]]:
    """For each line (from 1) with a word of the question, those that stand in it or beside it."""
    lines = text.lower().split("\n")
    hits = {number: held for number, line in enumerate(lines, 1) if (held := {word for word in words if word in line})}
    return {n: held | hits.get(n - 1, set()) | hits.get(n + 1, set()) for n, held in hits.items()}


def _enough(held: set[str], words: list[str]) -> bool:
    share = _worth(held) / sum(map(weight, words))
    needed = any(map(is_name, held)) if any(map(is_name, words)) else len(held) >= LEAST_WORDS
    return needed and share >= LEAST_SHARE


def _worth(held: Iterable[str]) -> int:
    return sum(map(weight, held))


def _within(number: int, ranges: Ranges) -> bool:
    return any(first <= number <= last for first, last in ranges)
