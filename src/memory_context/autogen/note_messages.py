"""The messages that show a run's notes."""

from __future__ import annotations

from autogen_core.models import LLMMessage, UserMessage

from memory_context.autogen.messages import MEMORY_SOURCE
from memory_context.runtime import prompts


def notes_message(text: str) -> UserMessage:
    """A message that shows notes of a run."""
    return UserMessage(content=text, source=MEMORY_SOURCE)


def is_notes(message: LLMMessage) -> bool:
    """Whether `message` is one of these: it goes when its run ends, and until then it stays."""
    return (
        isinstance(message, UserMessage)
        and message.source == MEMORY_SOURCE
        and str(message.content).startswith(prompts.RUN_NOTES_HEADER)
    )
