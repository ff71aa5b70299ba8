"""The smallest host, without a framework. All other hosts must send their models the same prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import new_message_id
from memory_context.conversation.conversation_with_its_messages import HeldConversation
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.testing.scripted_turns import HostStart, ScriptedResult, ScriptedTurn
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    Verb,
    answer_limit,
)
from memory_context.tools.tools_of_an_agent import memory_verbs


class ReferenceHost:
    """A `ConversationHost` on `Conversation` alone.

    Attributes:
        stats: The counts of the conversation so far.
        rewrites: For each prompt, how many compactions and late folds had changed seen messages until then.
    """

    def __init__(self, start: HostStart) -> None:
        self._start = start
        self.stats = ContextStats()
        self.rewrites = list[int]()
        self._held = self._opened()

    def _opened(self) -> HeldConversation:
        start = self._start
        counter = start.settings.fold.counter
        self._owner = MemoryManager(
            start.store, user_id=start.user_id, thread_id=start.thread_id, counter=counter
        )
        self._notes = ScopedMemory(self._owner)
        view = self._owner.within(self._notes.places)
        return HeldConversation.begin(view, start.settings, stats=self.stats, named_thread=True)

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """Add the messages of the turn and the model's replies, and return the model's prompts."""
        if self._start.keeps_notes:
            self._show(ScopedMemory(self._owner, run_id=str(uuid4()), project_id="default"))
        for message in turn.said:
            await self._take_in([message])
        prompts = list[list[Message]]()
        for reply in turn.replies:
            prompts.append(await self._held.next_prompt())
            self.rewrites.append(self.stats.compactions + self.stats.late_folds)
            calls = tuple(result.call for result in reply.results)
            words = {0: reply.text} if reply.text or not calls else {}
            said = Message("", "assistant", "assistant", words, calls)
            await self._take_in([said])
            if reply.results:
                results = list(map(self._answer, reply.results))
                await self._take_in(results)
        ended = self._notes
        if ended.run_id is not None:
            self._show(ScopedMemory(self._owner))
            self._held.end_run()
            self._held.conversation.fail_open.run(ended.end, "run")
        return prompts

    async def restart(self) -> None:
        """Save the state as JSON, and load it."""
        saved = json.dumps(self._held.to_json())
        self._held = self._opened()
        self._held.load(json.loads(saved))

    async def close(self) -> None:
        """Do nothing: the store is the caller's."""

    async def _take_in(self, messages: list[Message]) -> None:
        """Append *messages* that came together, with new ids and their large texts folded."""
        named = [replace(one, id=new_message_id()) for one in messages]
        await self._held.take_in(named)

    def _answer(self, result: ScriptedResult) -> Message:
        text = result.text
        is_error = result.is_error
        call = result.call
        if text is None:
            try:
                text = self._memory_tool(call.name, json.loads(call.arguments))
            except MemoryToolError as error:
                text = str(error)
                is_error = True
        return Message("", "tool", call.name, {0: text}, answers=call.id, is_error=is_error)

    def _memory_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the answer of a memory tool.

        Raises:
            MemoryToolError: It failed.
        """
        fold = self._start.settings.fold
        verbs: list[Verb[Any]] = [*memory_verbs(queries=fold.queries), *NOTE_VERBS]
        [verb] = [verb for verb in verbs if verb.name == name]
        memories: CountsTokens = self._held.conversation.manager
        if verb in NOTE_VERBS:
            memories = self._notes
        most = answer_limit(verb, fold.threshold, fold.page_budget)
        return verb.called(memories, arguments, most).text

    def _show(self, notes: ScopedMemory) -> None:
        """Let the agent see the notes of the tiers that are open in *notes*."""
        self._notes = notes
        self._held.open_notes(notes, shown=self._start.keeps_notes)
