"""An agent's files while other processes write, are killed, or swap what is there for links to what is outside."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from file_programs import LINE
from memory_context import AgentMemoryService
from memory_context.exceptions import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentNotFoundError,
    FileOperationError,
    InvalidPathError,
)
from test_files import names, snapshot

pytestmark = pytest.mark.long

PROGRAMS = str(Path(__file__).parent / "file_programs.py")
SECRET = "secret\n"


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs a program."""
    return subprocess.Popen(
        [sys.executable, PROGRAMS, program, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


@contextlib.contextmanager
def running(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun its work; it is killed in the end."""
    with start(program, *arguments) as process:
        try:
            assert process.stdout is not None
            assert "ready\n" == process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.fixture
def service(tmp_path: Path) -> AgentMemoryService:
    """A service with an agent that has a file in a folder, next to a folder outside with the same names."""
    service = AgentMemoryService(tmp_path / "cache")
    service.write_memory_file("ann", "work/x.txt", "mine\n")
    (tmp_path / "outside/work").mkdir(parents=True)
    for name in ("x.txt", "work/x.txt"):
        (tmp_path / "outside" / name).write_text(SECRET, "utf-8")
    return service


def attack(kind: str, tmp_path: Path) -> tuple[object, ...]:
    """What an attacker swaps with a link, the link's name, where it leads to, and its kind."""
    home, outside = tmp_path / "cache/agent_memory/ann", tmp_path / "outside"
    return {
        "folder": (home / "work", home / "evil", outside, kind),
        "file": (home / "work/x.txt", home / "evil", outside / "x.txt", kind),
        "hard link": (home / "work/x.txt", home / "evil", outside / "x.txt", kind),
        "agent": (home, home.parent / "evil", outside, kind),
    }[kind]


USES: tuple[Callable[[AgentMemoryService], object], ...] = (
    lambda service: service.read_memory_file("ann", "work/x.txt"),
    lambda service: service.view("ann", "work/x.txt"),
    lambda service: service.write_memory_file("ann", "work/x.txt", "mine\n"),
    lambda service: service.append_to_memory_file("ann", "work/x.txt", "more\n"),
    lambda service: service.str_replace("ann", "work/x.txt", "mine", "ours"),
    lambda service: service.insert("ann", "work/x.txt", 0, "first"),
    lambda service: [entry.size for entry in service.list("ann") if "secret" in entry.path],
    lambda service: service.create("ann", "work/deep/new.txt", "mine\n"),
    lambda service: service.rename("ann", "work/x.txt", "work/y.txt"),
    lambda service: service.rename("ann", "work/y.txt", "work/x.txt"),
    lambda service: service.delete("ann", "work/deep"),
    lambda service: service.delete("ann", "work"),
    lambda service: service.write_memory_file("ann", "work/x.txt", "mine\n"),
)


@pytest.mark.parametrize("kind", ["folder", "file", "hard link", "agent"])
def test_attacker_swaps_links(service: AgentMemoryService, tmp_path: Path, kind: str) -> None:
    """While a process swaps a folder, a file or the agent's folder for a link and back, nothing outside is touched."""
    before, outcomes = snapshot(tmp_path / "outside"), Counter[str]()
    with running("swap", *attack(kind, tmp_path)):
        while min(outcomes["done"], outcomes["refused"]) < 50 or outcomes.total() < 40 * len(USES):
            for use in USES:
                try:
                    assert "secret" not in str(use(service))
                    outcomes["done"] += 1
                except (InvalidPathError, AgentNotFoundError):
                    outcomes["refused"] += 1
                except (AgentMemoryFileNotFoundError, FileOperationError):
                    outcomes["not there"] += 1

    assert before == snapshot(tmp_path / "outside")
    print(kind, outcomes)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_attack_beats_a_checked_path(
    service: AgentMemoryService, tmp_path: Path, kind: str
) -> None:
    """The same attack reads the secret if a path is checked first and opened then: the test above can fail."""
    base = service.app_cache_dir / "agent_memory" / "ann"
    read = ""
    with running("swap", *attack(kind, tmp_path)):
        while read != SECRET:
            with contextlib.suppress(OSError):
                if (base / "work/x.txt").resolve().is_relative_to(base):
                    read = (base / "work/x.txt").read_text("utf-8")
    assert read == SECRET


def test_appends_are_whole(service: AgentMemoryService) -> None:
    """What four processes with two threads each append stands there whole and in order; readers see whole lines."""
    lines, threads = 25, 2
    processes = [
        start("append", service.app_cache_dir, worker, lines, threads) for worker in range(4)
    ]
    while any(process.poll() is None for process in processes):
        with contextlib.suppress(AgentMemoryError):
            seen = service.read_memory_file("ann", "log.txt")
            assert len(seen) % len(LINE.format(worker="0.0", number=0)) in range(
                seen.count("\n") + 1
            )
            assert seen.endswith("\n")
    for process in processes:
        process.communicate()
        assert 0 == process.returncode

    text = service.read_memory_file("ann", "log.txt")
    assert 4 * threads * lines == text.count("\n")
    for worker in range(4):
        for thread in range(threads):
            name = f"{worker}.{thread}"
            own = [line for line in text.splitlines(keepends=True) if line.startswith(f"{name} ")]
            assert [LINE.format(worker=name, number=number) for number in range(lines)] == own


def test_quota_holds_among_writers(service: AgentMemoryService) -> None:
    """Four processes that fill an agent's folder at once come up to its quota, and not a byte over it."""
    processes = [start("fill", service.app_cache_dir, worker, 405) for worker in range(4)]
    said = [process.communicate()[0] for process in processes]

    assert all("at most 405 bytes" in words for words in said)
    assert 405 == sum(entry.size for entry in service.list("ann"))


def leftovers(tmp_path: Path) -> list[str]:
    """What a killed process left behind."""
    home = tmp_path / "cache/agent_memory/ann"
    return [name for name in names(home) if name.startswith(".memory-context-")]


def test_killed_while_writing(service: AgentMemoryService, tmp_path: Path) -> None:
    """After a kill in mid-write the file is the old or the new one, whole; the next write clears what was left."""
    size, hits = 2_000_000, 0
    while hits < 5:
        with running("rewrite", service.app_cache_dir, size):
            time.sleep(random.uniform(0, 0.05))
        hits += bool(leftovers(tmp_path))
        text = service.read_memory_file("ann", "big.txt")
        assert text == text[0] * size
        assert ["big.txt", "work", "work/x.txt"] == [entry.path for entry in service.list("ann")]
        service.write_memory_file("ann", "work/x.txt", "after")
        assert [] == leftovers(tmp_path)


def test_killed_while_appending(service: AgentMemoryService) -> None:
    """After a kill in mid-append the file ends with a whole append, and nothing before it is lost."""
    for _ in range(6):
        service.write_memory_file("ann", "big.txt", "")
        with running("grow", service.app_cache_dir):
            time.sleep(random.uniform(0, 0.1))
        lines = service.read_memory_file("ann", "big.txt").splitlines(keepends=True)
        assert [f"{number:07}" * 1000 + "\n" for number in range(len(lines))] == lines


def test_reading_while_replaced(service: AgentMemoryService) -> None:
    """Whoever reads while another process writes gets one version or another, whole, and no error."""
    versions = set[str]()
    with running("rewrite", service.app_cache_dir, 100_000):
        while len(versions) < 8:
            text = service.read_memory_file("ann", "big.txt")
            assert text == text[0] * 100_000
            versions.add(text[0])


def test_writer_that_hangs(service: AgentMemoryService) -> None:
    """A change waits for the one before it, but not for ever; reading does not wait."""
    lock = service.app_cache_dir / "agent_memory/.locks/ann"
    impatient = AgentMemoryService(service.app_cache_dir, lock_seconds=0.05)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(
            FileOperationError, match="another writer holds the lock of the agent 'ann'"
        ):
            impatient.write_memory_file("ann", "work/x.txt", "x")
        assert "mine\n" == impatient.read_memory_file("ann", "work/x.txt")
        impatient.write_memory_file("bob", "x.txt", "x")

    impatient.write_memory_file("ann", "work/x.txt", "x")


def test_forked_process_does_not_keep_the_lock(service: AgentMemoryService) -> None:
    """A lock goes with the process that took it, also if that one was forked meanwhile and the child lives on."""
    with start("orphan", service.app_cache_dir) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            AgentMemoryService(service.app_cache_dir, lock_seconds=60).write_memory_file(
                "ann", "x.txt", "x"
            )
        finally:
            os.kill(child, signal.SIGKILL)


def test_lock_is_out_of_reach(service: AgentMemoryService) -> None:
    """No agent can be called as the folder of the locks, and no path leads there."""
    for agent, path in ((".locks", "ann"), ("ann", "../.locks/ann")):
        with pytest.raises(InvalidPathError):
            service.delete(agent, path)
