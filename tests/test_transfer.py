"""Moving everything between stores, and what must hold for every record on the way."""

from __future__ import annotations

import gzip
import json
import resource
import signal
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from for_each import first_quick
from memory_context import MemoryManager
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidRecordError,
    InvalidScopeError,
    NothingMatchedError,
    StoreError,
)
from memory_context.memory.backup_files import backup_database
from memory_context.memory.copy_export_import import (
    ALL_USERS,
    copy_memories,
    export_memories,
    import_memories,
)
from memory_context.model.batches import CHARACTERS, MOST, batches_of
from memory_context.model.item import Deletion, MemoryItem, hash_content
from memory_context.model.json_records_of_exports import (
    deletion_from,
    deletion_record,
    item_from,
    record_of,
)
from memory_context.model.scope import Scope
from memory_context.stores import FileStore, MemoryStore, SQLAlchemyStore
from memory_context.testing.sample_memories import ANN, BOB, memory
from records import deletions, memories

KINDS = ("memory", "sqlite", "files", "postgresql")
Everything = dict[str, tuple[list[MemoryItem], list[Deletion]]]


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], MemoryStore]]:
    """Makes empty stores of a kind."""
    made: list[MemoryStore] = []

    def make(kind: str) -> MemoryStore:
        place = tmp_path / f"{kind}-{len(made)}"
        if kind == "files":
            made.append(FileStore(place))
        elif kind == "postgresql":
            made.append(SQLAlchemyStore(str(request.getfixturevalue("postgres_url"))))
        else:
            made.append(
                SQLAlchemyStore("sqlite://" if kind == "memory" else f"sqlite:///{place}.db")
            )
        return made[-1]

    yield make
    for store in made:
        store.close()


def fill(store: MemoryStore) -> None:
    """Memories of every sort, of two users, with reads, evictions and deletions."""
    long_ago = datetime(2020, 2, 29, tzinfo=UTC)
    contents: list[str | bytes] = [
        "",
        "text",
        "NUL \0",
        "\ud83d\ude00 two surrogates",
        b"\0\xff",
        "中文 😀\r\n",
        "x" * 300_000,
    ]
    for number, content in enumerate(contents):
        item = memory(
            content,
            category=("a/b", None, "../c")[number % 3],
            tags=("t",),
            content_metadata={"n": number},
        )
        store.put(
            ANN, replace(item, created_at=long_ago + timedelta(days=number), is_active=number != 1)
        )
    shared = store.put(
        BOB, memory("log", shared=True, user_id="bob", agent_id="a", expires_at=long_ago)
    )
    store.touch(BOB, [shared.memory_key])
    for scope in (ANN, BOB):
        key = store.put(scope, memory("gone", user_id=scope.user_id)).memory_key
        store.delete(scope, key, reason="it was asked for: ü")


def everything(store: MemoryStore) -> Everything:
    """All that a store holds."""
    scopes = [Scope("ann"), Scope("bob")]
    return {
        scope.user_id: (list(store.list_all(scope)), list(store.list_deleted(scope)))
        for scope in scopes
    }


class TestCopy:
    """Store to store."""

    @pytest.mark.long
    @pytest.mark.parametrize("target_kind", KINDS)
    @pytest.mark.parametrize("source_kind", ["sqlite", "files"])
    def test_every_pair(
        self, make: Callable[[str], MemoryStore], source_kind: str, target_kind: str
    ) -> None:
        """Everything of everybody arrives as it was, a second time changes nothing, and it goes back the same way."""
        source, target = make(source_kind), make(target_kind)
        fill(source)
        steps: list[tuple[int, int]] = []

        first = copy_memories(
            source, target, user_id=ALL_USERS, progress=lambda *step: steps.append(step)
        )
        again = copy_memories(source, target, user_id=ALL_USERS)
        back = copy_memories(target, make("memory"), user_id=ALL_USERS)

        assert everything(source) == everything(target)
        assert (10, 0, ()) == (first.written, first.unchanged, first.conflicts)
        assert (0, 10, ()) == (again.written, again.unchanged, again.conflicts)
        assert (10, ()) == (back.written, back.conflicts)
        assert (10, 10) == steps[-1]
        assert 1 == len(target.search(BOB, "log"))

    def test_one_user(self, make: Callable[[str], MemoryStore]) -> None:
        """A user's copy holds nothing of another."""
        source, target = make("memory"), make("memory")
        fill(source)

        copy_memories(source, target, user_id="ann")

        assert {"ann": everything(source)["ann"], "bob": ([], [])} == everything(target)

    def test_conflicts_are_named(self, make: Callable[[str], MemoryStore]) -> None:
        """What cannot be written is named, and everything else is."""
        source, target = make("memory"), make("files")
        fill(source)
        target.put(ANN, memory("another", memory_key=next(iter(source.list_all(ANN))).memory_key))

        done = copy_memories(source, target, user_id=ALL_USERS)

        [conflict] = done.conflicts
        assert ("ann", 9) == (conflict.user_id, done.written)
        assert "key" in conflict.reason

    def test_from_sql_to_files_and_back(self, make: Callable[[str], MemoryStore]) -> None:
        """PostgreSQL gives what it was given."""
        source, target = make("postgresql"), make("files")
        fill(source)

        assert () == copy_memories(source, target, user_id=ALL_USERS).conflicts
        assert everything(source) == everything(target)


