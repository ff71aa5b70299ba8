"""Defaults that the command line's help shows, too: importing the modules they belong to would make the help slow."""

SAME_NOTE = 0.6
"""The least similarity, 0 to 1, of two notes that say the same."""
PATIENCE: float = 300
"""How many seconds a wrapped MCP server may give no sign of life while it has a request to answer."""
START_PATIENCE: float = 60
"""How many seconds a wrapped MCP server may take to start."""
