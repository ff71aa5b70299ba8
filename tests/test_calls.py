"""What models were sent, and what was decided before, is kept: for tomorrow, and never in the way."""

from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from langchain.agents import create_agent

from commands import in_this_process as command
from conftest import STORES
from for_each import first_quick, for_each
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel
from memory_context import (
    CallRecord,
    Decision,
    FileStore,
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    ModelCall,
    Redactor,
    Scope,
    SQLAlchemyStore,
)
from memory_context.conversation.message import from_lines
from memory_context.exceptions import InvalidArgumentError, SealError, StoreError
from memory_context.model.call_log_records import CallFilter
from memory_context.model.registry_of_drawers import Displayed
from memory_context.stores import Encrypted
from memory_context.stores.sql.schema import calls
from messages import LOG, results, user
from statements import listening

in_every_store = pytest.mark.parametrize("store_url", [*STORES, "folder"], indirect=True)
in_one_store = pytest.mark.parametrize(
    "store_url", first_quick(["file", "postgresql", "folder", "memory"]), indirect=True
)
on_disk = pytest.mark.parametrize("store_url", first_quick(["file", "folder"]), indirect=True)
NOW = datetime.now(UTC)
ANYTHING = CallFilter("ann")
KEYS = {"a": b"a" * 32}


def opened(url: str, **options: Any) -> SQLAlchemyStore | FileStore:
    """A store that keeps calls, with options."""
    if url.startswith("file:"):
        return FileStore(url.removeprefix("file:"), **options)
    return SQLAlchemyStore(url, **options)


def calls_file(url: str) -> Path:
    """The SQLite file with the calls of a store on disk."""
    path = Path(url.removeprefix("file:").removeprefix("sqlite:///"))
    return path / ".memory-context/calls.db" if url.startswith("file:") else path


def model_call(at: datetime = NOW, **facts: Any) -> ModelCall:
    """A call of 1,000 tokens that took 100."""
    return ModelCall(at=at, tokens_full=1000, tokens_sent=100, messages=3, **facts)


def decision(why: str = "it was named") -> Decision:
    """A decision that cost 7 tokens."""
    return Decision(NOW, "mine", "open it", ("k",), "concrete", ("k",), None, (), why, 7, 0.1)


async def ask(context: MemoryContext) -> None:
    """A log is read, and a person asks for a line of it."""
    await context.add_message(user("read the log"))
    await context.get_messages()
    await context.add_message(results(LOG))
    await context.get_messages()
    await context.add_message(user("What became of worker-123?"))
    await context.get_messages()


def kept_calls(memory: MemoryManager) -> list[ModelCall]:
    """The model calls, oldest first."""
    return [one.what for one in reversed(memory.calls()) if isinstance(one.what, ModelCall)]


def drawn(value: Displayed) -> str:
    """What a notebook shows of a value."""
    return value._repr_mimebundle_()["text/html"]


