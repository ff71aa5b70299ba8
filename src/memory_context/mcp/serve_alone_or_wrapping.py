"""Run an MCP server as a process, on standard input and output or over HTTP; alone, or around other servers."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.http_server import LOOPBACK, listening, serve_http, token_of
from memory_context.mcp.memory_of_a_wrapped_session import WrappedMemory
from memory_context.mcp.server_on_either_sdk import NAME, mcp_server
from memory_context.mcp.stdio_server import serve_stdio, serve_streams
from memory_context.mcp.upstream_connections import WrappedServer
from memory_context.mcp.wrapping_proxy import Wrapper, WrapSettings
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory


def serve(  # noqa: PLR0913 - each is a setting of its own, with a default
    store: str,
    user: str,
    session: str = "mcp",
    project: str = "default",
    *,
    audit: bool = False,
    http: int | None = None,
    host: str | None = None,
    max_tokens: int | None = None,
    page_tokens: int | None = None,
) -> None:
    """Serve one user's memories until the client disconnects, or the process gets SIGINT or SIGTERM.

    Without HTTP, standard output carries nothing but the protocol; over HTTP it gets one line, the URL. Messages for
    people go to standard error. Over HTTP, requests must carry the bearer token in the environment variable
    ``MEMORY_CONTEXT_MCP_TOKEN``; if it is not set, the server listens on this machine only, to every client there.

    Args:
        store: The URL of the database.
        user: The user whose memories these are.
        session: The conversation that notes of the tier ``session`` belong to.
        project: The project that notes of the tier ``project`` belong to.
        audit: Whether the store's audit trail records the clients' actions, under the agent ``mcp``.
        http: The port for streamable HTTP, 0 for any free one; without it, standard input and output are used.
        host: The address to listen on; 127.0.0.1 by default.
        max_tokens: The most tokens of a tool's answer; 500 by default.
        page_tokens: The most tokens of a page of `retrieve_memory`; by default `max_tokens`, or 4,000 if that is not
            given either. An answer of `query_memory` that fits a page is whole; a larger one is begun.

    Raises:
        InvalidArgumentError: The address is not a loopback one and there is no token, the token is too short, the port
            is taken, or there is an address but no port.
        StoreError: The database cannot be reached, or has another schema.
    """
    if http is None and host is not None:
        raise InvalidArgumentError("--host needs a port: --http PORT --host ADDRESS")
    with ExitStack() as stack:
        agent = "mcp" if audit else None
        manager = stack.enter_context(
            MemoryManager(store, user_id=user, agent_id=agent, audit=audit)
        )
        notes = ScopedMemory(manager, session_id=session, project_id=project)
        manager.memory_store.count(manager.scope)  # reports an unreachable database at once
        listener = None
        token = token_of(os.environ)
        if http is not None:
            listener = stack.enter_context(listening(host or LOOPBACK, http, token))
        logging.basicConfig(stream=sys.stderr, format=f"{NAME} mcp: %(levelname)s: %(message)s")
        sys.stderr.write(f"{NAME} mcp: the memories of {user!r} in {manager.memory_store!r}\n")
        server = mcp_server(notes, max_tokens=max_tokens, page_tokens=page_tokens)
        if listener is None:
            serve_stdio(server)
        else:
            serve_http(server, listener, token)


def serve_wrapped(
    servers: Sequence[WrappedServer],
    store: str,
    user: str,
    threshold: int,
    settings: WrapSettings,
) -> None:
    """Serve one client on standard input and output with the tools of other servers, whose large results are folded.

    Args:
        servers: The servers.
        store: The URL of the database.
        user: The user whose memories keep their results.
        threshold: Results with more tokens are folded.
        settings: How the servers are wrapped.

    Raises:
        InvalidThresholdError: A threshold below 50.
        StoreError: The database cannot be reached, or has another schema.
    """
    fold = FoldPolicy(threshold=threshold, queries=True)
    thread = f"wrap_{uuid4().hex}"
    with MemoryManager(store, user_id=user, thread_id=thread) as manager:
        manager.memory_store.count(manager.scope)
        handler = logging.StreamHandler(sys.stderr)
        # This logger writes a traceback for each line of a server that is not a message; the wrapper reports it in one line.
        handler.addFilter(lambda record: record.name != "mcp.client.stdio")
        line_format = f"{NAME} wrap: %(levelname)s: %(message)s"
        logging.basicConfig(handlers=[handler], format=line_format)
        sys.stderr.write(
            f"{NAME} wrap: results go to the memories of {user!r} in {manager.memory_store!r}\n"
        )
        memory = WrappedMemory(manager, ConversationSettings(fold, recall=None), PassingPolicy())

        async def serve(read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
            await Wrapper(servers, memory, settings).run(read, write)

        serve_streams(serve)
