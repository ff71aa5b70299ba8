"""`ConversationMemory`: a window over the turns of each session, in the process or in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import STORES
from examples import examples
from memory_context import ConversationMemory, MemoryManager, SQLAlchemyStore
from memory_context.conversation.retrieved_lines import lines_shown
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidContentError,
    InvalidScopeError,
    MemoryDeletedError,
)
from memory_context.memory.chat_history import ChatTurn, window

START = datetime(2026, 1, 1, tzinfo=UTC)
Open: TypeAlias = Callable[..., ConversationMemory]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        """This moment."""
        return self.moment

    def wait(self, seconds: float) -> None:
        """Move on."""
        self.moment += timedelta(seconds=seconds)


@pytest.fixture(params=["process", *STORES])
def opened(request: pytest.FixtureRequest) -> Iterator[Open]:
    """What opens conversations: in this process, or on one store of each kind."""
    if request.param == "process":
        yield ConversationMemory
        return
    fixtures = {"file": "sqlite_url", "postgresql": "postgres_url"}
    url = (
        "sqlite://"
        if request.param == "memory"
        else str(request.getfixturevalue(fixtures[request.param]))
    )
    with MemoryManager(url, user_id="42") as manager:
        yield lambda *args, **settings: ConversationMemory(*args, manager=manager, **settings)


def said(conversation: ConversationMemory, session: str = "t") -> list[tuple[str, str]]:
    """The turns, without what else they hold."""
    return [(turn.role, turn.text) for turn in conversation.get_turns(session)]


def test_turns_come_back_in_order(opened: Open) -> None:
    """The newest 50 turns come back in the order in which they were added, equal ones too."""
    conversation = opened()
    for number in range(30):
        turn = conversation.add_turn("t", "human", f"question {number}", {"n": number})
        conversation.add_turn("t", "ai", "yes")

    turns = conversation.get_turns("t")
    assert [f"question {number}" for number in range(5, 30)] == [turn.text for turn in turns[::2]]
    assert ["yes"] * 25 == [turn.text for turn in turns[1::2]]
    assert turn == turns[-2]
    assert {"n": 29} == turns[-2].data
    assert [] == conversation.get_turns("another")


def test_snapshots(opened: Open) -> None:
    """What came back does not change with the session, nor the session with what came back or was given."""
    conversation = opened()
    data: dict[str, Any] = {"calls": ["one"]}
    conversation.add_turn("t", "human", "hi", data)
    turns = conversation.get_turns("t")
    data["calls"].append("two")
    turns[0].data["calls"].append("three")
    conversation.add_turn("t", "ai", "hello")

    assert 1 == len(turns)
    turns.clear()
    assert [{"calls": ["one"]}, {}] == [dict(turn.data) for turn in conversation.get_turns("t")]


def test_idle_sessions_begin_anew(opened: Open) -> None:
    """An hour without a turn ends a session; one that went on is there, and so is what came after the silence."""
    clock = Clock()
    conversation = opened(clock=clock)
    for session in "ab":
        conversation.add_turn(session, "human", "one")
    clock.wait(1800)
    conversation.add_turn("b", "human", "two")
    clock.wait(1800)
    assert ([("human", "one")], 2) == (said(conversation, "a"), len(said(conversation, "b")))

    clock.wait(1)
    assert ([], 2) == (said(conversation, "a"), len(said(conversation, "b")))
    conversation.add_turn("a", "human", "three")
    assert [("human", "three")] == said(conversation, "a")


def test_a_store_loses_nothing(store_url: str) -> None:
    """Neither window nor timeout delete what is stored: a wider memory finds all of it; clear deletes it."""
    clock = Clock()
    with MemoryManager(store_url, user_id="42") as manager:
        conversation = ConversationMemory(3, 60, manager=manager, clock=clock)
        for number in range(10):
            conversation.add_turns(
                "t", [ChatTurn("human", f"{number}?"), ChatTurn("ai", f"{number}!")]
            )
        clock.wait(61)
        assert [] == conversation.get_turns("t")

        all_of_it = ConversationMemory(None, None, manager=manager)
        turns = all_of_it.get_turns("t")
        assert [f"{number}?" for number in range(10)] == [turn.text for turn in turns[::2]]
        assert turns[-1].key == turns[-2].key != turns[-3].key
        assert '["9?", "9!"]' == manager.retrieve(turns[-1].key, path="$[*].text")
        assert 20 == all_of_it.clear("t")
        assert [] == all_of_it.get_turns("t")


def test_a_key_is_never_given_twice(store_url: str) -> None:
    """A reference to a deleted turn says so, however the session goes on."""
    with MemoryManager(store_url, user_id="42") as manager:
        conversation = ConversationMemory(None, None, manager=manager)
        deleted = [conversation.add_turn("t", "human", f"{number}").key for number in range(9)]
        conversation.clear("t")
        deleted.append(conversation.add_turn("t", "human", "nine").key)
        manager.forget(deleted[-1])
        kept = [conversation.add_turn("t", "human", text).key for text in ("ten", "eleven")]

        assert 12 == len({*deleted, *kept})
        assert [("human", "ten"), ("human", "eleven")] == said(conversation)
        for key in deleted:
            with pytest.raises(MemoryDeletedError):
                manager.retrieve(key)


@pytest.mark.long
def test_a_session_may_be_cleared_again_and_again(store_url: str) -> None:
    """Its keys do not grow with that: a chat under one id begins anew each day."""
    with MemoryManager(store_url, user_id="42") as manager:
        conversation = ConversationMemory(None, None, manager=manager)
        for number in range(60):
            key = conversation.add_turn("t", "human", "hi").key
            conversation.clear("t")
            assert number <= int(str(key).rpartition("_")[2]) < 2 * (number + 1)


def test_other_memories_of_a_session_are_no_turns(store_url: str) -> None:
    """A memory that a caller keeps in a session's tier, under any key, is not one of its turns."""
    with MemoryManager(store_url, user_id="42") as manager:
        memory = ConversationMemory(manager=manager)
        for key in ("zzz", "zzz_9999999999", "aaa"):
            manager.store("mine", key=key, tier="conversation", tier_id=key)
            memory.add_turn(key, "human", "first")
            turn = memory.add_turn(key, "ai", "second")
            assert turn.key.endswith("_0000000001")
            assert ["first", "second"] == [turn.text for turn in memory.get_turns(key)]


