"""Notes in an AutoGen agent's life: runs, sessions, tasks and projects, in real agents with scripted models."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import LLMMessage, UserMessage
from autogen_core.tools import BaseTool

from for_each import first_quick
from memory_context import (
    MEMORY_INSTRUCTIONS,
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    NotesPolicy,
    ScopedMemory,
    SQLAlchemyStore,
    TierPolicy,
)
from memory_context.exceptions import (
    DeclinedError,
    InvalidArgumentError,
    InvalidScopeError,
    MemoryDeletedError,
    MemoryNotFoundError,
    NotSerializableError,
    StoreError,
)
from memory_context.model.tiers_and_limits import GLOBAL
from memory_context.testing import ScriptedChatClient, check_prompt
from memory_context.tools.tool_calls_and_answers import MemoryToolError
from messages import LOG, call, dumps, results, user
from test_context import fill

HEADER = "Your notes for this run"


def context_of(store: Any = "sqlite://", **settings: Any) -> MemoryContext:
    """A context with tiers."""
    return MemoryContext("ann", store=store, **{"notes": True, **settings})


def calls(name: str, number: int = 1, **arguments: object) -> list[FunctionCall]:
    """A call of a tool."""
    return [FunctionCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))]


def agent_of(
    context: MemoryContext,
    script: Sequence[Any],
    name: str = "coder",
    **settings: Any,
) -> AssistantAgent:
    """An agent with the tools of its memory."""
    settings = {"workbench": context.workbench([]), "max_tool_iterations": 10, **settings}
    client = ScriptedChatClient(script)
    return AssistantAgent(name, model_client=client, model_context=context, **settings)


def prompts_of(agent: AssistantAgent) -> list[list[LLMMessage]]:
    """What the agent's model was asked."""
    client = agent._model_client  # noqa: SLF001 - the scripted one
    assert isinstance(client, ScriptedChatClient)
    return client.prompts


def text_of(messages: Sequence[LLMMessage]) -> str:
    """Everything that a model reads."""
    return "\n".join(message.model_dump_json() for message in messages)


def notes_in(messages: Sequence[LLMMessage]) -> list[str]:
    """The messages that show notes."""
    return [
        str(m.content)
        for m in messages
        if isinstance(m, UserMessage) and str(m.content).startswith(HEADER)
    ]


def tools_of(context: MemoryContext) -> dict[str, BaseTool[Any, Any]]:
    """The tools by name."""
    return {tool.name: tool for tool in context.tools()}


def loaded_tool(tool: BaseTool[Any, Any]) -> BaseTool[Any, Any]:
    """The tool, dumped and loaded."""
    again: BaseTool[Any, Any] = BaseTool.load_component(tool.dump_component())
    return again


async def use(context: MemoryContext, name: str, **arguments: Any) -> str:
    """What a tool answers."""
    return str(await tools_of(context)[name].run_json(arguments, CancellationToken()))


def test_every_tool_is_loaded_as_it_was(sqlite_url: str) -> None:
    """Each of an agent's tools has the same class, name and settings once it was dumped and loaded."""
    context = context_of(
        sqlite_url,
        fold=FoldPolicy(queries=True),
        notes=NotesPolicy(tiers=[TierPolicy("team", lifetime="user")]),
        model_client=ScriptedChatClient([]),
    )
    tools = context.tools()

    assert len(tools) == 10
    for tool in tools:
        dumped = tool.dump_component()
        again: BaseTool[Any, Any] = BaseTool.load_component(json.loads(dumped.model_dump_json()))
        assert type(again) is type(tool)
        assert again.dump_component() == dumped
        assert again.name == tool.name


