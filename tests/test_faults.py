"""A store that fails: the run goes on with the full text, one warning, counted; nothing is half done."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn

import pytest
import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.tools import FunctionTool

from for_each import first_quick
from memory_context import MemoryContext, MemoryManager, MemoryRef
from memory_context.exceptions import StoreError, StoreUnavailableError
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import engine_setup
from memory_context.testing import Fault, FaultyStore, ScriptedChatClient
from messages import LOG, call, results, user
from statements import listening
from test_context import fill, shown

SECRET_WORDS = "hunter2"


@contextmanager
def failing_at(engine: sa.Engine, number: int) -> Iterator[list[str]]:
    """Let the engine's `number`-th statement fail, as a disk or a connection would; gives the statements that came."""
    statements: list[str] = []

    def fail(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)
        if len(statements) == number:
            message = "disk I/O error"
            error = engine.dialect.dbapi.OperationalError(message)  # type: ignore[union-attr] # a driver is loaded
            # As SQLAlchemy hands it on: in 2.0 it hands on what a listener raises as it is.
            raise sa.exc.OperationalError(statement, None, error)

    with listening(engine, fail):
        yield statements


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings that were logged."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def run_agent(context: MemoryContext) -> list[str]:
    """Run an agent that calls a tool; gives what the model saw of the result."""
    client = ScriptedChatClient([[FunctionCall(id="c1", name="job", arguments="{}")], "done"])
    tool = FunctionTool(lambda: LOG, "Run the job.", name="job")
    agent = AssistantAgent(
        "coder", model_client=client, tools=[tool], model_context=context, max_tool_iterations=5
    )
    result = await agent.run(task="go")
    assert "done" == result.messages[-1].content  # type: ignore[union-attr] # a text message
    return [shown(message) for message in client.prompts[-1][-1:]]


async def test_store_down(caplog: pytest.LogCaptureFixture) -> None:
    """Without a database the agent's run goes on with the full text; one warning, every failure counted."""
    context = MemoryContext("ann", store="postgresql+psycopg://127.0.0.1:1/none")

    assert [LOG] == await run_agent(context)
    assert LOG == shown((await fill(context, results(LOG, number=2)))[-1])

    # Two folds, the user's layer, and what the task may mean.
    assert 4 == context.stats().store_failures
    assert 1 == len(warnings_of(caplog))
    assert "goes on with full texts" in warnings_of(caplog)[0]
    with pytest.raises(StoreUnavailableError):
        await context.store("x")
    with pytest.raises(StoreUnavailableError):
        await context.search("x")


