"""The messages of one context: AutoGen's, beside what the conversation knows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby

from autogen_core.models import FunctionExecutionResultMessage, LLMMessage

from memory_context.autogen.cancelled_calls import is_late, with_answers
from memory_context.autogen.messages import hosts_id, made_of, neutral_of, sendable
from memory_context.autogen.saved_state_format import ContextFacts
from memory_context.conversation.held_conversation import HeldConversation
from memory_context.conversation.message import Message, MessageFacts
from memory_context.exceptions import StateError
from memory_context.model.item import MemoryItem, hash_content


@dataclass(slots=True)
class MessageList(HeldConversation):
    """The messages of one context, and AutoGen's that say the same.

    Attributes:
        waiting: Messages that came with the constructor or a foreign state and are not folded yet.
        finished: By their calls, results of the newest calls. They come in one message, when all are there; a run that
            is cancelled before leaves these.
    """

    waiting: list[LLMMessage] = field(default_factory=list[LLMMessage])
    finished: dict[str, Message] = field(default_factory=dict[str, Message])
    # AutoGen's messages, by their ids, each with what it was made of.
    _hosted: dict[str, tuple[list[Message], LLMMessage]] = field(
        default_factory=dict[str, tuple[list[Message], LLMMessage]]
    )
    _ids: Iterator[int] = field(default_factory=count)

    async def add(self, message: LLMMessage) -> None:
        """Append *message*, its large texts folded."""
        await self.settle()
        await self._take_in(message)

    async def settle(self) -> None:
        """Take in the messages that are waiting, but for results at their beginning: the list was cut behind their calls."""
        while self.waiting:
            is_cut = not self.messages and isinstance(
                self.waiting[0], FunctionExecutionResultMessage
            )
            if not is_cut:
                await self._take_in(self.waiting[0])
            del self.waiting[0]

    async def prompt(self) -> list[LLMMessage]:
        """Return what the model sees now; it begins with what it has seen before, but for compactions and late folds."""
        await self.settle()
        self._answer_cancelled_calls()
        await self.next_prompt()
        return self.hosted()

    def hosted(self) -> list[LLMMessage]:
        """Return AutoGen's messages, the same objects as long as they say the same."""
        hosted = dict[str, tuple[list[Message], LLMMessage]]()
        for host_id, group in groupby(self.messages, key=hosts_id):
            parts = list(group)
            known = self._hosted.get(host_id)
            if known is None or known[0] != parts:
                known = parts, made_of([sendable(part) for part in parts])
            hosted[host_id] = known
        self._hosted = hosted
        return [message for _, message in hosted.values()]

    def forget(self) -> None:
        """Forget the messages; memories stay in the store."""
        cache = self.conversation.cache
        cache.layer = cache.used = None
        self.waiting, self.messages, self.finished, self._hosted = [], [], {}, {}
        self.facts = replace(self.facts, user_id=None, undecided=None, trusted=())
        self.seen = 0

    def take_up(self, messages: Sequence[LLMMessage], facts: ContextFacts | None) -> None:
        """Take up the messages of a state; those of a foreign one, without facts, are folded first.

        Raises:
            StateError: The facts are not those of these messages.
        """
        self.forget()
        if facts is None:
            self.waiting = list(messages)
            return
        loaded = [part for one in messages for part in neutral_of(one, self._next_id())]
        known = [MessageFacts.from_json(told) for told in facts.messages]
        if len(known) != len(loaded) or None in known:
            raise StateError(
                f"not a context's state: it knows of {len(known)} messages, not of {len(loaded)}"
            )
        self.messages = [
            replace(message, facts=told) for message, told in zip(loaded, known, strict=True)
        ]
        self.facts = facts.conversation
        self.seen = facts.seen

    def restore(self, item: MemoryItem) -> int:
        """Put compacted messages back in the place of their reference; return how many of AutoGen's they are.

        Raises:
            StateError: *item* holds none, or its reference does not stand here.
        """
        index, messages = self.conversation.restore(self.messages, item)
        together = self._with_ids(messages)
        self.messages[index : index + 1] = together
        if self.seen > index:
            self.seen += len(together) - 1
        return len({hosts_id(message) for message in together})

    def note_finished(self, result: Message) -> None:
        """Note *result*, whose message is yet to come."""
        self.finished[result.answers or ""] = self._as_folded(result)

    async def _take_in(self, message: LLMMessage) -> None:
        parts = neutral_of(message, self._next_id())
        if any(part.calls for part in parts):
            self.finished.clear()
        parts = [part for part in parts if not is_late(part, self.messages, self.finished)]
        await self.take_in([self._as_folded(part) for part in parts])

    def _as_folded(self, part: Message) -> Message:
        """Return *part* with what is known of it already: a workbench folds a result before it comes."""
        made = self.conversation.cache.made
        facts = made.get(hash_content(part.text)) if part.role == "tool" else None
        return replace(part, facts=facts)

    def _answer_cancelled_calls(self) -> None:
        """Answer the calls of a cancelled run that it has left: providers refuse a call without an answer."""
        settled = with_answers(self.messages, self.finished, self._next_id)
        unseen = [id(message) for message in self.messages[self.seen :]]
        if unseen:
            self.seen = [id(message) for message in settled].index(unseen[0])
        self.messages = settled

    def _next_id(self) -> str:
        return str(next(self._ids))

    def _with_ids(self, messages: Sequence[Message]) -> list[Message]:
        """Return *messages* with ids of this list, results side by side as parts of one message."""
        named = list[Message]()
        for is_result, group in groupby(messages, key=lambda message: message.role == "tool"):
            if is_result:
                host_id = self._next_id()
                named += [
                    replace(message, id=f"{host_id}.{index}") for index, message in enumerate(group)
                ]
            else:
                named += [replace(message, id=self._next_id()) for message in group]
        return named
