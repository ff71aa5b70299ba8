"""Which memories the next step needs: decided by the words that they share with the newest message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from memory_context._excerpt import terms
from memory_context._items import SECRET, MemoryItem

NAME_WEIGHT = 3
LEAST_SHARE = 0.5
LEAST_WORDS = 2
_NAME = re.compile(r"[\d_./:@#-]")

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory to bring back, and the reason.

    Attributes:
        item: The memory.
        question: What is wanted of it.
        why: The reason, for people.
    """

    item: MemoryItem
    question: str
    why: str


def choose(question: str, candidates: Iterable[MemoryItem], seen: Mapping[str, Ranges]) -> list[Choice]:
    """The candidates that hold at least half of what `question` asks for, in lines that are not in sight yet.

    Names (words with digits or punctuation) weigh three times as much as other words; one name or two other words is
    the least. Secrets are never among them. `seen` has, for each key, the ranges of lines that stand in the prompt.
    """
    words = terms(question)
    choices = (_choice(question, words, item, seen.get(item.memory_key, ())) for item in candidates)
    return [choice for choice in choices if choice]


def _choice(question: str, words: list[str], item: MemoryItem, seen: Ranges) -> Choice | None:
    if isinstance(item.content, bytes) or item.memory_type == SECRET:
        return None
    held = [word for word in words if word in item.content.lower()]
    if not _enough(held, words) or not _out_of_sight(held, item.content, seen):
        return None
    return Choice(item, question, f"it holds {', '.join(held[:6])}")


def _enough(held: list[str], words: list[str]) -> bool:
    share = sum(map(_weight, held)) / max(1, sum(map(_weight, words)))
    return share >= LEAST_SHARE and (len(held) >= LEAST_WORDS or any(_weight(word) > 1 for word in held))


def _weight(word: str) -> int:
    return NAME_WEIGHT if _NAME.search(word) else 1


def _out_of_sight(held: list[str], text: str, seen: Ranges) -> bool:
    """Whether a line with one of the words, among those that hold the most of them, is not in sight."""
    hits = {number: sum(word in line for word in held) for number, line in enumerate(text.lower().split("\n"), 1)}
    best = max(hits.values())
    return not any(hits[number] == best for number in hits if _within(number, seen))


def _within(number: int, ranges: Ranges) -> bool:
    return any(first <= number <= last for first, last in ranges)
