"""An agent's files: what is written is read, what is foreign is refused, and what fails says so and leaves no trace."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from hostile import FINE, FINE_IDS, IDS, NO_TEXTS, PATHS
from memory_context import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentMemoryService,
    AgentNotFoundError,
    FileEntry,
    FileOperationError,
    InvalidPathError,
    MemoryContextError,
)
from memory_context.agent_files import file_handles
from memory_context.exceptions import InvalidArgumentError

READS: dict[str, Callable[[AgentMemoryService, Any], object]] = {
    "read_memory_file": lambda service, path: service.read_memory_file("ann", path),
    "view": lambda service, path: service.view("ann", path),
    "list": lambda service, path: service.list("ann", path),
    "str_replace": lambda service, path: service.str_replace("ann", path, "a", "b"),
    "insert": lambda service, path: service.insert("ann", path, 0, "x"),
    "delete": lambda service, path: service.delete("ann", path),
    "rename": lambda service, path: service.rename("ann", path, "new"),
}
WRITES: dict[str, Callable[[AgentMemoryService, Any], object]] = {
    "write_memory_file": lambda service, path: service.write_memory_file("ann", path, "x"),
    "append_to_memory_file": lambda service, path: service.append_to_memory_file("ann", path, "x"),
    "create": lambda service, path: service.create("ann", path, "x"),
    "rename to": lambda service, path: service.rename("ann", "notes.md", path),
}
OPERATIONS = READS | WRITES
TEXT = "first\nsecond\nthird\n"


@pytest.fixture
def service(tmp_path: Path) -> AgentMemoryService:
    """A service with one agent, which has one file."""
    service = AgentMemoryService(tmp_path / "cache")
    service.write_memory_file("ann", "notes.md", TEXT)
    return service


@pytest.fixture
def home(tmp_path: Path, service: AgentMemoryService) -> Path:
    """The agent's folder."""
    del service
    return tmp_path / "cache" / "agent_memory" / "ann"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside."""
    path = tmp_path / "outside" / "secret.txt"
    path.parent.mkdir()
    path.write_text("secret", "utf-8")
    return path


def snapshot(folder: Path) -> dict[str, tuple[int, str | None]]:
    """What stands in a folder, with the kinds and the texts."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.read_text("utf-8") if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }


def names(folder: Path) -> list[str]:
    """What stands in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def paths(service: AgentMemoryService, agent: str = "ann") -> list[str]:
    """The paths of an agent's files and folders."""
    return [entry.path for entry in service.list(agent)]


def test_written_is_read(service: AgentMemoryService, home: Path) -> None:
    """A file lies where the documentation says, as UTF-8, with the line breaks that it was given; parents are made."""
    text = "Zeile\r\n系统 \U0001f600\n\u2028no break"
    service.write_memory_file("ann", "deep/er/x.md", text)

    assert text == service.read_memory_file("ann", "deep/er/x.md")
    assert text.encode() == (home / "deep/er/x.md").read_bytes()
    assert ["deep", "deep/er", "deep/er/x.md", "notes.md"] == paths(service)
    assert [] == [path for path in home.rglob("*") if path.name.startswith(".")]


def test_only_the_owner_may_read(service: AgentMemoryService, home: Path) -> None:
    """Folders are 0700 and files are 0600."""
    service.write_memory_file("ann", "a/b.md", "x")

    assert {0o700} == {path.stat().st_mode & 0o777 for path in (home, home.parent, home / "a")}
    assert 0o600 == (home / "a/b.md").stat().st_mode & 0o777


def test_append(service: AgentMemoryService) -> None:
    """Appending adds to the end, and makes a file that is not there."""
    service.append_to_memory_file("ann", "notes.md", "fourth\n")
    service.append_to_memory_file("ann", "log/new.md", "a")
    service.append_to_memory_file("ann", "log/new.md", "b")

    assert TEXT + "fourth\n" == service.read_memory_file("ann", "notes.md")
    assert "ab" == service.read_memory_file("ann", "log/new.md")


