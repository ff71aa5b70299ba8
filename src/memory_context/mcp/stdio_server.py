"""The protocol on standard input and output: nothing else is written there, and a signal ends it at once."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeAlias, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from memory_context.runtime.signals import ending

Serve: TypeAlias = Callable[[Any, Any], Awaitable[None]]
"""Serves on the SDK's two streams."""


def serve_stdio(server: Server[Any]) -> None:
    """Serve until standard input ends, or a signal comes."""
    serve_streams(
        lambda read, write: server.run(read, write, server.create_initialization_options())
    )


def serve_streams(serve: Serve) -> None:
    """Run what serves until standard input ends, or a signal comes."""
    with _wire() as (requests, answers):
        asyncio.run(_serve(serve, requests, answers))


async def _serve(serve: Serve, requests: int, answers: int) -> None:
    loop = asyncio.get_running_loop()
    scope = anyio.CancelScope()
    stdin = cast("anyio.AsyncFile[str]", _DescriptorLines(requests))
    stdout = anyio.wrap_file(os.fdopen(answers, "w", encoding="utf-8", newline="", closefd=False))
    try:
        with scope, ending(lambda: loop.call_soon_threadsafe(scope.cancel)):
            async with stdio_server(stdin, stdout) as (read, write):
                await serve(read, write)
    # Raised inside the task group of `stdio_server`, and so in a group.
    except* BrokenPipeError:  # nobody reads any more; what is left to write goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers)


@contextmanager
def _wire() -> Generator[tuple[int, int]]:
    """Take over standard input and output: nothing else reads there, and prints go to standard error."""
    sys.stdout.flush()
    requests = os.dup(0)
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # A stray print of any library would break the protocol.
    os.dup2(2, 1)
    try:
        yield requests, answers
    finally:
        sys.stdout.flush()
        os.dup2(answers, 1)


class _DescriptorLines:
    """The lines of a descriptor. A daemon thread waits for them, so that the process can end meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = asyncio.Queue[bytes]()
        threading.Thread(target=self._read, args=(descriptor,), daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self, descriptor: int) -> None:
        put = self._lines.put_nowait
        with (
            suppress(RuntimeError),
            os.fdopen(descriptor, "rb") as lines,
        ):  # of a loop that has ended
            for line in lines:
                self._loop.call_soon_threadsafe(put, line)
            # Nothing more: the end of input.
            self._loop.call_soon_threadsafe(put, b"")
