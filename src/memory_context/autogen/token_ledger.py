"""The tokens of messages, each counted once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autogen_core.models import FunctionExecutionResultMessage, LLMMessage, UserMessage

from memory_context.autogen.messages import calls_of, texts_of
from memory_context.memory.manager import MemoryManager

MESSAGE_TOKENS = 4


@dataclass(slots=True)
class Ledger:
    """Counts messages as the manager's counter does, 4 tokens more for each; remembers those of the last list."""

    manager: MemoryManager
    _known: dict[int, tuple[LLMMessage, int]] = field(
        default_factory=dict[int, tuple[LLMMessage, int]]
    )

    def tokens(self, messages: Sequence[LLMMessage]) -> list[int]:
        """The tokens of each message."""
        self._known = {
            id(message): self._known.get(id(message)) or self._counted(message)
            for message in messages
        }
        return [self._known[id(message)][1] for message in messages]

    def _counted(self, message: LLMMessage) -> tuple[LLMMessage, int]:
        return message, MESSAGE_TOKENS + sum(map(self.manager.counter.count, billed(message)))


def billed(message: LLMMessage) -> Iterator[str]:
    """The texts of a message that a provider counts."""
    yield from texts_of(message)
    yield from (part for call in calls_of(message) for part in (call.name, call.arguments))
    if not isinstance(message, UserMessage | FunctionExecutionResultMessage) and isinstance(
        message.content, str
    ):
        yield message.content
    yield from filter(None, [getattr(message, "thought", None)])
