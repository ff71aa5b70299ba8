"""A table `agent_memories` of another program: refused before anything is written, and adopted when asked for."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from commands import in_this_process
from documents_table import ANN, BOB, THREAD, execute, make, names_in
from for_each import first_quick, for_each
from memory_context import MemoryContext, MemoryManager
from memory_context.cli import run
from memory_context.exceptions import SchemaVersionError, StoreError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import migrate
from memory_context.stores.sql.schema import memories
from messages import LOG
from test_faults import run_agent, warnings_of

ID = "00000000-0000-4000-8000-000000000001"
COLUMNS = (
    *("id", "user_id", "agent_id", "thread_id", "memory_key", "memory_type", "summary", "content"),
    *("content_metadata", "created_at", "is_active"),
)
ZONE = "America/New_York"  # of the PostgreSQL database: its times say no zone


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    """A database with the table of another program and its rows."""
    url = str(request.getfixturevalue(request.param))
    if request.param == "postgres_url":
        name = sa.make_url(url).database
        execute(url, f"ALTER DATABASE \"{name}\" SET timezone = '{ZONE}'")
    make(url)
    return url


def make_untyped(url: str, *rows: dict[str, object]) -> None:
    """Make a table that has no types, with rows."""
    execute(url, "DROP TABLE IF EXISTS agent_memories;\n")
    execute(url, f"CREATE TABLE agent_memories ({', '.join(COLUMNS)})")
    table = sa.table("agent_memories", *map(sa.column, COLUMNS))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), list(rows))
    engine.dispose()


def said_by(*arguments: str) -> str:
    """What a command printed, on one line."""
    done = in_this_process(*arguments)
    return " ".join((done.stdout + done.stderr).split())


class TestRefused:
    """Every way in says what to do, and writes nothing."""

    def test_by_every_verb(self, url: str) -> None:
        """Reading, writing, searching and migrating name `adopt`; no table and no index is made."""
        before = names_in(url)
        with MemoryManager(url, user_id=ANN) as manager:
            for verb in (
                lambda: manager.get("cmd_log_123"),
                lambda: manager.store("x"),
                lambda: manager.search("x"),
            ):
                with pytest.raises(SchemaVersionError, match="run `memory-context adopt`"):
                    verb()
        with SQLAlchemyStore(url) as store, pytest.raises(SchemaVersionError, match="adopt"):
            store.migrate()

        assert before == names_in(url)

    async def test_by_an_agent(self, url: str, caplog: pytest.LogCaptureFixture) -> None:
        """The agent goes on with whole texts, and its log names `adopt`."""
        assert [LOG] == await run_agent(MemoryContext(str(ANN), store=url))
        assert any("memory-context adopt" in line for line in warnings_of(caplog))

    def test_by_the_doctor_alone(self, url: str) -> None:
        """Of a table that is not ours, `doctor` reads no contents: it names no keys, whatever codec the URL names."""
        said = said_by("doctor", "--store", f"redacted+{url}")
        assert "memory-context adopt" in said
        assert "contents" not in said
        assert "keys" not in said

    @for_each("command", ["migrate", "stats", "doctor"])
    def test_by_commands(self, url: str, command: str) -> None:
        """`migrate` and the others end with an error; `doctor` finds the problem."""
        done = in_this_process(command, "--store", url)

        assert 2 == done.returncode
        assert "memory-context adopt" in " ".join((done.stdout + done.stderr).split())


class TestAdopted:
    """What `adopt` takes over."""

    def test_every_row(self, url: str) -> None:
        """Keys, types, texts, metadata, times, owners, threads and ids are those of the rows; NULL becomes a default."""
        with SQLAlchemyStore(url) as store:
            adopted = store.adopt()
            log, style = store.get_many(Scope(str(ANN)), ["cmd_log_123", "style"])
            [bobs] = store.list_all(Scope(str(BOB)))

        assert (5, 2) == (adopted.memories, adopted.renamed)
        assert ("command_output", "NPM Install Output", "3", THREAD, True) == (
            log.memory_type,
            log.summary,
            log.agent_id,
            log.thread_id,
            log.is_active,
        )
        assert "added 512 packages, zebrafish-4711 was deprecated" == log.content
        assert {"command": "npm install", "seconds": 2.5} == log.content_metadata
        assert UUID("00000000-0000-4000-8000-000000000001") == log.id
        hours = 5 if url.startswith("postgresql") else 0
        assert datetime(2025, 3, 1, 10 + hours, tzinfo=UTC) == log.created_at == log.updated_at
        assert (len(str(log.content)), 1) == (log.char_count, log.line_count)
        assert log.token_count > 5
        assert log.content_hash
        assert timedelta(milliseconds=250).microseconds == style.created_at.microsecond
        assert (True, {}, True) == (
            style.is_active,
            style.content_metadata,
            "one sentence" in style.summary,
        )
        assert ("tool_output", "", False) == (bobs.memory_type, bobs.content, bobs.is_active)

    def test_keys_that_cannot_stay(self, url: str) -> None:
        """Of two rows of a user with one key the newer keeps it; a key gets characters that a reference can carry."""
        with SQLAlchemyStore(url) as store:
            store.adopt()
            items = {item.memory_key: item for item in store.list_all(Scope(str(ANN)))}

        assert {
            "cmd_log_123",
            "style",
            "what_did__it",
            "cmd_log_123_00000000000040008000000000000004",
        } == set(items)
        assert "the first run" == items["cmd_log_123_00000000000040008000000000000004"].content
        assert "hunter2" not in items["what_did__it"].summary

    def test_it_works_on(self, url: str) -> None:
        """What was adopted is found by its words, a preference begins conversations, and new memories come beside it."""
        with MemoryManager(url, user_id=ANN) as manager:
            manager.memory_store.adopt()  # type: ignore[attr-defined] # a store of the URL
            found = manager.search("zebrafish-4711")
            manager.store("new", key="new")
            keys = {item.memory_key for item in manager.memory_store.list_all(manager.scope)}
            with pytest.raises(SchemaVersionError, match="nothing to adopt"):
                manager.memory_store.adopt()  # type: ignore[attr-defined] # as above

        assert "cmd_log_123" == found[0].memory_key
        assert {"new", "style"} < keys
        assert 0 == in_this_process("doctor", "--store", url).returncode

    def test_the_old_table_stays(self, url: str) -> None:
        """Under another name, with its rows; the schema is ours, as in a new database."""
        before = names_in(url)
        with SQLAlchemyStore(url) as store:
            store.adopt()
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            count = connection.exec_driver_sql(
                "SELECT count(*) FROM agent_memories_before_adoption"
            )
            assert 5 == count.scalar()
            assert migrate.HEAD == migrate.revision_of(connection)
        engine.dispose()

        assert before < names_in(url)

    def test_all_or_nothing(self, url: str) -> None:
        """A row that cannot be taken over is named, and everything is as it was."""
        execute(
            url, "UPDATE agent_memories SET content_metadata = '[1]' WHERE memory_key = 'style'"
        )
        before = names_in(url)

        with (
            SQLAlchemyStore(url) as store,
            pytest.raises(StoreError, match=r"the row 00000000-.*0002 of agent_memories"),
        ):
            store.adopt()

        assert before == names_in(url)

    @pytest.mark.parametrize(
        "moment", first_quick(["infinity", "-infinity", "20000-01-01", "0044-03-15 BC"])
    )
    def test_times_that_python_does_not_have(self, postgres_url: str, moment: str) -> None:
        """PostgreSQL has times before the year 1 and after 9999, and two that are infinite: the row is named."""
        make(postgres_url)
        execute(
            postgres_url,
            f"UPDATE agent_memories SET created_at = '{moment}' WHERE memory_key = 'style'",
        )
        with (
            SQLAlchemyStore(postgres_url) as store,
            pytest.raises(StoreError, match=r"the row 00000000-.*0002 of .*: created_at: "),
        ):
            store.adopt()

    def test_times_with_a_zone(self, sqlite_url: str) -> None:
        """SQLite has times as text: one that names its zone is read in it, any other in UTC."""
        row = dict.fromkeys(COLUMNS) | {"user_id": 7, "content": "x"}
        moments = ("2025-03-01 12:00:00+02:00", "2025-03-01T10:00:00Z", "2025-03-01 10:00:00")
        rows = [
            row | {"id": str(UUID(int=n)), "memory_key": f"k{n}", "created_at": moment}
            for n, moment in enumerate(moments)
        ]
        make_untyped(sqlite_url, *rows)
        with SQLAlchemyStore(sqlite_url) as store:
            store.adopt()
            items = store.list_all(Scope("7"))
        assert [datetime(2025, 3, 1, 10, tzinfo=UTC)] * 3 == [item.created_at for item in items]

    @for_each(
        "column, value",
        [
            ("id", None),
            ("id", 5),
            ("memory_key", None),
            ("memory_key", 5),
            ("content", b"bytes"),
            ("content_metadata", "{not JSON"),
            ("is_active", "yes"),
            ("created_at", 1740823200),
            ("created_at", "yesterday"),
        ],
    )
    def test_values_of_other_types(self, sqlite_url: str, column: str, value: object) -> None:
        """SQLite lets any column hold anything: nothing is guessed, and the row is named."""
        row = dict.fromkeys(COLUMNS) | {"id": ID, "user_id": 7, "memory_key": "k", column: value}
        make_untyped(sqlite_url, row)

        with (
            SQLAlchemyStore(sqlite_url) as store,
            pytest.raises(StoreError, match=f"the row {row['id']} of .*taken over"),
        ):
            store.adopt()

    def test_two_rows_of_one_id(self, sqlite_url: str) -> None:
        """Neither is left out."""
        row = dict.fromkeys(COLUMNS) | {"id": ID, "user_id": 7, "content": "x"}
        make_untyped(sqlite_url, row | {"memory_key": "a"}, row | {"memory_key": "b"})

        with (
            SQLAlchemyStore(sqlite_url) as store,
            pytest.raises(StoreError, match=f"two rows of agent_memories have the id {ID}"),
        ):
            store.adopt()

    def test_another_layout(self, sqlite_url: str) -> None:
        """A table that only has the name is not adopted; the message says what it lacks."""
        execute(sqlite_url, "CREATE TABLE agent_memories (id TEXT, content TEXT)")

        with (
            SQLAlchemyStore(sqlite_url) as store,
            pytest.raises(SchemaVersionError, match=r"lacks these columns, .*: user_id, agent_id,"),
        ):
            store.adopt()


class TestCommand:
    """``memory-context adopt``."""

    def test_in_words(self, url: str) -> None:
        """It says how many rows, what became of the old table, and how many have another key."""
        said = in_this_process("adopt", "--store", url)

        assert 0 == said.returncode
        assert (
            "5 memories taken over, 2 under another key; the old table is now"
            " agent_memories_before_adoption"
        ) in " ".join(said.stdout.split())

    def test_as_json(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The same as one object."""
        assert 0 == run(["adopt", "--store", url, "--json"])

        table = "agent_memories_before_adoption"
        assert {"memories": 5, "renamed": 2, "table": table} == json.loads(capsys.readouterr().out)

    def test_columns_are_missing(self, url: str) -> None:
        """All that are missing are named, and nothing is changed; with empty columns in their place it works."""
        for column in ("agent_id", "is_active"):
            execute(url, f"ALTER TABLE agent_memories DROP COLUMN {column}")
        before = names_in(url)
        said = said_by("adopt", "--store", url)
        assert "lacks these columns, which adopt reads: agent_id, is_active." in said
        assert before == names_in(url)

        for column in ("agent_id INTEGER", "is_active BOOLEAN"):
            execute(url, f"ALTER TABLE agent_memories ADD COLUMN {column}")
        assert "5 memories taken over" in said_by("adopt", "--store", url)

    def test_into_a_redacted_store(self, url: str) -> None:
        """With `redacted+` the rows lose their secrets as soon as they are ours."""
        token = "ghp" + "_" + "aB3dE6gH9k" * 3 + "q7X4Zm"
        execute(url, f"UPDATE agent_memories SET content = 'use {token}' WHERE user_id = {BOB}")
        assert 0 == in_this_process("adopt", "--store", f"redacted+{url}").returncode

        with SQLAlchemyStore(url) as store:
            texts = [item.text for item in store.list_all(Scope(str(BOB)))]
        assert ["use [redacted github_token]"] == texts

    def test_into_an_encrypted_store(self, url: str) -> None:
        """With `encrypted+` no row of ours holds a text; with the key all of them are read, and found by their words."""
        keys = {"MEMORY_CONTEXT_KEYS": f"k1:{b64encode(bytes(32)).decode()}"}
        assert 0 == in_this_process("adopt", "--store", f"encrypted+{url}", **keys).returncode

        engine = sa.create_engine(url)
        with engine.connect() as connection:
            rows = connection.execute(sa.select(memories.c.content, memories.c.summary)).all()
        engine.dispose()
        assert [(None, "(encrypted)")] * 5 == [tuple(row) for row in rows]
        store = f"encrypted+{url}"
        found = in_this_process("search", "zebrafish-4711", "--store", store, "--user", "7", **keys)
        assert "cmd_log_123" in found.stdout

    def test_nothing_there(self, sqlite_url: str) -> None:
        """A file that is not there is not made; an empty database has nothing to adopt."""
        assert "there is no database" in said_by("adopt", "--store", sqlite_url)
        assert 0 == run(["migrate", "--store", sqlite_url])
        assert "nothing to adopt" in said_by("adopt", "--store", sqlite_url)
        Path("folder").mkdir()
        assert "has no schema" in said_by("adopt", "--store", "file:folder")
