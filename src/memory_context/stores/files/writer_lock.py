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
from memory_context.stores.files.safe_folder import STATE, MemoryFolder

LOCK = "lock"


class WriterLock:
    """The right of one store in one process to write into a folder."""

    def __init__(self, folder: MemoryFolder) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._close_handle: Callable[[], object] | None = None

    @property
    def held(self) -> bool:
        """Return whether this store may write."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock, and note who has it.

        Raises:
            StoreLockedError: Another one has it; the message says who.
            OSError: The folder cannot be written to.
        """
        handle = self._folder.open_state(LOCK)
        try:
            # flock, not a file that exists: the system gives it back when the process dies, however
            # it dies.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            # What the holder wrote below, for the message only; the lock itself does not depend on
            # it.
            holder = _holder(os.pread(handle, 1000, 0))
            os.close(handle)
            raise StoreLockedError(
                f"{holder} writes into {self._folder.path}; one process may at a time. "
                "Close that store, or only read"
            ) from error
        except BaseException:
            os.close(handle)
            raise
        since = now().isoformat(timespec="seconds")
        facts = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
        # Truncated and rewritten in place: replacing the file would leave the lock on the old
        # inode.
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(facts).encode() + b"\n", 0)
        self._handle = handle
        # A finalizer, so that a store that nobody closes gives the lock back too.
        self._close_handle = weakref.finalize(self, os.close, handle)

    def check(self) -> None:
        """Check that the lock is still the one in the folder.

        Raises:
            StoreUnavailableError: The folder was removed or replaced.
        """
        if self._handle is not None:
            with suppress(OSError):
                # A folder that was replaced has another lock file, which another process may hold.
                status = (self._folder.path / STATE / LOCK).lstat()
                if os.path.samestat(status, os.fstat(self._handle)):
                    return
        raise StoreUnavailableError(
            f"{self._folder.path} was removed or replaced while it was open; close the store, and open it again"
        )

    def release(self) -> None:
        """Give the lock back. In a forked child this only closes a copy: the parent keeps its lock."""
        if self._close_handle is not None:
            self._close_handle()
        self._handle = self._close_handle = None


def _holder(data: bytes) -> str:
    try:
        facts = json.loads(data)
        mine = " (this one, through another FileStore)" if facts["process"] == os.getpid() else ""
        return f"process {facts['process']}{mine} on {facts['host']}, since {facts['since']},"
    except (ValueError, KeyError, TypeError):
        return "another process"
