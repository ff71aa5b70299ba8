"""Read the parts of a message's content, in the formats of providers, frameworks and telemetry.

A part of unknown kind is an error, since ignoring it would falsify the figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.json_object import elements_of, members_of

Json: TypeAlias = Mapping[str, Any]

# For each kind of part, the field of its text; in OpenTelemetry it is always `content`. A part without a type is a text.
_TEXTS = {
    "": "text",
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "text_reasoning": "text",
    "refusal": "refusal",
    "thinking": "thinking",
    "reasoning": "reasoning",
    "tool_reference": "tool_name",
    "compaction": "content",
}
# For each kind of call, the field of its id, and the fields that may hold its arguments.
_CALLS = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args", "arguments"),
    "function_call": ("call_id", "arguments"),
    "custom_tool_call": ("call_id", "input"),
}
# For each kind of result, the field of the answered call's id, and the fields that may hold the output.
_RESULTS = {
    "tool_result": ("tool_use_id", "content"),
    "function_result": ("call_id", "result"),
    "tool_call_response": ("id", "response", "result"),
}
# Parts without text; they are represented by their kind in brackets.
_WITHOUT_TEXT = (
    "image",
    "image_url",
    "input_image",
    "audio",
    "input_audio",
    "video",
    "file",
    "input_file",
    "document",
    "container_upload",
    "redacted_thinking",
    "blob",
    "uri",
    "data",
)

# Parts that are represented by their JSON: search results, and the tools that Anthropic runs itself within one response.
# The results of these, such as `web_search_tool_result`, are treated alike.
_WHOLE = ("search_result", "server_tool_use", "mcp_tool_use")

# The fields of a call or a result other than its arguments or output.
_FACTS = {"type", "id", "call_id", "tool_use_id", "name", "is_error", "status", "cache_control"}


def text_of_content(content: object, *, calls: bool = False) -> str:
    """Return the text of a content: the texts of its parts, or the JSON of another value.

    With *calls*, parts that are tool calls are left out: see `calls_in`.

    Raises:
        InvalidArgumentError: A part is of unknown kind, or is not allowed here; the message names the kind.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content)
    parts = cast("list[object]", content)
    if calls:
        parts = [part for part in parts if _kind(part) not in _CALLS]
    texts = map(_text_of_part, parts)
    return "\n".join(filter(None, texts))


def _text_of_part(part: object) -> str:
    fields = members_of(part)
    if not isinstance(part, dict):
        return text_of_content(part)
    kind = _kind(fields)
    if kind in _CALLS or kind in _RESULTS:
        raise InvalidArgumentError(f"a {kind} where none is allowed: {json.dumps(part)[:60]}")
    if kind in _WITHOUT_TEXT:
        return f"[{kind}]"
    if kind in _WHOLE or kind.endswith("_tool_result"):
        return json.dumps(_readable(fields), ensure_ascii=False)
    if kind in _TEXTS:
        for place in (_TEXTS[kind], "content"):
            if place in fields:
                return text_of_content(fields[place])
    known = ", ".join((*filter(None, _TEXTS), *_CALLS, *_RESULTS, *_WHOLE, *_WITHOUT_TEXT))
    raise InvalidArgumentError(
        f"a part of unknown kind, {json.dumps(part)[:60]}; the known kinds are {known}"
    )


def _readable(value: object) -> object:
    """Return a part, or a value in it, without types and ids, and without encrypted or base64 data."""
    if isinstance(value, list):
        return [_readable(one) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Json", value)
    hidden = {"type", "id", "tool_use_id"}
    if _kind(fields) == "base64":
        hidden.add("data")
    shown = dict[str, object]()
    for name, inner in fields.items():
        if name not in hidden and not name.startswith("encrypted_"):
            shown[name] = _readable(inner)
    return shown


def call_of(part: object) -> Json | None:
    """Return a part or an item as a call in OpenAI's chat format; None if it is not a call."""
    kind = _kind(part)
    if kind not in _CALLS:
        return None
    fields = members_of(part)
    id_field, *places = _CALLS[kind]
    function = {"name": fields.get("name"), "arguments": _first(fields, places)}
    return {"id": fields.get(id_field), "function": function}


def _first(fields: Json, places: Sequence[str]) -> object:
    """Return the value of the first of the fields *places* that exists; None if there is no other field either.

    Raises:
        InvalidArgumentError: None of them exists, but an unknown field does, whose value would be ignored.
    """
    for place in places:
        if place in fields:
            return fields[place]
    if fields.keys() - _FACTS:
        raise InvalidArgumentError(
            f"a {_kind(fields)} without {' or '.join(places)}: {json.dumps(fields)[:60]}"
        )
    return None


def calls_in(content: object) -> list[Json]:
    """Return the calls among the parts of a content."""
    return list(filter(None, map(call_of, elements_of(content))))


def results_apart(message: Json) -> Iterator[Json]:
    """Yield the results among the parts of `message` as messages of their own, then the message without them."""
    parts = elements_of(message.get("content"))
    rest = list[Json]()
    for part in parts:
        kind = _kind(part)
        if kind not in _RESULTS:
            rest.append(part)
            continue
        answered, *places = _RESULTS[kind]
        yield {
            "role": "tool",
            "tool_call_id": part.get(answered),
            "content": _first(part, places),
            "status": "error" if part.get("is_error") else "success",
        }
    if len(rest) == len(parts):
        yield message
    elif rest:
        yield {**message, "content": rest}


def parts_of(message: Json) -> list[object]:
    """Return the parts of a message's content; a content that is a text is one part."""
    content: object = message.get("content") or []
    if isinstance(content, list):
        return cast("list[object]", content)
    return [content]


def _kind(part: object) -> str:
    return str(members_of(part).get("type", ""))
