"""Codecs: how a store encodes a record when it writes it, and decodes it when it reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError, SealError
from memory_context.model.item import SEALED, MemoryItem

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

IndexMode: TypeAlias = Literal["plain", "blind", "none"]


class Codec:
    """The default codec: stores records as they are, so that they can be read with plain SQL.

    Other codecs override `encode` and `decode`. A store calls these wherever it writes or reads a record, and nowhere
    else.

    Attributes:
        index: What the search index holds for each word: the word itself (``plain``), its keyed hash (``blind``), or
            nothing (``none``).
        accept_plain: Whether records that were written without this codec are read.
        hidden: The columns whose stored value is not the record's own, so that records cannot be filtered or ordered
            by them.
        url_prefix: The prefix of a store's URL that selects this codec; None if no URL can express its settings.
    """

    index: IndexMode = "plain"
    accept_plain: bool = True
    hidden: ClassVar[frozenset[str]] = frozenset()
    url_prefix: str | None = ""

    def encode(self, item: MemoryItem) -> MemoryItem:
        """Return the record to be stored in place of *item*.

        Raises:
            InvalidRecordError: *item* is still encoded by another codec.
        """
        if item.media_type.startswith(SEALED):
            raise InvalidRecordError(
                f"{item.memory_key!r} is encoded; open the store that it comes from with its codec"
            )
        return item

    def decode(self, item: MemoryItem) -> MemoryItem:
        """Return the original of the stored record *item*: the inverse of `encode`.

        Raises:
            SealError: *item* was not written by this codec, or was changed since.
        """
        if item.media_type.startswith(SEALED):
            name = item.media_type.removeprefix(SEALED)
            raise SealError(
                f"{item.memory_key!r} is {name}; open the store with {name}+ before its URL"
            )
        return item

    def is_current(self, item: MemoryItem) -> bool:  # noqa: ARG002 - for codecs with keys
        """Return whether the stored *item* is in the form that `encode` writes today.

        The content of *item* may be cut off after its first bytes.
        """
        return True

    def seal(self, data: bytes, place: bytes) -> bytes:
        """Encrypt *data* that is not a record. It can be decrypted only together with the same *place*.

        Only a codec whose `index` is not ``plain`` implements this.
        """
        raise NotImplementedError

    def unseal(self, data: bytes, place: bytes) -> bytes:
        """Return the bytes that `seal` encrypted for this *place*.

        Raises:
            EncryptionError: *data* cannot be decrypted with the available keys.
        """
        raise NotImplementedError


def check_embedder(codec: Codec) -> None:
    """Check that an embedder may be used beside *codec*: vectors reveal the contents that encryption hides.

    Raises:
        InvalidArgumentError: The codec encrypts.
    """
    if codec.index != "plain":
        raise InvalidArgumentError(
            "vectors would reveal the encrypted contents; a store that encrypts takes no embedder"
        )


def url_prefix(codec: Codec, redactor: Redactor | None) -> str | None:
    """Return the prefix of a store's URL that selects its codec and redactor; None if no URL can express them."""
    if codec.url_prefix is None or redactor is None:
        return codec.url_prefix
    return f"redacted+{codec.url_prefix}" if redactor.is_default else None
