"""Every statement carries the user: what everything that talks to a database sends, statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, FunctionCall
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from for_each import first_quick
from langchain_memory_context import (
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryContextMiddleware,
    MemoryRetriever,
    MemoryStoreAdapter,
)
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as called
from memory_context import (
    ContextAssembler,
    ConversationMemory,
    MemoryContext,
    MemoryManager,
    Quota,
    Room,
    ScopedMemory,
    SQLAlchemyStore,
)
from memory_context.autogen.sql_memory import SQLMemory
from memory_context.cli import run
from memory_context.exceptions import KeyExistsError
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.mcp.resources import Resources
from memory_context.memory.consolidation import consolidate
from memory_context.memory.copy_export_import import (
    ALL_USERS,
    copy_memories,
    export_memories,
    import_memories,
)
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model.call_log_records import CallFilter, CallRecord, Decision
from memory_context.model.item import Deletion
from memory_context.stores.sql.hash_partitioned_tables import parts_of
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog, Expiry, happened_by
from memory_context.testing import ScriptedChatClient
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.tool_calls_and_answers import MemoryToolError
from memory_context.tools.tools_of_an_agent import memory_verbs
from messages import LOG, call, results, user
from partitioning import partition
from statements import ALLOWED, Shape, watching

ANN = "ann-the-user"
PORTS = (
    "The payment service listens on port 8443 behind the gateway, and restarts each night at two.",
    "The payment service listens on port 8443 behind the gateway and restarts every night at two.",
)
Work = Callable[[MemoryManager, Path], Any]


def soon() -> datetime:
    """A moment that is not over."""
    return datetime.now(UTC) + timedelta(days=1)


def colours(texts: list[str]) -> list[list[float]]:
    """Vectors that tell texts apart."""
    return [[float(len(text) % 7), 1.0, float(text.count("e"))] for text in texts]


@pytest.fixture(params=first_quick(["sqlite", "postgresql", "partitioned"]))
def database(request: pytest.FixtureRequest) -> str:
    """The URL of a database of each kind."""
    fixture = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url = str(request.getfixturevalue(fixture))
    if request.param == "partitioned":
        partition(url)
    return url


@pytest.fixture
def manager(database: str) -> Iterator[MemoryManager]:
    """A user among others, who have the same texts under the same keys."""
    with SQLAlchemyStore(database) as store:
        for other in ("bob", "eve", ANN):
            each = MemoryManager(store, user_id=other)
            for key in ("own", "gone", "night"):
                each.store(f"the launch code of the {key} shift", key=key)
            each.forget("gone")
            each.store(PORTS[0], tier="project", tier_id="p")
        yield MemoryManager(store, user_id=ANN, thread_id="t")


def verbs(ann: MemoryManager, _: Path) -> None:
    """Every verb of a store and of a manager, with every kind of argument."""
    store, scope = ann.memory_store, ann.scope
    key = ann.store(
        "the launch code is 5391", tags=["x"], category="a/b", metadata={"a": 1}, expires_at=soon()
    )
    ann.store("the launch code is 5391")
    ann.store("other", key="own", replace=True)
    with pytest.raises(KeyExistsError):
        ann.store("third", key="own")
    with pytest.raises(KeyExistsError):
        store.put(scope, replace(ann.get(key), memory_key="another", content="x", identity=None))
    secret = ann.store("hunter2", "a password", "secret")
    ann.store(b"\0\xff\0")
    ann.store("NUL \0 and \ud800")
    for each in (key, "own", "gone", "nothing", secret):
        store.get(scope, each)
        store.deletion(scope, each)
    store.get_many(scope, [key, "own", "nothing"])
    ann.retrieve(key, query="launch", max_tokens=50)
    for mode in ("keyword", "hybrid"):
        ann.search("launch code", mode=mode)
    ann.search("")
    ann.search(" ".join(f"launch{number}" for number in range(200)))
    ann.search(
        "launch",
        filters={"tags": ["x", "y"]},
        tier="detail",
        category="a",
        types=["note"],
        thread="t",
    )
    ann.search("launch", since=datetime(2020, 1, 1, tzinfo=UTC), until=soon())
    store.query(
        scope,
        {"importance": {"$gte": 0.1}, "agent_id": None, "user_id": "bob"},
        order_by="-importance",
    )
    narrow = replace(scope, tier="detail", thread_id="t", places=frozenset({("run", "1")}))
    store.query(narrow, {"is_active": [True, False], "user_id": ["bob", "eve"]}, limit=None)
    list(store.list_all(narrow))
    list(store.list_deleted(scope))
    store.touch(scope, [key, "own"])
    store.expire_at(scope, [(item, soon()) for item in store.get_many(scope, [key, "own"])])
    store.count(scope, {"tags": "x"})
    store.sum(scope, "token_count")
    store.usage(scope)
    store.delete(scope, key)
    store.delete(narrow, "own", reason="x")
    store.delete(scope, "own", soft=True)
    store.clear(replace(scope, tier="detail"))


def large_texts(ann: MemoryManager, _: Path) -> None:
    """A text that is indexed in batches, found, replaced, and taken out in batches."""
    text = "\n".join(
        f"line {number} of the launch protocol, page {number // 50}" for number in range(12_000)
    )
    ann.store(text, key="large")
    assert ann.search("protocol page 200")
    ann.store(text + "more", key="large", replace=True)
    ann.forget("large")
    ann.store(text, key="large")
    ann.memory_store.clear(ann.scope)


def notes(ann: MemoryManager, _: Path) -> None:
    """Notes in their tiers: saved, read, changed, promoted, evicted, ended."""
    mine = ScopedMemory(ann, run_id="r", session_id="t", task_id="k", project_id="p")
    keys = [mine.save(f"note {tier}", "a/b", ["x"], tier=tier) for tier in mine.open_tiers]
    mine.get()
    mine.get(keys[0])
    mine.get(category="a", tags=["x"], tier="project")
    mine.search("note")
    mine.update(keys[0], "changed", tags=["y"])
    mine.promote(keys[0], "global")
    mine.list_categories()
    mine.count()
    mine.size()
    mine.evicted()
    for text in ("one", "two", "three"):
        ann.remember(text, tier="project", tier_id="small", room=Room(max_items=1, evict=1.0))
    mine.add_preference("tea")
    mine.query_preferences()
    mine.add_decision("SQLite")
    mine.query_decisions()
    mine.delete(keys[1])
    mine.clear("a", tier="session")
    mine.clear(tier="session")
    for lifetime in ("run", "task", "session", "project"):
        mine.end(lifetime)


def services(ann: MemoryManager, _: Path) -> None:
    """What stands on a manager: assembling, consolidating, conversations."""
    for text in PORTS:
        ann.store(text, tier="project", tier_id="p")
    assembler = ContextAssembler(ann, task_id="k", project_id="p")
    package = assembler.build("change the port of the payment service", 300, head_tail=1)
    assembler.record(package, "port 8443")
    assembler.advice()
    assert consolidate(ann, "project", "p").groups
    consolidate(ann, "project", dry_run=True)
    conversation = ConversationMemory(manager=ann)
    conversation.add_turn("t", "human", "hello")
    conversation.get_turns("t")
    conversation.clear("t")


def moving(ann: MemoryManager, folder: Path) -> None:
    """Exports, imports and copies of one user."""
    export_memories(ann.memory_store, folder / "all.jsonl", user_id=ANN)
    import_memories(ann.memory_store, folder / "all.jsonl", user_id=ANN)
    with SQLAlchemyStore(f"sqlite:///{folder / 'target.db'}") as other:
        copy_memories(ann.memory_store, other, user_id=ANN)
    item = ann.get("own")
    fresh = replace(
        item,
        id=uuid4(),
        memory_key="fresh",
        content="f",
        identity=None,
        access_count=2,
        accessed_at=soon(),
    )
    gone = Deletion("never", datetime(2020, 1, 1, tzinfo=UTC), "x")
    assert (
        2
        == ann.memory_store.restore(
            ann.scope, [fresh, gone, replace(item, summary="changed")]
        ).written
    )


def people(ann: MemoryManager, _: Path) -> None:
    """What shows one user's memories to people: the catalog."""
    catalog = Catalog(ann.memory_store)
    catalog.entries(ann.scope)
    catalog.totals("tier", ANN)
    catalog.threads(ann.scope)
    catalog.count_threads(ANN)
    over = Expiry("over", happened_by("created", soon()))
    catalog.expired(over, ANN)
    catalog.delete_expired(ANN, [ann.get("own").id], over)
    catalog.keys_from(ann.scope, "o", 5)