async def test_store_comes_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After an outage folding goes on by itself; what was seen in full stays; the next outage is warned of again."""
    folder = tmp_path / "later"
    context = MemoryContext("ann", store=f"sqlite:///{folder}/memory.db")
    await fill(context, results(LOG))
    folder.mkdir()

    messages = await fill(context, results(LOG, number=2))
    assert LOG == shown(messages[0])
    assert shown(messages[1]).startswith("[MemoryRef: ")

    await context.aclose()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    await fill(context, results(LOG + "!", number=3))
    assert 2 == len(warnings_of(caplog))


@pytest.mark.parametrize(
    "settings", first_quick([{}, {"max_tokens": 100_000}, {"fold": "after_reading"}]), ids=str
)
async def test_full_disk_is_one_outage(
    caplog: pytest.LogCaptureFixture, settings: dict[str, Any]
) -> None:
    """While nothing can be written, though everything can be read, there is one warning; after it, the next has one."""
    store = FaultyStore("sqlite://")
    context = MemoryContext("ann", store=store, **settings)
    await fill(context, results(f"0 {LOG}", number=0))
    for outage in (1, 2):
        store.inject(repeat(Fault.FULL))
        for number in range(4):
            await fill(
                context,
                user("What of worker-123?"),
                results(f"{outage} {number} {LOG}", number=number),
            )
        assert outage == len(warnings_of(caplog))
        store.inject(())
        messages = await fill(context, results(f"{outage} after {LOG}"))
        assert shown(messages[-1]).startswith("[MemoryRef: ")

    assert 8 == context.stats().store_failures


async def test_outages_of_what_only_reads(caplog: pytest.LogCaptureFixture) -> None:
    """A conversation that folds nothing warns of each outage, too."""
    store = FaultyStore("sqlite://")
    context = MemoryContext("ann", store=store)
    for outage in (1, 2):
        store.inject(repeat(Fault.LOST))
        await fill(context, user("What of worker-123?"))
        await fill(context, user("What of worker-124?"))
        assert outage == len(warnings_of(caplog))
        store.inject(())
        await fill(context, user("And of worker-125?"))


async def test_database_file_is_replaced(sqlite_url: str) -> None:
    """A database that vanished while it was open is made anew; at most one text stays in the prompt."""
    context = MemoryContext("ann", store=sqlite_url)
    await fill(context, results(LOG))
    with sa.create_engine(sqlite_url).begin() as connection:
        connection.exec_driver_sql("DROP TABLE agent_memory_access")
        connection.exec_driver_sql("DROP TABLE agent_memory_deletions")
        connection.exec_driver_sql("DROP TABLE agent_memories")
        connection.exec_driver_sql("DROP TABLE memory_context_version")

    messages = await fill(context, results(f"{LOG}1", number=2), results(f"{LOG}2", number=3))

    assert f"{LOG}1" == shown(messages[1])
    assert shown(messages[2]).startswith("[MemoryRef: ")


@pytest.mark.usefixtures("impatient")
async def test_store_locked(sqlite_url: str) -> None:
    """A database that another process keeps locked costs the timeout, and the text stays."""
    # No thread that writes model calls takes its turn beside what must succeed in 200 ms.
    context = MemoryContext("ann", store=SQLAlchemyStore(sqlite_url, calls_kept=None))
    await context.store("open it")
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert LOG == shown((await fill(context, results(LOG)))[0])
    with pytest.raises(StoreUnavailableError, match="locked"):
        await context.store("x")

    other.execute("ROLLBACK")
    other.close()
    assert shown((await fill(context, results(LOG)))[1]).startswith("[MemoryRef: ")


async def test_disk_full(sqlite_url: str) -> None:
    """A full database keeps the text in the prompt, and is whole afterwards."""
    engine = engine_setup.make_engine(sa.make_url(sqlite_url))
    context = MemoryContext("ann", store=engine)
    await context.store("open it")

    @sa.event.listens_for(engine, "checkout")
    def _limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1")

    big = LOG * 20
    assert big == shown((await fill(context, results(big)))[0])
    assert 1 == context.stats().store_failures
    with pytest.raises(StoreError, match="full"):
        await context.store(big)
    assert 1 == len(await context.search(""))
    engine.dispose()


@pytest.mark.long
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
async def test_every_statement_in_turn(request: pytest.FixtureRequest, fixture: str) -> None:
    """Whichever statement fails, the message is whole, folded or in full; the next one is folded."""
    engine = engine_setup.make_engine(sa.make_url(request.getfixturevalue(fixture)))
    number, statements = 0, [""]
    while number <= len(statements):
        number += 1
        text = f"{number}\n{LOG}"
        # What a thread writes of calls fails apart from the run: test_calls.py.
        store = SQLAlchemyStore(engine, calls_kept=None)
        context = MemoryContext("ann", store=store, thread_id="t")
        with failing_at(engine, number) as statements:
            messages = await fill(context, call("run"), results(text), user("What of worker-123?"))
        assert text == shown(messages[1]) or text == await context.retrieve(
            MemoryRef.find_all(shown(messages[1]))[0].key
        )
        assert int(number <= len(statements)) == context.stats().store_failures
        messages = await fill(context, call("run", number=2), results(f"again {text}", number=2))
        assert shown(messages[-1]).startswith("[MemoryRef: ")
    assert number > 5
    engine.dispose()


@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
async def test_a_failed_write_leaves_nothing(request: pytest.FixtureRequest, fixture: str) -> None:
    """A verb whose statement fails raises, and has changed nothing."""
    engine = engine_setup.make_engine(sa.make_url(request.getfixturevalue(fixture)))
    manager = MemoryManager(engine, user_id="ann")
    manager.store("kept", key="kept")
    for verb in (
        lambda: manager.store("new"),
        lambda: manager.forget("kept"),
        lambda: manager.store("x", key="kept", replace=True),
    ):
        for number in range(1, 9):
            with failing_at(engine, number) as statements:
                try:
                    verb()
                except StoreError:
                    assert number <= len(statements)
                else:
                    break
            assert ["kept"] == [
                item.content for item in manager.memory_store.list_all(manager.scope)
            ]
        manager.memory_store.clear(manager.scope)
        manager.store("kept", key="kept")
    engine.dispose()


@pytest.mark.long
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_what_is_committed_is_no_error(request: pytest.FixtureRequest, fixture: str) -> None:
    """A text so large that it is indexed after it was committed is stored, or an error; never both."""
    engine = engine_setup.make_engine(sa.make_url(request.getfixturevalue(fixture)))
    manager = MemoryManager(engine, user_id="ann")
    manager.store("open it")
    large = LOG * 25
    number, statements = 0, [""]
    while number <= len(statements):
        number += 1
        key = f"k{number}"
        with failing_at(engine, number) as statements:
            try:
                manager.store(large, key=key)
            except StoreError:
                stored = False
            else:
                stored = True
        assert stored == bool(manager.memory_store.get_many(manager.scope, [key]))
        if stored:
            assert [key] == [hit.memory_key for hit in manager.search("sdx9")]
        manager.forget(key)
    assert number > 8
    engine.dispose()


async def test_foreign_store_that_raises_anything(caplog: pytest.LogCaptureFixture) -> None:
    """A store of somebody else's that raises anything at all does not stop the run."""

    class Broken(SQLAlchemyStore):
        def put(self, *_: object, **__: object) -> NoReturn:
            message = "not a store's error"
            raise ZeroDivisionError(message)

    context = MemoryContext("ann", store=Broken("sqlite://"))

    assert [LOG] == await run_agent(context)
    assert 1 == len(warnings_of(caplog))


