"""Serve MCP over streamable HTTP: to clients on this machine only, or to those that have the token."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.serve_until_signal import serve_web

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
TOKEN_VARIABLE = "MEMORY_CONTEXT_MCP_TOKEN"  # noqa: S105 - the name of the variable
MIN_TOKEN_LENGTH = 16
# The characters that RFC 6750 allows in a bearer token.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


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


def token_of(environment: Mapping[str, str]) -> str | None:
    """Return the token that requests must carry; None if every client on this machine is served.

    Raises:
        InvalidArgumentError: The token is so short that it could be guessed, or has characters that a header cannot
            carry.
    """
    token = environment.get(TOKEN_VARIABLE)
    if not token:
        return None
    if len(token) < MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(token):
        raise InvalidArgumentError(
            f"{TOKEN_VARIABLE} needs {MIN_TOKEN_LENGTH} or more characters, each a letter, a digit or one of -._~+/=; "
            "`openssl rand -hex 32` makes one"
        )
    return token


@contextmanager
def listening(host: str, port: int, token: str | None = None) -> Generator[ListeningSocket]:
    """Listen on an address of this machine. Without a token, it must be one that other machines cannot reach.

    Raises:
        InvalidArgumentError: *host* is not an address, other machines could reach it without a token, or the port is
            taken.
    """
    try:
        address = ipaddress.ip_address(LOOPBACK if host == "localhost" else host)
    except ValueError:
        raise InvalidArgumentError(
            f"{host!r:.80} is not an address of this machine, such as {LOOPBACK} or ::1"
        ) from None
    if not (address.is_loopback or token):
        raise InvalidArgumentError(
            f"{host!r} is not a loopback address such as {LOOPBACK} or ::1, and the server would authenticate nobody: "
            f"put a token into {TOKEN_VARIABLE}, or use an SSH tunnel"
        )
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        bound = socket.create_server((str(address), port), family=family)
    except (OSError, OverflowError) as error:
        raise InvalidArgumentError(
            f"cannot listen on port {port} of {address}: {error}; --http 0 takes a free one"
        ) from error
    with bound:
        shown = str(address) if address.version == 4 else f"[{address}]"
        yield ListeningSocket(bound, shown, bound.getsockname()[1])


def serve_http(server: Server[Any], listener: ListeningSocket, token: str | None = None) -> None:
    """Serve until a signal arrives; with a token, only requests that carry it."""
    # Without a token, a request must name this machine, by any of these names, because one made by DNS rebinding names
    # another host or origin. With a token that is no danger: a web page of another site does not have the token.
    hosts = [f"{host}:{listener.port}" for host in {listener.host, LOOPBACK, "localhost"}]
    allowed = TransportSecuritySettings(
        enable_dns_rebinding_protection=not token,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    # Stateless, so that clients need not open a new session after the server was restarted.
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=allowed
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with sessions.run():
            yield

    app = Starlette(routes=[Route(PATH, _Endpoint(sessions, token))], lifespan=lifespan)
    serve_web(app, listener.socket, listener.url)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An ASGI application that checks the token; a class, because Starlette treats a function as a request handler."""

    sessions: StreamableHTTPSessionManager
    token: str | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "")
        scheme, _, sent = given.partition(" ")
        # In constant time, so that the time does not reveal how much of a token was right.
        is_right = hmac.compare_digest(sent.strip().encode(), (self.token or "").encode())
        if self.token and not (is_right and scheme.lower() == "bearer"):
            refused = PlainTextResponse(
                "a bearer token is needed\n", 401, {"WWW-Authenticate": "Bearer"}
            )
            await refused(scope, receive, send)
            return
        await self.sessions.handle_request(scope, receive, send)