def ending(ann: MemoryManager, _: Path) -> None:
    """Everything of a user goes; audited, and within a quota."""
    store = ann.memory_store
    store.quota = Quota(max_items=100)  # type: ignore[attr-defined] # a SQLAlchemyStore
    mine = MemoryManager(store, user_id=ANN, audit=True)
    mine.store("one more")
    mine.retrieve("own")
    mine.forget("own", soft=True)
    mine.revive("own")
    mine.close()
    assert store.forget_user(ANN).memories  # type: ignore[attr-defined] # a SQLAlchemyStore


def meaning(ann: MemoryManager, _: Path) -> None:
    """Searching by meaning: vectors are made, compared and deleted."""
    url = str(ann.memory_store.url)  # type: ignore[attr-defined] # a SQLAlchemyStore
    with SQLAlchemyStore(url, embedder=colours) as store:
        mine = MemoryManager(store, user_id=ANN)
        key = mine.store("the launch code is 5391")
        mine.search("code", mode="semantic")
        mine.search("code", mode="hybrid", filters={"tier": "detail"})
        mine.forget(key)


async def agents(ann: MemoryManager, _: Path) -> None:
    """AutoGen: a context that folds, recalls, compacts, keeps notes, saves its state; an agent's tools; its memory."""
    context = MemoryContext(ANN, store=ann.memory_store, thread_id="t", max_tokens=3000, notes=True)
    async with context.run(task="k", project="p") as mine:
        mine.save("keep the port", tier="run")
        for number in range(4):
            await context.add_message(call("run", number=number))
            await context.add_message(results(f"{number}\n{LOG}", number=number))
            await context.add_message(
                user(f"what did worker-{number} of job {number} do in [MemoryRef: own]?")
            )
            await context.get_messages()
        key = await context.store("kept")
        await context.retrieve(key)
        await context.search("worker")
        for each in context.tools():
            arguments = {
                "key": context.shown_keys()[0],
                "query": "worker",
                "content": "c",
                "tier": "run",
            }
            with suppress(MemoryToolError):
                await each.run_json(arguments, CancellationToken())
        state = await context.save_state()
    await MemoryContext(ANN, store=ann.memory_store).load_state(state)
    model = ScriptedChatClient(
        [[FunctionCall("1", '{"text": "[MemoryRef: night]"}', name="measure")], "done"]
    )
    model_context = MemoryContext(ANN, store=ann.memory_store)
    agent = AssistantAgent(
        "a",
        model,
        workbench=model_context.workbench([FunctionTool(measure, "Measure.")]),
        model_context=model_context,
    )
    await agent.run(task="measure [MemoryRef: night]")
    memory = SQLMemory(ANN, store=ann.memory_store)
    await memory.add(MemoryContent(content="tea", mime_type=MemoryMimeType.TEXT))
    await memory.query("tea")
    await memory.update_context(UnboundedChatCompletionContext())
    await memory.clear()


