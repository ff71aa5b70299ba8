"""Take messages into a conversation: fold their large texts into the user's memories, and note the facts about each.

To *fold* a text is to store it and to put a placeholder, which is a reference with a preview, in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from memory_context import sentences_models_read as prompts
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold_recall_notes_policies import PERSON, FoldPolicy
from memory_context.conversation.folding.fold_text import Folded, PreviewFocus, fold
from memory_context.conversation.folding.repeated_outputs import (
    earlier_outputs,
    is_shown,
    remark_of,
    repetitions_in,
    shown_before,
)
from memory_context.conversation.message import (
    NO_FACTS,
    Message,
    MessageFacts,
    is_task,
    named_keys,
    references_of,
)
from memory_context.conversation.message_tokens import Ledger
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
from memory_context.memory.user_layer_of_new_conversations import begins_layer
from memory_context.model.item import SECRET, MemoryItem
from memory_context.model.json_object import JsonObject
from memory_context.model.origin import MODEL, PROGRAM, TOOL, Origin, lowest
from memory_context.model.origin import PERSON as PERSON_ORIGIN
from memory_context.model.reference import MemoryRef, keys_named, referenced_keys
from memory_context.model.tool_names import READING_TOOLS, RETRIEVE
from memory_context.runtime.telemetry import operation
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges
from memory_context.text.tokens.counter import WIDEST_CHARACTER
from memory_context.text.words_and_names import terms

ASKED_CHARACTERS = 4000
# A message with fewer different words, not counting stop words, asks for nothing by itself.
LEAST_ASKED = 3
# The name of the only argument in the JSON of a call.
_ONLY_KEY = re.compile(r'\A\s*\{\s*"[^"\\]*"\s*:(?!.*"\s*:)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class MessageFolder:
    """Folds the texts of messages into one user's memories, by one policy.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded.
        fail_open: Runs what needs the store, and goes on without a result if the store fails.
        ledger: Counts the tokens of messages, and finds the names in them.
        folds_answers: Whether the model's answers are folded like other texts. If not, only very long answers are folded,
            and only after a model has read them.
    """

    manager: MemoryManager
    policy: FoldPolicy
    fail_open: FailOpen
    ledger: Ledger
    folds_answers: bool = False

    def take_in_all(
        self, messages: Sequence[Message], seen: int, hidden: AbstractSet[str] = frozenset()
    ) -> list[Message]:
        """Return *messages* with the new ones taken in, and with the previews that these need now.

        Args:
            messages: The messages of the prompt.
            seen: How many of them a model has seen. Nothing is folded in these.
            hidden: The ids of the messages that the host will leave out or change.
        """
        taken = [one if one.facts else self.with_folds(one, {}) for one in messages[:seen]]
        for _, group in groupby(enumerate(messages[seen:]), _run_of):
            run = [message for _, message in group]
            taken += self.take_in(run, taken)
        return self.with_missing_previews(taken, seen, hidden)

    def take_in(self, messages: Sequence[Message], before: Sequence[Message]) -> list[Message]:
        """Return *messages*, which arrived together after *before*, with references in place of their large texts.

        A message that was taken in already stays as it is, and so does a text if the store fails. Store failures do not
        raise.
        """
        return [one if one.facts else self._taken_in(one, before) for one in messages]

    def threshold_of(self, message: Message) -> int | None:
        """Return the threshold above which texts of *message* are folded as they arrive; None for never."""
        threshold = self.late_threshold_of(message)
        is_answer = message.is_reply and not self.folds_answers
        is_read_first = is_answer or message.source in READING_TOOLS
        if threshold is None or is_read_first:
            return None
        if message.is_result and self.policy.reads_files(message.source):
            return max(threshold, self.policy.page_budget)
        if self.policy.fold == "after_reading":
            return max(threshold, self.policy.read_cap)
        return threshold

    def late_threshold_of(self, message: Message) -> int | None:
        """Return the threshold above which texts of *message* are folded once a model has read them; None for never."""
        if message.is_system or message.is_ours:
            return None
        if message.is_result:
            return self.policy.tool_threshold(message.source)
        if message.is_question or self.folds_answers:
            return self.policy.threshold_for(message.source)
        # The next questions are about the model's answer, so only a very long answer is folded.
        return max(self.policy.threshold_for(None), self.policy.read_cap)

    def fold_text(
        self, message: Message, place: int, before: Sequence[Message], *, is_late: bool = False
    ) -> Folded | None:
        """Fold one text of *message* and return its placeholder; None if the text stays as it is.

        Args:
            message: The message.
            place: The place of the text in it.
            before: The messages before it, which show what the text is read for.
            is_late: Whether a model has read the text. Its preview then also shows names that *before* contains, because
                these may have left the prompt.

        Raises:
            StoreError: The store failed.
        """
        text = message.texts[place]
        threshold_of = self.late_threshold_of if is_late else self.threshold_of
        threshold = threshold_of(message)
        if threshold is not None and not self.folds_answers and is_task(message, before):
            threshold = max(threshold, self.policy.threshold_for(message.source, is_task=True))
        # Finding out what a text is read for is the expensive part, so its tokens are counted first.
        if threshold is None or not self.manager.counter.exceeds(text, threshold):
            return None
        tool = message.source if message.is_result else None
        named_in = [message] if message.is_reply else []
        facts = _record_facts(message, _arguments_of(message, before))
        commit = partial(self.store, message, facts=facts, named_in=named_in)
        with operation("fold", self.manager.who, tool=tool, characters=len(text)) as folding:
            folded = self._folded(message, text, commit, before, threshold, is_late=is_late)
            if folded and not is_late:
                folded = shown_before(folded, before, self.manager)
            if not folded:
                folding.note(outcome="kept")
            else:
                folding.note(
                    outcome="folded",
                    key=folded.item.memory_key,
                    tokens=folded.item.token_count,
                    tokens_shown=folded.tokens,
                )
        return folded

    def _folded(
        self,
        message: Message,
        text: str,
        commit: Callable[[str], MemoryItem],
        before: Sequence[Message],
        threshold: int = 0,
        *,
        is_late: bool,
    ) -> Folded | None:
        """Return the placeholder that `fold` makes for a text in *message*, which *commit* stores; see `fold_text`.

        Raises:
            StoreError: The store failed.
        """
        known = set[str]()
        earlier = dict[str, str]()
        if not is_late:
            known = self.ledger.names(before)
            if message.is_result and message.source:
                earlier = earlier_outputs(message.source, before, self.manager)
        focus = PreviewFocus(
            _question(_arguments_of(message, before), before),
            known,
            by_person=message.source == PERSON and message.is_question,
            as_table=self.policy.queries,
            earlier=earlier,
        )
        source = None if message.is_result else message.source
        return fold(
            text,
            commit,
            self.manager.counter,
            threshold=threshold,
            preview_tokens=self.policy.preview_budget(source),
            focus=focus,
        )

    def with_missing_previews(
        self,
        messages: Sequence[Message],
        seen: int,
        hidden: AbstractSet[str] = frozenset(),
        *,
        is_cut: bool = False,
    ) -> list[Message]:
        """Return *messages* with a preview in each repeated output that refers to one that the prompt no longer shows.

        A host may have removed the earlier output since the later one arrived. The first *seen* messages, which a model
        has seen, stay as they are. If the store fails, the reference stays without a preview.

        Args:
            messages: The messages of the prompt.
            seen: How many of them a model has seen.
            hidden: The ids of the messages that the host will leave out or change.
            is_cut: Whether the earlier outputs are about to leave the prompt; then every repeated output gets a preview.
        """
        whole = list(messages)
        for index in range(seen, len(whole)):
            for place, ref in repetitions_in(whole[index]):
                message = whole[index]
                before = [one for one in whole[:index] if one.id not in hidden]
                if is_cut or not is_shown(ref.key, before):
                    again = partial(self._preview_again, message, ref, before, is_late=is_cut)
                    folded = self.fail_open.run(again)
                    whole[index] = self._with_preview(message, place, ref, folded)
        return whole

    def _with_preview(
        self, message: Message, place: int, ref: MemoryRef, folded: Folded | None
    ) -> Message:
        """Return *message* with *folded*, or else with the bare reference, in place of the remark on an earlier output."""
        remark = remark_of(ref)
        shown = ref.render()
        ranges: Ranges = ()
        if folded:
            shown = folded.text
            ranges = folded.ranges
        count = self.manager.counter.count
        more = count(shown) - count(remark)
        self.fail_open.stats.add(tokens_shown=max(0, more))
        note_made(self.manager.scope.user_id, shown)
        lines = {**message.known.lines, ref.key: ranges}
        # The explanation of references may follow the remark.
        following = message.texts[place].removeprefix(remark)
        facts = replace(message.known, lines=lines)
        return message.with_texts({place: shown + following}, facts)

    def _preview_again(
        self, message: Message, ref: MemoryRef, before: Sequence[Message], *, is_late: bool
    ) -> Folded | None:
        """Return the reference and a preview of a stored text; None if it is gone. The arguments are those of `fold_text`.

        Raises:
            StoreError: The store failed.
        """
        item = self.manager.memory_store.get(self.manager.scope, ref.key)
        if not item:
            return None
        return self._folded(message, item.text, lambda _: item, before, is_late=is_late)

    def store(
        self,
        message: Message,
        text: str,
        *,
        source: str | None = None,
        facts: Mapping[str, Any] | None = None,
        named_in: Sequence[Message] = (),
    ) -> MemoryItem:
        """Store a text of *message* and return its memory. It is a secret if the messages *named_in* name one.

        Raises:
            StoreError: The store failed.
        """
        kind = "tool_output" if message.is_result else "message"
        tags = self.secret_tags(named_in)
        origin = self.origin_of([message])
        source = source or message.source
        # Prompts contain what a model wrote unredacted, until it is folded.
        if message.is_reply:
            text = self.policy.redacted(text)
        with self.fail_open.writing():
            return self.manager.remember(
                text, type=kind, source=source, tags=tags, metadata=facts, origin=origin
            )

    def origin_of(self, messages: Sequence[Message]) -> Origin:
        """Return the origin of a text made of *messages*: the lowest of their speakers' and of their references'."""
        keys = named_keys(messages) | references_of(messages).keys()
        of_speakers = lowest([PERSON_ORIGIN, *map(_origin_of, messages)])
        return self.manager.origin_of(keys, of_speakers)

    def secret_tags(self, messages: Sequence[Message]) -> list[str]:
        """Return the tags of a memory made of *messages*: ``secret`` if they contain the key of a secret."""
        keys = list(named_keys(messages))
        if not keys:
            return []
        store = self.manager.memory_store
        scope = self.manager.scope
        secrets = store.count(scope, {"memory_key": keys, "memory_type": SECRET})
        inherited = store.count(scope, {"memory_key": keys, "tags": SECRET})
        if secrets or inherited:
            return [SECRET]
        return []

    def with_folds(self, message: Message, folds: Mapping[int, Folded]) -> Message:
        """Return *message* with *folds* in place of some texts and with its facts updated; count the folds."""
        # Most messages contain no references, so that no facts follow from their texts.
        is_plain = not (folds or message.facts)
        if is_plain and not message.is_ours and not referenced_keys(*message.texts.values()):
            return message
        user_id = self.manager.scope.user_id
        tell_caller(user_id, [folded.item.memory_key for folded in folds.values()])
        for folded in folds.values():
            note_made(user_id, folded.text)
            self.fail_open.stats.add(
                folds=1, tokens_folded=folded.item.token_count, tokens_shown=folded.tokens
            )
        shown = message
        if folds:
            placeholders = {place: folded.text for place, folded in folds.items()}
            shown = message.with_texts(placeholders)
        new = self._facts_of(shown, folds)
        earlier = message.known
        facts = replace(
            new,
            folded=(*earlier.folded, *new.folded),
            named=earlier.named,
            trusted=tuple(dict.fromkeys((*earlier.trusted, *new.trusted))),
        )
        return replace(shown, facts=facts)

    def may_fold(self, message: Message, text: str) -> bool:
        """Return whether *text* of *message* may be above its threshold, without counting its tokens.

        A token has at least one byte, and a character at most four. So a text has at most four tokens per character.
        """
        threshold = self.threshold_of(message)
        if threshold is None:
            return False
        most_tokens = len(text) * WIDEST_CHARACTER
        return most_tokens > threshold

    def _taken_in(self, message: Message, before: Sequence[Message]) -> Message:
        texts = {place: self._redacted(message, text) for place, text in message.texts.items()}
        facts = MessageFacts()
        if message.is_typed:
            named = keys_named(message.text, references_of(before))
            facts = MessageFacts(named=tuple(sorted(named)))
        message = replace(message, texts=texts, facts=facts)
        folds = dict[int, Folded]()
        for place, text in texts.items():
            if not self.may_fold(message, text):
                continue
            if folded := self.fail_open.run(self.fold_text, message, place, before):
                folds[place] = folded
        return self.with_folds(message, folds)

    def _facts_of(self, message: Message, folds: Mapping[int, Folded]) -> MessageFacts:
        """Return the facts that follow from the texts of *message*: its references, their lines, and the trusted ones.

        Args:
            message: The message, with its placeholders.
            folds: The placeholders that have just been made, by the places of the texts.
        """
        if message.is_ours:
            return _facts_of_other_conversation(message)
        lines = dict[str, Ranges]()
        trusted = list[str]()
        for place, text in message.texts.items():
            if not message.is_foldable and place not in folds:
                continue
            refs = MemoryRef.find_all(text)
            if not refs:
                continue
            for ref in refs:
                lines.setdefault(ref.key, ())
            if place in folds:
                key = folds[place].item.memory_key
                lines[key] = folds[place].ranges
                trusted.append(key)
            else:
                trusted += self._trusted_in(message, text)
            if message.source == RETRIEVE and not message.is_error:
                for key, shown_lines in lines_shown(text):
                    lines[key] = (*lines[key], shown_lines)
        return MessageFacts(lines=lines, folded=tuple(folds), trusted=tuple(trusted))

    def _trusted_in(self, message: Message, text: str) -> Iterable[str]:
        """Return the keys in an unfolded text of *message* that may be passed on to tools, by who said the text."""
        user_id = self.manager.scope.user_id
        if message.is_result:
            return made_here(user_id, text)
        if message.is_typed:
            return typed_in(user_id, text)
        if message.is_question and not message.is_summary:
            return self.fail_open.run(generated_in, self.manager, text) or ()
        return ()

    def _redacted(self, message: Message, text: str) -> str:
        """Return *text*, redacted if it is a tool's result or may be above the threshold."""
        if message.is_result or self.may_fold(message, text):
            return self.policy.redacted(text)
        return text


