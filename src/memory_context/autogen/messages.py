"""AutoGen's messages: their texts, copies of them with other texts, and what ties them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

from memory_context.conversation.message_groups import MessageLink
from memory_context.conversation.text_folder import TextPart
from memory_context.memory.user_layer import begins_layer

MEMORY_SOURCE = "memory_context"


def parts_of(message: LLMMessage) -> list[TextPart]:
    """The texts that may be folded: results of tools, and texts of user messages that are not recalled ones."""
    match message:
        case FunctionExecutionResultMessage(content=results):
            return [
                TextPart(index, result.content, None, result.name, result.call_id, result.is_error)
                for index, result in enumerate(results)
            ]
        case UserMessage(source=source) if source == MEMORY_SOURCE:
            return []
        case UserMessage(content=str(text), source=source):
            return [TextPart(0, text, source, source)]
        case UserMessage(content=pieces, source=source):
            return [
                TextPart(i, piece, source, source)
                for i, piece in enumerate(pieces)
                if isinstance(piece, str)
            ]
        case _:
            return []


def with_texts(message: LLMMessage, texts: Mapping[int, str]) -> LLMMessage:
    """A copy of `message` with other texts at some places; it shares nothing with it that could change."""
    match message:
        case FunctionExecutionResultMessage(content=results):
            copies = [
                result.model_copy(update=_text(texts, index))
                for index, result in enumerate(results)
            ]
            return message.model_copy(update={"content": copies})
        case UserMessage(content=str()):
            return message.model_copy(update=_text(texts, 0))
        case UserMessage(content=list() as pieces):
            return message.model_copy(
                update={"content": [texts.get(i, piece) for i, piece in enumerate(pieces)]}
            )
        case _:
            return message.model_copy(deep=True)


def _text(texts: Mapping[int, str], index: int) -> dict[str, str]:
    return {"content": texts[index]} if index in texts else {}


def calls_of(message: LLMMessage) -> list[FunctionCall]:
    """The calls that an assistant's message makes."""
    return (
        message.content
        if isinstance(message, AssistantMessage) and isinstance(message.content, list)
        else []
    )


def words_of(message: AssistantMessage) -> str:
    """What an assistant says besides its calls."""
    return message.content if isinstance(message.content, str) else message.thought or ""


def is_question(message: LLMMessage) -> TypeGuard[UserMessage]:
    """Whether `message` is one of a user or another agent, and not one that shows recalled text."""
    return isinstance(message, UserMessage) and message.source != MEMORY_SOURCE


def newest_question(messages: Sequence[LLMMessage], start: int) -> UserMessage | None:
    """The newest message of a user or another agent from `start` on."""
    return next((message for message in reversed(messages[start:]) if is_question(message)), None)


def texts_of(message: LLMMessage) -> list[str]:
    """The texts of a message of a user or with results, recalled ones included."""
    if isinstance(message, UserMessage):
        pieces = [message.content] if isinstance(message.content, str) else message.content
        return [piece for piece in pieces if isinstance(piece, str)]
    return [part.text for part in parts_of(message)]


def link_of(message: LLMMessage) -> MessageLink:
    """What ties a message to others."""
    if isinstance(message, FunctionExecutionResultMessage):
        return MessageLink(answers=tuple(result.call_id for result in message.content))
    return MessageLink(tuple(call.id for call in calls_of(message)))


def is_layer(message: LLMMessage) -> bool:
    """Whether `message` is a user's layer."""
    return (
        isinstance(message, UserMessage)
        and message.source == MEMORY_SOURCE
        and begins_layer(str(message.content))
    )
