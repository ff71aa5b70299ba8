"""The user's layer: what a conversation begins with."""

from __future__ import annotations

import json

import pytest
from autogen_core.models import AssistantMessage, SystemMessage

from memory_context import ContextAssembler, MemoryContext, MemoryManager, RecallPolicy
from memory_context.testing import check_prompt
from messages import LOG, call, dumps, results, user
from test_context import fill, shown


@pytest.fixture
def manager(sqlite_url: str) -> MemoryManager:
    """A user with preferences, an always-note, a secret and an older thread."""
    manager = MemoryManager(sqlite_url, user_id="ann", thread_id="old thread")
    manager.store("metric units", "units", "user_preference")
    manager.store("answers in German", "language", "user_preference", importance=0.9)
    manager.store("the deploy key is on host-7", "deploy key", "note", tags=["always"])
    manager.store("hunter2", "password", "secret", tags=["always"])
    manager.store(LOG, "log of the nightly job", "command_output")
    manager.store("x" * 1000, "a long preference", "user_preference")
    return manager


async def test_first_and_the_same(manager: MemoryManager) -> None:
    """It comes first, behind system messages, the most important first, and stays as it is for the whole thread."""
    context = MemoryContext("ann", store=manager.memory_store)

    first = await fill(context, SystemMessage(content="be brief"), user("hello"))
    manager.store("changed", "another preference", "user_preference")
    later = await fill(context, user("and now?"), call("run"), results("fine"))

    lines = shown(first[1]).split("\n")
    assert "- language: answers in German" == lines[1]
    assert "- units: metric units" in lines
    assert "- deploy key: the deploy key is on host-7" in lines
    assert any(
        "[MemoryRef: user_preference_" in line and "a long preference" in line for line in lines
    )
    assert any("thread old thread" in line for line in lines)
    assert any("command_output" in line and "log of the nightly job" in line for line in lines)
    assert any("1 of type secret" in line for line in lines)
    assert "hunter2" not in shown(first[1])
    assert dumps(first) == dumps(later[: len(first)])
    check_prompt(later)


async def test_budget(manager: MemoryManager) -> None:
    """It keeps within its budget; a budget of nothing gives nothing."""
    for budget, expected in ((0, 1), (5, 1), (60, 2), (300, 2)):
        context = MemoryContext(
            "ann", store=manager.memory_store, recall=RecallPolicy(user_layer_tokens=budget)
        )
        messages = await fill(context, user("hello"))
        assert expected == len(messages)
        assert expected == 1 or manager.counter.count(shown(messages[0])) <= budget


async def test_nothing_to_say(sqlite_url: str) -> None:
    """A user with outputs only, and another user, begin with their own words."""
    with MemoryManager(sqlite_url, user_id="bob") as manager:
        manager.store(LOG, "a log", "command_output")

    for name in ("bob", "eve"):
        assert 1 == len(await fill(MemoryContext(name, store=sqlite_url), user("hello")))


async def test_returning_user(sqlite_url: str) -> None:
    """On a thread with a name a user without preferences finds their recent threads and commands, and what exists."""
    with MemoryManager(sqlite_url, user_id="bob", thread_id="yesterday") as manager:
        manager.store(LOG, "a log", "command_output")

    [layer, _] = await fill(
        MemoryContext("bob", store=sqlite_url, thread_id="today"), user("hello")
    )

    assert "thread yesterday" in shown(layer)
    assert "a log" in shown(layer)
    assert "1 of type command_output" in shown(layer)
    assert 1 == len(
        await fill(MemoryContext("bob", store=sqlite_url, thread_id="yesterday"), user("hello"))
    )


async def test_nothing_twice(sqlite_url: str) -> None:
    """A preference that stands in the layer is not also what a thread was about."""
    with MemoryManager(sqlite_url, user_id="bob", thread_id="yesterday") as manager:
        manager.store(LOG, "a log", "command_output")
        manager.store("metric units", "metric units", "user_preference")

    [layer, _] = await fill(MemoryContext("bob", store=sqlite_url), user("hello"))

    assert 1 == shown(layer).count("metric units")
    assert any("yesterday" in line and "a log" in line for line in shown(layer).split("\n"))


async def test_state(manager: MemoryManager) -> None:
    """A loaded conversation keeps the layer that it began with, and gets no second one."""
    context = MemoryContext("ann", store=manager.memory_store)
    first = await fill(context, user("hello"))
    loaded = MemoryContext("ann", store=manager.memory_store)
    await loaded.load_state(json.loads(json.dumps(await context.save_state())))

    assert dumps(first) == dumps((await fill(loaded, user("thanks")))[: len(first)])
    assert 3 == len(await loaded.get_messages())


async def test_compaction(manager: MemoryManager) -> None:
    """A compaction leaves the layer and the task."""
    recall = RecallPolicy(expansion_budget=0)
    context = MemoryContext("ann", store=manager.memory_store, max_tokens=2000, recall=recall)
    first = await fill(context, user("the task"))
    for number in range(30):
        text = " ".join(f"w{number}x{i}" for i in range(60))
        prompt = await fill(context, call("run", number=number), results(text, number=number))

    assert context.stats().compactions >= 1
    assert dumps(first) == dumps(prompt[:2])


async def test_clear(manager: MemoryManager) -> None:
    """After clear a conversation begins again."""
    context = MemoryContext("ann", store=manager.memory_store)
    first = await fill(context, user("hello"))
    await context.clear()

    assert dumps(first) == dumps(await fill(context, user("hello")))


async def test_only_of_the_user(sqlite_url: str) -> None:
    """What stands in a task, a project or a session is not the user's, whatever its type and tags."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        for tier in ("task", "project", "session", "run"):
            manager.store(
                "use tabs here",
                "indent",
                "user_preference",
                tier=tier,
                tier_id="x",
                tags=["always"],
            )
        assert 1 == len(await fill(MemoryContext("ann", store=sqlite_url), user("hello")))
        manager.store("use tabs everywhere", "indent", "user_preference", tier="global")

    [layer, _] = await fill(MemoryContext("ann", store=sqlite_url), user("hello"))
    assert "use tabs everywhere" in shown(layer)
    assert "here" not in shown(layer).replace("everywhere", "")


async def test_use_is_recorded(manager: MemoryManager) -> None:
    """Which of its memories a model then makes use of is recorded, also that it made use of none."""
    assembler = ContextAssembler(manager)
    context = MemoryContext("ann", store=manager.memory_store)
    said = AssistantMessage(content="I look at host-7.", source="coder")
    await fill(context, user("hello"))
    assert 0 == assembler.advice().assemblies

    await fill(context, call("nothing"), results("ok"))
    assert (1, 0) == (assembler.advice().assemblies, assembler.advice().needed)
    await fill(context, said, said)
    assert (1, 1) == (assembler.advice().assemblies, assembler.advice().needed)
    await fill(
        MemoryContext("ann", store=manager.memory_store),
        user("hello"),
        call("nothing"),
        results("ok"),
    )
    assert (1, 1) == (assembler.advice().assemblies, assembler.advice().needed)
