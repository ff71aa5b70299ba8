"""The record as a database row, and back.

Only here is content encoded for its column, and decoded.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from memory_context.model.item import (
    Deletion,
    MemoryItem,
    bytes_of,
    check_content,
    decoded,
    encoded,
    is_storable,
)
from memory_context.stores.sql.schema import AnyRow, access, memories

# Fields that are no columns of `memories`, or not column by column.
_APART = {"content", "match", "accessed_at", "access_count"}
_FIELDS = [field.name for field in fields(MemoryItem) if field.name not in _APART]

RECORDS = sa.select(
    *memories.c,
    access.c.accessed_at,
    sa.func.coalesce(access.c.access_count, 0).label("access_count"),
).select_from(memories.outerjoin(access, access.c.memory_id == memories.c.id))
"""Selects the rows that `decode_row` takes."""


def encode_row(item: MemoryItem) -> dict[str, Any]:
    """Encode *item* for its row.

    Text goes into `content`; bytes, and text that a TEXT column refuses, into `content_bytes`.

    Raises:
        InvalidContentError: See `check_content`.
    """
    check_content(item.content, item.media_type)
    values = {name: getattr(item, name) for name in _FIELDS}
    # JSON knows no tuples, and comparing with what is read back would find a difference.
    values["tags"] = list(item.tags)
    values["content_metadata"] = dict(item.content_metadata)
    if isinstance(item.content, str) and is_storable(item.content):
        values["content"] = item.content
        values["content_bytes"] = None
    else:
        values["content"] = None
        values["content_bytes"] = encoded(item.content)
    values["byte_count"] = bytes_of(item.content)
    return values


def decode_row(row: AnyRow) -> MemoryItem:
    """Decode a row of `RECORDS`."""
    columns = row._mapping  # noqa: SLF001 - public, in spite of its name
    values = {name: columns[name] for name in _FIELDS}
    values["tags"] = tuple(values["tags"])
    content = row.content
    if content is None:
        content = decoded(bytes(row.content_bytes or b""), row.media_type)
    return MemoryItem(
        **values, content=content, accessed_at=row.accessed_at, access_count=row.access_count
    )


def decode_deletion(row: AnyRow) -> Deletion:
    """Decode a row of `deletions`."""
    return Deletion(row.memory_key, row.deleted_at, row.reason)
