"""What is known of a text of AutoGen's messages before it is folded."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from autogen_core.models import AssistantMessage, LLMMessage

from memory_context.autogen.messages import calls_of, is_question, texts_of, words_of
from memory_context.conversation.text_folder import TextOrigin, TextPart


def origin_of(
    part: TextPart, messages: Sequence[LLMMessage], known: AbstractSet[str]
) -> TextOrigin:
    """What `messages`, those before its own, say about a text; `known` are the names in them."""
    called = (
        call
        for message in reversed(messages)
        for call in calls_of(message)
        if call.id == part.call_id
    )
    call = next(called, None) if part.call_id else None
    spoken = next(
        (message for message in reversed(messages) if isinstance(message, AssistantMessage)), None
    )
    task = next((message for message in messages if is_question(message)), None)
    return TextOrigin(
        arguments=call.arguments if call else None,
        words=words_of(spoken) if spoken else "",
        task="\n".join(texts_of(task)) if task else "",
        known=known,
    )
