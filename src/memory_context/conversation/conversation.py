"""Decide, for any host, what is folded as a message arrives and what a model sees next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import uuid4

from memory_context import sentences_models_read as prompts
from memory_context.conversation.answers_with_quotations import LightModel
from memory_context.conversation.compaction import Compactor, check_limit, uncompacted
from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold_recall_notes_policies import (
    LEAST_THRESHOLD,
    FoldPolicy,
    RecallPolicy,
)
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.folding.late_folds import due_messages, fold_what_was_read
from memory_context.conversation.message import (
    MEMORY_SOURCE,
    FunctionCall,
    Message,
    MessageFacts,
    as_lines,
    own_message,
    trusted_keys,
)
from memory_context.conversation.message_groups import recall_position
from memory_context.conversation.message_tokens import Ledger
from memory_context.conversation.notes_in_prompts import unseen_notes
from memory_context.conversation.recall.limits_on_a_judge import BoundedJudge, LexicalJudge
from memory_context.conversation.recall.recall_request_from_messages import (
    newest_question,
    recall_request,
)
from memory_context.conversation.recall.recalled_text import RecalledText
from memory_context.conversation.recall.recaller import Recaller
from memory_context.conversation.recording_to_call_log import DecisionLog, model_call
from memory_context.conversation.references.key_trust import (
    generated_in,
    made_here,
    note_said,
    said_here,
    tell_caller,
)
from memory_context.memory.assembler import ContextAssembler
from memory_context.memory.manager import MemoryManager
from memory_context.memory.redacted_records import redacted_call
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.memory.user_layer_of_new_conversations import UserLayer, user_layer
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.reference import referenced_keys
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime.threads import off_loop


def new_message_id() -> str:
    """Return the id of a message that this library puts into a conversation."""
    return f"{MEMORY_SOURCE}_{uuid4().hex}"


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """How a conversation is kept.

    Attributes:
        fold: When texts are folded.
        recall: What is brought back without being asked for; None for nothing.
        max_tokens: The most tokens of all messages together; None for no limit.
        require_confirmed: As in `NotesPolicy`.

    Raises:
        BudgetTooSmallError: A `max_tokens` below 500.
        InvalidArgumentError: A `max_tokens` that is not a number of tokens.
    """

    fold: FoldPolicy = field(default_factory=FoldPolicy)
    recall: RecallPolicy | None = field(default_factory=RecallPolicy)
    max_tokens: int | None = None
    require_confirmed: bool = False

    def __post_init__(self) -> None:
        """Cap the policies by the limit: a text or a recall may take a quarter of it, the user layer an eighth."""
        if self.max_tokens is None:
            return
        check_limit(self.max_tokens)
        part = self.max_tokens // 4
        fold = replace(self.fold, max_threshold=max(LEAST_THRESHOLD, part))
        object.__setattr__(self, "fold", fold)
        if self.recall:
            recall = replace(
                self.recall,
                expansion_budget=min(self.recall.expansion_budget, part),
                user_layer_tokens=min(self.recall.user_layer_tokens, part // 2),
            )
            object.__setattr__(self, "recall", recall)

    @property
    def light_model(self) -> LightModel | None:
        """Return the judge if it is a model that can answer `ask_memory`; None if it is not, or `asks` is off."""
        if not self.recall or not self.recall.asks:
            return None
        judge: object = self.recall.judge
        return judge if isinstance(judge, LightModel) else None

    def new_cache(self, manager: MemoryManager) -> ConversationCache:
        """Return the cache for a conversation that this process has not seen before."""
        recall = self.recall or RecallPolicy()
        judge = BoundedJudge(recall.judge or LexicalJudge(), recall.judge_limits)
        return ConversationCache(Ledger(manager), judge)


@dataclass(slots=True)
class ConversationCache:
    """What a process remembers of a conversation between calls. It may be lost at any time.

    Attributes:
        ledger: The tokens and names of messages.
        bounded_judge: Decides what is brought back, and remembers its recent failures.
        made: The facts of placeholders whose messages have not arrived yet (`fold_output`), by the hash of the
            placeholder.
        layer: The user layer that the conversation began with.
        used: The keys of the layer's memories that are recorded as used; None before the first record.
    """

    ledger: Ledger
    bounded_judge: BoundedJudge
    made: dict[str, MessageFacts] = field(default_factory=dict[str, MessageFacts])
    layer: UserLayer | None = None
    used: frozenset[str] | None = None


@dataclass(slots=True)
class Conversation:
    """Decides what the prompts of one conversation contain. It holds no messages: its host does.

    Args:
        manager: The user's memories.
        settings: How the conversation is kept.
        fail_open: Lets the store fail, and keeps the counters.
        cache: What this process remembers of the conversation (`ConversationSettings.new_cache`).
        log: Records the decisions on what to bring back.
        named_thread: Whether its owner has named the thread; False for a generated name.
        new_id: Makes the id of a message that is put into the conversation.
    """

    manager: MemoryManager
    settings: ConversationSettings
    fail_open: FailOpen
    cache: ConversationCache
    log: DecisionLog = field(default_factory=DecisionLog)
    named_thread: bool = False
    new_id: Callable[[], str] = new_message_id

    @property
    def folder(self) -> MessageFolder:
        """Return the message folder."""
        return MessageFolder(self.manager, self.settings.fold, self.fail_open, self.cache.ledger)

    async def take_in(
        self, messages: Sequence[Message], before: Sequence[Message], facts: ConversationFacts
    ) -> list[Message]:
        """Return *messages*, which arrived together after *before*, with large texts folded. Store failures do not raise."""
        taken = await off_loop(self.folder.take_in, messages, before)
        self.fail_open.stats.add(messages=1)
        for message in taken:
            if message.is_reply:
                await self.hear(message, before, facts)
        return taken

    async def hear(
        self, said: Message, before: Sequence[Message], facts: ConversationFacts
    ) -> None:
        """Record which memories of the user layer a model used in what it *said*, and which references may be passed on.

        If another agent called this one as a tool, that agent may pass on these references, too.
        """
        user_id = self.manager.scope.user_id
        texts = said.texts.values()
        named = set(referenced_keys(*texts))
        if named:
            named.intersection_update(trusted_keys(before, facts.trusted))
            tell_caller(user_id, named)
            for text in texts:
                note_said(user_id, text, named)
        asked_again = _asked_again(said, before)
        if asked_again:
            self.fail_open.stats.add(asked_again=asked_again)
        layer = self.cache.layer
        if not layer:
            return
        words = list(said.billed())
        known = self.cache.used
        if known is not None and layer.package.used(*words) <= known:
            return
        record = ContextAssembler(self.manager).record
        used = await off_loop(self.fail_open.run, record, layer.package, *words)
        if used is not None:
            self.cache.used = used

    async def before_model(
        self,
        messages: Sequence[Message],
        facts: ConversationFacts,
        seen: int,
        notes: ScopedMemory | None = None,
        hidden: AbstractSet[str] = frozenset(),
    ) -> tuple[list[Message], ConversationFacts]:
        """Return the messages as the model sees them now, and the facts of the conversation after that.

        The first *seen* messages, which a model has seen, stay as they are, except for compactions, late folds and
        the notes of runs that have ended. The last message stays last.

        Args:
            messages: The conversation.
            facts: What is known of it.
            seen: How many of the messages a model has seen.
            notes: The agent's notes; None without tiers.
            hidden: The ids of the messages that the host will leave out or change.

        Raises:
            StateOwnerError: The conversation belongs to another user.
        """
        user_id = self.manager.scope.user_id
        facts.check_owner(user_id)
        run_id = notes.run_id if notes else None
        shown_before = messages[:seen]
        kept = without_notes_of_other_runs(messages, run_id)
        seen = len(without_notes_of_other_runs(shown_before, run_id))
        kept = _without_unanswered_recalls(kept, seen)
        prompt = await off_loop(self.folder.take_in_all, kept, seen, hidden)
        if seen == 0:
            prompt = await self._with_user_layer(prompt)
        prompt, unchanged = await off_loop(self._with_late_folds, prompt, seen)
        prompt = self.with_instructions(prompt, unchanged)
        facts = replace(facts, user_id=user_id)
        prompt, facts = await self._with_recall(prompt, facts, seen)
        if notes:
            prompt = await self._with_notes(prompt, notes, seen)
        if self.settings.max_tokens is not None:
            compactor = Compactor(self.folder, self.settings.max_tokens, self.new_id)
            compacted = await off_loop(self.fail_open.run, compactor.compact, prompt, seen)
            prompt = compacted or prompt
        await off_loop(self.fail_open.run_without_store, self._note_call, shown_before, prompt)
        # Trusted keys are also kept apart from the messages, which a host may drop.
        trusted = trusted_keys(prompt, facts.trusted)
        trusted += await off_loop(self._told_by_others, messages, trusted)
        return prompt, replace(facts, trusted=tuple(trusted))

    def _told_by_others(self, messages: Sequence[Message], trusted: Sequence[str]) -> list[str]:
        """Return the keys that other agents mention and may pass on, if they were generated and not chosen by somebody.

        This agent's own texts add nothing: their keys are in *trusted* already.
        """
        user_id = self.manager.scope.user_id
        told = dict[str, None]()
        for message in messages:
            if not message.is_reply:
                continue
            for text in message.texts.values():
                passable = said_here(user_id, text).difference(trusted)
                # Most agents hear nothing from other agents, so that no query is needed.
                if passable:
                    generated = self.fail_open.run(generated_in, self.manager, text) or ()
                    told |= dict.fromkeys(key for key in generated if key in passable)
        return list(told)

    def _note_call(self, shown_before: Sequence[Message], prompt: Sequence[Message]) -> None:
        """Record the model call that *prompt* is for."""
        call = model_call(shown_before, prompt, self.cache.ledger)
        fold = self.settings.fold
        if fold.record_prompts:
            lines = as_lines(prompt)
            call = replace(call, prompt=fold.redacted(lines))
        redaction = self.manager.redaction()
        self.manager.note_call(redacted_call(call, redaction))

    def fold_output(
        self, output: Message, arguments: str | None, before: Sequence[Message]
    ) -> Message:
        """Return *output* as the prompt will show it once its message arrives. Store failures do not raise.

        Args:
            output: The output of a tool, as a message of the role ``tool``.
            arguments: The arguments of the tool's call; None if they are unknown.
            before: The messages before the call.
        """
        words = next((message.text for message in reversed(before) if message.is_reply), "")
        call = Message(output.id, "assistant", "", {0: words})
        if arguments is not None:
            called = FunctionCall("", output.source, arguments)
            call = replace(call, calls=(called,))
        answer = replace(output, answers="")
        [taken] = self.folder.take_in([answer], [*before, call])
        if taken.known.folded:
            self.cache.made[hash_content(taken.text)] = taken.known
        return taken

    def restore(self, messages: Sequence[Message], item: MemoryItem) -> tuple[int, list[Message]]:
        """Return the index of the note on a compaction, and the messages that belong in its place.

        Raises:
            StateError: *item* holds no messages, or no note of this conversation refers to it.
        """
        return uncompacted(messages, item, self.new_id)

    def _with_late_folds(self, messages: list[Message], seen: int) -> tuple[list[Message], int]:
        """Fold the texts that were read in full, if that pays now; return the messages, and how many are unchanged."""
        due = self.fail_open.run_without_store(due_messages, messages, seen, self.folder)
        if due:
            folded = self.fail_open.run(fold_what_was_read, messages, due, self.folder)
            if folded is not None:
                return folded, due[0]
        return messages, seen

    def with_instructions(self, messages: list[Message], unchanged: int) -> list[Message]:
        """Return *messages* with an explanation of references at the first placeholder after the *unchanged* ones.

        They are explained at most once: a conversation that folds nothing does not pay for the explanation.
        """
        is_explained = any(message.known.instructs for message in messages)
        if is_explained or not self.settings.fold.instructions:
            return messages
        for index in range(unchanged, len(messages)):
            message = messages[index]
            place = next(self._placeholders_in(message), None)
            if place is not None:
                text = f"{message.texts[place]}\n{prompts.ABOUT_REFERENCES}"
                facts = replace(message.known, instructs=True)
                explained = message.with_texts({place: text}, facts)
                tokens = self.manager.counter.count(prompts.ABOUT_REFERENCES)
                self.fail_open.stats.add(tokens_shown=tokens)
                return [*messages[:index], explained, *messages[index + 1 :]]
        return messages

    def _placeholders_in(self, message: Message) -> Iterator[int]:
        """Yield the places of the placeholders in *message*: those made here, and those of another agent's conversation."""
        yield from message.known.folded
        if message.is_foldable and not message.is_typed:
            user_id = self.manager.scope.user_id
            for place, text in message.texts.items():
                if made_here(user_id, text):
                    yield place

    async def _with_user_layer(self, messages: list[Message]) -> list[Message]:
        """Return *messages*, none of which a model has seen, with the user layer after the first system messages."""
        recall = self.settings.recall
        if not recall or not recall.user_layer_tokens:
            return messages
        if any(message.is_a("layer") for message in messages):
            return messages
        position = 0
        while position < len(messages) and messages[position].is_system:
            position += 1
        if position == len(messages):
            return messages
        task = next((message.text for message in messages if message.is_question), "")
        confirmed = self.settings.require_confirmed
        assembler = ContextAssembler(self.manager, require_confirmed=confirmed)
        assembled = partial(user_layer, assembler, task, returning=self.named_thread)
        layer = await off_loop(self.fail_open.run, assembled, recall.user_layer_tokens)
        if not layer:
            return messages
        self.cache.layer = layer
        self.cache.used = None
        text = self.settings.fold.redacted(layer.text)
        facts = MessageFacts(kind="layer", trusted=layer.keys)
        return self._inserted(messages, position, text, facts)

    def _inserted(
        self, messages: list[Message], position: int, text: str, facts: MessageFacts
    ) -> list[Message]:
        """Return *messages* with a message of this library inserted at *position*."""
        message = own_message(self.new_id(), text, facts)
        return [*messages[:position], message, *messages[position:]]

    async def _with_recall(
        self, messages: list[Message], facts: ConversationFacts, seen: int
    ) -> tuple[list[Message], ConversationFacts]:
        """Return *messages* with what the newest one needs inserted before its group, and the updated facts."""
        recall = self.settings.recall
        if not recall or not recall.expansion_budget:
            return messages, facts
        question = newest_question(messages, seen, facts.undecided, results=recall.results)
        if not question:
            return messages, facts
        position = recall_position(messages, seen)
        if position is None:
            return messages, replace(facts, undecided=question.id)
        judge = self.cache.bounded_judge
        judge.calls = facts.judge_calls
        judge.tokens = facts.judge_tokens
        request = recall_request(question, messages, seen)
        found = await self.recaller().recall(request)
        facts = replace(facts, undecided=None, judge_calls=judge.calls, judge_tokens=judge.tokens)
        if not found:
            return messages, facts
        # A key that a person names is opened, but not trusted: any text may have led the person to name it.
        trusted = tuple(key for key in found.ranges if key not in request.named)
        known = MessageFacts(kind="recall", lines=found.ranges, trusted=trusted)
        recalled = self._inserted(messages, position, found.text, known)
        return recalled, facts

    def recaller(self) -> Recaller:
        """Return the recaller for this conversation."""
        recall = self.settings.recall
        budget = recall.expansion_budget if recall else 0
        shown = RecalledText(self.manager, budget, self.settings.fold.redacted)
        return Recaller(self.manager, self.fail_open, self.cache.bounded_judge, shown, self.log)

    async def _with_notes(
        self, messages: list[Message], notes: ScopedMemory, seen: int
    ) -> list[Message]:
        """Return *messages* with the run's new notes inserted before the newest group."""
        position = recall_position(messages, seen)
        if position is None:
            return messages
        shown: Mapping[str, str] = {}
        for message in messages:
            if message.is_a("notes"):
                shown = message.known.noted
        look = partial(unseen_notes, require_confirmed=self.settings.require_confirmed)
        noted = await off_loop(self.fail_open.run, look, notes, shown)
        if not noted:
            return messages
        tokens = self.manager.counter.count(noted.text)
        self.fail_open.stats.add(tokens_noted=tokens)
        return self._inserted(messages, position, noted.text, noted.known)


def without_notes_of_other_runs(messages: Sequence[Message], run_id: str | None) -> list[Message]:
    """Return *messages* without the notes of runs that have ended."""
    here = (None, run_id)
    return [one for one in messages if not one.is_a("notes") or one.known.run_id in here]


def _without_unanswered_recalls(messages: Sequence[Message], seen: int) -> list[Message]:
    """Return *messages* without the recalls for a question that has no answer yet, since a host may have edited it."""
    answered = seen
    for index, message in enumerate(messages[seen:], seen):
        if message.is_reply:
            answered = index + 1
    waiting = [message for message in messages[answered:] if not message.is_a("recall")]
    return [*messages[:answered], *waiting]


def _asked_again(said: Message, before: Sequence[Message]) -> int:
    """Return how many texts *said* retrieves right after they were folded: the model could not do without them."""
    reading = "\n".join(call.arguments for call in said.calls if call.name == RETRIEVE)
    if not reading:
        return 0
    keys = set[str]()
    for message in reversed(before):
        if message.is_reply:
            break
        keys.update(message.keys_of_outputs)
    return len([key for key in keys if key in reading])
