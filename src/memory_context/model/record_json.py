"""A record as JSON, and back: the form of a `FileStore`'s files and of an export's lines.

Text stands under ``content``. Bytes, and text that UTF-8 cannot express, stand under ``content_bytes`` in base64, as
the database has a column for each; the media type says which of them it is.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError
from memory_context.model.item import (
    Content,
    Deletion,
    MemoryItem,
    check_content,
    check_metadata,
    count_lines,
    decoded,
    encoded,
    hash_content,
    in_utc,
    is_storable,
    with_hash,
)
from memory_context.model.reference import check_key
from memory_context.model.scope import Scope

LARGEST_COUNT = 2**63 - 1


def record_of(item: MemoryItem, *, reads: bool = True) -> dict[str, Any]:
    """`item` as a JSON object: every field but `match`; without `reads`, not when and how often it was read."""
    as_text = isinstance(item.content, str) and is_storable(item.content)
    body = (
        {"content": item.content}
        if as_text
        else {"content_bytes": base64.b64encode(encoded(item.content)).decode()}
    )
    names = _FIELDS if reads else _FIELDS.keys() - _READS
    facts = {name: getattr(item, name) for name in _FIELDS if name in names}
    facts |= {
        "tags": list(item.tags),
        "content_metadata": dict(item.content_metadata),
        "id": str(item.id),
    }
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in facts.items()
    } | body


def item_from(record: object) -> MemoryItem:
    """The memory that a JSON object describes. What it leaves out has its default; user, key and content must be there.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind; or what `check_content` refuses.
    """
    values = dict(_object(record))
    try:
        content = _content(values)
        facts = _read(values, _FIELDS, {"user_id", "memory_key"})
        item = MemoryItem(content=content, **facts)
        check_content(item.content, item.media_type)
    except InvalidRecordError:
        raise
    except InvalidArgumentError as error:
        raise InvalidRecordError(str(error)) from error
    return item


def deletion_record(deletion: Deletion) -> dict[str, Any]:
    """`deletion` as a JSON object."""
    when = deletion.deleted_at.isoformat()
    return {"memory_key": deletion.memory_key, "deleted_at": when, "reason": deletion.reason}


def deletion_from(record: object) -> Deletion:
    """The deletion that a JSON object describes.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind.
    """
    return Deletion(**_read(dict(_object(record)), _DELETION, set(_DELETION)))


def recounted(item: MemoryItem, count_tokens: Callable[[str], int]) -> MemoryItem:
    """`item` with the facts of the content that it has now."""
    text = isinstance(item.content, str)
    return replace(
        with_hash(item, hash_content(item.content)),
        token_count=count_tokens(cast("str", item.content)) if text else 0,
        char_count=len(item.content),
        line_count=count_lines(item.content),
    )


def _content(values: dict[str, Any]) -> Content:
    if ("content" in values) == ("content_bytes" in values):
        message = "a record has one of content (a text) and content_bytes (base64)"
        raise InvalidRecordError(message)
    if "content" in values:
        text: str = _field("content", _text, values.pop("content"))
        return text
    data: bytes = _field("content_bytes", _base64, values.pop("content_bytes"))
    media_type = values.get("media_type", "text/plain")
    try:
        return decoded(data, media_type) if isinstance(media_type, str) else data
    except UnicodeDecodeError as error:
        message = f"content_bytes are no text, as the media type {media_type!r} says: {error}"
        raise InvalidRecordError(message) from error


def _read(
    values: Mapping[str, Any], kinds: Mapping[str, Callable[[Any], Any]], needed: set[str]
) -> dict[str, Any]:
    unknown, missing = values.keys() - kinds.keys(), needed - values.keys()
    if unknown or missing:
        names = ", ".join(sorted(map(repr, unknown or missing)))
        message = f"{names} {'is no field' if unknown else 'is missing'}; the fields are {', '.join(kinds)}"
        raise InvalidRecordError(message)
    return {name: _field(name, kinds[name], value) for name, value in values.items()}


def _field(name: str, read: Callable[[Any], Any], value: object) -> Any:  # noqa: ANN401 - any field
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError) as error:
        message = f"{name}: {error}"
        raise InvalidRecordError(message) from error


def _object(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    message = f"a record is a JSON object, not {value!r:.80}"
    raise InvalidRecordError(message)


def _text(value: object) -> str:
    if isinstance(value, str) and is_storable(value.replace("\0", "")):
        return value
    message = f"a text is needed, without lone surrogates, not {value!r:.80}"
    raise ValueError(message)


def _name(value: object) -> str:
    if isinstance(value, str) and is_storable(value):
        return value
    message = f"a text is needed, without NUL bytes and lone surrogates, not {value!r:.80}"
    raise ValueError(message)


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    message = f"a number is needed, not {value!r:.80}"
    raise ValueError(message)


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT:
        return value
    message = f"a whole number from 0 to 2**63 - 1 is needed, not {value!r:.80}"
    raise ValueError(message)


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(_name(value))
    if moment.tzinfo is None:
        message = f"a time needs a zone, as in 2026-01-31T12:00:00+00:00, not {value!r}"
        raise ValueError(message)
    return in_utc(moment)


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    message = f"true or false is needed, not {value!r:.80}"
    raise ValueError(message)


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(_name, cast("list[object]", value)))
    message = f"a list of texts is needed, not {value!r:.80}"
    raise ValueError(message)


def _base64(value: object) -> bytes:
    return base64.b64decode(_name(value), validate=True)


def _or_none(read: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda value: None if value is None else read(value)


_READS = {"accessed_at", "access_count"}
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "id": lambda value: UUID(_name(value)),
    "user_id": lambda value: Scope(value).user_id,
    "memory_key": lambda value: check_key(_name(value)),
    "memory_type": _name,
    "tier": _name,
    "tier_id": _or_none(_name),
    "category": _or_none(_name),
    "tags": _words,
    "summary": _name,
    "importance": _number,
    "agent_id": _or_none(_name),
    "thread_id": _or_none(_name),
    "media_type": _name,
    "content_metadata": check_metadata,
    "token_count": _count,
    "char_count": _count,
    "line_count": _count,
    "content_hash": _name,
    "identity": _or_none(_name),
    "created_at": _moment,
    "updated_at": _moment,
    "expires_at": _or_none(_moment),
    "is_active": _flag,
    "accessed_at": _or_none(_moment),
    "access_count": _count,
}
_DELETION: dict[str, Callable[[Any], Any]] = {
    "memory_key": lambda value: check_key(_name(value)),
    "deleted_at": _moment,
    "reason": _name,
}
