"""Carry a middleware's decisions about a conversation from one model call to the next.

At top level, the graph's private state carries them. If the agent is a node of a parent graph, private state is lost at
every turn, since a parent graph shares only messages with the agent. Then the decisions for a model call are noted on
its answer, in metadata that is not sent to a provider. A parent takes over new messages, but neither their order nor
their removal, and if agents that run in parallel write the same message, the last one wins. So no other messages are
edited there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.config import get_config

from langchain_memory_context.messages import ids_of, neutral_of, noted_on, with_note
from memory_context.conversation.decisions_beside_messages import DecisionNote, as_shown
from memory_context.conversation.message import Message
from memory_context.model.json_object import elements_of, members_of

ANSWERS = "answers"

# The setting in which LangGraph hands a graph's checkpointer to the graphs that run in its nodes.
CHECKPOINTER = "__pregel_checkpointer"


class CarriedConversation(NamedTuple):
    """A conversation, as read from its messages and the graph's state.

    Attributes:
        in_state: The messages of the graph's state, by their ids.
        held: The same messages as the library's own.
        messages: The messages as a model sees them: with inserted messages, and without compacted ones.
        seen: How many of *messages* the model has seen.
        note: The decisions made so far.
    """

    in_state: dict[str, AnyMessage]
    held: list[Message]
    messages: list[Message]
    seen: int
    note: DecisionNote


def carried_by(
    messages: Sequence[AnyMessage], private: object, name: str, agent: str, user_id: str
) -> CarriedConversation:
    """Return the conversation of the middleware *name* in the agent at *agent*, the path of its nodes.

    Of notes that were made in other agents, only the user of the conversation is checked.

    Args:
        messages: The messages of the graph's state.
        private: The middleware's note in the graph's private state.
        name: The name of the middleware.
        agent: The names of the nodes that the agent is in; "" at top level.
        user_id: The user who must own the conversation.

    Raises:
        StateOwnerError: The conversation belongs to another user.
    """
    note = DecisionNote.from_json(private)
    answered = [i for i, message in enumerate(messages) if isinstance(message, AIMessage)]
    last_answer = None
    if note and answered:
        last_answer = answered[-1]
    note = note or DecisionNote()
    note.facts.check_owner(user_id)
    for index in answered:
        for place, carried in _notes_on(messages[index]):
            if place.startswith(f"{name}@"):
                carried.facts.check_owner(user_id)
            if place == f"{name}@{agent}":
                note = carried.after(note)
                last_answer = index
    ids = ids_of(messages)
    held = list(map(neutral_of, messages, ids))
    shown, seen = as_shown(held, note, last_answer)
    in_state = dict(zip(ids, messages, strict=True))
    return CarriedConversation(in_state, held, shown, seen, note)


def graphs_around() -> Iterator[tuple[BaseCheckpointSaver[Any], RunnableConfig]]:
    """Yield the checkpointer of each graph that the running node is in, and a config for the newest checkpoint there.

    LangGraph may not have saved the checkpoint of the running step yet.
    """
    settings = get_config().get("configurable", {})
    saver = settings.get(CHECKPOINTER)
    thread = settings.get("thread_id")
    if isinstance(saver, BaseCheckpointSaver):
        for graph in settings.get("checkpoint_map", ()):
            yield saver, {"configurable": {"thread_id": thread, "checkpoint_ns": graph}}


def check_owner_of(saved: CheckpointTuple | None, name: str, user_id: str) -> None:
    """Check that no answer in a saved state was made for another user by the middleware *name*.

    Raises:
        StateOwnerError: The conversation belongs to another user.
    """
    if not saved:
        return
    # A state keeps messages under any name, in a list or alone.
    for value in saved.checkpoint["channel_values"].values():
        for message in (value, *elements_of(value)):
            if not isinstance(message, AIMessage):
                continue
            for place, carried in _notes_on(message):
                if place.startswith(f"{name}@"):
                    carried.facts.check_owner(user_id)


def carrying(
    answer: AIMessage, name: str, agent: str, new: DecisionNote, carried: CarriedConversation
) -> AnyMessage:
    """Return *answer* with the decisions of its model call noted on it.

    An answer with tool calls gets only those that are not in *carried* yet. A parent graph may keep only the last answer
    of a turn, so an answer without tool calls gets all of them.
    """
    if answer.tool_calls:
        old = carried.note
        inserted = tuple(one for one in new.inserted if one not in old.inserted)
        folded = {key: one for key, one in new.folded.items() if one != old.folded.get(key)}
        trusted = tuple(key for key in new.facts.trusted if key not in old.facts.trusted)
        new = DecisionNote(replace(new.facts, trusted=trusted), inserted, folded)
    answers = {place: note.to_json() for place, note in _notes_on(answer)}
    answers[f"{name}@{agent}"] = new.to_json()
    return with_note(answer, ANSWERS, answers)


def _notes_on(message: AnyMessage) -> Iterator[tuple[str, DecisionNote]]:
    """Yield the notes on an answer, each with the ``MIDDLEWARE@AGENT`` that made it."""
    noted = members_of(noted_on(message).get(ANSWERS))
    for place, value in noted.items():
        note = DecisionNote.from_json(value)
        if note:
            yield place, note
