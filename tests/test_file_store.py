"""FileStore: the contract, and what belongs to files that a person may read and change."""

from __future__ import annotations

import base64
import gc
import json
import logging
import os
import re
import runpy
import shlex
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from sqlalchemy import Engine, event

from examples import examples
from memory_context.exceptions import (
    InvalidArgumentError,
    MissingDependencyError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import Deletion, MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.stores import FileStore, MemoryStore, files
from memory_context.stores.files.category_folders import category_in, folder_of
from memory_context.testing import MemoryStoreContract
from memory_context.testing.sample_memories import ANN, memory
from records import categories, memories


class TestFileStore(MemoryStoreContract):
    """The contract, on files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with FileStore(tmp_path / "memories") as store:
            yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the memories are."""
    return tmp_path / "deep" / "memories"


@pytest.fixture
def store(folder: Path) -> Iterator[FileStore]:
    """An empty store."""
    with FileStore(folder) as store:
        yield store


def files_in(folder: Path) -> list[Path]:
    """The files that a person sees."""
    return sorted(
        path
        for path in folder.rglob("*.json")
        if not path.relative_to(folder).parts[0].startswith(".")
    )


def edit(path: Path, **changes: object) -> None:
    """Change a file by hand."""
    record = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(record | changes, indent=2), "utf-8")


@pytest.fixture
def few_values() -> Iterator[None]:
    """SQLite accepts 500 values in a statement; by default it accepts 32,766."""

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 500)

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


@pytest.mark.long
@pytest.mark.usefixtures("few_values")
def test_more_files_than_values(folder: Path) -> None:
    """A folder may hold more memories of a user than a statement of SQLite may have values."""
    with FileStore(folder) as store:
        store.restore(ANN, [memory() for _ in range(501)])
    with FileStore(folder) as store:
        assert 501 == store.count(ANN)


@pytest.mark.long
@pytest.mark.usefixtures("few_values")
def test_clears_more_reads_than_values(folder: Path) -> None:
    """More memories that were read can be cleared than a statement of SQLite may have values."""
    with FileStore(folder) as store:
        store.restore(ANN, [memory(access_count=1) for _ in range(301)])
        assert 301 == store.clear(ANN)


