"""The messages of AutoGen's saved states, as messages of OpenAI's chat form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.formats.content_parts import Json

_SAYING = {"SystemMessage": "system", "UserMessage": "user"}
_TYPES = (*_SAYING, "AssistantMessage", "FunctionExecutionResultMessage")


def is_autogens(message: Json) -> bool:
    """Return whether a message has the type of one of AutoGen's."""
    return message.get("type") in _TYPES


def chat_of_autogen(messages: Sequence[Json]) -> list[Json]:
    """Return messages of OpenAI's chat form for AutoGen's.

    Raises:
        InvalidArgumentError: One of them is none of AutoGen's; says which.
    """
    chat = list[Json]()
    for number, message in enumerate(messages, 1):
        try:
            chat += _chat_of(message)
        except (AttributeError, LookupError, TypeError) as error:
            raise InvalidArgumentError(
                f"message {number} is not one of AutoGen's: {error!r}"
            ) from error
    return chat


def _chat_of(message: Json) -> Iterator[Json]:
    kind = message["type"]
    content = message["content"]
    if kind == "FunctionExecutionResultMessage":
        for result in content:
            yield {
                "role": "tool",
                "tool_call_id": result["call_id"],
                "name": result.get("name"),
                "content": result["content"],
                "status": "error" if result.get("is_error") else "success",
            }
    elif kind == "AssistantMessage":
        words = ""
        calls = content
        if isinstance(content, str):
            words = content
            calls = list[Json]()
        yield {
            "role": "assistant",
            # What a model says beside its calls AutoGen keeps as a thought.
            "content": [text for text in (message.get("thought"), words) if text],
            "tool_calls": [{"id": call["id"], "function": call} for call in calls],
        }
    else:
        pieces = [content] if isinstance(content, str) else content
        # What is no text is an image.
        parts = [piece if isinstance(piece, str) else {"type": "image"} for piece in pieces]
        yield {"role": _SAYING[kind], "source": message.get("source"), "content": parts}
