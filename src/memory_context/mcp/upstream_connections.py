"""The connections to wrapped MCP servers: start or reach a server, send it requests, and report when it is gone.

An *upstream* is such a connection. A server may take as long as it likes for an answer while it gives signs of life
(progress, or a request of its own that waits for the client); a request whose server is silent for too long fails.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import anyio
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CONNECTION_CLOSED
from pydantic import ValidationError

from memory_context import sentences_models_read as prompts
from memory_context.mcp.server_on_either_sdk import IS_SDK_1, NAME, message_of, wire_of
from memory_context.mcp.wire_types_and_errors import (
    INTERNAL_ERROR,
    RequestError,
    Wire,
    member,
    readable,
)

T = TypeVar("T")

CLOSING = 10.0  # seconds
ENDED = "it closed the connection"
CANCELLED = "notifications/cancelled"
BROKEN_OFF = "SSE stream "  # the beginning of what the SDK answers for a server that breaks off
# Seconds to connect, read, write and get a pooled connection. `Upstream.request` limits how long an answer may take.
_HTTP_TIMEOUT = (30.0, None, 30.0, 30.0)
UNREAD_SHOWN = 200  # characters
# The most pages that are read of one list, in case a server never stops sending a cursor.
MAX_PAGES = 1000


@dataclass(frozen=True, slots=True)
class WrappedServer:
    """A server that is wrapped: the command that starts it, or its URL.

    Attributes:
        name: The prefix of its tools' names where these clash; if empty, the name that the server gives itself.
        command: The program and its arguments; empty for a server with a URL.
        url: The URL of a server that is already running.
        environment: Environment variables for the program, in addition to those of this process.
        headers: The headers of HTTP requests, such as one with a token.
        folder: The working directory of the program.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str | None = None

    @property
    def shown(self) -> str:
        """Return the name for messages: its name, else the URL, else the command."""
        return self.name or self.url or " ".join(self.command)[:80]


@dataclass(slots=True)
class Pending:
    """A request that has no answer yet.

    Attributes:
        answer: The answer, once it has come.
        token: The progress token of the request; None if it has none.
        heard: When the server last gave a sign that it works on the request, in the event loop's time.
        asked: The requests that the server has sent to the client since then and that are not answered yet, because a
            person may have to answer. Earlier ones do not count, since some clients never answer some requests.
    """

    answer: asyncio.Future[Wire]
    token: Any
    heard: float
    asked: set[int] = field(default_factory=set[int])


