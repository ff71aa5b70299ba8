"""Databases that hang without failing: what waits for them gives up, agents go on, calls can be cancelled, processes end."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as tool_call
from memory_context import MemoryContext, MemoryManager, SQLAlchemyStore
from memory_context.conversation import fail_open
from memory_context.exceptions import StoreUnavailableError
from memory_context.runtime import deadlines
from memory_context.stores.sql import engine_setup
from messages import LOG, results
from own_postgres import OwnServer, own_server
from test_context import fill, shown

SILENCE = 0.3


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with own_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not take connections is given up as soon as outside of tests."""
    monkeypatch.setattr(engine_setup, "CONNECT_SECONDS", 10)


@contextmanager
def frozen(server: OwnServer, seconds: float = SILENCE) -> Iterator[None]:
    """In the body the server is stopped, and given up after so many seconds; outside it has its usual time."""
    with pytest.MonkeyPatch.context() as patch, server.frozen():
        patch.setattr(deadlines, "ANSWER_SECONDS", seconds)
        yield


@pytest.mark.parametrize("given", ["url", "engine", "pool"])
def test_frozen_server(server: OwnServer, given: str) -> None:
    """A server that is stopped with its connections open is given up; when it goes on, so do stores."""
    engine = sa.create_engine(server.url, connect_args={"connect_timeout": 10})
    named: Any = {"url": server.url, "engine": engine, "pool": engine.pool}[given]
    with MemoryManager(named, user_id=given) as manager:
        key = manager.store("before")
        with frozen(server), pytest.raises(StoreUnavailableError):
            manager.retrieve(key)
        assert "before" == manager.retrieve(key)
    engine.dispose()


@pytest.mark.long
async def test_agent_goes_on_without_frozen_server(server: OwnServer) -> None:
    """A context keeps full texts while its server is frozen, and folds again afterwards."""
    context = MemoryContext("agent", store=server.url)
    await fill(context, results(f"first {LOG}"))
    with frozen(server):
        messages = await fill(context, results(f"second {LOG}", number=2))
    assert f"second {LOG}" == shown(messages[-1])
    assert context.stats().store_failures

    context._conversation.fail_open.breaker.paused_until = 0.0  # noqa: SLF001 - the pause after a slow failure
    messages = await fill(context, results(f"third {LOG}", number=3))
    assert shown(messages[-1]).startswith("[MemoryRef: ")
    await context.aclose()


async def test_calls_on_a_frozen_server_can_be_cancelled(server: OwnServer) -> None:
    """Whoever does not want to wait for the deadline is let go at once."""
    context = MemoryContext("cancels", store=server.url)
    key = await context.store("kept")
    with frozen(server, 3600.0):
        for work in (context.retrieve(key), context.add_message(results(LOG))):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(work, 0.2)
    assert "kept" == await context.retrieve(key)
    store: Any = context.manager.memory_store
    while store.database.engine.pool.checkedout():  # noqa: ASYNC110 - what was cancelled goes on in its thread
        await asyncio.sleep(0.01)
    await context.aclose()


@pytest.mark.long
def test_langchain_agent_goes_on_without_frozen_server(server: OwnServer) -> None:
    """A synchronous agent of LangChain's goes on with full texts while its server is frozen."""

    @tool
    def read() -> str:
        """Read the log."""
        return LOG

    own = MemoryContextMiddleware(server.url, user_id="chain")
    with frozen(server):
        model = ScriptedChatModel([[tool_call("read", "1")], "Done."])
        agent: Any = create_agent(model, [read], middleware=[own])
        state = agent.invoke({"messages": [HumanMessage("Read it.")]})
        assert [LOG] == [one.content for one in state["messages"] if one.type == "tool"]
        assert own.stats().store_failures
    own.close()


_PROGRAM = """
import asyncio, sys
from memory_context import MemoryContext
from memory_context.conversation import fail_open
from memory_context.runtime import deadlines
from messages import LOG, results

deadlines.EXIT_SECONDS = 0.5

async def main():
    context = MemoryContext("exits", store=sys.argv[1])
    await context.store("kept")
    print("frozen?", flush=True)
    sys.stdin.readline()
    try:
        await asyncio.wait_for(context.add_message(results(LOG)), 0.2)
    except TimeoutError:
        print("cancelled", flush=True)

asyncio.run(main())
"""


@pytest.mark.long
def test_process_ends_while_its_server_is_frozen(server: OwnServer) -> None:
    """A process whose threads wait for a frozen server ends all the same."""
    command = [sys.executable, "-c", _PROGRAM, server.url]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        )
    }
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert "frozen?\n" == process.stdout.readline()
        with server.frozen():
            told, _ = process.communicate("\n", timeout=600)
            assert "cancelled\n" == told
    assert 0 == process.returncode


async def test_store_that_hangs_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a store waits for, without a deadline of its own, an agent goes on with full texts."""
    monkeypatch.setattr(fail_open, "STORE_SECONDS", SILENCE)
    end = threading.Event()

    class HungStore(SQLAlchemyStore):
        """A store whose disk does not answer."""

        def put(self, *_args: Any, **_named: Any) -> Any:
            """Wait."""
            end.wait()

    context = MemoryContext("ann", store=HungStore("sqlite://"), recall=False)
    messages = await fill(context, results(LOG))
    end.set()

    assert LOG == shown(messages[-1])
    assert context.stats().store_failures


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
def test_database_that_stays_locked(sqlite_url: str) -> None:
    """A SQLite file that another program never unlocks is given up, by all threads at about the same time."""
    path = sqlite_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        with MemoryManager(sqlite_url, user_id="ann") as manager:
            with pytest.raises(StoreUnavailableError):
                manager.store("x")
            other.close()
            assert manager.store("x")