@pytest.mark.parametrize("database", ["sqlite_url", "postgres_url"])
async def test_a_run(database: str, request: pytest.FixtureRequest) -> None:
    """Notes of a run, also those saved in mid-run, stand in every prompt of it; after it they are gone, others stay."""
    url = request.getfixturevalue(database)
    context = context_of(url, thread_id="t")
    script = [
        calls("save_memory", 1, content="the port is 5433", tier="run"),
        calls(
            "save_memory",
            2,
            content="likes tea",
            compartment="global",
            tags="taste,tea",
            priority=9,
        ),
        calls("get_memory", 3),
        "done",
        "again",
    ]
    agent = agent_of(context, script)

    async with context.run(task="fix", project="website") as notes:
        notes.save("be careful", tier="run")
        for tier in ("plan", "task", "project", "session"):
            notes.save(f"a note of the {tier}", tier=tier)
        await agent.run(task="which port?")
    await agent.run(task="and now?")

    *during, after = prompts_of(agent)
    assert all(before == later[: len(before)] for before, later in pairwise(during))
    assert all("be careful" in notes_in(prompt)[0] for prompt in during)
    assert [1, 2, 2, 2] == [len(notes_in(prompt)) for prompt in during]
    assert all("5433" in notes_in(prompt)[1] for prompt in during[1:])
    assert all(isinstance(prompt[-1], UserMessage) is (prompt is during[0]) for prompt in during)
    assert not any(HEADER in str(getattr(prompt[-1], "content", "")) for prompt in during)
    assert [] == notes_in(after)
    assert "be careful" not in text_of([m for m in after if isinstance(m, UserMessage)])
    with MemoryManager(url, user_id="ann") as manager:
        kept = {
            (item.tier, item.tier_id)
            for item in manager.memory_store.list_all(manager.scope)
            if item.tier != "detail"
        }
        assert {("global", None), ("project", "website"), ("session", "t")} == kept
        [tea] = [
            item for item in manager.memory_store.list_all(manager.scope) if item.tier == "global"
        ]
        assert (("taste", "tea"), 0.9) == (tea.tags, tea.importance)


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
async def test_a_run_that_does_not_end_well(how: str) -> None:
    """Whatever ends a run, its notes are gone from store and prompt, and their keys say so."""
    context = context_of()
    started = asyncio.Event()

    async def work() -> None:
        async with context.run(task="t") as notes:
            keys.append(notes.save("secret plan", tier="run"))
            await fill(context, user("go"))
            started.set()
            if how == "fails":
                raise ZeroDivisionError
            await asyncio.sleep(60)

    keys = list[str]()
    running = asyncio.create_task(work())
    await started.wait()
    running.cancel()
    with pytest.raises((ZeroDivisionError, asyncio.CancelledError)):
        await running

    assert "secret plan" not in text_of(await context.get_messages())
    with pytest.raises(MemoryDeletedError, match="its run ended"):
        await context.retrieve(keys[0])


@pytest.mark.long
async def test_a_task_over_several_runs() -> None:
    """With ``ends_task=False`` a task goes on in the next run; what is promoted outlives it."""
    context = context_of()
    async with context.run(task="t", ends_task=False) as notes:
        key = notes.save("half done", tier="task")
    async with context.run(task="t", project="p") as notes:
        assert [key] == [note.memory_key for note in notes.get(tier="task")]
        lesson = notes.save("a lesson", tier="task")
        notes.promote(lesson, "project")
    async with context.run(task="t", project="p") as notes:
        assert [] == notes.get(tier="task")
        assert "a lesson" == notes.get(lesson).content  # type: ignore[union-attr]


async def test_runs_do_not_see_each_other() -> None:
    """Another run of the same user finds nothing of a run, by key, search, filter, tool or reference in a message."""
    with SQLAlchemyStore("sqlite://") as store:
        ours, theirs, plain = (
            context_of(store),
            context_of(store),
            MemoryContext("ann", store=store),
        )
        async with (
            ours.run(task="t", project="p") as notes,
            theirs.run(task="u", project="q"),
        ):
            keys = [notes.save(f"zeppelin in {tier}", tags=["always"], tier=tier) for tier in
                    ("run", "plan", "session", "task", "project")]  # fmt: skip
            for key in keys:
                with pytest.raises(MemoryNotFoundError) as caught:
                    await theirs.retrieve(key)
                assert not isinstance(caught.value, MemoryDeletedError)
                assert not await theirs.forget(key)
            assert [] == await theirs.search("zeppelin", 50)
            assert [] == await theirs.search("", 50, filters={"tier_id": "p"})
            for other in (theirs, plain):
                for key in keys:
                    with pytest.raises(Exception, match="There is no memory with the key"):
                        await use(other, "retrieve_memory", key=key)
                assert "zeppelin in" not in await use(other, "search_memory", query="zeppelin")
                messages = await fill(
                    other, user(f"open [MemoryRef: {keys[0]}] as always, the zeppelin one")
                )
                assert "zeppelin in" not in text_of(messages)
            with pytest.raises(InvalidScopeError):
                await theirs.store("x", tier="project", tier_id="p")
            assert 5 == notes.count()


