"""Set deadlines for what may hang: a user's code, or a database that does not answer."""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")

ANSWER_SECONDS = 30.0
"""How long a database may be silent before its connection is given up."""
EXIT_SECONDS = 3.0
"""How long an ending process waits for a database, and for work that threads have begun."""

_patience: contextvars.ContextVar[float | None] = contextvars.ContextVar("patience")


def patience() -> float | None:
    """Return how many seconds this context waits for a database's answer; None for as long as it takes."""
    return _patience.get(ANSWER_SECONDS)


@contextmanager
def waiting(seconds: float | None) -> Generator[None]:
    """Wait at most *seconds* for each answer of a database in the body of the ``with``; None for as long as it takes."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return the result of *work*, which runs in a thread of its own and is abandoned if it is late.

    Raises:
        TimeoutError: There is no result within *seconds*.
        Exception: What *work* raises.
    """
    future = _Abandonable(work, name)
    if not wait([future], seconds).done:
        raise TimeoutError(f"no answer within {seconds} s")
    return future.result()


def unless_hung(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return the result of *work* as `within` does, but abandon it only if it does nothing for *seconds*.

    A busy machine makes no difference: what counts is whether the thread uses CPU time, where the system reports it.

    Raises:
        TimeoutError: The thread has done nothing for *seconds*.
        Exception: What *work* raises.
    """
    future = _Abandonable(work, name)
    used = -1.0
    while not wait([future], seconds).done:
        before = used
        used = future.seconds_used()
        if used == before:
            raise TimeoutError(f"nothing has happened for {seconds} s")
    return future.result()


class _Abandonable(Future[T]):
    """The result of work in a thread of its own. Python cannot end a thread: it runs on even if nobody waits for it."""

    def __init__(self, work: Callable[[], T], name: str) -> None:
        super().__init__()
        self._work = work
        self._clock: int | None = None
        context = contextvars.copy_context()
        # Not from a pool: a call that hangs would hold its thread, and several would use the pool up.
        threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True).start()

    def _run(self) -> None:
        if sys.platform != "darwin":
            # Called in the thread itself: from outside, it may crash if the thread has ended.
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self.set_result(self._work())
        except Exception as error:  # noqa: BLE001 - handed over
            self.set_exception(error)

    def seconds_used(self) -> float:
        """Return the thread's CPU time; where the system does not report it, a number that differs at each call."""
        if self._clock is not None:
            with suppress(OSError):  # it has just ended
                return time.clock_gettime(self._clock)
        return time.monotonic()
