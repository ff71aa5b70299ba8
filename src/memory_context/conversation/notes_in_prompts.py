"""Put an agent's notes into the prompts of its run: all of them at first, then only what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

from memory_context import sentences_models_read as prompts
from memory_context.conversation.message import Message, MessageFacts, own_message
from memory_context.memory.notes_in_open_tiers import NEWEST_FIRST
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.origin import CONFIRMED
from memory_context.model.reference import MemoryRef
from memory_context.model.scope import Place
from memory_context.stores import Filters
from memory_context.text.frames_around_stored_text import quoted


class AgentRun(NamedTuple):
    """The run of an agent that keeps notes.

    Attributes:
        run_id: The id of the run; None outside of a run.
        task: The task that it works on.
        project: The project that the run belongs to.
    """

    run_id: str | None = None
    task: str | None = None
    project: str | None = None

    @classmethod
    def of(cls, saved: Mapping[str, str | None] | None) -> Self:
        """Return the run whose `_asdict` is *saved*; for None, one without ids."""
        return cls(**(saved or {}))


def unseen_notes(
    notes: ScopedMemory, seen: Mapping[str, str], *, require_confirmed: bool = False
) -> Message | None:
    """Return a message with the notes that have changed, in the tiers that every prompt includes; None if none have.

    Args:
        notes: The agent's notes.
        seen: When each note that the prompt shows was last changed, by its key.
        require_confirmed: Whether notes that come from neither a person nor a program are left out (`NotesPolicy`).

    Raises:
        StoreError: The store failed.
    """
    tiers = shown_tiers(notes)
    if not tiers:
        return None
    store = notes.manager.memory_store
    scope = notes.manager.scope
    wanted: Filters = {"tier": tiers}
    if require_confirmed:
        wanted = {**wanted, "origin": CONFIRMED}
    items = store.query(scope, wanted, limit=None, order_by=NEWEST_FIRST)
    changed_at = dict[str, str]()
    fresh = list[str]()
    lines = [prompts.RUN_NOTES_HEADER]
    for item in reversed(items):
        key = item.memory_key
        changed_at[key] = item.updated_at.isoformat()
        if seen.get(key) != changed_at[key]:
            fresh.append(key)
            lines.append(note_line(item))
    gone = [key for key in seen if key not in changed_at]
    if not fresh and not gone:
        return None
    if gone:
        lines.append(prompts.RUN_NOTES_GONE.format(keys=", ".join(gone)))
    lines.append(prompts.RUN_NOTES_FOOTER)
    notes.manager.audit("recalled", *fresh)
    facts = MessageFacts(
        kind="notes",
        lines=dict.fromkeys(fresh, ()),
        trusted=tuple(fresh),
        noted=changed_at,
        run_id=notes.run_id,
    )
    return own_message("", "\n".join(lines), facts)


def note_line(item: MemoryItem) -> str:
    """Return a note as a model reads it: its key, its facts, and its text unless it is a secret."""
    facts = [item.tier, *item.tags, f"priority {item.priority}"]
    if item.category:
        facts.insert(1, item.category)
    if item.origin not in CONFIRMED:
        facts.append(item.origin)
    text = prompts.HIDDEN if is_secret(item) else quoted(item.text)
    ref = MemoryRef(item.memory_key)
    listed = ", ".join(facts)
    return prompts.NOTE.format(ref=ref, facts=f"({listed})", text=text)


def shown_tiers(notes: ScopedMemory) -> list[str]:
    """Return the open tiers that every prompt includes."""
    return [name for name in notes.open_tiers if notes.policies[name].auto_include]


def offered_places(notes: ScopedMemory) -> frozenset[Place]:
    """Return the places to recall from: the open tiers whose notes are not in the prompt anyway."""
    shown = shown_tiers(notes)
    return frozenset((tier, tier_id) for tier, tier_id in notes.places if tier not in shown)
