"""The messages of one `MemoryContext`, as the library's own `Message` objects and as AutoGen's messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby, takewhile
from typing import TypeAlias

from autogen_core.models import FunctionExecutionResultMessage, LLMMessage, UserMessage

from memory_context.autogen.cancelled_calls import is_late, with_answers
from memory_context.autogen.messages import hosts_id, made_of, neutral_of, sendable
from memory_context.autogen.saved_state_format import ContextFacts
from memory_context.conversation.conversation_with_its_messages import HeldConversation
from memory_context.conversation.message import Message, MessageFacts
from memory_context.exceptions import StateError
from memory_context.model.item import MemoryItem, hash_content

Hosted: TypeAlias = dict[str, tuple[list[Message], LLMMessage]]
"""AutoGen's messages by their ids, each with the messages that it was made of."""


@dataclass(slots=True)
class MessageList(HeldConversation):
    """The messages of one context, and AutoGen's messages made of them.

    Attributes:
        waiting: Messages from the constructor, or from a state of another context class, that are not folded yet.
        finished: By call id, the results of the newest calls so far. AutoGen adds all results of a turn in one message;
            if the run is cancelled before, only these are known.
        left: The results at the end of the newest run that ended with results. No model has read them.
    """

    waiting: list[LLMMessage] = field(default_factory=list[LLMMessage])
    finished: dict[str, Message] = field(default_factory=dict[str, Message])
    left: list[Message] = field(default_factory=list[Message])
    _hosted: Hosted = field(default_factory=Hosted)
    _ids: Iterator[int] = field(default_factory=count)

    async def add(self, message: LLMMessage) -> None:
        """Append *message* with its large texts folded."""
        await self.settle()
        # Looked at now, since the next prompt answers the calls that a cancelled run has left open.
        if isinstance(message, UserMessage):
            self.left = self._unread_results() or self.left
        await self._take_in(message)

    async def settle(self) -> None:
        """Append the waiting messages, except results at the beginning of the list, whose calls were cut off."""
        while self.waiting:
            first = self.waiting[0]
            is_result = isinstance(first, FunctionExecutionResultMessage)
            if self.messages or not is_result:
                await self._take_in(first)
            # Only now: if this is cancelled earlier, the message still waits.
            del self.waiting[0]

    async def prompt(self) -> list[LLMMessage]:
        """Return the messages for the next model call.

        They begin with the messages that a model has seen before, unchanged except by compactions and late folds.
        """
        await self.settle()
        # Providers reject an unanswered call, such as one that a cancelled run leaves.
        settled = with_answers(self.messages, self.finished, self._next_id)
        unseen = self.messages[self.seen :]
        if unseen:
            # By identity: an equal message may stand before it.
            places = list(map(id, settled))
            self.seen = places.index(id(unseen[0]))
        self.messages = settled
        await self.next_prompt()
        return self.hosted()

    def hosted(self) -> list[LLMMessage]:
        """Return AutoGen's messages; a message that has not changed is the same object as before."""
        hosted: Hosted = {}
        for host_id, group in groupby(self.messages, key=hosts_id):
            parts = list(group)
            cached = self._hosted.get(host_id)
            if cached is None or cached[0] != parts:
                made = made_of(list(map(sendable, parts)))
                cached = parts, made
            hosted[host_id] = cached
        self._hosted = hosted
        return [message for _, message in hosted.values()]

    def forget(self) -> None:
        """Forget the messages. Memories stay in the store."""
        cache = self.conversation.cache
        cache.layer = None
        cache.used = None
        self.waiting = []
        self.messages = []
        self.finished = {}
        self.left = []
        self._hosted = {}
        self.facts = replace(self.facts, user_id=None, undecided=None, trusted=())
        self.seen = 0

    def take_up(self, messages: Sequence[LLMMessage], facts: ContextFacts | None) -> None:
        """Replace the messages with those of a state. Without *facts*, they are folded first.

        Raises:
            StateError: The facts do not belong to these messages.
        """
        self.forget()
        if not facts:
            self.waiting = list(messages)
            return
        loaded = list[Message]()
        for one in messages:
            loaded += neutral_of(one, self._next_id())
        all_facts = [MessageFacts.from_json(one) for one in facts.messages]
        if len(all_facts) != len(loaded) or None in all_facts:
            raise StateError(
                f"not a context's state: it has facts about {len(all_facts)} messages, but {len(loaded)} messages; a state "
                "that the first version of memory-context saved cannot be loaded: begin a new conversation"
            )
        pairs = zip(loaded, all_facts, strict=True)
        self.messages = [replace(message, facts=known) for message, known in pairs]
        self.facts = facts.conversation
        self.seen = facts.seen

    def restore(self, item: MemoryItem) -> int:
        """Put compacted messages back in place of their reference, and return how many of AutoGen's messages they are.

        Raises:
            StateError: *item* holds no compacted messages, or this conversation has no reference to it.
        """
        index, messages = self.conversation.restore(self.messages, item)
        restored = list[Message]()
        # Adjacent results are parts of one message.
        for is_result, group in groupby(messages, key=lambda message: message.is_result):
            if not is_result:
                restored += [replace(message, id=self._next_id()) for message in group]
                continue
            host_id = self._next_id()
            for place, message in enumerate(group):
                restored.append(replace(message, id=f"{host_id}.{place}"))
        self.messages[index : index + 1] = restored
        if self.seen > index:
            self.seen += len(restored) - 1
        return len({hosts_id(message) for message in restored})

    def note_finished(self, result: Message) -> None:
        """Note *result*, whose message has not been added yet."""
        self.finished[result.answers or ""] = self._as_folded(result)

    def left_unread(self, tools: Collection[str], *, ended: bool) -> bool:
        """Return whether a run has ended with a folded output of one of *tools* that no model has read.

        Args:
            tools: The names of the tools.
            ended: Whether it is known that no run is going on.
        """
        results = self.left
        if ended:
            results = self._unread_results() or results
        # A run may well end with the result of a handoff, which is not one of the tools.
        is_theirs = all(result.source in tools for result in results)
        return is_theirs and any(result.known.folded for result in results)

    def _unread_results(self) -> list[Message]:
        """Return the results at the end of the conversation if no model has read them."""
        unread = reversed(self.messages[self.seen :])
        return list(takewhile(lambda message: message.is_result, unread))

    async def _take_in(self, message: LLMMessage) -> None:
        parts = neutral_of(message, self._next_id())
        if any(part.calls for part in parts):
            self.finished.clear()
        in_time = [part for part in parts if not is_late(part, self.messages, self.finished)]
        await self.take_in(list(map(self._as_folded, in_time)))

    def _as_folded(self, part: Message) -> Message:
        """Return *part* with the facts of its fold, if a workbench has folded this result already."""
        facts = None
        if part.is_result:
            facts = self.conversation.cache.made.get(hash_content(part.text))
        return replace(part, facts=facts)

    def _next_id(self) -> str:
        return str(next(self._ids))
