"""One conversation: the list of messages that is the prompt, and all that may change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memory_context.autogen.agent_tools import answered_lines
from memory_context.autogen.compaction import Compactor, compacted_key, from_lines
from memory_context.autogen.late_fold import Reader
from memory_context.autogen.messages import (
    MEMORY_SOURCE,
    is_layer,
    is_question,
    link_of,
    newest_question,
    parts_of,
    texts_of,
    with_texts,
)
from memory_context.autogen.note_messages import is_notes, notes_message
from memory_context.autogen.origins import origin_of
from memory_context.autogen.saved_state import ContextFacts, Ranges
from memory_context.autogen.shown_keys import made_by_compaction, trusted_by
from memory_context.autogen.token_ledger import Ledger, billed
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold import Folded
from memory_context.conversation.judge import BoundedJudge
from memory_context.conversation.key_trust import typed_in, vouch_for_words, vouched_in
from memory_context.conversation.message_groups import recall_position
from memory_context.conversation.recall import Recall, Recaller, RecallRequest
from memory_context.conversation.run_notes import unseen_notes
from memory_context.conversation.settings import PERSON, FoldPolicy, RecallPolicy
from memory_context.conversation.text_folder import TextFolder, TextPart
from memory_context.exceptions import StateError
from memory_context.memory.assembler import ContextAssembler
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.memory.user_layer import UserLayer, user_layer
from memory_context.model.item import CONVERSATION, MemoryItem, hash_content
from memory_context.model.reference import KEPT_REFERENCES, MemoryRef, keys_named
from memory_context.runtime.threads import off_loop
from memory_context.text.terms import names


@dataclass
class Conversation:
    """The messages as a model sees them, and what is known about them. Calls must not overlap.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded.
        recall: What is brought back without being asked for; None for nothing.
        bench: Who decides what is brought back.
        limit: The most tokens, or None.
        waiting: Messages that came with the constructor or a foreign state and are not folded yet.
        messages: The prompt.
        references: For each reference in it, the ranges of lines that are in sight.
        trusted: The keys that may be passed on to tools: this library has put them here, or a person has typed them.
        named: The keys that a person has named since a model was asked last.
        held: A recalled text that waits for the next group of messages.
        shown: How many messages a model has seen.
        notes: The notes of the agent; None without tiers.
        noted: For each note that stands in the prompt in full, when it was last changed.
        named_thread: Whether the thread has a name of its owner's, and not one that was made up.
    """

    manager: MemoryManager
    policy: FoldPolicy
    recall: RecallPolicy | None
    bounded_judge: BoundedJudge
    limit: int | None
    waiting: list[LLMMessage]
    messages: list[LLMMessage] = field(default_factory=list[LLMMessage])
    references: dict[str, Ranges] = field(default_factory=dict[str, Ranges])
    trusted: dict[str, None] = field(default_factory=dict[str, None])
    named: set[str] = field(default_factory=set[str])
    held: UserMessage | None = None
    shown: int = 0
    notes: ScopedMemory | None = None
    noted: dict[str, str] = field(default_factory=dict[str, str])
    named_thread: bool = False

    def __post_init__(self) -> None:
        """Set up what works on the messages."""
        self.names = set[str]()
        self.fail_open = FailOpen(ContextStats())
        self.folder = TextFolder(self.manager, self.policy, self.fail_open)
        self.assembler = ContextAssembler(self.manager)
        self.layer: UserLayer | None = None
        self.used: frozenset[str] | None = None
        budget = self.recall.expansion_budget if self.recall else 0
        self.recaller = Recaller(self.manager, self.fail_open, self.bounded_judge, budget)
        ledger = Ledger(self.manager)
        self.reader = Reader(self.folder, ledger) if self.policy.fold == "after_reading" else None
        self.compactor = Compactor(self.folder, ledger, self.limit) if self.limit else None

    async def add(self, message: LLMMessage) -> None:
        """Append `message`, its large texts folded."""
        await self.settle()
        await self._take_in(message)

    async def settle(self) -> None:
        """Take in the messages that are waiting."""
        while self.waiting:
            await self._take_in(self.waiting[0])
            del self.waiting[0]

    async def prompt(self) -> list[LLMMessage]:
        """What the model sees now; it begins with what it has seen before, but for compactions and late folds."""
        await self.settle()
        await self._begin()
        await self._fold_what_was_read()
        await self._recall()
        await self._note()
        await self._compact()
        self.shown = len(self.messages)
        if self.reader:
            self.reader.count_reads()
        return list(self.messages)

    def forget(self) -> None:
        """Forget the messages; memories stay in the store."""
        self.waiting, self.messages, self.names = [], [], set[str]()
        self.references, self.trusted, self.named = {}, {}, set()
        self.held, self.shown, self.layer, self.used, self.noted = None, 0, None, None, {}
        if self.reader:
            self.reader.shown = []

    def end_run(self) -> None:
        """Take the notes of the run that has ended out of the prompt."""
        self.shown -= sum(map(is_notes, self.messages[: self.shown]))
        self.messages = [message for message in self.messages if not is_notes(message)]
        self.references = {
            key: lines for key, lines in self.references.items() if key not in self.noted
        }
        self.names, self.noted = _names_in(self.messages), {}

    def facts(self) -> ContextFacts:
        """What is known about the messages, for a state."""
        return ContextFacts(
            user_id=self.manager.scope.user_id,
            thread_id=str(self.manager.thread_id),
            shown=self.shown,
            references=self.references,
            trusted=list(self.trusted),
            named=sorted(self.named),
            placeholders=[
                hash_content(text) for text in self._texts() if self.folder.has_made(text)
            ],
            reading=self.reader.saved(self.messages) if self.reader else [],
            held=self.held,
            run_id=self._run_id(),
            noted=self.noted,
            judge_calls=self.bounded_judge.calls,
            judge_tokens=self.bounded_judge.tokens,
        )

    async def load(self, messages: list[LLMMessage], facts: ContextFacts | None) -> None:
        """Take up the messages of a state; those of a foreign one, without facts, are folded first."""
        self.forget()
        if facts is None:
            self.waiting = [message for message in messages if not is_notes(message)]
            return
        self.messages, self.names = messages, _names_in(messages)
        self.folder.made.update(facts.placeholders)
        self.shown, self.held, self.named = facts.shown, facts.held, set(facts.named)
        self.references = dict(facts.references)
        self.bounded_judge.calls, self.bounded_judge.tokens = facts.judge_calls, facts.judge_tokens
        if self.reader:
            await off_loop(self.reader.load, messages, facts.reading)
        self.noted = dict(facts.noted)
        self.trust(trusted_by(facts, messages) if facts.trusted is None else facts.trusted)
        if facts.run_id is None or facts.run_id != self._run_id():
            self.end_run()

    def trust(self, keys: Iterable[str]) -> None:
        """Let the newest 2,000 such keys be passed on to tools."""
        self.trusted |= dict.fromkeys(keys)
        for key in list(self.trusted)[:-KEPT_REFERENCES]:
            del self.trusted[key]

    def restore(self, item: MemoryItem) -> int:
        """Put compacted messages back in the place of their reference; how many they are.

        Raises:
            StateError: `item` holds none, or its reference does not stand here.
        """
        key = item.memory_key
        index = next(
            (i for i, message in enumerate(self.messages) if compacted_key(message) == key), None
        )
        if item.memory_type != CONVERSATION or index is None:
            message = f"{key!r} does not stand for compacted messages of this conversation"
            raise StateError(message)
        try:
            restored = from_lines(item.text)
        except ValueError as error:  # JSON's and pydantic's
            message = f"the memory {key!r} does not hold the messages that were stored there"
            raise StateError(message) from error
        self.messages = [*self.messages[:index], *restored, *self.messages[index + 1 :]]
        self.shown += len(restored) - 1 if self.shown > index else 0
        return len(restored)

    async def fold_output(self, part: TextPart, arguments: str | None) -> str:
        """A text as it would be shown: itself, or reference and preview."""
        unread = await off_loop(self.reader.to_read, [part]) if self.reader else []
        if unread or not self.folder.may_fold(part):
            return part.text
        origin = replace(origin_of(part, self.messages, self.names), arguments=arguments)
        folded = await off_loop(self.fail_open.run, self.folder.fold, part, origin)
        if folded is None:
            return part.text
        self._note_folds([folded])
        return str(folded.text)

    async def _take_in(self, message: LLMMessage) -> None:
        if is_question(message):
            self.named = self._named_by(message)
        parts = [
            part
            for part in parts_of(message)
            if self.folder.may_fold(part) and not self.folder.has_made(part.text)
        ]
        unread = await off_loop(self.reader.to_read, parts) if self.reader and parts else []
        parts = [part for part in parts if part not in unread]
        origins = {part.index: origin_of(part, self.messages, self.names) for part in parts}
        folded = await off_loop(self.folder.fold_all, parts, origins) if parts else {}
        self.messages.append(
            with_texts(message, {index: one.text for index, one in folded.items()})
        )
        if isinstance(message, AssistantMessage) and isinstance(message.content, str):
            vouch_for_words(self.manager.scope.user_id, message.content, self.trusted)
        if self.reader and unread:
            self.reader.keep(self.messages[-1], unread)
        await self._note_use(message)
        self.fail_open.stats.add(messages=1)
        self.names |= _names_in(self.messages[-1:])
        self._note_folds(folded.values())
        self._note_references(self.messages[-1])

    def _note_folds(self, folds: Iterable[Folded]) -> None:
        for one in folds:
            self.folder.count(one)
            self.references[one.item.memory_key] = one.preview.ranges
            self.trust([one.item.memory_key])

    def _note_references(self, message: LLMMessage) -> None:
        """Remember which references stand in the conversation, and which lines of theirs a tool has shown."""
        for part in parts_of(message):
            for ref in MemoryRef.find_all(part.text):
                self.references.setdefault(ref.key, ())
            self.trust(self._trusted_in(part))
        if isinstance(message, FunctionExecutionResultMessage):
            for key, lines in (
                shown for result in message.content for shown in answered_lines(result)
            ):
                self.references[key] = (*self.references.get(key, ()), lines)

    def _trusted_in(self, part: TextPart) -> list[str]:
        """The keys in a text that may be passed on; of what was folded, the one that it begins with is known."""
        vouched = vouched_in(self.manager.scope.user_id, part.text)
        is_typed = part.source == PERSON and not self.folder.has_made(part.text)
        return [*vouched, *(typed_in(self.manager.scope.user_id, part.text) if is_typed else ())]

    def _named_by(self, message: LLMMessage) -> set[str]:
        """The keys that a person names in a message, as references or bare; other agents only pass references on."""
        if not isinstance(message, UserMessage) or message.source != PERSON:
            return set()
        return set(keys_named("\n".join(texts_of(message)), self.references))

    async def _begin(self) -> None:
        """Put the user's layer first, before a model sees anything."""
        place = next(
            (i for i, m in enumerate(self.messages) if not isinstance(m, SystemMessage)), None
        )
        if (
            self.shown
            or place is None
            or self.recall is None
            or self.recall.user_layer_tokens == 0
            or any(map(is_layer, self.messages))
        ):
            return
        self.layer = await off_loop(self._layer, self.recall.user_layer_tokens)
        if self.layer:
            self.trust(self.layer.keys)
            self.messages.insert(place, UserMessage(content=self.layer.text, source=MEMORY_SOURCE))

    def _layer(self, budget: int) -> UserLayer | None:
        task = next(
            ("\n".join(texts_of(message)) for message in self.messages if is_question(message)), ""
        )
        return self.fail_open.run(
            partial(user_layer, self.assembler, task, budget, returning=self.named_thread)
        )

    async def _note_use(self, message: LLMMessage) -> None:
        """Record which memories of the layer a model's message makes use of, if these are more than before."""
        if self.layer is None or not isinstance(message, AssistantMessage):
            return
        texts = list(billed(message))
        if self.used is None or not self.layer.package.used(*texts) <= self.used:
            record = partial(self.assembler.record, self.layer.package, *texts)
            recorded = await off_loop(self.fail_open.run, record)
            self.used = self.used if recorded is None else recorded

    async def _fold_what_was_read(self) -> None:
        """Fold the batch of read texts that is due; where the store fails, they stay."""
        if self.reader is None or not self.reader.shown:
            return
        found = await off_loop(self._read_and_folded, self.reader)
        if found and found[1]:
            self.messages = found[0]
            self.fail_open.stats.add(late_folds=1)
            self._note_folds(found[1])

    def _read_and_folded(self, reader: Reader) -> tuple[list[LLMMessage], list[Folded]] | None:
        return self.fail_open.run(reader.fold_due, self.messages, self.shown)

    async def _recall(self) -> None:
        asking = self._asking() if self.recall and self.recall.expansion_budget else None
        found = await self.recaller.recall(self._recall_request(asking)) if asking else None
        self.held = self._hold(found) if found else self.held
        if self.held is None:
            return
        position = recall_position([link_of(message) for message in self.messages], self.shown)
        if position is not None:
            self.messages.insert(position, self.held)
            self.held = None

    async def _note(self) -> None:
        """Put what a run has noted since before the newest group of messages."""
        if self.notes is None:
            return
        position = recall_position([link_of(message) for message in self.messages], self.shown)
        if position is None:
            return
        noted = await off_loop(self.fail_open.run, unseen_notes, self.notes, self.noted)
        if noted is None:
            return
        self.messages.insert(position, notes_message(noted.text))
        self.noted = dict(noted.seen)
        self.names |= _names_in(self.messages[position : position + 1])
        self.fail_open.stats.add(tokens_noted=noted.tokens)
        self.references |= {key: self.references.get(key, ()) for key in noted.keys}
        self.trust(noted.keys)

    def _run_id(self) -> str | None:
        return self.notes.run_id if self.notes else None

    def _asking(self) -> LLMMessage | None:
        """The newest message, unseen yet, for which it is decided what to bring back."""
        question: LLMMessage | None = newest_question(self.messages, self.shown)
        if question is None and self.recall and self.recall.results:
            unseen = reversed(self.messages[self.shown :])
            question = next(
                (
                    message
                    for message in unseen
                    if isinstance(message, FunctionExecutionResultMessage)
                ),
                None,
            )
        return question

    def _recall_request(self, question: LLMMessage) -> RecallRequest:
        before = [message for message in self.messages if message is not question]
        first = next((message for message in self.messages if is_question(message)), question)
        return RecallRequest.of(
            "\n".join(self._asked_by(question)),
            "\n".join(texts_of(first)),
            self.references,
            named=frozenset(self.named) if is_question(question) else frozenset(),
            in_sight=lambda text: _stands_in(before, text),
        )

    def _asked_by(self, question: LLMMessage) -> list[str]:
        """The texts of a message; of another agent's folded text the reference alone: its preview asks for nothing."""
        ours = not isinstance(question, UserMessage) or question.source != PERSON
        return [
            text.partition("\n")[0] if ours and self.folder.has_made(text) else text
            for text in texts_of(question)
        ]

    def _hold(self, found: Recall) -> UserMessage:
        """The message that shows what was found; after one that still waits, where there is one."""
        for key, ranges in found.ranges.items():
            self.references[key] = (*self.references.get(key, ()), *ranges)
        # what a person's words have named is opened, but any text can have put such words before the person
        self.trust(key for key in found.ranges if key not in self.named)
        before = f"{self.held.content}\n\n" if self.held else ""
        return UserMessage(content=before + found.text, source=MEMORY_SOURCE)

    async def _compact(self) -> None:
        """Keep below the limit, in one batch; where the store fails, the messages stay as they are."""
        if self.compactor is None:
            return
        compacted = await off_loop(self._compacted, self.compactor)
        if compacted is not None and compacted is not self.messages:
            self.trust(made_by_compaction(compacted, self.messages))
            self.messages = compacted
            self.references = self._after_compaction()
            self.names = _names_in(compacted)

    def _compacted(self, compactor: Compactor) -> list[LLMMessage] | None:
        return self.fail_open.run(
            compactor.compact, self.messages, list(self.references), self.shown
        )

    def _after_compaction(self) -> dict[str, Ranges]:
        """The references of the conversation; in sight are only lines of those whose preview still stands there."""
        texts = self._texts()
        standing = {ref.key: "\n" in text for text in texts for ref in MemoryRef.find_all(text)}
        keys = list(dict.fromkeys((*self.references, *standing)))[-KEPT_REFERENCES:]
        return {key: self.references.get(key, ()) if standing.get(key) else () for key in keys}

    def _texts(self) -> list[str]:
        return [text for message in self.messages for text in texts_of(message)]


def _names_in(messages: Iterable[LLMMessage]) -> set[str]:
    return {name for message in messages for text in billed(message) for name in names(text)}


def _stands_in(messages: Sequence[LLMMessage], text: str) -> bool:
    return any(text in shown for message in messages for shown in billed(message))
