"""Write and read the file of an export, which is JSON lines.

The file is UTF-8, each line one JSON object (``.gz``: compressed):

1. ``{"memory_context": 1, "memories": 2, "deletions": 1}``: the version of the format, and how many
   lines follow.
2. ``{"memory": {…}}`` for each memory, with all of its fields; text under ``content``, bytes (and
   text with NUL bytes or lone surrogates) under ``content_bytes`` in base64; times in ISO 8601 with
   their zone.
3. ``{"deletion": {"user_id", "memory_key", "deleted_at", "reason"}}`` for each deletion.
4. ``{"end": {"memories": 2, "deletions": 1}}``; without it the file is not complete.

A user's memories come first, oldest first, then their deletions; then the next user's.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from memory_context.exceptions import InvalidArgumentError, InvalidRecordError, StoreError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import (
    AnyRecord,
    MemoryItem,
    check_names,
    hash_content,
    identity_of,
    is_intact,
    recounted,
)
from memory_context.model.json_object import JsonObject, members_of
from memory_context.model.json_records_of_exports import (
    deletion_from,
    deletion_record,
    item_from,
    record_of,
)
from memory_context.model.scope import Scope
from memory_context.runtime.files_replaced_safely import draft_of
from memory_context.text.tokens.counter import default_counter

VERSION = 1
GZIP = b"\x1f\x8b"
OwnedRecord: TypeAlias = tuple[str, AnyRecord]
"""A record, and the id of its user."""


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line of an export that cannot be read.

    Attributes:
        line: Its number, from 1.
        reason: What is wrong with it.
    """

    line: int
    reason: str


@dataclass(slots=True)
class ExportReader:
    """Reads the records of an export, line by line, and notes the lines that are damaged.

    Attributes:
        file: The file, decompressed.
        user: Whose records are read; None for everybody's.
        damaged: The lines that could not be read.
        complete: Whether the file's last line, ``end``, was read.
    """

    file: IO[bytes]
    user: str | None
    damaged: list[DamagedLine] = field(default_factory=list[DamagedLine])
    complete: bool = False

    def header(self) -> int:
        """Return the number of records that the file's header gives.

        Raises:
            InvalidRecordError: It is not an export, or one of a newer version.
        """
        facts: JsonObject = {}
        with suppress(ValueError, RecursionError, TypeError, OSError, EOFError, zlib.error):
            facts = dict(json.loads(self.file.readline()))
        version = facts.get("memory_context")
        if isinstance(version, int) and version > VERSION:
            raise InvalidRecordError(
                f"this export has format {version}, and this library reads {VERSION}; upgrade memory-context"
            )
        memories = facts.get("memories")
        deletions = facts.get("deletions")
        if version == VERSION and isinstance(memories, int) and isinstance(deletions, int):
            return memories + deletions
        raise InvalidRecordError(
            'not an export of memories: its first line is not {"memory_context": 1, …};'
            " a database is named by its URL, such as sqlite:///memory.db"
        )

    def __iter__(self) -> Iterator[OwnedRecord]:
        """Yield every record of the user."""
        for number, line in self._lines():
            try:
                record = _record(line)
            except InvalidRecordError as error:
                self.damaged.append(DamagedLine(number, str(error)))
                continue
            if record is None:
                self.complete = True
            elif self.user in (None, record[0]):
                yield record

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 1
        try:
            for number, line in enumerate(self.file, 2):
                yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the compressed file is broken here: {error}"
            self.damaged.append(DamagedLine(number + 1, reason))


def _record(line: bytes) -> OwnedRecord | None:
    """Return the record on a line, with the id of its user; None for the last line, ``end``.

    Raises:
        InvalidRecordError: It is not a record.
    """
    try:
        facts: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidRecordError(f"not valid JSON: {error}") from error
    members = members_of(facts)
    kind = ""
    value = None
    if len(members) == 1:
        [(kind, value)] = members.items()
    if kind == "memory":
        item = item_from(value)
        _check(item)
        if not item.content_hash:  # another program has written the line
            item = recounted(item, default_counter().count)
        return item.user_id, item
    if kind == "deletion" and isinstance(value, dict):
        values = dict(cast("JsonObject", value))
        try:
            user = Scope(values.pop("user_id", None)).user_id
        except InvalidArgumentError as error:
            raise InvalidRecordError(str(error)) from error
        return user, deletion_from(values)
    if kind == "end":
        return None
    raise InvalidRecordError("each line must be an object with one member: memory, deletion or end")


def _check(item: MemoryItem) -> None:
    """Check that a store could have written *item*.

    Raises:
        InvalidRecordError: `MemoryManager.store` would refuse it; or its hash or its identity is that
            of another content, which would then be taken for this one.
    """
    try:
        check_names(item.memory_type, item.tier, item.category, tags=item.tags)
        check_arguments(importance=item.importance)
        Scope(item.user_id, item.agent_id, item.thread_id, item.tier, item.tier_id)
    except InvalidArgumentError as error:
        raise InvalidRecordError(str(error)) from error
    if item.content_hash and not is_intact(item):
        raise InvalidRecordError(f"the content of {item.memory_key!r} does not match its hash")
    if item.identity and item.identity != identity_of(item.content, hash_content(item.content)):
        raise InvalidRecordError(f"the content of {item.memory_key!r} does not match its identity")


def line_of(user: str, record: AnyRecord) -> JsonObject:
    """Return the line for a record, as a JSON object."""
    if isinstance(record, MemoryItem):
        return {"memory": record_of(record)}
    return {"deletion": {"user_id": user} | deletion_record(record)}


def write_line(file: IO[bytes], facts: JsonObject) -> None:
    """Write one line."""
    file.write(json.dumps(facts, ensure_ascii=False).encode() + b"\n")


@contextmanager
def new_file(path: Path) -> Generator[IO[bytes]]:
    """Open a file for writing, which takes its place at `path` once it is complete.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        with draft_of(path) as draft, draft.open("wb") as raw:
            if path.suffix == ".gz":
                # Without a time in it, equal exports are equal files.
                with gzip.GzipFile(path.stem, "wb", fileobj=raw, mtime=0) as file:
                    yield cast("IO[bytes]", file)
            else:
                yield raw
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
