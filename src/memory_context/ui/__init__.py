"""Pages for a browser on this machine: conversations call by call, memories, notes, SQL, and the store's health.

The server writes complete pages, which load and run nothing. To open one, a browser needs its address, which contains a
secret token.
"""

from memory_context.exceptions import MissingDependencyError

try:
    from memory_context.ui.page_server import Looked, application, serve_ui
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] not in {"starlette", "uvicorn"}:
        raise
    raise MissingDependencyError(
        "the page needs the packages starlette and uvicorn: pip install 'memory-context[ui]'"
    ) from _error

__all__ = ["Looked", "application", "serve_ui"]
