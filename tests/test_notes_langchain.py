"""Notes in a LangChain agent's life: runs that end, fail, wait for a person, and go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from pydantic import Field

from for_each import first_quick
from langchain_memory_context import MemoryContextMiddleware, memory_tools, note_tools
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    MEMORY_INSTRUCTIONS,
    MemoryManager,
    NotesPolicy,
    ScopedMemory,
    SQLAlchemyStore,
    TierPolicy,
)
from memory_context.autogen import memory_tools as autogen_tools
from memory_context.exceptions import InvalidArgumentError, InvalidScopeError, StoreError
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore

HEADER = "Your notes for this run"
GO = {"messages": [HumanMessage("go")]}


@tool
def boom() -> str:
    """Fail."""
    raise ZeroDivisionError


@tool
def work() -> str:
    """Work."""
    return "worked"


@pytest.fixture
def store(store_url: str) -> Iterator[MemoryStore]:
    """An empty store."""
    with SQLAlchemyStore(store_url) as store:
        yield store


def middleware_of(store: MemoryStore, **settings: Any) -> MemoryContextMiddleware:
    """A middleware with tiers."""
    return MemoryContextMiddleware(store, **{"user_id": "ann", "notes": True, **settings})


def agent_of(
    middleware: Any,
    script: Sequence[Any],
    **settings: Any,
) -> tuple[Any, ScriptedChatModel]:
    """An agent, and its model."""
    model = ScriptedChatModel(script)
    listed = middleware if isinstance(middleware, list) else [middleware]
    settings = {"tools": [boom, work], "checkpointer": InMemorySaver(), **settings}
    return create_agent(model, middleware=listed, **settings), model


def config_of(thread: str = "t", **told: object) -> dict[str, Any]:
    """The configuration of a run."""
    return {"configurable": {"thread_id": thread, **told}}


def text_of(messages: Sequence[BaseMessage]) -> str:
    """Everything that a model reads."""
    return "\n".join(str(message.content) for message in messages)


def notes_in(messages: Sequence[BaseMessage]) -> list[str]:
    """The messages that show notes."""
    return [
        str(m.content)
        for m in messages
        if isinstance(m, HumanMessage) and str(m.content).startswith(HEADER)
    ]


def tiers_in(store: MemoryStore) -> list[str]:
    """The tiers of all notes of the user."""
    manager = MemoryManager(store, user_id="ann")
    return sorted(item.tier for item in store.list_all(manager.scope) if item.tier != "detail")


def save(content: str, tier: str, call_id: str = "1") -> list[ToolCall]:
    """A call of `save_memory`."""
    return [call("save_memory", call_id, content=content, compartment=tier)]


TIERS = ("run", "plan", "session", "task", "project")
EVERY = [
    *(save(f"walrus of the {tier}", tier, str(number)) for number, tier in enumerate(TIERS)),
    "done",
]


async def invoke(agent: Any, given: Any, config: dict[str, Any], how: str) -> None:
    """Run the agent in one of its ways."""
    match how:
        case "invoke":
            agent.invoke(given, config)
        case "ainvoke":
            await agent.ainvoke(given, config)
        case "stream":
            list(agent.stream(given, config))
        case _:
            [one async for one in agent.astream(given, config)]


@pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke", "stream", "astream"]))
async def test_a_run(store: MemoryStore, how: str) -> None:
    """Run notes stand in every later prompt of their run, appended; after it they and the task's are gone."""
    middleware = middleware_of(store)
    agent, model = agent_of(middleware, [*EVERY, [call("get_memory", "9")], "again"])

    await invoke(agent, GO, config_of(task="fix", project="web"), how)
    assert ["project", "session"] == tiers_in(store)
    await invoke(agent, GO, config_of(task="fix", project="web"), how)

    during, after = model.prompts[:6], model.prompts[6:]
    assert [0, 1, 1, 1, 1, 1] == [len(notes_in(prompt)) for prompt in during]
    assert all(
        [m.content for m in before] == [m.content for m in later[: len(before)]]
        for before, later in pairwise(during)
    )
    assert all(isinstance(prompt[-1], ToolMessage) for prompt in during[1:])
    assert [0, 0] == [len(notes_in(prompt)) for prompt in after]
    assert "walrus of the session" in str(after[1][-1].content)
    assert "walrus of the project" in str(after[1][-1].content)
    assert "walrus of the run" not in str(after[1][-1].content)
    assert "walrus of the task" not in str(after[1][-1].content)


