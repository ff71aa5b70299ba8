"""The journals beside the memory files of a `FileStore`: one of deletions, and one of reads.

A journal is a file of JSON lines that is only appended to, except when a user is forgotten.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

from memory_context.exceptions import InvalidRecordError, InvalidScopeError
from memory_context.model.item import Deletion
from memory_context.model.json_records_of_exports import deletion_from, deletion_record
from memory_context.model.scope import Scope
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.safe_folder import STATE, MemoryFolder

DELETED = f"{STATE}/deleted.jsonl"
READ = f"{STATE}/reads.jsonl"

Line: TypeAlias = dict[str, Any]
Reads: TypeAlias = tuple[int, datetime]
"""The number of reads of a memory, and the time of the last one."""


def read_deletions(folder: MemoryFolder) -> dict[str, dict[str, Deletion]]:
    """Return the deletions by user and key. A line without a time takes back the deletion of its key."""
    users: defaultdict[str, dict[str, Deletion]] = defaultdict(dict)
    for line in _lines(folder, DELETED):
        with suppress(InvalidRecordError, InvalidScopeError, KeyError, TypeError):
            # `Scope` checks the user id, because the file may have been edited by hand.
            user = Scope(line.pop("user_id")).user_id
            # The journal is only appended to, so that a crash cannot lose older lines. So when a
            # memory is stored again under a deleted key, another line takes the deletion back.
            if "deleted_at" in line:
                deletion = deletion_from(line)
                users[user][deletion.memory_key] = deletion
            else:
                users[user].pop(line["memory_key"], None)
    return users


def read_reads(folder: MemoryFolder) -> dict[UserAndId, Reads]:
    """Return the reads of every memory: the lines of several processes add up."""
    reads: dict[UserAndId, Reads] = {}
    for line in _lines(folder, READ):
        with suppress(ValueError, KeyError, TypeError, OverflowError):
            user_and_id = (line["user_id"], UUID(str(line["id"])))
            moment = datetime.fromisoformat(line["accessed_at"]).astimezone(UTC)
            count, last = reads.get(user_and_id, (0, moment))
            # Lines hold increments, not totals, so that two processes can note reads without
            # overwriting each other's.
            count += int(line["reads"])
            reads[user_and_id] = (count, max(last, moment))
    return reads


def deletion_line(user_id: str, key: str, deletion: Deletion | None) -> Line:
    """Return the line that notes a deletion; if *deletion* is None, the line that takes it back."""
    noted = deletion_record(deletion) if deletion else {"memory_key": key}
    return {"user_id": user_id} | noted


def reads_line(user_id: str, memory_id: UUID, reads: Reads, noted: Reads | None) -> Line:
    """Return the line that adds the reads beyond *noted*, which earlier lines hold already."""
    count, moment = reads
    if noted is not None:
        count -= noted[0]
    return {
        "user_id": user_id,
        "id": str(memory_id),
        "reads": count,
        "accessed_at": moment.isoformat(),
    }


def append_lines(folder: MemoryFolder, path: str, lines: Iterable[Line]) -> None:
    """Add lines to a journal.

    Raises:
        OSError: The folder cannot be written to.
    """
    data = _rendered(lines)
    if data:
        folder.append(path, data)


def keep_lines(folder: MemoryFolder, path: str, is_kept: Callable[[Line], bool]) -> None:
    """Remove every line of a journal for which *is_kept* is false.

    Raises:
        OSError: The folder cannot be written to.
    """
    if folder.signature(path) is not None:
        folder.write(path, _rendered(filter(is_kept, _lines(folder, path))))


def _rendered(lines: Iterable[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _lines(folder: MemoryFolder, path: str) -> Iterator[Line]:
    """Yield the lines of a journal. Lines that are not JSON objects are left out, such as one cut off by a crash."""
    try:
        data = folder.read(path)
    except OSError:
        return
    for line in data.splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record
