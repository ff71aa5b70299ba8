"""Warn if a run ended with a folded output that no model has read, which is rarely intended."""

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
    """Warns, once, if a run has ended with folded outputs of a workbench's tools.

    A workbench does not know when a run ends. But it sees in the conversation whether results are followed directly by a
    user message: if a model had read the results, its answer would come between.

    Attributes:
        keys: The keys of the outputs that the workbench has folded in this run.
        warned: Whether the warning was logged.
    """

    keys: set[str] = field(default_factory=set[str])
    warned: bool = False

    def look(
        self, messages: Sequence[LLMMessage], tools: Collection[str], *, ended: bool = False
    ) -> None:
        """Check the conversation.

        Args:
            messages: The conversation.
            tools: The names of the workbench's tools.
            ended: Whether it is known that no run is going on.
        """
        if self.warned or not self.keys:
            return
        results = list[FunctionExecutionResult]()
        following = list[LLMMessage]()  # after the newest results
        for message in messages:
            if isinstance(message, FunctionExecutionResultMessage):
                results, following = message.content, []
            # A message that this library has inserted is not a user's message.
            elif not (isinstance(message, UserMessage) and message.source == MEMORY_SOURCE):
                following.append(message)
        shown = MemoryRef.find_all("\n".join(result.content for result in results))
        # The result of a handoff, which is not one of the workbench's tools, may well end a run.
        is_folded = all(result.name in tools for result in results) and any(
            ref.key in self.keys for ref in shown
        )
        nobody_reads = isinstance(following[0], UserMessage) if following else ended
        if is_folded and nobody_reads:
            events.ENDED_UNREAD.log()
            self.warned = True
        if ended or (is_folded and following):
            self.keys.clear()
