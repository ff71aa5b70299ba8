"""This library as a policy: a conversation on an in-memory store, for one recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from uuid import uuid4

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.conversation_with_its_messages import HeldConversation
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.runtime.threads import off_loop
from memory_context.tools.note_tools import told_arguments
from memory_context.tools.tools_of_an_agent import verbs_on


class RememberingContext:
    """Builds the same prompts as this library does in every host."""

    def __init__(self, settings: ConversationSettings, *, keeps_notes: bool = False) -> None:
        self.settings = settings
        counter = settings.fold.counter
        self._manager = MemoryManager(
            "sqlite://", user_id="replay", thread_id="replay", counter=counter
        )
        # Seeded, so that every replay of a recording shows the same keys.
        self._manager.key_generator.source = Random(0)  # noqa: S311
        run_id = str(uuid4()) if keeps_notes else None
        notes = ScopedMemory(self._manager, run_id=run_id)
        view = self._manager.within(notes.places)
        self._held = HeldConversation.begin(view, settings, named_thread=True)
        self._held.open_notes(notes, shown=keeps_notes)

    async def add(self, messages: Sequence[Message]) -> None:
        """Add messages that came together, and fold their large texts."""
        await self._held.take_in(messages)

    async def prompt(self) -> list[Message]:
        """Return the prompt that a model would be sent now."""
        return await self._held.next_prompt()

    def stored(self, key: str) -> str | None:
        """Return the text under *key*; None if there is none."""
        item = self._manager.memory_store.get(self._manager.scope, key)
        return item.text if item else None

    def schemas(self) -> str:
        """Return the schemas of the tools that every request carries, one per line."""
        memories = self._held.notes or self._manager
        offered = verbs_on(memories, queries=self.settings.fold.queries)
        schemas = list[str]()
        for verb, served in offered.items():
            arguments = told_arguments(verb, served)
            tool = {"name": verb.name, "description": verb.description, "parameters": arguments}
            schemas.append(json.dumps(tool))
        return "\n".join(schemas)

    async def close(self) -> None:
        """Close the store."""
        await off_loop(self._manager.close)
