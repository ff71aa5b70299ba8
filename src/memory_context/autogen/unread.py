"""Folded outputs that ended a run: no model has read them, which is rarely what was meant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from autogen_core.models import (
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

from memory_context.autogen.messages import is_question
from memory_context.conversation.message import MEMORY_SOURCE
from memory_context.model.reference import MemoryRef
from memory_context.runtime import events


@dataclass(slots=True)
class UnreadWatch:
    """Warns, once, when a run has ended with the folded output of one of the tools that are watched.

    A workbench does not know when a run ends. What it can see is that a question follows results in the conversation:
    where a model has read them, its answer stands between.
    """

    keys: set[str] = field(default_factory=set[str])
    warned: bool = False

    def look(
        self, messages: Sequence[LLMMessage], tools: Collection[str], *, ended: bool = False
    ) -> None:
        """Look at the conversation; `ended` if no run goes on."""
        after = self._after_results(messages, tools) if self.keys and not self.warned else None
        if after is not None and (is_question(after[0]) if after else ended):
            events.ENDED_UNREAD.log()
            self.warned = True
        if after or ended:
            self.keys.clear()

    def _after_results(
        self, messages: Sequence[LLMMessage], tools: Collection[str]
    ) -> list[LLMMessage] | None:
        """The messages after the newest results, if those are folded outputs; None otherwise, and for a handoff."""
        newest = next((i for i in reversed(range(len(messages))) if _results(messages[i])), None)
        results = [] if newest is None else _results(messages[newest])
        folded = any(
            ref.key in self.keys for result in results for ref in MemoryRef.find_all(result.content)
        )
        if newest is None or not folded or not all(result.name in tools for result in results):
            return None
        return [
            m
            for m in messages[newest + 1 :]
            if not (isinstance(m, UserMessage) and m.source == MEMORY_SOURCE)
        ]


def _results(message: LLMMessage) -> list[FunctionExecutionResult]:
    return message.content if isinstance(message, FunctionExecutionResultMessage) else []