class BoundTools(ScriptedChatModel):
    """A model that keeps the tools of each request."""

    bound: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Any:
        """Note the tools."""
        self.bound.append([convert_to_openai_tool(tool) for tool in tools])
        return super().bind_tools(tools, **settings)


def test_schemas_offer_open_tiers(store: MemoryStore) -> None:
    """Each request tells of the tiers that are open in its run: of a task where one is named."""
    model = BoundTools(script=["done", "done"])
    agent: Any = create_agent(model, [work], middleware=[middleware_of(store)])

    agent.invoke(GO, config_of())
    agent.invoke(GO, config_of(task="fix"))

    told = list[str]()
    for tools in model.bound:
        [clear] = [t["function"] for t in tools if t["function"]["name"] == "clear_memory"]
        told.append(clear["parameters"]["properties"]["tier"]["description"])
    assert told == [
        "run, plan, session, project, global.",
        "run, plan, session, task, project, global.",
    ]


@pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke", "stream", "astream"]))
@pytest.mark.parametrize("saver", first_quick([True, False]))
async def test_a_run_that_fails(store_url: str, how: str, saver: bool) -> None:
    """When a tool, or the model, raises, the notes of the run are gone when the caller sees the error."""
    if saver and store_url == "sqlite://":
        store_url = "sqlite:///other.db"
    with SQLAlchemyStore(store_url) as store:
        for last in ([call("boom")], ZeroDivisionError()):
            script = [
                save("walrus", "run"),
                save("yak", "task", "2"),
                save("kept", "session", "3"),
                last,
            ]
            agent, _ = agent_of(
                middleware_of(store), script, **({} if saver else {"checkpointer": None})
            )

            with pytest.raises(ZeroDivisionError):
                await invoke(agent, GO, config_of(task="t"), how)

            assert {"session"} == set(tiers_in(store))


@pytest.mark.long
async def test_other_ends(store: MemoryStore) -> None:
    """A recursion limit, a stream that is left, and a cancelled run end it too."""
    script = [save("walrus", "run"), *[[call("work", str(n))] for n in range(9)]]
    agent, _ = agent_of(middleware_of(store), script)
    with pytest.raises(GraphRecursionError):
        agent.invoke(GO, config_of() | {"recursion_limit": 5})
    assert [] == tiers_in(store)

    agent, _ = agent_of(middleware_of(store), script)
    stream = agent.stream(GO, config_of("u"))
    for _ in range(4):
        next(stream)
    assert ["run"] == tiers_in(store)
    stream.close()
    assert [] == tiers_in(store)

    started = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(60)
        return ""

    agent, _ = agent_of(middleware_of(store), [save("walrus", "run"), [call("wait")]], tools=[wait])
    running = asyncio.create_task(agent.ainvoke(GO, config_of("v")))
    await started.wait()
    assert ["run"] == tiers_in(store)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [] == tiers_in(store)


def test_a_retry_goes_on_in_its_run(store: MemoryStore) -> None:
    """A model call that fails and is tried again does not end the run."""
    agent, model = agent_of(
        [ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False), middleware_of(store)],
        [save("walrus", "run"), ConnectionError(), "done"],
    )

    agent.invoke(GO, config_of())

    assert [0, 1, 1] == [len(notes_in(prompt)) for prompt in model.prompts]
    assert [] == tiers_in(store)


@pytest.mark.parametrize("ends", first_quick(["well", "badly"]))
def test_a_run_waits_for_a_person(store: MemoryStore, ends: str) -> None:
    """An interrupted run keeps its notes until it was resumed and has ended."""
    last = "done" if ends == "well" else ZeroDivisionError()
    agent, model = agent_of(
        [HumanInTheLoopMiddleware(interrupt_on={"work": True}), middleware_of(store)],
        [save("walrus", "run"), save("yak", "task", "2"), [call("work")], last],
    )

    agent.invoke(GO, config_of(task="t"))
    assert ["run", "task"] == tiers_in(store)
    approved: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
    if ends == "well":
        agent.invoke(approved, config_of())
    else:
        with pytest.raises(ZeroDivisionError):
            agent.invoke(approved, config_of())

    assert 1 == len(notes_in(model.prompts[-1]))
    assert [] == tiers_in(store)


