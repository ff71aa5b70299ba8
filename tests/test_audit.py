"""The audit trail: who stored, recalled, expanded, passed on and deleted which memory, and when."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from autogen_core import CancellationToken
from autogen_core.memory import MemoryContent
from autogen_core.model_context import UnboundedChatCompletionContext
from langchain_core.messages import HumanMessage

from commands import in_this_process as command
from for_each import first_quick, for_each
from journeys import JOURNEYS, MARKER, THREAD, Journey
from langchain_memory_context import (
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryContextMiddleware,
    MemoryRetriever,
    MemoryStoreAdapter,
)
from memory_context import (
    AuditEntry,
    AuditTrail,
    ContextAssembler,
    FileStore,
    MemoryContext,
    MemoryManager,
    PassingPolicy,
    ScopedMemory,
    SQLAlchemyStore,
    SQLAuditTrail,
    SQLMemory,
)
from memory_context.autogen.memory_tools_with_strict_schemas import memory_tools
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryDeletedError,
    NotSerializableError,
    StoreError,
    StoreUnavailableError,
)
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model.audit_entries import ACTIONS
from memory_context.runtime import circuit_breaker
from memory_context.stores import Compressed
from memory_context.stores.auditor_with_waiting_entries import WAITING, Auditor
from messages import LOG, results, user

Did = list[tuple[str, str]]


class Kept(list[AuditEntry]):
    """A trail in a list, which fails when it is told to."""

    failing = False

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep them."""
        if self.failing:
            message = f"no place for {entries}"
            raise OSError(message)
        self.extend(entries)

    def did(self) -> Did:
        """Actions and keys since the last time, in their order."""
        done: Did = [(entry.action, entry.memory_key) for entry in self]
        self.clear()
        return done


@pytest.fixture
def trail() -> Kept:
    """A trail."""
    return Kept()


@pytest.fixture
def memory(trail: Kept) -> MemoryManager:
    """Audited memories."""
    return MemoryManager(
        "sqlite://", user_id="ann", agent_id="coder", thread_id=THREAD, audit=trail
    )


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_each_action_of_an_agent(journey: Journey, store_url: str) -> None:
    """An agent that folds, reads, passes on and gets back, and a person who deletes: each is there once, with who."""
    store = SQLAlchemyStore(store_url)
    started = datetime.now(UTC)
    manager = await journey(store, audit=True)
    [item] = manager.memory_store.query(manager.scope, {"memory_type": "tool_output"})
    manager.confirm(item.memory_key)
    manager.forget(item.memory_key)

    entries = list(SQLAuditTrail(store).entries("ann"))[::-1]
    assert ["stored", "expanded", "passed", "recalled", "confirmed", "deleted"] == [
        entry.action for entry in entries
    ]
    assert set(ACTIONS) == {entry.action for entry in entries}
    whose = {(one.user_id, one.agent_id, one.thread_id, one.memory_key) for one in entries}
    assert {("ann", "coder", THREAD, item.memory_key)} == whose
    assert started <= entries[0].at <= entries[-1].at <= datetime.now(UTC)
    assert MARKER not in repr(entries)
    store.close()


@pytest.mark.parametrize("journey", first_quick(JOURNEYS.values()), ids=JOURNEYS)
async def test_off_by_default(journey: Journey, sqlite_url: str) -> None:
    """Without `audit` nothing is written."""
    await journey(sqlite_url)

    assert [] == list(SQLAuditTrail(sqlite_url).entries("ann"))


def test_verbs_of_a_manager(memory: MemoryManager, trail: Kept) -> None:
    """Each verb that reads content is a reading, lists and records are none; a deletion of nothing is none."""
    key = memory.store("rockets need fuel\nand a crew")
    assert [("stored", key)] == trail.did()
    for read in (
        lambda: memory.retrieve(key),
        lambda: memory.retrieve(key, lines="1"),
        lambda: memory.page(key),
        lambda: memory.answer(key, max_tokens=300),
        lambda: memory.read(key),
        lambda: memory.search("rockets"),
    ):
        read()
        assert [("expanded", key)] == trail.did()
    memory.get(key)
    memory.memory_store.query(memory.scope)
    assert [] == trail.did()
    assert [True, True] == [memory.forget(key, soft=True), memory.revive(key).is_active]
    assert [("deleted", key), ("stored", key)] == trail.did()
    assert [True, False] == [memory.forget(key), memory.forget(key)]
    assert [("deleted", key)] == trail.did()
    with pytest.raises(MemoryDeletedError):
        memory.retrieve(key)
    assert [] == trail.did()


