"""The walls between runs, sessions, plans, tasks and projects, against random work from all sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from examples import examples
from memory_context import MemoryManager, ScopedMemory, SQLAlchemyStore, TierPolicy
from memory_context.exceptions import (
    InvalidScopeError,
    InvalidTierError,
    KeyExistsError,
    MemoryDeletedError,
    MemoryNotFoundError,
)
from memory_context.tools.note_tools import GETTING, GetArgs
from memory_context.tools.retrieve_search_store import (
    RETRIEVING,
    SEARCHING,
    RetrieveArgs,
    SearchArgs,
)
from memory_context.tools.tool_calls_and_answers import MemoryToolError

TIERS = ("run", "plan", "session", "task", "project", "global")
LIVES = {"run": "run", "plan": "run", "session": "session", "task": "task", "project": "project"}
SIDES = [
    {"run_id": "1", "session_id": "1", "task_id": "1", "project_id": "1"},
    {"run_id": "2", "session_id": "1", "task_id": "1", "project_id": "2"},
    {"run_id": "3", "session_id": "2", "task_id": "2", "project_id": "1"},
    {"run_id": "1", "session_id": "1", "task_id": "2", "project_id": "3", "plan_id": "own"},
    {"session_id": "3", "project_id": "1"},
    {},
]
sides = st.integers(0, len(SIDES) - 1)
tiers = st.sampled_from(TIERS)
categories = st.sampled_from([None, "a", "a/b"])


@dataclass(frozen=True)
class Note:
    """What should be there."""

    tier: str
    tier_id: str | None
    word: str
    category: str | None


class Walls(RuleBasedStateMachine):
    """Six sides with some ids in common work on the notes of one user; each sees its own places, and nothing else."""

    keys = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        self.store = SQLAlchemyStore("sqlite://")
        everything = MemoryManager(self.store, user_id="ann")
        small = TierPolicy("project", max_items=100, lifetime="project", evict=0.1)
        self.sides = [ScopedMemory(everything, **ids, policies=[small]) for ids in SIDES]
        self.notes: dict[str, Note] = {}
        self.count = 0

    def teardown(self) -> None:
        """Look from every side once more, and give the database back."""
        for side in range(len(SIDES)):
            self.look(side)
        self.store.close()

    def place(self, side: int, tier: str) -> str | None:
        """Which place of a tier a side has open; None for none, and for global."""
        ids = SIDES[side]
        return (
            ids.get("plan_id") or ids.get("run_id")
            if tier == "plan"
            else ids.get(f"{LIVES.get(tier)}_id")
        )

    def is_open(self, side: int, tier: str) -> bool:
        """Whether a side can write there."""
        return tier == "global" or self.place(side, tier) is not None

    def sees(self, side: int, key: str) -> bool:
        """Whether a side may know of a note."""
        note = self.notes.get(key)
        return (
            note is not None
            and self.is_open(side, note.tier)
            and self.place(side, note.tier) == note.tier_id
        )

    def seen(self, side: int) -> set[str]:
        """The notes that a side may know of."""
        return {key for key in self.notes if self.sees(side, key)}

    @rule(target=keys, side=sides, tier=tiers, category=categories)
    def save(self, side: int, tier: str, category: str | None) -> str:
        """Save a note."""
        self.count += 1
        word = f"walrus{self.count}x"
        text = f"{word} the walrus"
        if not self.is_open(side, tier):
            with pytest.raises(InvalidTierError):
                self.sides[side].save(text, tier=tier)
            return "nothing"
        key = self.sides[side].save(text, category, [f"tag-{word}"], tier=tier)
        self.notes[key] = Note(tier, self.place(side, tier), word, category)
        return key

    @rule(side=sides, key=keys)
    def get(self, side: int, key: str) -> None:
        """Read by key, in every way."""
        memory, is_seen = self.sides[side], self.sees(side, key)

        assert is_seen is (memory.get(key) is not None)
        assert is_seen is bool(memory.manager.memory_store.get_many(memory.manager.scope, [key]))
        assert is_seen is bool(memory.manager.memory_store.touch(memory.manager.scope, [key]))
        if not is_seen:
            with pytest.raises(MemoryNotFoundError) as caught:
                memory.manager.retrieve(key)
            assert key not in self.notes or not isinstance(caught.value, MemoryDeletedError)
            with pytest.raises(MemoryToolError):
                RETRIEVING.answer(memory.manager, RetrieveArgs(key=key), 500)

    @rule(side=sides, key=keys)
    def update(self, side: int, key: str) -> None:
        """Change a note."""
        self.count += 1
        word = f"walrus{self.count}x"
        changed = self.sides[side].update(key, f"{word} the walrus")

        assert self.sees(side, key) is (changed is not None)
        if changed is not None:
            self.notes[key] = replace(self.notes[key], word=word)

    @rule(side=sides, key=keys, by_manager=st.booleans())
    def delete(self, side: int, key: str, by_manager: bool) -> None:
        """Delete a note."""
        memory, is_seen = self.sides[side], self.sees(side, key)

        assert is_seen is (memory.manager.forget(key) if by_manager else memory.delete(key))
        if is_seen:
            del self.notes[key]

    @rule(side=sides, key=keys, tier=tiers)
    def promote(self, side: int, key: str, tier: str) -> None:
        """Move a note."""
        memory = self.sides[side]
        note = self.notes.get(key)
        order = ("run", "session", "task", "project", "user")
        lives = {**LIVES, "global": "user"}
        is_wider = (
            note is not None
            and tier != note.tier
            and order.index(lives[tier]) >= order.index(lives[note.tier])
        )
        if not self.is_open(side, tier) or (self.sees(side, key) and not is_wider):
            with pytest.raises(InvalidTierError):
                memory.promote(key, tier)
            return
        moved = memory.promote(key, tier)
        assert self.sees(side, key) is (moved is not None)
        if moved is not None and note is not None:
            self.notes[key] = replace(note, tier=tier, tier_id=self.place(side, tier))

    @rule(side=sides, tier=tiers, category=categories)
    def clear(self, side: int, tier: str, category: str | None) -> None:
        """Clear a tier, or a category of it."""
        if not self.is_open(side, tier):
            return
        doomed = {
            key
            for key in self.seen(side)
            if self.notes[key].tier == tier
            and (category is None or f"{self.notes[key].category}/".startswith(f"{category}/"))
        }
        assert len(doomed) == self.sides[side].clear(category, tier=tier)
        self.notes = {key: note for key, note in self.notes.items() if key not in doomed}

    @rule(side=sides, lifetime=st.sampled_from(["run", "session", "task", "project"]))
    def end(self, side: int, lifetime: Any) -> None:
        """End what is open there."""
        doomed = {key for key in self.seen(side) if LIVES.get(self.notes[key].tier) == lifetime}
        assert len(doomed) == self.sides[side].end(lifetime)
        self.notes = {key: note for key, note in self.notes.items() if key not in doomed}

    @rule(side=sides, key=keys)
    def take_over(self, side: int, key: str) -> None:
        """Write under a key of somebody else, or into a place of somebody else."""
        note = self.notes.get(key)
        if note is None or self.sees(side, key):
            return
        manager = self.sides[side].manager
        with pytest.raises(KeyExistsError):
            manager.store("mine now", key=key, tier="global", replace=True)
        with pytest.raises(InvalidScopeError):
            manager.store("mine now", tier=note.tier, tier_id=note.tier_id)

    @rule(side=sides)
    def look(self, side: int) -> None:
        """Lists, searches, filters, counts, trees and tools' answers hold what a side may know of, and nothing else."""
        memory, seen = self.sides[side], self.seen(side)
        words = {self.notes[key].word for key in seen}
        others = {note.word for note in self.notes.values()} - words
        manager = memory.manager
        assert seen == {note.memory_key for note in memory.get()}
        assert seen == {note.memory_key for note in memory.get(filters={"user_id": "ann"})}
        assert seen == {note.memory_key for note in memory.search("walrus", 500)}
        assert seen == {note.memory_key for note in manager.search("", 500)}
        assert seen == {item.memory_key for item in manager.memory_store.list_all(manager.scope)}
        assert len(seen) == memory.count() == sum(one.total for one in memory.list_categories())
        assert [] == memory.get(tags=[f"tag-{word}" for word in others] or ["none"])
        read = GETTING.answer(memory, GetArgs(), 100_000).text
        found = SEARCHING.answer(manager, SearchArgs(query="walrus", limit=20), 100_000).text
        assert all(word in read for word in words)
        assert not any(word in read or word in found for word in others)


Walls.TestCase.settings = settings(examples(10, *HealthCheck), stateful_step_count=20)
TestWalls = Walls.TestCase
