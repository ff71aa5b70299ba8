"""Converting a record to a database row, and back.

This is the only place where the store's codec, which a connection carries in its `RowFormat`, encodes and decodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import sqlalchemy as sa

from memory_context.model.item import (
    MemoryItem,
    bytes_of,
    check_content,
    decoded,
    encoded,
    is_storable,
)
from memory_context.stores.codec import Codec
from memory_context.stores.sql.index_key_of_encrypted_databases import keyed_hash
from memory_context.stores.sql.schema import access, belongs, deletions, memories

# Fields that are not columns of `memories`, or that are stored in more than one column.
_APART = {"content", "match", "accessed_at", "access_count"}
_FIELDS = [item_field.name for item_field in fields(MemoryItem) if item_field.name not in _APART]

_READS = sa.func.coalesce(access.c.access_count, 0)
RECORDS = sa.select(
    *memories.c,
    access.c.accessed_at,
    _READS.label("access_count"),
).select_from(memories.outerjoin(access, belongs(access)))
"""Selects rows for `decoded_row`."""
DELETIONS = sa.select(deletions.c.memory_key, deletions.c.deleted_at, deletions.c.reason)
"""Selects the fields of a `Deletion`."""

_COLUMNS = [*RECORDS.selected_columns.keys(), "match"]
_TAGS, _CONTENT, _BYTES, _MEDIA_TYPE = map(
    _COLUMNS.index, ("tags", "content", "content_bytes", "media_type")
)
# The fields are set directly, because the constructor of a frozen dataclass takes longer than the rest of decoding.
_SETTERS = [
    (_COLUMNS.index(one.name), getattr(MemoryItem, one.name).__set__) for one in fields(MemoryItem)
]

ROW_FORMAT = "memory_context_row_format"
"""The execution option with the `RowFormat` of a connection."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How records are stored in rows, and their words in the index.

    Attributes:
        codec: Encodes and decodes the records.
        index_key: The key with which identities and words are hashed; None if the codec does not hide words.
    """

    codec: Codec = field(default_factory=Codec)
    index_key: bytes | None = field(default=None, repr=False)

    def identity_of(self, item: MemoryItem) -> str | None:
        """Return the identity of *item* as it is stored in its row: hashed if the codec hides words."""
        if self.index_key is None or item.identity is None:
            return item.identity
        return keyed_hash(self.index_key, f"{item.user_id}\0{item.identity}", size=32)


_PLAIN = RowFormat()


def format_of(connection: sa.Connection) -> RowFormat:
    """Return the row format of *connection*."""
    row_format: RowFormat = connection.get_execution_options().get(ROW_FORMAT, _PLAIN)
    return row_format


def encode_row(connection: sa.Connection, item: MemoryItem) -> dict[str, Any]:
    """Encode *item* for its row.

    Text goes into `content`; bytes, and text that a TEXT column refuses, into `content_bytes`.

    Raises:
        InvalidContentError: See `check_content`.
    """
    check_content(item.content, item.media_type)
    row_format = format_of(connection)
    identity = row_format.identity_of(item)
    item = row_format.codec.encode(item)
    values = {name: getattr(item, name) for name in _FIELDS}
    values |= {
        "identity": identity,
        # As JSON has them: lists instead of tuples, and plain dicts.
        "tags": list(item.tags),
        "content_metadata": dict(item.content_metadata),
        "content": None,
        "content_bytes": None,
        "byte_count": bytes_of(item.content),
    }
    if isinstance(item.content, str) and is_storable(item.content):
        values["content"] = item.content
    else:
        values["content_bytes"] = encoded(item.content)
    return values


def records(connection: sa.Connection, statement: sa.Executable) -> list[MemoryItem]:
    """Return the records that *statement*, made from `RECORDS`, selects."""
    row_format = format_of(connection)
    return [decoded_row(row_format, row) for row in connection.execute(statement)]


def decoded_row(row_format: RowFormat, row: Sequence[Any]) -> MemoryItem:
    """Decode a row of `RECORDS`.

    Raises:
        SealError: The codec did not write it, or it was changed.
        EncryptionError: The key that encrypted it is not available.
    """
    values: list[Any] = [*row, None]
    values[_TAGS] = tuple(values[_TAGS])
    if values[_CONTENT] is None:
        values[_CONTENT] = decoded(bytes(values[_BYTES] or b""), values[_MEDIA_TYPE])
    item = object.__new__(MemoryItem)
    for position, set_field in _SETTERS:
        set_field(item, values[position])
    return row_format.codec.decode(item)
