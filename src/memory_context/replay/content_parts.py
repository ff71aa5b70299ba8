"""The parts of a message's content, as OpenAI, Anthropic and LangChain name them; an unknown kind is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from memory_context.exceptions import InvalidArgumentError

RecordedMessage: TypeAlias = Mapping[str, Any]

# Where the text of a part stands; a part without a type is a text.
_TEXTS = {
    "": "text",
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
    "reasoning": "reasoning",
}
# Where the id and the arguments of a call stand.
_CALLS = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args"),
    "function_call": ("call_id", "arguments"),
    "custom_tool_call": ("call_id", "input"),
}
RESULT = "tool_result"
# What has no text: its kind in brackets stands for it.
_WITHOUT_TEXT = (
    *("image", "image_url", "input_image", "audio", "input_audio", "video"),
    *("file", "input_file", "document", "redacted_thinking"),
)


def text_of_content(content: object) -> str:
    """Return the text of a content, calls and results left out: of parts their texts, of other values their JSON.

    Raises:
        InvalidArgumentError: It has a part of unknown kind; names the kind.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content)
    texts = [_text_of_part(part) for part in cast("list[object]", content)]
    return "\n".join(filter(None, texts))


def _text_of_part(part: object) -> str:
    if not isinstance(part, dict):
        return text_of_content(part)
    fields = cast("RecordedMessage", part)
    kind = _kind(fields)
    if kind in _CALLS or kind == RESULT:
        return ""
    if kind in _WITHOUT_TEXT:
        return f"[{kind}]"
    if kind in _TEXTS and _TEXTS[kind] in fields:
        return text_of_content(fields[_TEXTS[kind]])
    known = ", ".join((*filter(None, _TEXTS), *_CALLS, RESULT, *_WITHOUT_TEXT))
    message = f"a part of unknown kind, {json.dumps(part)[:60]}; known are {known}"
    raise InvalidArgumentError(message)


def call_of(part: object) -> RecordedMessage | None:
    """Return the call that a part or an item is, as OpenAI's chat form has it."""
    kind = _kind(part)
    if kind not in _CALLS:
        return None
    fields, (own_id, arguments) = cast("RecordedMessage", part), _CALLS[kind]
    function = {"name": fields.get("name"), "arguments": fields.get(arguments)}
    return {"id": fields.get(own_id), "function": function}


def calls_in(content: object) -> list[RecordedMessage]:
    """Return the calls among the parts of a content."""
    return [call for part in _parts(content) if (call := call_of(part))]


def results_apart(message: RecordedMessage) -> Iterator[RecordedMessage]:
    """Yield the results among the parts of `message` as messages of their own, then what else it says."""
    parts = _parts(message.get("content"))
    results = [part for part in parts if _kind(part) == RESULT]
    for part in cast("list[RecordedMessage]", results):
        yield {
            "role": "tool",
            "tool_call_id": part.get("tool_use_id"),
            "content": part.get("content"),
            "status": "error" if part.get("is_error") else "success",
        }
    rest = [part for part in parts if _kind(part) != RESULT]
    if not results:
        yield message
    elif rest:
        yield {**message, "content": rest}


def _parts(content: object) -> list[object]:
    return cast("list[object]", content) if isinstance(content, list) else []


def _kind(part: object) -> str:
    return str(cast("RecordedMessage", part).get("type", "")) if isinstance(part, dict) else ""
