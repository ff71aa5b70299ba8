"""What a notebook is given for a value: text and HTML."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from memory_context.conversation.fold import ContextStats
from memory_context.conversation.judge import Decisions
from memory_context.display import memory_tables, reports, transcripts
from memory_context.display.html import Html, page, visible
from memory_context.memory.context_package import ContextPackage
from memory_context.model.item import MemoryItem, MemoryList
from memory_context.model.transcript import ConversationView

Drawn = tuple[Callable[[Any], str], Callable[[Any], Html]]
_DRAWN: Final[dict[type, Drawn]] = {
    MemoryItem: (memory_tables.memory_text, memory_tables.memory),
    MemoryList: (memory_tables.memories_text, memory_tables.memories),
    ConversationView: (transcripts.conversation_text, transcripts.conversation),
    ContextPackage: (reports.package_text, reports.package),
    ContextStats: (reports.stats_text, reports.stats),
    Decisions: (reports.decisions_text, reports.decisions),
}


def mimebundle(
    value: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """`value` by media type, ``text/plain`` and ``text/html``; those of `include` without those of `exclude`.

    Both are bounded, whatever `value` holds. What is stored in it is shown and obeyed neither by a page nor by a
    terminal: the HTML holds no script, no link and no address, and nothing is loaded by it.

    Raises:
        KeyError: Nothing is known of how such a value looks.
    """
    as_text, as_html = next(drawn for kind, drawn in _DRAWN.items() if isinstance(value, kind))
    draw: dict[str, Callable[[], str]] = {
        "text/plain": lambda: visible(as_text(value)),
        "text/html": lambda: page(as_html(value)),
    }
    wanted = [
        kind for kind in draw if (not include or kind in include) and kind not in (exclude or ())
    ]
    return {kind: draw[kind]() for kind in wanted}
