"""Programs that other processes run while a test uses an agent's files: ``python file_programs.py NAME ARGUMENTS``."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
import threading
from itertools import count
from pathlib import Path

from memory_context.agent_files import file_handles
from memory_context.agent_files.agent_file_service import AgentMemoryService
from memory_context.exceptions import FileOperationError

AT_FDCWD, RENAME_EXCHANGE = -100, 2
LINE = "{worker} {number} " + "x" * 200 + "\n"


def ready() -> None:
    """Tell the test that the program has begun its work."""
    print("ready", flush=True)


def swap(one: str, other: str, target: str, kind: str) -> None:
    """Exchange two names, one of which is a link to `target`, again and again; a link that was overwritten is remade.

    It takes one system call where there is one for it (Linux), else three.
    """
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    for number in count():
        if number % 50 == 0 and not any(_leads_to(name, target) for name in (one, other)):
            _link(other, target, kind)
        if exchange:
            exchange(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
        else:
            _swap_slowly(one, other)
        if number == 0:
            ready()


def _leads_to(name: str, target: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(name).samefile(target)
    return False


def _link(name: str, target: str, kind: str) -> None:
    if Path(name).is_dir() and not Path(name).is_symlink():
        shutil.rmtree(name, ignore_errors=True)
    with contextlib.suppress(OSError):
        if os.path.lexists(name):
            Path(name).unlink()
        (os.link if kind == "hard link" else os.symlink)(target, name)


def _swap_slowly(one: str, other: str) -> None:
    spare = other + ".spare"
    for source, target in ((one, spare), (other, one), (spare, other)):
        if os.path.lexists(source):
            Path(source).rename(target)


def append(cache: str, worker: str, lines: str, threads: str) -> None:
    """Append so many lines to one file, in each of so many threads."""
    service = AgentMemoryService(cache, lock_seconds=60)

    def work(thread: int) -> None:
        for number in range(int(lines)):
            service.append_to_memory_file(
                "ann", "log.txt", LINE.format(worker=f"{worker}.{thread}", number=number)
            )

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(int(threads))]
    for one in workers:
        one.start()
    for one in workers:
        one.join()


def rewrite(cache: str, size: str) -> None:
    """Make a file all one letter, then all another, for ever."""
    service = AgentMemoryService(cache)
    for number in count():
        service.write_memory_file("ann", "big.txt", "abcdefgh"[number % 8] * int(size))
        if number == 0:
            ready()


def grow(cache: str) -> None:
    """Append whole lines to a file, for ever."""
    service = AgentMemoryService(cache)
    for number in count():
        service.append_to_memory_file("ann", "big.txt", f"{number:07}" * 1000 + "\n")
        if number == 0:
            ready()


def fill(cache: str, worker: str, quota: str) -> None:
    """Make files of ten bytes until there is no room."""
    service = AgentMemoryService(cache, quota_bytes=int(quota), lock_seconds=60)
    for number in count():
        try:
            service.create("ann", f"{worker}/{number}", "0123456789")
        except FileOperationError as error:
            print(error)
            return


def orphan(cache: str) -> None:
    """Fork while an agent's lock is held, and be killed; the child lives on."""
    base = Path(AgentMemoryService(cache).app_cache_dir, "agent_memory")
    handle = os.open(base, os.O_RDONLY)
    with (
        file_handles.folder(handle, (".locks",), make=True) as locks,
        file_handles.locked(locks, "ann", 60),
    ):
        if os.fork() == 0:
            print(os.getpid(), flush=True)
            signal.pause()
        signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
