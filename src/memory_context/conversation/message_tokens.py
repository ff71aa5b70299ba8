"""Count the tokens of messages and find the names in them, once for each message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import MEMORY_TOOLS, QUERY
from memory_context.text.words_and_names import labels, names

# What a provider adds to each message for its role and its limits.
MESSAGE_TOKENS = 4
# What OpenAI charges for an image of 1024 x 1024 in high detail: 85, and 170 for each of four tiles. Others count by area.
PICTURE_TOKENS = 765
# An answer of `query_memory` may have no reference: "rows 1-400 of 400".
_ROWS_OF_ANSWER = re.compile(r"rows \d+-\d+ of \d+\n")


@dataclass
class LedgerEntry:
    """The tokens and names of a message, as it is worded now, each computed when it is first needed."""

    message: Message
    manager: MemoryManager

    @cached_property
    def tokens(self) -> int:
        """Return the message's tokens."""
        count = self.manager.counter.count
        return MESSAGE_TOKENS + sum(map(count, self.message.billed()))

    @cached_property
    def tokens_in_full(self) -> int:
        """Return how many tokens it would have if nothing were folded, compacted or brought back.

        A reference says how many tokens it stands for. A message that this library inserted counts 0, except for a note
        on a compaction; so does an answer of its tools.
        """
        known = self.message.known
        # Without this library there would be no stored texts that its tools answer with. Others' tools have such names, too.
        may_be_ours = self.message.is_result and self.message.source in MEMORY_TOOLS
        if may_be_ours and MemoryRef.find_all(self.message.text):
            return 0
        may_be_rows = self.message.is_result and self.message.source == QUERY
        if may_be_rows and _ROWS_OF_ANSWER.match(self.message.text):
            return 0
        if self.message.is_ours:
            return _stood_for(self.message.text) if known.stands_for else 0
        tokens = self.tokens
        count = self.manager.counter.count
        for place in known.folded:
            text = self.message.texts[place]
            tokens += _stood_for(text) - count(text)
        return tokens

    @cached_property
    def names(self) -> set[str]:
        """Return the names and labels in it."""
        billed = self.message.billed()
        return set[str]().union(*map(names, billed), *map(labels, billed))


@dataclass(slots=True)
class Ledger:
    """Counts the tokens of messages, plus 4 for each, and finds names. Remembers the results for the latest messages."""

    manager: MemoryManager
    _known: dict[str, LedgerEntry] = field(default_factory=dict[str, LedgerEntry])

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of each message."""
        return [entry.tokens for entry in self.entries(messages)]

    def names(self, messages: Sequence[Message]) -> set[str]:
        """Return the names in *messages*."""
        found = set[str]()
        for entry in self.entries(messages):
            found |= entry.names
        return found

    def entries(self, messages: Sequence[Message]) -> list[LedgerEntry]:
        """Return the tokens and names of each message."""
        entries = list[LedgerEntry]()
        for message in messages:
            entry = self._known.get(message.id)
            wording = message.texts, message.calls
            if not entry or (entry.message.texts, entry.message.calls) != wording:
                entry = LedgerEntry(message, self.manager)
            entries.append(entry)
        self._known = {entry.message.id: entry for entry in entries}
        return entries


def _stood_for(text: str) -> int:
    """Return the tokens of the stored text that the first reference in *text* stands for."""
    refs = MemoryRef.find_all(text)
    if refs:
        return refs[0].tokens or 0
    return 0