class Upstream:
    """A connection to a server; messages are JSON objects as they are on the wire.

    Args:
        server: The server.
        on_message: Called with each request and notification of the server.
        patience: How many seconds the server may give no sign of life while it has a request to answer.
    """

    def __init__(
        self,
        server: WrappedServer,
        on_message: Callable[[Upstream, Wire], None],
        patience: float,
    ) -> None:
        self.server = server
        self.name = server.shown
        self.capabilities: Wire = {}
        self._on_message = on_message
        self._patience = patience
        self._ended: str | None = None
        self.pending = dict[int, Pending]()
        self._numbers = itertools.count(1)
        self._outbox = asyncio.Queue[Wire]()
        # Cancelling the SDK's transports breaks them. So `close` cancels only the work inside of a transport, which
        # then exits normally; the outer scope is the deadline for that.
        self._all = anyio.CancelScope(shield=True)
        self._talking = anyio.CancelScope()

    @property
    def is_there(self) -> bool:
        """Return whether the connection has not ended."""
        return self._ended is None

    async def run(self) -> None:
        """Connect, and stay connected until the server ends or `close` is called."""
        reason = ENDED
        try:
            with self._all:
                async with _connected(self.server) as (read, write):
                    with self._talking:
                        await self._talk(read, write)
                        self._end(reason)
        except Exception as error:  # noqa: BLE001 - any error is reported to the client, and other servers go on
            reason = _reason(error)
        if not self._talking.cancel_called:
            self._end(reason)

    def close(self) -> None:
        """Close the connection; the server gets `CLOSING` seconds to end by itself."""
        self._talking.cancel()
        self._all.deadline = anyio.current_time() + CLOSING

    def send(self, wire: Wire) -> None:
        """Send a notification, or the answer to one of the server's requests."""
        self._outbox.put_nowait(wire)

    async def request(self, method: str, params: Wire, patience: float | None = None) -> Wire:
        """Send a request, and return the answer: an object with a ``result`` or an ``error``.

        Raises:
            RequestError: The server has ended, ends before it answers, or gives no sign of life for *patience*
                seconds. Progress is such a sign. The clock stops while the client has not answered a request that the
                server sent during a call that is still open.
        """
        patience = patience or self._patience
        if self._ended:
            raise self._gone()
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        token = member(params, "_meta").get("progressToken")
        pending = Pending(loop.create_future(), token, loop.time())
        self.pending[number] = pending
        self.send({"id": number, "method": method, "params": params})
        try:
            while not pending.answer.done():
                if any(one.asked for one in self.pending.values()):
                    pending.heard = loop.time()
                remaining = pending.heard + patience - loop.time()
                if remaining <= 0:
                    silent = prompts.WRAPPED_SILENT.format(
                        server=self.name, method=method, seconds=f"{patience:g}"
                    )
                    raise RequestError(INTERNAL_ERROR, silent)
                await asyncio.wait([pending.answer], timeout=remaining)
            return pending.answer.result()
        finally:
            del self.pending[number]
            # This call was cancelled or has timed out. MCP's lifecycle forbids cancelling `initialize`.
            if not pending.answer.done() and method != "initialize":
                self.send({"method": CANCELLED, "params": {"requestId": number}})

    async def every(self, method: str, kind: str) -> list[Wire]:
        """Return all that the server lists when it is asked with *method*: the lists named *kind* on all pages.

        Raises:
            RequestError: As for `request`, or the server answered with an error.
        """
        listed = list[Wire]()
        params = Wire()
        for _ in range(MAX_PAGES):
            answer = await self.request(method, params)
            result = result_of(answer)
            listed += result.get(kind, [])
            cursor = result.get("nextCursor")
            if cursor is None:
                break
            params = {"cursor": cursor}
        return listed

    def take(self, wire: Wire) -> None:
        """Handle a message of the server: an answer, or a request or notification for the client."""
        if "method" in wire:
            if wire["method"] == "notifications/progress":
                token = member(wire, "params").get("progressToken")
                for one in self.pending.values():
                    if token is not None and one.token == token:
                        one.heard = asyncio.get_running_loop().time()
            self._on_message(self, wire)
            return
        number = wire.get("id", 0)
        # JSON does not distinguish 1.0 from 1.
        if not isinstance(number, int | float):
            return
        pending = self.pending.get(cast("int", number))
        if not pending or pending.answer.done():
            return
        names = [name for name in ("result", "error") if isinstance(wire.get(name), dict)]
        answer = {name: wire[name] for name in names}
        error = member(answer, "error")
        reason = str(error.get("message"))
        problem = ""
        if not answer:
            problem = prompts.WRAPPED_NO_ANSWER.format(server=self.name)
        # Servers use this code, too, but only the SDK uses these words.
        elif error.get("code") == CONNECTION_CLOSED and reason.startswith(BROKEN_OFF):
            problem = prompts.WRAPPED_BROKE_OFF.format(server=self.name, reason=reason)
        if problem:
            pending.answer.set_exception(RequestError(INTERNAL_ERROR, problem))
        else:
            pending.answer.set_result(answer)

    def note_asked(self, number: int) -> None:
        """Note that the server has sent the client a request; its own answers to open requests may wait for that."""
        for pending in self.pending.values():
            pending.asked.add(number)

    def note_answered(self, number: int) -> None:
        """Note that the client has answered the server's request, or that the server has cancelled it."""
        for pending in self.pending.values():
            pending.asked.discard(number)
            pending.heard = asyncio.get_running_loop().time()

    async def _talk(self, read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
        async with anyio.create_task_group() as tasks:
            # Messages are queued for one writer task, so that a server that does not read blocks only itself.
            tasks.start_soon(write_messages, self._outbox, write)
            async for message in read:
                # An exception stands for a line that the SDK could not read.
                if not isinstance(message, Exception):
                    self.take(wire_of(message))
                elif wire := _unread(message):
                    self.take(wire)
                else:
                    sys.stderr.write(
                        f"{NAME} wrap: {self.name}: not a message: {_shown(message)}\n"
                    )
            tasks.cancel_scope.cancel()

    def _end(self, reason: str) -> None:
        if self._ended:
            return
        self._ended = reason
        sys.stderr.write(f"{NAME} wrap: {self.name}: {reason}\n")
        for pending in self.pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(self._gone())

    def _gone(self) -> RequestError:
        message = prompts.WRAPPED_GONE.format(server=self.name, reason=self._ended)
        return RequestError(INTERNAL_ERROR, message)


def _unread(error: Exception) -> Wire | None:
    """Return the message that the SDK could not read; None if what it could not read is not a message.

    The SDK refuses half a surrogate pair, and an answer whose result is not an object. A call would wait for that answer.
    """
    if not isinstance(error, ValidationError):
        return None
    inputs: list[object] = [one["input"] for one in error.errors()]
    for one in inputs:
        if isinstance(one, dict) and "jsonrpc" in one and "method" not in one:
            return cast("Wire", one)
    line = inputs[0]
    if not isinstance(line, str):
        return None
    try:
        message: object = json.loads(readable(line))
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict):
        return cast("Wire", message)
    return None