def test_masked_secrets_are_not_read(memory: MemoryManager, trail: Kept) -> None:
    """A search that finds a secret by its description shows nothing of it; retrieving it does."""
    key = memory.store("hunter2", "the password of the database", "secret", key="password")
    trail.clear()

    assert [key] == [hit.memory_key for hit in memory.search("password database")]
    assert [] == trail.did()
    memory.retrieve(key)
    assert [("expanded", key)] == trail.did()


def test_notes(memory: MemoryManager, trail: Kept) -> None:
    """Notes are their manager's: what is saved, changed, promoted, read, deleted, cleared and ended has its key."""
    notes = ScopedMemory(memory, run_id="r", task_id="t", project_id="p")
    first, second, third = (notes.save(f"note {number}", tier="task") for number in range(3))
    assert [("stored", first), ("stored", second), ("stored", third)] == trail.did()
    notes.get(first)
    notes.get(tier="task", limit=1)
    assert [("expanded", first), ("expanded", third)] == trail.did()
    notes.update(first, "changed")
    notes.promote(first, "project")
    assert [("stored", first)] * 2 == trail.did()
    notes.delete(second)
    notes.save("of the session", "a/b")
    assert "deleted" == trail.did()[0][0]
    assert 1 == notes.clear("a", tier="session")
    assert ["deleted"] == [action for action, _ in trail.did()]
    assert 1 == notes.end("task")
    assert [("deleted", third)] == trail.did()
    assert 1 == notes.clear(tier="project")
    assert [("deleted", first)] == trail.did()


def test_assemblies(memory: MemoryManager, trail: Kept) -> None:
    """What is assembled for a task was brought back by itself; the record of what was used of it is a memory too."""
    key = memory.store("we use ruff", tier="global", type="user_preference")
    trail.clear()
    assembler = ContextAssembler(memory)
    package = assembler.build("lint", 300)
    assert [("recalled", key)] == trail.did()
    assembler.record(package, "I use ruff as you like it")
    assert ["stored"] == [action for action, _ in trail.did()]


@pytest.mark.long
async def test_the_layer_and_the_notes_of_a_run(trail: Kept) -> None:
    """What a conversation begins with, and the notes that a run puts into the prompt, are recalled, once each."""
    store = SQLAlchemyStore("sqlite://")
    key = MemoryManager(store, user_id="ann").store(
        "answers in French", type="user_preference", tier="global"
    )
    context = MemoryContext("ann", store=store, thread_id=THREAD, audit=trail, notes=True)
    async with context.run() as notes:
        note = notes.save("mind the gap", tier="run")
        await context.add_message(user("hello"))
        for _ in range(2):
            await context.get_messages()
        assert [("stored", note), ("recalled", key), ("recalled", note)] == trail.did()
    assert [("deleted", note)] == trail.did()
    assert THREAD == context.thread_id


async def test_compaction_and_restoring(trail: Kept) -> None:
    """What compaction stores is stored, and reading it back to restore it a reading."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=2000, audit=trail, recall=False)
    for number in range(20):
        await context.add_message(
            user(f"worker-{number}? " + LOG[number * 100 : number * 100 + 500])
        )
        await context.get_messages()
    items = context.manager.memory_store.query(
        context.manager.scope, {"memory_type": "conversation"}, limit=None
    )
    newest = items[0].memory_key
    assert {("stored", item.memory_key) for item in items} <= set(trail.did())
    await context.restore(newest)
    assert [("expanded", newest)] == trail.did()
    await context.aclose()


async def test_sql_memory(trail: Kept) -> None:
    """Of AutoGen's `Memory`: adding stores, a query reads, putting it into a context recalls, clearing deletes."""
    memory = SQLMemory("ann", store=SQLAlchemyStore("sqlite://"), agent_id="coder", audit=trail)
    await memory.add(MemoryContent(content="likes tea", mime_type="text/plain"))
    await memory.query("tea")
    await memory.update_context(UnboundedChatCompletionContext())
    await memory.clear()

    assert ["stored", "expanded", "recalled", "deleted"] == [entry.action for entry in trail]
    assert {("ann", "coder", None)} == {(one.user_id, one.agent_id, one.thread_id) for one in trail}
    assert 1 == len({entry.memory_key for entry in trail})


