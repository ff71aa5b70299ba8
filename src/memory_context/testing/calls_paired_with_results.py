"""The rules of providers for the calls in a prompt, and for their results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memory_context.conversation.message import Message


def call_errors(prompt: Iterable[Message], *, open_calls: bool = False) -> Iterator[str]:
    """Yield what a provider would refuse: results follow directly on their calls, before any other message.

    With *open_calls*, calls may be without results, as a cancelled run leaves them.
    """
    unanswered = list[str]()
    for message in prompt:
        if message.is_result:
            if message.answers in unanswered:
                unanswered.remove(message.answers)
            elif message.answers is not None:
                yield f"message {message.id} answers {message.answers!r}, which no call before it has"
            continue
        if unanswered and not open_calls:
            yield f"message {message.id} comes before the results of {unanswered}"
        unanswered = [call.id for call in message.calls]
        for call in message.calls:
            if not isinstance(_parsed(call.arguments), dict):
                here = f"message {message.id} calls {call.name}"
                yield f"{here} with arguments that are not a JSON object"
    if unanswered and not open_calls:
        yield f"no results of {unanswered}"


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return json.loads(text)
    except ValueError:
        return None
