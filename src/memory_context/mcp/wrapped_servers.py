"""Servers that are wrapped: how one is reached, what it is asked, and what is told when it ends or says nothing."""

from __future__ import annotations

import asyncio
import itertools
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

from memory_context import wording_for_models as prompts
from memory_context.mcp.requests import INTERNAL_ERROR, RequestError, Wire, member
from memory_context.mcp.server_on_either_sdk import IS_SDK_1, NAME, message_of, wire_of

T = TypeVar("T")

PATIENCE = 300.0
START_PATIENCE = 60.0
CLOSING = 10.0
ENDED = "it closed the connection"
CANCELLED = "notifications/cancelled"
# Seconds to connect, to read, to write, and to get a connection. How long an answer may take is `Upstream.request`'s.
_HTTP_TIMEOUT = (30.0, None, 30.0, 30.0)
# A server that lists without end is stopped there.
MOST_PAGES = 1000


@dataclass(frozen=True, slots=True)
class WrappedServer:
    """A server that is wrapped: the command that starts it, or its URL.

    Attributes:
        name: What stands before the names of its tools where these clash; empty for the name that it gives itself.
        command: The program and its arguments.
        url: Where it listens, if it is not started.
        environment: Variables beside those of this process.
        headers: What requests over HTTP carry, such as a token.
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
        """Return how it is named in messages."""
        return self.name or self.url or " ".join(self.command)[:80]


@dataclass(slots=True)
class Pending:
    """A request that has no answer yet.

    Attributes:
        answer: The answer, once it is there.
        token: What progress on it is told under.
        heard: When the server last gave a sign of it, as the event loop counts.
    """

    answer: asyncio.Future[Wire]
    token: Any
    heard: float


class Upstream:
    """A connection to a server, in JSON as it stands on the wire.

    Args:
        server: The server.
        hears: Takes its requests and notifications.
    """

    def __init__(self, server: WrappedServer, hears: Callable[[Upstream, Wire], None]) -> None:
        self.server = server
        self.name = server.shown
        self.capabilities: Wire = {}
        self.asking = 0
        """How many of its own requests wait for the client, and perhaps for a person."""
        self._hears = hears
        self._ended: str | None = None
        self.pending = dict[int, Pending]()
        self._numbers = itertools.count(1)
        self._outbox = asyncio.Queue[Wire]()
        # The SDK's transports do not like to be cancelled: what is inside of them is, and they are left then.
        self._all = anyio.CancelScope(shield=True)
        self._talking = anyio.CancelScope()

    @property
    def is_there(self) -> bool:
        """Return whether it has not ended."""
        return self._ended is None

    async def run(self) -> None:
        """Connect, and stay connected until the server ends, or `close`."""
        reason = ENDED
        try:
            with self._all:
                async with _connected(self.server) as (read, write):
                    with self._talking:
                        await self._talk(read, write)
                        self._end(reason)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told and the others go on
            reason = _words(error)
        if not self._talking.cancel_called:
            self._end(reason)

    def close(self) -> None:
        """End the connection in good order, which a server has some seconds for."""
        self._talking.cancel()
        self._all.deadline = anyio.current_time() + CLOSING

    def send(self, wire: Wire) -> None:
        """Send a notification, or an answer to a request of the server's."""
        self._outbox.put_nowait(wire)

    async def request(self, method: str, params: Wire, patience: float = PATIENCE) -> Wire:
        """Return the answer: an object with a ``result`` or an ``error``.

        Raises:
            RequestError: The server has ended, ends now, or gives no sign for *patience* seconds. Progress is one, and
                so is a question of its own that the client has not answered.
        """
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
                if self.asking:
                    pending.heard = loop.time()
                left = pending.heard + patience - loop.time()
                if left <= 0:
                    raise self._silent(method, patience)
                await asyncio.wait([pending.answer], timeout=left)
            return pending.answer.result()
        finally:
            del self.pending[number]
            # Cancelled, or out of patience; initialize must not be cancelled (MCP, lifecycle).
            if not pending.answer.done() and method != "initialize":
                self.send({"method": CANCELLED, "params": {"requestId": number}})

    async def every(self, kind: str, patience: float) -> list[Wire]:
        """Return all ``tools`` or ``prompts``, from all pages.

        Raises:
            RequestError: As `request`, or the server could not list them.
        """
        listed = list[Wire]()
        params = Wire()
        for _ in range(MOST_PAGES):
            result = result_of(await self.request(f"{kind}/list", params, patience))
            listed += [one for one in result.get(kind, []) if isinstance(one.get("name"), str)]
            if result.get("nextCursor") is None:
                break
            params = {"cursor": result["nextCursor"]}
        return listed

    def take(self, wire: Wire) -> None:
        """Take what the server says: an answer, or something that is for the client."""
        if "method" in wire:
            if wire["method"] == "notifications/progress":
                self._note_progress(member(wire, "params").get("progressToken"))
            self._hears(self, wire)
            return
        pending = self.pending.get(wire.get("id", 0))
        if pending and not pending.answer.done():
            pending.answer.set_result(
                {name: wire[name] for name in ("result", "error") if name in wire}
            )

    def _note_progress(self, token: object) -> None:
        for pending in self.pending.values():
            if token is not None and pending.token == token:
                pending.heard = asyncio.get_running_loop().time()

    async def _talk(self, read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
        async with anyio.create_task_group() as tasks:
            # One writer: a server that does not read blocks nobody but itself.
            tasks.start_soon(written, self._outbox, write)
            async for message in read:
                # The SDK has logged a line that is no message.
                if not isinstance(message, Exception):
                    self.take(wire_of(message))
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

    def _silent(self, method: str, patience: float) -> RequestError:
        server = self.name
        message = prompts.WRAPPED_SILENT.format(
            server=server, method=method, seconds=f"{patience:g}"
        )
        return RequestError(INTERNAL_ERROR, message)


async def written(outbox: asyncio.Queue[Wire], write: Any) -> None:  # noqa: ANN401 - a stream of either SDK
    """Write what comes into *outbox*, until it is cancelled."""
    while True:
        await write.send(message_of(await outbox.get()))


@asynccontextmanager
async def _connected(server: WrappedServer) -> AsyncGenerator[tuple[Any, Any]]:
    """Reach a server: what it says, and where to say something to it."""
    if server.url:
        client = create_mcp_http_client(headers=dict(server.headers))
        client.timeout = _HTTP_TIMEOUT
        # A large result is what we are here for; the older SDK has no limit.
        options: dict[str, Any] = {} if IS_SDK_1 else {"max_sse_event_size": None}
        async with (
            client,
            streamable_http_client(server.url, http_client=client, **options) as streams,
        ):
            yield streams[0], streams[1]
        return
    program, *arguments = server.command
    # Without our own variables: a server of others needs no password of the database.
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


async def asked_side_by_side(
    upstreams: Iterable[Upstream], ask: Callable[[Upstream], Awaitable[T]]
) -> list[T | RequestError]:
    """Return what each server answers; for one that does not, why."""

    async def answer(upstream: Upstream) -> T | RequestError:
        try:
            return await ask(upstream)
        except RequestError as error:
            return error

    return await asyncio.gather(*map(answer, upstreams))


def result_of(answer: Wire | RequestError) -> Wire:
    """Return the result in an answer.

    Raises:
        RequestError: It is an error.
    """
    if isinstance(answer, RequestError):
        raise answer
    if "error" in answer:
        raise RequestError(answer["error"]["code"], answer["error"]["message"])
    return dict(answer["result"])


def _words(error: Exception) -> str:
    """Return what went wrong, of a group the first."""
    if isinstance(error, ExceptionGroup):
        return _words(cast("ExceptionGroup[Exception]", error).exceptions[0])
    # A broken stream says nothing.
    return str(error) or ENDED
