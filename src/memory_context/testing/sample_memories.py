"""Memories to test stores with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memory_context.model.item import (
    BINARY,
    Content,
    MemoryItem,
    hash_content,
    identity_of,
    new_key,
)
from memory_context.model.scope import Scope

ANN = Scope("ann")
BOB = Scope("bob")


def memory(
    content: Content = "a text",
    *,
    shared: bool = False,
    source: str = "tool",
    **values: Any,  # noqa: ANN401 - a field's values
) -> MemoryItem:
    """Make a memory of Ann's, or of *user_id*; with *shared*, equal contents are one record.

    Args:
        content: Its content.
        shared: Whether it has an `identity`, as a folded output has.
        source: The tool or role that its generated key begins with.
        values: Further fields of `MemoryItem`; without a *memory_key*, one is generated.
    """
    digest = hash_content(content)
    fields: dict[str, Any] = {"user_id": "ann", "memory_key": "", "content_hash": digest}
    if shared:
        fields["identity"] = identity_of(content, digest)
    if isinstance(content, bytes):
        fields["media_type"] = BINARY
    item = MemoryItem(content=content, **(fields | values))
    if item.memory_key:
        return item
    return replace(item, memory_key=new_key(source, item))


def note(
    content: str,
    project: str,
    **values: Any,  # noqa: ANN401 - a field's values
) -> MemoryItem:
    """Make a note of one of Ann's projects."""
    return memory(
        content, source="note", tier="project", tier_id=project, char_count=len(content), **values
    )


def keys_of(items: Iterable[MemoryItem]) -> list[str]:
    """Return the keys of *items*, in their order."""
    return [item.memory_key for item in items]
