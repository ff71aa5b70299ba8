"""Threads in which synchronous stores run for asynchronous callers, one hop per operation; and a loop for the reverse."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Fewer than SQLAlchemy's default pool has connections (5, and 10 more): none waits for one.
THREADS = 8


@lru_cache(maxsize=1)
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="memory-context")


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


def waiting_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that waits for the work of this thread; None if none does."""
    return _WAITING.get()


def result_of(awaited: Awaitable[T]) -> T:
    """Return what a caller's coroutine gives to synchronous work, run in the loop that waits for it, else in ours."""

    async def waiting() -> T:
        return await awaited

    loop = waiting_loop()
    # The private function returns None where the public one raises, and costs nothing.
    if loop is None or asyncio._get_running_loop() is loop:  # noqa: SLF001
        return wait_for(waiting())
    return asyncio.run_coroutine_threadsafe(waiting(), loop).result()


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``work(*args, **kwargs)``, which runs in a thread while the event loop goes on."""
    loop = asyncio.get_running_loop()
    # The caller's context: traces and the caller's own variables are the same in the thread.
    context = contextvars.copy_context()
    context.run(_WAITING.set, loop)
    return await loop.run_in_executor(_executor(), partial(context.run, work, *args, **kwargs))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work* to a synchronous caller, even inside a running loop: a loop of ours runs it."""
    running = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return running.result()
    finally:
        # After Ctrl-C in the waiting thread the work must not go on behind its back.
        running.cancel()
