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
        if self.warned or not self.keys:
            return
        results = list[FunctionExecutionResult]()
        following = list[LLMMessage]()  # after the newest results
        for message in messages:
            if isinstance(message, FunctionExecutionResultMessage):
                results, following = message.content, []
            # What this library has put there is no question.
            elif not (isinstance(message, UserMessage) and message.source == MEMORY_SOURCE):
                following.append(message)
        shown = MemoryRef.find_all("\n".join(result.content for result in results))
        # A handoff is none of the tools.
        is_folded = all(result.name in tools for result in results) and any(
            ref.key in self.keys for ref in shown
        )
        nobody_reads = isinstance(following[0], UserMessage) if following else ended
        if is_folded and nobody_reads:
            events.ENDED_UNREAD.log()
            self.warned = True
        if ended or (is_folded and following):
            self.keys.clear()
