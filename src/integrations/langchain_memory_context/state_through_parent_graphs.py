"""What a middleware knows of a conversation, and what carries it from one model call to the next.

At top level that is the graph's private state. Where the agent is a node of a parent graph, private state is lost at
every turn: messages are all that such a graph shares with it. So what was decided for a model call rides on the answer
to it then, in its metadata, which no provider is sent. A parent takes new messages over, but neither their order nor
their removal, and of agents side by side the last one to write a message wins; so nothing else is edited there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, AnyMessage

from langchain_memory_context.messages import ids_of, neutral_of, noted_on, with_note
from memory_context.conversation.inserted_and_folded_messages import DecisionNote, as_shown
from memory_context.conversation.message import Message
from memory_context.conversation.nested_json import members_of

ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class CarriedConversation:
    """A conversation as its messages and the state tell it.

    Attributes:
        held: The messages as they stand in the graph's state.
        messages: The messages as a model sees them: with what was put there, without what was compacted.
        seen: How many of them the model has seen.
        note: What was decided so far.
    """

    held: list[Message]
    messages: list[Message]
    seen: int
    note: DecisionNote


def carried_by(
    messages: Sequence[AnyMessage], private: object, name: str, agent: str, user_id: str
) -> CarriedConversation:
    """Return the conversation of the middleware *name* in the agent at *agent*, the path of its nodes.

    What was noted in other agents says only whose conversation it is.

    Args:
        messages: The messages of the graph's state.
        private: What its private state holds.
        name: The name of the middleware.
        agent: The names of the nodes that the agent is in; "" at top level.
        user_id: Whose conversation it must be.

    Raises:
        StateOwnerError: It belongs to another user.
    """
    note = DecisionNote.from_json(private)
    answered = [i for i, message in enumerate(messages) if isinstance(message, AIMessage)]
    last_answer = answered[-1] if note and answered else None
    note = note or DecisionNote()
    note.facts.check_owner(user_id)
    for index in answered:
        for place, carried in _notes_on(messages[index]):
            if place.partition("@")[0] == name:
                carried.facts.check_owner(user_id)
            if place == f"{name}@{agent}":
                note, last_answer = carried.after(note), index
    # The middleware's name may have an @ in it.
    note.facts.check_owner(user_id)
    held = [neutral_of(*pair) for pair in zip(messages, ids_of(messages), strict=True)]
    shown, seen = as_shown(held, note, last_answer)
    return CarriedConversation(held, shown, seen, note)


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
    for place, value in members_of(noted_on(message).get(ANSWERS)).items():
        note = DecisionNote.from_json(value)
        if note is not None:
            yield place, note
