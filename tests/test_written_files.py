"""Files that are written for a user: what stands at the path, and what becomes of it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from commands import in_this_process
from for_each import for_each
from memory_context import MemoryManager
from memory_context.exceptions import StoreError
from memory_context.memory.backup_files import backup_database
from memory_context.memory.copy_export_import import export_memories
from memory_context.runtime.files_replaced_safely import draft_of
from memory_context.stores import SQLAlchemyStore

Write = Callable[[SQLAlchemyStore, Path], object]


def write(path: Path) -> None:
    """Write a word to *path*."""
    with draft_of(path) as draft:
        draft.write_text("new")


def test_a_link_stays(tmp_path: Path) -> None:
    """Behind a link the file that it leads to is replaced."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)

    write(link)

    assert link.is_symlink()
    assert file.read_text() == "new"


def test_permissions_stay(tmp_path: Path) -> None:
    """A file that only its owner may read is so afterwards."""
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o600)

    write(file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_permissions_while_it_is_written(tmp_path: Path) -> None:
    """The file beside a private file is private before anything is in it; permissions that the caller sets win."""
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o600)

    with draft_of(file) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
        draft.write_text("new")
        draft.chmod(0o640)

    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_pipe_stays(tmp_path: Path) -> None:
    """A device or a pipe is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(OSError, match="a device or a pipe"):
        write(pipe)

    assert pipe.is_fifo()
    assert [pipe] == list(tmp_path.iterdir())


def test_a_folder_is_named(tmp_path: Path) -> None:
    """A folder in the place of the file is an error that says so."""
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write(tmp_path)


@for_each(
    "write_to",
    [
        lambda store, file: export_memories(store, file, user_id="ann"),
        lambda store, file: MemoryManager(store, user_id="ann").get("k").save_to(file),
    ],
)
def test_a_database_is_not_replaced(tmp_path: Path, write_to: Write) -> None:
    """An export or a content never takes the place of a SQLite database, such as the store itself."""
    file = tmp_path / "memory.db"
    with SQLAlchemyStore(f"sqlite:///{file}") as store:
        MemoryManager(store, user_id="ann").store("precious", key="k")

        with pytest.raises((StoreError, OSError), match="SQLite database"):
            write_to(store, file)

    with MemoryManager(f"sqlite:///{file}", user_id="ann") as manager:
        assert manager.retrieve("k") == "precious"


def test_a_backup_is_as_private_as_its_database(tmp_path: Path) -> None:
    """A copy of a database that only its owner may read is for the owner only, too."""
    file = tmp_path / "memory.db"
    with SQLAlchemyStore(f"sqlite:///{file}") as store:
        MemoryManager(store, user_id="ann").store("precious", key="k")
        file.chmod(0o600)
        copy = backup_database(store, tmp_path / "copies")

    assert stat.S_IMODE(copy.path.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy.path)) as database:
        assert database.execute("SELECT count(*) FROM agent_memories").fetchone() == (1,)


def test_export_to_standard_output(tmp_path: Path) -> None:
    """`export -` is an error, and writes no file with that name: a pipe would have got nothing."""
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    MemoryManager(url, user_id="ann").store("precious", key="k")

    done = in_this_process("export", "-", "--store", url)

    assert (done.returncode, done.stdout) == (2, "")
    assert "not standard output" in done.stderr
    assert not Path("-").exists()


def test_an_empty_user(tmp_path: Path) -> None:
    """An empty `--user`, as from a variable that is not set, is an error, and does not mean the only user there is."""
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    MemoryManager(url, user_id="ann").store("precious", key="k")

    done = in_this_process("show", "k", "--user", "", "--store", url)

    assert done.returncode == 2
    assert "--user is empty" in done.stderr
    assert "precious" not in done.stdout
