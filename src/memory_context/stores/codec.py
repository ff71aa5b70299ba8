"""What a store keeps of a record: one way in, one way out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError, SealError
from memory_context.model.item import SEALED, MemoryItem, decoded, encoded

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

IndexMode: TypeAlias = Literal["plain", "blind", "none"]

# As much as a column of SQLite or PostgreSQL holds: a row that claims more was not written by a
# codec.
LARGEST = 2**30
# Smaller contents gain nothing.
_LEAST_COMPRESSED = 1024
_LENGTH_BYTES = 4


class Codec:
    """Keeps records as they are, so that they can be read with plain SQL.

    A codec of another kind overrides `encode` and `decode`. A store calls them where it writes a record and where it
    reads one, and nowhere else.

    Attributes:
        index: What the search index holds of the words: the words (``plain``), a keyed hash of each (``blind``), or
            nothing (``none``).
        accept_plain: Whether records are read that another codec, or none, has written.
        hidden: The columns that hold something else than the record's own value, so that nothing can be filtered or
            ordered by them.
        url_prefix: What stands before a store's URL for this codec; None where no URL can say it.
    """

    index: IndexMode = "plain"
    accept_plain: bool = True
    hidden: ClassVar[frozenset[str]] = frozenset()
    url_prefix: str | None = ""

    def encode(self, item: MemoryItem) -> MemoryItem:
        """Return what is stored for *item*.

        Raises:
            InvalidRecordError: Another codec wrote it, and its own content is not known.
        """
        if item.media_type.startswith(SEALED):
            raise InvalidRecordError(
                f"{item.memory_key!r} is encoded; open the store that it comes from with its codec"
            )
        return item

    def decode(self, item: MemoryItem) -> MemoryItem:
        """Return the record that `encode` made *item* of.

        Raises:
            SealError: This codec did not write it, or it was changed.
        """
        if item.media_type.startswith(SEALED):
            name = item.media_type.removeprefix(SEALED)
            raise SealError(
                f"{item.memory_key!r} is {name}; open the store with {name}+ before its URL"
            )
        return item

    def is_current(self, item: MemoryItem) -> bool:  # noqa: ARG002 - for codecs with keys
        """Return whether `encode` would still write the stored *item* as it stands, of which the content may be cut."""
        return True

    def seal(self, data: bytes, place: bytes) -> bytes:
        """Return *data*, which is no record, as it is stored where the codec hides words; valid with *place* alone."""
        raise NotImplementedError

    def unseal(self, data: bytes, place: bytes) -> bytes:
        """Return what `seal` was given.

        Raises:
            EncryptionError: It cannot be read with the keys at hand.
        """
        raise NotImplementedError


def check_embedder(codec: Codec) -> None:
    """Refuse vectors, which tell of contents, beside a codec that hides them.

    Raises:
        InvalidArgumentError: The codec hides words.
    """
    if codec.index != "plain":
        raise InvalidArgumentError(
            "vectors tell of the contents; give a store that encrypts no embedder"
        )


class Compressed(Codec):
    """Compresses contents of 1,024 bytes or more with zlib, where that makes them smaller.

    Logs and JSON take a fourth to an eighth of the space. The words in the search index stay as they are.
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
        small = packed(facts, data)
        return replace(item, content=small, media_type=self.media_type)

    def decode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.decode`. What was stored without the codec stays readable."""
        if item.media_type != self.media_type:
            return super().decode(item)
        return with_content(item, *unpacked(item, item.data))


def compressed(item: MemoryItem) -> tuple[dict[str, Any], bytes]:
    """Return the bytes of a content, compressed where that makes them smaller, and the facts that `with_content` needs."""
    data = item.data
    facts: dict[str, Any] = {"media_type": item.media_type, "zlib": False}
    if _LEAST_COMPRESSED <= len(data) <= LARGEST:
        small = zlib.compress(data)
        if len(small) < len(data):
            return facts | {"zlib": True}, small
    return facts, data


def with_content(item: MemoryItem, facts: Mapping[str, Any], data: bytes) -> MemoryItem:
    """Return *item* with the content that `compressed` was given.

    Raises:
        SealError: The bytes are damaged.
    """
    try:
        whole = _decompressed(data) if facts["zlib"] else data
        content = decoded(whole, facts["media_type"])
    except (KeyError, ValueError, zlib.error) as error:
        raise _damaged(item) from error
    return replace(item, content=content, media_type=facts["media_type"])


def _decompressed(data: bytes) -> bytes:
    """Return what zlib has made *data* of.

    Raises:
        ValueError: It is more than `LARGEST`, or its end is missing.
    """
    stream = zlib.decompressobj()
    whole = stream.decompress(data, LARGEST)
    if not stream.eof:
        raise ValueError(f"it does not end within {LARGEST} bytes")
    return whole


def packed(facts: Mapping[str, Any], data: bytes) -> bytes:
    """Return facts, which are JSON, and data as one sequence of bytes."""
    head = encoded(json.dumps(facts, ensure_ascii=False))
    return len(head).to_bytes(_LENGTH_BYTES) + head + data


def unpacked(item: MemoryItem, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return what `packed` was given for *item*.

    Raises:
        SealError: The bytes are damaged.
    """
    stop = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
    try:
        return json.loads(data[_LENGTH_BYTES:stop].decode("utf-8", "surrogatepass")), data[stop:]
    except ValueError as error:
        raise _damaged(item) from error


def _damaged(item: MemoryItem) -> SealError:
    return SealError(f"the stored content of {item.memory_key!r} is damaged")


def url_prefix(codec: Codec, redactor: Redactor | None) -> str | None:
    """Return what stands before a store's URL for its codec and its redactor; None where no URL can say it."""
    if codec.url_prefix is None or redactor is None:
        return codec.url_prefix
    return f"redacted+{codec.url_prefix}" if redactor.is_default else None
