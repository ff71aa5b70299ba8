"""Convert between AutoGen's messages and the library's own `Message`, which has the same form for all frameworks.

The results of one turn's calls are one message in AutoGen, and one `Message` each here: `ID.0`, `ID.1` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autogen_core import FunctionCall as AutoGenCall
from autogen_core import Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memory_context.conversation.message import FunctionCall, Message
from memory_context.model.item import encodable


def neutral_of(message: LLMMessage, message_id: str) -> list[Message]:
    """Return *message* as the library's own messages, with each tool result as a separate message."""
    match message:
        case SystemMessage(content=text):
            return [Message(message_id, "system", "system", {0: text})]
        case UserMessage(source=source, content=content):
            texts = dict[int, str]()
            images = dict[int, str]()
            pieces = [content] if isinstance(content, str) else content
            for place, piece in enumerate(pieces):
                if isinstance(piece, str):
                    texts[place] = piece
                else:
                    images[place] = piece.to_base64()
            return [Message(message_id, "user", source, texts, others=images)]
        case AssistantMessage(source=source, content=said, thought=thought):
            words = [said] if isinstance(said, str) else []
            calls = [] if isinstance(said, str) else said
            # If a message has both text and calls, AutoGen keeps the text as a thought.
            if thought:
                words.append(thought)
            called = tuple(FunctionCall(one.id, one.name, one.arguments) for one in calls)
            return [Message(message_id, "assistant", source, dict(enumerate(words)), called)]
        case FunctionExecutionResultMessage(content=[]):
            return [Message(message_id, "tool", "tool", {})]
        case FunctionExecutionResultMessage(content=results):
            return [_neutral_result(one, f"{message_id}.{i}") for i, one in enumerate(results)]


def _neutral_result(result: FunctionExecutionResult, message_id: str) -> Message:
    return Message(
        message_id,
        "tool",
        result.name,
        {0: result.content},
        answers=result.call_id,
        is_error=bool(result.is_error),
    )


def sendable(message: Message) -> Message:
    """Return *message* without lone surrogates, which a client cannot send; a folded text is stored with them."""
    texts = {place: encodable(text) for place, text in message.texts.items()}
    calls = tuple(replace(call, arguments=encodable(call.arguments)) for call in message.calls)
    return replace(message, texts=texts, calls=calls)


def hosts_id(message: Message) -> str:
    """Return the id of the AutoGen message that *message* belongs to."""
    return message.id.partition(".")[0]


def made_of(parts: Sequence[Message]) -> LLMMessage:
    """Return the AutoGen message made of *parts*: of one message, or of the results of a turn's calls."""
    message = parts[0]
    match message.role:
        case "system":
            return SystemMessage(content=message.text)
        case "user":
            content: Any = message.text
            if list(message.texts) != [0] or message.others:
                pieces: dict[int, str | Image] = {**message.texts}
                for place, image in message.others.items():
                    pieces[place] = Image.from_base64(image)
                content = [pieces[place] for place in sorted(pieces)]
            return UserMessage(content=content, source=message.source)
        case "assistant":
            calls = [AutoGenCall(call.id, call.arguments, call.name) for call in message.calls]
            content = calls
            thought = message.texts.get(0)
            if not calls:
                content = message.texts.get(0, "")
                thought = message.texts.get(1)
            return AssistantMessage(content=content, thought=thought, source=message.source)
        case "tool":
            results = [_result(part) for part in parts if part.texts]
            return FunctionExecutionResultMessage(content=results)


def _result(message: Message) -> FunctionExecutionResult:
    return FunctionExecutionResult(
        content=message.text,
        name=message.source,
        call_id=message.answers or "",
        is_error=message.is_error,
    )
