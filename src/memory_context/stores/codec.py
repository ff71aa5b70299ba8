"""What a store keeps of a record: one way in, one way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError, SealError
from memory_context.model.item import SEALED, MemoryItem

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

IndexMode: TypeAlias = Literal["plain", "blind", "none"]


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


def url_prefix(codec: Codec, redactor: Redactor | None) -> str | None:
    """Return what stands before a store's URL for its codec and its redactor; None where no URL can say it."""
    if codec.url_prefix is None or redactor is None:
        return codec.url_prefix
    return f"redacted+{codec.url_prefix}" if redactor.is_default else None