class TestAsAPerson:
    """What a person finds, and may do."""

    def test_reads_a_file(self, store: FileStore, folder: Path) -> None:
        """A memory is found by its category, and read with any JSON reader."""
        item = memory(
            "Grüße\nan alle", category="project-context/rockets", tags=("red",), memory_type="note"
        )
        store.put(ANN, item)

        path = folder / "project-context" / "rockets" / f"{item.id}.json"
        text = path.read_text("utf-8")
        record = json.loads(text)

        assert [path] == files_in(folder)
        assert ("Grüße\nan alle", "note", ["red"], "ann") == tuple(
            record[name] for name in ("content", "memory_type", "tags", "user_id")
        )
        assert "Grüße" in text
        assert datetime.fromisoformat(record["created_at"]) == item.created_at

    def test_without_a_category(self, store: FileStore, folder: Path) -> None:
        """Without a category the file is in the folder itself; bytes are in base64."""
        item = store.put(ANN, memory(b"\x00\xff"))

        record = json.loads((folder / f"{item.id}.json").read_text("utf-8"))

        assert b"\x00\xff" == base64.b64decode(record["content_bytes"])

    def test_edits_a_file(self, store: FileStore, folder: Path) -> None:
        """An edit is seen after a refresh, its content is counted and searched again, and survives the next write."""
        item = store.put(
            ANN, memory("the port is 5432", memory_key="port", category="ops", identity="x")
        )
        store.touch(ANN, ["port"])
        [path] = files_in(folder)

        edit(path, content="the port is 6543\nsince May", tags=["edited"])
        assert item == replace(store.query(ANN)[0], accessed_at=None, access_count=0)
        store.refresh()
        found = store.get(ANN, "port")

        assert found is not None
        assert ("the port is 6543\nsince May", ("edited",), 2, 26, 1) == (
            found.content,
            found.tags,
            found.line_count,
            found.char_count,
            found.access_count,
        )
        assert found.content_hash != item.content_hash
        assert found.token_count > 0
        assert found.updated_at > item.updated_at
        assert ["port"] == [hit.memory_key for hit in store.search(ANN, "6543")]
        assert [] == store.search(ANN, "5432")
        store.put(ANN, memory("another", category="ops"))
        assert "the port is 6543\nsince May" == json.loads(path.read_text("utf-8"))["content"]

    def test_edits_are_not_overwritten(self, store: FileStore, folder: Path) -> None:
        """Nothing is written over, or removed, that a person changed after it was read; the next attempt knows it."""
        item = store.put(ANN, memory("one", memory_key="k"))
        changed = replace(item, summary="by a program", updated_at=now())
        [path] = files_in(folder)

        edit(path, content="of a person")
        with pytest.raises(StoreError, match="changed after it was read"):
            store.put(ANN, changed, replace=True)
        assert ["of a person"] == [found.content for found in store.query(ANN)]
        edit(path, content="of a person, again")
        with pytest.raises(StoreError, match="changed after it was read"):
            store.delete(ANN, "k")
        assert ["of a person, again"] == [found.content for found in store.query(ANN)]
        assert store.deletion(ANN, "k") is None
        assert store.delete(ANN, "k")
        assert [] == files_in(folder)

    def test_drops_in_a_file(self, store: FileStore, folder: Path) -> None:
        """A file with no more than a user and a content is a memory of its folder's category, named after the file."""
        store.put(ANN, memory("first"))
        (folder / "notes").mkdir()
        (folder / "notes" / "shopping.json").write_text(
            '{"user_id": "ann", "content": "buy a zeppelin"}', "utf-8"
        )
        store.refresh()

        [hit] = store.search(ANN, "zeppelin")
        again = FileStore(folder).get(ANN, "shopping")

        assert ("shopping", "notes", "note") == (hit.memory_key, hit.category, hit.memory_type)
        assert again is not None
        assert hit.id == again.id

    def test_drops_in_a_file_whose_name_cannot_be_a_key(
        self, store: FileStore, folder: Path
    ) -> None:
        """Its key is its id, and stays the same however often the file is read."""
        store.put(ANN, memory("first"))
        (folder / "what to buy.json").write_text(
            '{"user_id": "ann", "content": "a zeppelin"}', "utf-8"
        )
        store.refresh()
        [item] = store.search(ANN, "zeppelin")

        assert str(item.id) == item.memory_key
        again = FileStore(folder).get(ANN, item.memory_key)
        assert again == replace(item, match=None)

    def test_removes_a_file(self, store: FileStore, folder: Path) -> None:
        """The memory of a removed file is not found, and exists again if the file is put back."""
        item = store.put(ANN, memory(memory_key="k"))
        [file] = files_in(folder)
        content = file.read_bytes()
        file.unlink()
        store.refresh()

        assert store.get(ANN, "k") is None
        assert store.search(ANN, "text") == []
        assert store.deletion(ANN, "k") is None
        file.write_bytes(content)
        store.refresh()
        assert item == store.get(ANN, "k")

    def test_moves_a_file(self, store: FileStore, folder: Path) -> None:
        """A file in another folder is a memory of another category, the same one otherwise."""
        item = store.put(ANN, memory(memory_key="k", category="a"))
        store.touch(ANN, ["k"])
        (folder / "b" / "c").mkdir(parents=True)
        files_in(folder)[0].rename(folder / "b" / "c" / "mine.json")
        store.refresh()

        found = store.get(ANN, "k")

        assert found is not None
        assert (item.id, "b/c", 1) == (found.id, found.category, found.access_count)
        assert store.deletion(ANN, "k") is None
        store.put(ANN, memory("new", memory_key="k", category="b/c"), replace=True)
        assert [folder / "b" / "c" / f"{item.id}.json"] == files_in(folder)

    def test_copies_a_file(self, store: FileStore, folder: Path) -> None:
        """A copy has the id of another memory: it is reported, and nothing else changes."""
        item = store.put(ANN, memory(memory_key="k"))
        (folder / "copy.json").write_bytes(files_in(folder)[0].read_bytes())
        store.refresh()

        [damaged] = store.damaged()

        assert ("copy.json", True) == (damaged.path, "id" in damaged.reason)
        assert [item] == store.query(ANN)

    def test_restores_a_removed_file(self, store: FileStore, folder: Path) -> None:
        """A file that is put back is the memory again, and is not deleted any more."""
        store.put(ANN, memory(memory_key="k"))
        [path] = files_in(folder)
        data = path.read_bytes()
        store.delete(ANN, "k")
        assert [] == files_in(folder)

        path.write_bytes(data)
        store.refresh()

        assert store.get(ANN, "k") is not None
        assert store.deletion(ANN, "k") is None


