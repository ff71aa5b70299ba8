"""Record each model call and each decision, to explain later why a prompt looked the way it did."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from operator import attrgetter

from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.message import Message
from memory_context.conversation.message_tokens import Ledger
from memory_context.exceptions import RedactionTimeoutError, StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.redacted_records import redacted_call
from memory_context.model.call_log_records import Decision, KeptCalls, ModelCall
from memory_context.model.item import now
from memory_context.model.registry_of_drawers import Displayed

KEPT_DECISIONS = 1000


class Decisions(Displayed, list[Decision]):
    """A list of decisions. A notebook shows it as a table."""


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """Records decisions on what to bring back, in this process and in the store.

    Attributes:
        newest: The newest 1,000 decisions of this process, with the words that they were made for.
        with_words: Whether the store keeps those words, too.
    """

    newest: deque[Decision] = field(default_factory=partial(deque[Decision], maxlen=KEPT_DECISIONS))
    with_words: bool = False

    def note(self, decision: Decision, manager: MemoryManager) -> None:
        """Record a decision on the memories of *manager*."""
        self.newest.append(decision)
        manager.note_call(self._to_keep(decision, manager))

    def of_thread(self, manager: MemoryManager) -> Decisions:
        """Return the newest 1,000 decisions of a thread: the stored ones, and those of this process with their words.

        If the store fails, only those of this process are returned.
        """
        kept = KeptCalls()
        with suppress(StoreError):
            kept = manager.calls(thread_id=manager.thread_id, kind="decision", limit=KEPT_DECISIONS)
        by_moment = dict[datetime, Decision]()
        for record in reversed(kept):
            if isinstance(record.what, Decision):
                by_moment[record.what.at] = record.what
        for decision in self.newest:
            by_moment[decision.at] = decision
        decisions = list(by_moment.values())
        return Decisions(decisions[-KEPT_DECISIONS:])

    def _to_keep(self, decision: Decision, manager: MemoryManager) -> ModelCall | Decision:
        """Return *decision* without secrets, which a judge may have quoted."""
        kept = decision if self.with_words else decision.without_words()
        try:
            return redacted_call(kept, manager.redaction())
        except RedactionTimeoutError:
            return replace(kept.without_words(), why="")


def stats_of_thread(stats: ContextStats, manager: MemoryManager) -> ContextStats:
    """Return *stats* with the store's totals for the thread of *manager*; without them if the store fails."""
    found = stats.snapshot()
    with suppress(StoreError):
        found.kept = next(iter(manager.call_totals(thread_id=manager.thread_id)), None)
    return found


def model_call(seen: Sequence[Message], prompt: Sequence[Message], ledger: Ledger) -> ModelCall:
    """Return the record of a model call, without the words of the prompt.

    Args:
        seen: The messages that the model had seen before, as they were shown then.
        prompt: The messages that it sees now.
        ledger: Counts their tokens.
    """
    entries = ledger.entries(prompt)
    # What was shown as it is now brings no new keys.
    unchanged = set(map(id, seen))
    changed = [message for message in prompt if id(message) not in unchanged]
    return ModelCall(
        at=now(),
        tokens_full=sum(entry.tokens_in_full for entry in entries),
        tokens_sent=sum(entry.tokens for entry in entries),
        messages=len(prompt),
        folded=_new(attrgetter("keys_of_outputs"), seen, changed),
        recalled=_new(_brought_keys, seen, changed),
        compacted=_new(_compacted_keys, seen, changed),
    )


def _new(
    keys_of: Callable[[Message], Iterable[str]], before: Iterable[Message], after: Iterable[Message]
) -> tuple[str, ...]:
    """Return the keys of the messages in *after* that the messages in *before* do not have."""
    keys = dict[str, None]()
    for message in after:
        keys |= dict.fromkeys(keys_of(message))
    if not keys:
        return ()
    for message in before:
        for key in keys_of(message):
            keys.pop(key, None)
    return tuple(keys)


def _brought_keys(message: Message) -> Iterable[str]:
    """Return the keys of recalled memories and of notes. A user layer only lists keys, which brings nothing back."""
    if message.is_a("recall") or message.is_a("notes"):
        return message.known.lines
    return ()


def _compacted_keys(message: Message) -> Iterable[str]:
    return filter(None, [message.known.stands_for])
