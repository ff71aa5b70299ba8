"""Contents that are compressed before they are stored."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import ClassVar

from memory_context.exceptions import StoreError
from memory_context.model.item import SEALED, MemoryItem, decoded, with_hash
from memory_context.stores.wrappers.sealing import SealingStore, packed, unpacked

LEAST = 1024


class CompressedStore(SealingStore):
    """A `MemoryStore` that compresses contents of 1,024 bytes or more with zlib, where that makes them smaller.

    For archives: logs and JSON take a fourth to an eighth of the space, and the index takes none; but a search sees the
    newest 500 memories of its scope only (see `SealingStore`). Memories that were stored without it stay readable.

    Attributes:
        inner: The store inside.
    """

    scheme: ClassVar[str | None] = "compressed"
    media_type: ClassVar[str] = f"{SEALED}compressed"
    sealed: ClassVar[frozenset[str]] = frozenset({"media_type"})

    def inward(self, item: MemoryItem) -> MemoryItem:
        """The record with a compressed content."""
        data = item.data
        if len(data) < LEAST:
            return item
        small = packed({"media_type": item.media_type}, zlib.compress(data))
        return (
            replace(item, content=small, media_type=self.media_type)
            if len(small) < len(data)
            else item
        )

    def outward(self, item: MemoryItem) -> MemoryItem:
        """The record with its content.

        Raises:
            StoreError: It is damaged.
        """
        if item.media_type != self.media_type:
            return item
        try:
            facts, data = unpacked(item.data)
            whole = zlib.decompress(data)
        except (ValueError, zlib.error) as error:
            message = f"the compressed content of {item.memory_key!r} is damaged: {error}"
            raise StoreError(message) from error
        opened = replace(
            item, content=decoded(whole, facts["media_type"]), media_type=facts["media_type"]
        )
        return with_hash(opened, item.content_hash)
