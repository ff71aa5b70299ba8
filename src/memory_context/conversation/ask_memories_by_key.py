"""Answer questions from a user's memories with a light model, and record what each question cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

from memory_context import sentences_models_read as prompts
from memory_context.conversation.answers_with_quotations import (
    AskAnswer,
    Asking,
    AskLimits,
    LightModel,
    parts_of,
    worth_reading,
)
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.recording_to_call_log import DecisionLog
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.filters_from_keywords import as_list
from memory_context.memory.manager import MemoryManager
from memory_context.model.call_log_records import Decision
from memory_context.model.item import MemoryItem, now
from memory_context.runtime.telemetry import operation
from memory_context.runtime.threads import result_of
from memory_context.text.tokens.counter import TokenCounter

MOST_MEMORIES = 10
ASKED_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class MemoryReader:
    """Reads a user's memories with a light model.

    Attributes:
        manager: The memories.
        model: Reads them.
        limits: The limits on the cost of one question.
        stats: Counts questions and their tokens.
        log: Records each question and its cost.
        redacted: Removes from a text what the model may not see.
    """

    manager: MemoryManager
    model: LightModel
    limits: AskLimits = field(default_factory=AskLimits)
    stats: ContextStats = field(default_factory=ContextStats)
    log: DecisionLog = field(default_factory=DecisionLog)
    redacted: Callable[[str], str] = str

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter."""
        return self.manager.counter

    def ask(self, keys: str | Iterable[str], question: str) -> AskAnswer:
        """Answer *question* from the memories under *keys*. Each quotation was checked to be at the line that it names.

        Must not run on an event loop's own thread.

        Raises:
            MemoryNotFoundError: There is no memory under one of the keys.
            InvalidArgumentError: No question; no memory or more than ten; or a memory that is a secret or binary.
            StoreError: The store failed.
        """
        keys = tuple(dict.fromkeys(as_list(keys)))
        if not 0 < len(keys) <= MOST_MEMORIES:
            raise InvalidArgumentError(
                f"a question is about 1 to {MOST_MEMORIES} memories, not {len(keys)}"
            )
        question = self.manager.without_secrets(question)
        if not question.strip():
            raise InvalidArgumentError("the question has no words; say what to look for")
        began = time.monotonic()
        with operation("ask", self.manager.who) as asking:
            # Not on the event loop: texts may have megabytes.
            items = map(self._read, keys)
            parts = list(chain.from_iterable(map(parts_of, items)))
            wanted = worth_reading(parts, question)
            answering = Asking(question, self.model, self.counter, self.limits)
            answer = result_of(answering.answer(wanted, len(parts)))
            asking.note(keys=keys, tokens=answer.tokens, hits=len(answer.quotations))
        self.stats.add(asks=1, tokens_asked=answer.tokens)
        decision = Decision(
            at=now(),
            judge=getattr(self.model, "name", type(self.model).__name__),
            asked=question[:ASKED_CHARACTERS],
            offered=keys,
            intent="concrete",
            opened=tuple(dict.fromkeys(one.key for one in answer.quotations)),
            searched=None,
            found=(),
            why=told_cost(answer),
            tokens=answer.tokens,
            seconds=time.monotonic() - began,
        )
        self.log.note(decision, self.manager)
        return answer

    def _read(self, key: str) -> MemoryItem:
        item = self.manager.read(key)
        if isinstance(item.content, bytes):
            return item
        return replace(item, content=self.redacted(item.content))


def told_cost(answer: AskAnswer) -> str:
    """Return the sentences that say how many parts were read, how many were not and why, and what the calls cost."""
    told = prompts.ASK_READ.format(read=answer.read, parts=answer.parts)
    if answer.skipped:
        told += prompts.ASK_SKIPPED.format(count=answer.skipped)
    if answer.unread:
        told += prompts.ASK_UNREAD.format(count=answer.unread)
    if answer.dropped:
        told += prompts.ASK_DROPPED.format(count=answer.dropped)
    return told + prompts.ASK_COST.format(calls=answer.calls, tokens=answer.tokens)