def _facts_of_other_conversation(message: Message) -> MessageFacts:
    """Return the facts of a message that this library has put into another conversation, such as an outer agent's.

    Its notes belong to a run other than this conversation's, and are removed before a model sees them.
    """
    if begins_layer(message.text):
        return MessageFacts(kind="layer")
    if message.text.startswith(prompts.RUN_NOTES_HEADER):
        return MessageFacts(kind="notes", run_id="")
    return NO_FACTS


def _origin_of(message: Message) -> Origin:
    """Return the origin of a message's words, by who speaks.

    A message of this library's own has the highest origin, so that the memories that it refers to decide. What another
    agent says counts as a tool's words, which it may repeat, and so does a summary.
    """
    if message.is_ours or (message.is_typed and not in_tool_call()):
        return PERSON_ORIGIN
    if message.role in ("user", "tool"):
        return TOOL
    if message.is_reply:
        return MODEL
    return PROGRAM


def _run_of(numbered: tuple[int, Message]) -> int:
    """Return a grouping key that puts consecutive tool results into one group, and each other message into its own."""
    index, message = numbered
    if message.is_result:
        return -1
    return index


def _arguments_of(message: Message, before: Sequence[Message]) -> str | None:
    """Return the arguments of the call that *message* is the result of; None if the call is not in *before*."""
    for earlier in reversed(before):
        for call in earlier.calls:
            if call.id == message.answers:
                return call.arguments
    return None