async def test_sub_agents_share_the_session_only() -> None:
    """A sub-agent's model reads nothing of the caller's run; what either saves in the session both find."""
    with SQLAlchemyStore("sqlite://") as store:
        context, below = (
            context_of(store, thread_id="t", agent_id=name) for name in ("lead", "helper")
        )
        helper = agent_of(
            below,
            [
                calls("get_memory", 1),
                calls("search_memory", 2, query="walrus yak"),
                calls("save_memory", 3, content="the helper's find"),
                "done",
            ],
            "helper",
            description="Helps.",
        )
        lead = agent_of(
            context,
            [
                calls("save_memory", 1, content="walrus of the run", tier="run"),
                calls("save_memory", 2, content="yak of the session"),
                calls("helper", 3, task="look"),
                calls("get_memory", 4, tier="session"),
                "done",
            ],
            "lead",
            workbench=context.workbench([AgentTool(helper)]),
        )

        async with context.run(task="t"):
            await lead.run(task="go")

        assert all("walrus of" not in text_of(prompt) for prompt in prompts_of(helper))
        assert "yak of the session" in text_of(prompts_of(helper)[1])
        assert "yak of the session" in text_of(prompts_of(helper)[2])
        assert "the helper's find" in text_of(prompts_of(lead)[-1][-1:])


async def test_a_team() -> None:
    """In a team each agent reads its own run's notes, and none of another's."""
    with SQLAlchemyStore("sqlite://") as store:
        contexts = {
            name: context_of(store, thread_id="t", agent_id=name) for name in ("ann", "bob")
        }
        agents = [
            agent_of(context, [f"{name} said"] * 3, name) for name, context in contexts.items()
        ]
        team = RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(5))  # type: ignore[arg-type] # agents
        async with contexts["ann"].run() as anns, contexts["bob"].run() as bobs:
            anns.save("walrus", tier="run")
            bobs.save("yak", tier="run")
            await team.run(task="talk")

        for agent, own, other in zip(agents, ("walrus", "yak"), ("yak", "walrus"), strict=True):
            assert all(
                own in text_of(prompt) and other not in text_of(prompt)
                for prompt in prompts_of(agent)
            )


async def test_changed_and_deleted_notes() -> None:
    """What changes or goes in mid-run is appended, and what was shown stays as it was; nothing new adds nothing."""
    context = context_of()
    async with context.run() as notes:
        key, other = (notes.save(text, tier="run") for text in ("port 1", "host 1"))
        first = await fill(context, user("go"))
        same = await fill(context, call("x", number=1), results("1", number=1))
        notes.update(key, "port 2")
        notes.delete(other)
        changed = await fill(context, call("x", number=2), results("2", number=2))

        assert dumps(first) == dumps(same[: len(first)])
        assert dumps(same) == dumps(changed[: len(same)])
        assert [1, 1, 2] == [len(notes_in(messages)) for messages in (first, same, changed)]
        assert "port 2" in notes_in(changed)[1]
        assert "host 1" not in notes_in(changed)[1]
        assert f"Deleted since: {other}" in notes_in(changed)[1]
        assert changed == await context.get_messages()
        check_prompt(changed)
        assert context.stats().tokens_noted > 0
        await context.clear()
        assert "port 2" in notes_in(await fill(context, user("again")))[0]