BROKEN = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "no object": b"[]",
    "deep": b"[" * 100_000,
    "no user": b'{"content": "x"}',
    "no content": b'{"user_id": "ann"}',
    "two contents": b'{"user_id": "ann", "content": "x", "content_bytes": ""}',
    "unknown field": b'{"user_id": "ann", "contents": "x", "content": ""}',
    "bad time": b'{"user_id": "ann", "content": "x", "created_at": "yesterday"}',
    "time without a zone": b'{"user_id": "ann", "content": "x", "created_at": "2026-01-01T00:00:00"}',
    "bad base64": b'{"user_id": "ann", "content_bytes": "*", "media_type": "image/png"}',
    "bytes as text": b'{"user_id": "ann", "content_bytes": "/w=="}',
    "bad key": b'{"user_id": "ann", "content": "x", "memory_key": "a b"}',
    "bad id": b'{"user_id": "ann", "content": "x", "id": "1"}',
    "bad importance": b'{"user_id": "ann", "content": "x", "importance": NaN}',
    "bad tags": b'{"user_id": "ann", "content": "x", "tags": "red"}',
    "bad metadata": b'{"user_id": "ann", "content": "x", "content_metadata": 1}',
    "huge count": b'{"user_id": "ann", "content": "x", "token_count": 99999999999999999999}',
    "empty": b"",
}


