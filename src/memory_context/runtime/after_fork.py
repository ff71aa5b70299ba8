"""Renew in a forked child what it must not inherit: a fork copies locks and connections, but only one thread."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakValueDictionary

from memory_context.exceptions import NotSerializableError, StoreUnavailableError


class Heir(Protocol):
    """Something that must be renewed in a forked child."""

    def after_fork(self) -> object:
        """Become usable in the child, where this is called before anything else."""
        ...


_heirs = WeakValueDictionary[int, Heir]()


def in_child(heir: Heir) -> None:
    """Call ``heir.after_fork()`` in each forked child as long as *heir* lives. Several are called in no particular order."""
    _heirs[id(heir)] = heir


def before_fork(call: Callable[[], object]) -> None:
    """Call *call* in the parent before each fork."""
    if sys.platform != "win32":
        os.register_at_fork(before=call)


def _after_fork() -> None:
    for heir in list(_heirs.values()):
        heir.after_fork()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


class Lock:
    """A reentrant lock that is free in a forked child, unless the thread that forked holds it.

    Args:
        patience: Returns how many seconds to wait for the lock; None for as long as it takes.
        guarded: What the lock guards, in words, for the error.

    Raises:
        StoreUnavailableError: Another thread held the lock all that time.
    """

    def __init__(
        self, patience: Callable[[], float | None] = lambda: None, guarded: str = "a lock"
    ) -> None:
        self._lock = threading.RLock()
        self._patience = patience
        self._guarded = guarded
        in_child(self)

    def __enter__(self) -> None:
        seconds = self._patience()
        timeout = -1 if seconds is None else seconds
        if not self._lock.acquire(timeout=timeout):
            raise StoreUnavailableError(
                f"{self._guarded}: another thread of this process has been at it for {seconds:g} s"
            )

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __getstate__(self) -> None:
        """Refuse to be pickled or deep-copied, and so does the store, context, … that it belongs to.

        Raises:
            NotSerializableError: Always.
        """
        raise NotSerializableError(
            "an object with a lock, such as a store or whatever has one open, belongs to its process and cannot be copied: "
            "make another one there; open a store by its URL"
        )

    def after_fork(self) -> None:
        """Take a new lock if this one is held by a thread of the parent, which does not exist in the child."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
