"""Locks on open files, which the system releases when their holder ends, however it ends."""

from __future__ import annotations

import sys
import time

if sys.platform != "win32":
    import fcntl

POLL_SECONDS = 0.002


def lock(handle: int, seconds: float) -> None:
    """Lock an open file for this handle alone. On Windows, which has no such locks, nothing is done.

    Raises:
        BlockingIOError: Another handle held the lock for *seconds*.
        OSError: The file system does not support locks.
    """
    deadline = time.monotonic() + seconds
    while sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return
