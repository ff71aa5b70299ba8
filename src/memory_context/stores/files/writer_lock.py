"""One writing process at a time: a lock that the system gives back when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import weakref
from collections.abc import Callable
from contextlib import suppress

from memory_context.exceptions import StoreLockedError, StoreUnavailableError
from memory_context.model.item import now
from memory_context.stores.files.folder import STATE, Folder

LOCK = "lock"


class WriterLock:
    """The right to write into a folder, of one store in one process."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._give_back: Callable[[], object] | None = None

    @property
    def held(self) -> bool:
        """Whether this store may write."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock, and note who has it.

        Raises:
            StoreLockedError: Another one has it; says who.
            OSError: The folder cannot be written to.
        """
        handle = self._folder.open_state(LOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _holder(os.pread(handle, 1000, 0))
            os.close(handle)
            message = f"{holder} writes into {self._folder.path}; one process may at a time. Close that store, or only read"
            raise StoreLockedError(message) from error
        except BaseException:
            os.close(handle)
            raise
        os.ftruncate(handle, 0)
        facts = {
            "process": os.getpid(),
            "host": socket.gethostname(),
            "since": now().isoformat(timespec="seconds"),
        }
        os.pwrite(handle, json.dumps(facts).encode() + b"\n", 0)
        self._handle = handle
        self._give_back = weakref.finalize(
            self, os.close, handle
        )  # also of a store that nobody closes

    def check(self) -> None:
        """Check that the lock is still the one in the folder.

        Raises:
            StoreUnavailableError: The folder was removed or replaced.
        """
        facts = None
        with suppress(OSError):
            facts = (self._folder.path / STATE / LOCK).lstat()
        if (
            self._handle is None
            or facts is None
            or not os.path.samestat(facts, os.fstat(self._handle))
        ):
            message = f"{self._folder.path} was removed or replaced while it was open; close the store, and open it again"
            raise StoreUnavailableError(message)

    def release(self) -> None:
        """Give the lock back. In a forked child this only lets go of a copy: the parent keeps its lock."""
        if self._give_back is not None:
            self._give_back()
        self._handle = self._give_back = None


def _holder(data: bytes) -> str:
    try:
        facts = json.loads(data)
        mine = " (this one, through another FileStore)" if facts["process"] == os.getpid() else ""
        return f"process {facts['process']}{mine} on {facts['host']}, since {facts['since']},"
    except (ValueError, KeyError, TypeError):
        return "another process"