class TestFile:
    """Through a file of JSON lines."""

    @pytest.mark.parametrize("name", first_quick(["all.jsonl.gz", "all.jsonl"]))
    def test_there_and_back(
        self, make: Callable[[str], MemoryStore], tmp_path: Path, name: str
    ) -> None:
        """Everything comes back out of the file, any number of times; the file is the same each time."""
        source, target, steps = make("sqlite"), make("files"), list[tuple[int, int]]()
        fill(source)

        exported = export_memories(
            source, tmp_path / name, user_id=ALL_USERS, progress=lambda *s: steps.append(s)
        )
        data = exported.path.read_bytes()
        results = [import_memories(target, exported.path, user_id=ALL_USERS) for _ in range(2)]

        assert everything(source) == everything(target)
        assert [(10, 0), (0, 10)] == [(result.written, result.unchanged) for result in results]
        assert all(
            result.complete and not result.damaged and not result.conflicts for result in results
        )
        assert (8, 2, len(data)) == (exported.memories, exported.deletions, exported.size)
        assert [(done, 10) for done in range(1, 11)] == steps
        assert data == export_memories(target, tmp_path / name, user_id=ALL_USERS).path.read_bytes()
        assert [] == [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]

    def test_as_it_is_documented(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """The file has a header, a line for each memory and deletion, and an end."""
        source = make("memory")
        fill(source)

        path = export_memories(source, tmp_path / "bob.jsonl", user_id="bob").path
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

        assert {"memory_context": 1, "memories": 1, "deletions": 1} == lines[0]
        assert ("log", "bob", 1) == tuple(
            lines[1]["memory"][name] for name in ("content", "user_id", "access_count")
        )
        assert ("bob", "it was asked for: ü") == (
            lines[2]["deletion"]["user_id"],
            lines[2]["deletion"]["reason"],
        )
        assert {"end": {"memories": 1, "deletions": 1}} == lines[3]

    def test_only_one_user(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """Of a file of everybody's, an import for one user takes theirs only."""
        source, target = make("memory"), make("memory")
        fill(source)

        path = export_memories(source, tmp_path / "all.jsonl", user_id=ALL_USERS).path
        import_memories(target, path, user_id="bob")

        assert {"ann": ([], []), "bob": everything(source)["bob"]} == everything(target)

    @pytest.mark.long
    def test_interrupted_import(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """An interrupted import goes on where it ended when it is done again."""
        source, target = make("memory"), make("sqlite")
        for number in range(2 * MOST + 50):
            source.put(ANN, memory(f"text {number}", memory_key=f"k{number}"))
        path = export_memories(source, tmp_path / "all.jsonl", user_id="ann").path

        def interrupt(done: int, total: int) -> None:
            assert 2 * MOST + 50 == total
            if done >= 2 * MOST:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_memories(target, path, user_id="ann", progress=interrupt)
        half = target.count(ANN)
        done = import_memories(target, path, user_id="ann")

        assert (2 * MOST, 50, 2 * MOST) == (half, done.written, done.unchanged)
        assert list(source.list_all(ANN)) == list(target.list_all(ANN))

    def test_interrupted_export(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """An interrupted export leaves the file that was there, and nothing else."""
        source = make("memory")
        fill(source)
        path = tmp_path / "all.jsonl.gz"
        path.write_bytes(b"the old one")

        def interrupt(*step: int) -> None:
            raise KeyboardInterrupt(step)

        with pytest.raises(KeyboardInterrupt):
            export_memories(source, path, user_id="ann", progress=interrupt)

        assert b"the old one" == path.read_bytes()
        assert [path] == list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", first_quick(["all.jsonl.gz", "all.jsonl"]))
    def test_truncated(self, make: Callable[[str], MemoryStore], tmp_path: Path, name: str) -> None:
        """A file that ends early gives what it has, and says that it is not complete."""
        source, target = make("memory"), make("memory")
        fill(source)
        path = export_memories(source, tmp_path / name, user_id=ALL_USERS).path
        path.write_bytes(path.read_bytes()[: -path.stat().st_size // 3])

        done = import_memories(target, path, user_id=ALL_USERS)

        assert not done.complete
        assert 0 < done.written < 10

    def test_damaged_lines(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A line that describes nothing, or whose content is not what its hash says, is named; the rest is written."""
        source, target = make("memory"), make("memory")
        fill(source)
        path = export_memories(source, tmp_path / "all.jsonl", user_id=ALL_USERS).path
        lines = path.read_text("utf-8").splitlines()
        lines[2] = lines[2].replace('"text"', '"tampered"')
        broken = [
            "{",
            "[]",
            '{"memory": 1}',
            '{"deletion": {"memory_key": "k"}}',
            '{"other": {}}',
            "",
            "\ufffd" * 3,
        ]
        path.write_text("\n".join(lines[:4] + broken + lines[4:]) + "\n", "utf-8")

        done = import_memories(target, path, user_id=ALL_USERS)

        assert [3, *range(5, 12)] == [damage.line for damage in done.damaged]
        assert "hash" in done.damaged[0].reason
        assert (9, True) == (done.written, done.complete)

    def test_what_store_refuses(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A record that `store` would refuse is refused, and one with another content's identity, which would hide that."""
        source, target = make("memory"), make("memory")
        MemoryManager(source, user_id="ann").store("text", type="tool_output")
        path = export_memories(source, tmp_path / "all.jsonl", user_id=ALL_USERS).path
        head, line, end = path.read_text("utf-8").splitlines()
        record = json.loads(line)["memory"]
        bad: list[dict[str, Any]] = [
            {"memory_type": ""},
            {"memory_type": "x" * 256},
            {"tier": "a\nb"},
            {"tier_id": " "},
            {"agent_id": "x" * 256},
            {"thread_id": ""},
            {"category": ""},
            {"tags": [""]},
            {"importance": 1.5},
            {"memory_key": ""},
            {"memory_key": "k" * 256},
            {"memory_key": "../k"},
            {"user_id": ""},
            {"identity": hash_content("another text")},
        ]
        lines = [json.dumps({"memory": record | changed}) for changed in bad]
        path.write_text("\n".join([head, *lines, line, end]) + "\n", "utf-8")

        done = import_memories(target, path, user_id=ALL_USERS)

        assert list(range(2, 2 + len(bad))) == [damage.line for damage in done.damaged]
        assert (1, True) == (done.written, done.complete)

    @pytest.mark.parametrize(
        "data", [b"", b"{}\n", b"[]\n", b"\x1f\x8b junk", b"\xff", b"memory_context\n"]
    )
    def test_no_export(
        self, make: Callable[[str], MemoryStore], tmp_path: Path, data: bytes
    ) -> None:
        """Another file is refused before anything is written."""
        (tmp_path / "x").write_bytes(data)

        with pytest.raises(InvalidRecordError, match="not an export"):
            import_memories(make("memory"), tmp_path / "x", user_id="ann")

    def test_newer_form(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A file of a newer form is refused."""
        (tmp_path / "x").write_bytes(
            gzip.compress(b'{"memory_context": 2, "memories": 0, "deletions": 0}\n')
        )

        with pytest.raises(InvalidRecordError, match="format 2"):
            import_memories(make("memory"), tmp_path / "x", user_id="ann")

    def test_no_such_user(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """An export of a user with nothing in the store is an error, and an existing file stays."""
        (tmp_path / "x").write_bytes(b"a backup")

        with pytest.raises(NothingMatchedError, match="nothing of a user 'typo'"):
            export_memories(make("memory"), tmp_path / "x", user_id="typo")

        assert b"a backup" == (tmp_path / "x").read_bytes()

    def test_no_user(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A user of None is refused: it stood for everybody in exports and copies."""
        source = make("memory")
        fill(source)
        nobody: Any = None

        with pytest.raises(InvalidScopeError, match="user_id"):
            export_memories(source, tmp_path / "x", user_id=nobody)
        with pytest.raises(InvalidScopeError, match="user_id"):
            copy_memories(source, make("memory"), user_id=nobody)
        assert not (tmp_path / "x").exists()

    def test_no_file(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A file that cannot be read or written is an error of the library's own."""
        with pytest.raises(StoreError, match="nothing"):
            import_memories(make("memory"), tmp_path / "nothing.jsonl", user_id="ann")
        with pytest.raises(StoreError, match="nowhere"):
            export_memories(make("memory"), tmp_path / "nowhere" / "x.jsonl", user_id=ALL_USERS)

    @pytest.mark.long
    def test_takes_bounded_memory(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """100 MB of memories go into a file and out of it in less than that."""
        source, target = make("sqlite"), make("sqlite")
        for number in range(100):
            source.put(ANN, memory(bytes([number]) * 1_000_000, memory_key=f"k{number}"))

        tracemalloc.start()
        path = export_memories(source, tmp_path / "all.jsonl", user_id="ann").path
        exporting = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        import_memories(target, path, user_id="ann")
        importing = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert exporting < 50_000_000
        assert importing < 70_000_000
        assert 100 == target.count(ANN)


class TestBackup:
    """Copies of a database that is in use."""

    def test_is_a_database(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A backup, made while others write, is a whole database with everything that was there."""
        source = make("sqlite")
        fill(source)

        backup = backup_database(source, tmp_path / "backups")
        source.put(ANN, memory("later"))

        assert backup.path.stat().st_size == backup.size
        with SQLAlchemyStore(f"sqlite:///{backup.path}") as copy:
            assert 1 == len(copy.search(BOB, "log"))
            assert 0 == len(copy.search(ANN, "later"))
        with closing(sqlite3.connect(backup.path)) as connection:
            assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()

    def test_full_disk(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """A copy that cannot be written whole leaves nothing behind, and what stood there stays."""
        source = make("sqlite")
        assert isinstance(source, SQLAlchemyStore)
        source.put(ANN, memory("x" * 1_000_000))
        folder = tmp_path / "copies"
        folder.mkdir()
        old = folder / "copy.db"
        old.write_text("old", "utf-8")
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, unlimited[1]))
        try:
            with pytest.raises(StoreError, match="cannot be written"):
                source.backup(old)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
            signal.signal(signal.SIGXFSZ, handler)

        assert [old] == list(folder.iterdir())
        assert "old" == old.read_text("utf-8")

    def test_keeps_some(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """The newest copies stay, older ones go, and other files are left alone."""
        source, folder = make("sqlite"), tmp_path / "backups"
        source.put(ANN, memory())
        folder.mkdir()
        (folder / "memory-mine.db").write_text("mine", "utf-8")

        backups = [backup_database(source, folder, keep=2) for _ in range(4)]

        assert {backups[2].path, backups[3].path, folder / "memory-mine.db"} == set(
            folder.iterdir()
        )
        assert (backups[1].path,) == backups[3].removed

    def test_what_is_refused(self, make: Callable[[str], MemoryStore], tmp_path: Path) -> None:
        """Only SQLite is backed up this way, and at least one copy stays."""
        with pytest.raises(InvalidArgumentError, match="keep"):
            backup_database(make("memory"), tmp_path, keep=0)
        for kind in ("files", "postgresql"):
            with pytest.raises(InvalidArgumentError, match="export"):
                backup_database(make(kind), tmp_path / "backups")
        (tmp_path / "file").write_text("", "utf-8")
        with pytest.raises(InvalidArgumentError, match="is a file"):
            backup_database(make("memory"), tmp_path / "file")


@given(memories())
def test_any_record_as_json(item: MemoryItem) -> None:
    """Every record is the same after it was a line of JSON."""
    assert item == item_from(json.loads(json.dumps(record_of(item))))
    assert item == item_from(json.loads(json.dumps(record_of(item), ensure_ascii=False).encode()))


@given(deletions)
def test_any_deletion_as_json(deletion: Deletion) -> None:
    """Every deletion is the same after it was a line of JSON."""
    assert deletion == deletion_from(json.loads(json.dumps(deletion_record(deletion))))


@examples(25, HealthCheck.function_scoped_fixture)
@given(item=memories(), deletion=deletions)
def test_any_record_through_any_database(
    item: MemoryItem, deletion: Deletion, store_url: str
) -> None:
    """Every record and every deletion comes out of a database as it was restored into it."""
    with SQLAlchemyStore(store_url) as store:
        store.clear(ANN)
        item = replace(item, updated_at=datetime(9001, 1, 1, tzinfo=UTC))
        deletion = replace(deletion, memory_key=uuid4().hex, deleted_at=item.updated_at)

        assert () == store.restore(ANN, [item, deletion]).conflicts

        assert [item] == list(store.list_all(ANN))
        assert deletion == store.deletion(ANN, deletion.memory_key)
        store.restore(ANN, [item])
        assert [item] == list(store.list_all(ANN))


@given(st.lists(st.integers(0, 2 * CHARACTERS), max_size=500))
def test_batches(sizes: list[int]) -> None:
    """Batches hold everything in order, and each is small, or one thing."""
    batches = list(batches_of(sizes, lambda size: size))

    assert sizes == [size for batch in batches for size in batch]
    assert all(
        0 < len(batch) <= MOST and (len(batch) == 1 or sum(batch) <= CHARACTERS)
        for batch in batches
    )
