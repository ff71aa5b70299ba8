"""An MCP server for one user's memories: the same tools as in the agent frameworks, and memories as resources."""

from memory_context.runtime.missing_packages import needing

with needing(
    "mcp", otherwise="the MCP server needs the package mcp: pip install 'memory-context[mcp]'"
):
    from memory_context.mcp.serve_alone_or_wrapping import serve, serve_wrapped
    from memory_context.mcp.server_on_either_sdk import mcp_server

__all__ = ["mcp_server", "serve", "serve_wrapped"]
