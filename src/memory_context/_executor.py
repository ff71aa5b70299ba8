"""Where the synchronous store runs when the caller is asynchronous: threads of our own, one hop per operation."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8


@lru_cache(maxsize=1)
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="memory-context")


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_executor.cache_clear)


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``work(*args, **kwargs)``, which runs in a thread while the event loop goes on."""
    call = partial(contextvars.copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_executor(), call)
