"""What was decided for the prompts of a conversation, apart from the messages that its host holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from memory_context.conversation.conversation import ConversationFacts
from memory_context.conversation.message import (
    NO_FACTS,
    Edits,
    FunctionCall,
    Message,
    MessageFacts,
    own_message,
)


@dataclass(frozen=True, slots=True)
class InsertedMessage:
    """A message that this library has put into a prompt.

    Attributes:
        id: Its id.
        before: The id of the message that it stands before.
        text: Its text.
        facts: What is known of it.
    """

    id: str
    before: str
    text: str
    facts: MessageFacts


@dataclass(frozen=True, slots=True)
class FoldedMessage:
    """A message that this library shows otherwise than its host holds it.

    Attributes:
        texts: Its texts, by their places, as far as they differ.
        facts: What is known of it.
        calls: Its calls, if they differ.
    """

    texts: Mapping[int, str]
    facts: MessageFacts
    calls: tuple[FunctionCall, ...] = ()

    def instead_of(self, message: Message) -> Message:
        """Return *message* as it is shown."""
        calls = self.calls or message.calls
        return replace(message.with_texts(self.texts, self.facts), calls=calls)


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """What was decided for model calls, in a form that can be carried.

    Attributes:
        facts: What is known of the conversation beyond its messages.
        inserted: What was put into the prompts.
        folded: By their ids, the messages that are shown otherwise than they stand in the state.
    """

    facts: ConversationFacts = field(default_factory=ConversationFacts)
    inserted: tuple[InsertedMessage, ...] = ()
    folded: Mapping[str, FoldedMessage] = field(default_factory=dict[str, FoldedMessage])

    def to_json(self) -> dict[str, Any]:
        """Return the note in JSON's own types, which every checkpointer takes."""
        note: dict[str, Any] = _NOTE.dump_python(self, mode="json", exclude_defaults=True)
        return note

    @staticmethod
    def from_json(value: object) -> DecisionNote | None:
        """Return the note that `to_json` made *value* of; None for anything else, which anybody may have sent."""
        try:
            return _NOTE.validate_python(value)
        except ValidationError:
            return None

    def after(self, earlier: DecisionNote) -> DecisionNote:
        """Return this note with what an earlier one says besides; agents side by side may have brought back the same."""
        inserted = {(one.before, one.text): one for one in (*earlier.inserted, *self.inserted)}
        folded = {**earlier.folded, **self.folded}
        trusted = dict.fromkeys((*earlier.facts.trusted, *self.facts.trusted))
        facts = replace(self.facts, trusted=tuple(trusted))
        return DecisionNote(facts, tuple(inserted.values()), folded)


_NOTE = TypeAdapter(DecisionNote)


def as_shown(
    held: Sequence[Message], note: DecisionNote, first_unseen: int | None
) -> tuple[list[Message], int]:
    """Return the messages as a model sees them, and how many of them it has seen.

    Args:
        held: The messages as the host holds them.
        note: What was decided so far.
        first_unseen: The index of the first one of *held* that no model has seen; None if it has seen none.
    """
    replaced = {id_ for one in note.inserted for id_ in one.facts.replaced}
    standing = [one for one in note.inserted if one.id not in replaced]
    inserted = defaultdict[str, list[Message]](list)
    for one in standing:
        inserted[one.before].append(own_message(one.id, one.text, one.facts))
    orphaned = _orphaned(standing, held)
    shown = list[Message]()
    seen = 0
    for index, message in enumerate(held):
        if message.role != "system":
            shown += orphaned
            orphaned = []
        if index == first_unseen:
            seen = len(shown)
        shown += inserted[message.id]
        if message.id not in replaced:
            folded = note.folded.get(message.id)
            shown.append(folded.instead_of(message) if folded else message)
    return shown, len(shown) if first_unseen == len(held) else seen


def _orphaned(inserted: Sequence[InsertedMessage], held: Sequence[Message]) -> list[Message]:
    """Return what stays at the beginning although the message that it stood before has gone.

    A summary in place of messages does not say what stood beside them in prompts alone: the user's layer, and the notes
    on compactions, without which nothing leads to what is stored. Where nothing is left, a thread begins again.
    """
    if not any(message.role == "assistant" or message.is_summary for message in held):
        return []
    ids = {message.id for message in held}
    lost = [one for one in inserted if one.before not in ids]
    lasting = [one for one in lost if one.facts.kind in ("layer", "compaction")]
    return [own_message(one.id, one.text, one.facts) for one in lasting]


def note_of(facts: ConversationFacts, edits: Edits, held: Iterable[Message] = ()) -> DecisionNote:
    """Return all that was decided, as *edits* show it, without what *held* say already."""
    standing = {message.id: message for message in held}
    inserted = [
        InsertedMessage(one.id, before, one.text, one.known)
        for before, messages in edits.inserted.items()
        for one in messages
    ]
    folded = dict[str, FoldedMessage]()
    for message_id, message in edits.changed.items():
        if message.known == NO_FACTS:
            continue
        old = standing.get(message_id, replace(message, texts={}, calls=()))
        texts = {
            place: text for place, text in message.texts.items() if old.texts.get(place) != text
        }
        calls = () if old.calls == message.calls else message.calls
        folded[message_id] = FoldedMessage(texts, message.known, calls)
    return DecisionNote(facts, tuple(inserted), folded)
