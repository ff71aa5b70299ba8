"""A lock for a context that outlives event loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary


class LoopLock:
    """An asyncio lock that serves one event loop after the other."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Hold the lock of the running loop."""
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            yield
