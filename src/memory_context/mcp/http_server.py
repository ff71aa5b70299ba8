"""The protocol over streamable HTTP, on this machine only."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.signals import ending

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
# A client may keep its connection open for ever, and `docker stop` kills after ten seconds.
SECONDS_TO_END = 3


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """A socket that the server listens on, and the host and port that clients name."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """Return the URL that clients connect to."""
        return f"http://{self.host}:{self.port}{PATH}"


@contextmanager
def listening(host: str, port: int) -> Generator[ListeningSocket]:
    """Listen at an address of this machine that others cannot reach.

    Raises:
        InvalidArgumentError: Other machines could reach it, or the port is taken.
    """
    address = _loopback(host)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        bound = socket.create_server((str(address), port), family=family)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on port {port} of {address}: {error}; --http 0 takes a free one"
        raise InvalidArgumentError(message) from error
    with bound:
        shown = str(address) if address.version == 4 else f"[{address}]"
        yield ListeningSocket(bound, shown, bound.getsockname()[1])


def _loopback(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(LOOPBACK if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        message = (
            f"{host!r} is not a loopback address such as {LOOPBACK} or ::1; the server does not authenticate anybody: "
            "use an SSH tunnel, or a proxy that does, to let others reach it"
        )
        raise InvalidArgumentError(message)
    return address


def serve_http(server: Server[Any], listener: ListeningSocket) -> None:
    """Serve until a signal comes."""
    config = uvicorn.Config(
        _app(server, listener),
        # Logging is set up by `serve`: to standard error, and at WARNING.
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    sys.stdout.write(f"{listener.url}\n")
    # The parent process reads the URL from a pipe, which is buffered.
    sys.stdout.flush()
    # uvicorn ends by its own handlers, and then calls those that were there before.
    with ending(lambda: None):
        uvicorn.Server(config).run(sockets=[listener.socket])


def _app(server: Server[Any], listener: ListeningSocket) -> Starlette:
    # Stateless: every request stands by itself, so a restarted server needs no new session from its
    # clients.
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=_only_from_here(listener)
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Route(PATH, _Endpoint(sessions))], lifespan=lifespan)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An ASGI application; Starlette would take a function for a handler of requests."""

    sessions: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.sessions.handle_request(scope, receive, send)


def _only_from_here(listener: ListeningSocket) -> TransportSecuritySettings:
    """Allow this host only: in DNS rebinding, a page of a foreign site comes with another host or origin."""
    # Clients name this machine in any of these ways.
    hosts = [f"{host}:{listener.port}" for host in {listener.host, LOOPBACK, "localhost"}]
    return TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
    )
