"""Convert the messages of AutoGen's saved states to OpenAI's chat format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.formats.content_parts import Json

_ROLES = {"SystemMessage": "system", "UserMessage": "user"}
_TYPES = (*_ROLES, "AssistantMessage", "FunctionExecutionResultMessage")


def is_autogens(message: Json) -> bool:
    """Return whether a message has one of AutoGen's types."""
    return message.get("type") in _TYPES


def chat_of_autogen(messages: Sequence[Json]) -> list[Json]:
    """Return AutoGen's messages in OpenAI's chat format.

    Raises:
        InvalidArgumentError: One of them is not AutoGen's; the message says which.
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
        # AutoGen keeps the text beside a model's calls as its thought.
        words = [message.get("thought")]
        calls = list[Json]()
        if isinstance(content, str):
            words.append(content)
        else:
            calls = content
        yield {
            "role": "assistant",
            "content": list(filter(None, words)),
            "tool_calls": [{"id": call["id"], "function": call} for call in calls],
        }
    else:
        pieces = [content] if isinstance(content, str) else content
        # A piece that is not a text is an image.
        parts = [piece if isinstance(piece, str) else {"type": "image"} for piece in pieces]
        yield {"role": _ROLES[kind], "source": message.get("source"), "content": parts}