def _question(arguments: str | None, before: Sequence[Message]) -> str:
    """Return what a text is read for: the call that it answers, the model's last words before it, and what was asked.

    Of the call, the words that each call of the tool has are left out: the tool's name, and that of its only argument.
    What was asked is the newest message of a person with at least three words besides stop words: after "Yes, go on.",
    the question before it is still the task. If there is no such message, it is the first question of the conversation.
    """
    words = next((one.text for one in reversed(before) if one.is_reply), "")
    task = next((one.text for one in before if one.is_question), "")
    typed = (one.text[:ASKED_CHARACTERS] for one in reversed(before) if one.is_typed)
    asked = next((text for text in typed if len(terms(text)) >= LEAST_ASKED), task)
    called_with = _ONLY_KEY.sub("", arguments or "")
    return "\n".join((called_with, words, asked[:ASKED_CHARACTERS]))


def _record_facts(message: Message, arguments: str | None) -> JsonObject:
    """Return the facts that are stored with a text: which tool call it came from, and whether it is an error."""
    facts: JsonObject = {
        "source": _storable(message.source),
        "call_id": _storable(message.answers) or None,
        "arguments": _storable(arguments),
        "is_error": message.is_error if message.is_result else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _storable(text: str | None) -> str | None:
    """Return *text* with NUL and lone surrogates escaped, which a JSON column refuses and a model may write."""
    if text is None:
        return None
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
