"""What a middleware knows of a conversation, and what carries it from one model call to the next.

At top level that is the graph's private state. Where the agent is a node of a parent graph, private state is lost at
every turn: messages are all that such a graph shares with it. So what was decided for a model call rides on the answer
to it then, in its metadata, which no provider is sent. A parent takes new messages over, but neither their order nor
their removal, and of agents side by side the last one to write a message wins; so nothing else is edited there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import TypeAdapter, ValidationError

from langchain_memory_context.messages import ids_of, neutral_of, noted_on, with_note
from memory_context.conversation.conversation import ConversationFacts
from memory_context.conversation.message import (
    NO_FACTS,
    Edits,
    FunctionCall,
    Message,
    MessageFacts,
    own_message,
)

ANSWERS = "answers"


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
    """A message that this library shows otherwise than it stands in the graph's state.

    Attributes:
        texts: Its texts, by their places.
        facts: What is known of it.
        calls: Its calls.
    """

    texts: Mapping[int, str]
    facts: MessageFacts
    calls: tuple[FunctionCall, ...] = ()

    def instead_of(self, message: Message) -> Message:
        """Return *message* as it is shown."""
        return replace(message.with_texts(self.texts, self.facts), calls=self.calls)


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


@dataclass(frozen=True, slots=True)
class CarriedConversation:
    """A conversation as its messages and the state tell it.

    Attributes:
        held: The messages as they stand in the graph's state.
        messages: The messages as a model sees them: with what was put there, without what was compacted.
        seen: How many of them the model has seen.
        note: What was decided so far.
        owners: Whose conversation it is, as far as anybody has noted it.
    """

    held: list[Message]
    messages: list[Message]
    seen: int
    note: DecisionNote
    owners: frozenset[str]


def carried_by(
    messages: Sequence[AnyMessage], private: object, name: str, agent: str
) -> CarriedConversation:
    """Return the conversation of the middleware *name* in the agent at *agent*, the path of its nodes.

    What was noted in other agents says only whose conversation it is.

    Args:
        messages: The messages of the graph's state.
        private: What its private state holds.
        name: The name of the middleware.
        agent: The names of the nodes that the agent is in; "" at top level.
    """
    note = DecisionNote.from_json(private)
    answered = [i for i, message in enumerate(messages) if isinstance(message, AIMessage)]
    last_answer = answered[-1] if note and answered else None
    owners = set[str]()
    note = note or DecisionNote()
    for index in answered:
        for place, carried in _notes_on(messages[index]):
            if place.partition("@")[0] == name and carried.facts.user_id is not None:
                owners.add(carried.facts.user_id)
            if place == f"{name}@{agent}":
                note, last_answer = carried.after(note), index
    if note.facts.user_id is not None:
        owners.add(note.facts.user_id)
    held = [neutral_of(*pair) for pair in zip(messages, ids_of(messages), strict=True)]
    shown, seen = _as_shown(held, note, last_answer)
    return CarriedConversation(held, shown, seen, note, frozenset(owners))


def _as_shown(
    held: Sequence[Message], note: DecisionNote, last_answer: int | None
) -> tuple[list[Message], int]:
    """Return the messages as a model sees them, and how many of them stand before its last answer."""
    inserted = dict[str, list[Message]]()
    replaced = set[str]()
    for one in note.inserted:
        inserted.setdefault(one.before, []).append(own_message(one.id, one.text, one.facts))
        replaced.update(one.facts.replaced)
    orphaned = _orphaned(note, held)
    shown = list[Message]()
    seen = 0
    for index, message in enumerate(held):
        if message.role != "system":
            shown += [one for one in orphaned if one.id not in replaced]
            orphaned = []
        if index == last_answer:
            seen = len(shown)
        shown += [one for one in inserted.get(message.id, ()) if one.id not in replaced]
        if message.id not in replaced:
            folded = note.folded.get(message.id)
            shown.append(folded.instead_of(message) if folded else message)
    return shown, seen


def _orphaned(note: DecisionNote, held: Sequence[Message]) -> list[Message]:
    """Return what stays at the beginning although the message that it stood before has gone.

    A summary in place of messages does not say what stood beside them in prompts alone: the user's layer, and the notes
    on compactions, without which nothing leads to what is stored. Where nothing is left, a thread begins again.
    """
    if not any(message.role == "assistant" or message.is_summary for message in held):
        return []
    ids = {message.id for message in held}
    lost = [one for one in note.inserted if one.before not in ids]
    lasting = [one for one in lost if one.facts.kind in ("layer", "compaction")]
    return [own_message(one.id, one.text, one.facts) for one in lasting]


def note_of(facts: ConversationFacts, edits: Edits) -> DecisionNote:
    """Return all that was decided, as *edits* show it."""
    inserted = list[InsertedMessage]()
    for before, messages in edits.inserted.items():
        inserted += [InsertedMessage(one.id, before, one.text, one.known) for one in messages]
    folded = dict[str, FoldedMessage]()
    for message_id, message in edits.changed.items():
        if message.known != NO_FACTS:
            folded[message_id] = FoldedMessage(message.texts, message.known, message.calls)
    return DecisionNote(facts, tuple(inserted), folded)


def carrying(
    answer: AIMessage, name: str, agent: str, new: DecisionNote, carried: CarriedConversation
) -> AnyMessage:
    """Return *answer* with what is *new* in what was decided for it.

    A parent graph may keep the last answer of a turn alone: an answer without calls carries all that stands.
    """
    old = carried.note
    if answer.tool_calls:
        inserted = tuple(one for one in new.inserted if one not in old.inserted)
        folded = {key: one for key, one in new.folded.items() if one != old.folded.get(key)}
        trusted = [key for key in new.facts.trusted if key not in old.facts.trusted]
        facts = replace(new.facts, trusted=tuple(trusted))
        new = DecisionNote(facts, inserted, folded)
    answers = {place: note.to_json() for place, note in _notes_on(answer)}
    return with_note(answer, ANSWERS, {**answers, f"{name}@{agent}": new.to_json()})


def _notes_on(message: AnyMessage) -> Iterator[tuple[str, DecisionNote]]:
    """Yield the notes that an answer carries, each with the middleware and the agent that it is of."""
    answers = noted_on(message).get(ANSWERS)
    if isinstance(answers, Mapping):
        for place, value in cast("Mapping[str, object]", answers).items():
            note = DecisionNote.from_json(value)
            if note is not None:
                yield place, note
