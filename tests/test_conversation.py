"""`ConversationMemory`: the turns of a session in a store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_context import MemoryManager, SQLAlchemyStore
from memory_context.conversation import ConversationMemory, Turn
from memory_context.exceptions import InvalidScopeError


def said(conversation: ConversationMemory) -> list[tuple[str, str]]:
    """The turns, without what else they hold."""
    return [(turn.role, turn.text) for turn in conversation.turns()]


def test_turns_come_back_in_order(store_url: str) -> None:
    """Turns come back in the order in which they were appended, to whoever opens the session; equal ones too."""
    with MemoryManager(store_url, user_id="42") as manager:
        conversation = ConversationMemory(manager, "t")
        for number in range(12):
            conversation.append([Turn("human", f"question {number}", {"n": number}), Turn("ai", "yes")])

        turns = ConversationMemory(manager, "t").turns()
        assert [f"question {number}" for number in range(12)] == [turn.text for turn in turns[::2]]
        assert ["yes"] * 12 == [turn.text for turn in turns[1::2]]
        assert {"n": 11} == turns[-2].data
        assert turns[-4:] == conversation.turns(limit=2)
        assert turns[-1].key == turns[-2].key != turns[-3].key


def test_sessions_and_users_are_apart(store_url: str) -> None:
    """Neither another session nor another user sees a turn, and clearing one leaves the others."""
    store = SQLAlchemyStore(store_url)
    mine = MemoryManager(store, user_id="42")
    first, second = ConversationMemory(mine, "a"), ConversationMemory(mine, "b")
    theirs = ConversationMemory(MemoryManager(store, user_id="43"), "a")
    for conversation, text in ((first, "one"), (second, "two"), (theirs, "three")):
        conversation.append([Turn("human", text)])
    key = mine.store("a note")

    assert 1 == first.clear()
    assert ([], [("human", "two")], [("human", "three")]) == (said(first), said(second), said(theirs))
    assert "a note" == mine.retrieve(key)
    first.append([Turn("human", "again")])
    assert [("human", "again")] == said(first)
    store.close()


def test_threads_append_side_by_side(store_url: str) -> None:
    """What several threads append at once is all there, each pair side by side, each thread's in its order."""
    store = SQLAlchemyStore(store_url)

    def work(name: int) -> None:
        conversation = ConversationMemory(MemoryManager(store, user_id="42"), "t")
        for number in range(10):
            conversation.append([Turn("human", f"{name} {number}"), Turn("ai", f"{name} {number}")])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    turns = said(ConversationMemory(MemoryManager(store, user_id="42"), "t"))

    assert 120 == len(turns)
    assert all(human[1] == ai[1] for human, ai in zip(turns[::2], turns[1::2], strict=True))
    for name in range(6):
        assert [f"{name} {n}" for n in range(10)] == [t for _, t in turns[::2] if t.startswith(f"{name} ")]
    store.close()


def test_equal_appends_of_two_writers_are_two() -> None:
    """Two writers that say the same at the same moment have both said it."""
    store = SQLAlchemyStore("sqlite://")
    with ThreadPoolExecutor(4) as threads:
        conversations = [ConversationMemory(MemoryManager(store, user_id="42"), "t") for _ in range(8)]
        list(threads.map(lambda one: one.append([Turn("human", "hi")]), conversations))

    assert [("human", "hi")] * 8 == said(conversations[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=40)), min_size=1, max_size=4))
def test_every_text_comes_back(turns: list[tuple[str, str]]) -> None:
    """Any text comes back as it was, with line breaks, NUL bytes and lone surrogates."""
    conversation = ConversationMemory(MemoryManager("sqlite://", user_id="42"), "t")
    conversation.append([Turn(role, text) for role, text in turns])

    assert turns == said(conversation)


def test_nothing_is_appended_for_nothing() -> None:
    """No turns leave no record; a session without a name is refused."""
    manager = MemoryManager("sqlite://", user_id="42")

    assert ConversationMemory(manager, "t").append([]) is None
    assert 0 == manager.memory_store.count(manager.scope)
    with pytest.raises(InvalidScopeError):
        ConversationMemory(manager, " ")
