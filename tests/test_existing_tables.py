"""A table `agent_memories` of another program: refused before anything is written, and taken over as a page shows."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from commands import in_this_process
from documents_table import (
    ANN,
    BOB,
    THREAD,
    execute,
    import_rows,
    insert,
    make,
    names_in,
    take_over,
)
from for_each import for_each
from memory_context import MemoryContext, MemoryManager
from memory_context.exceptions import SchemaVersionError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from messages import LOG
from test_faults import run_agent, warnings_of

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


def said_by(*arguments: str) -> str:
    """What a command printed, on one line."""
    done = in_this_process(*arguments)
    return " ".join((done.stdout + done.stderr).split())


class TestRefused:
    """Every way in says what to do, and writes nothing."""

    def test_by_every_verb(self, url: str) -> None:
        """Reading, writing, searching and migrating name the page; no table and no index is made."""
        before = names_in(url)
        with MemoryManager(url, user_id=ANN) as manager:
            for verb in (
                lambda: manager.get("cmd_log_123"),
                lambda: manager.store("x"),
                lambda: manager.search("x"),
            ):
                with pytest.raises(
                    SchemaVersionError, match=r"rename it, .*/existing-tables\.md shows"
                ):
                    verb()
        with SQLAlchemyStore(url) as store, pytest.raises(SchemaVersionError, match="rename it"):
            store.migrate()

        assert before == names_in(url)

    async def test_by_an_agent(self, url: str, caplog: pytest.LogCaptureFixture) -> None:
        """The agent goes on with whole texts, and its log names the page."""
        assert [LOG] == await run_agent(MemoryContext(str(ANN), store=url))
        assert any("existing-tables.md" in line for line in warnings_of(caplog))

    def test_by_the_doctor_alone(self, url: str) -> None:
        """Of a table that is not ours, `doctor` reads no contents: it names no keys, whatever codec the URL names."""
        said = said_by("doctor", "--store", f"redacted+{url}")
        assert "existing-tables.md" in said
        assert "contents" not in said
        assert "keys" not in said

    @for_each("command", ["migrate", "stats", "doctor"])
    def test_by_commands(self, url: str, command: str) -> None:
        """`migrate` and the others end with an error; `doctor` finds the problem."""
        done = in_this_process(command, "--store", url)

        assert 2 == done.returncode
        assert "existing-tables.md" in " ".join((done.stdout + done.stderr).split())


class TestTakenOver:
    """What the page's queries and an import take over."""

    def test_every_row(self, url: str, tmp_path: Path) -> None:
        """Keys, types, texts, metadata, times, owners, threads and ids are those of the rows; NULL becomes a default."""
        done = take_over(url, tmp_path)
        with SQLAlchemyStore(url) as store:
            log, style = store.get_many(Scope(str(ANN)), ["cmd_log_123", "style"])
            [bobs] = store.list_all(Scope(str(BOB)))

        assert (3, True) == (done.written, done.complete)
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
        assert (True, {}, "style") == (style.is_active, style.content_metadata, style.summary)
        assert ("tool_output", "of Bob", "", False) == (
            bobs.memory_type,
            bobs.summary,
            bobs.content,
            bobs.is_active,
        )

    def test_rows_that_cannot_stay_as_they_are(self, url: str, tmp_path: Path) -> None:
        """An older row of a key, and a key that no reference can carry, are named; changed, they are taken over, too."""
        done = take_over(url, tmp_path)
        [conflict] = done.conflicts
        [damaged] = done.damaged
        assert UUID("00000000-0000-4000-8000-000000000004") == conflict.id
        assert "the key belongs to another memory" in conflict.reason
        assert "memory_key" in damaged.reason

        keys = "CASE memory_key WHEN 'cmd_log_123' THEN 'older' ELSE 'what_did_it' END"
        ids = "'00000000-0000-4000-8000-000000000004', '00000000-0000-4000-8000-000000000005'"
        execute(url, f"UPDATE agent_memories_before SET memory_key = {keys} WHERE id IN ({ids})")
        done = import_rows(url, tmp_path)
        assert (2, 3, (), ()) == (done.written, done.unchanged, done.conflicts, done.damaged)

    def test_rows_of_a_user_are_together(self, url: str, tmp_path: Path) -> None:
        """The lines are ordered by user, so that an import writes many in one transaction."""
        take_over(url, tmp_path)
        lines = (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()[1:-1]
        users = [json.loads(line)["memory"]["user_id"] for line in lines]
        assert [str(ANN)] * 4 + [str(BOB)] == users

    def test_newest_of_a_key(self, url: str, tmp_path: Path) -> None:
        """A row without a time keeps its key before rows with one; a time keeps its microseconds."""
        insert(url, 6, created_at=None, memory_key="style")
        insert(url, 7, created_at="2025-01-01 10:00:00.000100", memory_key="fine")
        insert(url, 8, created_at="2025-01-01 10:00:00.000900", memory_key="fine")
        take_over(url, tmp_path)
        with SQLAlchemyStore(url) as store:
            style, fine = store.get_many(Scope(str(ANN)), ["style", "fine"])

        assert (6, 8) == (style.id.int & 0xFF, fine.id.int & 0xFF)
        assert abs(style.created_at - datetime.now(UTC)) < timedelta(hours=1)
        assert 900 == fine.created_at.microsecond

    def test_old_times(self, postgres_url: str, tmp_path: Path) -> None:
        """Times of before the zones, whose offsets have seconds, are taken over from PostgreSQL."""
        execute(
            postgres_url,
            f"ALTER DATABASE \"{sa.make_url(postgres_url).database}\" SET timezone = '{ZONE}'",
        )
        make(postgres_url)
        insert(postgres_url, 6, created_at="0001-01-01 00:00:00", memory_key="first")
        insert(postgres_url, 7, created_at="1850-01-01 00:00:00", memory_key="old")
        take_over(postgres_url, tmp_path)
        with SQLAlchemyStore(postgres_url) as store:
            first, old = store.get_many(Scope(str(ANN)), ["first", "old"])

        offset = timedelta(hours=4, minutes=56, seconds=2)
        assert datetime(1, 1, 1, tzinfo=UTC) + offset == first.created_at
        assert datetime(1850, 1, 1, tzinfo=UTC) + offset == old.created_at

    def test_values_of_other_types(self, sqlite_url: str, tmp_path: Path) -> None:
        """SQLite holds any value in any column: what cannot be read is named with its line, and stops nothing."""
        make(sqlite_url)
        odd = [
            ("content_metadata", ""),
            ("content_metadata", "{bad"),
            ("content_metadata", b"{bad"),
            ("is_active", "false"),
            ("created_at", "yesterday"),
        ]
        for number, (column, value) in enumerate(odd, 10):
            insert(sqlite_url, number, memory_key=f"odd{number}", **{column: value})
        insert(sqlite_url, 6, memory_key="bytes", content=b"hello")
        insert(sqlite_url, 7, memory_key="zone", created_at="2025-01-01T10:00:00.5+05:00")
        done = take_over(sqlite_url, tmp_path)
        with SQLAlchemyStore(sqlite_url) as store:
            from_bytes, zone = store.get_many(Scope(str(ANN)), ["bytes", "zone"])

        columns = Counter(line.reason.split(":")[0] for line in done.damaged)
        assert {"content_metadata": 3, "is_active": 1, "created_at": 1, "memory_key": 1} == columns
        assert "hello" == from_bytes.content
        assert datetime(2025, 1, 1, 5, 0, 0, 500_000, UTC) == zone.created_at

    def test_it_works_on(self, url: str, tmp_path: Path) -> None:
        """What was taken over is found by its words, and new memories come beside it."""
        take_over(url, tmp_path)
        with MemoryManager(url, user_id=ANN) as manager:
            found = manager.search("zebrafish-4711")
            manager.store("new", key="new")
            keys = {item.memory_key for item in manager.memory_store.list_all(manager.scope)}

        assert "cmd_log_123" == found[0].memory_key
        assert {"cmd_log_123", "new", "style"} == keys
        assert 0 == in_this_process("doctor", "--store", url).returncode
