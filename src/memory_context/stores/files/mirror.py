"""Keeps a folder of files and an index in step: what a person changed goes into the index, what a verb changed, out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, cast
from uuid import UUID, uuid5

from memory_context.exceptions import (
    InvalidKeyError,
    InvalidRecordError,
    InvalidScopeError,
    StoreError,
)
from memory_context.model.item import Deletion, MemoryItem, is_intact, new_key, now
from memory_context.model.record_json import (
    deletion_from,
    deletion_record,
    item_from,
    record_of,
    recounted,
)
from memory_context.model.reference import check_key
from memory_context.model.scope import Scope
from memory_context.runtime import events
from memory_context.stores.files.folder import (
    STATE,
    SUFFIX,
    Folder,
    Seen,
    Signature,
    category_in,
    folder_of,
)
from memory_context.stores.files.memory_index import Index
from memory_context.text.tokens.counter import default_counter

DELETED = f"{STATE}/deleted.jsonl"
READ = f"{STATE}/reads.jsonl"
REMOVED = "its file was removed"
DROPPED_IN = UUID(
    "6b1f3a9e-2c0d-5a44-9d57-0f2f7d6f1c11"
)  # a namespace of our own: ids of files that come without one


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file that is in a store's folder, and is no memory.

    Attributes:
        path: From the store's folder on.
        reason: What is wrong with it.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was read: its memory, or what is wrong with it."""

    path: str
    seen: Seen
    item: MemoryItem | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Owner:
    """Whose memory a file holds."""

    id: UUID
    user_id: str
    memory_key: str


