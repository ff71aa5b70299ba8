"""A record as a row, and back: which column holds the content, and what comes out of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from memory_context._items import BINARY, Content, MemoryItem, encoded, is_storable
from memory_context.exceptions import InvalidContentError
from memory_context.stores._schema import access, memories

_FIELDS = {field.name for field in fields(MemoryItem)} - {"content", "match", "accessed_at", "access_count"}
RECORDS = sa.select(
    *memories.c, access.c.accessed_at, sa.func.coalesce(access.c.access_count, 0).label("access_count")
).select_from(memories.outerjoin(access, access.c.memory_id == memories.c.id))
_COLUMNS = [column for column in memories.c if column.name in _FIELDS]


def row_of(item: MemoryItem) -> dict[str, Any]:
    """The values of a row.

    Raises:
        InvalidContentError: Bytes with the media type of a text.
    """
    values = {column.name: getattr(item, column.name) for column in _COLUMNS}
    values |= {"tags": list(item.tags), "content_metadata": dict(item.content_metadata)}
    as_text = isinstance(item.content, str) and is_storable(item.content)
    if isinstance(item.content, bytes) and _is_text(item.media_type):
        message = f"bytes cannot have the media type {item.media_type!r} of a text; use {BINARY}"
        raise InvalidContentError(message)
    return values | {
        "content": item.content if as_text else None,
        "content_bytes": None if as_text else encoded(item.content),
    }


def item_of(row: sa.Row[*tuple[Any, ...]]) -> MemoryItem:
    """The record of a row of memories, with its accesses."""
    values = {name: value for name, value in row._mapping.items() if name in _FIELDS}  # noqa: SLF001 - Row's public API
    values["tags"] = tuple(values["tags"])
    content = _content(row.content, row.content_bytes, row.media_type)
    return MemoryItem(**values, content=content, accessed_at=row.accessed_at, access_count=row.access_count)


def _content(text: str | None, data: bytes | None, media_type: str) -> Content:
    if text is not None:
        return text
    return bytes(data or b"").decode("utf-8", "surrogatepass") if _is_text(media_type) else bytes(data or b"")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type == "application/json"
