"""`MemoryContextMiddleware` with every checkpointer of LangGraph's: goes on, interrupts and resumes, stays small."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from langchain_memory_context import LeanAgentState, MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryManager, MemoryRef

LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
QUESTION = "When was worker-1234 done?"
ANSWER = "02:20:34 worker-1234 done"
THREAD = {"configurable": {"thread_id": "t"}}
SYNCHRONOUS = ("memory", "sqlite", "postgres")
ASYNCHRONOUS = ("memory", "aiosqlite", "aiopostgres")


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


@tool
def echo(text: str) -> str:
    """Say it backwards."""
    return text[::-1]


@tool
def publish(text: str) -> str:
    """Publish a text if a person says where."""
    return f"{len(text)} characters to {interrupt('Where to?')}"


@dataclass
class Talk:
    """One thread that goes on from step to step, each with connections, agent and middleware of its own.

    Attributes:
        saver: The checkpointer's name.
        folder: Where databases lie.
        postgres: The URL of an empty database.
        asynchronous: Whether `ainvoke` is used.
        schema: The agent's state; None for LangChain's own.
        prompts: What the models were shown.
    """

    saver: str
    folder: Path
    postgres: Callable[[], str]
    asynchronous: bool
    schema: type[LeanAgentState] | None = None
    kept: InMemorySaver = field(default_factory=InMemorySaver)
    prompts: list[list[BaseMessage]] = field(default_factory=list[list[BaseMessage]])

    @property
    def manager(self) -> MemoryManager:
        """The memories that the steps share."""
        return MemoryManager(f"sqlite:///{self.folder / 'memory.db'}", user_id="42")

    async def step(
        self,
        given: Any,
        script: Sequence[Any],
        *outer: Any,
        tools: Sequence[Any] = (read_log,),
    ) -> Any:
        """What a run gives, and the state's values after it."""
        model = ScriptedChatModel(script)
        own = MemoryContextMiddleware(f"sqlite:///{self.folder / 'memory.db'}", user_id="42")
        async with self._opened() as saver:
            agent: Any = create_agent(
                model,
                list(tools),
                middleware=[*outer, own],
                checkpointer=saver,
                state_schema=self.schema,
            )
            given = {"messages": [HumanMessage(given)]} if isinstance(given, str) else given
            result = (
                await agent.ainvoke(given, THREAD)
                if self.asynchronous
                else agent.invoke(given, THREAD)
            )
            state = await agent.aget_state(THREAD) if self.asynchronous else agent.get_state(THREAD)
        own.close()
        self.prompts += model.prompts
        return result, state.values

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[BaseCheckpointSaver[Any]]:
        path = str(self.folder / "graph.db")
        match self.saver:
            case "memory":
                yield self.kept
            case "sqlite":
                with SqliteSaver.from_conn_string(path) as saver:
                    yield saver
            case "aiosqlite":
                async with AsyncSqliteSaver.from_conn_string(path) as asynchronous:
                    yield asynchronous
            case "postgres":
                with PostgresSaver.from_conn_string(self.postgres()) as saver:
                    saver.setup()
                    yield saver
            case _:
                async with AsyncPostgresSaver.from_conn_string(self.postgres()) as asynchronous:
                    await asynchronous.setup()
                    yield asynchronous


CASES = [*((name, False) for name in SYNCHRONOUS), *((name, True) for name in ASYNCHRONOUS)]
QUICK = (("aiopostgres", True),)
PARAMS = [case if case in QUICK else pytest.param(case, marks=pytest.mark.long) for case in CASES]


@pytest.fixture(
    params=PARAMS, ids=[f"{name}-{'ainvoke' if later else 'invoke'}" for name, later in CASES]
)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Talk:
    """A thread on a checkpointer, synchronous or not."""
    name, asynchronous = request.param

    def postgres() -> str:
        return str(request.getfixturevalue("postgres_url")).replace("+psycopg", "")

    if "postgres" in name:
        request.getfixturevalue("postgres_url")
    return Talk(name, tmp_path, postgres, asynchronous)


