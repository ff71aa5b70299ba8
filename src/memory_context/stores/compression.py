"""The codec that compresses large contents, and the packed form of a content that encryption shares.

A content is packed with its *facts*: the JSON object that says how to turn the bytes back into the content.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from memory_context.exceptions import SealError
from memory_context.model.item import SEALED, MemoryItem, decoded, encoded
from memory_context.model.json_object import JsonObject
from memory_context.stores.codec import Codec

# The largest value that a column of SQLite or PostgreSQL holds, in bytes. A row that decompresses
# to more was not written by this codec.
LARGEST = 2**30
# In bytes; compressing smaller contents saves nothing.
_LEAST_COMPRESSED = 1024
_LENGTH_BYTES = 4


class Compressed(Codec):
    """Compresses contents of 1,024 bytes or more with zlib, where that makes them smaller.

    Logs and JSON then take a quarter to an eighth of the space. The words in the search index stay readable.
    """

    hidden: ClassVar[frozenset[str]] = frozenset({"media_type", "content"})
    media_type: ClassVar[str] = f"{SEALED}compressed"
    url_prefix = "compressed+"

    def encode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.encode`."""
        item = super().encode(item)
        facts, data = compressed(item)
        if not facts["zlib"]:
            return item
        return replace(item, content=packed(facts, data), media_type=self.media_type)

    def decode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.decode`. Records that were stored without the codec stay readable."""
        if item.media_type != self.media_type:
            return super().decode(item)
        decoded_item, _ = unpacked(item, item.data)
        return decoded_item


def compressed(item: MemoryItem) -> tuple[JsonObject, bytes]:
    """Return the bytes of a content, compressed where that makes them smaller, and the facts that `unpacked` needs."""
    data = item.data
    facts = {"media_type": item.media_type, "zlib": False}
    if _LEAST_COMPRESSED <= len(data) <= LARGEST:
        small = zlib.compress(data)
        if len(small) < len(data):
            return facts | {"zlib": True}, small
    return facts, data


def packed(facts: Mapping[str, Any], data: bytes) -> bytes:
    """Return *facts*, as JSON, and *data* as one sequence of bytes."""
    head = encoded(json.dumps(facts, ensure_ascii=False))
    return len(head).to_bytes(_LENGTH_BYTES) + head + data


def unpacked(item: MemoryItem, data: bytes) -> tuple[MemoryItem, JsonObject]:
    """Return *item* with the content that `packed` put into *data*, and the facts beside it.

    Raises:
        SealError: The bytes are damaged.
    """
    stop = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
    head = data[_LENGTH_BYTES:stop]
    plain = data[stop:]
    try:
        facts = json.loads(head.decode("utf-8", "surrogatepass"))
        if facts["zlib"]:
            plain = _decompressed(plain)
        content = decoded(plain, facts["media_type"])
    except (KeyError, ValueError, zlib.error) as error:
        raise SealError(f"the stored content of {item.memory_key!r} is damaged") from error
    return replace(item, content=content, media_type=facts["media_type"]), facts


def _decompressed(data: bytes) -> bytes:
    """Decompress *data*.

    Raises:
        ValueError: The result is larger than `LARGEST`, or the end of *data* is missing.
    """
    stream = zlib.decompressobj()
    plain = stream.decompress(data, LARGEST)
    if not stream.eof:
        raise ValueError(f"it does not end within {LARGEST} bytes")
    return plain
