"""An asyncio lock for a context that is used from more than one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from memory_context.runtime.after_fork import Lock, in_child

POLL_SECONDS = 0.01


class LoopLock:
    """An asyncio lock that may be used from several event loops; only one of them holds it at a time."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        self._holder: asyncio.AbstractEventLoop | None = None
        self._taking = Lock()
        in_child(self)

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Hold the lock in the running event loop."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(loop, asyncio.Lock()):
            while not self._try_take(loop):  # noqa: ASYNC110 - released by another loop
                await asyncio.sleep(POLL_SECONDS)
            try:
                yield
            finally:
                if self._holder is loop:
                    self._holder = None

    def _try_take(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Take the lock for *loop* unless another loop that is not closed holds it. Return whether *loop* holds it."""
        with self._taking:
            if self._holder in (None, loop) or self._holder.is_closed():
                self._holder = loop
            return self._holder is loop

    def after_fork(self) -> None:
        """Release the lock in a forked child, where the parent's event loops do not run."""
        self._holder = None
