"""For people: texts, tables and facts in a terminal or a pipe; `notebook` has what a notebook shows.

Stored text is data: it is shown, and steers neither a terminal nor a page.
"""

from __future__ import annotations

from memory_context.display.terminal import (
    command,
    entry,
    facts,
    harmless,
    make_console,
    plain,
    quoted,
    table,
)

__all__ = [
    "command",
    "entry",
    "facts",
    "harmless",
    "make_console",
    "plain",
    "quoted",
    "table",
]
