"""The JSON file of one memory: its path, its text, and the default values for fields that a person left out."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import cast
from uuid import UUID, uuid5

from memory_context.exceptions import InvalidKeyError, InvalidRecordError
from memory_context.model.item import MemoryItem, is_intact, is_storable, recounted
from memory_context.model.json_object import JsonObject
from memory_context.model.json_records_of_exports import item_from, record_of
from memory_context.model.reference import check_key
from memory_context.stores.codec import Codec
from memory_context.stores.files.category_folders import category_in, folder_of
from memory_context.stores.files.safe_folder import SUFFIX
from memory_context.text.tokens.counter import default_counter

_FILE_IDS = UUID("6b1f3a9e-2c0d-5a44-9d57-0f2f7d6f1c11")
"""The namespace of the ids of files without one. They are derived from the path: the same path gives the same id."""


def path_of(item: MemoryItem, *, apart: bool = False) -> str:
    """Return the path of a memory's file, relative to the store's folder.

    If another user has a memory with the same id in the same category, the file is kept *apart*: a hash of the user's
    id is added to its name.
    """
    name = str(item.id)
    if apart:
        name += f".{blake2b(item.user_id.encode(), digest_size=8).hexdigest()}"
    names = (*folder_of(item.category), name + SUFFIX)
    return "/".join(names)


def render(item: MemoryItem, codec: Codec) -> bytes:
    """Return the bytes of a memory's file."""
    record = record_of(codec.encode(item), reads=False)
    return json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n"


def parse(path: str, data: bytes, modified_ns: int, codec: Codec) -> MemoryItem:
    """Return the memory in a file.

    Fields that a person left out get default values. If a person changed the content, its counts and its hash are
    computed again.

    Args:
        path: The file's path, relative to the store's folder.
        data: The file's bytes.
        modified_ns: The time of the file's last change, in nanoseconds since 1970.
        codec: Encodes the records in files.

    Raises:
        InvalidRecordError: The file does not hold a memory, or holds one that the codec did not write.
        EncryptionError: The key that encrypted it is not available.
    """
    if not is_storable(path):
        raise InvalidRecordError("the name of the file or of a folder is not UTF-8")
    try:
        parsed = json.loads(data.decode())
    # Deeply nested brackets exceed the parser's recursion limit.
    except (ValueError, RecursionError) as error:
        raise InvalidRecordError(f"not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise InvalidRecordError("a memory file holds one JSON object")
    record = cast("JsonObject", parsed)
    file_path = PurePosixPath(path)
    # Whole microseconds, as `datetime` holds them: dividing nanoseconds by 1e9 would round.
    changed_at = datetime.fromtimestamp(modified_ns // 1000 / 1e6, UTC)
    complete = _defaults(file_path, changed_at, record) | record
    item = codec.decode(item_from(complete))
    # The folders of the file decide, not the category in its text: a person changes the category
    # by moving the file.
    item = replace(item, category=category_in(file_path.parts[:-1], item.category))
    # If a person changed the content, its counts and its hash no longer fit.
    if not is_intact(item):
        item = recounted(item, default_counter().count)
        item = replace(item, updated_at=max(changed_at, item.created_at))
    return item


def _defaults(file_path: PurePosixPath, changed_at: datetime, record: JsonObject) -> JsonObject:
    """Return default values for the fields that a file may leave out.

    The file's name without its suffix becomes the id if it is a UUID, and the key if it is a valid key.
    """
    try:
        memory_id = UUID(file_path.stem)
    except ValueError:
        # From the path, so that every process that reads the folder gives the file the same id.
        memory_id = uuid5(_FILE_IDS, str(file_path))
    key = str(record.get("id", memory_id))
    with suppress(InvalidKeyError):
        key = check_key(file_path.stem)
    moment = changed_at.isoformat()
    return {
        "id": str(memory_id),
        "memory_key": key,
        "memory_type": "note",
        "created_at": moment,
        "updated_at": record.get("created_at", moment),
    }
