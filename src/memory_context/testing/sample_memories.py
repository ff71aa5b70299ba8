"""Make memories for tests of stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memory_context.model.generated_keys import KeyGenerator
from memory_context.model.item import (
    BINARY,
    Content,
    MemoryItem,
    hash_content,
    identity_of,
)
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore

ANN = Scope("ann")
BOB = Scope("bob")


def memory(
    content: Content = "a text",
    *,
    shared: bool = False,
    source: str = "tool",
    **values: Any,  # noqa: ANN401 - a field's values
) -> MemoryItem:
    """Make a memory of Ann's, or of the user *user_id*; with *shared*, equal contents are one record.

    Args:
        content: Its content.
        shared: Whether it has an `identity`, as a folded output has.
        source: The tool or role that its generated key begins with.
        values: Further fields of `MemoryItem`; without a *memory_key*, one is generated.
    """
    digest = hash_content(content)
    fields: dict[str, Any] = {
        "user_id": "ann",
        "memory_key": KeyGenerator().new_key(source),
        "content_hash": digest,
    }
    if shared:
        fields["identity"] = identity_of(content, digest)
    if isinstance(content, bytes):
        fields["media_type"] = BINARY
    return MemoryItem(content=content, **(fields | values))


def put(
    store: MemoryStore,
    content: Content = "a text",
    **values: Any,  # noqa: ANN401 - a field's values
) -> MemoryItem:
    """Make a memory of Ann's with `memory`, put it, and return it as it is stored."""
    return store.put(ANN, memory(content, **values))


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
