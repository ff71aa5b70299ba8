"""Record the decisions on a conversation's prompts as data, for hosts that keep their own messages unchanged.

A host *holds* messages; a prompt *shows* them with some texts folded, some messages inserted and some replaced. A
`DecisionNote` records the difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.conversation.message import (
    Edits,
    FunctionCall,
    Message,
    MessageFacts,
    own_message,
)
from memory_context.model.json_object import JsonObject


@dataclass(frozen=True, slots=True)
class InsertedMessage:
    """A message that this library has put into a prompt.

    Attributes:
        id: Its id.
        before: The id of the message that it stands before.
        text: Its text.
        facts: The facts known about it.
    """

    id: str
    before: str
    text: str
    facts: MessageFacts

    @property
    def message(self) -> Message:
        """Return it as the prompt contains it."""
        return own_message(self.id, self.text, self.facts)


@dataclass(frozen=True, slots=True)
class FoldedMessage:
    """The parts of a message that a prompt shows differently from how the host holds it.

    Attributes:
        texts: The texts that differ, by their places.
        facts: The facts known about the message.
        calls: Its calls, if they differ; else empty.
    """

    texts: Mapping[int, str]
    facts: MessageFacts
    calls: tuple[FunctionCall, ...] = ()

    def instead_of(self, message: Message) -> Message:
        """Return *message* as the prompt shows it."""
        shown = message.with_texts(self.texts, self.facts)
        return replace(shown, calls=self.calls or shown.calls).with_facts_in_it()


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """All decisions on a conversation's prompts, in a form that can be saved.

    Attributes:
        facts: What is known of the conversation beyond its messages.
        inserted: The messages that were put into the prompts.
        folded: The messages that are shown differently from the host's, by their ids.
    """

    facts: ConversationFacts = field(default_factory=ConversationFacts)
    inserted: tuple[InsertedMessage, ...] = ()
    folded: Mapping[str, FoldedMessage] = field(default_factory=dict[str, FoldedMessage])

    def to_json(self) -> JsonObject:
        """Return the note in JSON's own types, which every checkpointer takes."""
        note: JsonObject = _NOTE.dump_python(self, mode="json", exclude_defaults=True)
        return note

    @staticmethod
    def from_json(value: object) -> DecisionNote | None:
        """Return the note that `to_json` turned into *value*; None for any other value, whoever it comes from."""
        try:
            return _NOTE.validate_python(value)
        except ValidationError:
            return None

    def after(self, earlier: DecisionNote) -> DecisionNote:
        """Return this note merged with an earlier one. Text that two parallel agents brought back is kept once.

        A message may have another place in this note, if the message that it stood before has left the conversation.
        """
        by_id = {one.id: one for one in (*earlier.inserted, *self.inserted)}
        inserted = dict[tuple[str, str], InsertedMessage]()
        for one in by_id.values():
            inserted[one.before, one.text] = one
        folded = {**earlier.folded, **self.folded}
        trusted = dict.fromkeys((*earlier.facts.trusted, *self.facts.trusted))
        facts = replace(self.facts, trusted=tuple(trusted))
        return DecisionNote(facts, tuple(inserted.values()), folded)


_NOTE = TypeAdapter(DecisionNote)
# The order of messages inserted before the same message, by kind; all other kinds follow.
_ORDER = {"layer": 0, "compaction": 1}


def as_shown(
    held: Sequence[Message], note: DecisionNote, first_unseen: int | None
) -> tuple[list[Message], int]:
    """Return the messages as a model sees them, and how many of them it has seen.

    Args:
        held: The messages as the host holds them.
        note: The decisions so far.
        first_unseen: The index of the first message in *held* that no model has seen; None if a model has seen none.
    """
    replaced = set[str]()
    for one in note.inserted:
        replaced.update(one.facts.replaced)
    current = [one for one in note.inserted if one.id not in replaced]
    # A compaction may have ended at a message before which something had been recalled earlier.
    current.sort(key=lambda one: _ORDER.get(one.facts.kind, len(_ORDER)))
    inserted = defaultdict[str, list[Message]](list)
    for one in current:
        inserted[one.before].append(one.message)
    orphaned = _orphaned(current, held)
    shown = list[Message]()
    seen = 0
    for index, message in enumerate(held):
        if not message.is_system:
            shown += orphaned
            orphaned = []
        if index == first_unseen:
            seen = len(shown)
        shown += inserted.get(message.id, ())
        if message.id not in replaced:
            folded = note.folded.get(message.id)
            shown.append(folded.instead_of(message) if folded else message)
    if first_unseen == len(held):
        seen = len(shown)
    return shown, seen


def _orphaned(inserted: Sequence[InsertedMessage], held: Sequence[Message]) -> list[Message]:
    """Return the inserted messages that move to the beginning because the message that they stood before is gone.

    A host may put a summary in place of old messages. It does not cover what only prompts contained: the user layer,
    and the notes on compactions, without which nothing leads to the stored text. If the host holds neither an answer
    nor a summary, the thread begins anew, without them.
    """
    if not any(message.is_reply or message.is_summary for message in held):
        return []
    ids = {message.id for message in held}
    orphaned = [one for one in inserted if one.before not in ids]
    return [one.message for one in orphaned if one.facts.kind in _ORDER]


def note_of(facts: ConversationFacts, edits: Edits, held: Iterable[Message] = ()) -> DecisionNote:
    """Return the decisions behind *edits*, without the texts and calls that are the same in *held*."""
    held_by_id = {message.id: message for message in held}
    inserted = list[InsertedMessage]()
    for before, messages in edits.inserted.items():
        for one in messages:
            inserted.append(InsertedMessage(one.id, before, one.text, one.known))
    folded = dict[str, FoldedMessage]()
    for message_id, message in edits.changed.items():
        texts = message.texts
        calls = message.calls
        old = held_by_id.get(message_id)
        if old:
            texts = {place: text for place, text in texts.items() if old.texts.get(place) != text}
            if old.calls == calls:
                calls = ()
        folded[message_id] = FoldedMessage(texts, message.known, calls)
    return DecisionNote(facts, tuple(inserted), folded)
