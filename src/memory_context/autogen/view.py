"""AutoGen's messages as a notebook shows them to people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memory_context.autogen.messages import MEMORY_SOURCE, calls_of, texts_of, words_of
from memory_context.model.reference import MemoryRef
from memory_context.model.transcript import TranscriptEntry

Count = Callable[[str], int]


def entries_of(messages: Iterable[LLMMessage], count: Count) -> tuple[TranscriptEntry, ...]:
    """The messages; each result of a tool is a turn of its own."""
    return tuple(entry for message in messages for entry in _entries(message, count))


def _entries(message: LLMMessage, count: Count) -> Iterator[TranscriptEntry]:
    match message:
        case SystemMessage(content=text):
            yield TranscriptEntry("system", "system", (text,), tokens=count(text))
        case UserMessage(source=source, content=content):
            texts = tuple(texts_of(message))
            images = 0 if isinstance(content, str) else len(content) - len(texts)
            role = "memory" if source == MEMORY_SOURCE else "user"
            yield TranscriptEntry(role, source, texts, tokens=sum(map(count, texts)), images=images)
        case AssistantMessage(source=source):
            words, calls = (
                words_of(message),
                tuple((call.name, call.arguments) for call in calls_of(message)),
            )
            tokens = count(words) + sum(count(name) + count(arguments) for name, arguments in calls)
            yield TranscriptEntry("assistant", source, (words,) if words else (), calls, tokens)
        case FunctionExecutionResultMessage(content=results):
            for one in results:
                yield TranscriptEntry(
                    "tool",
                    one.name,
                    (one.content,),
                    tokens=count(one.content),
                    is_error=bool(one.is_error),
                )


def stored_behind(messages: Iterable[LLMMessage], known: Iterable[str]) -> dict[str, int]:
    """For each of the keys `known` whose reference stands in the messages, the tokens of the text in the store."""
    keys = frozenset(known)
    refs = (
        ref
        for message in messages
        for text in texts_of(message)
        for ref in MemoryRef.find_all(text)
    )
    return {ref.key: ref.tokens for ref in refs if ref.key in keys and ref.tokens is not None}
