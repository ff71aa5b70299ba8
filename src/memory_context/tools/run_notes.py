"""What of a run's notes stands in its prompts: all of it, and what changes is appended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory_context.memory.scoped_memory import NEWEST_FIRST, ScopedMemory
from memory_context.model.scope import Place
from memory_context.runtime import prompts
from memory_context.tools.note_tools import note_line


@dataclass(frozen=True, slots=True)
class Noted:
    """Notes that are to be shown.

    Attributes:
        text: The text of the message that shows them.
        seen: For each note that stands in the prompt then, when it was last changed.
        keys: The notes that `text` shows.
        tokens: The tokens of `text`.
    """

    text: str
    seen: Mapping[str, str]
    keys: tuple[str, ...]
    tokens: int


def unseen_notes(notes: ScopedMemory, seen: Mapping[str, str]) -> Noted | None:
    """What has changed in the tiers that every prompt includes since `seen`; None for nothing.

    Raises:
        StoreError: The store failed.
    """
    tiers = shown_tiers(notes)
    if not tiers:
        return None
    store, scope = notes.manager.memory_store, notes.manager.scope
    items = store.query(scope, {"tier": tiers}, limit=None, order_by=NEWEST_FIRST)[::-1]
    now_there = {item.memory_key: item.updated_at.isoformat() for item in items}
    fresh = [item for item in items if seen.get(item.memory_key) != now_there[item.memory_key]]
    gone = [key for key in seen if key not in now_there]
    if not fresh and not gone:
        return None
    deleted = [prompts.RUN_NOTES_GONE.format(keys=", ".join(gone))] if gone else []
    lines = (prompts.RUN_NOTES_HEADER, *map(note_line, fresh), *deleted, prompts.RUN_NOTES_FOOTER)
    text = "\n".join(lines)
    notes.manager.audit("recalled", *(item.memory_key for item in fresh))
    return Noted(
        text, now_there, tuple(item.memory_key for item in fresh), notes.counter.count(text)
    )


def shown_tiers(notes: ScopedMemory) -> list[str]:
    """The open tiers that every prompt includes."""
    return [name for name in notes.open_tiers if notes.policies[name].auto_include]


def offered_places(notes: ScopedMemory) -> frozenset[Place]:
    """What may be brought back without being asked for: what does not stand in the prompt anyway."""
    shown = shown_tiers(notes)
    return frozenset(place for place in notes.places if place[0] not in shown)
