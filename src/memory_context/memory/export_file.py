"""The file of an export: JSON lines, and how they are read again.

The file, UTF-8, each line one JSON object (``.gz``: compressed):

1. ``{"memory_context": 1, "memories": 2, "deletions": 1}``: the version of this form, and how many lines follow.
2. ``{"memory": {…}}`` for each memory, with all of its fields; text under ``content``, bytes (and text that UTF-8
   cannot express) under ``content_bytes`` in base64; times in ISO 8601 with their zone.
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
from memory_context.model.item import Deletion, MemoryItem, is_intact
from memory_context.model.record_json import deletion_from, deletion_record, item_from, record_of
from memory_context.model.scope import Scope
from memory_context.runtime.atomic_file import draft_of

VERSION = 1
GZIP = b"\x1f\x8b"
Record: TypeAlias = MemoryItem | Deletion
Owned: TypeAlias = tuple[str, Record]


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line of an export that describes nothing.

    Attributes:
        line: Its number, from 1.
        reason: What is wrong with it.
    """

    line: int
    reason: str


@dataclass(slots=True)
class Reading:
    """The records of an export, one line after the other, and what was wrong with it."""

    file: IO[bytes]
    user: str | None
    damaged: list[DamagedLine] = field(default_factory=list[DamagedLine])
    complete: bool = False

    def header(self) -> int:
        """How many records the file says it has."""
        facts: dict[str, Any] = {}
        with suppress(ValueError, RecursionError, TypeError, OSError, EOFError, zlib.error):
            facts = dict(json.loads(self.file.readline()))
        version = facts.get("memory_context")
        if isinstance(version, int) and version > VERSION:
            message = (
                f"this export has the form {version}, this library reads {VERSION}; upgrade it"
            )
            raise InvalidRecordError(message)
        counts = facts.get("memories"), facts.get("deletions")
        if version == VERSION and isinstance(counts[0], int) and isinstance(counts[1], int):
            return counts[0] + counts[1]
        message = 'this is no export of memories: its first line is not {"memory_context": 1, …}'
        raise InvalidRecordError(message)

    def __iter__(self) -> Iterator[Owned]:
        """Every record of the user."""
        for number, line in self._lines():
            try:
                found = _record(line)
            except InvalidRecordError as error:
                self.damaged.append(DamagedLine(number, str(error)))
                continue
            if found is None:
                self.complete = True
            elif self.user in {None, found[0]}:
                yield found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 1
        try:
            for number, line in enumerate(self.file, 2):
                yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damaged.append(
                DamagedLine(number + 1, f"the compressed file is broken here: {error}")
            )


def _record(line: bytes) -> Owned | None:
    """The record of a line and whose it is; None at the end.

    Raises:
        InvalidRecordError: It is none.
    """
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"no JSON: {error}"
        raise InvalidRecordError(message) from error
    said = cast("dict[str, Any]", facts) if isinstance(facts, dict) else {}
    if said.keys() == {"memory"}:
        item = _intact(item_from(said["memory"]))
        return item.user_id, item
    if said.keys() == {"deletion"} and isinstance(said["deletion"], dict):
        values = cast("dict[str, Any]", said["deletion"])
        return _user(values.pop("user_id", None)), deletion_from(values)
    if said.keys() == {"end"}:
        return None
    message = "a line has one of memory, deletion and end"
    raise InvalidRecordError(message)


def _user(user: Any) -> str:  # noqa: ANN401 - whatever the line says
    try:
        return Scope(user).user_id
    except InvalidArgumentError as error:
        raise InvalidRecordError(str(error)) from error


def _intact(item: MemoryItem) -> MemoryItem:
    if item.content_hash and not is_intact(item):
        message = f"the content of {item.memory_key!r} is not what its hash says"
        raise InvalidRecordError(message)
    return item


def line_of(user: str, record: Record) -> dict[str, Any]:
    """The line of a record."""
    if isinstance(record, MemoryItem):
        return {"memory": record_of(record)}
    return {"deletion": {"user_id": user} | deletion_record(record)}


def write_line(file: IO[bytes], record: dict[str, Any]) -> None:
    """Write one line."""
    file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


@contextmanager
def new_file(path: Path) -> Generator[IO[bytes]]:
    """A file to write into, which takes its place once it is complete."""
    try:
        with draft_of(path) as draft, draft.open("xb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(path.stem, "wb", fileobj=raw, mtime=0) as file:
                    yield cast("IO[bytes]", file)
            else:
                yield raw
    except OSError as error:
        message = f"{path} cannot be written: {error}"
        raise StoreError(message) from error
