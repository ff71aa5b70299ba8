"""Contexts to compare with: other ways of keeping prompts small, rebuilt where AutoGen has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from autogen_core.model_context import (
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage

from memory_context.autogen.messages import made_of, neutral_of
from memory_context.model.keys import KeyGenerator
from memory_context.model.reference import MemoryRef
from memory_context.replay.prices import charged, tokens_of
from memory_context.testing import ScriptedChatClient
from memory_context.text.describe import describe
from memory_context.text.tokens.counter import TokenCounter

LONGEST_LINE = 200
# Stands for the placeholders of other libraries; no model ever reads it.
GONE = "[old output removed]"

GAP = "… lines {first}-{last} of {count} not shown …"


class OffloadContext(UnboundedChatCompletionContext):
    """Keeps of each large output a reference and some lines of either end, cut to 200 characters."""

    def __init__(self, counter: TokenCounter, threshold: int, lines: int) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._counter, self._threshold, self._lines = counter, threshold, lines
        # Seeded, so that every replay of a recording shows the same keys.
        self._keys = KeyGenerator(Random(0))  # noqa: S311

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message`, its large results shown by their ends."""
        parts = neutral_of(message, "")
        for index, part in enumerate(parts):
            if part.role == "tool" and self._counter.exceeds(part.text, self._threshold):
                parts[index] = part.with_texts({0: self._offloaded(part.text, part.source)})
        await super().add_message(made_of(parts))

    def _offloaded(self, text: str, origin: str) -> str:
        key = self._keys.new_key(origin)
        self.texts[key] = text
        ref = MemoryRef(key, describe(text), self._counter.count(text))
        return "\n".join((ref.render(), *ends_of(text, self._lines)))


def ends_of(text: str, count: int) -> list[str]:
    """Return the first and last `count` lines of `text`, each cut to 200 characters, and a line on the gap."""
    lines = text.split("\n")
    shown = [line[:LONGEST_LINE] for line in lines]
    if len(lines) <= 2 * count:
        return shown
    gap = GAP.format(first=count + 1, last=len(lines) - count, count=len(lines))
    return [*shown[:count], gap, *shown[len(lines) - count :]]


class RemovingContext(UnboundedChatCompletionContext):
    """Shows a placeholder in place of all outputs but the newest ones, in prompts with more tokens than a trigger.

    With a trigger of 0, that is observation masking: every prompt shows the newest outputs only. With a higher one it
    is what providers call clearing of tool uses. Nothing brings back what is gone; calls and their arguments stay.
    """

    def __init__(self, counter: TokenCounter, keep: int, trigger: int = 0) -> None:
        super().__init__()
        self._counter, self._keep, self._trigger = counter, keep, trigger
        self._tokens = 0
        self._without: dict[tuple[int, int], LLMMessage] = {}

    async def add_message(self, message: LLMMessage) -> None:
        """Add `message`."""
        self._tokens += tokens_of([charged(message)], self._counter)
        await super().add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        """Return all messages; beyond the trigger, old outputs are placeholders."""
        messages = await super().get_messages()
        if self._tokens > self._trigger:
            for position, count in old_outputs(messages, self._keep):
                messages[position] = self._emptied(messages[position], position, count)
        return messages

    def _emptied(self, message: LLMMessage, position: int, count: int) -> LLMMessage:
        """Return the message without its first `count` outputs, as the same object each time."""
        if (position, count) not in self._without:
            results = neutral_of(message, "")
            emptied = [result.with_texts({0: GONE}) for result in results[:count]]
            self._without[position, count] = made_of([*emptied, *results[count:]])
        return self._without[position, count]


def old_outputs(messages: Sequence[LLMMessage], keep: int) -> Iterator[tuple[int, int]]:
    """Yield where outputs older than the newest `keep` stand: a message's position, and how many of its outputs."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if not isinstance(message, FunctionExecutionResultMessage):
            continue
        old = max(len(message.content) - keep, 0)
        keep = max(keep - len(message.content), 0)
        if old:
            yield position, old


def token_limited(counter: TokenCounter, tokens: int) -> TokenLimitedChatCompletionContext:
    """Return AutoGen's token-limited context, counting as the replay does."""
    return TokenLimitedChatCompletionContext(_CountingClient(counter), token_limit=tokens)


class _CountingClient(ScriptedChatClient):
    """A client that only counts tokens, of each message once."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__([])
        self._counter = counter
        self._counted: dict[int, tuple[LLMMessage, int]] = {}

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:  # noqa: ANN401 - tools
        """Return the tokens of a prompt as the report counts them."""
        return sum(self._count(message) for message in messages)

    def _count(self, message: LLMMessage) -> int:
        if id(message) not in self._counted:
            self._counted[id(message)] = message, tokens_of([charged(message)], self._counter)
        return self._counted[id(message)][1]
