"""LangChain's messages as the turns of a stored conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from langchain_memory_context.message_folding import MessageFolder, origin_of
from langchain_memory_context.messages import is_question, source_of
from memory_context.memory.chat_history import ChatTurn, ConversationMemory
from memory_context.runtime import events

ASSISTANT = "assistant"


def messages_of(turns: Iterable[ChatTurn]) -> list[BaseMessage]:
    """Return the messages that *turns* were made of, without those of which something in the store left no message."""
    messages = list[BaseMessage]()
    for turn in turns:
        try:
            messages.append(message_of(turn))
        except (ValueError, TypeError, LookupError) as error:
            events.RECORD_UNREADABLE.log(error, memory_key=turn.key)
    return messages


def message_of(turn: ChatTurn) -> BaseMessage:
    """Return the message that a turn was made of."""
    data = {"content": turn.text, **turn.data}
    return messages_from_dict([{"type": turn.role, "data": data}])[0]


def turn_of(message: BaseMessage) -> ChatTurn:
    """Return a message as a turn; what JSON cannot express in it is kept as its text."""
    data: dict[str, Any] = json.loads(json.dumps(message_to_dict(message)["data"], default=str))
    text = data.pop("content") if isinstance(message.content, str) else ""
    return ChatTurn(message.type, text, data)


def append(
    conversation: ConversationMemory,
    session_id: str,
    folder: MessageFolder,
    messages: Sequence[BaseMessage],
) -> None:
    """Append copies of *messages* to a session, their large texts folded, side by side.

    Raises:
        StoreError: The store could not do it; nothing was appended.
    """
    folded = list[Any]()
    for message in messages:
        origin = partial(origin_of, tuple(folded), None)
        match message:
            case ToolMessage():
                folded.append(folder.fold_result(message, message.name or "tool", origin))
            case HumanMessage() if is_question(message):
                folded.append(folder.fold_said(message, source_of(message), origin))
            case AIMessage():
                folded.append(folder.fold_said(message, ASSISTANT, origin))
            case _:
                folded.append(message)
    conversation.add_turns(session_id, [turn_of(message) for message in folded])
