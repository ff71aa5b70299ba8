"""Give the texts of a judge's candidates, and what is known of each: when it came, and which parts are in sight."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memory_context.model.item import MemoryItem, is_secret
from memory_context.text.excerpt.turns_of_conversations import is_conversation, said_lines
from memory_context.text.index.chunks_and_metadata_cards import card_of
from memory_context.text.read.lines_by_number import LineNumbers

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RecallCandidate:
    """A memory of the conversation whose whole text is not in the prompt.

    Attributes:
        item: The memory.
        seen: Its lines that are in the prompt, as ranges of line numbers.
        recency: A number that is higher for memories that came, were mentioned or were recalled later.
        best_line: The line that shares most with the message, for a judge that asks a model.
        came: A number that is higher for memories that came or were named later; recalling one does not change it.
    """

    item: MemoryItem
    seen: Ranges = ()
    recency: int = 0
    best_line: str = ""
    came: int = 0


class SearchedCandidates:
    """The candidates that may be searched: those with text that are not secret.

    Args:
        candidates: The candidates.
        in_sight: Returns whether a text is in the prompt, the message included.
    """

    def __init__(
        self, candidates: Iterable[RecallCandidate], in_sight: Callable[[str], bool]
    ) -> None:
        self._in_sight = in_sight
        self._by_key = {
            one.item.memory_key: one
            for one in candidates
            if isinstance(one.item.content, str) and not is_secret(one.item)
        }
        self._lines = {key: LineNumbers(self.text_of(key)) for key in self._by_key}

    def __contains__(self, key: str) -> bool:
        """Return whether the candidate with this key may be searched."""
        return key in self._by_key

    def items(self) -> list[MemoryItem]:
        """Return the memories of the candidates."""
        return [candidate.item for candidate in self._by_key.values()]

    def text_of(self, key: str) -> str:
        """Return the text of the candidate with this key."""
        return self._by_key[key].item.text

    def card_of(self, key: str) -> Iterable[str]:
        """Return the lexemes of the candidate's card: its description in the index."""
        return card_of(self._by_key[key].item)

    def stored_at(self, key: str) -> datetime:
        """Return when the candidate was stored."""
        return self._by_key[key].item.created_at

    def recency_of(self, key: str) -> int:
        """Return a number that is higher for texts that came, were mentioned or were recalled later."""
        return self._by_key[key].recency

    def came_at(self, key: str) -> tuple[int, datetime]:
        """Return a value that is higher for texts that came or were named later; recalling one does not change it."""
        return self._by_key[key].came, self.stored_at(key)

    def call_of(self, key: str) -> Hashable:
        """Return the call that brought a text, as tool and arguments; the memory's key if the call is not known.

        The same call, made again, returns a newer state of the same thing.
        """
        item = self._by_key[key].item
        facts = item.content_metadata
        call = facts.get("source"), facts.get("arguments")
        # A program that stores a memory may keep anything under these names.
        is_known = item.memory_type == "tool_output" and all(isinstance(one, str) for one in call)
        return call if is_known else key

    def is_seen(self, key: str, start: int, stop: int) -> bool:
        """Return whether a part of the candidate's text is in the prompt, by its line numbers or word for word."""
        text = self.text_of(key)
        parts = [(start, stop)]
        if is_conversation(text):
            parts = said_lines(text, start, stop) or parts
        return all(self._is_part_seen(key, *part) for part in parts)

    def _is_part_seen(self, key: str, start: int, stop: int) -> bool:
        first, last = self._lines[key].at(start), self._lines[key].at(stop)
        if any(begin <= first and last <= end for begin, end in self._by_key[key].seen):
            return True
        return self._in_sight(self.text_of(key)[start:stop])
