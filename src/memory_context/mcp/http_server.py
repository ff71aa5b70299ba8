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
SECONDS_TO_END = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """What clients connect to."""
        return f"http://{self.host}:{self.port}{PATH}"


@contextmanager
def listening(host: str, port: int) -> Generator[Place]:
    """A socket of this machine that others cannot reach.

    Raises:
        InvalidArgumentError: Others could; or the port is taken.
    """
    address = _loopback(host)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        bound = socket.create_server((str(address), port), family=family)
    except (OSError, OverflowError) as error:
        message = (
            f"cannot listen on port {port} of {address}: {error}; --http 0 takes one that is free"
        )
        raise InvalidArgumentError(message) from error
    with bound:
        shown = str(address) if address.version == 4 else f"[{address}]"
        yield Place(bound, shown, bound.getsockname()[1])


def _loopback(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(LOOPBACK if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        message = (
            f"{host!r} is no address of this machine alone, such as {LOOPBACK} or ::1; the server asks nobody who they "
            "are: let an SSH tunnel, or a proxy that does, lead others to it"
        )
        raise InvalidArgumentError(message)
    return address


def serve_http(server: Server[Any], place: Place) -> None:
    """Serve until a signal comes."""
    config = uvicorn.Config(
        _app(server, place),
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    sys.stdout.write(f"{place.url}\n")
    sys.stdout.flush()
    with ending(
        lambda: None
    ):  # uvicorn ends by its own handlers, and then calls those that were there before
        uvicorn.Server(config).run(sockets=[place.socket])


def _app(server: Server[Any], place: Place) -> Starlette:
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=_only_from_here(place)
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Route(PATH, _Endpoint(sessions))], lifespan=lifespan)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An ASGI application, which a function would not be to Starlette."""

    sessions: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.sessions.handle_request(scope, receive, send)


def _only_from_here(place: Place) -> TransportSecuritySettings:
    """Against DNS rebinding: a page of a foreign site, opened here, comes with another host or origin."""
    hosts = [f"{host}:{place.port}" for host in {place.host, LOOPBACK, "localhost"}]
    return TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
    )