def test_list(service: AgentMemoryService) -> None:
    """All that is there, by name, with sizes; of a folder what is in it, of a file itself, of a new agent nothing."""
    service.write_memory_file("ann", "b/c.md", "ü")

    assert [
        FileEntry("b", 0, is_folder=True),
        FileEntry("b/c.md", 2),
        FileEntry("notes.md", 19),
    ] == service.list("ann")
    assert [FileEntry("b/c.md", 2)] == service.list("ann", "b") == service.list("ann", "b/c.md")
    assert [] == service.list("bob")
    with pytest.raises(AgentMemoryFileNotFoundError):
        service.list("ann", "nothing")
    with pytest.raises(AgentMemoryFileNotFoundError):
        service.list("bob", "nothing")


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [
        (None, "     1\tfirst\n     2\tsecond\n     3\tthird"),
        ((2, 2), "     2\tsecond"),
        ((2, -1), "     2\tsecond\n     3\tthird"),
        ((3, 99), "     3\tthird"),
    ],
)
def test_view(service: AgentMemoryService, view_range: tuple[int, int] | None, shown: str) -> None:
    """Lines come with their numbers, from the first to the last that was asked for."""
    assert shown == service.view("ann", "notes.md", view_range)


@for_each("view_range", [(0, 2), (4, 9), (3, 2), (-2, -1), (2, -5)])
def test_view_outside(service: AgentMemoryService, view_range: tuple[int, int]) -> None:
    """Lines that are not there are an error that says which are."""
    with pytest.raises(FileOperationError, match="which has lines 1 to 3"):
        service.view("ann", "notes.md", view_range)


def test_create(service: AgentMemoryService) -> None:
    """A new file is made, also an empty one; one that is there stays as it is."""
    service.create("ann", "a/empty.md", "")

    assert "" == service.read_memory_file("ann", "a/empty.md") == service.view("ann", "a/empty.md")
    for path in ("notes.md", "a/empty.md"):
        with pytest.raises(FileOperationError, match="exists already"):
            service.create("ann", path, "other")
    assert TEXT == service.read_memory_file("ann", "notes.md")


def test_str_replace(service: AgentMemoryService) -> None:
    """The one place is replaced, over line breaks too, or deleted; the answer is its line."""
    assert 2 == service.str_replace("ann", "notes.md", "second\nth", "2\n")
    assert 1 == service.str_replace("ann", "notes.md", "first\n")

    assert "2\nird\n" == service.read_memory_file("ann", "notes.md")


@pytest.mark.parametrize(
    ("text", "old", "problem"),
    [
        ("a\nb\na\n", "a", "at the lines 1, 3;"),
        ("aaa", "aa", "at the lines 1, 1;"),
        ("x\n" * 50, "x", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"),
        ("a\n", "b", "does not stand in the file; copy it exactly"),
        ("a\r\nb\r\n", "a\nb", r"its lines end with \\r\\n"),
        ("a\n", "", "is empty"),
    ],
)
def test_str_replace_elsewhere(
    service: AgentMemoryService, text: str, old: str, problem: str
) -> None:
    """A text that stands there not once says so, and where; nothing changes."""
    service.write_memory_file("ann", "x.md", text)

    with pytest.raises(FileOperationError, match=problem):
        service.str_replace("ann", "x.md", old, "new")
    assert text == service.read_memory_file("ann", "x.md")


@pytest.mark.parametrize(
    ("text", "line", "addition", "after"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb", 2, "x", "a\nb\nx\n"),
        ("", 0, "x", "x\n"),
        ("\n", 1, "x", "\nx\n"),
    ],
)
def test_insert(
    service: AgentMemoryService, text: str, line: int, addition: str, after: str
) -> None:
    """Whole lines come after the line that was named."""
    service.write_memory_file("ann", "x.md", text)
    service.insert("ann", "x.md", line, addition)

    assert after == service.read_memory_file("ann", "x.md")


@pytest.mark.parametrize("line", [-1, 4])
def test_insert_outside(service: AgentMemoryService, line: int) -> None:
    """After a line that is not there nothing is inserted."""
    with pytest.raises(FileOperationError, match="the file has 3 lines"):
        service.insert("ann", "notes.md", line, "x")


def test_delete(service: AgentMemoryService, secret: Path, home: Path) -> None:
    """A file goes, and a folder with all that is in it, but not what links in it lead to."""
    service.write_memory_file("ann", "a/b/c.md", "x")
    service.write_memory_file("ann", "a/d.md", "x")
    (home / "a/link").symlink_to(secret.parent)
    os.link(secret, home / "a/hard")
    service.delete("ann", "a/d.md")
    assert ["a", "a/b", "a/b/c.md", "notes.md"] == paths(service)

    service.delete("ann", "a")

    assert ["notes.md"] == paths(service) == names(home)
    assert "secret" == secret.read_text("utf-8")


def test_rename(service: AgentMemoryService) -> None:
    """Files and folders move with what is in them; parents are made."""
    service.write_memory_file("ann", "a/b.md", "x")
    service.rename("ann", "a", "new/place/a")
    service.rename("ann", "notes.md", "Notes.md")

    assert "x" == service.read_memory_file("ann", "new/place/a/b.md")
    assert ["Notes.md", "new", "new/place", "new/place/a", "new/place/a/b.md"] == paths(service)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("notes.md", "a", "'a' exists already"),
        ("notes.md", "a/b.md", "exists already"),
        ("a", "a", "to itself or into itself"),
        ("a", "a/b/c", "to itself or into itself"),
        ("notes.md", "a/b.md/c", "is a file, not a folder"),
    ],
)
def test_rename_onto(service: AgentMemoryService, old: str, new: str, problem: str) -> None:
    """Nothing is overwritten, and no folder moves into itself."""
    service.write_memory_file("ann", "a/b.md", "x")

    with pytest.raises(FileOperationError, match=problem):
        service.rename("ann", old, new)
    assert ["a", "a/b.md", "notes.md"] == paths(service)


