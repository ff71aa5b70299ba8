"""Taking messages in: their large texts are folded into one user's memories, and what is known of them is noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from memory_context import wording_for_models as prompts
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold_recall_notes_policies import (
    LEAST_THRESHOLD,
    PERSON,
    FoldPolicy,
)
from memory_context.conversation.folding.fold_text import Folded, PreviewFocus, fold
from memory_context.conversation.folding.repeated_outputs import earlier_outputs, shown_before
from memory_context.conversation.message import (
    NO_FACTS,
    Message,
    MessageFacts,
    named_keys,
    references_of,
)
from memory_context.conversation.message_tokens import Ledger
from memory_context.conversation.recall.questions_and_verdicts import Ranges
from memory_context.conversation.references.key_trust import (
    generated_in,
    in_tool_call,
    made_here,
    note_made,
    tell_caller,
    typed_in,
)
from memory_context.conversation.retrieved_lines import lines_shown
from memory_context.memory.manager import MemoryManager
from memory_context.memory.user_layer import begins_layer
from memory_context.model.item import SECRET, MemoryItem
from memory_context.model.origin import MODEL, PROGRAM, TOOL, Origin, lowest
from memory_context.model.origin import PERSON as PERSON_ORIGIN
from memory_context.model.reference import MemoryRef, keys_named
from memory_context.model.tool_names import READING_TOOLS, RETRIEVE
from memory_context.runtime.telemetry import operation
from memory_context.text.tokens.counter import WIDEST_CHARACTER

TASK_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class MessageFolder:
    """Folds the texts of messages by one policy into one user's memories.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded.
        fail_open: Lets the store fail.
        ledger: Knows the names that stand in the messages.
        folds_answers: Whether what the model says is folded like what others say. Otherwise it is so where it is very
            long, and only once it was read.
    """

    manager: MemoryManager
    policy: FoldPolicy
    fail_open: FailOpen
    ledger: Ledger
    folds_answers: bool = False

    def take_in_all(self, messages: Sequence[Message], seen: int) -> list[Message]:
        """Return *messages*, those that are new taken in; of the first `seen`, which a model has seen, nothing is folded."""
        taken = list[Message]()
        for _, group in groupby(enumerate(messages), _place_in_run):
            run = [message for _, message in group]
            if len(taken) < seen:
                run = [one if one.facts else self.with_folds(one, {}) for one in run]
            taken += self.take_in(run, taken)
        return taken

    def take_in(self, messages: Sequence[Message], before: Sequence[Message]) -> list[Message]:
        """Return *messages*, which came together behind *before*, with references in place of their large texts.

        Never raises: where the store fails, a text stays as it is. A message that was taken in already stays, too.
        """
        if all(message.facts for message in messages):
            return list(messages)
        folder = self._sharing(messages)
        references = references_of(before) if any(one.is_typed for one in messages) else {}
        return [
            message if message.facts else folder._taken_in(message, before, references)  # noqa: SLF001 - its own
            for message in messages
        ]

    def threshold_of(self, message: Message) -> int | None:
        """Return the threshold above which texts of *message* are folded as they come in; None if they never are."""
        threshold = self.late_threshold_of(message)
        is_answer = message.role == "assistant" and not self.folds_answers
        is_read_first = is_answer or message.source in READING_TOOLS
        if threshold is None or is_read_first:
            return None
        if message.role == "tool" and self.policy.reads_files(message.source):
            return max(threshold, self.policy.page_budget)
        if self.policy.fold == "after_reading":
            return max(threshold, self.policy.read_cap)
        return threshold

    def late_threshold_of(self, message: Message) -> int | None:
        """Return the threshold above which texts of *message* are folded once they were read; None if they never are."""
        if message.role == "system" or message.is_ours:
            return None
        if message.role == "tool":
            return self.policy.tool_threshold(message.source)
        if message.role == "user" or self.folds_answers:
            return self.policy.threshold_for(message.source)
        # An answer is what the next questions are about.
        return max(self.policy.threshold_for(None), self.policy.read_cap)

    def fold_text(
        self, message: Message, place: int, before: Sequence[Message], *, is_late: bool = False
    ) -> Folded | None:
        """Return what stands in the prompt for a text of *message*; None if it stays as it is.

        Args:
            message: The message.
            place: The place of the text in it.
            before: The messages before it, which say what it is about.
            is_late: Whether a model has read the text. Then the names in *before*, which may have left the prompt, do
                not decide what its preview shows.

        Raises:
            StoreError: The store failed.
        """
        text = message.texts[place]
        threshold = self.late_threshold_of(message) if is_late else self.threshold_of(message)
        # Looking for what a text is about is the dear part, so its tokens are counted first.
        if threshold is None or not self.manager.counter.exceeds(text, threshold):
            return None
        known = set[str]() if is_late else self.ledger.names(before)
        arguments = _arguments_of(message, before)
        tool = message.source if message.role == "tool" else None
        earlier = earlier_outputs(tool, before, self.manager) if tool and not is_late else {}
        focus = PreviewFocus(
            _question(message, arguments, before),
            known,
            by_person=message.source == PERSON and message.is_question,
            as_table=self.policy.queries,
            earlier=earlier,
        )

        named_in = [message] if message.role == "assistant" else []
        facts = _record_facts(message, arguments)
        commit = partial(self.store, message, facts=facts, named_in=named_in)
        with operation("fold", self.manager.who, tool=tool, characters=len(text)) as folding:
            folded = fold(
                text,
                commit,
                self.manager.counter,
                threshold=threshold,
                preview_tokens=self.policy.preview_budget(None if tool else message.source),
                focus=focus,
            )
            if folded is not None and not is_late:
                folded = shown_before(folded, before, self.manager)
            if folded is None:
                folding.note(outcome="kept")
            else:
                folding.note(
                    outcome="folded",
                    key=folded.item.memory_key,
                    tokens=folded.item.token_count,
                    tokens_shown=folded.tokens,
                )
        return folded

    def store(
        self,
        message: Message,
        text: str,
        *,
        source: str | None = None,
        facts: Mapping[str, Any] | None = None,
        named_in: Sequence[Message] = (),
    ) -> MemoryItem:
        """Store a text of *message*, as secret as what the messages *named_in* refer to; return its memory.

        Raises:
            StoreError: The store failed.
        """
        kind = "tool_output" if message.role == "tool" else "message"
        tags, origin = self.secret_tags(named_in), self.origin_of([message])
        source = source or message.source
        with self.fail_open.writing():
            return self.manager.remember(
                text, type=kind, source=source, tags=tags, metadata=facts, origin=origin
            )

    def origin_of(self, messages: Sequence[Message]) -> Origin:
        """Return the origin of what is made of *messages*: the lowest of who speaks, and of what they refer to."""
        keys = named_keys(messages) | references_of(messages).keys()
        return self.manager.origin_of(keys, lowest([PERSON_ORIGIN, *map(_origin_of, messages)]))

    def secret_tags(self, messages: Sequence[Message]) -> list[str]:
        """Return ``secret`` if *messages* name a secret: what is stored of them is as secret."""
        keys = list(named_keys(messages))
        if not keys:
            return []
        store, scope = self.manager.memory_store, self.manager.scope
        own = store.count(scope, {"memory_key": keys, "memory_type": SECRET})
        inherited = store.count(scope, {"memory_key": keys, "tags": SECRET})
        return [SECRET] if own or inherited else []

    def with_folds(self, message: Message, folds: Mapping[int, Folded]) -> Message:
        """Return *message* with *folds* in place of some texts, and with what is known of it then; count them."""
        user_id = self.manager.scope.user_id
        tell_caller(user_id, [folded.item.memory_key for folded in folds.values()])
        for folded in folds.values():
            note_made(user_id, folded.text)
            self.fail_open.stats.add(
                folds=1, tokens_folded=folded.item.token_count, tokens_shown=folded.tokens
            )
        shown = message
        if folds:
            shown = message.with_texts({place: folded.text for place, folded in folds.items()})
        known, earlier = self._told_by(shown, folds), message.known
        facts = replace(
            known,
            folded=(*earlier.folded, *known.folded),
            named=earlier.named,
            trusted=tuple(dict.fromkeys((*earlier.trusted, *known.trusted))),
        )
        return replace(shown, facts=facts)

    def may_fold(self, message: Message, text: str) -> bool:
        """Return whether *text* of *message* may be over its threshold, without counting its tokens.

        A token has one byte at least, a character four at most.
        """
        threshold = self.threshold_of(message)
        return threshold is not None and len(text) * WIDEST_CHARACTER > threshold

    def _taken_in(
        self, message: Message, before: Sequence[Message], references: Mapping[str, Ranges]
    ) -> Message:
        texts = {place: self._redacted(message, text) for place, text in message.texts.items()}
        named = keys_named(message.text, references) if message.is_typed else ()
        message = replace(message, texts=texts, facts=MessageFacts(named=tuple(sorted(named))))
        folds = dict[int, Folded]()
        for place, text in texts.items():
            if not self.may_fold(message, text):
                continue
            if folded := self.fail_open.run(self.fold_text, message, place, before):
                folds[place] = folded
        return self.with_folds(message, folds)

    def _told_by(self, message: Message, folds: Mapping[int, Folded]) -> MessageFacts:
        """Return what the texts of *message* tell; *folds* are the placeholders that have just been made of some."""
        if message.is_ours:
            return _facts_of_another(message)
        lines = dict[str, Ranges]()
        trusted = list[str]()
        for place, text in message.texts.items():
            may_refer = message.is_foldable or place in folds
            refs = MemoryRef.find_all(text) if may_refer else []
            if not refs:
                continue
            lines |= {ref.key: lines.get(ref.key, ()) for ref in refs}
            if place in folds:
                key = folds[place].item.memory_key
                lines[key] = folds[place].preview.ranges
                trusted.append(key)
            else:
                trusted += self._trusted_in(message, text)
            if message.source == RETRIEVE and not message.is_error:
                for key, shown_lines in lines_shown(text):
                    lines[key] = (*lines[key], shown_lines)
        return MessageFacts(lines=lines, folded=tuple(folds), trusted=tuple(trusted))

    def _trusted_in(self, message: Message, text: str) -> Iterable[str]:
        """Return the keys in a text of *message*, which stays as it is, that may be passed on for who says it."""
        user_id = self.manager.scope.user_id
        if message.role == "tool":
            return made_here(user_id, text)
        if message.is_typed:
            return typed_in(user_id, text)
        if message.is_question and not message.is_summary:
            return self.fail_open.run(generated_in, self.manager, text) or ()
        return ()

    def _redacted(self, message: Message, text: str) -> str:
        """Return *text* as it may be stored, if it may be stored at all."""
        if self.threshold_of(message) is None:
            return text
        if message.role == "tool" or self.may_fold(message, text):
            return self.policy.redacted(text)
        return text

    def _sharing(self, messages: Sequence[Message]) -> MessageFolder:
        """Return this folder, with a lower threshold if the results among *messages* are too many tokens together."""
        lower = self.fail_open.run_without_store(self._shared_threshold, messages)
        if lower is None:
            return self
        return replace(self, policy=replace(self.policy, threshold=lower))

    def _shared_threshold(self, messages: Sequence[Message]) -> int | None:
        """Return the threshold for results that would stay whole and are too many together; None if they are not.

        Results of tools with a threshold of their own do not count.
        """
        usual = self.policy.threshold_for(None)
        most = self.policy.results_together
        counter = self.manager.counter
        apart = READING_TOOLS | self.policy.tool_thresholds.keys()
        results = [one for one in messages if one.role == "tool" and one.source not in apart]
        texts = [text for one in results if not one.known.folded for text in one.texts.values()]
        if sum(len(text) for text in texts) * WIDEST_CHARACTER <= most:
            return None
        sizes = [counter.count(text) for text in texts if not counter.exceeds(text, usual)]
        return shared_threshold(sizes, most) if sum(sizes) > most else None


def shared_threshold(sizes: Sequence[int], together: int) -> int:
    """Return the most tokens that a text may have and stay whole, if all that stay may have *together*.

    It is 50 or more. Texts of one size fare alike, wherever they stand.
    """
    fitting = [LEAST_THRESHOLD]
    for size in set(sizes):
        staying = sum(other for other in sizes if other <= size)
        if staying <= together:
            fitting.append(size)
    return max(fitting)


def _facts_of_another(message: Message) -> MessageFacts:
    """Return what is known of a message that another conversation's memory has put there, such as an outer agent's.

    Its run is not that of this conversation, so notes go before a model sees them.
    """
    if begins_layer(message.text):
        return MessageFacts(kind="layer")
    if message.text.startswith(prompts.RUN_NOTES_HEADER):
        return MessageFacts(kind="notes", run_id="")
    return NO_FACTS


def _origin_of(message: Message) -> Origin:
    """Return who says *message*; of ours nobody, since it refers to what it quotes.

    What other agents say may be what a tool gave them, word for word, and a summary is made of such texts.
    """
    if message.is_ours or (message.is_typed and not in_tool_call()):
        return PERSON_ORIGIN
    if message.role in ("user", "tool"):
        return TOOL
    return MODEL if message.role == "assistant" else PROGRAM


def _place_in_run(numbered: tuple[int, Message]) -> int:
    """Return the same for the results of tools that stand side by side, and another value for each other message."""
    return -1 if numbered[1].role == "tool" else numbered[0]


def _arguments_of(message: Message, before: Sequence[Message]) -> str | None:
    """Return what the tool was called with that gave *message*."""
    calls = (call for earlier in reversed(before) for call in earlier.calls)
    return next((call.arguments for call in calls if call.id == message.answers), None)


def _question(message: Message, arguments: str | None, before: Sequence[Message]) -> str:
    """Return what a text is read for: the call that it answers, the words before that, the task."""
    words = next((one.text for one in reversed(before) if one.role == "assistant"), "")
    task = next((one.text for one in before if one.is_question), "")
    return "\n".join((message.source, arguments or "", words, task[:TASK_CHARACTERS]))


def _record_facts(message: Message, arguments: str | None) -> dict[str, Any]:
    """Return what the record tells of where its text came from."""
    facts: dict[str, Any] = {
        "source": _storable(message.source),
        "call_id": _storable(message.answers) or None,
        "arguments": _storable(arguments),
        "is_error": message.is_error if message.role == "tool" else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _storable(text: str | None) -> str | None:
    """Escape what a JSON column refuses; a model may have made the text up."""
    if text is None:
        return None
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