def _shown(error: Exception) -> str:
    """Return the beginning of what the SDK could not read, quoted, so that nothing in it acts on a terminal."""
    given = error.errors()[0]["input"] if isinstance(error, ValidationError) else str(error)
    return ascii(given)[:UNREAD_SHOWN]


async def write_messages(outbox: asyncio.Queue[Wire], write: Any) -> None:  # noqa: ANN401 - a stream of either SDK
    """Write the messages of *outbox* to the stream *write*, until the task is cancelled."""
    while True:
        await write.send(message_of(await outbox.get()))


@asynccontextmanager
async def _connected(server: WrappedServer) -> AsyncGenerator[tuple[Any, Any]]:
    """Start or reach a server, and yield the streams to read its messages from and to write to it."""
    if server.url:
        client = create_mcp_http_client(headers=dict(server.headers))
        client.timeout = _HTTP_TIMEOUT
        # SDK 2 limits the size of an event. Large results are the very purpose of wrapping, so the limit is removed.
        options: dict[str, Any] = {} if IS_SDK_1 else {"max_sse_event_size": None}
        async with (
            client,
            streamable_http_client(server.url, http_client=client, **options) as streams,
        ):
            yield streams[0], streams[1]
        return
    program, *arguments = server.command
    # Our own variables are not inherited: a third party's server must not get, say, the password of the database.
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("MEMORY_CONTEXT_")
    }
    parameters = StdioServerParameters(
        command=program,
        args=arguments,
        env={**inherited, **server.environment},
        cwd=server.folder,
        encoding_error_handler="replace",
    )
    async with stdio_client(parameters) as (read, write):
        yield read, write


async def ask_concurrently(
    upstreams: Iterable[Upstream], ask: Callable[[Upstream], Awaitable[T]]
) -> list[T | RequestError]:
    """Call *ask* for all servers at the same time; return the answer of each, or the error in its place."""

    async def answer(upstream: Upstream) -> T | RequestError:
        try:
            return await ask(upstream)
        except RequestError as error:
            return error

    return await asyncio.gather(*map(answer, upstreams))


def result_of(answer: Wire | RequestError) -> Wire:
    """Return the result in an answer.

    Raises:
        RequestError: The answer is an error.
    """
    if isinstance(answer, RequestError):
        raise answer
    if "error" in answer:
        raise RequestError(answer["error"]["code"], answer["error"]["message"])
    return dict(answer["result"])


def _reason(error: Exception) -> str:
    """Return the message of an error; of a group of errors, that of the first one."""
    if isinstance(error, ExceptionGroup):
        return _reason(cast("ExceptionGroup[Exception]", error).exceptions[0])
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    # The error of a broken stream has no message.
    reason = str(error) or ENDED
    return reason.rstrip(".")
