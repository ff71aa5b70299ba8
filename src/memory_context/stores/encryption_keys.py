"""Keys for encryption: where they come from, and the ciphers derived from them."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from memory_context.exceptions import EncryptionError, InvalidArgumentError, MemoryContextError
from memory_context.runtime.missing_packages import needing

with needing(
    "cryptography",
    otherwise="encryption needs the package cryptography: pip install 'memory-context[encryption]'",
):
    from cryptography.exceptions import InvalidTag as InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEYS_VARIABLE = "MEMORY_CONTEXT_KEYS"
KEY_BYTES = 32
MAX_ID = 255

Keys: TypeAlias = Mapping[str, bytes]
KeySource: TypeAlias = Keys | Callable[[], Keys]


class Keyring:
    """The keys by their ids; the first one encrypts, all of them decrypt.

    Args:
        source: The keys, or a callable that returns them. It is called at the first use, and again when a record names
            an unknown key. None: the environment variable ``MEMORY_CONTEXT_KEYS``, which reads ``id:key,id:key`` with
            keys in base64.

    Raises:
        InvalidArgumentError: There are no keys, or a key is not 32 bytes long.
    """

    def __init__(self, source: KeySource | None) -> None:
        self._source = from_environment if source is None else source
        self._keys: dict[str, AESGCM] = {}
        if not callable(self._source):
            self._load()

    def newest(self) -> tuple[str, AESGCM]:
        """Return the id and the cipher of the key that encrypts: the first one."""
        if not self._keys:
            self._load()
        return next(iter(self._keys.items()))

    def named(self, key_id: str) -> AESGCM:
        """Return the cipher of the key with this id.

        Raises:
            EncryptionError: There is no such key.
        """
        if key_id not in self._keys and callable(self._source):
            self._load()
        if key_id not in self._keys:
            raise EncryptionError(
                f"this is encrypted with the key {key_id!r}, which is not available; known keys: {', '.join(self._keys)}"
            )
        return self._keys[key_id]

    def _load(self) -> None:
        try:
            keys = self._source() if callable(self._source) else self._source
        except MemoryContextError:
            raise
        except Exception as error:
            # A store error, so that an agent goes on as in any other outage of the store.
            raise EncryptionError(
                f"the keys could not be loaded: {type(error).__name__}: {error}"
            ) from error
        loaded: object = keys
        if not isinstance(loaded, Mapping):
            raise InvalidArgumentError(
                f"keys must be a mapping of ids to keys of {KEY_BYTES} bytes, or a callable that returns one,"
                f" not {type(loaded).__name__}"
            )
        if not keys:
            raise InvalidArgumentError(
                f"encryption needs at least one key of {KEY_BYTES} bytes; Encrypted.generate_key() makes one"
            )
        self._keys = {key_id: _cipher(key_id, key) for key_id, key in keys.items()}


def from_environment() -> Keys:
    """Return the keys in the environment variable ``MEMORY_CONTEXT_KEYS``.

    Raises:
        InvalidArgumentError: The variable is not set, or does not read ``id:key,id:key``.
    """
    keys = dict[str, bytes]()
    entries = filter(None, map(str.strip, os.environ.get(KEYS_VARIABLE, "").split(",")))
    for number, entry in enumerate(entries, 1):
        key_id, _, text = entry.rpartition(":")
        keys[key_id] = _decoded(text)
        if not key_id or len(keys[key_id]) != KEY_BYTES:
            # Either part may be the secret key, so neither is shown.
            raise InvalidArgumentError(
                f"entry {number} of {KEYS_VARIABLE} is not id:key with a key of {KEY_BYTES} bytes in base64;"
                " the variable reads id:key,id:key"
            )
    if not keys:
        raise InvalidArgumentError(
            f"encryption needs keys: set {KEYS_VARIABLE} to id:key, or pass keys={{'id': key}}"
        )
    return keys


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _cipher(key_id: object, key: object) -> AESGCM:
    """Return a cipher whose key is derived from a secret key (HKDF, RFC 5869).

    Raises:
        InvalidArgumentError: The id is not a text of 1 to 255 bytes, or the key is not 32 bytes long.
    """
    if not isinstance(key_id, str) or not 0 < len(key_id.encode()) <= MAX_ID:
        raise InvalidArgumentError(
            f"a key's id must be a text of 1 to {MAX_ID} bytes, not {key_id!r:.80}"
        )
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InvalidArgumentError(
            f"the key {key_id!r} must be {KEY_BYTES} bytes, not {size}; Encrypted.generate_key() makes one"
        )
    expanded = HKDF(SHA256(), KEY_BYTES, salt=None, info=b"memory-context content").derive(key)
    return AESGCM(expanded)
