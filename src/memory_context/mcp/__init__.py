"""An MCP server for one user's memories: the same tools as in the agent frameworks, and memories as resources."""

from memory_context.exceptions import MissingDependencyError

try:
    from memory_context.mcp.sdk import mcp_server
    from memory_context.mcp.server import Served, Wrapping, serve, serve_wrapped
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mcp":
        raise
    raise MissingDependencyError(
        "the MCP server needs the package mcp: pip install 'memory-context[mcp]'"
    ) from error

__all__ = ["Served", "Wrapping", "mcp_server", "serve", "serve_wrapped"]