def test_one_spelling_of_a_name(service: AgentMemoryService, home: Path) -> None:
    """Names that some file system takes for one are not made side by side; those of other programs can be used."""
    service.write_memory_file("ann", "Plans/Caf\u00e9.md", "x")
    before = paths(service)
    for other in ("Notes.md", "plans/x.md", "Plans/Cafe\u0301.md", "NOTES.md/x"):
        for operation in ("write_memory_file", "append_to_memory_file", "create"):
            with pytest.raises(FileOperationError, match="exists already, spelled '"):
                WRITES[operation](service, other)
    with pytest.raises(FileOperationError, match="'plans' exists already, spelled 'Plans'"):
        service.rename("ann", "notes.md", "plans/x.md")
    assert before == paths(service)

    service.rename("ann", "Plans/Caf\u00e9.md", "Plans/CAFE\u0301.md")
    service.rename("ann", "Plans", "plans")
    assert "x" == service.read_memory_file("ann", "plans/CAFE\u0301.md")
    (home / "NOTES.md").write_text("y", "utf-8")
    service.append_to_memory_file("ann", "NOTES.md", "y")
    service.append_to_memory_file("ann", "notes.md", "y")


def test_rename_of_nothing(service: AgentMemoryService) -> None:
    """What is missing is the old path, whatever stands under the new one."""
    for new in ("z", "notes.md/z"):
        with pytest.raises(AgentMemoryFileNotFoundError, match=r"has nothing under 'nope'$"):
            service.rename("ann", "nope", new)


def test_rename_out_of_reach(service: AgentMemoryService) -> None:
    """A move that would make a path too long or too deep to be used again is refused."""
    service.write_memory_file("ann", "/".join(["a"] * 20), "x")
    with pytest.raises(InvalidPathError, match="nested deeper than 32"):
        service.rename("ann", "a", "/".join(["b"] * 20))

    assert "x" == service.read_memory_file("ann", "/".join(["a"] * 20))


@pytest.mark.parametrize("operation", [name for name in READS if name != "list"])
def test_missing(service: AgentMemoryService, home: Path, operation: str) -> None:
    """What is not there is missing, for an agent with files and for one without; looking makes nothing."""
    for path in ("none.md", "no/folder/x.md"):
        with pytest.raises(AgentMemoryFileNotFoundError, match=f"nothing under '{path}'"):
            READS[operation](service, path)
    with pytest.raises(AgentMemoryFileNotFoundError, match="the agent 'bob'"):
        service.read_memory_file("bob", "notes.md")
    assert ["notes.md"] == names(home)


