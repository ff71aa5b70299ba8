"""ScopedMemory: notes in tiers, their limits, their lives, and the walls between them."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from for_each import for_each
from memory_context import MemoryManager, ScopedMemory, TierPolicy
from memory_context.exceptions import (
    DeclinedError,
    InvalidArgumentError,
    InvalidCategoryError,
    InvalidContentError,
    InvalidKeyError,
    InvalidScopeError,
    InvalidTierError,
    MemoryDeletedError,
    TierFullError,
)
from memory_context.model.tiers_and_limits import (
    GLOBAL,
    PROJECT,
    SESSION,
    Confirmation,
    Lifetime,
    Room,
)
from memory_context.stores import MemoryStore, SQLAlchemyStore
from patient import PATIENT

IDS: dict[str, Any] = {"run_id": "r1", "session_id": "s1", "task_id": "t1", "project_id": "p1"}
TIERS = ("run", "plan", "session", "task", "project", "global")


@pytest.fixture
def store(store_url: str) -> Iterator[MemoryStore]:
    """An empty store."""
    with SQLAlchemyStore(store_url) as store:
        yield store


@pytest.fixture
def manager(store: MemoryStore) -> MemoryManager:
    """All memories of ann."""
    return MemoryManager(store, user_id="ann")


@pytest.fixture
def memory(manager: MemoryManager) -> ScopedMemory:
    """Notes of ann, with every tier open."""
    return ScopedMemory(manager, **IDS)


def quick(**settings: Any) -> ScopedMemory:
    """Notes in a database in memory."""
    return ScopedMemory("sqlite://", user_id="ann", **{**IDS, **settings})


@for_each("tier", TIERS)
def test_save_and_get(memory: ScopedMemory, tier: str) -> None:
    """A note comes back as it was saved, and each reading is counted."""
    key = memory.save("use tabs", "style/code", ["tabs"], {"by": "ann"}, priority=8, tier=tier)

    note = memory.get(key)

    assert note is not None
    assert ("use tabs", "style/code", ("tabs",), {"by": "ann"}) == (
        note.content, note.category, note.tags, note.content_metadata,
    )  # fmt: skip
    assert (tier, 0.8, "note", "use tabs", 1) == (
        note.tier, note.importance, note.memory_type, note.summary, note.access_count,
    )  # fmt: skip
    again = memory.get(key, tier=tier)
    assert again is not None
    assert 2 == again.access_count
    assert [3] == [note.access_count for note in memory.get(tier=tier)]


def test_get_by_category_tags_and_filters(memory: ScopedMemory) -> None:
    """Notes are chosen by category and below, by any of some tags, and by columns, newest first."""
    for text, category, tags in (
        ("one", "a", ["x"]),
        ("two", "a/b", ["y"]),
        ("three", "ab", ["x", "y"]),
    ):
        memory.save(text, category, tags, priority=len(text))

    def texts(**narrow: Any) -> list[str]:
        return [note.text for note in memory.get(**narrow)]

    assert ["three", "two", "one"] == texts()
    assert ["two", "one"] == texts(category="a")
    assert ["three", "one"] == texts(tags="x")
    assert ["three", "two"] == texts(tags=["y", "z"], limit=5)
    assert ["three"] == texts(filters={"importance": {"$gt": 0.4}})
    assert ["two"] == texts(category="a", tags=["y"], tier="session")
    assert [] == texts(tier="run")
    with pytest.raises(InvalidArgumentError, match="category, tier is an argument of its own"):
        texts(category="a", filters={"category": "b", "tier": "run"})


def test_what_is_missing(memory: ScopedMemory) -> None:
    """Missing is None or an empty list, and deleting what is not there is no error."""
    assert memory.get("nothing") is None
    assert [] == memory.get(category="nothing")
    assert [] == memory.search("nothing")
    assert memory.update("nothing", "else") is None
    assert memory.promote("nothing", "global") is None
    assert memory.delete("nothing") is False
    assert 0 == memory.clear(tier="task")
    assert ([], 0, 0, []) == (
        memory.list_categories(),
        memory.count(),
        memory.size(),
        memory.evicted(),
    )
    with pytest.raises(InvalidKeyError):
        memory.get("no key")


@for_each(
    "wrong, error, said",
    [
        (
            {"tier": "nonsense"},
            InvalidTierError,
            "open tiers are run, plan, session, task, project, global",
        ),
        ({"tier": "detail"}, InvalidTierError, "open tiers are run"),
        ({"content": " \n"}, InvalidContentError, "empty"),
        ({"content": b""}, InvalidContentError, "empty"),
        ({"content": {}}, InvalidContentError, "empty"),
        ({"content": None}, InvalidContentError, "empty"),
        ({"content": object()}, InvalidContentError, "text, bytes, a dict or a list"),
        ({"priority": 0}, InvalidArgumentError, "from 1 to 10"),
        ({"priority": 11}, InvalidArgumentError, "from 1 to 10"),
        ({"priority": 2.5}, InvalidArgumentError, "from 1 to 10"),
        ({"priority": True}, InvalidArgumentError, "from 1 to 10"),
        ({"category": "/etc"}, InvalidCategoryError, "letters, digits"),
        ({"category": "a/../b"}, InvalidCategoryError, "letters, digits"),
        ({"category": ".."}, InvalidCategoryError, "letters, digits"),
        ({"category": "a//b"}, InvalidCategoryError, "letters, digits"),
        ({"category": "a/"}, InvalidCategoryError, "letters, digits"),
        ({"category": "a b"}, InvalidCategoryError, "letters, digits"),
        ({"category": "c:\\x"}, InvalidCategoryError, "letters, digits"),
        ({"category": "a\n"}, InvalidCategoryError, "letters, digits"),
        ({"category": ""}, InvalidCategoryError, "letters, digits"),
        ({"category": "x" * 256}, InvalidCategoryError, "255"),
        ({"category": 7}, InvalidCategoryError, "letters, digits"),
        ({"tags": ["", "x"]}, InvalidArgumentError, "tag"),
        ({"metadata": {"x": object()}}, InvalidContentError, "JSON"),
        ({"content": "x" * 10_001}, TierFullError, "0 of 10,000 characters"),
    ],
)
def test_validation(wrong: dict[str, Any], error: type[Exception], said: str) -> None:
    """What is wrong is named, with the valid choices, and nothing is written."""
    memory = quick()

    with pytest.raises(error, match=said):
        memory.save(**{"content": "a note", **wrong})

    assert 0 == memory.manager.memory_store.count(memory.manager.scope)
    assert issubclass(InvalidCategoryError, ValueError)


@for_each("category", ["a", "project-context/rockets", "a_b/C-1/9", "präferenzen/日本"])
def test_categories(category: str) -> None:
    """Letters of any script, digits, - and _ with / between parts are a category."""
    memory = quick()

    assert category == memory.get(memory.save("x", category)).category  # type: ignore[union-attr]


def test_closed_tiers() -> None:
    """A tier without its id is closed, for reading and writing, and the message says which are open."""
    memory = ScopedMemory("sqlite://", user_id="ann", project_id="p")

    assert ["project", "global"] == memory.open_tiers
    for work in (
        lambda: memory.save("x", tier="task"),
        lambda: memory.get(tier="run"),
        lambda: memory.clear(tier="session"),
        lambda: memory.search("x", tier="plan"),
        lambda: memory.count("task"),
        lambda: memory.add_reasoning("x", "1"),
        lambda: memory.promote(memory.save("x", tier="project"), "task"),
    ):
        with pytest.raises(InvalidTierError, match="open tiers are project, global"):
            work()


def test_thread_is_the_session(manager: MemoryManager) -> None:
    """Without a session's id, the manager's thread is the session."""
    manager.thread_id = "t"
    key = ScopedMemory(manager).save("x")

    assert ("session", "t") == (manager.get(key).tier, manager.get(key).tier_id)


def test_update(memory: ScopedMemory) -> None:
    """An update changes what is given, keeps id, key and time, and is found by its new words only."""
    key = memory.save("the walrus", "a", ["x"], {"n": 1}, priority=3)
    before = memory.manager.get(key)

    after = memory.update(key, "the yak")

    assert after is not None
    changed = {
        "content",
        "summary",
        "token_count",
        "char_count",
        "content_hash",
        "updated_at",
        "line_count",
    }
    assert {
        name for name in MemoryFields if getattr(before, name) != getattr(after, name)
    } <= changed
    assert ("the yak", "the yak", 7) == (after.content, after.summary, after.char_count)
    assert [key] == [note.memory_key for note in memory.search("yak")]
    assert [] == memory.search("walrus")
    last = memory.update(key, category="", tags=["y"], metadata={}, priority=10)
    assert last is not None
    assert (None, ("y",), {}, 1.0, "the yak") == (
        last.category, last.tags, last.content_metadata, last.importance, last.content,
    )  # fmt: skip
    with pytest.raises(TierFullError):
        memory.update(key, "x" * 10_001)
    assert last == memory.manager.get(key)


MemoryFields = ("id", "memory_key", "created_at", "category", "tags", "importance", "content_metadata", "tier",
                "tier_id", "content", "summary", "token_count", "char_count", "content_hash", "updated_at",
                "line_count", "memory_type")  # fmt: skip


@pytest.mark.long
def test_updates_side_by_side(memory: ScopedMemory) -> None:
    """Four threads that change four sides of one note at once lose none of their changes."""
    changes: list[dict[str, Any]] = [
        {"content": "new"},
        {"tags": ["new"]},
        {"category": "new"},
        {"priority": 10},
    ]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            key = memory.save("x", tier="project")
            list(pool.map(lambda change, key=key: memory.update(key, **change), changes))

            note = memory.manager.get(key)
            assert ("new", ("new",), "new", 1.0) == (
                note.content,
                note.tags,
                note.category,
                note.importance,
            )


def test_delete_and_clear(memory: ScopedMemory) -> None:
    """Clearing deletes a category or tags of one tier and says how many; keys say when and why they are gone."""
    kept = memory.save("project", "a", ["x"], tier="project")
    keys = [memory.save(f"n{n}", category, tags) for n, (category, tags) in enumerate(
        (("a", ["x"]), ("a/b", ["y"]), ("c", ["x"]), ("c", []))
    )]  # fmt: skip

    assert memory.delete(keys[3])
    assert 2 == memory.clear("a", tier="session")
    assert 1 == memory.clear(tags=["x", "y"], tier="session")
    assert 0 == memory.clear(tier="session")

    with pytest.raises(MemoryDeletedError, match=r"deleted on 20\d\d-.* UTC \(cleared\)"):
        memory.manager.retrieve(keys[0])
    assert [kept] == [note.memory_key for note in memory.get()]


def test_categories_are_a_tree(memory: ScopedMemory) -> None:
    """The tree of categories has counts of each, and of all below it, over the open tiers or in one."""
    for category, tier in (
        ("a/b", "session"), ("a/b/c", "project"), ("a", "session"), ("ab", "run"), (None, "task"), ("a/b", "global"),
    ):  # fmt: skip
        memory.save("x", category, tier=tier)

    none, a, ab = memory.list_categories()

    assert [("", 1, 1), ("a", 1, 4), ("ab", 1, 1)] == [
        (one.path, one.count, one.total) for one in (none, a, ab)
    ]
    [b] = a.children
    assert ("b", "a/b", 2, 3) == (b.name, b.path, b.count, b.total)
    assert [("c", 1)] == [(one.name, one.total) for one in b.children]
    assert [("a", 2)] == [(one.path, one.total) for one in memory.list_categories("session")]


def test_count_and_size(memory: ScopedMemory) -> None:
    """Count is of notes and size of characters, in a tier, a category, or all open tiers."""
    memory.save("12345", "a")
    memory.save("123", "b", ["x"], tier="project")
    memory.manager.store("a folded output")

    assert (2, 8) == (memory.count(), memory.size())
    assert (1, 3) == (memory.count("project"), memory.size("project"))
    assert (1, 5) == (memory.count(category="a"), memory.size(category="a"))
    assert (1, 3) == (memory.count(tags="x"), memory.size(tags=["x"]))
    assert 15 == memory.size("detail")


def test_promote(memory: ScopedMemory) -> None:
    """A promoted note is the same record under the same key in its new tier, and in its old one no more."""
    key = memory.save("the walrus", tier="run")
    before = memory.manager.get(key)

    for tier in TIERS[1:]:
        moved = memory.promote(key, tier)
        assert moved is not None
        assert (before.id, key, tier) == (moved.id, moved.memory_key, moved.tier)
        assert 1 == memory.count()
    assert memory.get(key, tier="run") is None
    assert 0 == memory.end("run") + memory.end("task") + memory.end("project")
    assert [key] == [note.memory_key for note in memory.search("walrus", tier="global")]


def test_promote_and_expiry() -> None:
    """Promoting a note out of its run ends the seven days that `save` gave it; a date that was given stays."""
    memory = quick()
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    default = memory.save("x", tier="run")
    given = memory.save("y", tier="run", expires_at=tomorrow)

    in_plan = memory.promote(default, "plan")
    assert in_plan is not None
    assert in_plan.expires_at is not None  # the plan ends with the run
    for key, expected in ((default, None), (given, tomorrow)):
        moved = memory.promote(key, "session")
        assert moved is not None
        assert expected == moved.expires_at


@for_each(
    "source, to, said",
    [
        ("global", "run", "wider are none"),
        ("task", "session", "wider are project, global"),
        ("session", "session", "wider are task, project, global"),
        ("session", "detail", "there is no tier 'detail'"),
        ("project", "nonsense", "there is no tier 'nonsense'"),
    ],
)
def test_promote_to_a_narrower_tier(source: str, to: str, said: str) -> None:
    """A note is not promoted to what lives shorter, and the message names the wider tiers."""
    memory = quick()
    key = memory.save("x", tier=source)

    with pytest.raises(InvalidTierError, match=said):
        memory.promote(key, to)

    assert source == memory.manager.get(key).tier


def test_promote_into_a_full_tier(manager: MemoryManager) -> None:
    """The room of the target is checked; where there is none, the note stays where it is."""
    memory = ScopedMemory(manager, **IDS, policies=[replace(SESSION, max_items=1)])
    memory.save("first")
    key = memory.save("second", tier="run")

    with pytest.raises(TierFullError, match="1 of 1 items"):
        memory.promote(key, "session")

    assert "run" == memory.manager.get(key).tier


def test_promote_a_folded_output(memory: ScopedMemory) -> None:
    """A folded output becomes a note under its key; the same content that is folded again is a record of its own."""
    key = memory.manager.store("a log", type="tool_output", source="npm")

    moved = memory.promote(key, "task")
    again = memory.manager.store("a log", type="tool_output", source="npm")

    assert moved is not None
    assert (key, "task", "t1", None) == (
        moved.memory_key,
        moved.tier,
        moved.tier_id,
        moved.identity,
    )
    assert again != key
    assert 1 == memory.end("task")
    assert "a log" == memory.manager.retrieve(again)


def test_notes_only(memory: ScopedMemory) -> None:
    """A folded output is read by its key, and neither changed nor deleted as a note."""
    key = memory.manager.store("a log")

    assert "a log" == memory.get(key).content  # type: ignore[union-attr]
    assert [] == memory.get()
    assert memory.get(key, tier="session") is None
    assert [key] == [one.memory_key for one in memory.get(tier="detail")]
    for change in (lambda: memory.update(key, "x"), lambda: memory.delete(key)):
        with pytest.raises(InvalidTierError, match="notes are in run, plan"):
            change()


ENDINGS: dict[Lifetime, set[str]] = {
    "run": {"run", "plan"}, "session": {"session"}, "task": {"task"}, "project": {"project"},
}  # fmt: skip


@pytest.mark.parametrize(("lifetime", "gone"), ENDINGS.items(), ids=ENDINGS)
def test_lives(memory: ScopedMemory, lifetime: Lifetime, gone: set[str]) -> None:
    """What ends with a run, a session, a task or a project goes with it, and says so under its key."""
    keys = {tier: memory.save("x", tier=tier) for tier in TIERS}

    assert len(gone) == memory.end(lifetime)

    assert set(TIERS) - gone == {note.tier for note in memory.get()}
    with pytest.raises(MemoryDeletedError, match=f"its {lifetime} ended"):
        memory.manager.get(keys[lifetime])
    with pytest.raises(InvalidTierError):
        memory.end("user")


@pytest.mark.parametrize(
    ("lifetime", "other"), [("run", {"run_id": "r2"}), ("session", {"session_id": "s2"})]
)
def test_plan_lives_as_configured(
    manager: MemoryManager, lifetime: Lifetime, other: dict[str, str]
) -> None:
    """A plan belongs to the run or to the session, by its policy, and ends with it; an id tells plans apart."""
    policies = [TierPolicy("plan", 10_000, lifetime=lifetime)]
    memory = ScopedMemory(manager, **IDS, policies=policies)
    key = memory.save("1. look", tier="plan")

    assert ScopedMemory(manager, **{**IDS, "task_id": "t2"}, policies=policies).get(key) is not None
    assert ScopedMemory(manager, **{**IDS, **other}, policies=policies).get(key) is None
    assert ScopedMemory(manager, **IDS, plan_id="second", policies=policies).get(key) is None
    assert 1 == memory.end(lifetime)


def test_eviction(memory: ScopedMemory, caplog: pytest.LogCaptureFixture) -> None:
    """A full project evicts the least important tenth, oldest first: logged, counted, listed, still there by key."""
    policies = [replace(PROJECT, max_items=20)]
    memory = ScopedMemory(memory.manager, **IDS, policies=policies)
    keys = [memory.save(f"note {n}", tier="project", priority=1 + n % 4) for n in range(20)]

    with caplog.at_level(logging.INFO, "memory_context"):
        last = memory.save("the 21st", tier="project", priority=1)

    assert keys[0] in caplog.text
    assert [keys[4], keys[0]] == [note.memory_key for note in memory.evicted("project")]
    assert 19 == memory.count("project")
    assert "note 0" == memory.manager.retrieve(keys[0])
    evicted = memory.get(keys[4])
    assert evicted is not None
    assert not evicted.is_active
    assert keys[0] not in {
        note.memory_key for note in (*memory.get(), *memory.search("note 0", 30))
    }
    assert [last] == [note.memory_key for note in memory.search("21st")]
    assert 21 == memory.clear(tier="project")


def test_taking_back_needs_room(memory: ScopedMemory) -> None:
    """What was put away comes back only where its tier has room, by its built-in limits or by those of the policies."""
    keys = [memory.save(letter * 6000, tier="run") for letter in "x"]
    memory.manager.forget(keys[0], soft=True)
    keys.append(memory.save("y" * 6000, tier="run"))
    for revive in (memory.revive, memory.manager.revive):
        with pytest.raises(TierFullError, match="leaves no room for 6000 more"):
            revive(keys[0])
    assert 6000 == memory.size("run")

    memory.manager.forget(keys[1])
    revived = memory.revive(keys[0])
    assert revived is not None
    assert revived.is_active
    assert revived == memory.revive(keys[0])
    assert memory.revive("nothing") is None


def test_taking_back_makes_room(memory: ScopedMemory) -> None:
    """What is taken back into a full project evicts the least important, as what is saved does."""
    memory = ScopedMemory(
        memory.manager, **IDS, policies=[replace(PROJECT, max_items=3, evict=0.34)]
    )
    keys = [memory.save(f"note {n}", tier="project", priority=1 + n) for n in range(4)]
    assert keys[:1] == [note.memory_key for note in memory.evicted("project")]

    assert memory.revive(keys[0])

    assert 3 == memory.count("project")
    assert keys[1:2] == [note.memory_key for note in memory.evicted("project")]
    with pytest.raises(TierFullError, match="holds 3 of 3 items"):
        memory.manager.revive(keys[1], room=Room(max_items=3))
    loose = memory.manager.store("an output")
    memory.manager.forget(loose, soft=True)
    with pytest.raises(InvalidTierError, match="is not a note"):
        memory.revive(loose)
    assert memory.manager.revive(loose).is_active
    assert memory.manager.revive(keys[1], room=Room()).is_active
    assert 4 == memory.count("project")


@pytest.mark.long
def test_default_project_has_a_thousand_notes() -> None:
    """The 1,001st note of a project evicts the hundred least important, oldest first."""
    memory = quick(task_id=None)
    keys = [memory.save("x", tier="project") for _ in range(1001)]

    assert 901 == memory.count("project")
    assert set(keys[:100]) == {note.memory_key for note in memory.evicted()}


def test_a_built_in_tier_that_never_ends() -> None:
    """A built-in tier with the lifetime ``user`` needs no id."""
    policies = [TierPolicy("project", lifetime="user")]
    with ScopedMemory("sqlite://", user_id="ann", policies=policies) as memory:
        memory.save("x", tier="project")
        assert [None] == [note.tier_id for note in memory.get()]


def test_own_tiers() -> None:
    """A tier of the caller's own has its limits, its check and its life, among the built-in ones."""
    team = TierPolicy(
        "team",
        max_items=2,
        lifetime="project",
        validate=lambda item: "say it shorter" if item.char_count > 5 else None,
    )
    memory = quick(policies=[team])
    key = memory.save("12345", tier="team")

    with pytest.raises(InvalidArgumentError, match="'team' does not take this: say it shorter"):
        memory.save("123456", tier="team")
    with pytest.raises(InvalidArgumentError, match="shorter"):
        memory.update(key, "123456")
    with pytest.raises(InvalidArgumentError, match="shorter"):
        memory.promote(memory.save("123456"), "team")
    memory.save("2", tier="team")
    with pytest.raises(TierFullError, match="2 of 2 items"):
        memory.save("3", tier="team")
    assert 2 == memory.end("project")


