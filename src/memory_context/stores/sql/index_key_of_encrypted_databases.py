"""The key with which the words and identities of an encrypted database are hashed (a blind index).

The key is random, made once for each database, and stored sealed by the codec. So the codec's own keys can be rotated
without hashing every word again.
"""

from __future__ import annotations

import base64
import hashlib
import os

import sqlalchemy as sa

from memory_context.exceptions import EncryptionError
from memory_context.model.item import SEALED, encoded
from memory_context.stores.codec import Codec
from memory_context.stores.sql.upserts_locks_and_settings import note_setting, setting

_KEY = "index_key"
_MODE = "index_mode"
_KEY_BYTES = 32
# The associated data that the sealed key is bound to, as a record is bound to its user and key.
_ASSOCIATED_DATA = b"memory-context index key"

_PLAIN = sa.text("SELECT 1 FROM agent_memories WHERE media_type NOT LIKE :sealed LIMIT 1")


def keyed_hash(key: bytes, text: str, size: int) -> str:
    """Return a hash that nobody can compute without the key, in hex: BLAKE2b (RFC 7693) with *size* bytes."""
    return hashlib.blake2b(encoded(text), key=key, digest_size=size).hexdigest()


def held_key(connection: sa.Connection, codec: Codec) -> bytes | None:
    """Return the key of a database; None if *codec* does not hide words, or `prepare` has to be called first.

    Raises:
        EncryptionError: The database is encrypted, and *codec* does not encrypt or has other keys.
    """
    sealed = setting(connection, _KEY)
    if codec.index == "plain":
        if sealed is not None:
            raise EncryptionError(
                "this database is encrypted: write encrypted+ before its URL, or give the store codec=Encrypted(keys)"
            )
        return None
    if sealed is None or setting(connection, _MODE) != codec.index:
        return None
    return codec.unseal(base64.b64decode(sealed), _ASSOCIATED_DATA)


def prepare(connection: sa.Connection, codec: Codec) -> bool:
    """Make a key if there is none; return whether the index holds words in another form, and must be rebuilt.

    Raises:
        EncryptionError: There are memories that are not encrypted, and the codec does not accept them.
    """
    if setting(connection, _KEY) is None:
        first = connection.execute(_PLAIN, {"sealed": f"{SEALED}%"}).first()
        if first is not None and not codec.accept_plain:
            # The existing plain memories could no longer be read.
            raise EncryptionError(
                "this database holds memories that are not encrypted: open it once with"
                " Encrypted(keys, accept_plain=True), and call reencrypt()"
            )
        store_key(connection, codec, os.urandom(_KEY_BYTES))
    before = setting(connection, _MODE)
    note_setting(connection, _MODE, codec.index)
    return before != codec.index


def store_key(connection: sa.Connection, codec: Codec, key: bytes) -> None:
    """Store the key, sealed by *codec*."""
    note_setting(connection, _KEY, base64.b64encode(codec.seal(key, _ASSOCIATED_DATA)).decode())
