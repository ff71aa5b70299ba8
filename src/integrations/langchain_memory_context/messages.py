"""Convert LangChain's messages to the library's own `Message`, and apply changes of these to LangChain's.

A *note* is what this library has written into a message's `response_metadata`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memory_context.conversation.fold_recall_notes_policies import PERSON
from memory_context.conversation.message import (
    MEMORY_SOURCE,
    FunctionCall,
    Message,
    MessageFacts,
    Role,
)
from memory_context.model.item import hash_content
from memory_context.model.json_object import JsonObject, members_of
from memory_context.text.json_documents import json_of_any

M = TypeVar("M", bound=BaseMessage)
Block: TypeAlias = str | JsonObject
"""A part of a message's content."""

# The key of this library's notes in a message's `response_metadata`, which is not sent to providers.
METADATA = "memory_context"
ASSISTANT = "assistant"


def neutral_of(message: BaseMessage, message_id: str = "") -> Message:
    """Return *message* as the library's own message, with the facts that are noted on it."""
    role: Role = "system"
    source = message.type
    calls: list[FunctionCall] = []  # `list[FunctionCall]()` would take a microsecond
    answers: str | None = None
    is_error = False
    match message:
        case HumanMessage():
            role = "user"
            source = message.name or PERSON
        case ToolMessage():
            role = "tool"
            source = message.name or "tool"
            answers = message.tool_call_id
            is_error = message.status == "error"
        case AIMessage():
            role = "assistant"
            source = message.name or ASSISTANT
            calls = [
                FunctionCall(str(call["id"]), call["name"], json_of_any(call["args"]))
                for call in message.tool_calls
            ]
        case _:
            pass
    noted = noted_on(message).get("message")
    facts = MessageFacts.from_json(noted) if noted else None
    if facts:
        # Not the other facts: anybody could write such a note.
        facts = MessageFacts(
            lines=facts.lines,
            folded=facts.folded,
            named=facts.named,
            trusted=facts.trusted,
            instructs=facts.instructs,
        )
    # Most messages are one text.
    blocks = [] if isinstance(message.content, str) else message.content
    return Message(
        message_id,
        role,
        source,
        _texts_of(message),
        tuple(calls),
        answers,
        is_error,
        # LangChain marks a summary, which a model wrote but has the role of a person's message.
        is_summary="lc_source" in message.additional_kwargs,
        others={place: one for place, one in enumerate(blocks) if _text_of(one) is None},
        facts=facts,
    ).with_facts_in_it()


def noted_on(message: BaseMessage) -> Mapping[str, Any]:
    """Return the notes on *message*. They are not proof: anybody who sends a message can send notes with it."""
    return members_of(message.response_metadata.get(METADATA))


def with_note(message: M, name: str, note: object) -> M:
    """Return a copy of *message* with *note* under *name*."""
    noted = {**noted_on(message), name: note}
    metadata = {**message.response_metadata, METADATA: noted}
    return message.model_copy(update={"response_metadata": metadata})


def shown_as(message: M, shown: Message) -> M:
    """Return *message* with the texts, the calls and the facts of *shown*; the same object if nothing changes."""
    facts = shown.known.to_json()
    if facts and facts != noted_on(message).get("message"):
        message = with_note(message, "message", facts)
    current = neutral_of(message)
    if shown.texts != current.texts:
        content = _with_texts(message, shown.texts)
        message = message.model_copy(update={"content": content})
    if isinstance(message, AIMessage) and shown.calls != current.calls:
        arguments = {call.id: json.loads(call.arguments) for call in shown.calls}
        calls = [{**call, "args": arguments[str(call["id"])]} for call in message.tool_calls]
        # A provider's format may repeat the arguments.
        content = message.content
        if isinstance(content, list):
            content = [_with_input(block, arguments) for block in content]
        # Without OpenAI's own format of the calls, LangChain sends those of `message.tool_calls`.
        others = {**message.additional_kwargs}
        others.pop("tool_calls", None)
        changes = {"tool_calls": calls, "content": content, "additional_kwargs": others}
        message = message.model_copy(update=changes)
    return message


def _with_input(block: Block, arguments: Mapping[str, Any]) -> Block:
    """Return a block of content; if it is a call in Anthropic's format, with its new arguments."""
    if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") in arguments:
        return {**block, "input": arguments[block["id"]]}
    return block


def inserted_message(shown: Message) -> HumanMessage:
    """Return LangChain's form of a message that this library has inserted into the conversation."""
    return HumanMessage(shown.text, name=MEMORY_SOURCE, id=shown.id)


def plain_texts(message: BaseMessage) -> list[str]:
    """Return the texts of a message, block by block."""
    texts = map(_text_of, _blocks(message.content))
    return [text for text in texts if text is not None]


def _texts_of(message: BaseMessage) -> dict[int, str]:
    """Return the texts by the index of their block; adjacent text blocks are joined with line breaks."""
    if message.content == "" and getattr(message, "tool_calls", None):
        return {}  # a model that only calls tools says nothing
    if isinstance(message.content, str):
        return {0: message.content}
    adjacent: dict[int, list[str]] = {}
    start = None
    for place, block in enumerate(message.content):
        text = _text_of(block)
        if text is None:
            start = None
            continue
        if start is None:
            start = place
            adjacent[start] = []
        adjacent[start].append(text)
    return {place: "\n".join(texts) for place, texts in adjacent.items()}


def _with_texts(message: BaseMessage, texts: Mapping[int, str]) -> str | list[Block]:
    """Return the content of *message* with *texts* in place of its texts; other blocks stay."""
    if isinstance(message.content, str):
        return texts.get(0, message.content)
    content = list[Block]()
    for place, block in enumerate(message.content):
        if place in texts:
            content.append({"type": "text", "text": texts[place]})
        elif _text_of(block) is None:
            content.append(block)
    return content


def _blocks(content: str | list[Block]) -> Sequence[Block]:
    if isinstance(content, str):
        return [content]
    return content


def _text_of(block: Block) -> str | None:
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
        case _:
            return None


def ids_of(messages: Sequence[BaseMessage]) -> list[str]:
    """Return a unique id for each message: its own, else a hash of its content with a number, as contents may repeat."""
    seen = Counter[str]()
    ids = list[str]()
    for message in messages:
        words = ""
        if not message.id:
            words = f"{message.type}:{hash_content(str(message.content))}"
        seen[words] += 1
        ids.append(message.id or f"{words}:{seen[words]}")
    return ids
