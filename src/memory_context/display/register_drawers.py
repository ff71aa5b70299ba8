"""Register how values are drawn in a notebook, as text and as HTML, when this module is imported.

Both are bounded in size, and stored text can control neither a terminal nor a page: the HTML holds no script, no link
and no address, and loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.recording_to_call_log import Decisions
from memory_context.display import decision_stats_and_package_tables as tables
from memory_context.display import drawn_conversation, drawn_memories
from memory_context.display.escaped_html import Html, as_text, page
from memory_context.memory.package_text_and_what_was_used import ContextPackage
from memory_context.model import registry_of_drawers
from memory_context.model.call_log_records import KeptCalls, KeptTotals
from memory_context.model.item import MemoryItem, MemoryList
from memory_context.model.query_result import QueryResult
from memory_context.model.transcript import Transcript

T = TypeVar("T")


def _register(shown: type[T], draw: Callable[[T], Html]) -> None:
    registry_of_drawers.register(
        shown,
        text=lambda value: as_text(draw(value)),
        html=lambda value: page(draw(value)),
    )


_register(MemoryItem, drawn_memories.memory)
_register(MemoryList, drawn_memories.memories)
_register(QueryResult, tables.answer)
_register(Transcript, drawn_conversation.conversation)
_register(ContextPackage, tables.package)
_register(ContextStats, tables.stats)
_register(Decisions, tables.decisions)
_register(KeptCalls, tables.calls)
_register(KeptTotals, tables.call_totals)
