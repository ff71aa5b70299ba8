"""Convert the items of OpenAI's Responses API to messages of its chat format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from memory_context.replay.formats.content_parts import Json, call_of, parts_of

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
ITEMS = ("function_call", "custom_tool_call", "reasoning", *_OUTPUTS)


def is_item(message: Json) -> bool:
    """Return whether this is an item that only the Responses API has; its messages have a role like all others."""
    return message.get("type") in ITEMS and "role" not in message


def chat_of_items(items: Sequence[Json]) -> Iterator[Json]:
    """Yield messages for items; the items that the model made in one response are joined into one message."""
    messages = map(_message, items)
    for role, group in groupby(messages, key=lambda one: one["role"]):
        if role != "assistant":
            yield from group
            continue
        contents = list[object]()
        calls = list[object]()
        for message in group:
            contents += parts_of(message)
            calls += message.get("tool_calls") or []
        yield {"role": "assistant", "content": contents, "tool_calls": calls}


def _message(item: Json) -> Json:
    if not is_item(item):
        return item
    if item["type"] in _OUTPUTS:
        return {
            "role": "tool",
            "tool_call_id": item.get("call_id"),
            "content": item.get("output"),
        }
    if call := call_of(item):
        return {"role": "assistant", "tool_calls": [call]}
    # Reasoning, of which most models give only a summary.
    summary = item.get("summary") or ()
    whole = item.get("content") or ()
    return {"role": "assistant", "content": [*summary, *whole]}
