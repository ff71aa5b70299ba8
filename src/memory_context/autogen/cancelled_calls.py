"""Calls whose tools were cancelled: providers refuse a call without an answer, so each gets one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memory_context.conversation.message import NO_FACTS, FunctionCall, Message
from memory_context.wording_for_models import CANCELLED


def with_answers(
    messages: Sequence[Message], finished: Mapping[str, Message], new_id: Callable[[], str]
) -> list[Message]:
    """Return *messages* with an answer behind each call that has none, but for the last calls.

    A tool may still be at work on those: somebody looks at the messages meanwhile.

    Args:
        messages: The conversation.
        finished: By their calls, the results that have come of the newest of these, but not into *messages*.
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
        open_calls = [call for call in message.calls if call.id not in answered]
        host_id = new_id() if open_calls else ""
        for index, call in enumerate(open_calls):
            answer = finished.get(call.id) or _cancelled(call)
            waiting.append(replace(answer, id=f"{host_id}.{index}"))
    return settled


def _cancelled(call: FunctionCall) -> Message:
    """Return the answer to *call* where nothing is known of what was done."""
    texts = {0: CANCELLED}
    return Message("", "tool", call.name, texts, answers=call.id, is_error=True, facts=NO_FACTS)


def is_late(result: Message, messages: Sequence[Message], finished: Mapping[str, Message]) -> bool:
    """Return whether *result* comes after its call was answered, as one of a cancelled run."""
    for message in reversed(messages):
        if any(call.id == result.answers for call in message.calls):
            return False
        if message.answers == result.answers is not None:
            return message.text == CANCELLED or result.answers in finished
    return False
