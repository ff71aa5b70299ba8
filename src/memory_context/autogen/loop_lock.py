"""A lock for a context that outlives event loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from memory_context.runtime.after_fork import Lock, in_child

LOOK_IN_SECONDS = 0.01


class LoopLock:
    """An asyncio lock that serves several event loops, one at a time."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        self._holder: asyncio.AbstractEventLoop | None = None
        self._taking = Lock()
        in_child(self)

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Hold the lock, in the running loop."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(loop, asyncio.Lock()):
            while not self._took(loop):  # noqa: ASYNC110 - who lets go of it is another loop's
                await asyncio.sleep(LOOK_IN_SECONDS)
            try:
                yield
            finally:
                if self._holder is loop:
                    self._holder = None

    def _took(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether *loop* holds it now; a loop that was closed in between has let go of it."""
        with self._taking:
            if self._holder in (None, loop) or self._holder.is_closed():
                self._holder = loop
            return self._holder is loop

    def after_fork(self) -> None:
        """In a forked child: no loop of the parent's goes on here."""
        self._holder = None
