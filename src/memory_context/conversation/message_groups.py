"""Group messages that must stay together, and find where recalled text may be inserted among them."""

from __future__ import annotations

from collections.abc import Sequence

from memory_context.conversation.message import Message


def recall_position(messages: Sequence[Message], seen: int) -> int | None:
    """Return the index where the newest group of messages begins, before which recalled text is inserted.

    Return None if a model has seen part of that group: a model has seen the first *seen* messages.
    """
    unseen = groups(messages[seen:])
    if not unseen:
        return None
    start = seen + unseen[-1][0]
    newest = messages[start:]
    called = {call.id for message in newest for call in message.calls}
    missing = {message.answers for message in newest} - called - {None}
    if missing and any(call.id in missing for message in messages[:seen] for call in message.calls):
        return None
    return start


def groups(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return where each group begins and ends: a call with all messages up to its results, or one other message.

    A call stays open until its results arrive, or until its agent speaks again, which shows that it was cancelled.
    """
    found = list[tuple[int, int]]()
    start = 0
    open_until = 0
    for index, last_result in enumerate(_last_results(messages)):
        open_until = max(open_until, last_result)
        end = index + 1
        is_answered_next = end < len(messages) and messages[end].answers is not None
        if end >= open_until and not is_answered_next:
            found.append((start, end))
            start = end
    return found


def _last_results(messages: Sequence[Message]) -> list[int]:
    """Return, for each message, where the results of its calls end: at the end of all if one may still arrive; else 0."""
    ends = list[int]()
    answered = dict[str, int]()
    spoke = set[str]()
    for index in reversed(range(len(messages))):
        message = messages[index]
        open_until = index + 1 if message.source in spoke else len(messages)
        last_result = 0
        for call in message.calls:
            last_result = max(last_result, answered.get(call.id, open_until))
        ends.append(last_result)
        if message.answers is not None:
            answered[message.answers] = index + 1
        if message.is_reply:
            spoke.add(message.source)
    return ends[::-1]