def results(values: dict[str, Any]) -> list[ToolMessage]:
    """The results of tools in a state."""
    return [message for message in values["messages"] if isinstance(message, ToolMessage)]


def key_of(message: BaseMessage) -> str:
    """The key of the only reference in a message."""
    [ref] = MemoryRef.find_all(str(message.content))
    return ref.key


@pytest.mark.parametrize(
    "schema", [None, pytest.param(LeanAgentState, marks=pytest.mark.long)], ids=["whole", "lean"]
)
async def test_goes_on_where_it_stopped(talk: Talk, schema: type[LeanAgentState] | None) -> None:
    """An interrupt before a tool, its resume, a recall and what follows, each opened anew: no prompt is rewritten."""
    talk.schema = schema

    def pass_it(prompt: list[BaseMessage]) -> list[Any]:
        return [call("echo", "2", text=f"[MemoryRef: {key_of(prompt[-1])}]")]

    asks = HumanInTheLoopMiddleware(interrupt_on={"echo": True})
    tools = (read_log, echo)
    result, _ = await talk.step("Read the log.", [[call("read_log")], pass_it], asks, tools=tools)
    [shown] = result["__interrupt__"][0].value["action_requests"]
    assert "[MemoryRef: read_log_" in shown["args"]["text"]
    approved: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
    _, values = await talk.step(approved, ["Done."], asks, tools=tools)
    await talk.step(QUESTION, ["At 02:20:34."], asks, tools=tools)
    _, late = await talk.step("Thank you.", ["Bye."], asks, tools=tools)

    read, echoed = results(values)
    assert (LOG, LOG[::-1]) == (
        talk.manager.retrieve(key_of(read)),
        talk.manager.retrieve(key_of(echoed)),
    )
    assert ANSWER in str(talk.prompts[-1][-4].content)
    assert ANSWER not in str(late["messages"])
    for before, after in pairwise(talk.prompts):
        assert [(m.type, m.content) for m in before] == [(m.type, m.content) for m in after][
            : len(before)
        ]


@pytest.mark.long
async def test_a_thread_becomes_lean(tmp_path: Path) -> None:
    """A thread with LangChain's own state goes on with the lean one; its messages are then in one checkpoint each."""
    talk = Talk("sqlite", tmp_path, str, asynchronous=False)
    await talk.step("Read the log.", [[call("read_log")], "Read."])
    talk.schema = LeanAgentState
    counts = list[int]()
    for _ in range(3):
        _, values = await talk.step(QUESTION, ["At 02:20:34."])
        with closing(sqlite3.connect(tmp_path / "graph.db")) as database:
            [(kept,)] = database.execute("SELECT group_concat(hex(checkpoint)) FROM checkpoints")
        counts.append(kept.count(b"Read the log.".hex().upper()))
    assert counts[0] == counts[1] == counts[2]
    assert ["Read the log.", QUESTION] == [
        values["messages"][0].content,
        values["messages"][-2].content,
    ]


@pytest.mark.long
async def test_a_tool_that_asks_a_person(talk: Talk) -> None:
    """A tool that interrupts runs again with the text in place of its reference; what ran beside it is folded once."""
    await talk.step("Read the log.", [[call("read_log")], "Read."])
    [read] = results((await talk.step("Wait.", ["Yes."]))[1])
    reference = f"[MemoryRef: {key_of(read)}]"
    both = [call("publish", "2", text=reference), call("echo", "3", text=reference)]
    tools = (read_log, echo, publish)
    result, _ = await talk.step("Publish it.", [both], tools=tools)
    assert "__interrupt__" in result
    told: Command[Any] = Command(resume="the wiki")
    _, values = await talk.step(told, ["Done."], tools=tools)

    _, published, echoed = results(values)
    assert f"{len(LOG)} characters to the wiki" == published.content
    assert LOG[::-1] == talk.manager.retrieve(key_of(echoed))
    assert 2 == talk.manager.memory_store.count(talk.manager.scope)