@pytest.mark.parametrize(
    "operation",
    [name for name in OPERATIONS if name not in {"list", "delete", "rename", "rename to"}],
)
def test_folder_is_no_file(service: AgentMemoryService, operation: str) -> None:
    """A directory where a file is meant is an InvalidPathError."""
    service.write_memory_file("ann", "a/b.md", "x")

    with pytest.raises(InvalidPathError, match="'a' is a directory, not a file"):
        OPERATIONS[operation](service, "a")


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "rename to"])
def test_file_is_no_folder(service: AgentMemoryService, operation: str) -> None:
    """Below a file nothing is found, and nothing can be written."""
    if operation in WRITES:
        with pytest.raises(FileOperationError, match=r"'notes.md' is a file, not a folder"):
            OPERATIONS[operation](service, "notes.md/x")
    else:
        with pytest.raises(AgentMemoryFileNotFoundError):
            OPERATIONS[operation](service, "notes.md/x")


def test_paths_are_normalised(service: AgentMemoryService) -> None:
    """Dots and doubled slashes lead to the same file."""
    service.write_memory_file("ann", "./a//b.md", "x")

    assert "x" == service.read_memory_file("ann", "a/./b.md")
    assert "a/b.md" in [entry.path for entry in service.list("ann", "./a")]
    service.rename("ann", "a//b.md", "./c.md")
    assert "x" == service.read_memory_file("ann", ".//c.md")


def test_what_is_logged(service: AgentMemoryService, caplog: pytest.LogCaptureFixture) -> None:
    """Success and not-found are INFO, refusals WARNING, errors of the system ERROR, each with agent and path."""
    caplog.set_level(logging.INFO, "memory_context")
    service.write_memory_file("ann", "a.md", "x")
    service.read_memory_file("ann", "a.md")
    for path in ("b.md", "../a.md"):
        with pytest.raises(AgentMemoryError):
            service.read_memory_file("ann", path)
    with pytest.raises(FileOperationError):
        service.create("ann", "a.md", "y")
    folder = service.base_memory_path / "ann"
    with (
        patch.object(file_handles, "read", side_effect=PermissionError("no")),
        pytest.raises(FileOperationError),
    ):
        service.read_memory_file("ann", "a.md")
    shutil.rmtree(folder)
    folder.write_text("in the way")
    with pytest.raises(AgentNotFoundError):
        service.read_memory_file("ann", "a.md")

    logged = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert ["INFO"] * 3 + ["WARNING"] * 2 + ["ERROR"] * 2 == [level for level, _ in logged]
    assert all("ann" in message and "md'" in message for _, message in logged)


