"""The rules of providers for a prompt of AutoGen's messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memory_context.autogen.messages import neutral_of
from memory_context.conversation.message import Message
from memory_context.testing.calls_paired_with_results import call_errors

_SOURCE = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what OpenAI accepts as a message's name
_EXACT = (SystemMessage, UserMessage, AssistantMessage, FunctionExecutionResultMessage)


class PromptError(AssertionError):
    """A provider would refuse this prompt."""


def check_prompt(messages: Sequence[LLMMessage], *, open_calls: bool = False) -> None:
    """Check the rules that providers enforce and AutoGen does not.

    System messages come first. Every call is answered before the next message, and results answer
    the calls right before them. Types are AutoGen's own; sources and arguments are legal.

    Args:
        messages: The prompt.
        open_calls: Whether calls may be without results, as a cancelled run leaves them.

    Raises:
        PromptError: Rules are broken; the message names each of them and the place.
    """
    errors = list(_message_errors(messages))
    neutral = list[Message]()
    for place, message in enumerate(messages):
        neutral += neutral_of(message, str(place))
    errors += call_errors(neutral, open_calls=open_calls)
    if errors:
        raise PromptError("; ".join(errors))


def _message_errors(messages: Sequence[LLMMessage]) -> Iterator[str]:
    """Yield the errors of single messages: in their types and sources, and system messages after others."""
    system_messages_end = False
    for index, message in enumerate(messages):
        if type(message) not in _EXACT:
            yield f"message {index} has the type {type(message).__name__}"
        if not isinstance(message, SystemMessage):
            system_messages_end = True
        elif system_messages_end:
            yield f"message {index} is a system message after others"
        source = message.source if isinstance(message, UserMessage | AssistantMessage) else None
        if source is not None and not _SOURCE.fullmatch(source):
            yield f"message {index} has the illegal source {source!r}"
