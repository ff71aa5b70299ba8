"""The user's layer: what an agent should know of its user when a conversation begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memory_context.memory.assembler import NEWEST, ContextAssembler, ContextPackage
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import SECRET
from memory_context.model.reference import leading_key, one_line
from memory_context.runtime import prompts

OUTPUTS = ("tool_output", "command_output")
COUNTED = (
    "note",
    "decision",
    "convention",
    "file_content",
    "tool_output",
    "command_output",
    "conversation",
    SECRET,
)
LOOKED_AT = 50
LISTED = 5
SHORT = 60


@dataclass(frozen=True, slots=True)
class Layer:
    """A user's layer.

    Attributes:
        text: What a model reads.
        package: The memories in it.
        keys: Those that stand there with their references.
    """

    text: str
    package: ContextPackage
    keys: tuple[str, ...] = ()


def begins_layer(text: str) -> bool:
    """Whether `text` begins as a user's layer does."""
    return text.startswith((prompts.LAYER_HEADER, prompts.ASSEMBLED_HEADER))


def user_layer(
    assembler: ContextAssembler, task: str, budget: int, *, returning: bool
) -> Layer | None:
    """What the assembler finds, then recent threads and commands, and what exists; at most `budget` tokens.

    None for a user of whom there is nothing to say. Where the thread is not a named one of a `returning` user, that is
    anybody of whom the assembler finds nothing: an anonymous conversation is not told what was done in others.

    Raises:
        StoreError: The store failed.
    """
    manager = assembler.memories
    package = assembler.build(task, budget, max_item_tokens=SHORT)
    recent = list(_recent(manager)) if package or returning else []
    if budget <= 0 or not (package or recent):
        return None
    shown = [package.text or prompts.LAYER_HEADER]
    for line in (*recent, *_existing(manager), prompts.LAYER_FOOTER):
        if not manager.counter.exceeds("\n".join((*shown, line)), budget):
            shown.append(line)
    keys = [entry.item.memory_key for entry in package.entries if entry.form != "whole"]
    keys += [key for line in shown[1:] if (key := leading_key(line.removeprefix("- "))) is not None]
    return Layer("\n".join(shown), package, tuple(keys)) if package or len(shown) > 1 else None


def _recent(manager: MemoryManager) -> Iterator[str]:
    """The threads before this one, newest first, and what was run there."""
    newest = manager.memory_store.query(manager.offered, limit=LOOKED_AT, order_by=NEWEST)
    others = [item for item in newest if item.thread_id and item.thread_id != manager.thread_id]
    threads = {item.thread_id: item for item in reversed(others)}
    for thread, item in list(reversed(threads.items()))[:LISTED]:
        time = f"{item.created_at:%Y-%m-%d %H:%M}"
        yield prompts.LAYER_THREAD.format(thread=thread, time=time, summary=one_line(item.summary))
    yield from (
        f"- {item.ref}"
        for item in [item for item in others if item.memory_type in OUTPUTS][:LISTED]
    )


def _existing(manager: MemoryManager) -> Iterator[str]:
    counts = {
        kind: manager.memory_store.count(manager.offered, {"memory_type": kind}) for kind in COUNTED
    }
    found = ", ".join(
        prompts.LAYER_COUNT.format(count=count, kind=kind)
        for kind, count in counts.items()
        if count
    )
    if found:
        yield prompts.LAYER_COUNTS.format(counts=found)


__all__ = ["Layer", "begins_layer", "user_layer"]
