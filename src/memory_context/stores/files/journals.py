"""What a store notes beside its files: which memories were deleted, and how often memories were read."""

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
from memory_context.model.record_fields_in_json import deletion_from, deletion_record
from memory_context.model.scope import Scope
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.safe_folder import STATE, MemoryFolder

DELETED = f"{STATE}/deleted.jsonl"
READ = f"{STATE}/reads.jsonl"

Line: TypeAlias = dict[str, Any]
Reads: TypeAlias = tuple[int, datetime]
"""How often a memory was read, and when last."""


def read_deletions(folder: MemoryFolder) -> dict[str, dict[str, Deletion]]:
    """Return the deletions by user and key. A line without a time takes an earlier one back."""
    users: defaultdict[str, dict[str, Deletion]] = defaultdict(dict)
    for line in _lines(folder, DELETED):
        with suppress(InvalidRecordError, InvalidScopeError, KeyError, TypeError):
            # The file may have been edited by hand: `Scope` checks what stands there.
            user = Scope(line.pop("user_id")).user_id
            # The journal is only appended to, so that a crash cannot lose older lines; a memory
            # stored again under a deleted key takes its deletion back by a line too.
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
            place = (line["user_id"], UUID(str(line["id"])))
            moment = datetime.fromisoformat(line["accessed_at"]).astimezone(UTC)
            count, last = reads.get(place, (0, moment))
            # Lines hold differences, not totals: then two processes that note reads do not
            # overwrite each other.
            reads[place] = (count + int(line["reads"]), max(last, moment))
    return reads


def deletion_line(user_id: str, key: str, deletion: Deletion | None) -> Line:
    """Return the line that notes a deletion; without one, the line that takes it back."""
    noted = deletion_record(deletion) if deletion else {"memory_key": key}
    return {"user_id": user_id} | noted


def reads_line(user_id: str, memory_id: UUID, reads: Reads, noted: Reads | None) -> Line:
    """Return the line that adds the reads since those that were *noted* before."""
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
    """Remove every line of a journal but those that are to be kept.

    Raises:
        OSError: The folder cannot be written to.
    """
    if folder.signature(path) is not None:
        folder.write(path, _rendered(filter(is_kept, _lines(folder, path))))


def _rendered(lines: Iterable[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _lines(folder: MemoryFolder, path: str) -> Iterator[Line]:
    """Yield the lines of a journal; one that a crash cut off is left out."""
    try:
        data = folder.read(path)
    except OSError:
        return
    # A crash in the middle of an append leaves half a line, which is not valid JSON.
    for line in data.splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record