class Mirror:
    """A folder and the index of what is in it. Not safe under threads: `FileStore` lets in one at a time.

    Args:
        folder: The files.
        index: Empty.
    """

    def __init__(self, folder: Folder, index: Index) -> None:
        self.index = index
        self._folder = folder
        self._seen: dict[str, Seen] = {}
        self._owners: dict[str, _Owner] = {}
        self._paths: dict[UUID, str] = {}
        self._problems: dict[str, str] = {}
        self._reads: dict[UUID, tuple[int, datetime]] = {}
        self._deletions: Signature | None = ()
        self._persisted = _reads_in(_lines(folder, READ))
        self.look(notes=False)

    @property
    def damaged(self) -> tuple[DamagedFile, ...]:
        """The files that hold no memory, by their paths."""
        return tuple(DamagedFile(path, self._problems[path]) for path in sorted(self._problems))

    def look(self, *, notes: bool) -> None:
        """Bring what a person, or another process, changed in the folder into the index.

        Args:
            notes: Whether to write down that a file's removal deleted its memory: for the process that may write.

        Raises:
            OSError: The folder cannot be read.
        """
        found = self._folder.scan()
        gone = [path for path in self._seen if path not in found]
        changed = [path for path, signature in found.items() if not self._is(path, signature)]
        vanished = (
            self._take_in(gone, [file for file in map(self._read, changed) if file])
            if gone or changed
            else []
        )
        deleted = self._take_in_deletions()
        self._note_removed(vanished, notes=notes)
        if gone or changed or deleted:
            self._discard_changes()

    def knows(self, scope: Scope, keys: Sequence[str], *, all_of_them: bool) -> bool:
        """Whether the files of the memories under `keys` are as they were read, and (`all_of_them`) no key is new."""
        ids = self.index.ids(scope, keys)
        if all_of_them and len(ids) < len(set(keys)):
            return False
        return all(self._is_as_seen(self._paths[memory_id]) for memory_id in ids.values())

    def holds_damaged(self, item: MemoryItem) -> bool:
        """Whether the place of a memory's file is taken by a damaged one."""
        return path_of(item) in self._problems

    def save(self) -> None:
        """Bring what changed in the index into the folder: new files first, then deletions, then what is gone.

        Raises:
            OSError: The folder cannot be written to.
            StoreError: A damaged file stands in the way.
        """
        changes = self.index.changes()
        gone = [memory_id for memory_id in changes.memories if not self._saved(memory_id)]
        self._note(changes.deletions)
        for memory_id in gone:
            if path := self._paths.pop(memory_id, None):
                self._forget(path)
                self._folder.remove(path)
        self._save_reads(changes.reads)

    def save_reads(self) -> None:
        """Bring into the folder how often memories were read; a folder that cannot be written to is no error."""
        with suppress(OSError):
            self._save_reads(self.index.changes().reads)

    def _is(self, path: str, signature: Signature) -> bool:
        """Whether a file is certainly as it was read."""
        seen = self._seen.get(path)
        return seen is not None and seen.settled and seen.signature == signature

    def _is_as_seen(self, path: str) -> bool:
        """Whether a file is as it was read; one that is too young for its times to tell is read again."""
        signature, seen = self._folder.signature(path), self._seen[path]
        if signature is None or signature != seen.signature:
            return False
        if not seen.settled:
            with suppress(OSError):
                _, fresh = self._folder.read(path)
                self._seen[path] = fresh if fresh.digest == seen.digest else seen
                return fresh.digest == seen.digest
        return True

    def _read(self, path: str) -> _File | None:
        """The file, if it is another than before."""
        before = self._seen.get(path)
        try:
            data, seen = self._folder.read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _File(
                path,
                Seen(self._folder.signature(path) or (), settled=True, digest=b""),
                problem=f"{error.strerror or error}",
            )
        if before is not None and before.digest == seen.digest:
            self._seen[path] = seen
            return None
        try:
            return _File(path, seen, parsed(path, data, seen.signature))
        except InvalidRecordError as error:
            return _File(path, seen, problem=str(error))

    def _take_in(self, gone: Sequence[str], files: Sequence[_File]) -> list[_Owner]:
        """Bring changed files into the index; whose memories went with the files that are gone."""
        stale = {
            path: owner
            for path in [*gone, *(file.path for file in files)]
            if (owner := self._forget(path))
        }
        reads = self.index.reads([owner.id for owner in stale.values()])
        for user, owners in _by_user(stale.values()).items():
            self.index.drop(user, [owner.id for owner in owners])
        accepted = list(self._accepted(files))
        for user, items in _by_user(item for _, item in accepted).items():
            known = self._persisted | reads
            self._load(user, [_with_reads(item, known.get(item.id)) for item in items])
        return [stale[path] for path in gone if path in stale and stale[path].id not in self._paths]

    def _accepted(self, files: Sequence[_File]) -> Iterator[tuple[str, MemoryItem]]:
        """The memories of files; of several with one id the newest, and where they are equal, the one in its place."""
        for file in sorted(files, key=_by_age):
            self._seen[file.path] = file.seen
            if file.item is None:
                self._report(file.path, file.problem)
            elif file.item.id in self._paths:
                self._report(file.path, f"its id is that of {self._paths[file.item.id]}")
            else:
                self._place(file.path, file.item)
                yield file.path, file.item

    def _load(self, user: str, items: Sequence[MemoryItem]) -> None:
        for conflict in self.index.load(user, items):
            if conflict.id is not None:
                path = self._paths.pop(conflict.id)
                del self._owners[path]
                self._report(path, conflict.reason)

    def _note_removed(self, owners: Sequence[_Owner], *, notes: bool) -> None:
        """Note that memories were deleted with their files, unless the process that did it has said why."""
        for owner in owners:
            if self.index.deletion(Scope(owner.user_id), owner.memory_key) is None:
                self.index.note(owner.user_id, [Deletion(owner.memory_key, now(), REMOVED)])
                if notes:
                    self._note([(owner.user_id, owner.memory_key)])

    def _take_in_deletions(self) -> bool:
        """Read what another process deleted, if that changed."""
        signature = self._folder.signature(DELETED)
        if signature == self._deletions:
            return False
        self._deletions = signature
        for user, deletions in _deletions_in(_lines(self._folder, DELETED)).items():
            self.index.note(user, list(deletions.values()))
        return True

    def _discard_changes(self) -> None:
        changes = self.index.changes()
        self._reads |= self.index.reads(changes.reads)

    def _saved(self, memory_id: UUID) -> bool:
        """Write a memory's file; False if the memory is gone."""
        item, old = self.index.item(memory_id), self._paths.get(memory_id)
        if item is None:
            return False
        if old is not None and not self._is_as_seen(old):
            return True  # a person was there after the last look: the next one takes it in
        path = path_of(item)
        if path in self._problems:
            message = f"{self._folder.path / path} is damaged ({self._problems[path]}); repair or remove it"
            raise StoreError(message)
        self._seen[path] = self._folder.write(path, written(item))
        if old is not None and old != path:
            self._forget(old)
            self._folder.remove(old)
        self._place(path, item)
        return True

    def _note(self, changed: Iterable[tuple[str, str]]) -> None:
        lines = list[dict[str, Any]]()
        for user, key in changed:
            deletion = self.index.deletion(Scope(user), key)
            lines.append(
                {"user_id": user} | (deletion_record(deletion) if deletion else {"memory_key": key})
            )
        self._append(DELETED, lines)
        self._deletions = self._folder.signature(DELETED) if lines else self._deletions

    def _save_reads(self, ids: Sequence[UUID]) -> None:
        counts = self.index.reads(ids)
        self._append(
            READ,
            [
                _read_line(memory_id, *counts[memory_id], self._reads.get(memory_id))
                for memory_id in counts
            ],
        )
        self._reads |= counts

    def forget_notes(self, user_id: str) -> None:
        """Remove what is noted of a user's deletions, and of reads of memories that are gone.

        Raises:
            OSError: The folder cannot be written to.
        """
        self._rewrite(DELETED, lambda line: line.get("user_id") != user_id)
        self._rewrite(READ, lambda line: line.get("id") in set(map(str, self._paths)))
        self._deletions = self._folder.signature(DELETED)

    def _rewrite(self, path: str, is_kept: Callable[[dict[str, Any]], bool]) -> None:
        if self._folder.signature(path) is not None:
            kept = filter(is_kept, _lines(self._folder, path))
            self._folder.write(path, b"".join(json.dumps(line).encode() + b"\n" for line in kept))

    def _append(self, path: str, lines: Sequence[dict[str, Any]]) -> None:
        if lines:
            self._folder.append(path, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def _place(self, path: str, item: MemoryItem) -> None:
        self._paths[item.id] = path
        self._owners[path] = _Owner(item.id, item.user_id, item.memory_key)
        self._problems.pop(path, None)

    def _forget(self, path: str) -> _Owner | None:
        self._seen.pop(path, None)
        self._problems.pop(path, None)
        owner = self._owners.pop(path, None)
        if owner and self._paths.get(owner.id) == path:
            del self._paths[owner.id]
        return owner

    def _report(self, path: str, problem: str) -> None:
        self._problems[path] = problem
        events.FILE_SKIPPED.log(file=str(self._folder.path / path))


def path_of(item: MemoryItem) -> str:
    """Where a memory's file is."""
    return "/".join((*folder_of(item.category), f"{item.id}{SUFFIX}"))


def written(item: MemoryItem) -> bytes:
    """A memory's file."""
    return json.dumps(record_of(item, reads=False), ensure_ascii=False, indent=2).encode() + b"\n"


def parsed(path: str, data: bytes, signature: Signature) -> MemoryItem:
    """The memory in a file. What a person left out is made up; what they changed in the content is counted again.

    Raises:
        InvalidRecordError: It is no memory.
    """
    try:
        record = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        message = f"no JSON: {error}"
        raise InvalidRecordError(message) from error
    place = PurePosixPath(path)
    changed_at = datetime.fromtimestamp(signature[2] // 1000 / 1e6, UTC)
    if not isinstance(record, dict):
        message = "a file holds one JSON object"
        raise InvalidRecordError(message)
    said = cast("dict[str, Any]", record)
    item = item_from(_made_up(place, changed_at, said) | said)
    item = replace(item, category=category_in(place.parts[:-1], item.category))
    if not is_intact(item):
        counted = recounted(item, default_counter().count)
        item = replace(counted, updated_at=max(changed_at, item.created_at))
    has_key = "memory_key" in said or item.memory_key != _NO_KEY
    return item if has_key else replace(item, memory_key=new_key("note", item))


_NO_KEY = "-"


def _made_up(place: PurePosixPath, changed_at: datetime, said: dict[str, Any]) -> dict[str, Any]:
    moment = changed_at.isoformat()
    key = _NO_KEY
    with suppress(InvalidKeyError):
        key = check_key(place.stem)
    with suppress(ValueError):
        UUID(place.stem)
        key = _NO_KEY
    created = said.get("created_at", moment)
    return {
        "id": str(_id_of(place)),
        "memory_key": key,
        "memory_type": "note",
        "created_at": moment,
        "updated_at": created,
    }


def _id_of(place: PurePosixPath) -> UUID:
    with suppress(ValueError):
        return UUID(place.stem)
    return uuid5(DROPPED_IN, str(place))


def _by_age(file: _File) -> tuple[Any, ...]:
    if file.item is None:
        return (1, file.path)
    return (0, -file.item.updated_at.timestamp(), path_of(file.item) != file.path, file.path)


def _with_reads(item: MemoryItem, reads: tuple[int, datetime] | None) -> MemoryItem:
    count, moment = reads or (0, None)
    return replace(item, access_count=count, accessed_at=moment)


def _by_user(things: Iterable[Any]) -> dict[str, list[Any]]:
    """Owners or memories, by whose they are."""
    users = defaultdict[str, list[Any]](list)
    for thing in things:
        users[thing.user_id].append(thing)
    return users


def _read_line(
    memory_id: UUID, count: int, moment: datetime, before: tuple[int, datetime] | None
) -> dict[str, Any]:
    """The reads since they were last written down, so that the lines of several processes add up."""
    return {
        "id": str(memory_id),
        "reads": count - (before[0] if before else 0),
        "accessed_at": moment.isoformat(),
    }


def _lines(folder: Folder, path: str) -> Iterator[dict[str, Any]]:
    """The lines of a file of the store's own; one that a crash cut off is left out."""
    try:
        data, _ = folder.read(path)
    except OSError:
        return
    for line in data.splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record


def _reads_in(lines: Iterable[dict[str, Any]]) -> dict[UUID, tuple[int, datetime]]:
    reads: dict[UUID, tuple[int, datetime]] = {}
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, OverflowError):
            memory_id, moment = (
                UUID(str(line["id"])),
                datetime.fromisoformat(line["accessed_at"]).astimezone(UTC),
            )
            count, last = reads.get(memory_id, (0, moment))
            reads[memory_id] = (count + int(line["reads"]), max(last, moment))
    return reads


def _deletions_in(lines: Iterable[dict[str, Any]]) -> dict[str, dict[str, Deletion]]:
    """The deletions by user and key; a line without a time takes one back."""
    users = defaultdict[str, dict[str, Deletion]](dict)
    for line in lines:
        with suppress(InvalidRecordError, InvalidScopeError, KeyError, TypeError):
            user = Scope(line.pop("user_id")).user_id
            if "deleted_at" in line:
                deletion = deletion_from(line)
                users[user][deletion.memory_key] = deletion
            else:
                users[user].pop(line["memory_key"], None)
    return users
