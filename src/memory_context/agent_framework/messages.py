"""Agent Framework's messages: what they are to a conversation, and how its decisions are shown in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, cast

from agent_framework import Content
from agent_framework import Message as FrameworkMessage

from memory_context.conversation.fold_and_recall_policies import PERSON
from memory_context.conversation.message import Edits, FunctionCall, Message
from memory_context.model.item import hash_content

ASSISTANT = "assistant"
# Marks a text of a result: the tool has failed, and says so itself.
FAILED = "memory_context_failed"


def held_by(messages: Sequence[FrameworkMessage]) -> list[list[Message]]:
    """Return, for each of the framework's messages, what it is to a conversation: each result of a tool by itself."""
    tools = dict[str, str]()
    seen = Counter[str]()
    held = list[list[Message]]()
    for message in messages:
        parts = neutral_of(message, tools)
        for index, part in enumerate(parts):
            seen[part.id] += 1
            if seen[part.id] > 1:
                parts[index] = _renamed(part, f"{part.id}:{seen[part.id]}")
            tools.update((call.id, call.name) for call in part.calls)
        held.append(parts)
    return held


def neutral_of(message: FrameworkMessage, tools: Mapping[str, str]) -> list[Message]:
    """Return *message* as a conversation sees it; *tools* are the names of those that were called before."""
    contents = list(enumerate(message.contents))
    if message.role == "tool":
        return [_neutral_result(content, tools) for _, content in contents if content.call_id]
    texts = {i: content.text or "" for i, content in contents if content.type == "text"}
    calls = tuple(_call(content) for _, content in contents if content.type == "function_call")
    others = {
        i: content.to_dict()
        for i, content in contents
        if content.type not in ("text", "function_call")
    }
    role = {"developer": "system"}.get(message.role, message.role)
    source = message.author_name or {"user": PERSON, "assistant": ASSISTANT}.get(role, role)
    words = json.dumps([role, list(texts.values()), [call.id for call in calls]])
    return [
        Message(
            message.message_id or f"{role}:{hash_content(words)}",
            cast("Any", role),
            source,
            texts,
            calls,
            others=others,
        )
    ]


def neutral_result(call_id: str, tool: str, items: Sequence[Content]) -> Message:
    """Return the *items* that *tool* gives as a conversation sees them."""
    texts = {i: item.text or "" for i, item in enumerate(items) if item.type == "text"}
    others = {i: item.to_dict() for i, item in enumerate(items) if item.type != "text"}
    is_error = any(FAILED in item.additional_properties for item in items)
    return Message(
        call_id, "tool", tool, texts, answers=call_id, is_error=is_error, others=others
    )


def edited(
    messages: Sequence[FrameworkMessage], held: Sequence[Sequence[Message]], edits: Edits
) -> list[FrameworkMessage]:
    """Return copies of *messages*, which are *held* as that, with *edits*."""
    prompt = list[FrameworkMessage]()
    for message, parts in zip(messages, held, strict=True):
        for part in parts:
            prompt += [own(one) for one in edits.inserted.get(part.id, ())]
        staying = [part for part in parts if part.id not in edits.removed]
        if staying or not parts:
            prompt.append(shown_as(message, parts, edits.changed))
    return prompt


def shown_as(
    message: FrameworkMessage, parts: Sequence[Message], changed: Mapping[str, Message]
) -> FrameworkMessage:
    """Return a copy of *message*, which consists of *parts*, with those that have *changed*."""
    message = copy(message)
    message.additional_properties = dict(message.additional_properties)
    if message.role == "tool":
        message.contents = [
            _with_texts(content, changed[content.call_id].texts)
            if content.call_id in changed
            else content
            for content in message.contents
        ]
        return message
    for part in parts:
        if part.id in changed:
            message.contents = _with_words(message.contents, changed[part.id])
            # It keeps its name, though it says something else.
            message.message_id = part.id
    return message


def own(message: Message) -> FrameworkMessage:
    """Return the framework's message for one that this library has put into the conversation."""
    return FrameworkMessage(
        "user", [message.text], author_name=message.source, message_id=message.id
    )


def _neutral_result(content: Content, tools: Mapping[str, str]) -> Message:
    call_id = content.call_id or ""
    items = content.items or [Content.from_text(str(content.result or ""))]
    result = neutral_result(call_id, tools.get(call_id, "tool"), items)
    return replace(result, is_error=result.is_error or content.exception is not None)


def _call(content: Content) -> FunctionCall:
    arguments = content.arguments
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {}, ensure_ascii=False, default=str)
    return FunctionCall(content.call_id or "", content.name or "", arguments)