def test_langchain_classes(trail: Kept) -> None:
    """Chat histories, memories, retrievers and LangGraph's store tell what they do, too."""
    store = SQLAlchemyStore("sqlite://")
    history = MemoryContextChatMessageHistory(THREAD, user_id="ann", store=store, audit=trail)
    history.add_messages([HumanMessage("hello")])
    assert ["hello"] == [message.content for message in history.messages]
    history.clear()
    assert ["stored", "deleted"] == [action for action, _ in trail.did()]

    chain = MemoryContextMemory(user_id="ann", thread_id=THREAD, store=store, audit=trail)
    chain.save_context({"input": "hello"}, {"output": LOG})
    assert ["stored", "stored"] == [entry.action for entry in trail]
    assert {THREAD} == {entry.thread_id for entry in trail}
    trail.clear()
    chain.load_memory_variables({"input": "What became of worker-123?"})
    assert ["recalled"] == [action for action, _ in trail.did()]

    manager = MemoryManager(store, user_id="ann", audit=trail)
    assert MemoryRetriever(manager=manager).invoke("worker-123")
    assert {"expanded"} == {action for action, _ in trail.did()}
    graph = MemoryStoreAdapter(manager)
    graph.put(("a",), "one", {"text": "x"})
    [(_, key)] = trail.did()
    graph.get(("a",), "one")
    graph.search(("a",))
    graph.delete(("a",), "one")
    graph.delete(("a",), "one")
    assert [("expanded", key), ("expanded", key), ("deleted", key)] == trail.did()


async def test_refused_passing_is_none(trail: Kept) -> None:
    """A secret that a tool must not have was not passed on, and neither read."""
    context = MemoryContext("ann", store="sqlite://", audit=trail)
    key = await context.store("hunter2", "a password", "secret", key="password")
    await context.add_message(user(f"use [MemoryRef: {key}]"))
    trail.clear()

    async def send(text: str) -> str:
        return text

    refused = await context.workbench([send]).call_tool("send", {"text": f"[MemoryRef: {key}]"})
    passed = await context.workbench(
        [send], pass_by_reference=PassingPolicy(secrets_for=["send"])
    ).call_tool("send", {"text": f"[MemoryRef: {key}]"})
    assert (True, False) == (refused.is_error, passed.is_error)
    assert [("passed", key)] == trail.did()
    await context.aclose()


async def test_a_failing_trail_stops_nothing(trail: Kept, caplog: pytest.LogCaptureFixture) -> None:
    """The agent's run and a person's verbs go on: one warning for each outage, all counted, and nothing is lost."""
    trail.failing = True
    context = MemoryContext("ann", store="sqlite://", audit=trail)
    await context.add_message(results(f"{MARKER}\n{LOG}"))
    key = await context.store("a text")
    assert "a text" == await context.retrieve(key)

    assert (1, 3) == (context.stats().folds, context.manager.audit_failures)
    assert 0 == context.stats().store_failures
    assert ["memory_context.audit_failed"] == [
        getattr(record, "event", "") for record in caplog.records
    ]
    assert key not in caplog.text
    trail.failing = False
    await context.forget(key)
    assert ["stored", "stored", "expanded", "deleted"] == [entry.action for entry in trail]
    assert sorted(trail, key=lambda entry: entry.at) == trail
    trail.failing = True
    await context.store("another text")
    assert 2 == len(caplog.records)
    trail.failing = False
    await context.aclose()
    assert 5 == len(trail)


@pytest.mark.long
def test_what_waits_is_bounded(memory: MemoryManager, trail: Kept) -> None:
    """Of a long outage the newest 1,000 entries are kept."""
    auditor = Auditor(trail)
    trail.failing = True
    for number in range(WAITING + 100):
        auditor.note("stored", memory.who, [str(number)])
    trail.failing = False
    auditor.close()

    assert [str(number) for number in range(100, WAITING + 100)] == [
        entry.memory_key for entry in trail
    ]
    assert WAITING + 100 == auditor.failures


