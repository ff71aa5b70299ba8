"""For people: messages and references in a terminal or a pipe; `_bundle` has what a notebook shows.

Stored text is data: it is shown, and steers neither a terminal nor a page.
"""

from __future__ import annotations

from memory_context.display.terminal import (
    LABEL_WIDTH,
    NUMBER_WIDTH,
    command,
    entry,
    facts,
    harmless,
    make_console,
    more,
    numbered,
    plain,
    quoted,
    reference,
    table,
)

__all__ = [
    "LABEL_WIDTH",
    "NUMBER_WIDTH",
    "command",
    "entry",
    "facts",
    "harmless",
    "make_console",
    "more",
    "numbered",
    "plain",
    "quoted",
    "reference",
    "table",
]
