"""Messages, memories and figures for people: in a terminal, a pipe, or a notebook. Stored text is data: it is shown
and obeyed by none of them.
"""

from memory_context.display._bundle import mimebundle
from memory_context.display._terminal import (
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
    "mimebundle",
    "more",
    "numbered",
    "plain",
    "quoted",
    "reference",
    "table",
]