def test_what_was_recalled_comes_back_in_its_place(opened: Open) -> None:
    """With the turns around it, in their order, whatever stands in it; `clear` counts it."""
    conversation = opened()
    notes = [ChatTurn("human", f"note {end}", {"n": 1}, is_recalled=True) for end in "a\0\ud800"]
    turns = [
        notes[0], ChatTurn("human", "one"), notes[1], ChatTurn("ai", "two"), *notes,
    ]  # fmt: skip
    conversation.add_turns("t", turns)
    conversation.add_turns("t", notes[:1])

    back = conversation.get_turns("t")
    told = [turn.text.replace("\ufffd", "\ud800") for turn in back]
    assert [turn.text for turn in [*turns, notes[0]]] == told
    assert [turn.is_recalled for turn in [*turns, notes[0]]] == [turn.is_recalled for turn in back]
    assert {"n": 1} == back[0].data
    assert 8 == conversation.clear("t")


def test_what_was_recalled_is_not_searched(store_url: str) -> None:
    """It is no content and no description, and search does not find it, in a file that a person spoiled either."""
    with MemoryManager(store_url, user_id="42") as manager:
        conversation = ConversationMemory(manager=manager)
        [turn, _] = conversation.add_turns(
            "t", [ChatTurn("human", "rosemary", is_recalled=True), ChatTurn("human", "basil")]
        )
        assert ("basil", []) == (manager.get(turn.key).summary, manager.search("rosemary"))

        item = manager.get(turn.key)
        manager.memory_store.put(
            manager.scope, replace(item, content_metadata={"recalled": [1]}), replaces=item
        )
        assert ["basil"] == [turn.text for turn in conversation.get_turns("t")]


def test_sessions_and_users_are_apart(store_url: str) -> None:
    """Neither another session nor another user sees a turn, and clearing one leaves the others."""
    store = SQLAlchemyStore(store_url)
    manager = MemoryManager(store, user_id="42")
    mine = ConversationMemory(manager=manager)
    theirs = ConversationMemory(manager=MemoryManager(store, user_id="43"))
    mine.add_turn("a", "human", "one")
    mine.add_turn("b", "human", "two")
    theirs.add_turn("a", "human", "three")
    key = manager.store("a note")

    assert 1 == mine.clear("a")
    assert ([], [("human", "two")], [("human", "three")]) == (
        said(mine, "a"),
        said(mine, "b"),
        said(theirs, "a"),
    )
    assert "a note" == manager.retrieve(key)
    mine.add_turn("a", "human", "again")
    assert [("human", "again")] == said(ConversationMemory(manager=manager), "a")
    store.close()


