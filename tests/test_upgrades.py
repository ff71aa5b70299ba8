"""Databases of earlier versions of the library: opened, migrated by several at once, killed meanwhile, refused."""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from commands import COMMAND, in_this_process, memory_context
from for_each import for_each
from memory_context import MemoryManager
from memory_context.exceptions import SchemaVersionError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import migrate
from memory_context.stores.sql.index import indexing as _indexing
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.schema import memories, passages, pending, version
from patient import PATIENT
from schema_memories import SEARCHES, letters, told
from test_faults import run_agent, warnings_of

DATA = Path(__file__).parent / "data" / "schemas"
VERSIONS = (
    *("0001-first", "0001-last", "0002-first", "0002-vectors", "0002-last"),
    *("0003-last", "0006-last"),
)
BACKENDS = ("sqlite", "postgresql")
WITH_VECTORS = ("0002-vectors", "0002-last", "0003-last", "0006-last")
Old = tuple[str, str, str]  # version, backend, URL

MIGRATE = "import sys; from memory_context.stores import SQLAlchemyStore; print(SQLAlchemyStore(sys.argv[1]).migrate())"
OPEN = "import sys; from memory_context import MemoryManager; print(MemoryManager(sys.argv[1], user_id='ann').get('json').line_count)"
KILLED = """
import os, signal, sys
import sqlalchemy as sa
from memory_context.stores import SQLAlchemyStore

left = [int(sys.argv[2])]

def kill(connection, cursor, statement, *rest):
    if statement.lstrip()[:6].upper() not in ("SELECT", "PRAGMA"):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sa.event.listen(sa.Engine, "after_cursor_execute", kill)
SQLAlchemyStore(sys.argv[1]).migrate()
"""


def filled(name: str, backend: str, url: str) -> None:
    """Make the database that an earlier version has filled."""
    text = (DATA / f"{name}.{backend}.sql").read_bytes().decode()
    if backend == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(text)
    else:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(text.encode())


@pytest.fixture(
    params=[
        pytest.param((name, backend), marks=[] if name == VERSIONS[0] else pytest.mark.long)
        for backend in BACKENDS
        for name in VERSIONS
    ],
    ids="-".join,
)
def old(request: pytest.FixtureRequest) -> Old:
    """A database that an earlier version has filled."""
    name, backend = request.param
    url = str(
        request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[backend])
    )
    filled(name, backend, url)
    return name, backend, url


@pytest.fixture(params=BACKENDS)
def oldest(request: pytest.FixtureRequest) -> str:
    """The URL of a database of the first version."""
    url = str(
        request.getfixturevalue(
            {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
        )
    )
    filled(VERSIONS[0], request.param, url)
    return url


@pytest.fixture(params=BACKENDS)
def newer(request: pytest.FixtureRequest) -> str:
    """The URL of a database of a version that does not exist yet."""
    url = str(
        request.getfixturevalue(
            {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
        )
    )
    with MemoryManager(url, user_id="ann") as manager:
        manager.store("a text", key="k")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.update(version).values(version_num="9999"))
    engine.dispose()
    return url


def revision_of(url: str) -> str | None:
    """The revision of the database's schema."""
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            return migrate.revision_of(connection)
    finally:
        engine.dispose()


def expected(name: str, backend: str) -> dict[str, Any]:
    """What the earlier version has found in it."""
    return dict(json.loads((DATA / f"{name}.{backend}.json").read_text("utf-8")))


def check(url: str, name: str, backend: str) -> None:
    """Check that all of it is there, as this version tells it; facts that are new are not in the older telling."""
    before, now = expected(name, backend), told(url)
    assert before["deleted"] == now["deleted"]
    for user in ("ann", "bob"):
        assert len(before[user]) == len(now[user]) > 0
        for old_record, new_record in zip(before[user], now[user], strict=True):
            assert old_record == {field: new_record[field] for field in old_record}


class TestEverythingIsThere:
    """A database of every earlier version works, with all that was in it."""

    def test_records_and_deletions(self, old: Old) -> None:
        """SQLite migrates as it is opened, PostgreSQL by `migrate`: every field of every record, and every deletion."""
        name, backend, url = old
        if backend == "postgresql":
            with pytest.raises(
                SchemaVersionError, match=f"has schema {name[:4]}.*run `memory-context migrate`"
            ):
                told(url)
            assert 0 == in_this_process("migrate", "--store", url).returncode

        check(url, name, backend)
        assert migrate.HEAD == revision_of(url)

    def test_searches(self, old: Old) -> None:
        """What could be found is found, each by its words; the secret by its description, and not by its content."""
        _, _, url = old
        with SQLAlchemyStore(url) as store:
            store.migrate()
            found = {
                query: [hit.memory_key for hit in store.search(Scope("ann"), query, limit=3)]
                for query in SEARCHES
            }
            secret = [hit.memory_key for hit in store.search(Scope("ann"), "hunter2")]
            others = [hit.memory_key for hit in store.search(Scope("bob"), "launch window")]

        assert dict.fromkeys(SEARCHES, True) == {
            query: key in found[query] for query, key in SEARCHES.items()
        }
        assert "staging-password" not in secret
        assert ["decision"] == others

    def test_new_facts_are_filled(self, old: Old) -> None:
        """What a later version counts is counted for what was there: the bytes of every content."""
        _, _, url = old
        with SQLAlchemyStore(url) as store:
            store.migrate()
            sizes = {item.id: len(item.data) for item in store.list_all(Scope("ann"))}
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            rows = connection.execute(
                sa.select(memories.c.id, memories.c.byte_count).where(memories.c.user_id == "ann")
            )
            counted = {row.id: row.byte_count for row in rows}
        engine.dispose()

        assert sizes == counted

    @pytest.mark.long
    def test_it_can_be_written(self, old: Old) -> None:
        """New memories come beside the old ones; a content that was shared is still one record; notes can be deleted."""
        _, _, url = old
        with SQLAlchemyStore(url) as store:
            store.migrate()
            ann = MemoryManager(store, user_id="ann")
            [shared] = store.query(Scope("ann"), {"memory_key": shared_key(store)})
            again = ann.remember(shared.content, type="tool_output", source="npm install")
            ann.store("new", key="gone")
            ann.forget("large")

            assert shared.id == again.id
            assert "new" == ann.retrieve("gone")
            assert [] == [
                hit for hit in ann.search("zebrafish-4711") if hit.match and hit.match.score > 1
            ]

    @pytest.mark.long
    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("name", WITH_VECTORS)
    def test_vectors_are_kept(
        self, request: pytest.FixtureRequest, name: str, backend: str
    ) -> None:
        """A search by meaning goes on with the vectors that are there: no text is embedded again."""
        url = str(
            request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[backend])
        )
        filled(name, backend, url)
        texts = list[str]()

        def embed(given: Sequence[str]) -> list[list[float]]:
            texts.extend(given)
            return letters(given)

        with SQLAlchemyStore(url, embedder=embed, embedding_model="letters") as store:
            store.migrate()
            hits = store.search(Scope("ann"), "a bad bed bead", mode="semantic")

        assert hits
        assert ["a bad bed bead"] == texts