class TestWhatIsKept:
    """Numbers, keys and reasons of each call, in every host; words only where they are asked for."""

    @in_one_store
    async def test_calls_of_autogen(self, store_url: str) -> None:
        """Each call says what it took, what it would have taken, and what was folded and brought back since the last."""
        with opened(store_url) as store:
            context = MemoryContext("ann", store=store, thread_id="t1", agent_id="coder")
            await ask(context)
            await context.aclose()

            memory = MemoryManager(store, user_id="ann")
            first, folding, recalling = kept_calls(memory)
            [made] = memory.calls(kind="decision")
            [total] = memory.call_totals()
        [key] = folding.folded
        assert ((), ()) == (first.folded, first.recalled)
        assert (key,) == recalling.recalled
        assert first.tokens_full == first.tokens_sent
        assert recalling.tokens_sent < recalling.tokens_full / 5
        assert ("coder", "t1") == (made.agent_id, made.thread_id)
        assert isinstance(made.what, Decision)
        assert (key,) == made.what.opened
        assert ("", None) == (made.what.asked, made.what.searched)
        assert (3, "t1") == (total.calls, total.thread_id)
        assert total.tokens_avoided == total.tokens_full - total.tokens_sent > 0

    async def test_pages_that_were_read_avoid_nothing(self, sqlite_url: str) -> None:
        """In full, a conversation has the stored text once: not the pages read of it, nor what these stand for later."""
        with opened(sqlite_url) as store:
            context = MemoryContext("ann", store=store)
            await ask(context)
            [memory] = context.manager.search("worker")
            page = f"{memory.ref}\n{LOG[:20_000]}"
            before = kept_calls(context.manager)[-1].tokens_full
            await context.add_message(results(page, name="retrieve_memory"))
            for number in range(20):
                await context.add_message(user(f"Go on with {number}."))
                await context.get_messages()
            after = kept_calls(context.manager)[-1].tokens_full
            rows = f"rows 1-900 of 900\nline\n{LOG[:20_000]}"
            await context.add_message(results(rows, name="query_memory"))
            await context.get_messages()
            assert after == kept_calls(context.manager)[-1].tokens_full
            await context.add_message(results("12 moons", name="get_memory"))
            await context.get_messages()
            last = kept_calls(context.manager)[-1]
        assert after - before < 1000
        # A tool of somebody else's, with the name of one of ours.
        assert last.tokens_full > after

    async def test_only_listed(self, sqlite_url: str) -> None:
        """An output that the user layer merely lists was not brought back, as decisions and statistics say."""
        with opened(sqlite_url) as store:
            monday = MemoryManager(store, user_id="ann", thread_id="monday")
            monday.store(LOG, "the night's log", "tool_output", key="night.log")
            monday.store("metric units", "units", "user_preference", key="units")
            context = MemoryContext("ann", store=store, thread_id="tuesday")
            await context.add_message(user("hi there"))
            layer, _ = await context.get_messages()
            [call] = kept_calls(monday)
            await context.aclose()

        assert "[MemoryRef: night.log" in str(layer.content)
        assert () == call.recalled
        assert 0 == context.stats().recalls

    @in_one_store
    async def test_stats_of_yesterday(self, store_url: str) -> None:
        """A context of the next process tells what the conversation's calls add up to, and no other conversation's."""
        with opened(store_url) as store:
            for thread in ("t1", "t2"):
                before = MemoryContext("ann", store=store, thread_id=thread)
                await ask(before)
            after = MemoryContext("ann", store=store, thread_id="t1")
            stats = after.stats(kept=True)
            assert (0, None) == (stats.folds, after.stats().kept)
            assert stats.kept
            assert ("t1", 3) == (stats.kept.thread_id, stats.kept.calls)
            assert "tokens avoided in the 3 model calls" in drawn(stats)

    @on_disk
    async def test_calls_in_a_notebook(self, store_url: str) -> None:
        """Calls and their totals are tables: what was folded, what came back and why, what it took."""
        with MemoryManager(store_url, user_id="ann") as memory:
            assert "no calls are kept" in drawn(memory.calls())
            await ask(MemoryContext("ann", store=memory.memory_store, thread_id="<t1>"))
            [item] = memory.search("", types="tool_output")
            calls = memory.calls()
            text = calls._repr_mimebundle_()["text/plain"]
            assert f"folded {item.memory_key}" in text
            assert f"brought back {item.memory_key}" in text
            assert "&lt;t1&gt;" in drawn(calls)
            assert "&lt;t1&gt;" in drawn(memory.call_totals())

    @on_disk
    async def test_calls_of_the_middleware(self, store_url: str) -> None:
        """LangChain's middleware keeps them for the user and thread of the run, and gives their decisions back."""
        middleware = MemoryContextMiddleware(store=store_url, user_id="ann")
        agent: Any = create_agent(ScriptedChatModel(["hello"]), middleware=[middleware])
        await agent.ainvoke(
            {"messages": [("user", "hello there")]}, {"configurable": {"thread_id": "t7"}}
        )
        middleware.close()

        with MemoryManager(store_url, user_id="ann") as memory:
            [record] = memory.calls(kind="model", thread_id="t7")
        assert isinstance(record.what, ModelCall)
        assert 1 == record.what.messages
        assert [] == middleware.decisions(user_id="ann", thread_id="t7")
        with pytest.raises(InvalidArgumentError, match="both"):
            middleware.decisions(user_id="ann")

    @on_disk
    async def test_no_words(self, store_url: str) -> None:
        """No text of a conversation is kept, unless prompts are recorded, as models saw them; lists may leave these out."""
        for recorded in (False, True):
            url = f"{store_url}-{recorded}"
            policy = FoldPolicy(record_prompts=recorded)
            context = MemoryContext("ann", store=url, thread_id="t1", fold=policy)
            await ask(context)
            await context.aclose()

            with MemoryManager(url, user_id="ann") as memory:
                *_, last = kept_calls(memory)
                [made] = memory.calls(kind="decision")
            assert isinstance(made.what, Decision)
            assert recorded == ("What became" in made.what.asked)
            if recorded:
                texts = [message.text for message in from_lines(last.prompt)]
                assert "What became of worker-123?" == texts[-1]
                with MemoryManager(url, user_id="ann") as memory:
                    without = memory.calls(kind="model", prompts=False)[0].what
                assert replace(last, prompt="") == without
            else:
                assert "" == last.prompt

    async def test_without_secrets(self, tmp_path: Path) -> None:
        """A store with a redactor keeps no secrets of prompts and of reasons."""
        store = SQLAlchemyStore(f"sqlite:///{tmp_path / 'memory.db'}", redactor=Redactor())
        context = MemoryContext(
            "ann", store=store, thread_id="t1", fold=FoldPolicy(record_prompts=True)
        )
        await context.add_message(user("log in with password=hunter2hunter2"))
        await context.get_messages()
        context._conversation.log.note(decision("password=hunter2hunter2"), context.manager)  # noqa: SLF001 - as a judge's reason comes

        kept = context.manager.calls()
        assert 2 == len(kept)
        assert "hunter2" not in repr(kept)
        await context.aclose()
        store.close()

    @on_disk
    async def test_decisions_of_yesterday(self, store_url: str) -> None:
        """A context in another process begins with the decisions that were kept of its conversation."""
        context = MemoryContext("ann", store=store_url, thread_id="t1")
        await ask(context)
        [made] = context.decisions()
        await context.aclose()

        again = MemoryContext("ann", store=store_url, thread_id="t1")
        other = MemoryContext("ann", store=store_url, thread_id="t2")
        assert [made.without_words()] == again.decisions()
        assert [] == other.decisions()
        await again.aclose()
        await other.aclose()

    @in_every_store
    def test_which_are_wanted(self, store_url: str) -> None:
        """Rows are found by thread, kind and time, newest first; another user's never; a wrong kind says what there is."""
        with opened(store_url) as store:
            for user_id, thread, what in (
                ("ann", "t1", model_call(datetime.now(UTC) - timedelta(hours=2), folded=("k",))),
                ("ann", "t2", model_call(datetime.now(UTC))),
                ("bob", "t1", model_call(datetime.now(UTC))),
            ):
                store.note_call(CallRecord(user_id, None, thread, what))
            memory = MemoryManager(store, user_id="ann")

            assert ["t2", "t1"] == [one.thread_id for one in memory.calls()]
            assert ["t1"] == [one.thread_id for one in memory.calls(thread_id="t1")]
            hour_ago = datetime.now(UTC) - timedelta(hours=1)
            assert ["t2"] == [one.thread_id for one in memory.calls(since=hour_ago)]
            assert ["t1"] == [one.thread_id for one in memory.calls(until=hour_ago)]
            assert ["t2"] == [one.thread_id for one in memory.calls(limit=1)]
            assert [] == memory.calls(kind="decision")
            assert ["t2", "t1"] == [one.thread_id for one in memory.call_totals()]
            with pytest.raises(InvalidArgumentError, match="model, decision"):
                memory.calls(kind="all")  # type: ignore[arg-type] # what is refused
            with pytest.raises(InvalidArgumentError, match="zone"):
                memory.calls(since=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused


class TestHowItIsKept:
    """For a while, under the store's codec, behind the run's back."""

    @in_every_store
    def test_for_a_while(self, store_url: str) -> None:
        """Rows that are older than asked for go with the next write; None keeps nothing."""
        now = datetime.now(UTC)
        for kept, expected in ((timedelta(days=30), 1), (timedelta(days=90), 2)):
            with opened(store_url, calls_kept=kept) as store:
                store.forget_user("ann")
                for age in (60, 0):
                    what = model_call(now - timedelta(days=age))
                    store.note_call(CallRecord("ann", None, "t1", what))
                assert expected == len(MemoryManager(store, user_id="ann").calls())
        with opened(store_url, calls_kept=None) as store:
            store.forget_user("ann")
            store.note_call(CallRecord("ann", None, "t1", model_call()))
            assert [] == MemoryManager(store, user_id="ann").calls()

    @in_every_store
    def test_forgotten_with_their_user(self, store_url: str) -> None:
        """`forget_user` counts and deletes a user's rows, and nobody else's."""
        with opened(store_url) as store:
            for user_id in ("ann", "bob"):
                store.note_call(CallRecord(user_id, None, None, model_call(datetime.now(UTC))))
            assert 1 == store.forget_user("ann").calls
            assert [] == MemoryManager(store, user_id="ann").calls()
            assert 1 == len(MemoryManager(store, user_id="bob").calls())

    @in_every_store
    def test_whose_there_are(self, store_url: str) -> None:
        """Everybody with a row is named once, by code points, whatever the database's collation; nobody without rows."""
        names = ["Zoe", "ann", "a b", "\u00e4rne", "Ann", "ann-marie", "\u4e2d"]
        with opened(store_url) as store:
            assert [] == store.callers()
            for name in (*names, *names):
                store.note_call(CallRecord(name, None, None, model_call()))
            assert sorted(names) == store.callers() == store.users()

    @on_disk
    def test_sealed(self, store_url: str) -> None:
        """Under encryption no key or reason is readable, a row cannot be moved to another user, and keys rotate."""
        now = datetime.now(UTC)
        with opened(store_url) as store:
            call = model_call(now, folded=("plain_key",), prompt="worker-99 and \0")
            store.note_call(CallRecord("ann", None, "t1", call))
        both = Encrypted(KEYS, accept_plain=True)
        with opened(store_url, codec=both) as store:
            store.note_call(CallRecord("ann", None, "t1", decision("because of worker-1234")))
            store.reencrypt()
            assert 2 == len(MemoryManager(store, user_id="ann").calls())
        data = calls_file(store_url).read_bytes()
        assert b"worker-1234" not in data
        assert b"plain_key" not in data
        assert b"worker-99" not in data

        rotated = Encrypted({"b": b"b" * 32, **KEYS})
        with opened(store_url, codec=rotated) as store:
            store.reencrypt()
        with opened(store_url, codec=Encrypted({"b": b"b" * 32})) as store:
            memory = MemoryManager(store, user_id="ann")
            assert {("plain_key",)} == {one.folded for one in kept_calls(memory)}
            assert "worker-99 and \0" == kept_calls(memory)[0].prompt
        move = sa.update(calls).values(user_id="bob")
        database = f"sqlite:///{calls_file(store_url)}"
        with SQLAlchemyStore(database, codec=Encrypted({"b": b"b" * 32})) as store:
            store.database.write(lambda connection: connection.execute(move))
        with (
            opened(store_url, codec=Encrypted({"b": b"b" * 32})) as store,
            pytest.raises(SealError),
        ):
            MemoryManager(store, user_id="bob").calls()

    def test_records_of_an_unknown_kind(self, sqlite_url: str) -> None:
        """Rows of an unknown kind are left out, and are not changed when rows are written again."""
        with SQLAlchemyStore(sqlite_url) as store:
            for what in (model_call(), model_call(prompt="a")):
                store.note_call(CallRecord("ann", None, "t1", what))
            assert 2 == len(store.calls(ANYTHING))
            of_prompt = "kind = 'summary' WHERE prompt IS NOT NULL"
            store.database.write(
                lambda c: c.exec_driver_sql(f"UPDATE agent_memory_calls SET {of_prompt}")
            )

            store.rewrite_calls("ann", lambda record: replace(record, agent_id="changed"))

            assert ["changed"] == [record.agent_id for record in store.calls(ANYTHING)]
            assert [1] == [totals.calls for totals in store.call_totals("ann")]
            rows = store.database.rows(sa.text("SELECT kind, agent_id FROM agent_memory_calls"))
            assert {("model", "changed"), ("summary", None)} == {tuple(row) for row in rows}

    @pytest.mark.parametrize("store_url", first_quick(["file", "folder"]), indirect=True)
    def test_written_when_a_program_ends(self, store_url: str) -> None:
        """What a program noted last is there, although it closed nothing."""
        code = """
            import sys
            from datetime import datetime, UTC
            from memory_context import MemoryManager, ModelCall
            from memory_context.runtime import deadlines
            deadlines.EXIT_SECONDS = 60
            memory = MemoryManager(sys.argv[1], user_id="ann")
            memory.note_call(ModelCall(datetime.now(UTC), 10, 5, 1))
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(code), store_url], check=True)
        with MemoryManager(store_url, user_id="ann") as memory:
            assert 1 == len(memory.calls())

    async def test_never_in_the_way(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Where rows cannot be written the agent's prompts are as ever; one line of the log says so, and they wait."""
        url = f"sqlite:///{tmp_path / 'memory.db'}"
        context = MemoryContext("ann", store=url, thread_id="t1")
        await context.add_message(user("hello"))
        await context.get_messages()
        store = context.manager.memory_store
        assert isinstance(store, SQLAlchemyStore)
        assert 1 == len(context.manager.calls())
        rename = "ALTER TABLE agent_memory_calls RENAME TO {}"
        store.database.write(lambda c: c.exec_driver_sql(rename.format("elsewhere")))
        back = rename.replace("agent_memory_calls", "elsewhere").format("agent_memory_calls")

        with caplog.at_level(logging.INFO, "memory_context"):
            for _ in range(2):
                await context.add_message(user("again"))
                await context.get_messages()
                context.decisions()
        said = [
            one
            for one in caplog.records
            if getattr(one, "event", "") == "memory_context.calls_not_kept"
        ]
        assert 1 == len(said)
        assert 0 == context.stats().store_failures
        store.database.write(lambda c: c.exec_driver_sql(back))
        assert 3 == len(context.manager.calls(kind="model"))
        assert store.call_log._breaker.lets_ask  # noqa: SLF001 - no pause is left over
        await context.aclose()

    def test_after_what_nobody_foresaw(self, sqlite_url: str) -> None:
        """An application's listener that fails costs no row, either: they are written once it no longer does."""
        engine = sa.create_engine(sqlite_url)
        with SQLAlchemyStore(engine) as store:
            assert [] == store.calls(CallFilter("ann"))
            failed = threading.Event()

            def fail(*_: object) -> None:
                failed.set()
                raise RuntimeError

            with listening(engine, fail):
                store.note_call(CallRecord("ann", None, "t", model_call()))
                assert failed.wait(300)
            store.note_call(CallRecord("ann", None, "t", model_call()))
            assert 2 == len(store.calls(CallFilter("ann")))
        engine.dispose()

    def test_forgotten_in_a_folder(self, tmp_path: Path) -> None:
        """Of a user who was forgotten no byte is left in a folder's file of calls."""
        with FileStore(tmp_path) as store:
            for user_id in ("ann-1234", "bob"):
                call = model_call(folded=(f"key_of_{user_id}",))
                store.note_call(CallRecord(user_id, None, None, call))
            assert ["ann-1234", "bob"] == store.users() == store.callers()
            store.forget_user("ann-1234")
            assert ["bob"] == store.users()
        assert b"ann-1234" not in calls_file(f"file:{tmp_path}").read_bytes()

    def test_who_only_reads_a_folder(self, tmp_path: Path) -> None:
        """Who may not write memories, because another does, keeps calls beside that one; asking makes no file."""
        with FileStore(tmp_path / "new") as writer, FileStore(tmp_path / "new") as reader:
            assert ([], [], []) == (
                reader.calls(ANYTHING),
                reader.call_totals("ann"),
                reader.users(),
            )
            assert not writer.directory.exists()
            MemoryManager(writer, user_id="ann").store("a note")
            for store in (writer, reader):
                store.note_call(CallRecord("ann", None, "t1", model_call()))
                store.close()
            assert 2 == len(reader.calls(ANYTHING))

    def test_in_a_folder_of_ones_own(self, tmp_path: Path) -> None:
        """The file is as strict as the folder's others; where nothing is to be kept, or can be, none is made."""
        modes: Any = {"file_mode": 0o600, "directory_mode": 0o700}
        with FileStore(tmp_path / "strict", **modes) as store:
            store.note_call(CallRecord("ann", None, None, model_call()))
        assert 0o600 == calls_file(f"file:{tmp_path / 'strict'}").stat().st_mode & 0o777
        (tmp_path / "file").touch()
        for folder, kept in (("none", None), ("file", timedelta(days=1))):
            with FileStore(tmp_path / folder, calls_kept=kept) as store:
                store.note_call(CallRecord("ann", None, None, model_call()))
        assert {"strict", "file"} == {path.name for path in tmp_path.iterdir()}

    @for_each("name", [".memory-context/calls.db", ".memory-context"])
    def test_links_out_of_a_folder(self, name: str, tmp_path: Path) -> None:
        """Calls are neither written nor read where a link leads out of the folder."""
        outside = FileStore(tmp_path / "outside")
        outside.note_call(CallRecord("ann", None, None, model_call()))
        outside.close()
        before = calls_file(f"file:{outside.directory}").read_bytes()
        memories = tmp_path / f"linked {len(name)}"
        link = memories / name
        link.parent.mkdir(parents=True)
        link.symlink_to(outside.directory / name)
        with FileStore(memories) as store:
            store.note_call(CallRecord("ann", None, None, model_call()))
            assert [] == store.calls(ANYTHING)
        assert before == calls_file(f"file:{outside.directory}").read_bytes()

    def test_before_the_first_row(self, tmp_path: Path) -> None:
        """Who asks makes no tables, which could not be written where the disk is full or the folder is read-only."""
        file = calls_file(f"file:{tmp_path}")
        file.parent.mkdir()
        file.touch()
        with FileStore(tmp_path) as store:
            assert ([], ()) == (store.users(), store.damaged())
        with closing(sqlite3.connect(file)) as database:
            assert [] == database.execute("SELECT name FROM sqlite_master").fetchall()

    async def test_damaged_in_a_folder(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A damaged file of calls is logged once, listed, skipped, and left as it is; memories and runs go on."""
        file = calls_file(f"file:{tmp_path}")
        file.parent.mkdir()
        file.write_bytes(b"no database" * 1000)
        context = MemoryContext("ann", store=FileStore(tmp_path), thread_id="t1")
        await ask(context)
        store = context.manager.memory_store
        assert isinstance(store, FileStore)
        assert 1 == len(context.decisions())
        assert ([], []) == (context.manager.calls(), context.manager.call_totals())
        [damaged] = store.damaged()
        assert ".memory-context/calls.db" == damaged.path
        assert "not a database" in damaged.reason
        assert ["ann"] == store.users()
        with pytest.raises(StoreError, match=r"calls\.db is damaged, and may hold"):
            store.forget_user("ann")
        assert 0 == store.count(Scope("ann"))
        await context.aclose()
        assert b"no database" * 1000 == file.read_bytes()
        file.unlink()
        assert 0 == store.forget_user("ann").calls
        said = [getattr(one, "event", "") for one in caplog.records]
        assert 1 == said.count("memory_context.file_skipped")


@on_disk
async def test_on_the_command_line(store_url: str) -> None:
    """`memory-context calls` shows conversations with what they saved, or one of them call by call; else, which there are."""
    place = ("--store", store_url, "--user", "ann")
    with MemoryManager(store_url, user_id="ann") as memory:
        memory.store("x")
    assert 1 == command("calls", *place).returncode
    context = MemoryContext("ann", store=place[1], thread_id="t1")
    await ask(context)
    await context.aclose()

    whole = command("calls", *place).stdout
    assert "t1" in whole
    assert "avoided" in whole
    shown = command("calls", "--thread", "t1", *place).stdout
    assert "brought back" in shown
    assert "lexical opened" in shown
    listed = json.loads(command("calls", "--thread", "t1", "--limit", "1", "--json", *place).stdout)
    assert (1, True) == (len(listed["calls"]), listed["more"])
    added_up = json.loads(command("stats", "--json", "--store", store_url).stdout)
    assert 3 == added_up["model_calls"]
    assert 0 < added_up["tokens_avoided"]


def test_what_waits_for_a_removed_database_is_let_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that ends after its folder was removed neither makes a new database nor says a word."""
    path = tmp_path / "memory.db"
    store = SQLAlchemyStore(f"sqlite:///{path}")
    store.count(Scope("ann"))
    path.unlink()
    store.note_call(CallRecord("ann", None, "t", ModelCall(NOW, 10, 5, 1)))
    store.close()
    assert not path.exists()
    assert [] == caplog.messages


def test_notes_that_are_flushed_leave_no_threads() -> None:
    """Each flush ends the timer that would have written the row."""
    with SQLAlchemyStore("sqlite://") as store:
        before = threading.active_count()
        for _ in range(50):
            store.note_call(CallRecord("ann", None, "t1", model_call()))
            store.calls(CallFilter("ann"))
        assert threading.active_count() < before + 10
