"""LangChain's messages: their texts, copies of them with other texts, and what ties them together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from memory_context.conversation.keyword_judge import Ranges
from memory_context.conversation.message_groups import MessageLink
from memory_context.conversation.settings import PERSON
from memory_context.model.item import hash_content
from memory_context.model.reference import leading_key

MEMORY_NAME = "memory_context"
FACTS = "memory_context"


def texts_of(message: BaseMessage) -> list[str]:
    """The texts of a message's content."""
    return [text for _, text in _texts(message.content)]


def runs_of(message: BaseMessage) -> dict[int, str]:
    """The texts by the place of their block; text blocks side by side are one, with line breaks between them."""
    runs: dict[int, list[str]] = {}
    start = last = -1
    for place, text in _texts(message.content):
        start = start if runs and place == last + 1 else place
        runs.setdefault(start, []).append(text)
        last = place
    return {place: "\n".join(texts) for place, texts in runs.items()}


def with_runs(message: BaseMessage, texts: Mapping[int, str]) -> str | list[str | dict[str, Any]]:
    """The content of `message` with other texts in place of some runs; other blocks stay."""
    if isinstance(message.content, str):
        return texts.get(0, message.content)
    content, skipping = list[str | dict[str, Any]](), False
    for index, block in enumerate(message.content):
        is_text = _text_of(block) is not None
        skipping = index not in texts and skipping and is_text
        if index in texts:
            content.append({"type": "text", "text": texts[index]})
            skipping = True
        elif not skipping:
            content.append(block)
    return content


def _texts(content: str | list[str | dict[str, Any]]) -> Iterator[tuple[int, str]]:
    blocks = [content] if isinstance(content, str) else content
    for index, block in enumerate(blocks):
        text = _text_of(block)
        if text is not None:
            yield index, text


def _text_of(block: str | dict[str, Any]) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def billed(message: BaseMessage) -> Iterator[str]:
    """The texts of a message that a provider counts."""
    yield from texts_of(message)
    if isinstance(message, AIMessage):
        yield from (
            part for call in message.tool_calls for part in (call["name"], written(call["args"]))
        )


def written(arguments: Mapping[str, Any]) -> str:
    """A call's arguments as JSON."""
    return json.dumps(arguments, ensure_ascii=False, default=str)


def link_of(message: BaseMessage) -> MessageLink:
    """What ties a message to others."""
    if isinstance(message, ToolMessage):
        return MessageLink(answers=(message.tool_call_id,))
    return MessageLink(
        tuple(str(call["id"]) for call in message.tool_calls)
        if isinstance(message, AIMessage)
        else ()
    )


def is_question(message: BaseMessage) -> TypeGuard[HumanMessage]:
    """Whether `message` is one of a person or another agent, and not one that shows recalled text."""
    return isinstance(message, HumanMessage) and message.name != MEMORY_NAME


def source_of(message: HumanMessage) -> str:
    """Who speaks: an agent by its name; everybody without one is a person."""
    return message.name or PERSON


def index_of_last_answer(messages: Sequence[AnyMessage]) -> int:
    """The place of the newest message of the model; 0 where there is none."""
    return next(
        (i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], AIMessage)), 0
    )


def marks_of(messages: Sequence[BaseMessage]) -> list[str]:
    """What tells each message from the others: its id; without one its words, and how often they came before."""
    seen, marks = Counter[str](), list[str]()
    for message in messages:
        words = "" if message.id else f"{message.type}:{hash_content(str(message.content))}"
        seen[words] += 1
        marks.append(message.id or f"{words}:{seen[words]}")
    return marks


def lines_of_previews(message: BaseMessage) -> dict[str, Ranges]:
    """For each memory that was folded in `message`, the lines that stayed in sight.

    Anybody who sends a message can send metadata with it. What is no such note says nothing, and what is one is
    believed of texts that begin with the reference.
    """
    facts = message.response_metadata.get(FACTS)
    noted = (
        cast("Mapping[str, Any]", facts).get("references") if isinstance(facts, Mapping) else None
    )
    if not isinstance(noted, Mapping):
        return {}
    beginnings = [
        key for text in runs_of(message).values() if (key := leading_key(text)) is not None
    ]
    references = cast("Mapping[str, Any]", noted)
    return as_ranges(
        {key: references[key] for key in beginnings if _are_ranges(references.get(key))}
    )


def _are_ranges(value: object) -> bool:
    """Whether `value` is a list of pairs of whole numbers."""
    return isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple)
        and len(cast("Sequence[object]", pair)) == 2
        and all(
            isinstance(end, int) and not isinstance(end, bool)
            for end in cast("Sequence[object]", pair)
        )
        for pair in cast("Sequence[object]", value)
    )


def as_ranges(references: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Ranges]:
    """Ranges of lines as they come back from a checkpoint."""
    return {
        key: tuple((first, last) for first, last in ranges) for key, ranges in references.items()
    }


def was_folded(message: BaseMessage) -> bool:
    """Whether a text of `message` was folded."""
    return bool(lines_of_previews(message))