def measure(text: str) -> str:
    """Measure a text."""
    return f"{len(text)}"


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


async def chains(ann: MemoryManager, _: Path) -> None:
    """LangChain: memory, history, middleware, retriever, and the adapter of LangGraph's store."""
    store = ann.memory_store
    memory = MemoryContextMemory(user_id=ANN, thread_id="m", store=store)
    memory.save_context({"input": "hi"}, {"output": LOG})
    memory.load_memory_variables({"input": "what did worker-12 do?"})
    memory.clear()
    history = MemoryContextChatMessageHistory("h", user_id=ANN, store=store)
    history.add_messages([HumanMessage("hi"), AIMessage(LOG)])
    assert history.messages
    history.clear()
    middleware = MemoryContextMiddleware(store, user_id=ANN, notes=True)
    model = ScriptedChatModel(
        [[called("read_log")], [called("search_memory", query="worker")], "It crashed."]
    )
    agent = create_agent(model, [read_log], middleware=[middleware])
    await agent.ainvoke({"messages": [HumanMessage("What did worker-12 do?")]})
    MemoryRetriever(manager=ann).invoke("worker")
    adapter = MemoryStoreAdapter(ann)
    adapter.put(("notes", "a"), "k", {"text": "x"})
    adapter.get(("notes", "a"), "k")
    adapter.search(("notes",), query="x", filter={"text": "x"})
    adapter.list_namespaces()
    adapter.delete(("notes", "a"), "k")


