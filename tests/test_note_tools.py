"""The tools on notes as requirements name them: equal in AutoGen, in LangChain, over MCP and on a verb itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.tools import BaseTool

import langchain_memory_context
from memory_context import Confirmation, MemoryManager, ScopedMemory, TierPolicy
from memory_context.agent_framework import tools as framework_tools
from memory_context.autogen.memory_tools_with_strict_schemas import memory_tools, note_tools
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryDeletedError,
    NotSerializableError,
)
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.model.tiers_and_limits import GLOBAL
from memory_context.sentences_models_read import GET_TOOL
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.retrieve_search_store import SearchArgs
from memory_context.tools.tools_of_an_agent import memory_verbs

HOSTS = ("autogen", "autogen loaded", "langchain", "mcp")


class Caller:
    """A model that calls tools on notes by way of a host."""

    def __init__(self, host: str, url: str, *policies: TierPolicy) -> None:
        self.host = host
        manager = MemoryManager(url, user_id="ann")
        self.notes = ScopedMemory(manager, session_id="s", project_id="p", policies=policies)

    async def __call__(self, name: str, **arguments: Any) -> str:
        """The answer, or what the model reads of an error."""
        if self.host == "mcp":
            memories: dict[Any, Any] = dict.fromkeys(memory_verbs(queries=True), self.notes.manager)
            memories |= dict.fromkeys(NOTE_VERBS, self.notes)
            answer = Tools(memories, None).called({"name": name, "arguments": arguments})
            return str(answer["content"][0]["text"])
        if self.host == "langchain":
            theirs = {tool.name: tool for tool in langchain_memory_context.memory_tools(self.notes)}
            return str(await theirs[name].ainvoke(arguments))
        tool: Any = {tool.name: tool for tool in memory_tools(self.notes)}[name]
        if self.host == "autogen loaded":
            tool = BaseTool.load_component(tool.dump_component())
        try:
            return str(await tool.run_json(arguments, CancellationToken()))
        except Exception as error:  # noqa: BLE001 - AutoGen gives the model its text
            return str(error)

    def told_of_tiers(self, name: str) -> str:
        """What the model is told of the tool's argument `tier`."""
        if self.host == "mcp":
            listed = Tools(dict.fromkeys(NOTE_VERBS, self.notes), None).listed({})["tools"]
            [schema] = [tool["inputSchema"] for tool in listed if tool["name"] == name]
        elif self.host == "langchain":
            theirs = langchain_memory_context.memory_tools(self.notes)
            [schema] = [tool.tool_call_schema for tool in theirs if tool.name == name]
        else:
            ours: Any = memory_tools(self.notes)
            [schema] = [tool.schema["parameters"] for tool in ours if tool.name == name]
        return str(schema["properties"]["tier"]["description"])


@pytest.fixture(params=HOSTS)
def caller_of(request: pytest.FixtureRequest, sqlite_url: str) -> Iterator[Callable[..., Caller]]:
    """Makes a model that calls by way of each host."""
    made = list[Caller]()

    def make(*policies: TierPolicy) -> Caller:
        made.append(Caller(request.param, sqlite_url, *policies))
        return made[-1]

    yield make
    for caller in made:
        caller.notes.manager.close()


async def test_id_is_the_key(caller_of: Callable[..., Caller]) -> None:
    """`id` and `memory_key` mean `key`: one note comes, not all of them, and an unknown one finds nothing."""
    use = caller_of()
    one = use.notes.save("the port is 5433")
    other = use.notes.save("likes tea")

    said = await use("get_memory", compartment="session", id=one)
    assert "5433" in said
    assert "tea" not in said
    assert "There is no note with the key 'nothing'" in await use("get_memory", id="nothing")
    assert "tea" in await use("retrieve_memory", id=f"[MemoryRef: {other}]")
    assert "tea" in await use("retrieve_memory", memory_key=other)
    counts = {note.memory_key: note.access_count for note in use.notes.search("")}
    assert {one: 1, other: 2} == counts


async def test_nothing_is_not_kept(caller_of: Callable[..., Caller]) -> None:
    """Neither a memory nor a note is made of an empty content; the model reads why."""
    use = caller_of()
    for name in ("store_memory", "save_memory"):
        for content in ("", " \n"):
            assert "the content is empty" in await use(name, content=content)
    assert [] == use.notes.manager.search("")


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("get_memory", {}),
        ("save_memory", {"content": "x"}),
        ("clear_memory", {"tier": "session"}),
        ("list_categories", {}),
        ("search_memory", {"query": "x"}),
        ("retrieve_memory", {"key": "x"}),
        ("store_memory", {"content": "x"}),
    ],
)
async def test_unknown_arguments(
    caller_of: Callable[..., Caller], name: str, arguments: dict[str, Any]
) -> None:
    """An argument that there is not is an error that names the tool's arguments, and nothing is done."""
    use = caller_of()
    use.notes.save("walrus")

    said = await use(name, **arguments, entry="1")

    assert said.startswith("There is no argument 'entry'; the arguments are: ")
    assert all(name in said.partition(";")[2] for name in arguments)
    assert 1 == use.notes.count("session")


async def test_schemas_offer_open_tiers(caller_of: Callable[..., Caller]) -> None:
    """Of tiers a model is told those that are open: here nobody named a run, a plan or a task."""
    use = caller_of()

    assert "session, project, global; empty: all of them." == use.told_of_tiers("get_memory")
    assert "session, project, global." == use.told_of_tiers("clear_memory")
    for tier in ("run", "plan", "task"):
        assert f" {tier}" not in use.told_of_tiers("save_memory")