async def test_compaction_keeps_notes() -> None:
    """Compactions leave the notes of the run in the prompt, and store none of them."""
    context = context_of(max_tokens=2000, recall=False)
    async with context.run() as notes:
        await fill(context, user("the task"))
        notes.save("the zeppelin", tier="run")
        for number in range(30):
            text = " ".join(f"w{number}x{i}" for i in range(60))
            prompt = await fill(context, call("run", number=number), results(text, number=number))
            assert 1 == text_of(prompt).count("the zeppelin")
            check_prompt(prompt)
        notes.save("late", tier="run")
        prompt = await fill(context, call("run", number=99), results("x", number=99))
        assert 2 == len(notes_in(prompt))
        assert context.stats().compactions >= 1
    after = await fill(context, user("and now?"))
    assert [] == notes_in(after)
    check_prompt(after)
    stored = [item.text for item in await context.search("", 100)]
    assert not any("zeppelin" in text for text in stored)


@pytest.mark.parametrize("same_run", first_quick([True, False]))
async def test_states(same_run: bool) -> None:
    """A state that was saved in mid-run goes on in the same run; loaded outside of it, it has no notes."""
    with SQLAlchemyStore("sqlite://") as store:
        context = context_of(store, thread_id="t", fold="after_reading")
        async with context.run(run_id="r") as notes:
            notes.save("walrus", tier="run")
            before = await fill(context, user("go"), call("run"), results(LOG[:4000]))
            state = json.loads(json.dumps(await context.save_state()))
            loaded = context_of(store, thread_id="t", fold="after_reading")
            if same_run:
                async with loaded.run(run_id="r", ends_task=False):
                    await loaded.load_state(state)
                    assert dumps(before) == dumps(await loaded.get_messages())
                    assert 1 == len(notes_in(await fill(loaded, user("more"))))
            else:
                await loaded.load_state(state)
                after = await fill(loaded, user("more"))
                assert [] == notes_in(after)
                assert [message for message in before if not notes_in([message])] == after[
                    : len(before) - 1
                ]
                plain = MemoryContext("ann", store=store)
                await plain.load_state({"messages": state["messages"]})
                assert [] == notes_in(await plain.get_messages())


async def test_components() -> None:
    """A context with tiers is dumped and loaded with them; callables in them cannot be written down."""
    url = "sqlite:///notes.db"
    context = context_of(
        url, thread_id="t", notes=NotesPolicy(tiers=[TierPolicy("team", 50, lifetime="project")])
    )
    loaded = MemoryContext.load_component(context.dump_component())
    plain = MemoryContext.load_component(MemoryContext("ann", store=url).dump_component())
    full = MemoryContext.load_component(context_of(url).dump_component())

    async with loaded.run(project="p") as notes:
        assert ["run", "plan", "session", "project", "global", "team"] == notes.open_tiers
    assert (3, 8, 8) == tuple(len(one.tools()) for one in (plain, full, loaded))
    with pytest.raises(NotSerializableError, match="its confirm or validate is a callable"):
        context_of(
            url, notes=NotesPolicy(tiers=[replace(GLOBAL, confirm=lambda _: True)])
        ).dump_component()
    for tool in context.tools():
        again = loaded_tool(tool)
        told, loaded_told = tool.schema, again.schema
        assert (tool.name, told["description"]) == (again.name, loaded_told["description"])
        assert list(told["parameters"]["properties"]) == list(
            loaded_told["parameters"]["properties"]
        )
    await context.aclose()


async def test_loaded_tools_keep_the_walls() -> None:
    """A tool that was dumped and loaded sees what its session may, and asks the agent that calls it for its run."""
    url = "sqlite:///notes.db"
    context = context_of(url, thread_id="t")
    mine, others = (
        ScopedMemory(url, user_id="ann", session_id=thread) for thread in ("t", "other")
    )
    mine.save("walrus of ours")
    others.save("walrus of others")
    loaded = {tool.name: loaded_tool(tool) for tool in context.tools()}

    async def answer(name: str, **arguments: Any) -> str:
        return str(await loaded[name].run_json(arguments, CancellationToken()))

    for said in (await answer("search_memory", query="walrus"), await answer("get_memory")):
        assert "walrus of ours" in said
        assert "of others" not in said
    async with context.run():
        await fill(context, user("go"))
        assert "Saved in run" in await answer("save_memory", content="x", tier="run")
        assert "x" in await answer("get_memory", tier="run")
    for memory in (mine, others):
        memory.close()
    await context.aclose()


