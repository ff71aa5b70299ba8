"""A record as a row, and back: which column holds the content, and what comes out of it."""

from __future__ import annotations

from dataclasses import fields
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
from memory_context.stores.sql.schema import access, memories

_FIELDS = {field.name for field in fields(MemoryItem)} - {
    "content",
    "match",
    "accessed_at",
    "access_count",
}
RECORDS = sa.select(
    *memories.c,
    access.c.accessed_at,
    sa.func.coalesce(access.c.access_count, 0).label("access_count"),
).select_from(memories.outerjoin(access, access.c.memory_id == memories.c.id))
_COLUMNS = [column for column in memories.c if column.name in _FIELDS]


def row_of(item: MemoryItem) -> dict[str, Any]:
    """The values of a row.

    Raises:
        InvalidContentError: See `check_content`.
    """
    check_content(item.content, item.media_type)
    values = {column.name: getattr(item, column.name) for column in _COLUMNS}
    values |= {"tags": list(item.tags), "content_metadata": dict(item.content_metadata)}
    if isinstance(item.content, str) and is_storable(item.content):
        return values | {
            "content": item.content,
            "content_bytes": None,
            "byte_count": bytes_of(item.content),
        }
    data = encoded(item.content)
    return values | {"content": None, "content_bytes": data, "byte_count": len(data)}


def item_of(row: sa.Row[*tuple[Any, ...]]) -> MemoryItem:
    """The record of a row of memories, with its accesses."""
    values = {name: value for name, value in row._mapping.items() if name in _FIELDS}  # noqa: SLF001 - Row's public API
    values["tags"] = tuple(values["tags"])
    content = (
        decoded(bytes(row.content_bytes or b""), row.media_type)
        if row.content is None
        else row.content
    )
    return MemoryItem(
        **values, content=content, accessed_at=row.accessed_at, access_count=row.access_count
    )
