"""Turn messages into the entries of a transcript, which a notebook shows to people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memory_context.conversation.message import Message
from memory_context.model.reference import MemoryRef
from memory_context.model.transcript import TranscriptEntry


def entries_of(
    messages: Iterable[Message], count: Callable[[str], int]
) -> Iterator[TranscriptEntry]:
    """Yield an entry for each message, with its tokens by *count*."""
    for message in messages:
        speaker = "memory" if message.is_ours else message.role
        calls = [(call.name, call.arguments) for call in message.calls]
        yield TranscriptEntry(
            speaker,
            message.source,
            tuple(message.texts.values()),
            tuple(calls),
            sum(map(count, message.billed())),
            len(message.others),
            message.is_error,
        )


def stored_behind(messages: Iterable[Message], known: Iterable[str]) -> dict[str, int]:
    """Return the tokens of the stored text behind each of the *known* keys that the messages refer to."""
    keys = frozenset(known)
    stored = dict[str, int]()
    for message in messages:
        for text in message.texts.values():
            for ref in MemoryRef.find_all(text):
                if ref.key in keys and ref.tokens is not None:
                    stored[ref.key] = ref.tokens
    return stored
