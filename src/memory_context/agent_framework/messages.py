"""Convert Agent Framework's messages to the library's own `Message`, and apply changes of these to the framework's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby
from typing import Any, cast

from agent_framework import Content
from agent_framework import Message as FrameworkMessage

from memory_context.conversation.message import FunctionCall, Message
from memory_context.model.item import hash_content
from memory_context.model.json_object import JsonObject
from memory_context.text.json_documents import json_of_any

RESULT = "function_result"
# Marks a text as the error message of a tool that has failed.
FAILED = "memory_context_failed"


def held_by(messages: Sequence[FrameworkMessage]) -> list[list[Message]]:
    """Return each of the framework's messages as the library's own messages, with tool results as separate messages."""
    tools = dict[str, str]()
    seen = Counter[str]()
    held = list[list[Message]]()
    for message in messages:
        parts = _neutral_of(message, tools)
        for index, part in enumerate(parts):
            tools |= {call.id: call.name for call in part.calls}
            seen[part.id] += 1
            number = seen[part.id]
            # An id may be made of the words of a message, which may be said again.
            if number > 1:
                parts[index] = replace(part, id=f"{part.id}:{number}")
        held.append(parts)
    return held


def neutral_result(call_id: str, occurrence: str, tool: str, items: Sequence[Content]) -> Message:
    """Return a tool's result as the library's own message.

    Args:
        call_id: The provider's id of the call.
        occurrence: An id that is unique in the conversation; providers may use a call id twice.
        tool: The name of the tool.
        items: The contents of the result.
    """
    return Message(
        occurrence,
        "tool",
        tool,
        _texts(items),
        answers=call_id,
        is_error=any(FAILED in item.additional_properties for item in items),
        others=_others(items),
    )


def _texts(contents: Sequence[Content]) -> dict[int, str]:
    return {place: one.text or "" for place, one in enumerate(contents) if one.type == "text"}


def _others(contents: Sequence[Content]) -> dict[int, Any]:
    handled = ("text", "function_call")
    return {place: one.to_dict() for place, one in enumerate(contents) if one.type not in handled}


def copied(message: FrameworkMessage) -> FrameworkMessage:
    """Return a copy of *message* whose properties the framework may change without changing the original."""
    message = copy(message)
    message.additional_properties = dict(message.additional_properties)
    return message


def show(message: FrameworkMessage, parts: Sequence[Message]) -> None:
    """Give *message* the texts and arguments of *parts*, and their id unless it holds tool results."""
    results = iter(parts)
    first = parts[0]
    contents = list[Content]()
    for place, content in enumerate(message.contents):
        changed = content
        if content.type == RESULT:
            result = next(results)
            if result.texts != _result(content, {}).texts:
                changed = Content.from_function_result(
                    result.answers or "",
                    id=content.id,
                    result=with_texts(_items(content), result.texts),
                    exception=content.exception,
                    status=content.status,
                    additional_properties=content.additional_properties,
                )
        elif content.type == "text":
            changed = _with_text(content, first.texts[place])
        elif content.type == "function_call":
            [call] = [call for call in first.calls if call.id == content.call_id]
            if call.arguments != _call(content).arguments:
                changed = copy(content)
                changed.arguments = call.arguments
        contents.append(changed)
    message.contents = contents
    if message.role != "tool":
        message.message_id = first.id


def inserted_message(message: Message) -> FrameworkMessage:
    """Return the framework's form of a message that this library has inserted into the conversation."""
    return FrameworkMessage(
        "user", [message.text], author_name=message.source, message_id=message.id
    )


def with_texts(items: Sequence[Content], texts: Mapping[int, str]) -> list[Content]:
    """Return *items* with *texts* at their indexes in place of the old ones."""
    changed = list(items)
    for place, text in texts.items():
        changed[place] = _with_text(items[place], text)
    return changed


def _neutral_of(message: FrameworkMessage, tools: Mapping[str, str]) -> list[Message]:
    """Return *message* as the library's own messages. *tools* maps ids of earlier calls to names of tools."""
    if message.role == "tool":
        return [_result(one, tools) for one in message.contents if one.type == RESULT]
    calls = tuple(_call(one) for one in message.contents if one.type == "function_call")
    others = _others(message.contents)
    texts = _texts(message.contents)
    role = message.role
    if role == "developer":
        role = "system"
    # The source of a person's message without a name is `user`, as with every framework.
    source = message.author_name or role
    call_ids = [call.id for call in calls]
    words = json.dumps([role, list(texts.values()), call_ids])
    message_id = message.message_id or f"{role}:{hash_content(words)}"
    neutral = Message(message_id, cast("Any", role), source, texts, calls, others=others)
    return [neutral]


def _result(content: Content, tools: Mapping[str, str]) -> Message:
    call_id = content.call_id or ""
    tool = tools.get(call_id, "tool")
    result = neutral_result(call_id, content.id or call_id, tool, _items(content))
    return replace(result, is_error=result.is_error or content.exception is not None)


def _items(result: Content) -> list[Content]:
    if result.items:
        return list(result.items)
    text = str(result.result or "")
    return [Content.from_text(text)]


def _call(content: Content) -> FunctionCall:
    arguments = content.arguments
    if not isinstance(arguments, str):
        arguments = json_of_any(arguments or {})
    return FunctionCall(content.call_id or "", content.name or "", arguments)


def _with_text(content: Content, text: str) -> Content:
    """Return *content* with *text*; the same object if that is its text."""
    if content.text == text:
        return content
    content = copy(content)
    content.text = text
    return content


def failure(text: str) -> list[Content]:
    """Return the result of a tool that has failed; *text* tells the model why."""
    return [Content.from_text(text, additional_properties={FAILED: True})]


def joined_texts(items: Sequence[Content]) -> list[Content]:
    """Return *items* with adjacent texts joined by line breaks."""
    joined = list[Content]()
    for is_text, run in groupby(items, lambda item: item.type == "text"):
        adjacent = list(run)
        if not is_text or len(adjacent) == 1:
            joined += adjacent
            continue
        text = "\n".join(item.text or "" for item in adjacent)
        properties = JsonObject()
        for item in adjacent:
            properties |= item.additional_properties
        joined.append(Content.from_text(text, additional_properties=properties))
    return joined
