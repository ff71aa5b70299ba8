"""The lock that lets only one process at a time write into a folder. The system releases it when the process ends."""

from __future__ import annotations

import os
import shlex
import weakref
from collections.abc import Callable
from contextlib import suppress

from memory_context.exceptions import StoreLockedError, StoreUnavailableError
from memory_context.runtime.file_locks import lock
from memory_context.stores.files.safe_folder import STATE, MemoryFolder

LOCK = "lock"


class WriterLock:
    """The right of one store, in one process, to write into a folder."""

    def __init__(self, folder: MemoryFolder) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._close_handle: Callable[[], object] | None = None

    @property
    def held(self) -> bool:
        """Return whether this store holds the lock."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            StoreLockedError: Another store holds the lock; the message says what to do.
            OSError: The folder cannot be written to.
        """
        handle = self._folder.open_state(LOCK)
        try:
            # flock, and not the existence of a file: the system releases it however the process
            # ends.
            lock(handle, 0)
        except BlockingIOError as error:
            os.close(handle)
            file = shlex.quote(str(self._folder.path / STATE / LOCK))
            raise StoreLockedError(
                f"another store, in this process or another, writes into {self._folder.path}, and only one may at a "
                f"time. Close that store, or only read; `lsof {file}` names its process"
            ) from error
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        # A finalizer, so that the lock is released even if nobody closes the store.
        self._close_handle = weakref.finalize(self, os.close, handle)

    def check(self) -> None:
        """Check that the lock file in the folder is still the one that is held.

        Raises:
            StoreUnavailableError: The folder was removed or replaced.
        """
        if self._handle is not None:
            with suppress(OSError):
                # If the folder was replaced, it has another lock file, which another process may hold.
                status = (self._folder.path / STATE / LOCK).lstat()
                if os.path.samestat(status, os.fstat(self._handle)):
                    return
        raise StoreUnavailableError(
            f"{self._folder.path} was removed or replaced while it was open; close the store, and open it again"
        )

    def release(self) -> None:
        """Release the lock. In a forked child this only closes a copy of the descriptor: the parent keeps the lock."""
        if self._close_handle is not None:
            self._close_handle()
        self._handle = self._close_handle = None