def test_left_behind(store: MemoryStore) -> None:
    """The notes of an interrupted run that nobody resumed go when the thread's next run begins."""
    agent, model = agent_of(
        [HumanInTheLoopMiddleware(interrupt_on={"work": True}), middleware_of(store)],
        [save("walrus", "run"), [call("work", "1")], save("yak", "run", "2"), "done"],
    )
    agent.invoke(GO, config_of())

    agent.invoke(
        {"messages": [ToolMessage("no", tool_call_id="1"), HumanMessage("another thing")]},
        config_of(),
    )

    assert "walrus" not in "".join(notes_in(model.prompts[-1]))
    assert "yak" in "".join(notes_in(model.prompts[-1]))
    assert [] == tiers_in(store)


def test_runs_do_not_see_each_other(store: MemoryStore) -> None:
    """Runs of other threads, tasks and projects find nothing of a run, nor does an agent without tiers."""
    seen = list[str]()

    def look(inner: Any) -> Callable[[list[BaseMessage]], str]:
        def step(prompt: list[BaseMessage]) -> str:
            keys = [
                str(m.content).rpartition(": ")[2].rstrip("]")
                for m in prompt
                if isinstance(m, ToolMessage)
            ]
            looking = [
                *([call("retrieve_memory", key, key=key)] for key in keys),
                [call("search_memory", "s", query="walrus", limit=20)],
                [call("search_memory", "u", query="", limit=20)],
                "done",
            ]
            other, model = agent_of(inner, looking, tools=[])
            other.invoke(
                {"messages": [HumanMessage("as always")]}, config_of("other", task="x", project="y")
            )
            seen.append(text_of(model.prompts[-1]))
            return "done"

        return step

    plain = MemoryContextMiddleware(store, user_id="ann")
    for inner in (middleware_of(store), plain):
        agent, _ = agent_of(middleware_of(store), [*EVERY[:-1], look(inner)])
        agent.invoke(GO, config_of(task="fix", project="web"))

    assert 2 == len(seen)
    assert all("walrus of" not in text for text in seen)
    assert all(5 == text.count("There is no memory with the key") for text in seen)


def test_sub_agents(store: MemoryStore) -> None:
    """A sub-agent that a tool calls shares the session, and not the run."""
    inner, below = agent_of(
        middleware_of(store),
        [[call("get_memory", "8")], save("yak", "session", "9"), "done"],
        tools=[],
        checkpointer=None,
    )

    @tool
    def ask_helper() -> str:
        """Ask the helper."""
        return str(inner.invoke(GO)["messages"][-1].content)

    agent, model = agent_of(
        middleware_of(store),
        [
            save("walrus", "run"),
            save("owl", "session", "2"),
            [call("ask_helper", "3")],
            [call("get_memory", "4")],
            "done",
        ],
        tools=[ask_helper],
    )
    agent.invoke(GO, config_of())

    assert "walrus" not in text_of(below.prompts[-1])
    assert "owl" in text_of(below.prompts[-1])
    assert "yak" in str(model.prompts[-1][-1].content)
    assert "walrus" in str(model.prompts[-1][-1].content)


@dataclass
class Context:
    """What a run is told."""

    user_id: str
    task: str


def test_told_by_the_context(store: MemoryStore) -> None:
    """User and task come from the run's context; a task that does not end with a run is ended by hand."""
    middleware = middleware_of(
        store, user_id=None, notes=NotesPolicy(project="web", ends_task=False)
    )
    script = [save("walrus", "task"), save("yak", "project", "2"), "done"]
    agent, model = agent_of(
        middleware, [*script, [call("get_memory")], "done"], context_schema=Context
    )

    agent.invoke(GO, config_of(), context=Context("ann", "fix"))
    assert ["project", "task"] == tiers_in(store)
    agent.invoke(GO, config_of("u"), context=Context("ann", "fix"))

    assert "walrus" in str(model.prompts[-1][-1].content)
    assert [0, 1] == [middleware.end_task("fix", user_id=user) for user in ("bob", "ann")]
    assert ["assembly", "project"] == tiers_in(store)
    with pytest.raises(InvalidScopeError):
        middleware.end_task("fix")