@pytest.mark.parametrize("operation", [*OPERATIONS])
def test_hostile_paths(
    service: AgentMemoryService, tmp_path: Path, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of hundreds of hostile paths is refused by each operation, logged on one line, and changes nothing."""
    before = snapshot(tmp_path)
    hostile = [path for path in (*PATHS, *NO_TEXTS) if not (operation == "list" and path == "")]
    for path in hostile:
        with pytest.raises(InvalidPathError):
            OPERATIONS[operation](service, path)

    assert before == snapshot(tmp_path)
    assert len(hostile) == len(caplog.records)
    assert {logging.WARNING} == {record.levelno for record in caplog.records}
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_hostile_ids(
    service: AgentMemoryService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An id that is no folder's name is refused and logged; nothing is read or made."""
    before = snapshot(tmp_path)
    for name in (*IDS, *NO_TEXTS):
        with pytest.raises(InvalidPathError):
            service.read_memory_file(name, "notes.md")  # type: ignore[arg-type] # that is the test
        with pytest.raises(InvalidPathError):
            service.write_memory_file(name, "notes.md", "x")  # type: ignore[arg-type] # that is the test

    assert before == snapshot(tmp_path)
    assert 2 * len((*IDS, *NO_TEXTS)) == len(caplog.records)


def test_fine_paths(service: AgentMemoryService) -> None:
    """Unusual names that mean nothing else are files like any other."""
    for number, path in enumerate(FINE):
        service.write_memory_file(f"agent {number}", path, path)
        assert path == service.read_memory_file(f"agent {number}", path)
        assert path in paths(service, f"agent {number}")


def test_agents_do_not_see_each_other(service: AgentMemoryService) -> None:
    """Each agent has its own files, whatever its id is."""
    for name in FINE_IDS:
        service.write_memory_file(name, "mine.md", name)

    assert list(FINE_IDS) == [service.read_memory_file(name, "mine.md") for name in FINE_IDS]
    assert ["mine.md"] == paths(service, FINE_IDS[0])


@pytest.mark.parametrize("operation", [*OPERATIONS])
@pytest.mark.parametrize("kind", ["link", "folder link", "hard link", "dangling", "pipe"])
def test_foreign(
    service: AgentMemoryService, home: Path, secret: Path, operation: str, kind: str
) -> None:
    """Links of each kind and pipes are not opened, written, moved or deleted; what they lead to stays as it is."""
    path = "foreign"
    match kind:
        case "link":
            (home / "foreign").symlink_to(secret)
        case "folder link":
            (home / "foreign").symlink_to(secret.parent)
            path = "foreign/secret.txt"
        case "hard link":
            os.link(secret, home / "foreign")
        case "dangling":
            (home / "foreign").symlink_to(secret.parent / "new.txt")
        case _:
            os.mkfifo(home / "foreign")
    if operation == "rename to":
        path = path if kind == "folder link" else "foreign"

    with pytest.raises(InvalidPathError, match="foreign"):
        OPERATIONS[operation](service, path)

    assert ["secret.txt"] == names(secret.parent)
    assert "secret" == secret.read_text("utf-8")
    assert ["notes.md"] == paths(service)
    assert TEXT == service.read_memory_file("ann", "notes.md")


def test_agents_folder_is_a_link(service: AgentMemoryService, home: Path, secret: Path) -> None:
    """An agent's folder that is a link, or no folder, is not used."""
    home.parent.joinpath("eve").symlink_to(secret.parent)
    home.parent.joinpath("file").write_text("x", "utf-8")

    for name in ("eve", "file"):
        with pytest.raises(
            AgentNotFoundError, match=f"the folder of the agent '{name}' cannot be made or used"
        ):
            service.read_memory_file(name, "secret.txt")
        with pytest.raises(AgentNotFoundError):
            service.write_memory_file(name, "new.txt", "x")
    assert ["secret.txt"] == names(secret.parent)


def test_names_of_others_are_not_listed(service: AgentMemoryService, home: Path) -> None:
    """What other programs made under names that an agent could not use is not listed, but counts to the quota."""
    for name in (b"a:b", b"\xff\xfe", b"line\nbreak", b"con"):
        Path(os.fsdecode(os.fsencode(home) + b"/" + name)).write_bytes(b"x" * 100)
    assert ["notes.md"] == paths(service)

    small = AgentMemoryService(service.app_cache_dir, quota_bytes=430)
    with pytest.raises(FileOperationError, match="the agent's files have 419 of at most 430 bytes"):
        small.write_memory_file("ann", "new.md", "x" * 12)
    small.write_memory_file("ann", "new.md", "x" * 11)


@for_each(
    "use, told",
    [
        (lambda service: service.str_replace("ann", "notes.md", 1), "old_str must be a text"),
        (
            lambda service: service.str_replace("ann", "notes.md", "first", None),
            "new_str must be a text, not NoneType",
        ),
        (lambda service: service.insert("ann", "notes.md", 1, None), "insert_text must be a text"),
        (
            lambda service: service.insert("ann", "notes.md", "1", "x"),
            "insert_line must be an integer, not '1'",
        ),
        (lambda service: service.insert("ann", "notes.md", 2**80, "x"), "there is no line 1208925"),
        (lambda service: service.view("ann", "notes.md", ("1", "2")), "a range of lines is"),
        (lambda service: service.view("ann", "notes.md", 1), "a range of lines is"),
    ],
)
def test_argument_of_another_type(
    service: AgentMemoryService, use: Callable[[Any], object], told: str
) -> None:
    """A text, a line or a range of another type is refused as any other problem is, and nothing changes."""
    with pytest.raises(FileOperationError, match=told):
        use(service)
    assert TEXT == service.read_memory_file("ann", "notes.md")


def test_no_text(service: AgentMemoryService, home: Path) -> None:
    """A file that is no UTF-8 and a content that cannot be are errors that say where."""
    (home / "binary").write_bytes(b"ab\xff")
    with pytest.raises(FileOperationError, match="byte 2 is 0xff"):
        service.read_memory_file("ann", "binary")
    with pytest.raises(FileOperationError, match="character 1 is half of a surrogate pair"):
        service.write_memory_file("ann", "new.md", "a\ud800")
    for write in (service.write_memory_file, service.append_to_memory_file, service.create):
        with pytest.raises(FileOperationError, match="must be a text, not bytes"):
            write("ann", "new.md", b"x")  # type: ignore[arg-type] # that is the test
    assert ["binary", "notes.md"] == paths(service)


def test_quota(tmp_path: Path) -> None:
    """An agent's files stay within its quota, by whatever operation; another agent's do not count."""
    service = AgentMemoryService(tmp_path, quota_bytes=10)
    service.write_memory_file("bob", "x", "y" * 10)
    service.write_memory_file("ann", "a", "x" * 6)
    service.append_to_memory_file("ann", "b/c", "x" * 4)

    for beyond in (
        lambda: service.write_memory_file("ann", "a", "ü" * 4),
        lambda: service.append_to_memory_file("ann", "a", "x"),
        lambda: service.create("ann", "new/file", "x"),
        lambda: service.insert("ann", "a", 0, ""),
        lambda: service.str_replace("ann", "b/c", "xxxx", "xxxxx"),
    ):
        with pytest.raises(
            FileOperationError, match=r"files have 10 of at most 10 bytes, and would have 1[12]"
        ):
            beyond()
    assert ["a", "b", "b/c"] == paths(service)

    service.write_memory_file("ann", "a", "x" * 5)
    service.create("ann", "empty", "")
    service.create("ann", "last", "x")
    service.rename("ann", "last", "z")
    assert 10 == sum(entry.size for entry in service.list("ann"))


def test_smaller_than_what_is_there(service: AgentMemoryService) -> None:
    """With a quota below what is there, files are read only if they fit, but may become shorter."""
    small = AgentMemoryService(service.app_cache_dir, quota_bytes=3)
    with pytest.raises(FileOperationError, match="more than the 3 bytes"):
        small.read_memory_file("ann", "notes.md")

    small.write_memory_file("ann", "notes.md", "x" * 5)
    small.write_memory_file("ann", "notes.md", "x" * 3)
    assert "xxx" == small.read_memory_file("ann", "notes.md")


@pytest.mark.long
def test_number_of_files(service: AgentMemoryService, home: Path) -> None:
    """An agent has at most 10,000 files and folders; it can still change and delete them."""
    for number in range(9_998):
        (home / f"{number}").touch()
    service.create("ann", "last", "")
    for operation in ("write_memory_file", "append_to_memory_file", "create", "rename to"):
        with pytest.raises(FileOperationError, match="10000 files and folders of at most 10000"):
            WRITES[operation](service, "new/x")

    service.append_to_memory_file("ann", "notes.md", "x")
    service.delete("ann", "last")
    service.create("ann", "new", "")


@pytest.mark.parametrize("settings", [{"quota_bytes": -1}, {"lock_seconds": -0.5}])
def test_settings(tmp_path: Path, settings: dict[str, Any]) -> None:
    """A quota or a time below zero is refused at once."""
    with pytest.raises(InvalidArgumentError, match="0 or more"):
        AgentMemoryService(tmp_path, **settings)


def test_base_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The constructor logs it, every operation raises it; once it can be made, all is well."""
    blocked = tmp_path / "file"
    blocked.write_text("x", "utf-8")
    service = AgentMemoryService(blocked / "cache")
    [record] = caplog.records
    assert (logging.ERROR, True) == (record.levelno, "cannot be made" in record.getMessage())

    for operation in OPERATIONS.values():
        with pytest.raises(AgentNotFoundError, match="of all agents cannot be made"):
            operation(service, "x.md")

    blocked.unlink()
    service.write_memory_file("ann", "x.md", "x")
    assert "x" == service.read_memory_file("ann", "x.md")


def test_relative_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder is the one of the moment when the service was made."""
    service = AgentMemoryService("cache")
    monkeypatch.chdir("/")

    assert tmp_path / "cache" == service.app_cache_dir
    service.write_memory_file("ann", "x.md", "x")
    assert (tmp_path / "cache/agent_memory/ann/x.md").is_file()


def test_nested_too_deep(service: AgentMemoryService, home: Path) -> None:
    """Folders that another program nests too deeply stop changes with a clear word, until they are deleted."""
    (home / "/".join(["d"] * 40)).mkdir(parents=True)

    with pytest.raises(FileOperationError, match="nested deeper than 32, below 'd'"):
        service.write_memory_file("ann", "x.md", "x")
    service.delete("ann", "d")
    service.write_memory_file("ann", "x.md", "x")


def test_full_disk(service: AgentMemoryService, home: Path) -> None:
    """A write that the system breaks off is an error; the old file stays, and nothing is left behind."""
    before, handler = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        for operation in ("write_memory_file", "append_to_memory_file"):
            with pytest.raises(FileOperationError, match="File too large"):
                getattr(service, operation)("ann", "notes.md", "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

    assert TEXT == service.read_memory_file("ann", "notes.md")
    assert ["notes.md"] == names(home)


@pytest.mark.long
def test_platform_without_handles(tmp_path: Path) -> None:
    """Where files cannot be opened relative to a folder's handle, the constructor logs it and no file is ever used."""
    program = (
        "import os, sys; os.supports_dir_fd.clear(); from memory_context import *\n"
        "service = AgentMemoryService(sys.argv[1])\n"
        "for call in (lambda: service.list('a'), lambda: service.write_memory_file('a', 'x', 'y')):\n"
        "    try: call()\n"
        "    except exceptions.AgentNotFoundError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "c")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert 2 == run.stdout.count(
        "is not used: this platform cannot open files relative to a folder's handle"
    )
    assert "its first use will fail" in run.stderr
    assert not (tmp_path / "c").exists()


def test_errors() -> None:
    """The errors are a tree under the package's own."""
    for error in (
        AgentNotFoundError,
        AgentMemoryFileNotFoundError,
        InvalidPathError,
        FileOperationError,
    ):
        assert issubclass(error, AgentMemoryError)
        assert error.__doc__ == str(error())
    assert issubclass(AgentMemoryError, MemoryContextError)


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "append", "insert", "delete"]),
        st.sampled_from("abc"),
        st.text("x\n é", max_size=9),
    ),
    max_size=25,
)


@pytest.mark.long
@examples(60, HealthCheck.function_scoped_fixture)
@given(EDITS)
def test_files_are_as_a_dictionary_of_texts(
    tmp_path: Path, edits: list[tuple[str, str, str]]
) -> None:
    """After any sequence of changes, the files are what a dictionary of texts would hold."""
    service = AgentMemoryService(tmp_path)
    texts = dict[str, str]()
    for path in paths(service):
        service.delete("ann", path)
    for verb, path, text in edits:
        match verb:
            case "write":
                service.write_memory_file("ann", path, text)
                texts[path] = text
            case "append":
                service.append_to_memory_file("ann", path, text)
                texts[path] = texts.get(path, "") + text
            case "insert" if path in texts:
                service.insert("ann", path, 0, text)
                texts[path] = (text if text.endswith("\n") else text + "\n") + (
                    texts[path]
                    if texts[path].endswith("\n") or not texts[path]
                    else texts[path] + "\n"
                )
            case "delete" if path in texts:
                service.delete("ann", path)
                del texts[path]
            case _:
                with pytest.raises(AgentMemoryFileNotFoundError):
                    service.delete("ann", "none")

    assert texts == {path: service.read_memory_file("ann", path) for path in paths(service)}
