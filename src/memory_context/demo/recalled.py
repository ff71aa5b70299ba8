"""The lines of recalled texts, with their numbers: each gap says where it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autogen_core.models import LLMMessage, UserMessage

from memory_context.autogen.messages import MEMORY_SOURCE, texts_of
from memory_context.model.reference import MemoryRef
from memory_context.text.excerpt.excerpt import excerpt

_GAP = re.compile(r"…(?P<next>\d*)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a memory: its reference, the line's number (from 1), and the line."""

    ref: MemoryRef
    number: int
    line: str


def is_recalled(message: LLMMessage) -> bool:
    """Whether `message` shows what was brought back from memory."""
    return isinstance(message, UserMessage) and message.source == MEMORY_SOURCE


def recalled_lines(messages: Sequence[LLMMessage]) -> list[Place]:
    """Every line that was brought back."""
    texts = (text for message in messages if is_recalled(message) for text in texts_of(message))
    return [place for text in texts for place in _places(text)]


def best_of(places: Sequence[Place], question: str, characters: int) -> list[Place]:
    """Those that speak most of `question`, in order; together they have at most `characters`."""
    chosen = excerpt("\n".join(place.line for place in places), question, characters, len)
    return [
        places[number - 1] for first, last in chosen.ranges for number in range(first, last + 1)
    ]


def _places(text: str) -> Iterator[Place]:
    ref, number = None, 0
    for line in text.split("\n")[:-1]:  # the last one says that this was all
        if refs := MemoryRef.find_all(line):
            ref, number = refs[0], 0
        elif gap := _GAP.fullmatch(line):
            number = int(gap["next"] or 0) - 1
        elif ref:
            number += 1
            yield Place(ref, number, line)