def test_states_of_older_versions_and_json(store: MemoryStore) -> None:
    """What is kept of a run in the state is JSON."""
    agent, _ = agent_of(
        [HumanInTheLoopMiddleware(interrupt_on={"work": True}), middleware_of(store)],
        [save("walrus", "run"), [call("work", "w"), call("work", "v")]],
    )
    agent.invoke(GO, config_of(task="t"))

    facts = agent.get_state(config_of()).values["memory_context"]["MemoryContextMiddleware"]

    assert facts == json.loads(json.dumps(facts))
    assert ("t", "default") == (facts["run"]["task"], facts["run"]["project"])
    assert ["notes"] == [one["facts"]["kind"] for one in facts["note"]["inserted"]]


@pytest.mark.long
def test_tools_alone() -> None:
    """`note_tools` and `memory_tools` work on the notes of one place, with compartments for tiers."""
    notes = ScopedMemory("sqlite://", user_id="ann", session_id="t")
    saving, getting, _, clearing, listing = note_tools(notes)

    message = saving.invoke(
        call("save_memory", content="use tabs", compartment="session", tags="a, b", priority="7")
    )
    assert message.content.startswith("Saved in session as [MemoryRef: note_")
    assert "(session, a, b, priority 7, model): use tabs" in getting.invoke({})
    assert "use tabs" in getting.invoke({"compartment": "session", "tags": ["b"]})
    assert "No notes were found." == getting.invoke({"tier": "global"})
    assert "(without a category): 1" == listing.invoke({})
    assert "use tabs" in memory_tools(notes.manager)[1].invoke(
        {"query": "tabs", "compartment": "session"}
    )
    assert "open tiers are session, global" in saving.invoke({"content": "x", "tier": "task"})
    assert "tier is missing" in clearing.invoke({})
    assert "Deleted 1 note of the tier session." == clearing.invoke({"tier": "session"})


class FailingTasks(SQLAlchemyStore):
    """A store that cannot delete what is of a task."""

    def clear(self, scope: Scope, *, reason: str = "cleared") -> int:
        """Delete, or fail."""
        if scope.tier == "task":
            raise StoreError
        return super().clear(scope, reason=reason)


def test_a_task_whose_notes_stay(caplog: pytest.LogCaptureFixture) -> None:
    """Where the notes of a task cannot be deleted, the warning says that they are a task's."""
    with FailingTasks("sqlite://") as store:
        agent, _ = agent_of(middleware_of(store), ["done"])

        agent.invoke(GO, {"configurable": {"thread_id": "1", "task": "deploy"}})

    assert "the notes of a task that ended could not be deleted" in caplog.text


def test_with_and_without() -> None:
    """Without tiers there are no hooks around the agent and no note tools; a subclass must have the hooks."""
    with SQLAlchemyStore("sqlite://") as store:
        plain, full = MemoryContextMiddleware(store, user_id="ann"), middleware_of(store)
        nodes = [set(agent_of(one, [])[0].nodes) for one in (plain, full)]
        assert {
            "MemoryContextMiddleware.before_agent",
            "MemoryContextMiddleware.after_agent",
        } == nodes[1] - nodes[0]
        assert (3, 8) == (len(plain.tools), len(full.tools))
        assert MEMORY_INSTRUCTIONS == full.instructions == plain.instructions
        own = type("Own", (MemoryContextMiddleware,), {})
        with pytest.raises(InvalidArgumentError, match="MiddlewareWithNotes"):
            own(store, user_id="ann", notes=NotesPolicy(tiers=[TierPolicy("team")]))
        assert own(store, user_id="ann").tools


def test_tools_of_notes() -> None:
    """The tools of a ScopedMemory are those of its manager and those on notes, in both hosts the same."""
    with ScopedMemory("sqlite://", user_id="ann", session_id="s1") as notes:
        tools = {tool.name: tool for tool in memory_tools(notes)}
        tools["save_memory"].invoke({"content": "the port is 5433"})
        assert "5433" in tools["search_memory"].invoke({"query": "port"})
        assert [*tools] == [tool.name for tool in autogen_tools(notes)]
        assert len(tools) == 8


def test_beside_another_instance(store: MemoryStore) -> None:
    """Inside of another instance, which has no tools and no notes, an agent is told its open tiers and writes to them."""
    ours = middleware_of(store)
    other = MemoryContextMiddleware(store, user_id="ann", tools=False, name="other")
    for order in ([ours, other], [other, ours]):
        agent, model = agent_of(order, [save("a walrus", "run"), "ok"])
        agent.invoke(GO, config_of())
        assert "a walrus" in text_of(model.prompts[-1])
        assert [] == tiers_in(store)