async def test_read_that_cannot_be_counted(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A text is read even if the read cannot be counted."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        manager.store("text", key="k")
    engine = sa.create_engine(sqlite_url)
    refusing = "CREATE TRIGGER refusing BEFORE INSERT ON agent_memory_access BEGIN SELECT RAISE(FAIL, 'full'); END"
    with engine.begin() as connection:
        connection.exec_driver_sql(refusing)
    reader = MemoryManager(engine, user_id="ann")

    assert "text" == reader.retrieve("k")
    assert 1 == len(warnings_of(caplog))
    engine.dispose()


def test_cancelled_while_the_store_is_slow(sqlite_url: str) -> None:
    """A run that is cancelled while the database is locked ends at once; the context is usable afterwards."""
    context = MemoryContext("ann", store=sqlite_url)

    async def cancelled() -> None:
        await context.store("open it")
        other = sqlite3.connect(
            sqlite_url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False
        )
        other.execute("BEGIN IMMEDIATE")
        adding = asyncio.create_task(context.add_message(results(LOG)))
        await asyncio.sleep(0.1)
        adding.cancel()
        await asyncio.wait([adding])
        assert adding.cancelled()
        assert 0 == context.stats().store_failures  # it did not wait until the database gave up
        other.execute("ROLLBACK")
        other.close()
        assert 1 == len(await context.get_messages())

    asyncio.run(cancelled())


@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_tracebacks_show_no_content(request: pytest.FixtureRequest, fixture: str) -> None:
    """The traceback of a failed write quotes no row and no parameter, on an engine of the caller's neither."""
    engine = sa.create_engine(request.getfixturevalue(fixture))
    with MemoryManager(engine, user_id="ann") as manager:
        manager.store("first")
        refused = "BEFORE INSERT ON agent_memories"
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(
                    "ALTER TABLE agent_memories ADD CHECK (content NOT LIKE 'hunter%%')"
                )
            else:
                connection.exec_driver_sql(
                    f"CREATE TRIGGER t {refused} WHEN NEW.content LIKE 'hunter%%'"
                    " BEGIN SELECT RAISE(ABORT, 'refused'); END"
                )
        # Not written out where a traceback quotes this file.
        for text in (SECRET_WORDS, f"{SECRET_WORDS} \ud800"):
            try:
                manager.store(text, key="k", metadata={"n": text[:7]})
            except StoreError as error:
                assert SECRET_WORDS not in "".join(traceback.format_exception(error))
                assert SECRET_WORDS not in repr(error.__cause__)
            else:
                assert "\ud800" in text  # such text is kept as bytes
    engine.dispose()
