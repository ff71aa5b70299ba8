"""A conversation as people look at it, whichever host keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory_context.model.registry_of_drawers import Displayed


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A message, or one of the results in it.

    Attributes:
        role: ``system``, ``user``, ``assistant``, ``tool``, or ``memory`` for what was brought back.
        name: The name of its source or tool.
        texts: Its texts, as they are in the prompt.
        calls: The tools that it calls, each with its arguments.
        tokens: How many tokens it takes in the prompt.
        images: How many images it has.
        is_error: Whether a tool failed.
    """

    role: str
    name: str
    texts: tuple[str, ...]
    calls: tuple[tuple[str, str], ...] = ()
    tokens: int = 0
    images: int = 0
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Transcript(Displayed):
    """The messages of a conversation, and what is stored behind their references.

    Attributes:
        title: The class that keeps the conversation.
        facts: Names and values that identify the conversation.
        entries: The messages, oldest first.
        stored: For each reference in it, the tokens of the stored text.
        limit: The most tokens that it may have, or None.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[TranscriptEntry, ...]
    stored: Mapping[str, int]
    limit: int | None = None
