"""The notes beside the memory files of a `FileStore`: a file of deletions, and one of reads.

Both hold JSON lines, and are replaced whole, so that a crash leaves the old notes or the new ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

from memory_context.exceptions import InvalidRecordError, InvalidScopeError
from memory_context.model.item import Deletion
from memory_context.model.records_as_json import deletion_from
from memory_context.model.scope import Scope
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.safe_folder import STATE, MemoryFolder, Signature

DELETED = f"{STATE}/deleted.jsonl"
READ = f"{STATE}/reads.jsonl"

Line: TypeAlias = dict[str, Any]
Reads: TypeAlias = tuple[int, datetime]
"""The number of reads of a memory, and the time of the last one."""


def read_deletions(folder: MemoryFolder) -> dict[str, dict[str, Deletion]]:
    """Return the deletions by user and key.

    Raises:
        OSError: The file cannot be read.
    """
    users: defaultdict[str, dict[str, Deletion]] = defaultdict(dict)
    for line in _lines(folder, DELETED):
        with suppress(InvalidRecordError, InvalidScopeError, KeyError, TypeError):
            # `Scope` checks the user id, because the file may have been edited by hand.
            user = Scope(line.pop("user_id")).user_id
            if "deleted_at" in line:
                deletion = deletion_from(line)
                users[user][deletion.memory_key] = deletion
            else:  # an earlier version, which only appended lines, took a deletion back so
                users[user].pop(line["memory_key"], None)
    return users


def read_reads(folder: MemoryFolder) -> dict[UserAndId, Reads]:
    """Return the reads of every memory.

    Raises:
        OSError: The file cannot be read.
    """
    reads: dict[UserAndId, Reads] = {}
    for line in _lines(folder, READ):
        with suppress(ValueError, KeyError, TypeError, OverflowError):
            user_and_id = (line["user_id"], UUID(str(line["id"])))
            moment = datetime.fromisoformat(line["accessed_at"]).astimezone(UTC)
            # Of a memory, earlier versions wrote several lines, which add up.
            count, last = reads.get(user_and_id, (0, moment))
            count += int(line["reads"])
            reads[user_and_id] = (count, max(last, moment))
    return reads


def write_reads(folder: MemoryFolder, reads: Mapping[UserAndId, Reads]) -> None:
    """Replace the notes of reads.

    Raises:
        OSError: The folder cannot be written to.
    """
    lines: list[Line] = []
    for (user_id, memory_id), (count, moment) in reads.items():
        which = {"user_id": user_id, "id": str(memory_id)}
        lines.append(which | {"reads": count, "accessed_at": moment.isoformat()})
    write_lines(folder, READ, lines)


def write_lines(folder: MemoryFolder, path: str, lines: Iterable[Line]) -> Signature:
    """Replace a file of notes; return its signature.

    Raises:
        OSError: The folder cannot be written to.
    """
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return folder.write(path, data)


def _lines(folder: MemoryFolder, path: str) -> Iterator[Line]:
    """Yield the lines of a file. Lines that are not JSON objects are left out, such as one edited by hand."""
    try:
        data = folder.read(path)
    except FileNotFoundError:
        return
    for line in data.splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record