@for_each(
    "values, said",
    [
        ({"name": "Team"}, "lower-case letters"),
        ({"name": "detail"}, "memory-context uses itself"),
        ({"name": "x", "lifetime": "week"}, "one of run, session, task, project, user"),
        ({"name": "x", "max_chars": 0}, "max_chars .* 1 or more"),
        ({"name": "x", "max_items": "9"}, "max_items .* 1 or more, not .9."),
        ({"name": "x", "evict": 1.5}, "from 0 to 1"),
    ],
)
def test_policies_are_checked(values: dict[str, Any], said: str) -> None:
    """A policy that means nothing is refused when it is made."""
    with pytest.raises(InvalidArgumentError, match=said):
        TierPolicy(**values)


class Asked:
    """Somebody who answers, and remembers what was asked."""

    def __init__(self, *, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[Confirmation] = []

    def __call__(self, confirmation: Confirmation) -> bool:
        """The answer."""
        self.asked.append(confirmation)
        return self.answer

    async def later(self, confirmation: Confirmation) -> bool:
        """The answer, after others had their turn."""
        await asyncio.sleep(0.01)
        return self(confirmation)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_confirmation(asynchronous: bool, manager: MemoryManager) -> None:
    """Whatever goes into a tier, is changed there or leaves it is asked about; a no writes nothing."""
    ann = Asked()
    confirm = ann.later if asynchronous else ann
    memory = ScopedMemory(manager, **IDS, policies=[replace(GLOBAL, confirm=confirm)])
    key = memory.add_preference("metric units", "units", confirm=True)
    assert key is not None
    memory.add_preference("tea")
    fact = memory.save("a fact", tier="global")
    note = memory.save("a session's note")
    assert ["save"] * 3 == [one.action for one in ann.asked]

    ann.answer = False
    ann.asked.clear()
    assert memory.add_preference("imperial units") is None
    assert memory.update(key, "imperial units") is None
    assert memory.update(fact, tags=["always"]) is None
    assert memory.delete(key) is None
    assert memory.delete(fact) is None
    assert memory.promote(note, to="global") is None
    assert memory.clear(tier="global") is None
    for doing in (
        partial(memory.save, "a rumour", tier="global"),
        partial(memory.manager.store, "a rumour", type="user_preference"),
        partial(memory.manager.store, "a rumour", tags=["always"]),
        partial(memory.manager.store, "a rumour", type="pattern", tags=["always"]),
        partial(memory.manager.store, "a rumour", tier="global"),
    ):
        with pytest.raises(DeclinedError):
            doing()

    assert ["metric units", "tea", "a fact"] == [
        note.content for note in memory.get(tier="global")
    ][::-1]
    assert [
        *("save", "update", "update", "delete", "delete", "promote", "clear"),
        *["save"] * 5,
    ] == [one.action for one in ann.asked]
    assert ("imperial units", "metric units") == (
        ann.asked[1].content,
        getattr(ann.asked[1].item, "content", None),
    )
    assert 3 == ann.asked[6].count
    assert memory.add_pattern("retry with backoff", "network")
    assert 12 == len(ann.asked)
    assert 1 == memory.clear(tier="session")
    ann.answer = True
    assert memory.update(key, "imperial units") is not None
    assert 4 == memory.clear(tier="global")


def test_a_view_keeps_the_confirmation(manager: MemoryManager) -> None:
    """Notes without policies of their own, made of the memories of such with a confirmation, ask too."""
    ann = Asked(answer=False)
    memory = ScopedMemory(manager, **IDS, policies=[replace(GLOBAL, confirm=ann)])

    with pytest.raises(DeclinedError):
        ScopedMemory(memory.manager).save("a rumour", tier="global")
    with pytest.raises(DeclinedError):
        memory.manager.within([]).store("a rumour", type="user_preference")
    assert 2 == len(ann.asked)


def test_nobody_to_confirm() -> None:
    """A preference that wants to be confirmed is refused where nobody can be asked; everything else needs nobody."""
    memory = quick()

    with pytest.raises(InvalidArgumentError, match="nobody can confirm"):
        memory.add_preference("tea", confirm=True)
    key = memory.add_preference("tea")
    assert key is not None
    assert memory.update(key, "coffee") is not None
    assert 1 == memory.clear(tier="global")


async def test_asynchronous_confirmation_from_asynchronous_code() -> None:
    """From a thread of an event loop, and on the loop itself, an asynchronous callback is waited for."""
    ann = Asked()
    memory = quick(policies=[replace(GLOBAL, confirm=ann.later)])

    assert await asyncio.to_thread(memory.add_preference, "tea", confirm=True)
    assert memory.add_preference("coffee", confirm=True)
    assert 2 == len(ann.asked)


def test_error_in_a_callback() -> None:
    """An error of a callback comes through, and nothing is written."""

    def confirm(_: Confirmation) -> bool:
        raise ZeroDivisionError

    memory = quick(policies=[replace(GLOBAL, confirm=confirm)])
    with pytest.raises(ZeroDivisionError):
        memory.add_preference("tea", confirm=True)
    assert 0 == memory.count()


def test_deletion_of_what_was_confirmed() -> None:
    """A note that changes while its deletion is confirmed is asked for again, as it is then."""
    asked = list[object]()

    def confirm(question: Confirmation) -> bool:
        if question.action == "delete":
            assert question.item
            asked.append(question.item.content)
            if len(asked) == 1:
                memory.update(key, "coffee")
        return True

    memory = quick(policies=[replace(GLOBAL, confirm=confirm)])
    key = memory.save("tea", tier="global")
    assert memory.delete(key)
    assert ["tea", "coffee"] == asked


def test_helpers(memory: ScopedMemory) -> None:
    """Each helper keeps its type, its tier and its importance, and its query gives back what it kept."""
    keys = [
        memory.add_reasoning("the cache is cold", "stage 1"),
        memory.add_tool_output("npm", {"exit": 1}, "stage 1"),
        memory.add_decision("we use PostgreSQL", ["database"]),
        memory.add_convention("tabs", "python"),
        memory.add_failure("cache.get(None)", "check the key first"),
        memory.add_preference("metric units", "units/length"),
        memory.add_pattern("retry with backoff", "network"),
    ]
    memory.add_reasoning("other", "stage 2")
    memory.add_tool_output("npm", "no stage")
    notes = [memory.manager.get(str(key)) for key in keys]

    assert [0.5, 0.7, 0.9, 0.8, 0.85, 0.9, 0.7] == [note.importance for note in notes]
    assert ["task", "task", "project", "project", "project", "global", "global"] == [
        note.tier for note in notes
    ]
    assert [
        "reasoning",
        "tool_output",
        "decision",
        "convention",
        "failure",
        "user_preference",
        "pattern",
    ] == [note.memory_type for note in notes]
    assert keys[:2] == [note.memory_key for note in memory.get_stage_outputs("stage 1")]
    assert [keys[2]] == [note.memory_key for note in memory.query_decisions("database")]
    assert [keys[2]] == [note.memory_key for note in memory.query_decisions()]
    assert [] == memory.query_decisions(["network"])
    assert [keys[5]] == [note.memory_key for note in memory.query_preferences("units")]
    assert [keys[5]] == [note.memory_key for note in memory.query_preferences()]
    assert keys[4] == memory.search("cache.get check the key")[0].memory_key


def test_failures_are_found_by_their_code(memory: ScopedMemory) -> None:
    """The code of a failure is a tag and stands in the metadata; text and search hold it, too."""
    key = memory.add_failure("E_TIMEOUT", "retry later")
    memory.add_failure("E_AUTH", "ask for a new token")

    [found] = memory.get(tags="E_TIMEOUT", tier="project")
    assert (key, ("E_TIMEOUT",), {"code": "E_TIMEOUT"}) == (
        found.memory_key,
        found.tags,
        found.content_metadata,
    )
    assert "retry later" == found.summary
    assert key == memory.search("E_TIMEOUT")[0].memory_key
    with pytest.raises(InvalidArgumentError):
        memory.add_failure("two\nlines", "is no code")


def test_search(memory: ScopedMemory) -> None:
    """A search finds notes of the open tiers, of one, of a category, of a time; never folded outputs."""
    for tier in TIERS:
        memory.save(f"the walrus of {tier}", f"animals/{tier}", tier=tier)
    memory.manager.store("the walrus of a log")
    later = datetime.now(UTC) + timedelta(hours=1)

    assert set(TIERS) == {note.tier for note in memory.search("walrus", 20)}
    assert ["run"] == [note.tier for note in memory.search("walrus", tier="run")]
    assert ["task"] == [note.tier for note in memory.search("walrus", category="animals/task")]
    assert [] == memory.search("walrus", since=later)
    assert 6 == len(memory.search("walrus", 20, until=later))


def test_arguments() -> None:
    """A manager has its user; a store needs one; ids must be names."""
    with pytest.raises(InvalidArgumentError, match="the manager has its own user"):
        ScopedMemory(MemoryManager("sqlite://", user_id="ann"), user_id="bob")
    with pytest.raises(InvalidScopeError):
        ScopedMemory("sqlite://")
    memory = ScopedMemory("sqlite://", user_id=42, task_id=7)
    assert "7" == memory.manager.get(memory.save("x", tier="task")).tier_id
    with pytest.raises(InvalidScopeError, match="run_id"):
        ScopedMemory("sqlite://", user_id="ann", run_id="\n")


WRITER = """
import sys
from memory_context import ScopedMemory, TierPolicy
from memory_context.exceptions import TierFullError

url, name = sys.argv[1:]
memory = ScopedMemory(url, user_id="ann", session_id="s", project_id="p",
                      policies=[TierPolicy("project", max_items=30, lifetime="project", evict=0.1)])
for number in range(40):
    memory.save(f"{name} {number}", tier="project")
    try:
        memory.save("x" * 97 + f"{name[:1]}{number:02}")
    except TierFullError as full:
        assert full.size <= full.limit == 10_000, full
memory.close()
"""


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite_url", "postgres_url"])
def test_processes_cannot_pass_a_limit_together(
    database: str, request: pytest.FixtureRequest
) -> None:
    """Four processes that write into one session and one project stay within both limits."""
    url = request.getfixturevalue(database)
    MemoryManager(url, user_id="ann").store("open it")
    writers = [
        subprocess.Popen([sys.executable, "-c", PATIENT + WRITER, url, name])
        for name in ("a", "b", "c", "d")
    ]

    assert [0] * 4 == [writer.wait() for writer in writers]

    with ScopedMemory(url, user_id="ann", session_id="s", project_id="p") as memory:
        assert (100, 10_000) == (memory.count("session"), memory.size("session"))
        assert 27 <= memory.count("project") <= 30
        assert 160 == memory.count("project") + len(memory.evicted("project"))
