"""Build the user layer: what an agent should know about its user when a conversation begins."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from memory_context import sentences_models_read as prompts
from memory_context.memory.assembler import NEWEST, ContextAssembler
from memory_context.memory.manager import MemoryManager
from memory_context.memory.package_text_and_what_was_used import ContextPackage
from memory_context.model.item import SECRET, MemoryItem
from memory_context.model.one_line import one_line
from memory_context.model.reference import leading_key

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
LONGEST_ITEM = 60


class UserLayer(NamedTuple):
    """A user layer.

    Attributes:
        text: The text that a model reads.
        package: The memories in it.
        keys: The keys of the memories that are in it as references.
    """

    text: str
    package: ContextPackage
    keys: tuple[str, ...] = ()


def begins_layer(text: str) -> bool:
    """Return whether `text` begins as a user layer does."""
    return text.startswith((prompts.LAYER_HEADER, prompts.ASSEMBLED_HEADER))


def user_layer(
    assembler: ContextAssembler, task: str, budget: int, *, returning: bool
) -> UserLayer | None:
    """Return the layer, of at most `budget` tokens: assembled memories, recent threads and outputs, and counts.

    None if there is nothing to say; or, unless the user is `returning` (the thread has a name), if the
    assembler finds nothing: an anonymous conversation is not told what was done in others.

    Raises:
        StoreError: The store failed.
    """
    manager = assembler.memories
    package = assembler.build(task, budget, max_item_tokens=LONGEST_ITEM)
    shown = {entry.item.memory_key for entry in package.entries}
    recent = list(_recent(manager, shown)) if package or returning else []
    if budget <= 0 or not (package or recent):
        return None
    lines = [package.text or prompts.LAYER_HEADER]
    keys = [entry.item.memory_key for entry in package.entries if entry.form != "whole"]
    for line in (*recent, *_what_exists(manager), prompts.LAYER_FOOTER):
        if manager.counter.exceeds("\n".join((*lines, line)), budget):
            continue
        lines.append(line)
        key = leading_key(line.removeprefix("- "))
        if key:
            keys.append(key)
    if not package and len(lines) == 1:
        return None
    return UserLayer("\n".join(lines), package, tuple(keys))


def _recent(manager: MemoryManager, shown: Container[str]) -> Iterator[str]:
    """Yield a line for each other recent thread, newest first, then for their recent outputs, without *shown* memories."""
    newest = manager.memory_store.query(manager.offered, limit=LOOKED_AT, order_by=NEWEST)
    here = (None, manager.thread_id)
    others = [
        item for item in newest if item.thread_id not in here and item.memory_key not in shown
    ]
    last_of_thread = dict[str | None, MemoryItem]()
    for item in others:
        last_of_thread.setdefault(item.thread_id, item)
    for thread, item in list(last_of_thread.items())[:LISTED]:
        time = f"{item.created_at:%Y-%m-%d %H:%M}"
        yield prompts.LAYER_THREAD.format(thread=thread, time=time, summary=one_line(item.summary))
    outputs = [item for item in others if item.memory_type in OUTPUTS]
    for item in outputs[:LISTED]:
        yield f"- {item.ref}"


def _what_exists(manager: MemoryManager) -> Iterator[str]:
    counts = list[str]()
    for kind in COUNTED:
        count = manager.memory_store.count(manager.offered, {"memory_type": kind})
        if count:
            counts.append(prompts.LAYER_COUNT.format(count=count, kind=kind))
    if counts:
        yield prompts.LAYER_COUNTS.format(counts=", ".join(counts))
