"""Fold the results of an agent's tools, and redact what must not be stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from langchain_memory_context.messages import METADATA, neutral_of, shown_as
from langchain_memory_context.tools import MemoryTool
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.message import Message
from memory_context.conversation.references.key_trust import RunningCall
from memory_context.conversation.references.pass_by_reference import with_references_again
from memory_context.model.json_object import elements_of, members_of
from memory_context.model.origin import TOOL
from memory_context.model.tool_names import MEMORY_TOOLS

Redactor: TypeAlias = Callable[[str], str]
ToolOutcome: TypeAlias = ToolMessage | Command[Any]
AnyMiddleware: TypeAlias = AgentMiddleware[Any, Any, Any]


def with_folded(outcome: ToolOutcome, fold: Callable[[ToolMessage], ToolMessage]) -> ToolOutcome:
    """Return a tool's outcome with *fold* applied to each tool message in it."""
    if isinstance(outcome, ToolMessage):
        return fold(outcome)
    changes = members_of(outcome.update)
    if not changes.get("messages"):
        return outcome
    messages: list[Any] = changes["messages"]
    if not isinstance(messages, list):
        messages = [messages]
    folded = [fold(one) if isinstance(one, ToolMessage) else one for one in messages]
    return replace(outcome, update={**changes, "messages": folded})


def with_quotations_as_written(
    outcome: ToolOutcome, written: Mapping[str, Any], filled: Mapping[str, Any]
) -> ToolOutcome:
    """Return a tool's outcome; an error in it quotes the references in *written*, not the texts of *filled*."""

    def quoted(message: ToolMessage) -> ToolMessage:
        """Return an error with references in place of the texts it quotes; any other message as it is."""
        content: object = message.content
        if message.status != "error" or not isinstance(content, str):
            return message
        content = with_references_again(content, written, filled)
        return message.model_copy(update={"content": content})

    if filled is written:
        return outcome
    return with_folded(outcome, quoted)


def folded_result(
    folder: MessageFolder,
    request: ToolCallRequest,
    before: Sequence[Message],
    call: RunningCall,
    message: ToolMessage,
) -> ToolMessage:
    """Return a tool's result with its large texts folded.

    Args:
        folder: Folds texts.
        request: The request to the tool.
        before: The messages before the result.
        call: The facts about the call for conversations inside the tool.
        message: The result.
    """
    if isinstance(request.tool, MemoryTool):
        return _reported(folder, message)
    message = _unclaimed(message, call)
    neutral = neutral_of(message)
    if neutral.facts:
        return message
    tool = request.tool_call["name"]
    result = replace(neutral, source=tool)
    [taken] = folder.take_in([result], before)
    trusted = (*taken.known.trusted, *call.told_in(taken.text))
    # No facts are noted on a small result: it stays in the graph's state as the tool returned it.
    facts = None
    if taken.known.folded or trusted:
        facts = replace(taken.known, trusted=trusted)
    shown = shown_as(message, replace(taken, facts=facts))
    return _without_artifact(folder, shown, tool)


def _reported(folder: MessageFolder, message: ToolMessage) -> ToolMessage:
    """Return the answer of a memory tool; the keys that it reports become trusted, not those in texts that it quotes."""
    if message.name not in MEMORY_TOOLS or message.status == "error":
        return message
    keys = members_of(message.artifact).get("keys")
    reported = [key for key in elements_of(keys) if isinstance(key, str)]
    [taken] = folder.take_in([replace(neutral_of(message), facts=None)], ())
    facts = replace(taken.known, trusted=(*taken.known.trusted, *reported))
    return shown_as(message, replace(taken, facts=facts))


def _unclaimed(message: ToolMessage, call: RunningCall) -> ToolMessage:
    """Return *message* without notes of this library, unless they come from a conversation inside the *call*.

    Any tool could return a message with such notes, and so make keys trusted.
    """
    if METADATA not in message.response_metadata:
        return message
    trusted = neutral_of(message).known.trusted
    if trusted and call.told.issuperset(trusted):
        return message
    metadata = {name: v for name, v in message.response_metadata.items() if name != METADATA}
    return message.model_copy(update={"response_metadata": metadata})


def _without_artifact(folder: MessageFolder, message: ToolMessage, tool: str) -> ToolMessage:
    policy = folder.policy
    never_folded = policy.tool_threshold(tool) is None
    if policy.artifacts == "keep" or never_folded or message.artifact is None:
        return message
    key = folder.fail_open.run(_store_artifact, folder, message.artifact, tool)
    if key:
        return message.model_copy(update={"artifact": {"memory_key": key}})
    return message


def _store_artifact(folder: MessageFolder, artifact: object, tool: str) -> str | None:
    """Store a large artifact and return its key; None if it is small, or neither text, bytes nor JSON."""
    content = artifact
    if not isinstance(content, str | bytes):
        try:
            content = json.dumps(artifact, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return None
    threshold = folder.policy.threshold
    if len(content) <= threshold:
        return None
    if isinstance(content, str):
        if not folder.manager.counter.exceeds(content, threshold):
            return None
        content = folder.policy.redacted(content)
    with folder.fail_open.writing():
        return folder.manager.store(
            content, type="tool_output", source=f"{tool}_artifact", origin=TOOL
        )
