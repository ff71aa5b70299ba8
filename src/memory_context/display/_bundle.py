"""What a notebook is given for a value: text and HTML."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from memory_context._items import MemoryItem, MemoryList
from memory_context._packages import ContextPackage
from memory_context._views import ConversationView
from memory_context.display import _conversations, _figures, _memories
from memory_context.display._html import Html, page, visible
from memory_context.folding import ContextStats
from memory_context.judges import Decisions

Drawn = tuple[Callable[[Any], str], Callable[[Any], Html]]
_DRAWN: Final[dict[type, Drawn]] = {
    MemoryItem: (_memories.memory_text, _memories.memory),
    MemoryList: (_memories.memories_text, _memories.memories),
    ConversationView: (_conversations.conversation_text, _conversations.conversation),
    ContextPackage: (_figures.package_text, _figures.package),
    ContextStats: (_figures.stats_text, _figures.stats),
    Decisions: (_figures.decisions_text, _figures.decisions),
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
    wanted = [kind for kind in draw if (not include or kind in include) and kind not in (exclude or ())]
    return {kind: draw[kind]() for kind in wanted}