async def test_answers_of_the_tools() -> None:
    """Each tool says in one line what happened, or what would be right."""
    context = context_of(thread_id="t")

    said = await use(
        context, "save_memory", content="use tabs", category="style/code", tags=["x"], priority=8
    )
    key = said.rpartition(": ")[2].rstrip("]")
    assert f"Saved in session as [MemoryRef: {key}]" == said
    assert f"[MemoryRef: {key}] (session, style/code, x, priority 8, model): use tabs" == await use(
        context, "get_memory"
    )
    assert "use tabs" in await use(context, "get_memory", key=f"[MemoryRef: {key}]")
    assert "use tabs" in await use(context, "get_memory", tier="SESSION", tags="x")
    assert "No notes were found." == await use(context, "get_memory", category="other")
    assert "style: 1\n  style/code: 1" == await use(context, "list_categories")
    assert "Deleted 1 note of the tier session." == await use(
        context, "clear_memory", tier="session"
    )
    assert "Deleted 0 notes of the tier global." == await use(
        context, "clear_memory", compartment="global", tags=[]
    )
    assert "No notes were found." == await use(context, "list_categories")
    for name, arguments, right in (
        (
            "save_memory",
            {"content": "x", "tier": "task"},
            "open tiers are run, plan, session, global",
        ),
        (
            "save_memory",
            {"content": "x", "tier": "nonsense"},
            "open tiers are run, plan, session, global",
        ),
        ("save_memory", {"content": " "}, "empty"),
        ("save_memory", {"content": "x", "priority": 11}, "from 1 to 10"),
        ("save_memory", {"content": "x", "category": "../x"}, "letters, digits"),
        ("save_memory", {"content": "y" * 10_001}, "0 of 10,000 characters"),
        ("save_memory", {"content": "x", "metadata": "[1"}, "metadata"),
        ("get_memory", {"key": "nothing"}, "get_memory without a key"),
        ("clear_memory", {}, "tier"),
        (
            "search_memory",
            {"query": "x", "tier": "nonsense"},
            "there are run, plan, session, task, project, global",
        ),
        ("search_memory", {"query": "x", "since": "yesterday"}, "2026-01-31"),
    ):
        with pytest.raises(Exception, match=right):
            await use(context, name, **arguments)


async def test_search_with_filters() -> None:
    """`search_memory` narrows by category, tags, tier and time."""
    context = context_of(thread_id="t")
    await use(context, "save_memory", content="walrus one", category="a/b", tags=["x"])
    await use(context, "save_memory", content="walrus two", tier="global")

    for arguments, found in (
        ({}, {"one", "two"}),
        ({"category": "a"}, {"one"}),
        ({"tags": "x, y"}, {"one"}),
        ({"tier": "global"}, {"two"}),
        ({"compartment": "session"}, {"one"}),
        ({"since": "2026-01-01T12:00:00Z", "until": "2999-12-31"}, {"one", "two"}),
        ({"since": "0001-01-01T00:00:00+05:00", "until": "9999-12-31"}, {"one", "two"}),
        ({"since": "2999-01-01"}, set[str]()),
        ({"until": "2020-01-01", "limit": None}, set[str]()),
    ):
        said = await use(context, "search_memory", query="walrus", **arguments)
        assert found == {word for word in ("one", "two") if f"walrus {word}" in said}, arguments


async def test_many_notes_are_paged() -> None:
    """`get_memory` keeps below the threshold, newest first, and says how to go on; long notes are cut."""
    context = context_of(thread_id="t", threshold=200)
    for number in range(40):
        context.notes.save(f"note {number} " + "word " * 10, tier="session")
    context.notes.save("long " * 1000, tier="global")

    seen, offset = set[int](), 0
    while True:
        said = await use(context, "get_memory", tier="session", offset=offset)
        assert context.manager.counter.count(said) <= 200
        seen |= {number for number in range(40) if f"note {number} " in said}
        if "There are" not in said:
            break
        offset = int(said.rpartition("offset=")[2])
    assert set(range(40)) == seen
    long = await use(context, "get_memory", tier="global")
    assert context.manager.counter.count(long) <= 200
    assert "long long" in long


