"""Turn records into JSON and back, in the form of a `FileStore`'s files and of an export's lines.

Text is under ``content``. Bytes, and text with NUL bytes or lone surrogates, are under ``content_bytes`` in base64, as
the database has a column for each; the media type tells such text from bytes.
"""

from __future__ import annotations

import base64
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
)

from memory_context.exceptions import InvalidRecordError
from memory_context.model.checked_numbers import LARGEST
from memory_context.model.item import (
    TEXT,
    Deletion,
    MemoryItem,
    check_content,
    check_metadata,
    decoded,
    encoded,
    in_utc,
    is_storable,
)
from memory_context.model.json_object import JsonObject
from memory_context.model.origin import Origin
from memory_context.model.reference import check_key
from memory_context.model.scope import Scope

# A default that nobody sees: only the fields that are given are passed on.
_NOT_GIVEN: Any = None


def _storable(text: str) -> str:
    if is_storable(text):
        return text
    raise ValueError("a text must not contain NUL bytes or lone surrogates")


def _content(text: str) -> str:
    _storable(text.replace("\0", ""))
    return text


def _moment(moment: datetime) -> datetime:
    # Not `in_utc` itself: Pydantic would give a function of two arguments its own second one.
    return in_utc(moment)


def _user_id(value: Any) -> str:  # noqa: ANN401 - a text or an integer
    return Scope(value).user_id


Name: TypeAlias = Annotated[str, AfterValidator(_storable)]
Key: TypeAlias = Annotated[str, AfterValidator(check_key)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST)]
# These have no type of their own in JSON; a strict model would accept only Python's types.
Identifier: TypeAlias = Annotated[UUID, Field(strict=False)]
Moment: TypeAlias = Annotated[AwareDatetime, Field(strict=False), AfterValidator(_moment)]
Words: TypeAlias = Annotated[tuple[Name, ...], Field(strict=False)]


class _JsonRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class JsonMemory(_JsonRecord):
    """The fields of a memory in JSON, in order; those that are not given have the defaults of `MemoryItem`."""

    id: Identifier = _NOT_GIVEN
    user_id: Annotated[str, PlainValidator(_user_id)]
    memory_key: Key
    memory_type: Name = _NOT_GIVEN
    tier: Name = _NOT_GIVEN
    tier_id: Name | None = None
    category: Name | None = None
    tags: Words = _NOT_GIVEN
    summary: Name = _NOT_GIVEN
    importance: Annotated[float, Field(allow_inf_nan=False)] = _NOT_GIVEN
    agent_id: Name | None = None
    thread_id: Name | None = None
    media_type: Name = _NOT_GIVEN
    content_metadata: Annotated[JsonObject, PlainValidator(check_metadata)] = _NOT_GIVEN
    token_count: Count = _NOT_GIVEN
    char_count: Count = _NOT_GIVEN
    line_count: Count = _NOT_GIVEN
    content_hash: Name = _NOT_GIVEN
    identity: Name | None = None
    origin: Origin = _NOT_GIVEN
    generated_key: bool = _NOT_GIVEN
    created_at: Moment = _NOT_GIVEN
    updated_at: Moment = _NOT_GIVEN
    expires_at: Moment | None = None
    is_active: bool = _NOT_GIVEN
    accessed_at: Moment | None = None
    access_count: Count = _NOT_GIVEN
    content: Annotated[str, AfterValidator(_content)] = _NOT_GIVEN
    content_bytes: Name = _NOT_GIVEN


class JsonDeletion(_JsonRecord):
    """The fields of a `Deletion` in JSON."""

    memory_key: Key
    deleted_at: Moment
    reason: Name


_CONTENT = {"content", "content_bytes"}
_READS = {"accessed_at", "access_count"}


def record_of(item: MemoryItem, *, reads: bool = True) -> JsonObject:
    """Return *item* as a JSON object: every field but `match`, and without *reads* no `accessed_at` and `access_count`."""
    left_out = _CONTENT if reads else _CONTENT | _READS
    record: JsonObject = {}
    for name in JsonMemory.model_fields:
        if name not in left_out:
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
    """Return the memory that a JSON object describes. User, key and content are needed; the rest has defaults.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind; or `check_content` refuses the content.
    """
    values = _fields_of(JsonMemory, record)
    if values.keys().isdisjoint(_CONTENT) or values.keys() >= _CONTENT:
        raise InvalidRecordError("a record needs either content (a text) or content_bytes (base64)")
    try:
        if "content_bytes" in values:
            data = base64.b64decode(values.pop("content_bytes"), validate=True)
            values["content"] = decoded(data, values.get("media_type", TEXT))
        item = MemoryItem(**values)
        check_content(item.content, item.media_type)
    except ValueError as error:
        raise InvalidRecordError(f"content: {error}") from error
    return item


def deletion_record(deletion: Deletion) -> JsonObject:
    """Return *deletion* as a JSON object."""
    return asdict(deletion) | {"deleted_at": deletion.deleted_at.isoformat()}


def deletion_from(record: object) -> Deletion:
    """Return the deletion that a JSON object describes.

    Raises:
        InvalidRecordError: A field is unknown, missing or of the wrong kind.
    """
    return Deletion(**_fields_of(JsonDeletion, record))


def _fields_of(kind: type[_JsonRecord], record: object) -> dict[str, Any]:
    """Return the parsed values of the fields that *record* has."""
    try:
        parsed = kind.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "record"
        raise InvalidRecordError(f"{field}: {first['msg']}") from error
    return {name: getattr(parsed, name) for name in parsed.model_fields_set}
