"""Serve an ASGI application on a socket until a signal ends it."""

from __future__ import annotations

import socket
import sys

import uvicorn
from starlette.types import ASGIApp

from memory_context.runtime.on_first_signal import ending

# A client may keep its connection open for ever, and `docker stop` kills after ten seconds.
SECONDS_TO_END = 3


def serve_web(application: ASGIApp, listener: socket.socket, url: str) -> None:
    """Print *url* on standard output, and serve until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        application,
        # The library's own logging stays as it is set up.
        log_config=None,
        # A URL may contain a token.
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    sys.stdout.write(f"{url}\n")
    # The parent process reads the URL from a pipe, which is buffered.
    sys.stdout.flush()
    # uvicorn ends by its own handlers, and then calls those that were there before.
    with ending(lambda: None):
        uvicorn.Server(config).run(sockets=[listener])
