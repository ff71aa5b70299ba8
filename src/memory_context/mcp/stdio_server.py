"""Serve MCP on standard input and output; keep everything else out of these streams, and end at once on a signal.

When the input ends, the requests that were read are answered first.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self, TypeAlias, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from memory_context.mcp.server_on_either_sdk import is_id, wire_of
from memory_context.mcp.wire_types_and_errors import readable
from memory_context.runtime.on_first_signal import ending

LAST_ANSWERS_SECONDS = 60.0
"""How long the requests that are open when standard input ends may still take."""
Serve: TypeAlias = Callable[[Any, Any], Awaitable[None]]
"""Serves a client on the two streams of the SDK, to read from and to write to."""


def serve_stdio(server: Server[Any]) -> None:
    """Run a server until standard input ends and all requests are answered, or a signal arrives."""
    serve_streams(
        lambda read, write: server.run(read, write, server.create_initialization_options())
    )


def serve_streams(serve: Serve) -> None:
    """Run *serve* on standard input and output until the input ends and all requests are answered, or a signal arrives.

    Meanwhile, other code reads nothing from standard input, and what it prints goes to standard error.
    """
    sys.stdout.flush()
    requests = os.dup(0)
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # A library that prints something would break the protocol.
    os.dup2(2, 1)
    try:
        asyncio.run(_serve(serve, requests, answers))
    finally:
        sys.stdout.flush()
        os.dup2(answers, 1)


async def _serve(serve: Serve, requests: int, answers: int) -> None:
    loop = asyncio.get_running_loop()
    scope = anyio.CancelScope()
    stdin = cast("anyio.AsyncFile[str]", _DescriptorLines(requests))
    stdout = anyio.wrap_file(os.fdopen(answers, "w", encoding="utf-8", newline="", closefd=False))
    try:
        with scope, ending(lambda: loop.call_soon_threadsafe(scope.cancel)):
            # `stdio_server` writes answers until the stream for them is closed, not until *serve* returns.
            async with stdio_server(stdin, stdout) as (read, write), write:
                await serve_to_the_last(serve, read, write)
    # `stdio_server` has a task group, so the error is in an exception group.
    except* BrokenPipeError:  # the reader has gone; discard the rest of the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers)


async def serve_to_the_last(serve: Serve, read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
    """Run *serve*, and end its input only when no request is open, because it would drop those that are."""
    unanswered = Counter[Any]()
    answered = asyncio.Event()
    taken, requests = anyio.create_memory_object_stream[Any]()
    answers, given = anyio.create_memory_object_stream[Any]()

    async def take() -> None:
        """Pass on what the client sends, note its requests, and hold the end back until these are answered."""
        async with taken:
            async for message in read:
                # An exception stands for a line that the SDK could not read.
                wire = {} if isinstance(message, Exception) else wire_of(message)
                match wire:
                    case {"method": str(), "id": number}:
                        unanswered[number] += 1
                    # The answer to a request that the client has cancelled is optional.
                    case {
                        "method": "notifications/cancelled",
                        "params": {"requestId": number},
                    } if is_id(number):
                        unanswered[number] = 0
                    case _:
                        pass
                await taken.send(message)
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                while +unanswered:  # those with a count above 0
                    answered.clear()
                    await answered.wait()

    async def give() -> None:
        """Pass on what *serve* sends, and note its answers."""
        # Ends when *answers* is closed. Shielded, because SDK 2 still answers when cancelled, and would wait for a reader.
        with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError), given:
            async for message in given:
                await write.send(message)
                wire = wire_of(message)
                if "method" not in wire:
                    unanswered[wire.get("id")] -= 1
                    answered.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(give)
        async with anyio.create_task_group() as reading, answers:
            reading.start_soon(take)
            await serve(requests, answers)
            reading.cancel_scope.cancel()


class _DescriptorLines:
    """The lines of a descriptor. A daemon thread reads them, so that the process can end while it waits for a line."""

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
        return readable(line.decode("utf-8", "replace"))

    def _read(self, descriptor: int) -> None:
        put = self._lines.put_nowait
        with (
            suppress(RuntimeError),  # the event loop was closed
            os.fdopen(descriptor, "rb") as lines,
        ):
            for line in lines:
                self._loop.call_soon_threadsafe(put, line)
            # An empty line marks the end of the input.
            self._loop.call_soon_threadsafe(put, b"")
