"""A page in the browser, on this machine only: conversations call by call, memories, notes, and the store's health.

Pages are written here, on the server: they load nothing and run nothing. Whoever opens one has its address, in which a
token stands.
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