def test_slow_failures_are_not_repeated(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure that took long, nothing is tried for a while: an agent does not wait for it each time."""
    asked = list[int]()

    class Slow:
        def record(self, entries: Sequence[AuditEntry]) -> None:
            asked.append(len(entries))
            message = "timeout"
            raise OSError(message)

    monkeypatch.setattr(circuit_breaker, "SLOW_FAILURE", 0.0)
    monkeypatch.setattr(circuit_breaker, "PAUSE", 0.0)
    auditor = Auditor(Slow())
    for _ in range(2):
        auditor.note("stored", memory.who, ["k"])
    auditor._breaker.pause = 1000.0  # noqa: SLF001
    for _ in range(5):
        auditor.note("stored", memory.who, ["k"])

    assert [1, 2, 3] == asked
    assert 7 == len(auditor.waiting)


def test_threads_lose_nothing(store_url: str) -> None:
    """Eight threads at once: what each did is there once, also after failures in between."""
    store = SQLAlchemyStore(store_url)
    inner = SQLAuditTrail(store)
    turns = iter(range(10_000))

    class Now(Kept):
        def record(self, entries: Sequence[AuditEntry]) -> None:
            if next(turns) % 3 == 1:
                message = "not now"
                raise OSError(message)
            inner.record(entries)

    memory = MemoryManager(store, user_id="ann", audit=Now())

    def work(number: int) -> None:
        for turn in range(10):
            memory.store(f"{number} {turn}", key=f"k{number}.{turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.close()
    memory.close()

    written = Counter(entry.memory_key for entry in inner.entries("ann"))
    assert {f"k{number}.{turn}": 1 for number in range(8) for turn in range(10)} == written
    store.close()


class TestSQLAuditTrail:
    """The trail in a database."""

    def test_filters(self, store_url: str) -> None:
        """Newest first, of one user, narrowed by key, action and time, as many as wanted, over several pages."""
        start = datetime(2026, 1, 1, tzinfo=UTC)
        actions: tuple[Any, ...] = ("stored", "expanded")
        entries = [
            AuditEntry(
                start + timedelta(minutes=n // 2), "ann", None, None, f"k{n % 3}", actions[n % 2]
            )
            for n in range(1200)
        ]
        with SQLAuditTrail(store_url) as trail:
            trail.record(entries)
            trail.record([AuditEntry(start, "bob", "b", "t", "k0", "deleted")])
            trail.record([])

            assert entries[::-1] == list(trail.entries("ann"))
            assert entries[:-8:-1] == list(trail.entries("ann", limit=7))
            assert entries[:199:-1] == list(trail.entries("ann", limit=1000))
            assert [] == list(trail.entries("ann", limit=0))
            found = list(
                trail.entries(
                    "ann", key="k1", action="expanded", since=start + timedelta(minutes=10)
                )
            )
            assert [
                e for e in reversed(entries[20:]) if (e.memory_key, e.action) == ("k1", "expanded")
            ] == found
            assert entries[9::-1] == list(trail.entries("ann", until=start + timedelta(minutes=5)))
            assert ["b"] == [entry.agent_id for entry in trail.entries("bob")]
            assert [] == list(trail.entries("nobody"))
            trail.record([AuditEntry(start, "42", None, None, "k", "stored")])
            assert 1 == len(list(trail.entries(42)))

    def test_deletion(self, store_url: str) -> None:
        """Of a user, of all before a moment, or both; never of everything."""
        start = datetime(2026, 1, 1, tzinfo=UTC)
        with SQLAuditTrail(store_url) as trail:
            days = [
                AuditEntry(start + timedelta(days=n), user, None, None, "k", "stored")
                for user in "ab"
                for n in range(4)
            ]
            trail.record(days)
            assert 2 == trail.delete(before=start + timedelta(days=1))
            assert 1 == trail.delete("a", before=start + timedelta(days=2))
            assert 2 == trail.delete("a")
            assert 3 == len(list(trail.entries("b")))
            with pytest.raises(InvalidArgumentError, match="give the user"):
                trail.delete()

    @for_each(
        "wrong",
        [
            {"action": "read"},
            {"since": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the mistake
            {"until": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the mistake
            {"limit": -1},
        ],
    )
    def test_mistakes(self, wrong: dict[str, Any]) -> None:
        """An action, a time or a limit that is none is an error at once, before anything is read."""
        with pytest.raises(InvalidArgumentError):
            SQLAuditTrail("sqlite://").entries("ann", **wrong)

    def test_own_transaction(self, sqlite_url: str) -> None:
        """Its writes stand beside those of the memories: what fails there changes nothing here, and the other way."""
        with MemoryManager(sqlite_url, user_id="ann", audit=True) as memory:
            memory.store("a text", key="k")
            engine = sa.create_engine(sqlite_url)
            with engine.begin() as connection:
                connection.execute(sa.text("DROP TABLE agent_memory_audit"))
            engine.dispose()
            assert "another text" == memory.retrieve(memory.store("another text", key="l"))
            assert 2 == memory.audit_failures

    def test_which_database(self, sqlite_url: str, tmp_path: Path) -> None:
        """True is that of the store, whatever its codec; a URL is another; a store of files has none."""
        other = f"sqlite:///{tmp_path / 'audit.db'}"
        for store, audit, where in (
            (sqlite_url, True, sqlite_url),
            (SQLAlchemyStore(sqlite_url, codec=Compressed()), True, sqlite_url),
            (FileStore(tmp_path / "notes"), other, other),
        ):
            with MemoryManager(store, user_id="ann", audit=audit) as memory:
                key = memory.store("a text")
                assert ("stored", key) == next(
                    (one.action, one.memory_key) for one in SQLAuditTrail(where).entries("ann")
                )
                memory.memory_store.close()
        with pytest.raises(InvalidArgumentError, match="give its URL"):
            MemoryManager(FileStore(tmp_path / "notes"), user_id="ann", audit=True)
        with pytest.raises(InvalidArgumentError, match="record"):
            MemoryManager(sqlite_url, user_id="ann", audit=3)  # type: ignore[arg-type] # that is the mistake
        assert isinstance(Kept(), AuditTrail)
        with SQLAuditTrail(sqlite_url) as trail:
            assert f"<SQLAuditTrail in <SQLAlchemyStore {sqlite_url}>>" == repr(trail)

    def test_lost_database(self, tmp_path: Path) -> None:
        """Asked directly, it raises what a store raises."""
        with pytest.raises(StoreUnavailableError):
            list(SQLAuditTrail(f"sqlite:///{tmp_path / 'no' / 'such.db'}").entries("ann"))


class TestDumped:
    """A trail that can be found again is dumped with what it watches; another one is refused."""

    @pytest.mark.parametrize("how", ["true", "url", "trail"])
    async def test_contexts(self, how: str, sqlite_url: str, tmp_path: Path) -> None:
        """A context, its tools and `SQLMemory` write into the same trail when they are loaded again."""
        other = f"sqlite:///{tmp_path / 'audit.db'}"
        audit: Any = {"true": True, "url": other, "trail": SQLAuditTrail(other)}[how]
        where = sqlite_url if how == "true" else other
        context = MemoryContext("ann", store=sqlite_url, audit=audit)
        loaded = MemoryContext.load_component(
            json.loads(context.dump_component().model_dump_json())
        )
        key = await loaded.store("a text")
        [tool, *_] = memory_tools(loaded.manager)
        again = type(tool).load_component(tool.dump_component())
        await again.run_json({"key": key}, cancellation_token=CancellationToken())
        memory = SQLMemory.load_component(
            SQLMemory("ann", store=sqlite_url, audit=audit).dump_component()
        )
        await memory.add(MemoryContent(content="likes tea", mime_type="text/plain"))

        did = [entry.action for entry in SQLAuditTrail(where).entries("ann")]
        assert ["stored", "expanded", "stored"] == did
        for one in (context, loaded, memory):
            await (one.close() if isinstance(one, SQLMemory) else one.aclose())

    def test_no_password(self) -> None:
        """A URL is dumped without its password."""
        audit = "postgresql+psycopg://ann:hunter2@localhost/audit"
        dumped = MemoryContext("ann", store="sqlite:///memory.db", audit=audit).dump_component()

        assert "postgresql+psycopg://ann@localhost/audit" == dumped.config["audit"]
        assert "hunter2" not in dumped.model_dump_json()

    @pytest.mark.parametrize("audit", [Kept(), SQLAuditTrail("sqlite://")])
    def test_own_trails(self, audit: AuditTrail) -> None:
        """One of the caller's own, or in memory, is a clear error."""
        with pytest.raises(NotSerializableError, match="audit=True"):
            MemoryContext("ann", store="sqlite:///memory.db", audit=audit).dump_component()

    def test_off(self) -> None:
        """Without a trail, none is loaded."""
        dumped = MemoryContext("ann", store="sqlite:///memory.db").dump_component()

        assert dumped.config["audit"] is False
        assert not MemoryContext.load_component(dumped).manager.audits


@pytest.mark.long
def test_the_command_line(sqlite_url: str) -> None:
    """What is found, shown and deleted there is written with `--audit`, by whoever is logged in; `audit` lists it."""
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store("rockets need fuel", key="rockets")
    place = ("--store", sqlite_url, "--user", "ann")
    assert 1 == command("audit", *place).returncode
    for verb in (("search", "rockets"), ("show", "rockets"), ("forget", "rockets", "--yes")):
        command(*verb, *place)
        command(*verb, "--audit", *place) if verb[0] != "forget" else None
    assert 1 == command("show", "rockets", "--audit", *place).returncode
    listed = json.loads(command("audit", "--json", *place).stdout)

    assert [("expanded", "rockets")] * 2 == [
        (one["action"], one["memory_key"]) for one in listed["entries"]
    ]
    assert all(one["agent_id"].startswith("cli:") for one in listed["entries"])
    assert not listed["more"]
    narrowed = json.loads(
        command(
            "audit", "--json", "--limit", "1", "--since", "1d", "--key", "rockets", *place
        ).stdout
    )
    assert (1, True) == (len(narrowed["entries"]), narrowed["more"])
    shown = command("audit", "--action", "expanded", *place).stdout
    assert ["at", "action", "key", "agent", "thread"] == shown.splitlines()[0].split()
    assert 3 == len(shown.splitlines())
    assert 1 == command("audit", "--action", "stored", *place).returncode
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store("fuel", key="fuel")
    command("forget", "fuel", "--yes", "--audit", *place)
    assert "deleted" in command("audit", "--key", "fuel", *place).stdout
    assert 2 == command("audit", "--store", "file:notes", "--user", "ann").returncode


def test_retention(store_url: str) -> None:
    """What goes because its time is over is there with its user, and who did it; what stays is not."""
    store, past = SQLAlchemyStore(store_url), datetime.now(UTC) - timedelta(hours=1)
    for name in ("ann", "bob"):
        memory = MemoryManager(store, user_id=name)
        memory.store("over", key=f"over.{name}", expires_at=past)
        memory.store("not over", key=f"lasting.{name}")

    assert 2 == delete_expired(store, audit=True, agent_id="night")
    did = [list(SQLAuditTrail(store).entries(name)) for name in ("ann", "bob")]
    assert [[("deleted", "over.ann", "night")], [("deleted", "over.bob", "night")]] == [
        [(one.action, one.memory_key, one.agent_id) for one in entries] for entries in did
    ]
    assert 0 == delete_expired(store)
    store.close()


def test_a_middleware_closes_its_trail(trail: Kept) -> None:
    """What waits is written when the middleware is closed."""
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann", audit=trail)
    trail.failing = True
    middleware._hosted.memories("ann").store("a text")  # noqa: SLF001 - the manager that its runs have
    trail.failing = False
    middleware.close()

    assert ["stored"] == [entry.action for entry in trail]


def test_store_failures_are_no_entries(memory: MemoryManager, trail: Kept, tmp_path: Path) -> None:
    """What could not be stored was not stored."""
    lost = MemoryManager(f"sqlite:///{tmp_path / 'no' / 'such.db'}", user_id="ann", audit=trail)
    with pytest.raises(StoreError):
        lost.store("a text")

    assert [] == trail.did()
    assert memory.audits
