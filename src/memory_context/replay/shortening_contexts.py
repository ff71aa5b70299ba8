"""Baselines to compare this library with: other ways of keeping prompts small, by their published rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from memory_context.conversation.message import Message
from memory_context.model.generated_keys import KeyGenerator
from memory_context.model.reference import MemoryRef
from memory_context.replay.prices import tokens_of_messages
from memory_context.replay.recording_as_messages import together
from memory_context.text.describe import describe
from memory_context.text.tokens.counter import TokenCounter

Rule: TypeAlias = Callable[[list[Message]], list[Message]]
"""Returns what a prompt shows of all messages. What it removes from their list stays removed."""

# The placeholder of LangChain's ContextEditingMiddleware.
GONE = "[cleared]"

GAP = "… lines {first}-{last} of {count} not shown …"


class ShorteningContext:
    """Keeps all messages, and shows what a rule leaves of them."""

    def __init__(self, rule: Rule = list) -> None:
        self._messages = list[Message]()
        self._rule = rule

    async def add(self, messages: Sequence[Message]) -> None:
        """Add messages that came together."""
        self._messages += messages

    async def prompt(self) -> list[Message]:
        """Return what is left of all messages."""
        return self._rule(self._messages)


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and last lines of a large output, which are shown in its place.

    Attributes:
        lines: How many lines of either end.
        longest: The characters that a line is cut to.
        note: A sentence below the reference.
    """

    lines: int
    longest: int = 200
    note: str = ""

    def of(self, text: str) -> list[str]:
        """Return these lines of `text`, with a line about the gap between them."""
        lines = text.split("\n")
        shown = [line[: self.longest] for line in lines]
        if len(lines) <= 2 * self.lines:
            return shown
        tail = len(lines) - self.lines
        gap = GAP.format(first=self.lines + 1, last=tail, count=len(lines))
        return [*shown[: self.lines], gap, *shown[tail:]]


class OffloadContext(ShorteningContext):
    """Replaces each large output with a reference and the output's ends.

    Args:
        counter: Counts the tokens that a reference names.
        is_large: Returns whether an output is large.
        ends: The lines that are shown of a large output.
    """

    def __init__(self, counter: TokenCounter, is_large: Callable[[str], bool], ends: Ends) -> None:
        super().__init__()
        self.texts = dict[str, str]()
        self._counter = counter
        self._is_large = is_large
        self._ends = ends
        # Seeded, so that every replay of a recording shows the same keys.
        self._keys = KeyGenerator(Random(0))  # noqa: S311

    async def add(self, messages: Sequence[Message]) -> None:
        """Add messages; large results among them are replaced by their ends."""
        self._messages += map(self._shown, messages)

    def _shown(self, message: Message) -> Message:
        text = message.text
        if not message.is_result or not self._is_large(text):
            return message
        key = self._keys.new_key(message.source)
        self.texts[key] = text
        ref = MemoryRef(key, describe(text), self._counter.count(text))
        lines = [ref.render(), self._ends.note, *self._ends.of(text)]
        shown = "\n".join(filter(None, lines))
        return message.with_texts({0: shown})


def buffered(
    messages: Sequence[Message], _counter: TokenCounter, *, size: int = 20
) -> list[Message]:
    """Return the newest messages: the rule of AutoGen's buffered context."""
    newest = list(together(messages))[-size:]
    return flat(_without_stray_results(newest))


def head_and_tail(
    messages: Sequence[Message], _counter: TokenCounter, *, head: int = 4, tail: int = 16
) -> list[Message]:
    """Return the oldest and newest messages, and a notice of the gap: the rule of AutoGen's head-and-tail context."""
    groups = list(together(messages))
    skipped = len(groups) - head - tail
    if skipped <= 0:
        return list(messages)
    first = groups[:head]
    last_of_first = first[-1][0]
    # Calls at the end would be left without their results, which are skipped.
    if last_of_first.calls:
        del first[-1]
    text = f"Skipped {skipped} messages."
    notice = Message("skipped", "user", "System", {0: text})
    last = _without_stray_results(groups[-tail:])
    return flat([*first, [notice], *last])


def token_limited(
    messages: Sequence[Message], counter: TokenCounter, *, tokens: int = 8000
) -> list[Message]:
    """Drop messages from the middle until the others fit: the rule of AutoGen's token-limited context."""
    groups = list(together(messages))
    sizes = [tokens_of_messages(group, counter) for group in groups]
    total = sum(sizes)
    while total > tokens and groups:
        middle = len(groups) // 2
        del groups[middle]
        total -= sizes.pop(middle)
    return flat(_without_stray_results(groups))


def masked(messages: Sequence[Message], _counter: TokenCounter, *, keep: int = 10) -> list[Message]:
    """Remove all outputs but the newest ones: observation masking.

    Removed outputs cannot be brought back; calls and their arguments stay.
    """
    left = list(messages)
    outputs = [place for place, message in enumerate(messages) if message.is_result]
    older = max(len(outputs) - keep, 0)
    for place in outputs[:older]:
        left[place] = left[place].with_texts({0: GONE})
    return left


def cleared(
    messages: Sequence[Message], counter: TokenCounter, *, trigger: int = 8000, keep: int = 3
) -> list[Message]:
    """Do as `masked` in prompts with more tokens than the trigger: what providers call clearing of tool uses."""
    if tokens_of_messages(messages, counter) <= trigger:
        return list(messages)
    return masked(messages, counter, keep=keep)


def _without_stray_results(groups: list[list[Message]]) -> list[list[Message]]:
    """Return *groups* without results at their beginning, since every provider refuses results without their calls."""
    if groups and groups[0][0].is_result:
        return groups[1:]
    return groups


def flat(groups: Iterable[Iterable[Message]]) -> list[Message]:
    """Return the messages of *groups* in their order."""
    return [message for group in groups for message in group]
