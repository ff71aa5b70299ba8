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
from typing import Any, TypeAlias, cast
from uuid import UUID

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError
from memory_context.model.item import (
    TEXT,
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

LARGEST_COUNT = 2**63 - 1  # of a BIGINT column

Parser: TypeAlias = Callable[[Any], Any]
"""Returns the value of a field that stands in JSON; raises ValueError, TypeError or OverflowError."""


def record_of(item: MemoryItem, *, reads: bool = True) -> dict[str, Any]:
    """Return *item* as a JSON object: every field but `match`; without *reads*, not when and how often it was read."""
    record: dict[str, Any] = {}
    for name in _FIELDS:
        if name in _READS and not reads:
            continue
        value = getattr(item, name)
        record[name] = value.isoformat() if isinstance(value, datetime) else value
    record["id"] = str(item.id)
    record["tags"] = list(item.tags)
    record["content_metadata"] = dict(item.content_metadata)
    if isinstance(item.content, str) and is_storable(item.content):
        record["content"] = item.content
    else:
        record["content_bytes"] = base64.b64encode(encoded(item.content)).decode()
    return record


def item_from(record: object) -> MemoryItem:
    """Return the memory that a JSON object describes. User, key and content are needed; the rest has its defaults.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind; or `check_content` refuses the content.
    """
    values = dict(_object(record))
    try:
        content = _take_content(values)
        facts = _parsed(values, _FIELDS, needed={"user_id", "memory_key"})
        item = MemoryItem(content=content, **facts)
        check_content(item.content, item.media_type)
    except InvalidRecordError:
        raise
    except InvalidArgumentError as error:
        raise InvalidRecordError(str(error)) from error
    return item


def deletion_record(deletion: Deletion) -> dict[str, Any]:
    """Return *deletion* as a JSON object."""
    return {
        "memory_key": deletion.memory_key,
        "deleted_at": deletion.deleted_at.isoformat(),
        "reason": deletion.reason,
    }


def deletion_from(record: object) -> Deletion:
    """Return the deletion that a JSON object describes.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind.
    """
    return Deletion(**_parsed(_object(record), _DELETION, needed=set(_DELETION)))


def recounted(item: MemoryItem, count_tokens: Callable[[str], int]) -> MemoryItem:
    """Return *item* with the facts of the content that it has now."""
    return replace(
        with_hash(item, hash_content(item.content)),
        token_count=count_tokens(item.content) if isinstance(item.content, str) else 0,
        char_count=len(item.content),
        line_count=count_lines(item.content),
    )


def _take_content(values: dict[str, Any]) -> Content:
    """Remove the content from *values*, and return it."""
    if ("content" in values) == ("content_bytes" in values):
        message = "a record has one of content (a text) and content_bytes (base64)"
        raise InvalidRecordError(message)
    if "content" in values:
        text: str = _parsed_field("content", _text, values.pop("content"))
        return text
    data: bytes = _parsed_field("content_bytes", _base64, values.pop("content_bytes"))
    media_type = values.get("media_type", TEXT)
    if not isinstance(media_type, str):
        return data
    try:
        return decoded(data, media_type)
    except UnicodeDecodeError as error:
        message = f"content_bytes are not text, although the media type is {media_type!r}: {error}"
        raise InvalidRecordError(message) from error


def _parsed(
    values: Mapping[str, Any], parsers: Mapping[str, Parser], needed: set[str]
) -> dict[str, Any]:
    fields = ", ".join(parsers)
    if unknown := values.keys() - parsers.keys():
        message = f"{_quoted(unknown)} is not a field; the fields are {fields}"
        raise InvalidRecordError(message)
    if missing := needed - values.keys():
        message = f"{_quoted(missing)} is missing; the fields are {fields}"
        raise InvalidRecordError(message)
    return {name: _parsed_field(name, parsers[name], value) for name, value in values.items()}


def _quoted(names: set[str]) -> str:
    return ", ".join(map(repr, sorted(names)))


def _parsed_field(name: str, parse: Parser, value: object) -> Any:  # noqa: ANN401 - any field
    try:
        return parse(value)
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


def _or_none(parse: Parser) -> Parser:
    return lambda value: None if value is None else parse(value)


_READS = {"accessed_at", "access_count"}
_FIELDS: dict[str, Parser] = {
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
_DELETION: dict[str, Parser] = {
    "memory_key": lambda value: check_key(_name(value)),
    "deleted_at": _moment,
    "reason": _name,
}
