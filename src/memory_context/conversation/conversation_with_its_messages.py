"""A conversation together with its messages, for hosts that let this library keep the message list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import TypeAdapter

from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import (
    Conversation,
    ConversationSettings,
    without_notes_of_other_runs,
)
from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.message import Message
from memory_context.conversation.notes_in_prompts import offered_places
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory


@dataclass(slots=True)
class HeldConversation:
    """The messages of a conversation as a model sees them. Calls must not overlap.

    Attributes:
        conversation: Decides what the prompt contains.
        messages: The prompt so far.
        facts: What is known of the conversation beyond its messages.
        seen: How many of the messages a model has seen.
        notes: The notes that the prompt shows; None for none.
    """

    conversation: Conversation
    messages: list[Message] = field(default_factory=list[Message])
    facts: ConversationFacts = field(default_factory=ConversationFacts)
    seen: int = 0
    notes: ScopedMemory | None = None

    @classmethod
    def begin(
        cls,
        manager: MemoryManager,
        settings: ConversationSettings,
        *,
        stats: ContextStats | None = None,
        named_thread: bool = False,
    ) -> Self:
        """Return a conversation without messages.

        Args:
            manager: The user's memories.
            settings: How the conversation is kept.
            stats: The counters to add to; new ones by default.
            named_thread: Whether its owner has named the thread; False for a generated name.
        """
        fail_open = FailOpen(stats or ContextStats())
        cache = settings.new_cache(manager)
        return cls(Conversation(manager, settings, fail_open, cache, named_thread=named_thread))

    async def take_in(self, messages: Sequence[Message]) -> None:
        """Append *messages*, which arrived together, with references in place of their large texts."""
        self.messages += await self.conversation.take_in(messages, self.messages, self.facts)

    async def next_prompt(self) -> list[Message]:
        """Return the next prompt. It begins with the previous one, except for compactions and late folds."""
        self.messages, self.facts = await self.conversation.before_model(
            self.messages, self.facts, self.seen, self.notes
        )
        self.seen = len(self.messages)
        return list(self.messages)

    def open_notes(self, notes: ScopedMemory, *, shown: bool) -> None:
        """Limit the agent to the places that are open in *notes*; if *shown*, the prompt shows the notes."""
        self.conversation.manager.set_places(notes.places, offered_places(notes))
        self.notes = notes if shown else None

    def end_run(self) -> None:
        """Remove the notes of ended runs from the messages."""
        run_id = self.notes.run_id if self.notes else None
        seen = without_notes_of_other_runs(self.messages[: self.seen], run_id)
        self.messages = without_notes_of_other_runs(self.messages, run_id)
        self.seen = len(seen)

    def to_json(self) -> list[Any]:
        """Return the messages and facts in JSON's own types."""
        state = (self.messages, self.facts, self.seen)
        saved: list[Any] = _STATE.dump_python(state, mode="json")
        return saved

    def load(self, saved: object) -> None:
        """Continue the conversation that `to_json` turned into *saved*.

        Raises:
            ValueError: *saved* does not come from `to_json`.
        """
        self.messages, self.facts, self.seen = _STATE.validate_python(saved)


_STATE = TypeAdapter(tuple[list[Message], ConversationFacts, int])