def clients(ann: MemoryManager, _: Path) -> None:
    """MCP: every tool, and resources, listed and read."""
    mine = ScopedMemory(ann, session_id="t", project_id="p")
    tools = Tools(
        {
            **dict.fromkeys(memory_verbs(queries=True), mine.manager),
            **dict.fromkeys(NOTE_VERBS, mine),
        },
        500,
    )
    arguments = {
        "key": "night",
        "query": "launch",
        "content": "c",
        "tier": "project",
        "category": "",
        "tags": [],
    }
    for listed in tools.listed({})["tools"]:
        taken = {
            name: arguments[name]
            for name in listed["inputSchema"]["properties"]
            if name in arguments
        }
        tools.called({"name": listed["name"], "arguments": taken})
    resources = Resources(ann, page=1)
    page = resources.listed({})
    resources.listed({"cursor": page["nextCursor"]} if "nextCursor" in page else {})
    resources.read({"uri": "memory://night"})


def commands(ann: MemoryManager, folder: Path) -> None:
    """The command line, for one user."""
    url = ann.memory_store.database.url.render_as_string(hide_password=False)  # type: ignore[attr-defined]
    place = ("--store", url, "--user", ANN)
    for arguments in (
        ("list", "--tier", "detail", "--sort", "used"),
        ("search", "launch"),
        ("show", "own"),
        ("show", "nothing"),
        ("stats",),
        ("threads",),
        ("export", str(folder / "all.jsonl")),
        ("import", str(folder / "all.jsonl")),
        ("gc", "--dry-run"),
        ("consolidate", "project"),
        ("forget", "own", "--yes"),
    ):
        assert run([arguments[0], *place, *arguments[1:]]) in (0, 1), arguments


WORKS = (
    verbs,
    pytest.param(large_texts, marks=pytest.mark.long),
    notes,
    services,
    moving,
    people,
    ending,
    agents,
    chains,
    clients,
    commands,
)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: str(work.__name__))
async def test_every_statement_carries_the_user(
    manager: MemoryManager, tmp_path: Path, work: Work
) -> None:
    """Whatever is done for a user, each statement on a table of memories carries the user, or has an allowed shape.

    Where the tables are partitioned, it reads and writes one part, always the same, as EXPLAIN says.
    """
    with SQLAlchemyStore(f"sqlite:///{tmp_path / 'target.db'}") as target:
        assert [] == target.users()
    with watching(ANN) as watch:
        if (done := work(manager, tmp_path)) is not None:
            await done

    assert len(watch.sent) >= 9
    assert {} == dict(watch.wrong())
    assert len(watch.parts()) <= 1


def test_vectors(manager: MemoryManager, tmp_path: Path) -> None:
    """So does what makes, compares and deletes vectors; those of other users are not made on the way."""
    with watching(ANN) as watch:
        meaning(manager, tmp_path)

    assert {} == dict(watch.wrong())
    assert any("agent_memory_vectors_" in one.sql for one in watch.sent)


def test_lists_of_many_lengths_are_few_statements(manager: MemoryManager) -> None:
    """Lists of 1 to 100 keys are eight statements, as a driver keeps each of them in memory."""
    with watching(ANN) as watch:
        for size in range(1, 101):
            manager.known_keys([f"key_{number}" for number in range(size)])

    assert 8 == len({one.sql for one in watch.sent})


@pytest.mark.long
def test_shapes(manager: MemoryManager, tmp_path: Path) -> None:
    """Each shape without a user that is allowed is still sent, so that the list holds nothing that nobody needs."""
    with SQLAlchemyStore(f"sqlite:///{tmp_path / 'target.db'}") as target:
        target.users()
    with watching(ANN) as watch:
        for work in (moving, large_texts, verbs):
            work(manager, tmp_path)
        decision = Decision(soon(), "mine", "?", (), "concrete", (), None, (), "", 0, 0.1)
        keeper: Any = manager.memory_store
        keeper.note_call(CallRecord(ANN, None, None, decision))
        assert keeper.calls(CallFilter(ANN))
    with SQLAlchemyStore("sqlite://") as alone:
        mine = MemoryManager(alone, user_id=ANN)
        mine.store("alone")
        with watching(ANN) as more:
            mine.memory_store.clear(mine.scope)

    assert {*ALLOWED} == watch.shapes() | more.shapes() | _of_sqlite(manager)
    assert {} == dict(more.wrong())


def _of_sqlite(manager: MemoryManager) -> set[Shape]:
    """What PostgreSQL is not sent."""
    dialect = manager.memory_store.database.dialect  # type: ignore[attr-defined]
    return {shape for shape in ALLOWED if shape.dialect not in (None, dialect)}


