"""The user's layer: what an agent should know of its user when a conversation begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autogen_core.models import LLMMessage, UserMessage

from memory_context import _prompts
from memory_context._items import SECRET, MemoryItem, is_secret
from memory_context._refs import one_line
from memory_context.autogen._messages import MEMORY_SOURCE
from memory_context.manager import MemoryManager

PREFERENCE = "user_preference"
ALWAYS = "always"
OUTPUTS = ("tool_output", "command_output")
COUNTED = ("note", "decision", "convention", "file_content", "tool_output", "command_output", "conversation", SECRET)
LOOKED_AT = 50
LISTED = 5
SHORT = 200


def is_layer(message: LLMMessage) -> bool:
    """Whether `message` is a user's layer."""
    return (
        isinstance(message, UserMessage)
        and message.source == MEMORY_SOURCE
        and str(message.content).startswith(_prompts.LAYER_HEADER)
    )


def user_layer(manager: MemoryManager, budget: int, *, returning: bool) -> str | None:
    """Preferences, notes tagged ``always``, recent threads and commands, and what exists; at most `budget` tokens.

    None for a user of whom there is nothing to say. Where the thread is not a named one of a `returning` user, that is
    anybody without preferences and such notes: an anonymous conversation is not told what was done in others.

    Raises:
        StoreError: The store failed.
    """
    always = [_line(item) for item in _always(manager) if not is_secret(item)]
    recent = list(_recent(manager)) if always or returning else []
    if budget <= 0 or not (always or recent):
        return None
    shown, counter = [_prompts.LAYER_HEADER], manager.counter
    for line in (*always, *recent, *_existing(manager), _prompts.LAYER_FOOTER):
        if not counter.exceeds("\n".join((*shown, line)), budget):
            shown.append(line)
    return "\n".join(shown) if len(shown) > 1 else None


def _always(manager: MemoryManager) -> Iterable[MemoryItem]:
    store, scope = manager.memory_store, manager.offered
    preferences = store.query(scope, {"memory_type": PREFERENCE}, limit=LOOKED_AT, order_by="-importance")
    notes = store.query(scope, {"tags": ALWAYS}, limit=LOOKED_AT, order_by="-importance")
    return {item.id: item for item in (*preferences, *notes)}.values()


def _line(item: MemoryItem) -> str:
    """A short text whole, beside its description; a longer one as its reference."""
    if isinstance(item.content, str) and len(item.content) <= SHORT:
        return f"- {one_line(item.summary)}: {' '.join(item.content.split())}"
    return f"- {item.ref}"


def _recent(manager: MemoryManager) -> Iterator[str]:
    """The threads before this one, newest first, and what was run there."""
    newest = manager.memory_store.query(manager.offered, limit=LOOKED_AT)
    others = [item for item in newest if item.thread_id and item.thread_id != manager.thread_id]
    threads = {item.thread_id: item for item in reversed(others)}
    for thread, item in list(reversed(threads.items()))[:LISTED]:
        yield f"- thread {thread}, {item.created_at:%Y-%m-%d %H:%M} UTC: {one_line(item.summary)}"
    yield from (f"- {item.ref}" for item in [item for item in others if item.memory_type in OUTPUTS][:LISTED])


def _existing(manager: MemoryManager) -> Iterator[str]:
    counts = {kind: manager.memory_store.count(manager.offered, {"memory_type": kind}) for kind in COUNTED}
    found = ", ".join(f"{count} of type {kind}" for kind, count in counts.items() if count)
    if found:
        yield f"- in memory: {found}"
