"""A SQLite file that is removed, renamed or replaced while it is open: nothing is acknowledged that is not there."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from for_each import first_quick
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.exceptions import StoreUnavailableError
from memory_context.stores import SQLAlchemyStore
from memory_context.testing import ScriptedChatClient
from messages import LOG

LOGS = ("-wal", "-shm")
_READER = """
import sys
from memory_context import MemoryManager
with MemoryManager(sys.argv[1], user_id="ann") as manager:
    for key in sys.argv[2:]:
        print(key, len(manager.retrieve(key)))
"""
_WRITER = """
import sys
from memory_context import MemoryManager
from memory_context.exceptions import StoreUnavailableError
with MemoryManager(sys.argv[1], user_id="ann") as manager:
    for line in sys.stdin:
        try:
            print(manager.store(f"{line.strip()} of the other process", key=line.strip()), flush=True)
        except StoreUnavailableError:
            print("unavailable", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "memory.db"


def files_of(path: Path) -> Iterator[Path]:
    """The database's files that are there."""
    return (file for suffix in ("", *LOGS) if (file := Path(f"{path}{suffix}")).exists())


def take_away(path: Path, take: Callable[[Path], object]) -> None:
    """Remove or rename the database and its logs, in the order in which a shell lists them.

    Meanwhile other threads of the library may close a log, and then SQLite removes it, or open a new database with a
    log of its own: neither is what a person takes away who named the old one's files.
    """
    for file, number in [(file, file.stat().st_ino) for file in files_of(path)]:
        with suppress(FileNotFoundError):
            if file.stat().st_ino == number:
                take(file)


def remove(path: Path) -> None:
    """Remove the database."""
    take_away(path, Path.unlink)


def remove_alone(path: Path) -> None:
    """Remove the database, and forget its log."""
    path.unlink()


def rename(path: Path, suffix: str = "old") -> None:
    """Rename the database."""
    take_away(path, lambda file: file.rename(file.parent / f"{suffix}-{file.name}"))


def rename_alone(path: Path) -> None:
    """Rename the database, and forget its log."""
    path.rename(path.parent / f"old-{path.name}")


def other_database(path: Path) -> Path:
    """Another database beside this one."""
    other = path.parent / "other.db"
    with MemoryManager(f"sqlite:///{other}", user_id="ann") as manager:
        manager.store("of the other database", key="other")
    return other


def replace(path: Path) -> None:
    """Put another database in its place."""
    other = other_database(path)
    remove(path)
    other.rename(path)


def replace_alone(path: Path) -> None:
    """Put another database in its place, beside the log of this one."""
    other_database(path).rename(path)


WAYS = (remove, remove_alone, rename, rename_alone, replace, replace_alone)
SOME_WAYS = [way if way is replace else pytest.param(way, marks=pytest.mark.long) for way in WAYS]


def read_by_another_process(path: Path, keys: list[str]) -> list[str]:
    """The keys under which another process finds something; it must find them all."""
    command = [sys.executable, "-c", _READER, f"sqlite:///{path}", *keys]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not run.stderr
    with closing(sqlite3.connect(path)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
    return [line.split()[0] for line in run.stdout.splitlines()]


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The events that were logged as warnings."""
    return [record.event for record in caplog.records if record.levelno >= logging.WARNING]  # type: ignore[attr-defined] # a field of ours


@pytest.mark.parametrize("way", SOME_WAYS)
@pytest.mark.long
def test_one_thread(
    path: Path, way: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """One call fails and says why; the next ones work on the file that is there now, and are kept."""
    manager = MemoryManager(f"sqlite:///{path}", user_id="ann")
    manager.store("before " * 20, key="before")
    way(path)

    with pytest.raises(
        StoreUnavailableError,
        match=r"memory\.db was removed, renamed or replaced while it was open",
    ):
        manager.store("lost " * 20, key="lost")
    keys = [manager.store(f"after {number}", key=f"after-{number}") for number in range(3)]
    assert ["memory_context.file_replaced"] == events(caplog)
    assert keys == read_by_another_process(path, keys)
    manager.close()
    assert keys == read_by_another_process(path, keys)
    with MemoryManager(f"sqlite:///{path}", user_id="ann") as fresh:
        found = {item.memory_key for item in fresh.memory_store.list_all(fresh.scope)}
    assert {*keys} | ({"other"} if way in {replace, replace_alone} else set()) == found


@pytest.mark.long
@pytest.mark.parametrize("way", SOME_WAYS)
def test_four_threads(
    path: Path, way: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Under threads that write all the time, whatever is acknowledged after the file went away is in the new one."""
    manager = MemoryManager(f"sqlite:///{path}", user_id="ann")
    manager.store("before", key="before")
    done = threading.Event()

    def write(number: int) -> str | None:
        if number == 20:
            way(path)
            done.set()
        begun_after = done.is_set()
        try:
            key = manager.store(f"text {number}", key=f"key-{number}")
        except StoreUnavailableError:
            return None
        return key if begun_after else None

    keys, numbers = list[str](), count()
    with ThreadPoolExecutor(4) as pool:
        # On a busy machine many are refused before the one that replaces the file is done.
        while len(keys) < 30:
            keys += [key for key in pool.map(write, islice(numbers, 140)) if key]
    manager.close()

    assert "memory_context.file_replaced" in events(caplog)
    assert keys == read_by_another_process(path, keys)


@pytest.mark.parametrize("way", first_quick([rename, rename_alone]))
def test_away_and_back(path: Path, way: Callable[[Path], None]) -> None:
    """A database that is put back before another one was made has everything that was acknowledged."""
    with MemoryManager(f"sqlite:///{path}", user_id="ann") as manager:
        manager.store("before", key="before")
        way(path)
        with pytest.raises(StoreUnavailableError):
            manager.retrieve("before")
        for file in path.parent.glob("old-*"):
            file.rename(path.parent / file.name.removeprefix("old-"))
        manager.store("after", key="after")

        assert ["before", "after"] == read_by_another_process(path, ["before", "after"])


@pytest.mark.long
def test_a_log_that_was_left_is_kept(path: Path) -> None:
    """Of a database that was moved without its log, the log gets another name, and belongs to it still."""
    manager = MemoryManager(f"sqlite:///{path}", user_id="ann")
    manager.store("before", key="before")
    rename_alone(path)
    with pytest.raises(StoreUnavailableError):
        manager.retrieve("before")
    manager.store("after", key="after")
    manager.close()

    (log,) = path.parent.glob("memory.db-wal.*")
    old = path.parent / "old-memory.db"
    log.rename(f"{old}-wal")
    assert ["before"] == read_by_another_process(old, ["before"])


@pytest.mark.long
def test_another_database_beside_the_log_that_was_left(path: Path) -> None:
    """A log is not taken for that of a database that is put there after its own was missed."""
    manager = MemoryManager(f"sqlite:///{path}", user_id="ann")
    manager.store("before", key="before")
    other = other_database(path)
    path.unlink()
    with pytest.raises(StoreUnavailableError):
        manager.retrieve("before")
    other.rename(path)

    assert ["other"] == [item.memory_key for item in manager.memory_store.list_all(manager.scope)]
    assert ["other"] == read_by_another_process(path, ["other"])
    manager.close()


def test_several_stores(path: Path) -> None:
    """Stores that share the engine, and what they know of the schema, go on in the new file too."""
    one, other = (MemoryManager(f"sqlite:///{path}", user_id="ann") for _ in range(2))
    keys = [one.store("one", key="one"), other.store("other", key="other")]
    remove(path)

    with pytest.raises(StoreUnavailableError):
        one.retrieve("one")
    assert keys == [other.store("other", key="one"), one.store("one", key="other")]
    one.close()
    other.close()


@pytest.mark.long
@pytest.mark.parametrize("way", SOME_WAYS)
def test_several_processes(path: Path, way: Callable[[Path], None]) -> None:
    """A process that has the old file open still, and comes later, does no harm to what others made meanwhile."""
    manager = MemoryManager(f"sqlite:///{path}", user_id="ann")
    manager.store("before", key="before")
    command = [sys.executable, "-c", _WRITER, f"sqlite:///{path}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:

        def told(key: str) -> str:
            assert child.stdin
            assert child.stdout
            print(key, file=child.stdin, flush=True)
            return child.stdout.readline().strip()

        assert "child" == told("child")
        way(path)
        with pytest.raises(StoreUnavailableError):
            manager.retrieve("before")
        keys = [manager.store(f"mine {number}", key=f"mine-{number}") for number in range(3)]
        assert "unavailable" == told("child")
        keys += [told("child"), manager.store("mine", key="mine"), told("second")]
        assert keys == read_by_another_process(path, keys)
    manager.close()
    assert keys == read_by_another_process(path, keys)


def test_while_a_transaction_runs(path: Path) -> None:
    """What was committed into a file that went away meanwhile is not acknowledged."""
    store = SQLAlchemyStore(f"sqlite:///{path}")
    with pytest.raises(StoreUnavailableError):
        store.database.write(lambda _: remove(path))
    assert [] == store.users()
    store.close()


@pytest.mark.parametrize("is_pool", first_quick([False, True]))
@pytest.mark.long
def test_engine_of_the_caller(path: Path, is_pool: bool) -> None:
    """On an engine or a pool of the caller's it is seen too, for each of its connections."""
    engine = sa.create_engine(f"sqlite:///{path}")
    manager = MemoryManager(engine.pool if is_pool else engine, user_id="ann")
    manager.store("before", key="before")
    remove(path)

    with pytest.raises(StoreUnavailableError):
        manager.store("lost", key="lost")
    manager.store("after", key="after")
    assert ["after"] == read_by_another_process(path, ["after"])
    engine.dispose()


class Jobs:
    """A tool with large results, whose second call makes the database go away."""

    def __init__(self, path: Path, way: Callable[[Path], None]) -> None:
        self.path, self.way, self.given = path, way, list[str]()

    def run_job(self) -> str:
        """Run a job."""
        self.given.append(f"job {len(self.given)}\n{LOG}")
        if len(self.given) == 2:
            self.way(self.path)
        return self.given[-1]

    def check(self, shown: list[str], caplog: pytest.LogCaptureFixture) -> None:
        """Each text after the first is in the prompt, or behind a reference that another process can follow."""
        keys = [
            MemoryRef.parse(text.partition("\n")[0]).key for text in shown if text not in self.given
        ]
        assert len(self.given) == len(shown) == 4
        assert len(keys) in {3, 4}
        assert keys[1:] == read_by_another_process(self.path, keys[1:])
        assert "memory_context.store_failed" in events(caplog)
        assert "memory_context.file_replaced" in events(caplog)


@pytest.mark.long
@pytest.mark.parametrize("way", SOME_WAYS)
async def test_autogen(
    path: Path, way: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """An agent's run goes on: one text stays in the prompt, the others are folded into the new file."""
    jobs = Jobs(path, way)
    client = ScriptedChatClient(
        [*([FunctionCall(str(i), "{}", "run_job")] for i in range(4)), "done"]
    )
    # A thread that writes model calls could find the new file before the agent does.
    context = MemoryContext("ann", store=SQLAlchemyStore(f"sqlite:///{path}", calls_kept=None))
    job = FunctionTool(jobs.run_job, "Run a job.")
    agent = AssistantAgent(
        "coder", client, tools=[job], model_context=context, max_tool_iterations=9
    )

    await agent.run(task="go")
    jobs.check([message.content[0].content for message in client.prompts[-1][3::2]], caplog)  # type: ignore[union-attr] # results
    assert 1 == context.stats().store_failures
    await context.aclose()


@pytest.mark.long
@pytest.mark.parametrize("way", SOME_WAYS)
def test_langchain(
    path: Path, way: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """The same for LangChain's middleware."""
    jobs = Jobs(path, way)
    script: Any = [*([call("run_job", str(number))] for number in range(4)), "done"]
    store = SQLAlchemyStore(f"sqlite:///{path}", calls_kept=None)
    own = MemoryContextMiddleware(store, user_id="ann")
    agent: Any = create_agent(
        ScriptedChatModel(script=script), [tool(jobs.run_job)], middleware=[own]
    )

    state = agent.invoke({"messages": [HumanMessage("go")]})
    jobs.check([message.content for message in state["messages"] if message.type == "tool"], caplog)
