"""Group messages that must stay together, and find where recalled text may stand among them."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.message import Message


def recall_position(messages: Sequence[Message], seen: int) -> int | None:
    """Return where the newest group of messages begins, which is where recalled text goes; None if a model has seen it.

    A model has seen the first *seen* messages.
    """
    last = len(messages) - 1
    if last < seen:
        return None
    start, _ = groups(messages)[-1]
    if start >= seen:
        return start
    # What somebody says while a call that a model has seen is open does not belong to the results.
    return last if messages[last].answers is None else None


def groups(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return where each group begins and ends: a call with all messages up to its results, or one other message.

    A call stays open until its results come, or until its agent speaks again: then it was cancelled.
    """
    found = list[tuple[int, int]]()
    start = 0
    waiting = set[str]()
    expected = _expected_results(messages)
    for index, message in enumerate(messages):
        waiting |= expected[index]
        if message.answers is not None:
            waiting.discard(message.answers)
        end = index + 1
        is_last = end == len(messages)
        is_answered_next = not is_last and messages[end].answers is not None
        stays_open = waiting or is_answered_next
        if is_last or not stays_open:
            found.append((start, end))
            start = end
    return found


def _expected_results(messages: Sequence[Message]) -> list[set[str]]:
    """Return, for each message, the ids of those of its calls whose results follow or may still come."""
    expected = list[set[str]]()
    answered = set[str]()
    spoke = set[str]()
    for message in reversed(messages):
        ids = {call.id for call in message.calls}
        if message.source in spoke:
            ids &= answered
        expected.append(ids)
        if message.answers is not None:
            answered.add(message.answers)
        if message.is_reply:
            spoke.add(message.source)
    return expected[::-1]
