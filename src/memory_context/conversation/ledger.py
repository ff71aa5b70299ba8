"""The tokens and the names of messages, each looked for once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import MemoryRef
from memory_context.text.terms import names

# What a provider adds to each message for its role and its limits.
MESSAGE_TOKENS = 4


@dataclass(slots=True)
class LedgerEntry:
    """What is known of a message with this wording; None where nobody has asked."""

    message: Message
    tokens: int | None = None
    tokens_in_full: int | None = None
    names: frozenset[str] | None = None


@dataclass(slots=True)
class Ledger:
    """Counts messages, 4 tokens more for each, and finds the names in them; remembers those of the last list."""

    manager: MemoryManager
    _known: dict[str, LedgerEntry] = field(default_factory=dict[str, LedgerEntry])

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of each message."""
        tokens = list[int]()
        for entry in self._entries(messages):
            if entry.tokens is None:
                entry.tokens = MESSAGE_TOKENS + sum(
                    map(self.manager.counter.count, entry.message.billed())
                )
            tokens.append(entry.tokens)
        return tokens

    def tokens_in_full(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens that each message would have if nothing were folded, compacted or brought back.

        A reference says how many tokens it stands for; what this library has put there beside that counts nothing.
        """
        tokens = list[int]()
        for entry in self._entries(messages):
            if entry.tokens_in_full is None:
                entry.tokens_in_full = self._tokens_in_full(entry.message)
            tokens.append(entry.tokens_in_full)
        return tokens

    def _tokens_in_full(self, message: Message) -> int:
        known = message.known
        if message.is_ours:
            return _stood_for(message.text) if known.stands_for else 0
        count = self.manager.counter.count
        tokens = MESSAGE_TOKENS
        for place, text in message.texts.items():
            tokens += _stood_for(text) if place in known.folded else count(text)
        return tokens + sum(count(call.name) + count(call.arguments) for call in message.calls)

    def names(self, messages: Sequence[Message]) -> set[str]:
        """Return the names that stand in *messages*."""
        found = set[str]()
        for entry in self._entries(messages):
            if entry.names is None:
                texts = entry.message.billed()
                entry.names = frozenset(name for text in texts for name in names(text))
            found |= entry.names
        return found

    def _entries(self, messages: Sequence[Message]) -> list[LedgerEntry]:
        entries = list[LedgerEntry]()
        for message in messages:
            entry = self._known.get(message.id)
            if entry is None or not _reads_alike(entry.message, message):
                entry = LedgerEntry(message)
            entries.append(entry)
        self._known = {entry.message.id: entry for entry in entries}
        return entries


def _stood_for(text: str) -> int:
    """Return the tokens of what the first reference in *text* stands for."""
    ref = next(iter(MemoryRef.find_all(text)), None)
    return (ref.tokens if ref else None) or 0


def _reads_alike(one: Message, other: Message) -> bool:
    return one is other or (one.texts == other.texts and one.calls == other.calls)