class TestDamage:
    """Files that are no memories."""

    def test_is_skipped(
        self, store: FileStore, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A damaged file is logged once, listed, and left as it is; the rest goes on, before and after a restart."""
        item = store.put(ANN, memory(category="a"))
        broken = {f"a/{fault}.json": data for fault, data in sorted(BROKEN.items())}
        for name, data in broken.items():
            (folder / name).write_bytes(data)

        with caplog.at_level(logging.WARNING, "memory_context"):
            store.refresh()
            assert [[item]] * 3 == [store.query(ANN) for _ in range(3)]

        assert [*broken] == sorted(damaged.path for damaged in store.damaged())
        assert len(broken) == len(caplog.records)
        assert all(name.removeprefix("a/") in caplog.text for name in broken)
        store.put(ANN, memory("more"))
        store.close()
        assert [*broken] == sorted(damaged.path for damaged in store.damaged())
        assert broken == {name: (folder / name).read_bytes() for name in broken}

    @pytest.mark.skipif(sys.platform == "darwin", reason="the file system refuses such names")
    def test_name_that_is_not_utf8(self, store: FileStore, folder: Path) -> None:
        """A file or folder with such a name is skipped like a damaged file."""
        item = store.put(ANN, memory())
        inside = folder / os.fsdecode(b"\xff")
        inside.mkdir()
        for name in (inside / "a.json", folder / os.fsdecode(b"\xfe.json")):
            name.write_text('{"user_id": "ann", "content": "x"}', "utf-8")
        store.refresh()

        assert [item] == store.query(ANN)
        assert {"the name of the file or of a folder is not UTF-8"} == {
            damaged.reason for damaged in store.damaged()
        }

    def test_repaired(self, store: FileStore, folder: Path) -> None:
        """A memory whose file is damaged is gone until it is repaired, and was not deleted."""
        item = store.put(ANN, memory(memory_key="k"))
        [path] = files_in(folder)
        data = path.read_bytes()
        path.write_bytes(data[:-20])
        store.refresh()

        assert store.get(ANN, "k") is None
        assert store.deletion(ANN, "k") is None
        path.write_bytes(data)
        store.refresh()
        assert item == store.get(ANN, "k")
        assert () == store.damaged()

    def test_is_not_overwritten(self, store: FileStore, folder: Path) -> None:
        """Nothing is written over a damaged file."""
        item = store.put(ANN, memory(memory_key="k"))
        [path] = files_in(folder)
        path.write_bytes(b"mine")
        store.refresh()

        [conflict] = store.restore(ANN, [item]).conflicts
        with pytest.raises(StoreError, match="repair"):
            store.put(ANN, item)

        assert "damaged" in conflict.reason
        assert b"mine" == path.read_bytes()
        assert [] == store.query(ANN)

    def test_two_files_of_one_key(self, store: FileStore, folder: Path) -> None:
        """A file with the key of another memory is reported."""
        store.put(ANN, memory("one", memory_key="k"))
        (folder / "k.json").write_text('{"user_id": "ann", "content": "two"}', "utf-8")
        store.refresh()

        [damaged] = store.damaged()

        assert "key" in damaged.reason
        assert ["one"] == [item.content for item in store.query(ANN)]

    def test_unreadable_file(self, store: FileStore, folder: Path) -> None:
        """A pipe, a link, and a folder named like a file do not stop the store."""
        item = store.put(ANN, memory())
        os.mkfifo(folder / "pipe.json")
        (folder / "link.json").symlink_to(files_in(folder)[0])
        (folder / "folder.json").mkdir()
        store.refresh()

        assert ["link.json", "pipe.json"] == [damaged.path for damaged in store.damaged()]
        assert [item] == store.query(ANN)


class TestPlaces:
    """No category leads outside the folder."""

    @pytest.mark.parametrize(
        "category",
        ["../out", "/etc", "a/../../out", "..", ".", "", "a//b", ".memory-context", "a/\\b"],
    )
    def test_hostile_categories(self, store: FileStore, folder: Path, category: str) -> None:
        """A hostile category is a name like others, below the folder, and comes back as it was."""
        item = store.put(ANN, memory(category=category))
        outside = [
            path for path in folder.parents[1].rglob("*.json") if not path.is_relative_to(folder)
        ]

        assert [] == outside
        assert 1 == len(files_in(folder))
        store.close()
        assert [item] == store.query(ANN, {"category": category})

    @given(categories)
    def test_folders(self, category: str | None) -> None:
        """For every category: no part is empty, hidden, or too long, and it is known again from its folder."""
        parts = folder_of(category)

        assert all(
            part and not part.startswith(".") and "/" not in part and "\0" not in part
            for part in parts
        )
        assert all(len(part.encode()) <= 120 for part in parts)
        assert category == category_in(parts, category)

    @given(categories.filter(lambda category: category is None or len(category) < 20))
    def test_folders_say_the_category(self, category: str | None) -> None:
        """A short category is known from its folder alone."""
        assert category == category_in(folder_of(category), "another") or category == "another"

    def test_folders_of_an_earlier_version(self, store: FileStore, folder: Path) -> None:
        """A memory in a folder whose name was escaped or cut off has its category, and moves when it is changed."""
        names = {
            "..": "%2E%2E",
            "": "%",
            "a//b": "a/%/b",
            "a:b/c": "a%3Ab/c",
            "v1.2/my notes": "v1.2/my notes",
            "x" * 130: f"{'x' * 95}~d9f6068fc602e8c901dbac33",
        }
        items = {
            category: store.put(ANN, memory(category, category=category)) for category in names
        }
        for category, item in items.items():
            name = f"{item.id}.json"
            earlier = folder / names[category] / name
            earlier.parent.mkdir(parents=True, exist_ok=True)
            folder.joinpath(*folder_of(category), name).rename(earlier)
        store.refresh()

        assert names.keys() == {item.category for item in store.query(ANN)}
        for category, item in items.items():
            store.put(ANN, replace(item, summary="changed"), replace=True)
            assert folder.joinpath(*folder_of(category), f"{item.id}.json").exists()
        assert len(names) == len(files_in(folder))

    def test_linked_folder(self, store: FileStore, folder: Path, tmp_path: Path) -> None:
        """A linked folder is neither read nor written through."""
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "x.json").write_text('{"user_id": "ann", "content": "theirs"}', "utf-8")
        store.put(ANN, memory("mine"))
        (folder / "linked").symlink_to(outside)

        with pytest.raises(StoreUnavailableError):
            store.put(ANN, memory("new", category="linked"))

        assert ["mine"] == [item.content for item in store.query(ANN)]
        assert ["linked"] == [damaged.path for damaged in store.damaged()]
        assert ["x.json"] == [path.name for path in outside.iterdir()]

    def test_modes(self, tmp_path: Path) -> None:
        """Files are 0644 and folders 0755; a setting makes them stricter, and none makes them wider."""
        for folder, modes in {"a": (), "b": (0o600, 0o700)}.items():
            given_modes = dict(zip(("file_mode", "directory_mode"), modes, strict=False))
            before = os.umask(0)
            try:
                with FileStore(tmp_path / folder / "deep", **given_modes) as store:  # type: ignore[arg-type]
                    store.put(ANN, memory(category="c/d"))
                    store.delete(ANN, store.put(ANN, memory("x")).memory_key)
            finally:
                os.umask(before)
            file_mode, directory_mode = modes or (0o644, 0o755)
            for path in (tmp_path / folder, *(tmp_path / folder).rglob("*")):
                assert (directory_mode if path.is_dir() else file_mode) == stat.S_IMODE(
                    path.stat().st_mode
                )
        for wrong in (
            {"file_mode": 0o666},
            {"directory_mode": 0o777},
            {"file_mode": 0o400},
            {"directory_mode": 0},
        ):
            with pytest.raises(InvalidArgumentError, match="mode"):
                FileStore(tmp_path, **wrong)  # type: ignore[arg-type]


HOLD = """
import sys
from memory_context import FileStore, MemoryManager
manager = MemoryManager(FileStore(sys.argv[1]), user_id="ann")
print(manager.store("theirs", key="theirs"), flush=True)
for line in sys.stdin:
    if line.startswith("forget"):
        print(manager.forget("theirs", reason="they said so"), flush=True)
"""


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes into the folder."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert "theirs\n" == process.stdout.readline()
        yield process
        process.kill()


class TestProcesses:
    """One writes, any number read."""

    @pytest.mark.long
    @pytest.mark.usefixtures("holder")
    def test_second_writer(self, store: FileStore) -> None:
        """A second writer is told what to do; reading, and noting that it was read, goes on."""
        with pytest.raises(StoreLockedError, match="Close that store, or only read"):
            store.put(ANN, memory("mine"))

        assert "theirs" == MemoryManager(store, user_id="ann").retrieve("theirs")
        assert [1] == [item.access_count for item in store.query(ANN)]

    def test_lock_of_a_folder_with_a_quote(self, tmp_path: Path) -> None:
        """The command in the message is one that a shell reads, whatever the folder's name."""
        folder = tmp_path / "it's"
        with FileStore(folder) as one, FileStore(folder) as two:
            one.put(ANN, memory("mine"))
            with pytest.raises(StoreLockedError) as caught:
                two.put(ANN, memory("theirs"))
        [command] = re.findall("`(.*)`", str(caught.value))
        assert ["lsof", str(folder / ".memory-context/lock")] == shlex.split(command)

    @pytest.mark.long
    def test_lock_goes_with_its_process(
        self, holder: subprocess.Popen[str], store: FileStore
    ) -> None:
        """A process that was killed holds nothing; what it wrote is there."""
        holder.kill()
        holder.wait()

        store.put(ANN, memory("mine", memory_key="mine"))

        assert 2 == store.count(ANN)

    @pytest.mark.long
    def test_readers_see_deletions(self, holder: subprocess.Popen[str], store: FileStore) -> None:
        """A reader sees what the writer deletes, when and why; so does the next writer."""
        assert 1 == store.count(ANN)
        assert holder.stdin
        assert holder.stdout
        holder.stdin.write("forget\n")
        holder.stdin.flush()
        assert "True\n" == holder.stdout.readline()
        holder.kill()
        holder.wait()

        store.put(ANN, memory("mine"))

        deletion = store.deletion(ANN, "theirs")
        assert deletion is not None
        assert "they said so" == deletion.reason
        store.close()
        assert deletion == store.deletion(ANN, "theirs")

    def test_two_stores_in_one_process(self, store: FileStore, folder: Path) -> None:
        """A second store of the same process is a second writer, until the first is closed; a URL gives one."""
        store.put(ANN, memory("one"))
        with FileStore(folder) as second:
            with pytest.raises(StoreLockedError, match="in this process or another, writes"):
                second.put(ANN, memory("two"))
            store.close()
            second.put(ANN, memory("two"))
        url = folder.as_uri()
        assert url == store.url
        with MemoryManager(url, user_id="ann") as one, MemoryManager(url, user_id="ann") as two:
            one.store("three", key="three")
            two.store("four", key="four")
            assert "three" == two.retrieve("three")
            assert url == one.connection()["store"]

    @pytest.mark.long
    def test_lock_goes_with_its_store(self, folder: Path) -> None:
        """A store that nobody closed, and nobody has any more, holds nothing."""
        FileStore(folder).put(ANN, memory("one"))
        gc.collect()

        with FileStore(folder) as store:
            store.put(ANN, memory("two"))
            assert 2 == store.count(ANN)

    def test_readers_refresh(self, store: FileStore, folder: Path) -> None:
        """A reader sees what another store wrote after a refresh; a removed memory was deleted by its writer."""
        with FileStore(folder) as reader:
            assert reader.get(ANN, "k") is None
            store.put(ANN, memory("one", memory_key="k"))
            assert reader.get(ANN, "k") is None
            reader.refresh()
            assert reader.get(ANN, "k") is not None
            store.delete(ANN, "k", reason="over")
            reader.refresh()
            deletion = reader.deletion(ANN, "k")
            assert deletion is not None
            assert "over" == deletion.reason

    def test_reading_makes_nothing(self, store: FileStore, folder: Path) -> None:
        """A store that is only read makes no folder."""
        assert store.get(ANN, "k") is None
        assert [] == store.query(ANN)
        assert not store.touch(ANN, ["k"])
        assert not folder.exists()

    def test_forked(self, store: FileStore) -> None:
        """A forked child reads on its own, cannot write, and leaves the parent's lock alone."""
        store.put(ANN, memory("parent's", memory_key="k"))

        child = os.fork()
        if not child:
            try:
                found = store.get(ANN, "k") is not None
                store.put(ANN, memory("child's"))
            except StoreLockedError:
                os._exit(0 if found else 1)
            os._exit(2)

        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        store.put(ANN, memory("still mine"))
        assert 2 == store.count(ANN)

    def test_folder_replaced(self, store: FileStore, folder: Path) -> None:
        """A folder that was replaced under a writer is an error, not many deletions."""
        store.put(ANN, memory("one"))
        folder.rename(folder.with_name("elsewhere"))

        with pytest.raises(StoreUnavailableError, match="removed or replaced"):
            store.put(ANN, memory("two"))

        folder.with_name("elsewhere").rename(folder)
        assert 1 == store.count(ANN)


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder cannot be locked, it says so, and what to use."""
    monkeypatch.setitem(sys.modules, "fcntl", None)

    with pytest.raises(MissingDependencyError, match="FileStore needs a POSIX system"):
        runpy.run_path(str(files.__file__))


class TestAfterARestart:
    """What is in the folder."""

    def test_everything_is_there(self, store: FileStore, folder: Path) -> None:
        """Records, reads and deletions are the same in a new store, and nothing else is in the folder."""
        items = [
            store.put(ANN, memory(f"text {number}", category=f"c{number % 3}"))
            for number in range(20)
        ]
        store.touch(ANN, [item.memory_key for item in items[:5]])
        store.touch(ANN, [items[0].memory_key])
        store.delete(ANN, items[9].memory_key, reason="over")
        before = list(store.list_all(ANN)), list(store.list_deleted(ANN))
        store.close()

        with FileStore(folder) as again:
            assert before == (list(again.list_all(ANN)), list(again.list_deleted(ANN)))
            assert 2 == max(item.access_count for item in again.list_all(ANN))
        assert {"c0", "c1", "c2", ".memory-context"} == {path.name for path in folder.iterdir()}
        assert 19 == len(files_in(folder))

    def test_vectors_are_made_again(self, folder: Path) -> None:
        """The first search that needs vectors has a thread make them; a search by keywords before it embeds nothing."""
        with FileStore(folder) as store:
            store.put(ANN, memory("my puppy sleeps"))

        embedded = list[str]()

        def embed(texts: list[str]) -> list[list[float]]:
            embedded.extend(texts)
            return [[1.0] for _ in texts]

        with FileStore(folder, embedder=embed) as store:
            store.search(ANN, "pet", mode="keyword")
            assert "memory-context-embedder" not in [one.name for one in threading.enumerate()]
            assert [] == embedded
            store.search(ANN, "pet")
            for thread in threading.enumerate():
                if thread.name == "memory-context-embedder":
                    thread.join()
            assert 1 == len(store.search(ANN, "pet", mode="semantic"))

    def test_two_users_with_one_id(self, store: FileStore, folder: Path) -> None:
        """Memories of two users under one id have a file each, and reads each."""
        hers = store.put(ANN, memory("hers", memory_key="k"))
        store.touch(ANN, ["k"])
        store.close()
        bob = Scope("bob")
        store.put(bob, replace(hers, user_id="bob", content="his", memory_key="l"))
        for _ in range(2):
            store.touch(ANN, ["k"])
            store.close()

        read = store.get(ANN, "k")

        assert read is not None
        assert 3 == read.access_count
        assert ["his"] == [item.content for item in store.list_all(bob)]
        assert 2 == len([path for path in folder.iterdir() if path.suffix == ".json"])
        assert 1 == store.clear(ANN)
        store.close()
        assert ["his"] == [item.content for item in store.list_all(bob)]
        assert 1 == store.forget_user("bob").files
        assert [] == [path for path in folder.iterdir() if path.suffix == ".json"]

    def test_torn_lines(self, store: FileStore, folder: Path) -> None:
        """Lines that a crash cut off do not hide the others."""
        for key in ("a", "b"):
            store.put(ANN, memory(key, memory_key=key))
            store.delete(ANN, key)
            log = folder / ".memory-context" / "deleted.jsonl"
            log.write_bytes(log.read_bytes() + b'{"user_id": "ann", "memory_')

        with FileStore(folder) as again:
            assert ["a", "b"] == [deletion.memory_key for deletion in again.list_deleted(ANN)]

    def test_evicted_records_are_written(self, store: FileStore, folder: Path) -> None:
        """Whatever a verb changes in the index is written, also records that it was not called with."""
        kept = store.put(ANN, memory("kept", memory_key="kept"))
        evicted = store.put(ANN, memory("old", memory_key="old"))

        # What a tier with a limit does in the write's transaction.
        with store._written() as index:  # noqa: SLF001 - as a put that evicts does
            gone = replace(evicted, is_active=False, updated_at=now())
            index.put(ANN, gone, replace=True)

        states = {
            json.loads(path.read_text("utf-8"))["memory_key"]: json.loads(path.read_text("utf-8"))[
                "is_active"
            ]
            for path in files_in(folder)
        }
        assert {"kept": True, "old": False} == states
        assert [kept] == store.query(ANN)

    def test_drafts_are_swept(self, store: FileStore, folder: Path) -> None:
        """What a crash left half written is no memory, and the next writer removes it."""
        store.put(ANN, memory("one", category="c"))
        draft = folder / "c" / f".{'0' * 32}.tmp"
        draft.write_text("{", "utf-8")
        store.close()

        assert 1 == store.count(ANN)
        assert draft.exists()
        store.put(ANN, memory("two"))
        assert not draft.exists()

    def test_failed_write(self, store: FileStore, folder: Path) -> None:
        """Where a file cannot be written, the store says so and holds what it held before."""
        store.put(ANN, memory("one", memory_key="one"))
        (folder / "c").write_text("a file where a folder should be", "utf-8")

        with pytest.raises(StoreUnavailableError, match="memories"):
            store.put(ANN, memory("two", memory_key="two", category="c"))

        assert store.get(ANN, "two") is None
        assert store.get(ANN, "one") is not None

    @pytest.mark.long
    def test_large(self, store: FileStore) -> None:
        """50 MB are stored, read and deleted."""
        line = "2026-01-01 something happened somewhere, and somebody wrote it down\n"
        item = store.put(
            ANN,
            memory(
                line * (50_000_000 // len(line)), memory_key="big", category="large", shared=False
            ),
        )
        store.close()

        found = store.get(ANN, "big")

        assert found is not None
        assert item.content == found.content
        assert store.delete(ANN, "big")

    def test_bytes_and_broken_text(self, store: FileStore) -> None:
        """Two lone surrogates that look like a pair stay two."""
        item = store.put(ANN, memory("\ud83d\ude00 \0"))
        store.close()

        assert [item] == store.query(ANN)


@examples(25, HealthCheck.function_scoped_fixture)
@given(item=memories())
def test_any_record_survives(item: MemoryItem, tmp_path: Path) -> None:
    """Any record comes back from its file as it was."""
    folder = tmp_path / str(item.id)
    with FileStore(folder) as store:
        store.restore(
            Scope("ann"),
            [item, Deletion(f"not-{item.memory_key}"[:255], datetime(2026, 1, 1, tzinfo=UTC), "x")],
        )
        assert () == store.damaged()
    with FileStore(folder) as store:
        assert [item] == list(store.list_all(Scope("ann")))
        assert () == store.damaged()
