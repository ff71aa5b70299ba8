"""Encryption of records: the codec whose rows nobody reads without a key."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from typing import Any, ClassVar, Literal

from cryptography.exceptions import InvalidTag

from memory_context.exceptions import InvalidArgumentError, SealError
from memory_context.model.item import SEALED, MemoryItem
from memory_context.model.origin import IMPORT
from memory_context.stores.codec import Codec
from memory_context.stores.compression import compressed, packed, unpacked, with_content
from memory_context.stores.encryption_keys import KEY_BYTES, Keyring, KeySource

HIDDEN = "(encrypted)"
_VERSION = b"\x02"
_NONCE_BYTES = 12
_SEALED_FACTS = (
    "summary",
    "content_metadata",
    "content_hash",
    "identity",
    "origin",
    "generated_key",
)


class Encrypted(Codec):
    """Encrypts content, summary, metadata and media type with AES-256-GCM, compressed before.

    A record is bound to its user, key, type, tier and origin: moved into another row, or with one of them changed, it
    is refused. So is a row that was never encrypted. What places a memory stays readable: user, agent, thread, key,
    type, tier, origin, category, tags, importance, counts and times. Do not put secrets into those.

    The search index holds a keyed hash of each word. Whoever reads the database sees which chunks of one user share
    words, and how often, but not the words. With ``index="none"`` there is no index: then a search opens the newest 500
    memories of its scope.

    Args:
        keys: 32 bytes each, by an id that is stored with every record: the first one encrypts, all of them decrypt. Or
            a callable that gives them. None: the environment variable ``MEMORY_CONTEXT_KEYS``, as ``id:key,id:key``
            with keys in base64; so does ``encrypted+`` before a URL.
        index: ``blind`` or ``none``.
        accept_plain: Whether rows that were never encrypted are read: for a database from before, until `reencrypt` of
            the store has encrypted all of them.

    Raises:
        InvalidArgumentError: No keys, one that is not 32 bytes long, or another index.
        MissingDependencyError: The package ``cryptography`` is not installed.
    """

    hidden: ClassVar[frozenset[str]] = frozenset(
        {"summary", "media_type", "content", "content_hash", "identity"}
    )
    media_type: ClassVar[str] = f"{SEALED}encrypted"

    def __init__(
        self,
        keys: KeySource | None = None,
        *,
        index: Literal["blind", "none"] = "blind",
        accept_plain: bool = False,
    ) -> None:
        if index not in ("blind", "none"):
            raise InvalidArgumentError(f"the index is 'blind' or 'none', not {index!r:.80}")
        self.index = index
        self.accept_plain = accept_plain
        self._keys = Keyring(keys)
        is_told_by_url = keys is None and index == "blind" and not accept_plain
        self.url_prefix = "encrypted+" if is_told_by_url else None

    @staticmethod
    def generate_key() -> str:
        """Return a new key in base64, as ``MEMORY_CONTEXT_KEYS`` takes it."""
        return base64.b64encode(os.urandom(KEY_BYTES)).decode()

    def encode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.encode`."""
        item = super().encode(item)
        facts, data = compressed(item)
        facts |= {name: getattr(item, name) for name in _SEALED_FACTS}
        facts["content_metadata"] = dict(item.content_metadata)
        return replace(
            item,
            content=self.seal(packed(facts, data), _place_of(item)),
            summary=HIDDEN,
            content_metadata={},
            media_type=self.media_type,
            content_hash="",
            identity=item.identity and HIDDEN,
            match=None,
        )

    def decode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.decode`.

        Raises:
            EncryptionError: Its key is not at hand.
            SealError: It was changed or moved, or never encrypted.
        """
        if item.media_type != self.media_type:
            if self.accept_plain:
                return super().decode(item)
            raise SealError(
                f"{item.memory_key!r} is not encrypted, as all in this store is; accept_plain=True reads it"
            )
        plain = self.unseal(item.data, _place_of(item), repr(item.memory_key))
        facts, data = unpacked(item, plain)
        # Readable, so that they can be filtered by. What was sealed before they were noted has the least of both.
        sealed = facts.get("origin", IMPORT), facts.get("generated_key", False)
        if (item.origin, item.generated_key) != sealed:
            raise SealError(f"{item.memory_key!r} was changed: its origin is {sealed[0]}")
        opened = with_content(item, facts, data)
        return replace(
            opened,
            summary=facts["summary"],
            content_metadata=facts["content_metadata"],
            content_hash=facts["content_hash"],
            identity=item.identity and facts["identity"],
        )

    def is_current(self, item: MemoryItem) -> bool:
        """See `Codec.is_current`: whether the newest key encrypted it."""
        return item.media_type == self.media_type and item.data.startswith(self._head())

    def seal(self, data: bytes, place: bytes) -> bytes:
        """See `Codec.seal`."""
        nonce = os.urandom(_NONCE_BYTES)
        _, cipher = self._keys.newest()
        return self._head() + nonce + cipher.encrypt(nonce, data, place)

    def unseal(self, data: bytes, place: bytes, name: str = "this database") -> bytes:
        """See `Codec.unseal`; errors call it *name*."""
        if data[:1] != _VERSION:
            raise SealError(
                f"{name} was encrypted by another version of memory-context, or it was changed"
            )
        start = 2 + int.from_bytes(data[1:2])
        key_id = data[2:start].decode(errors="replace")
        nonce = data[start : start + _NONCE_BYTES]
        cipher = self._keys.named(key_id)
        try:
            return cipher.decrypt(nonce, data[start + _NONCE_BYTES :], place)
        # ValueError: of a nonce that was cut off.
        except (InvalidTag, ValueError) as error:
            raise SealError(
                f"{name} cannot be decrypted: it was changed or moved, or the key {key_id!r} is another one"
            ) from error

    def _head(self) -> bytes:
        """Return what bytes begin with that the newest key seals: the version of the form, and the key's id."""
        key_id = self._keys.newest()[0].encode()
        return _VERSION + len(key_id).to_bytes() + key_id


def _place_of(item: MemoryItem) -> bytes:
    """Return what a sealed record is only valid with."""
    place: tuple[Any, ...] = (item.user_id, item.memory_key, item.memory_type, item.tier)
    return json.dumps(["memory-context", *place]).encode()