async def test_a_long_note_is_not_cut_unmarked() -> None:
    """Of a long note of many lines, `get_memory` shows parts from all of it, and where lines are left out."""
    context = context_of(thread_id="t", threshold=200)
    lines = [f"fact {number}: the value is {number * 7}" for number in range(300)]
    context.notes.save("\n".join(["A list of facts", *lines]), tier="session")

    said = await use(context, "get_memory", tier="session")

    assert context.manager.counter.count(said) <= 200
    assert "A list of facts" in said
    assert re.search(r"…\d+\n", said)
    assert "fact 299: the value is 2093" in said


async def test_declined() -> None:
    """What the user declines is not done, and the model is told so."""

    async def no(_: object) -> bool:
        await asyncio.sleep(0)
        return False

    context = context_of(notes=NotesPolicy(tiers=[replace(GLOBAL, confirm=no)]))
    key = context.notes.add_pattern("x", "y")

    async with context.run():
        for name, arguments in (
            ("clear_memory", {"tier": "global"}),
            ("delete_memory", {"key": key}),
            ("save_memory", {"tier": "global", "content": "x"}),
            ("store_memory", {"type": "user_preference", "content": "x"}),
        ):
            try:
                said = await use(context, name, **arguments)
            except MemoryToolError as error:
                said = str(error)
            assert "declined" in said
        with pytest.raises(DeclinedError):
            await context.store("x", type="user_preference")
    with pytest.raises(DeclinedError):
        await context.store("x", tags=["always"])
    assert 1 == context.notes.count("global")
    assert 0 == len(await context.search("", tier="detail"))


async def test_secrets_stay_hidden() -> None:
    """A secret among the notes is named, and its text shown by no prompt and no list."""
    context = context_of()
    async with context.run() as notes:
        notes.save("hunter2", tier="run", type="secret", description="password")
        assert "hunter2" not in text_of(await fill(context, user("go")))
        assert "hunter2" not in await use(context, "get_memory")


async def test_without_notes() -> None:
    """Without tiers there are the three tools, shorter instructions, and no run."""
    context = MemoryContext("ann", store="sqlite://")

    assert ["retrieve_memory", "search_memory", "store_memory"] == [
        tool.name for tool in context.tools()
    ]
    assert "save_memory" not in MEMORY_INSTRUCTIONS
    assert MEMORY_INSTRUCTIONS == context.instructions == context_of().instructions
    with pytest.raises(InvalidArgumentError, match="notes=True"):
        async with context.run():
            pass


async def test_one_run_at_a_time() -> None:
    """A context is in one run at a time; a bad name of a task begins none."""
    context = context_of()
    async with context.run():
        with pytest.raises(InvalidArgumentError, match="in a run already"):
            async with context.run():
                pass
    with pytest.raises(InvalidScopeError):
        async with context.run(task="\n"):
            pass
    async with context.run():
        pass


class Failing(SQLAlchemyStore):
    """A store that fails when it is told to."""

    broken = False

    def clear(self, scope: Any, *, reason: str = "cleared") -> int:
        """Delete, or fail."""
        if self.broken:
            raise StoreError
        return super().clear(scope, reason=reason)


async def test_a_store_that_fails_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """Where the notes of a run cannot be deleted, it is logged and counted, and nobody sees them all the same."""
    with Failing("sqlite://") as store:
        context = context_of(store)
        async with context.run() as notes:
            key = notes.save("walrus", tier="run")
            await fill(context, user("go"))
            store.broken = True

        assert "could not be deleted" in caplog.text
        assert context.stats().store_failures >= 1
        assert "walrus" not in text_of(await context.get_messages())
        with pytest.raises(MemoryNotFoundError):
            await context.retrieve(key)