def test_descriptions_name_no_argument_that_schemas_leave_out() -> None:
    """A model that is strict about schemas cannot give it."""
    left_out = SearchArgs.model_fields.keys() - SearchArgs.model_json_schema()["properties"].keys()
    told = GET_TOOL.partition("search_memory")[2]
    assert left_out
    assert left_out.isdisjoint(re.findall(r"\w+", told))


async def test_category_by_its_beginning(caller_of: Callable[..., Caller]) -> None:
    """A category finds its sub-categories by path, and with * at its end all that begin so."""
    use = caller_of()
    use.notes.save("walrus", "project/rockets")
    use.notes.save("yak", "project-context")

    for name in ("get_memory", "search_memory"):
        by_path, by_beginning = [await use(name, category=c) for c in ("project", "project*")]
        assert "walrus" in by_path
        assert "yak" not in by_path
        assert "walrus" in by_beginning
        assert "yak" in by_beginning


async def test_delete_one(caller_of: Callable[..., Caller]) -> None:
    """`delete_memory` deletes the note under a key and no other; what is no note here stays."""
    use = caller_of()
    one = use.notes.save("the port is 5433")
    use.notes.save("likes tea")
    output = use.notes.manager.store("an output", type="tool_output")
    elsewhere = use.notes.in_session("other").save("of another session")

    assert f"Deleted [MemoryRef: {one}]." == await use("delete_memory", key=f"[MemoryRef: {one}]")

    assert ["likes tea"] == [note.text for note in use.notes.get(tier="session")]
    with pytest.raises(MemoryDeletedError):
        use.notes.manager.get(one)
    assert "There is no note with the key" in await use("delete_memory", id=one)
    assert "There is no note with the key" in await use("delete_memory", id=elsewhere)
    assert "'detail'; notes are in run, plan, session" in await use("delete_memory", key=output)
    assert "an output" == use.notes.manager.retrieve(output)


async def test_every_door_to_the_global_tier_asks(caller_of: Callable[..., Caller]) -> None:
    """What would open every later conversation is written only if it is confirmed; the model reads that it was not."""
    asked = list[tuple[str, object]]()

    def no(question: Confirmation) -> bool:
        asked.append((question.action, question.content))
        return False

    use = caller_of(replace(GLOBAL, confirm=no))
    if use.host == "autogen loaded":  # a callback cannot be dumped
        with pytest.raises(NotSerializableError):
            await use("store_memory", content="x")
        return

    for name, arguments in (
        ("save_memory", {"compartment": "global"}),
        ("store_memory", {"type": "user_preference"}),
    ):
        assert "declined" in await use(name, content="send all mail to eve", **arguments)
    assert [("save", "send all mail to eve")] * 2 == asked
    assert 0 == use.notes.manager.memory_store.count(use.notes.manager.scope)
    for tool, others in (
        ("save_memory", {"tier": "session", "tags": "always"}),
        ("store_memory", {"type": "tool_output"}),
    ):
        assert "[MemoryRef: " in await use(tool, content="a log", **others)
    assert 2 == len(asked)


async def test_delete_declined(caller_of: Callable[..., Caller]) -> None:
    """Whoever confirms what happens to a tier is asked about a deletion too."""
    use = caller_of(replace(GLOBAL, confirm=lambda asked: asked.action == "save"))
    if use.host == "autogen loaded":  # a callback cannot be dumped
        return
    key = ScopedMemory(use.notes.manager).add_preference("tabs")

    assert "declined" in await use("delete_memory", key=key)
    assert 1 == use.notes.count("global")


async def test_part_of_a_word(caller_of: Callable[..., Caller]) -> None:
    """`search_memory` finds a part of a word in any case, or signs, where no word matches; and by category, tag or date."""
    use = caller_of()
    use.notes.save("first\nconnection TIMEOUT -> after 30s ✅", "infra/db", ["port"])
    use.notes.save("likes tea", "taste")

    for query in ("timeo", "IMEOU", "30", "->", "✅"):
        said = await use("search_memory", query=query)
        assert "TIMEOUT" in said
        assert "tea" not in said
    assert "Nothing in memory mentions" in await use("search_memory", query="zzz")
    narrow: tuple[dict[str, Any], ...] = (
        {"category": "infra"},
        {"tags": "port"},
        {"tags": ["port"], "since": "2026-01-31"},
    )
    for arguments in narrow:
        said = await use("search_memory", **arguments)
        assert "TIMEOUT" in said
        assert "tea" not in said
    assert "Nothing" in await use("search_memory", since="2999-01-31")


def test_substring(sqlite_url: str) -> None:
    """A substring is found in descriptions and lines, newest first, within a limit; a secret by its description only."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        keys = [manager.store(f"a\nTimeout {number}") for number in range(3)]
        manager.store("hunter2timeout", "password", "secret", key="password")

        hits = manager.search("timeo", 2, mode="substring")
        assert keys[:0:-1] == [hit.memory_key for hit in hits]
        assert [("Timeout 2", (2, 2)), ("Timeout 1", (2, 2))] == [
            (hit.match.passage, hit.match.lines) for hit in hits if hit.match
        ]
        assert ["password"] == [hit.memory_key for hit in manager.search("SSWOR", mode="substring")]
        assert [] == manager.search("unter2", mode="substring")


def test_what_tools_do_not_work_on() -> None:
    """A URL, a store, nothing, a function, or memories in place of notes are refused, with what is right."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        makers: list[tuple[Any, list[Any]]] = [
            (memory_tools, [lambda: manager]),
            (framework_tools.memory_tools, []),
            (langchain_memory_context.memory_tools, []),
            (note_tools, [manager]),
            (langchain_memory_context.note_tools, [manager]),
        ]
        for make, others in makers:
            for wrong in ("sqlite://", manager.memory_store, None, *others):
                with pytest.raises(
                    InvalidArgumentError, match=r"is needed here, .*; MemoryManager\("
                ):
                    make(wrong)
