"""Pages for a browser on this machine: conversations call by call, memories, notes, SQL, and the store's health.

The server writes complete pages, which load and run nothing. To open one, a browser needs its address, which contains a
secret token.
"""

from memory_context.runtime.missing_packages import needing

with needing(
    "starlette",
    "uvicorn",
    otherwise="the page needs the packages starlette and uvicorn: pip install 'memory-context[ui]'",
):
    from memory_context.ui.page_server import Looked, application, serve_ui

__all__ = ["Looked", "application", "serve_ui"]
