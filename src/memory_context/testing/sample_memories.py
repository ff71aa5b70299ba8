"""Memories to test stores with."""

from __future__ import annotations

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
    """A memory of ann's; with `shared`, one that is the same record for equal contents."""
    digest = hash_content(content)
    identity = identity_of(content, digest) if shared else None
    media = {} if isinstance(content, str) else {"media_type": BINARY}
    values = (
        {"user_id": "ann", "memory_key": "", "content_hash": digest, "identity": identity}
        | media
        | values
    )
    item = MemoryItem(content=content, **values)
    return item if item.memory_key else replace(item, memory_key=new_key(source, item))
