"""Convert LangChain messages to the turns of a stored conversation, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from langchain_core.messages import (
    BaseMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)

from langchain_memory_context.messages import ASSISTANT, neutral_of, shown_as
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.message import Message
from memory_context.memory.chat_history import ChatTurn, ConversationMemory
from memory_context.model.json_object import JsonObject
from memory_context.runtime import log_events
from memory_context.text.json_documents import json_of_any


def messages_of(turns: Iterable[ChatTurn]) -> list[BaseMessage]:
    """Return the messages that *turns* were made of; a turn that was damaged in the store is logged and left out."""
    messages = list[BaseMessage]()
    for turn in turns:
        try:
            data = {"content": turn.text, **turn.data}
            messages += messages_from_dict([{"type": turn.role, "data": data}])
        except (ValueError, TypeError, LookupError) as error:
            log_events.RECORD_UNREADABLE.log(error, memory_key=turn.key)
    return messages


def turn_of(message: BaseMessage) -> ChatTurn:
    """Return a message as a turn. A value in it that JSON cannot express is stored as its ``str()``.

    A message that this library has inserted into the conversation is marked as recalled.
    """
    # `RunnableWithMessageHistory` adds a streamed answer as the sum of its chunks, whose type is not that of an answer.
    message = message_chunk_to_message(message)
    as_json = json_of_any(message_to_dict(message)["data"])
    # Log probabilities may be infinite.
    data: JsonObject = json.loads(as_json, parse_constant=str)
    text = data.pop("content") if isinstance(message.content, str) else ""
    return ChatTurn(message.type, text, data, is_recalled=neutral_of(message).is_ours)


def append(
    conversation: ConversationMemory,
    session_id: str,
    folder: MessageFolder,
    messages: Sequence[BaseMessage],
) -> None:
    """Append copies of *messages*, with their large texts folded, to a session, without other turns between them.

    Raises:
        StoreError: The store failed; nothing was appended.
    """
    # The model's own texts are folded, too, since the chat is sent to models again later.
    chat = replace(folder, folds_answers=True)
    turns = list[ChatTurn]()
    before = list[Message]()
    for message in messages:
        neutral = neutral_of(message)
        if neutral.is_reply:
            neutral = replace(neutral, source=ASSISTANT)
        [taken] = chat.take_in([neutral], before)
        before.append(taken)
        turns.append(turn_of(shown_as(message, taken)))
    conversation.add_turns(session_id, turns)
