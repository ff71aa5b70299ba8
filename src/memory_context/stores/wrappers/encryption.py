"""Records that are encrypted before they are stored."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag

from memory_context.exceptions import EncryptionError
from memory_context.model.item import (
    SEALED,
    MemoryItem,
    decoded,
    identity_of,
    is_text,
    with_hash,
)
from memory_context.model.scope import Scope
from memory_context.stores.protocol import MemoryStore
from memory_context.stores.wrappers.compression import CompressedStore
from memory_context.stores.wrappers.encryption_keys import KEY_BYTES, DerivedKey, Keyring, KeySource
from memory_context.stores.wrappers.sealing import SealingStore, packed, unpacked

VERSION = b"\x01"
NONCE_BYTES = 12
HIDDEN = "(encrypted)"
TRIED = 5
_ANY = {"is_active": [True, False]}


class EncryptedStore(SealingStore):
    """A `MemoryStore` that encrypts content, summary, metadata and media type with AES-256-GCM.

    In the store inside they are unreadable, no words of them are indexed, and the content's hash is keyed, with a key
    of its own: nobody without it can tell whether a text is there. What places a memory stays readable: user, agent,
    thread, key, type, tier, category, tags, importance, counts and times. So do not put secrets into those. The
    ciphertext is bound to user and key: in another record it is refused.

    Before its first write for a user, the key that encrypts must open one of their newest memories, where that was
    encrypted under its id: another key under an id that is in use is an `EncryptionError`, and nothing is written.

    A search sees the newest 500 memories of its scope (see `SealingStore`). Memories that were stored without
    encryption stay readable; `reencrypt` encrypts them too.

    Args:
        store: The store inside; what `as_store` takes. Without an embedder.
        keys: 32 bytes each, by an id that is stored with every record: the first one encrypts, all of them decrypt. Or
            a callable that gives them. None: the environment variable ``MEMORY_CONTEXT_KEYS``, as ``id:key,id:key``
            with keys in base64; so does ``encrypted+`` before a URL.

    Attributes:
        inner: The store inside.

    Raises:
        InvalidArgumentError: No keys, or one that is not 32 bytes long; the store inside has an embedder.
        MissingDependencyError: The package ``cryptography`` is not installed.
    """

    scheme: ClassVar[str | None] = "encrypted"
    media_type: ClassVar[str] = f"{SEALED}encrypted"
    sealed: ClassVar[frozenset[str]] = frozenset(
        {"summary", "media_type", "content_hash", "identity"}
    )

    def __init__(
        self,
        store: str | sa.URL | sa.Engine | sa.Pool | MemoryStore | None = None,
        keys: KeySource | None = None,
    ) -> None:
        super().__init__(store)
        self._keys = Keyring(keys)
        self._is_own = keys is not None
        self._tried = set[tuple[str, bytes]]()

    @staticmethod
    def generate_key() -> str:
        """A new key in base64, as ``MEMORY_CONTEXT_KEYS`` takes it."""
        return base64.b64encode(os.urandom(KEY_BYTES)).decode()

    def inward(self, item: MemoryItem) -> MemoryItem:
        """The encrypted record."""
        return _sealed(with_hash(item, self._hash(item)), item, self._sealing_key(item.user_id))

    def outward(self, item: MemoryItem) -> MemoryItem:
        """The decrypted record.

        Raises:
            EncryptionError: Its key is not at hand, or it was changed, or belongs elsewhere.
        """
        if item.media_type != self.media_type:
            return item
        key_id, nonce, data = _parts(item)
        key = self._keys.named(key_id)
        try:
            plain = key.decrypt(nonce, data, _bound_to(item))
        except (InvalidTag, ValueError) as error:  # ValueError: of a nonce that was cut off
            message = f"{item.memory_key!r} cannot be decrypted: the key {key_id!r} is another one, or it was changed"
            raise EncryptionError(message) from error
        return _opened(item, *unpacked(plain))

    def reencrypt(
        self, user_id: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Encrypt with the newest key what is encrypted with an older one, or not at all; how many records that were.

        Afterwards the older keys may go. It may be interrupted, and called again. A text that was stored before and
        after a key came has two records, and both stay: references name them.

        Args:
            user_id: Whose; everybody's without it.
            progress: Called after each of them with how many it were so far.

        Raises:
            RecordChangedError: Somebody changed a record meanwhile; call it again.
            StoreError: The store could not do it. What was done stays done.
        """
        done = 0
        for user in self.users() if user_id is None else [user_id]:
            for item in self.inner.list_all(Scope(user)):
                done += self._renewed(item)
                if progress:
                    progress(done)
        return done

    def _sealing_key(self, user_id: str) -> DerivedKey:
        """The key that encrypts, which is tried on a user's memories once.

        Raises:
            EncryptionError: They were encrypted with another key under its id.
        """
        key = self._keys.newest()
        if (user_id, key.hash_key) not in self._tried:
            self._try(key, user_id)
            self._tried.add((user_id, key.hash_key))
        return key

    def _try(self, key: DerivedKey, user_id: str) -> None:
        """Open the newest memory; where it is not under the key's id or does not open, perhaps damaged, others too."""
        under = list[MemoryItem]()
        for many in (1, TRIED):
            newest = self.inner.query(Scope(user_id), {"summary": HIDDEN, **_ANY}, limit=many)
            under = [
                one
                for one in newest
                if one.media_type == self.media_type and one.data.startswith(_head(key))
            ]
            if not newest or any(map(self._opens, under)):
                return
        if under:
            message = (
                f"the key {key.id!r} is another one than that which encrypted the memories of {user_id!r}; nothing is "
                "written with it, because no keys could read both: give the right key, or a new one an id of its own"
            )
            raise EncryptionError(message)

    def _opens(self, item: MemoryItem) -> bool:
        try:
            self.outward(item)
        except EncryptionError:
            return False
        return True

    def _renewed(self, item: MemoryItem) -> bool:
        newest = self._sealing_key(item.user_id)
        if item.media_type == self.media_type and _parts(item)[0] == newest.id:
            return False
        plain = self.outward(item)
        placed = with_hash(plain, _hashed(plain, newest))
        if self._is_kept(placed):
            placed = replace(placed, identity=None)
        self.inner.put(Scope(item.user_id), _sealed(placed, plain, newest), replaces=item)
        return True

    def _is_kept(self, placed: MemoryItem) -> bool:
        """Whether the content is there under another key too: stored with a newer key, while this one was not."""
        if placed.identity is None:
            return False
        found = self.inner.query(
            Scope(placed.user_id), {"identity": [placed.identity], **_ANY}, limit=1
        )
        return any(one.id != placed.id for one in found)

    def _hash(self, item: MemoryItem) -> str:
        """The keyed hash of a content: by an older key, where it is stored under that one."""
        keys = self._keys.all()
        newest = _hashed(item, keys[0])
        if not item.identity or len(keys) == 1:
            return newest
        hashes = [newest, *(_hashed(item, key) for key in keys[1:])]
        known = {identity_of(item.content, one): one for one in hashes}
        found = self.inner.query(Scope(item.user_id), {"identity": list(known), **_ANY}, limit=1)
        return known[str(found[0].identity)] if found else newest