def shared_key(store: SQLAlchemyStore) -> str:
    """The key that was generated for the content that is shared."""
    return next(
        item.memory_key
        for item in store.list_all(Scope("ann"))
        if item.memory_key.startswith("npm_install")
    )


@pytest.mark.long
@pytest.mark.parametrize("code", [OPEN, MIGRATE], ids=["open", "migrate"])
@pytest.mark.parametrize("count", [2, 8])
def test_several_migrate_at_once(oldest: str, count: int, code: str) -> None:
    """However many processes migrate or open a database at once, one does it, the others find it done, none fails."""
    backend = "sqlite" if oldest.startswith("sqlite") else "postgresql"
    if backend == "postgresql" and code == OPEN:
        code = f"{MIGRATE}\n{OPEN}"
    command = [sys.executable, "-c", PATIENT + code, oldest]

    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    results = [(*process.communicate(), process.returncode) for process in processes]

    assert [([], 0)] * count == [(error.splitlines()[-1:], status) for _, error, status in results]
    if code == MIGRATE:
        assert ["0001\n", *[f"{migrate.HEAD}\n"] * (count - 1)] == sorted(
            out for out, _, _ in results
        )
    check(oldest, VERSIONS[0], backend)


def waits_for_a_lock(url: str) -> None:
    """Wait until a connection to the database waits for another one."""
    engine = sa.create_engine(url)
    waiting = sa.text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.execute(waiting).scalar():
            time.sleep(0.02)
    engine.dispose()


class TestIndexMadeAnew:
    """An index of an older analyzer is emptied by the first process that comes, while others are at work."""

    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        """A database whose index is of an older analyzer, with a memory that is not indexed yet."""
        filled("0001-first", "postgresql", postgres_url)
        with SQLAlchemyStore(postgres_url) as store:
            store.migrate()
        return postgres_url

    def test_by_two_at_once(self, url: str) -> None:
        """The second one waits for the first, and finds it done."""
        engine = sa.create_engine(url)
        with SQLAlchemyStore(url) as store, ThreadPoolExecutor() as threads:
            with engine.begin() as first:
                keyword_index.reset(first)
                second = threads.submit(store.search, Scope("ann"), "zebrafish-4711")
                waits_for_a_lock(url)
            assert ["large"] == [hit.memory_key for hit in second.result()][:1]
        engine.dispose()

    def test_while_a_text_is_indexed(self, url: str) -> None:
        """Who empties it waits until a text that is being indexed is; what is there then is all pending, and found later."""
        engine = sa.create_engine(url)
        with SQLAlchemyStore(url) as store, ThreadPoolExecutor() as threads:
            store.count(Scope("ann"))
            with engine.begin() as indexing:
                [(user, memory_id, *_), *_] = _indexing.pending_memories(indexing, "ann")
                [(item, place)] = _indexing.unfinished(indexing, user, [memory_id])
                assert _indexing.extend(indexing, [next(_indexing.batches(item, place))])
                emptied = threads.submit(_reset, url)
                waits_for_a_lock(url)
            emptied.result()
            assert [] == rows_of(url, passages)
            assert len(list(store.list_all(Scope("ann")))) + 1 == len(rows_of(url, pending))
            assert ["large"] == [
                hit.memory_key for hit in store.search(Scope("ann"), "zebrafish-4711")
            ][:1]
        engine.dispose()


