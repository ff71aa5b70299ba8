"""The key that hides words and identities of an encrypted database, and how its index is renewed for another codec.

The key is random, made once for a database, and stored sealed by the codec. So the keys of the codec can be rotated
without hashing every word again.
"""

from __future__ import annotations

import base64
import os

import sqlalchemy as sa

from memory_context.exceptions import EncryptionError
from memory_context.model.item import SEALED
from memory_context.stores.codec import Codec
from memory_context.stores.sql.dialects import insert_into
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.row import RowFormat
from memory_context.stores.sql.schema import memories, settings

_KEY = "index_key"
_MODE = "index_mode"
_KEY_BYTES = 32


def held_format(connection: sa.Connection, codec: Codec) -> RowFormat | None:
    """Return how the rows of a database are written with *codec*; None where `prepare` must make it ready first.

    Raises:
        EncryptionError: The database is encrypted, and *codec* does not encrypt or has other keys.
    """
    values = _settings(connection)
    sealed = values.get(_KEY)
    if codec.index == "plain":
        if sealed is not None:
            message = "this database is encrypted: write encrypted+ before its URL, or give the store codec=Encrypted(keys)"
            raise EncryptionError(message)
        return RowFormat(codec)
    if sealed is None or values.get(_MODE) != codec.index:
        return None
    return RowFormat(codec, codec.unseal(base64.b64decode(sealed)))


def prepare(connection: sa.Connection, codec: Codec) -> None:
    """Make a key where there is none, and empty an index that holds words in another form.

    Raises:
        EncryptionError: There are memories that are not encrypted, and the codec does not accept them.
    """
    keyword_index.lock(connection, "SHARE ROW EXCLUSIVE")
    values = _settings(connection)
    if _KEY not in values:
        _check_plain_rows(connection, codec)
        store_key(connection, codec, os.urandom(_KEY_BYTES))
    if values.get(_MODE) != codec.index:
        keyword_index.reset(connection)
        _store(connection, _MODE, codec.index)


def store_key(connection: sa.Connection, codec: Codec, key: bytes) -> None:
    """Store the key, sealed by *codec*."""
    _store(connection, _KEY, base64.b64encode(codec.seal(key)).decode())


def _check_plain_rows(connection: sa.Connection, codec: Codec) -> None:
    """Raise EncryptionError if somebody's plain memories would be shut out."""
    is_plain = memories.c.media_type.not_like(f"{SEALED}%")
    first = connection.execute(sa.select(memories.c.id).where(is_plain).limit(1)).first()
    if first is not None and not codec.accept_plain:
        message = (
            "this database holds memories that are not encrypted: open it once with"
            " Encrypted(keys, accept_plain=True), and call reencrypt()"
        )
        raise EncryptionError(message)


def _settings(connection: sa.Connection) -> dict[str, str]:
    rows = connection.execute(sa.select(settings).where(settings.c.name.in_([_KEY, _MODE])))
    return {row.name: row.value for row in rows}


def _store(connection: sa.Connection, name: str, value: str) -> None:
    insert = insert_into(connection, settings).values(name=name, value=value)
    connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"value": value}))
