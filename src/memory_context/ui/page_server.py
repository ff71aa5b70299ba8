"""The web server of the pages, for this machine only. A request without the token in its address gets nothing."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from memory_context.display.escaped_html import Html, tag
from memory_context.display.html_page import CONTENT_POLICY
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryContextError,
    MemoryNotFoundError,
    RecordChangedError,
    StoreUnavailableError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.runtime.serve_until_signal import serve_web
from memory_context.stores import MemoryStore
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
from memory_context.ui.first_page_conversations_and_calls import one_call, overview, timeline
from memory_context.ui.health_and_audit_pages import audit, health
from memory_context.ui.layout_and_navigation import message, page
from memory_context.ui.links_forms_and_tables import Visit
from memory_context.ui.memories_notes_and_sql import (
    confirm,
    edit,
    expire,
    forget,
    found,
    notes,
    one_memory,
    query,
)

LOOPBACK = "127.0.0.1"
LARGEST_FORM = 20_000_000
VIEWS: Mapping[str, Callable[[Visit], Html]] = {
    "": overview,
    "thread": timeline,
    "call": one_call,
    "memories": found,
    "memory": one_memory,
    "notes": notes,
    "query": query,
    "health": health,
    "audit": audit,
}
CHANGES: Mapping[str, Callable[[Visit], str]] = {
    "confirm": confirm,
    "edit": edit,
    "expire": expire,
    "forget": forget,
}
STATUS: Mapping[type[MemoryContextError], int] = {
    MemoryNotFoundError: 404,
    RecordChangedError: 409,
    StoreUnavailableError: 503,
}
HEADERS = {
    # A page states its policy in its head too, but framing can only be forbidden here.
    "Content-Security-Policy": f"{CONTENT_POLICY}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    # No other site may learn the address, which contains the token.
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

NOTHING_YET = (
    "Nothing is stored in this database yet. Run an agent on it, then load this page again."
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What the pages show.

    Attributes:
        store: The memories of all users.
        user: The user whose memories are shown first; None for the one who has most.
        url: The store's URL, for the health page.
        agent: The agent that the audit trail names for changes made here; None for no trail.
    """

    store: MemoryStore
    user: str | None = None
    url: str | None = None
    agent: str | None = None


def application(looked: Looked, token: str) -> Starlette:
    """Return the pages of a store as an ASGI application, under ``/TOKEN/``.

    Raises:
        InvalidArgumentError: The token is so short that it could be guessed.
    """
    if len(token) < 16:
        raise InvalidArgumentError(
            "the token needs 16 or more characters: use secrets.token_urlsafe()"
        )

    async def endpoint(request: Request) -> Response:
        """Answer a request that gives the right token."""
        if not hmac.compare_digest(request.path_params["token"].encode(), token.encode()):
            return PlainTextResponse("there is nothing here\n", 404)
        body = b""
        if request.method == "POST":
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_FORM:
                    return PlainTextResponse("that is too much\n", 413)
        return await run_in_threadpool(_answer, looked, request, body)

    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
    routes = [
        Route("/{token}/", endpoint, methods=["GET"]),
        Route("/{token}/{page}", endpoint, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes, middleware=[hosts])


def _answer(looked: Looked, request: Request, body: bytes) -> Response:
    """Return a page, or after a change a redirect to one."""
    name: str = request.path_params.get("page", "")
    is_change = request.method == "POST"
    pages: Collection[str] = VIEWS
    asked = dict(request.query_params)
    if is_change:
        pages = CHANGES
        asked = dict(parse_qsl(body.decode("utf-8", "replace")))
    if name not in pages:
        return HTMLResponse(message("There is no such page."), 404, HEADERS)
    base = f"/{request.path_params['token']}"
    visit = None
    try:
        visit = _visit(looked, base, name, asked)
        if not visit:
            return HTMLResponse(message(NOTHING_YET), headers=HEADERS)
        if is_change:
            return RedirectResponse(CHANGES[name](visit), 303, HEADERS)
        return HTMLResponse(page(visit, VIEWS[name](visit)), headers=HEADERS)
    except MemoryContextError as error:
        shown = message(str(error))
        if visit:
            shown = page(visit, tag("p", str(error), cls="error"), "Error")
        found = (status for kind, status in STATUS.items() if isinstance(error, kind))
        return HTMLResponse(shown, next(found, 400), HEADERS)


def _visit(looked: Looked, base: str, name: str, asked: Mapping[str, str]) -> Visit | None:
    """Return the visit that a request makes; None while the database is empty.

    Raises:
        MemoryNotFoundError: The user has stored nothing.
    """
    users = tuple(Catalog(looked.store).users())
    if not users:
        return None
    user = asked.get("user") or looked.user or users[0]
    if user not in users:
        raise MemoryNotFoundError(f"{user!r:.80} has stored nothing")
    memory = MemoryManager(
        looked.store, user_id=user, agent_id=looked.agent, audit=looked.agent is not None
    )
    return Visit(memory, users, base, name, asked, looked.url)


def serve_ui(looked: Looked, port: int) -> None:
    """Print the address of the pages, and serve them on this machine until a signal ends the process.

    Args:
        looked: What the pages show.
        port: The port to listen on; 0 for any free one.

    Raises:
        InvalidArgumentError: The port is taken.
    """
    token = secrets.token_urlsafe()
    try:
        listener = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot listen on port {port}: {error}; --port 0 takes a free one"
        ) from error
    with listener:
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}/{token}/"
        serve_web(application(looked, token), listener, url)
