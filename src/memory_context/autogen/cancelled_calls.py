"""Answer the tool calls of cancelled runs, since providers reject a conversation with an unanswered call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memory_context.conversation.message import NO_FACTS, Message
from memory_context.sentences_models_read import CANCELLED


def with_answers(
    messages: Sequence[Message], finished: Mapping[str, Message], new_id: Callable[[], str]
) -> list[Message]:
    """Return *messages* with an answer to each unanswered call, unless only results of tools follow it.

    Then its run may not have been cancelled: its tool may still be running.

    Args:
        messages: The conversation.
        finished: By call id, results of the newest calls that are not in *messages* yet.
        new_id: Makes the id of a message.
    """
    answered = {message.answers for message in messages}
    texts = {0: CANCELLED}
    settled = list[Message]()
    made_answers = list[Message]()
    for message in messages:
        if not message.is_result:
            settled += made_answers
            made_answers = []
        settled.append(message)
        open_calls = [call for call in message.calls if call.id not in answered]
        if not open_calls:
            continue
        host_id = new_id()
        for index, call in enumerate(open_calls):
            # Without a known result, the model is told that the call was cancelled.
            answer = finished.get(call.id) or Message(
                "", "tool", call.name, texts, answers=call.id, is_error=True, facts=NO_FACTS
            )
            made_answers.append(replace(answer, id=f"{host_id}.{index}"))
    return settled


def is_late(result: Message, messages: Sequence[Message], finished: Mapping[str, Message]) -> bool:
    """Return whether *result* is too late: its run was cancelled, and `with_answers` has answered its call."""
    for message in reversed(messages):
        if any(call.id == result.answers for call in message.calls):
            return False
        if result.answers is not None and message.answers == result.answers:
            return message.text == CANCELLED or result.answers in finished
    return False
