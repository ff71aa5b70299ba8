"""What a judge is asked, and what it answers: of which memories the next step needs what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memory_context.model.call_records import Intent
from memory_context.model.item import MemoryItem
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.index.term_hits import TermHits

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RecallCandidate:
    """A memory of the conversation whose text is not in the prompt.

    Attributes:
        item: The memory.
        seen: The lines of it that are in the prompt.
        recency: Higher for memories that came or were spoken of later.
        came: Higher for what came or was named later, whatever was recalled of it.
        best_line: The line of it that holds most of the message, for a model's judgement.
    """

    item: MemoryItem
    seen: Ranges = ()
    recency: int = 0
    best_line: str = ""
    came: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked.

    Attributes:
        message: The newest message, without references.
        turns: The last two or three turns, as ``user: …`` and ``assistant: …``, with the references in them.
        candidates: The conversation's references whose text is not in the prompt: for a judge that is more
            than keyword matching up to 30 of the newest, oldest first; then those that hold words of the message.
        has_memories: Whether the user has other memories, to search.
        in_sight: Whether a text stands in the prompt before the message.
        hits: What the index says of the message's terms; None where there is no index.
        is_told: Whether a text stands there in what no person wrote; None where that is not known.
    """

    message: str
    turns: str
    candidates: tuple[RecallCandidate, ...]
    has_memories: bool
    in_sight: Callable[[str], bool]
    hits: TermHits | None = None
    is_told: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """A memory to open: for a question, or at some lines.

    Attributes:
        key: Its key.
        query: What is wanted of it; without it and without lines, the newest message.
        lines: Which lines, as ``120-180``.
        why: The reason, for people.
        records: What of it to show, where that is known.
        more: How many further records are meant alike.
    """

    key: str
    query: str | None = None
    lines: str | None = None
    why: str = ""
    records: tuple[Record, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge answers.

    Attributes:
        intent: Whether the message says all that it takes to act on it.
        expand: The memories of the conversation to open, best first.
        search: What to look for among the user's other memories; None for nothing.
        kept_only: Whether what was folded in other conversations is left out of that search, and what was said
            there, unless a person stated it.
        why: The reason, for people.
        tokens: The tokens that it cost.
        is_clear: Whether keyword matching leaves nothing to a model that could be asked.
    """

    intent: Intent = "concrete"
    expand: tuple[Expansion, ...] = ()
    search: str | None = None
    why: str = ""
    tokens: int = 0
    kept_only: bool = False
    is_clear: bool = False
