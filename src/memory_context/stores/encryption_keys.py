"""Keys for encryption: where they come from, and what is derived of them."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from memory_context.exceptions import (
    EncryptionError,
    InvalidArgumentError,
    MemoryContextError,
    MissingDependencyError,
)

try:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as error:
    raise MissingDependencyError(
        "encryption needs the package cryptography: pip install 'memory-context[encryption]'"
    ) from error

KEYS_VARIABLE = "MEMORY_CONTEXT_KEYS"
KEY_BYTES = 32
MAX_ID = 255

Keys: TypeAlias = Mapping[str, bytes]
KeySource: TypeAlias = Keys | Callable[[], Keys]


class Keyring:
    """The keys by their ids; the first one encrypts, all of them decrypt.

    Args:
        source: The keys, or what gives them: it is called at first use, and again where a record names a key that is
            not known yet. None: the environment variable ``MEMORY_CONTEXT_KEYS``, as ``id:key,id:key`` with keys in
            base64.

    Raises:
        InvalidArgumentError: No keys, or one that is not 32 bytes long.
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
        """Return the cipher of the key of that id.

        Raises:
            EncryptionError: It is not at hand.
        """
        if key_id not in self._keys and callable(self._source):
            self._load()
        if key_id not in self._keys:
            raise EncryptionError(
                f"this is encrypted with the key {key_id!r}, which is not at hand; known: {', '.join(self._keys)}"
            )
        return self._keys[key_id]

    def _load(self) -> None:
        try:
            keys = self._source() if callable(self._source) else self._source
        except MemoryContextError:
            raise
        except Exception as error:
            # For an agent that is a store that cannot be used now, as in any other outage.
            raise EncryptionError(
                f"the keys are not to be had: {type(error).__name__}: {error}"
            ) from error
        given: object = keys
        if not isinstance(given, Mapping):
            raise InvalidArgumentError(
                f"keys are a mapping of ids to keys of {KEY_BYTES} bytes, or what gives one, not {type(given).__name__}"
            )
        if not keys:
            raise InvalidArgumentError(
                f"encryption needs at least one key of {KEY_BYTES} bytes; Encrypted.generate_key() makes one"
            )
        self._keys = {key_id: _cipher(key_id, key) for key_id, key in keys.items()}


def from_environment() -> Keys:
    """The keys in ``MEMORY_CONTEXT_KEYS``.

    Raises:
        InvalidArgumentError: The variable is not set, or does not read ``id:key,id:key``.
    """
    keys = dict[str, bytes]()
    entries = filter(None, map(str.strip, os.environ.get(KEYS_VARIABLE, "").split(",")))
    for place, entry in enumerate(entries, 1):
        key_id, _, text = entry.rpartition(":")
        keys[key_id] = _decoded(text)
        if not key_id or len(keys[key_id]) != KEY_BYTES:
            # Which of both is the key is not known, so neither is shown.
            raise InvalidArgumentError(
                f"{KEYS_VARIABLE} reads id:key,id:key, keys of {KEY_BYTES} bytes in base64, but not entry {place}"
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
    """Return the cipher of a secret key, which is not used as it is but derived (HKDF, RFC 5869).

    Raises:
        InvalidArgumentError: An id that is none, or a key that is not 32 bytes long.
    """
    if not isinstance(key_id, str) or not 0 < len(key_id.encode()) <= MAX_ID:
        raise InvalidArgumentError(f"a key's id has 1 to {MAX_ID} bytes, not {key_id!r:.80}")
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InvalidArgumentError(
            f"the key {key_id!r} must be {KEY_BYTES} bytes, not {size}; Encrypted.generate_key() makes one"
        )
    expanded = HKDF(SHA256(), KEY_BYTES, salt=None, info=b"memory-context content").derive(key)
    return AESGCM(expanded)