def test_clear(opened: Open) -> None:
    """Clearing tells how many turns there were; of an unknown session none."""
    conversation = opened(5)
    conversation.add_turns("t", [ChatTurn("human", "hi"), ChatTurn("ai", "hello")])

    assert (2, 0, []) == (
        conversation.clear("t"),
        conversation.clear("t"),
        conversation.get_turns("t"),
    )


@pytest.mark.long
def test_threads_add_side_by_side(opened: Open) -> None:
    """What several threads add at once is all there, each pair side by side, each thread's in its order."""

    def work(name: int) -> None:
        conversation = opened(None) if opened is not ConversationMemory else shared
        for number in range(10):
            conversation.add_turns(
                "t", [ChatTurn("human", f"{name} {number}"), ChatTurn("ai", f"{name} {number}")]
            )
            conversation.get_turns("t")

    shared = opened(None)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    turns = said(shared)

    assert 120 == len(turns)
    assert all(human[1] == ai[1] for human, ai in zip(turns[::2], turns[1::2], strict=True))
    for name in range(6):
        assert [f"{name} {n}" for n in range(10)] == [
            t for _, t in turns[::2] if t.startswith(f"{name} ")
        ]


def test_equal_additions_of_two_writers_are_two() -> None:
    """Two writers that say the same at the same moment have both said it."""
    store = SQLAlchemyStore("sqlite://")
    with ThreadPoolExecutor(4) as threads:
        conversations = [
            ConversationMemory(manager=MemoryManager(store, user_id="42")) for _ in range(8)
        ]
        list(threads.map(lambda one: one.add_turn("t", "human", "hi"), conversations))

    assert [("human", "hi")] * 8 == said(conversations[0])


@examples(60)
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=40)), min_size=1, max_size=4))
def test_every_text_comes_back(turns: list[tuple[str, str]]) -> None:
    """Any text comes back as it was, with line breaks, NUL bytes and lone surrogates."""
    for conversation in (
        ConversationMemory(),
        ConversationMemory(manager=MemoryManager("sqlite://", user_id="42")),
    ):
        conversation.add_turns("t", [ChatTurn(role, text) for role, text in turns])
        assert turns == said(conversation)


@given(
    st.lists(st.tuples(st.sampled_from(["human", "ai", "tool"]), st.integers(0, 100)), max_size=20),
    st.none() | st.integers(1, 8),
    st.none() | st.integers(1, 50),
)
def test_windows(steps: list[tuple[str, int]], most: int | None, idle: int | None) -> None:
    """A window is the end of the turns, not longer than it may be, without a silence, and begins with no tool."""
    clock, turns = Clock(), list[ChatTurn]()
    for role, pause in steps:
        clock.wait(pause)
        turns.append(ChatTurn(role, str(len(turns)), at=clock.moment))

    silence = None if idle is None else timedelta(seconds=idle)
    found = window(turns, most, silence, clock.moment)

    assert found == turns[len(turns) - len(found) :]
    assert most is None or len(found) <= most
    times = [turn.at or START for turn in found]
    assert silence is None or all(later - before <= silence for before, later in pairwise(times))
    assert found == turns or not found or found[0].role != "tool"
    if most is None and silence is None:
        assert found == turns


def test_wrong_values(opened: Open) -> None:
    """No turns leave nothing; sessions without a name, data that is no JSON and empty windows are refused."""
    conversation = opened()

    assert [] == conversation.add_turns("t", []) == conversation.get_turns("t")
    for wrong in (" ", ""):
        with pytest.raises(InvalidScopeError):
            conversation.add_turn(wrong, "human", "hi")
        with pytest.raises(InvalidScopeError):
            conversation.get_turns(wrong)
    with pytest.raises(InvalidContentError):
        conversation.add_turn("t", "human", "hi", {"x": object()})
    assert [] == conversation.get_turns("t")
    for limits in ({"max_turns": 0}, {"idle_timeout": 0}, {"idle_timeout": -1}):
        with pytest.raises(InvalidArgumentError, match="|".join(limits)):
            opened(**limits)


def test_forged_lines_of_an_answer() -> None:
    """Numbers that no text has lines for are none that an answer shows."""
    shown = f"[MemoryRef: log - a log - 9 tokens]\nlines 1-{'9' * 5_000} of 9"

    assert [] == list(lines_shown(shown))
