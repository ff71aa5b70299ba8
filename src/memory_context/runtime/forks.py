"""What a forked child must not take over: a fork copies locks and connections, and of all threads only the one that forks."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol
from weakref import WeakValueDictionary


class Heir(Protocol):
    """Something that must be renewed in a forked child."""

    def after_fork(self) -> object:
        """Become usable in the child, where this is called before anything else."""
        ...


_heirs = WeakValueDictionary[int, Heir]()


def in_child(heir: Heir) -> None:
    """Call ``heir.after_fork()`` in each forked child as long as *heir* lives; several are called in no order."""
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
    """A reentrant lock that is free in a forked child, unless the thread that forked holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        in_child(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """Take a new lock where a thread of the parent, which is not in the child, holds this one."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


class Gate:
    """Around work that no fork may cut through: it waits until nobody is inside, and nobody enters until it is done.

    Args:
        seconds: How long a fork waits at most. Its own thread's work is not waited for.
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._when_empty: list[Callable[[], object]] = []
        self._changed = threading.Condition()
        self._inside = dict[int, int]()
        self._is_forking = False
        if sys.platform != "win32":
            os.register_at_fork(
                before=self._before,
                after_in_parent=self._after_in_parent,
                after_in_child=self._after_in_child,
            )

    def __enter__(self) -> None:
        """Wait for a fork that is under way, and begin."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._is_forking or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
            if self._is_forking:
                self._changed.notify_all()

    def when_empty(self, call: Callable[[], object]) -> None:
        """Call `call` before each fork, where nobody is inside."""
        self._when_empty.append(call)

    def _before(self) -> None:
        me = threading.get_ident()
        self._changed.acquire()  # until the fork is done: what is copied is whole
        self._changed.wait_for(lambda: not self._is_forking)
        self._is_forking = True
        self._changed.wait_for(lambda: not self._inside.keys() - {me}, self._seconds)
        if not self._inside:
            for call in self._when_empty:
                call()

    def _after_in_parent(self) -> None:
        self._is_forking = False
        self._changed.notify_all()
        self._changed.release()

    def _after_in_child(self) -> None:
        me = threading.get_ident()
        self._changed = threading.Condition()
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        self._is_forking = False


no_fork = Gate()
"""Around each use of a database and of keys, and around what is loaded late: a lock of an import's, or of another
library's, that is held when a process forks stays closed in the child."""