@pytest.mark.long
def test_indexing_waits_for_who_deletes(postgres_url: str) -> None:
    """Who indexes several memories locks none of what is the user's before all of theirs: nobody waits in a circle."""
    engine = sa.create_engine(postgres_url)
    with SQLAlchemyStore(postgres_url) as store, ThreadPoolExecutor() as threads:
        for key in ("a", "b"):
            MemoryManager(store, user_id="ann").store(f"a zebra in {key}", key=key)
        store.database.write(keyword_index.reset)
        with engine.begin() as deleting:
            row = sa.select(memories.c.id).where(memories.c.memory_key == "b")
            deleting.execute(row.with_for_update())
            found = threads.submit(store.search, Scope("ann"), "zebra")
            waits_for_a_lock(postgres_url)
            keyword_index.count(deleting, "ann", 0, 0)
        assert {"a", "b"} == {hit.memory_key for hit in found.result()}
    engine.dispose()


def _reset(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        keyword_index.reset(connection)
    engine.dispose()


def rows_of(url: str, table: sa.Table) -> list[Any]:
    """The rows of a table."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        rows = list(connection.execute(sa.select(table)))
    engine.dispose()
    return rows


def killed_after(url: str, statements: int) -> bool:
    """Migrate in a process that is killed after so many statements that write; whether it came to that."""
    run = subprocess.run(
        [sys.executable, "-c", KILLED, url, str(statements)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, -signal.SIGKILL), run.stderr
    return run.returncode != 0


def kill_at_each(url: str, steps: range, record_property: Any) -> int:
    """Kill migrations after more and more statements; what is there stays of the old schema, whole, until one is through."""
    backend = "sqlite" if url.startswith("sqlite") else "postgresql"
    kills = 0
    for statements in steps:
        if not killed_after(url, statements):
            break
        kills += 1
        assert "0001" == revision_of(url)
    with SQLAlchemyStore(url) as store:
        store.migrate()
    check(url, VERSIONS[0], backend)
    record_property(
        "told",
        f"migrations of {backend} killed in the middle: {kills}; nothing lost, then migrated",
    )
    return kills


@pytest.mark.long
def test_kill_in_the_middle(oldest: str, record_property: Any) -> None:
    """A migration that is killed after some statements has done nothing; the next one does all of it."""
    assert 0 < kill_at_each(oldest, range(0, 40, 9), record_property)


@pytest.mark.soak
def test_kill_at_each_statement(oldest: str, record_property: Any) -> None:
    """The same after each of its statements."""
    assert 0 < kill_at_each(oldest, range(200), record_property)


class TestNewerThanTheLibrary:
    """A database that a later version has migrated is refused by every way in, with what to do; nothing is touched."""

    def test_manager(self, newer: str) -> None:
        """Every verb says it."""
        with MemoryManager(newer, user_id="ann") as manager:
            for verb in (
                lambda: manager.get("k"),
                lambda: manager.store("x"),
                lambda: manager.search("x"),
            ):
                with pytest.raises(
                    SchemaVersionError,
                    match=r"9999, which is newer than .*; upgrade memory-context",
                ):
                    verb()

        assert "9999" == revision_of(newer)

    async def test_context(self, newer: str, caplog: pytest.LogCaptureFixture) -> None:
        """An agent goes on with full texts, and one warning says why."""
        from memory_context import MemoryContext  # noqa: PLC0415 - loads AutoGen

        with caplog.at_level(logging.WARNING, "memory_context"):
            [seen] = await run_agent(MemoryContext(user_id="ann", store=newer))

        assert "MemoryRef" not in seen
        [warning] = warnings_of(caplog)
        assert "upgrade memory-context" in warning

    @pytest.mark.long
    @for_each("verb", [["list"], ["show", "k"], ["search", "text"], ["stats"], ["migrate"]])
    def test_command_line(self, newer: str, verb: list[str]) -> None:
        """A line on standard error, no stack trace, exit code 2."""
        run = memory_context(*verb, "--store", newer)

        assert (2, "") == (run.returncode, run.stdout)
        assert "upgrade memory-context" in " ".join(run.stderr.split())
        assert "Traceback" not in run.stderr

    @pytest.mark.long
    def test_mcp(self, newer: str) -> None:
        """The server ends before it serves, with a line that says why."""
        command = [*COMMAND, "mcp", "--store", newer, "--user", "ann"]
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

        assert (2, "") == (run.returncode, run.stdout)
        assert "upgrade memory-context" in " ".join(run.stderr.split())
        assert "Traceback" not in run.stderr