ADMINISTRATION: dict[str, Callable[[SQLAlchemyStore, Path], object]] = {
    "users": lambda store, _: store.users(),
    "reindex": lambda store, _: store.reindex(),
    "everybody's export": lambda store, folder: export_memories(
        store, folder / "all", user_id=ALL_USERS
    ),
    "everybody's totals": lambda store, _: Catalog(store).totals("user_id"),
    "retention": lambda store, _: delete_expired(store),
    "doctor": lambda store, _: run(["doctor", "--store", _url(store)]),
    "gc": lambda store, _: run(["gc", "--store", _url(store), "--yes"]),
}


def test_administration(manager: MemoryManager, tmp_path: Path) -> None:
    """The verbs across users are these, and no other: each sends a statement that names none, and goes to many parts."""
    store: Any = manager.memory_store
    with store.database.engine.connect() as connection:
        is_partitioned = parts_of(connection) > 0
    for name, verb in ADMINISTRATION.items():
        with watching(ANN) as watch:
            verb(store, tmp_path)

        assert watch.wrong(), name
        assert is_partitioned == any(len(one.parts) > 1 for one in watch.sent), name


PLANTED = {
    "by key": "SELECT * FROM agent_memories WHERE memory_key = :key",
    "everything": "SELECT count(*) FROM agent_memories",
    "or": "SELECT * FROM agent_memories WHERE user_id = :user OR memory_key = :key",
    "another user": "SELECT * FROM agent_memories WHERE user_id = :other",
    "written down": "SELECT * FROM agent_memories WHERE user_id = 'ann-the-user'",
    "inside only": "SELECT * FROM agent_memories WHERE id IN (SELECT id FROM agent_memories WHERE user_id = :user)",
    "outside only": "SELECT id FROM agent_memories WHERE user_id = :user AND created_at > "
    "(SELECT max(created_at) FROM agent_memories)",
    "second half": "SELECT id FROM agent_memories WHERE user_id = :user UNION SELECT id FROM agent_memories",
    "in common": "WITH all_of_them AS (SELECT id FROM agent_memories) SELECT count(*) FROM all_of_them",
    "change": "UPDATE agent_memories SET summary = :user WHERE memory_key = :key",
    "deletion": "DELETE FROM agent_memory_deletions WHERE memory_key = :key",
    "owners": "SELECT number FROM agent_memory_owners",
    "pending": "DELETE FROM agent_memory_pending",
    "passages": "SELECT start FROM agent_memory_passages",
    "his passages": "SELECT start FROM agent_memory_passages WHERE memory_id = :his",
    "reads": "UPDATE agent_memory_access SET access_count = 0",
    "his reads": "DELETE FROM agent_memory_access WHERE memory_id = :his",
    "his memory": "DELETE FROM agent_memories WHERE user_id = :user AND id = :his",
    "made for him": "INSERT INTO agent_memory_deletions (user_id, memory_key, reason) VALUES (:other, :key, :key)",
}
OF_SQLITE = {
    "all words": "SELECT rowid FROM agent_memory_index WHERE agent_memory_index MATCH :word",
    "terms": "SELECT doc FROM agent_memory_terms WHERE term = :word",
    "his words": "INSERT INTO agent_memory_index(agent_memory_index, rowid, lexemes) "
    "VALUES ('delete', :passage, :mine)",
}


def test_a_planted_statement_is_found(manager: MemoryManager) -> None:
    """A statement that would leave the user is told from those that stay, however it is written."""
    store: Any = manager.memory_store
    planted = PLANTED | (OF_SQLITE if store.database.dialect == "sqlite" else {})
    his = MemoryManager(store, user_id="bob").get("own").id
    values = {
        "user": ANN,
        "other": "bob",
        "key": "fresh",
        "his": his,
        "word": '"1:launch"',
        "mine": "3:launch",
    }
    with store.database.engine.connect() as connection:
        first = sa.text("SELECT id FROM agent_memory_passages WHERE memory_id = :his")
        first = first.bindparams(sa.bindparam("his", his, sa.Uuid()))
        values["passage"] = connection.execute(first).scalar()
        connection.rollback()
        for name, sql in planted.items():
            statement = sa.text(sql)
            if ":his" in sql:
                statement = statement.bindparams(sa.bindparam("his", type_=sa.Uuid()))
            used = {value: values[value] for value in values if f":{value}" in sql}
            with connection.begin() as transaction, watching(ANN) as watch:
                connection.execute(statement, used)
                transaction.rollback()

            assert watch.wrong(), name
            assert set() == watch.shapes(), name


def _url(store: SQLAlchemyStore) -> str:
    return store.database.url.render_as_string(hide_password=False)
