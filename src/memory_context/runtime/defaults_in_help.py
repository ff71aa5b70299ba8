"""Defaults that the command line's help shows, too: importing the modules they belong to would make the help slow."""

PATIENCE: float = 300
"""How many seconds a wrapped MCP server may give no sign of life while it has a request to answer."""
START_PATIENCE: float = 60
"""How many seconds a wrapped MCP server may take to start."""
