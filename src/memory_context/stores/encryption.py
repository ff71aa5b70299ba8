"""The codec that encrypts records, so that their rows cannot be read without a key."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from typing import ClassVar, Literal

from memory_context.exceptions import InvalidArgumentError, SealError
from memory_context.model.item import SEALED, MemoryItem
from memory_context.model.origin import IMPORT
from memory_context.stores.codec import Codec
from memory_context.stores.compression import compressed, packed, unpacked
from memory_context.stores.encryption_keys import KEY_BYTES, InvalidTag, Keyring, KeySource

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
    """Encrypts content, summary, metadata and media type with AES-256-GCM. Large contents are compressed first.

    A record is bound to its user, key, type, tier and origin: if it was moved into another row, or one of these was
    changed, decoding fails. It also fails for a row that was never encrypted. The other columns stay readable: user,
    agent, thread, key, type, tier, origin, category, tags, importance, counts and times. Do not put secrets into those.

    The search index holds a keyed hash of each word. A reader of the database sees which chunks of one user share
    words, and how often, but not the words. With ``index="none"`` there is no index, and a search decrypts and reads
    the newest 500 memories of its scope.

    Args:
        keys: Keys of 32 bytes each, by ids that are stored with every record: the first one encrypts, all of them
            decrypt. Or a callable that returns such a mapping. None, and ``encrypted+`` before a URL, take them from
            the environment variable ``MEMORY_CONTEXT_KEYS``, which reads ``id:key,id:key`` with keys in base64.
        index: ``blind`` or ``none``.
        accept_plain: Whether rows that were never encrypted are read. This is for a database that was used without
            encryption before, until the store's `reencrypt` has encrypted all of its rows.

    Raises:
        InvalidArgumentError: There are no keys, a key is not 32 bytes long, or *index* is neither of the two.
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
        has_default_settings = keys is None and index == "blind" and not accept_plain
        self.url_prefix = "encrypted+" if has_default_settings else None

    @staticmethod
    def generate_key() -> str:
        """Return a new random key in base64, as ``MEMORY_CONTEXT_KEYS`` takes it."""
        return base64.b64encode(os.urandom(KEY_BYTES)).decode()

    def encode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.encode`."""
        item = super().encode(item)
        facts, data = compressed(item)
        facts |= {name: getattr(item, name) for name in _SEALED_FACTS}
        facts["content_metadata"] = dict(item.content_metadata)
        return replace(
            item,
            content=self.seal(packed(facts, data), _associated_data(item)),
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
            EncryptionError: The key that encrypted it is not available.
            SealError: It was changed or moved to another row, or never encrypted.
        """
        if item.media_type != self.media_type:
            if self.accept_plain:
                return super().decode(item)
            raise SealError(
                f"{item.memory_key!r} is not encrypted, but this store is; with accept_plain=True it can be read"
            )
        plain = self.unseal(item.data, _associated_data(item), repr(item.memory_key))
        opened, facts = unpacked(item, plain)
        # These two columns are readable too, for filters, so they are compared with their sealed copies. Records from
        # before they were sealed count as the least trusted: imported, with a key of the caller's choice.
        origin = facts.get("origin", IMPORT)
        generated_key = facts.get("generated_key", False)
        if item.origin != origin or item.generated_key != generated_key:
            raise SealError(f"{item.memory_key!r} was changed: its origin is {origin}")
        return replace(
            opened,
            summary=facts["summary"],
            content_metadata=facts["content_metadata"],
            content_hash=facts["content_hash"],
            identity=item.identity and facts["identity"],
        )

    def is_current(self, item: MemoryItem) -> bool:
        """See `Codec.is_current`. A record is current if the newest key encrypted it."""
        return item.media_type == self.media_type and item.data.startswith(self._head())

    def seal(self, data: bytes, place: bytes) -> bytes:
        """See `Codec.seal`."""
        nonce = os.urandom(_NONCE_BYTES)
        _, cipher = self._keys.newest()
        return self._head() + nonce + cipher.encrypt(nonce, data, place)

    def unseal(self, data: bytes, place: bytes, name: str = "this database") -> bytes:
        """See `Codec.unseal`. Error messages call the data *name*."""
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
        # ValueError: the nonce was cut off.
        except (InvalidTag, ValueError) as error:
            raise SealError(
                f"{name} cannot be decrypted: it was changed or moved, or the key {key_id!r} is not the one that encrypted it"
            ) from error

    def _head(self) -> bytes:
        """Return the first bytes of everything that the newest key seals: the format's version, and the key's id."""
        key_id = self._keys.newest()[0].encode()
        return _VERSION + len(key_id).to_bytes() + key_id


def _associated_data(item: MemoryItem) -> bytes:
    """Return the associated data of AES-GCM: what the sealed record is bound to, so that only with it can it be decrypted."""
    bound_to = ["memory-context", item.user_id, item.memory_key, item.memory_type, item.tier]
    return json.dumps(bound_to).encode()
