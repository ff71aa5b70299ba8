"""Run synchronous stores in threads for asynchronous callers, and coroutines in a loop for synchronous ones."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent import futures
from concurrent.futures import Executor, Future
from functools import lru_cache, partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.deadlines import EXIT_SECONDS

P = ParamSpec("P")
T = TypeVar("T")

# Fewer than the connections of SQLAlchemy's default pool (5, and 10 more), so that no thread waits for one.
THREADS = 8


class DaemonThreads(Executor):
    """An executor of up to `THREADS` daemon threads: work that hangs does not keep a process from ending."""

    def __init__(self) -> None:
        self._tasks = SimpleQueue[tuple[Future[Any], Callable[[], Any]]]()
        self._begun = set[Future[Any]]()
        self._idle = threading.Semaphore(0)
        self._threads = 0
        self._starting = Lock()
        in_child(self)
        # When a process ends normally, work that does not hang is completed.
        atexit.register(self.shutdown)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Executor.submit`."""
        future = Future[T]()
        self._begun.add(future)
        future.add_done_callback(self._begun.discard)
        self._tasks.put((future, partial(fn, *args, **kwargs)))
        with self._starting:
            if not self._idle.acquire(blocking=False) and self._threads < THREADS:
                self._threads += 1
                name = f"memory-context_{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def after_fork(self) -> None:
        """Forget, in a forked child, what the parent's threads have begun."""
        self._begun.clear()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - Executor's
        """Wait up to `EXIT_SECONDS` for the work that was begun."""
        futures.wait(list(self._begun), EXIT_SECONDS)

    def _work(self) -> None:
        while True:
            future, work = self._tasks.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - handed over
                    future.set_exception(error)
            del future, work  # or they would stay alive until the next task
            self._idle.release()


@lru_cache(maxsize=1)
def _executor() -> DaemonThreads:
    return DaemonThreads()


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: it must not keep the interpreter from ending.
    threading.Thread(target=loop.run_forever, name="memory-context-loop", daemon=True).start()
    return loop


if sys.platform != "win32":
    # A child has none of these threads: it must make its own, or it would wait for ever.
    os.register_at_fork(after_in_child=_executor.cache_clear)
    os.register_at_fork(after_in_child=_loop.cache_clear)


_WAITING: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar(
    "waiting", default=None
)


def result_of(awaited: Awaitable[T]) -> T:
    """Return the result of a caller's awaitable, for synchronous work.

    The awaitable runs in the event loop that waits for this work (see `off_loop`); without one, in a loop of our own.
    """

    async def waiting() -> T:
        return await awaited

    loop = _WAITING.get()
    # The private function returns None where the public one raises, and costs nothing.
    if loop is None or asyncio._get_running_loop() is loop:  # noqa: SLF001
        return wait_for(waiting())
    return asyncio.run_coroutine_threadsafe(waiting(), loop).result()


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``work(*args, **kwargs)``, which runs in a thread while the event loop goes on."""
    loop = asyncio.get_running_loop()
    # The caller's context, so that traces and the caller's own variables are the same in the thread.
    context = contextvars.copy_context()
    context.run(_WAITING.set, loop)
    return await loop.run_in_executor(_executor(), partial(context.run, work, *args, **kwargs))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work*, which runs in a loop of our own, so that this also works inside a running loop."""
    running = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return running.result()
    finally:
        # After Ctrl-C in the waiting thread, the work must not go on unnoticed.
        running.cancel()
