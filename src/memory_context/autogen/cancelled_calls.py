"""Calls whose tools were cancelled: providers refuse a call without an answer, so each gets one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory_context.conversation.message import NO_FACTS, FunctionCall, Message
from memory_context.wording_for_models import CANCELLED


def with_answers(messages: Sequence[Message], new_id: Callable[[], str]) -> list[Message]:
    """Return *messages* with an answer behind each call that has none, but for the last calls.

    A tool may still be at work on those: somebody looks at the messages meanwhile.

    Args:
        messages: The conversation.
        new_id: Makes the id of a message.
    """
    answered = {message.answers for message in messages}
    settled = list[Message]()
    waiting = list[Message]()
    for message in messages:
        if message.role != "tool":
            settled += waiting
            waiting = []
        settled.append(message)
        waiting += _cancelled([call for call in message.calls if call.id not in answered], new_id)
    return settled


def _cancelled(calls: Sequence[FunctionCall], new_id: Callable[[], str]) -> list[Message]:
    """Return the answers to *calls*, as the results of one message."""
    host_id = new_id() if calls else ""
    return [
        Message(
            f"{host_id}.{index}",
            "tool",
            call.name,
            {0: CANCELLED},
            answers=call.id,
            is_error=True,
            facts=NO_FACTS,
        )
        for index, call in enumerate(calls)
    ]


def is_late(result: Message, messages: Sequence[Message]) -> bool:
    """Return whether *result* comes after its call was answered as cancelled."""
    for message in reversed(messages):
        if any(call.id == result.answers for call in message.calls):
            return False
        if message.answers == result.answers is not None:
            return message.text == CANCELLED
    return False