@pytest.mark.long
async def test_a_plain_run() -> None:
    """Notes of run and plan are kept without `context.run`, until a person speaks again or the context is cleared."""
    context = context_of(thread_id="t")
    script = [
        calls("save_memory", 1, content="the port is 5433", compartment="run"),
        calls("save_memory", 2, content="first the port", tier="plan"),
        "noted",
        "once more",
        "another answer",
    ]
    agent = agent_of(context, script)
    await agent.run(task="what is the port?")
    assert [item.text for item in context.notes.get()] == ["first the port", "the port is 5433"]
    assert "the port is 5433" in notes_in(prompts_of(agent)[1])[0]
    await context.add_message(UserMessage(content="my colleague speaks", source="reviewer"))
    assert len(context.notes.get()) == 2
    await agent.run(task="thanks, another question")
    assert context.notes.get() == []
    assert "port is 5433" not in "".join(notes_in(prompts_of(agent)[-1]))
    context.notes.save("gone with the messages", tier="run")
    await context.clear()
    assert context.manager.search("gone") == context.notes.get() == []
    context.notes.save("of the plain run", tier="run")
    async with context.run() as notes:
        assert notes.get() == []
    assert context.notes.get() == []


async def test_shown_notes_are_not_recalled_too() -> None:
    """A note of the run stands in the prompt once, also before the first message of a person."""
    context = context_of()
    tools = context.workbench([])
    note = "The rotation of the Bergen gateway is every Tuesday at nine"
    await tools.call_tool("save_memory", {"content": note, "tier": "run"})
    question = UserMessage(content="When is the rotation of the Bergen gateway?", source="planner")
    await context.add_message(question)
    texts = [str(message.content) for message in await context.get_messages()]
    assert 1 == "\n".join(texts).count(note)


async def test_a_plain_run_in_a_state() -> None:
    """Notes of a plain run stay in a saved state, and still end at the next message of a person."""
    store = SQLAlchemyStore("sqlite://")
    context = context_of(store)
    await context.add_message(user("go on"))
    context.notes.save("half done", tier="run")
    prompt = await context.get_messages()
    assert notes_in(prompt)
    again = context_of(store)
    await again.load_state(await context.save_state())
    assert await again.get_messages() == prompt
    [note] = again.notes.get(tier="run")
    await again.add_message(user("next"))
    assert not notes_in(await again.get_messages())
    with pytest.raises(MemoryDeletedError):
        again.manager.read(note.memory_key)


def test_notes_of_a_run_expire() -> None:
    """A note of a run whose end nobody tells expires after a week; promoted, it does not."""
    notes = ScopedMemory("sqlite://", user_id="ann", run_id="r", session_id="s")
    for tier in ("run", "plan"):
        key = notes.save("x", tier=tier)
        [item] = notes.get(tier=tier)
        assert item.expires_at is not None
        assert timedelta(days=6.9) < item.expires_at - item.created_at < timedelta(days=7.1)
        promoted = notes.promote(key, to="session")
        assert promoted is not None
    assert [item.expires_at for item in notes.get(tier="session")] == [None, None]
    assert not notes.get(tier="run")


async def test_schemas_offer_what_is_open() -> None:
    """The schemas of the tools name the tiers that are open, in a plain run and in `context.run`."""
    context = context_of(thread_id="t")

    async def told() -> dict[str, str]:
        schemas: list[Any] = list(await context.workbench([]).list_tools())
        tiers = dict[str, str]()
        for name in ("save_memory", "get_memory", "clear_memory"):
            [schema] = [schema for schema in schemas if schema["name"] == name]
            tiers[name] = schema["parameters"]["properties"]["tier"]["description"]
        return tiers

    plain = await told()
    assert plain["clear_memory"] == "run, plan, session, global."
    assert plain["get_memory"] == "run, plan, session, global; empty: all of them."
    assert "run (until this run ends" in plain["save_memory"]
    assert "task" not in plain["save_memory"]
    async with context.run(task="k"):
        in_run = await told()
    assert in_run["clear_memory"] == "run, plan, session, task, project, global."
