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


def entries_of(messages: Iterable[LLMMessage], count: Count) -> Iterator[TranscriptEntry]:
    """Yield the messages as entries; each result of a tool is an entry of its own."""
    for message in messages:
        match message:
            case SystemMessage(content=text):
                yield TranscriptEntry("system", "system", (text,), tokens=count(text))
            case UserMessage(source=source, content=content):
                texts = tuple(texts_of(message))
                images = 0 if isinstance(content, str) else len(content) - len(texts)
                role = "memory" if source == MEMORY_SOURCE else "user"
                tokens = sum(map(count, texts))
                yield TranscriptEntry(role, source, texts, tokens=tokens, images=images)
            case AssistantMessage(source=source):
                words = words_of(message)
                calls = tuple((call.name, call.arguments) for call in calls_of(message))
                tokens = count(words)
                for name, arguments in calls:
                    tokens += count(name) + count(arguments)
                yield TranscriptEntry("assistant", source, (words,) if words else (), calls, tokens)
            case FunctionExecutionResultMessage(content=results):
                for result in results:
                    text = result.content
                    yield TranscriptEntry(
                        "tool",
                        result.name,
                        (text,),
                        tokens=count(text),
                        is_error=bool(result.is_error),
                    )


def stored_behind(messages: Iterable[LLMMessage], known: Iterable[str]) -> dict[str, int]:
    """Return the tokens of the stored text behind each of the *known* keys that the messages refer to."""
    keys = frozenset(known)
    tokens = dict[str, int]()
    for message in messages:
        for text in texts_of(message):
            for ref in MemoryRef.find_all(text):
                if ref.key in keys and ref.tokens is not None:
                    tokens[ref.key] = ref.tokens
    return tokens
