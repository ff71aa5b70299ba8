"""One memory's file: where it is, what stands in it, and what is made up where a person left something out."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any, cast
from uuid import UUID, uuid5

from memory_context.exceptions import InvalidKeyError, InvalidRecordError
from memory_context.model.item import MemoryItem, is_intact, recounted
from memory_context.model.record_fields_in_json import item_from, record_of
from memory_context.model.reference import check_key
from memory_context.stores.codec import Codec
from memory_context.stores.files.category_folders import category_in, folder_of
from memory_context.stores.files.safe_folder import SUFFIX
from memory_context.text.tokens.counter import default_counter

_FILE_IDS = UUID("6b1f3a9e-2c0d-5a44-9d57-0f2f7d6f1c11")
"""The namespace of the ids that files get which come without one: the same path, the same id."""


def path_of(item: MemoryItem, *, apart: bool = False) -> str:
    """Return the path of a memory's file, from the store's folder on.

    Where another user has a memory of the same id in the same category, it stands *apart*, under a name that is only this
    user's.
    """
    name = str(item.id)
    if apart:
        name += f".{blake2b(item.user_id.encode(), digest_size=8).hexdigest()}"
    return "/".join((*folder_of(item.category), f"{name}{SUFFIX}"))


def render(item: MemoryItem, codec: Codec) -> bytes:
    """Return what stands in a memory's file."""
    return (
        json.dumps(
            record_of(codec.encode(item), reads=False), ensure_ascii=False, indent=2
        ).encode()
        + b"\n"
    )


def parse(path: str, data: bytes, modified_ns: int, codec: Codec) -> MemoryItem:
    """Return the memory in a file. What a person left out is made up; content that they changed is counted again.

    Args:
        path: The file's path from the store's folder on.
        data: Its bytes.
        modified_ns: When it was last written, in nanoseconds since 1970.
        codec: What files hold of records.

    Raises:
        InvalidRecordError: The file does not hold a memory, or not one that the codec wrote.
        EncryptionError: The key that encrypted it is not at hand.
    """
    try:
        parsed = json.loads(data.decode())
    # Deeply nested brackets exceed the parser's recursion limit.
    except (ValueError, RecursionError) as error:
        raise InvalidRecordError(f"not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise InvalidRecordError("a file holds one JSON object")
    record = cast("dict[str, Any]", parsed)
    place = PurePosixPath(path)
    # Whole microseconds, as `datetime` holds them: dividing nanoseconds by 1e9 would round.
    changed_at = datetime.fromtimestamp(modified_ns // 1000 / 1e6, UTC)
    item = codec.decode(item_from(_defaults(place, changed_at, record) | record))
    # Where the file lies wins over what stands in it: moving it is how a person changes its
    # category.
    item = replace(item, category=category_in(place.parts[:-1], item.category))
    # A person changed the content but not the counts and the hash that belong to it.
    if not is_intact(item):
        item = recounted(item, default_counter().count)
        item = replace(item, updated_at=max(changed_at, item.created_at))
    return item


def _defaults(place: PurePosixPath, changed_at: datetime, record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a file may leave out. Its name is its id or its key, if it can be one."""
    try:
        memory_id = UUID(place.stem)
    except ValueError:
        # From the path, so that every process that reads the folder gives the file the same id.
        memory_id = uuid5(_FILE_IDS, str(place))
    key = str(record.get("id", memory_id))
    with suppress(InvalidKeyError):
        key = check_key(place.stem)
    moment = changed_at.isoformat()
    return {
        "id": str(memory_id),
        "memory_key": key,
        "memory_type": "note",
        "created_at": moment,
        "updated_at": record.get("created_at", moment),
    }