def _hashed(item: MemoryItem, key: DerivedKey) -> str:
    """The keyed hash of a content; of a compressed one that of its hash, because another zlib makes other bytes."""
    if item.media_type != CompressedStore.media_type or not item.content_hash:
        return key.keyed_hash(item.user_id, type(item.content).__name__, item.data)
    kind = "text" if is_text(unpacked(item.data)[0]["media_type"]) else "binary"
    return key.keyed_hash(item.user_id, f"hash of {kind}", item.content_hash.encode())


def _bound_to(item: MemoryItem) -> bytes:
    """What the ciphertext is only valid with. The memory's key is inside, so that an error can name it."""
    return f"memory-context\0{item.user_id}".encode()


def _sealed(placed: MemoryItem, plain: MemoryItem, key: DerivedKey) -> MemoryItem:
    """`plain` encrypted, in the place of `placed`: under its key and its keyed hash."""
    facts = {
        "memory_key": placed.memory_key,
        "summary": plain.summary,
        "content_metadata": dict(plain.content_metadata),
        "media_type": plain.media_type,
        "content_hash": plain.content_hash,
    }
    nonce = os.urandom(NONCE_BYTES)
    sealed = _head(key) + nonce + key.encrypt(nonce, packed(facts, plain.data), _bound_to(plain))
    hidden: dict[str, Any] = {
        "summary": HIDDEN,
        "content_metadata": {},
        "media_type": EncryptedStore.media_type,
    }
    return replace(placed, content=sealed, match=None, **hidden)


def _head(key: DerivedKey) -> bytes:
    """What a sealed content begins with: the version of the form, and the key's id."""
    key_id = key.id.encode()
    return VERSION + len(key_id).to_bytes() + key_id


def _parts(item: MemoryItem) -> tuple[str, bytes, bytes]:
    """The id of the key, the nonce and the ciphertext of a sealed record."""
    data = item.data
    if data[:1] != VERSION:
        message = f"{item.memory_key!r} was encrypted by a newer version of memory-context, or it was changed"
        raise EncryptionError(message)
    start = 2 + int.from_bytes(data[1:2])
    key_id = data[2:start].decode(errors="replace")
    return key_id, data[start : start + NONCE_BYTES], data[start + NONCE_BYTES :]


def _opened(item: MemoryItem, facts: dict[str, Any], data: bytes) -> MemoryItem:
    if item.memory_key != facts["memory_key"]:
        message = f"what stands under {item.memory_key!r} was encrypted as {facts['memory_key']!r}; it was moved there"
        raise EncryptionError(message)
    content = decoded(data, facts["media_type"])
    identity = identity_of(content, facts["content_hash"]) if item.identity else None
    plain = {
        name: facts[name] for name in ("summary", "content_metadata", "media_type", "content_hash")
    }
    return replace(item, content=content, identity=identity, **plain)
