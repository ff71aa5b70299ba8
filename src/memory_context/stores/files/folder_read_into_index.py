"""A folder of memory files together with its in-memory index.

The files are read once, into the index. From then on, changes to the index are written to the folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, StoreError
from memory_context.model.batches import MOST, batches_of_records, slices_of
from memory_context.model.item import AnyRecord, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.runtime import log_events
from memory_context.stores.codec import Codec
from memory_context.stores.files import changed_rows as changes
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.journals import (
    DELETED,
    READ,
    Line,
    Reads,
    append_lines,
    deletion_line,
    keep_lines,
    read_deletions,
    read_reads,
    reads_line,
)
from memory_context.stores.files.memory_file_format_and_defaults import parse, path_of, render
from memory_context.stores.files.safe_folder import MemoryFolder
from memory_context.stores.sql import restore_imported_records
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.schema import access
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file in a store's folder that does not hold a memory.

    Attributes:
        path: Its path relative to the store's folder.
        reason: Why it cannot be read as a memory.
    """

    path: str
    reason: str


class IndexedFolder:
    """The files of a folder as they were read, in an index. Not thread-safe: `FileStore` holds a lock around each use.

    Args:
        folder: The folder to read.
        index: An empty store in memory, which is filled from the folder.
        codec: Encodes the records in files.

    Raises:
        OSError: The folder cannot be read.
    """

    def __init__(self, folder: MemoryFolder, index: SQLAlchemyStore, codec: Codec) -> None:
        self.index = index
        self._codec = codec
        self._folder = folder
        self._problems: dict[str, str] = {}
        self._paths: dict[UserAndId, str] = {}
        self._reads = read_reads(folder)
        self._deleted_signature = folder.signature(DELETED)
        self._signatures = folder.scan()
        self._load()
        index.database.write(changes.watch)

    @property
    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the files that do not hold a memory, sorted by path."""
        problems = sorted(self._problems.items())
        return tuple(DamagedFile(path, reason) for path, reason in problems)

    def is_outdated(self) -> bool:
        """Return whether the folder changed since it was read."""
        if self._folder.signature(DELETED) != self._deleted_signature:
            return True
        return self._folder.scan() != self._signatures

    def holds_damaged(self, record: AnyRecord) -> TypeGuard[MemoryItem]:
        """Return whether *record* is a memory, and a damaged file has the path that its file would get."""
        return isinstance(record, MemoryItem) and path_of(record) in self._problems

    def save(self) -> None:
        """Write the changes of the index to the folder.

        New and changed files are written first, then deletions are noted, then files are removed, so that a crash in
        between loses nothing.

        Raises:
            OSError: The folder cannot be written to.
            StoreError: A file to be replaced or removed is damaged, or was changed since it was read.
        """
        changed = self.index.database.write(changes.take)
        gone: list[UserAndId] = []
        for user_and_id in changed.memories:
            item = self._item(user_and_id)
            if not item:
                gone.append(user_and_id)
            else:
                self._write(item)
        self._note_deletions(changed.deletions)
        for user_and_id in gone:
            path = self._paths.pop(user_and_id, None)
            if path is not None:
                self._check_unchanged(path)
                self._remove(path)
        self._save_reads(changed.reads)

    def write_all(self, user_id: str | None, progress: Callable[[int], object] | None) -> int:
        """Write the files of a user, or of all users, again; return the number of files.

        Raises:
            OSError: The folder cannot be written to.
        """
        done = 0
        for user_and_id in list(self._paths):
            item = self._item(user_and_id)
            if item and user_id in (None, item.user_id):
                self._write(item)
                done += 1
                if progress:
                    progress(done)
        return done

    def save_reads(self) -> None:
        """Write the reads of memories to the folder. It is not an error if the folder cannot be written to."""
        with suppress(OSError):
            self._save_reads(self.index.database.write(changes.take).reads)

    def forget_notes(self, user_id: str) -> None:
        """Remove the notes of a user's deletions and reads, and of the reads of memories that no longer exist.

        Raises:
            OSError: The folder cannot be written to.
        """
        known = {str(memory_id) for _, memory_id in self._paths}

        def is_of_another(line: Line) -> bool:
            return line.get("user_id") != user_id

        def is_kept(line: Line) -> bool:
            return line.get("id") in known and is_of_another(line)

        keep_lines(self._folder, DELETED, is_of_another)
        keep_lines(self._folder, READ, is_kept)

    def _load(self) -> None:
        """Fill the index. Memories come first: a deletion does not count if its memory was stored again."""
        memories: list[tuple[str, MemoryItem]] = []
        for path in self._signatures:
            item = self._read(path)
            if item:
                memories.append((path, item))
        users: defaultdict[str, list[MemoryItem]] = defaultdict(list)
        for path, item in sorted(memories, key=_precedence):
            user_and_id = (item.user_id, item.id)
            if user_and_id in self._paths:
                self._report(path, f"its id is that of {self._paths[user_and_id]}")
                continue
            self._paths[user_and_id] = path
            count, moment = self._reads.get(user_and_id, (0, None))
            with_reads = replace(item, access_count=count, accessed_at=moment)
            users[item.user_id].append(with_reads)
        for user, items in users.items():
            for conflict in self._take_in(user, items).conflicts:
                if conflict.id:
                    path = self._paths.pop((user, conflict.id))
                    self._report(path, conflict.reason)
        for user, deletions in read_deletions(self._folder).items():
            self._take_in(user, list(deletions.values()))

    def _read(self, path: str) -> MemoryItem | None:
        """Return the memory in a file; None if the file is gone, or is damaged, which is reported."""
        signature = self._signatures[path]
        if not signature:
            self._report(path, "not a plain file")
            return None
        try:
            return parse(path, self._folder.read(path), signature[2], self._codec)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report(path, error.strerror or str(error))
        except InvalidRecordError as error:
            self._report(path, str(error))
        return None

    def _report(self, path: str, problem: str) -> None:
        self._problems[path] = problem
        log_events.FILE_SKIPPED.log(file=str(self._folder.path / path))

    def _write(self, item: MemoryItem) -> None:
        user_and_id = (item.user_id, item.id)
        path = path_of(item)
        old_path = self._paths.get(user_and_id)
        is_taken = path in self._signatures and path not in self._problems
        if is_taken and path != old_path:
            path = path_of(item, apart=True)  # another user's file has this path
        if path in self._problems:
            raise StoreError(
                f"{self._folder.path / path} is damaged ({self._problems[path]}); repair or remove it"
            )
        for touched in {path, old_path or path}:
            self._check_unchanged(touched)
        data = render(item, self._codec)
        self._signatures[path] = self._folder.write(path, data)
        self._paths[user_and_id] = path
        if old_path is not None and old_path != path:
            self._remove(old_path)

    def _remove(self, path: str) -> None:
        self._folder.remove(path)
        self._signatures.pop(path, None)

    def _check_unchanged(self, path: str) -> None:
        """Raise StoreError if a file was changed since it was read, so that a person's edit is never overwritten."""
        signature = self._folder.signature(path)
        if signature not in (None, self._signatures.get(path)):
            raise StoreError(
                f"{self._folder.path / path} was changed after it was read, and was left as it is; try again"
            )

    def _note_deletions(self, changed: Sequence[tuple[str, str]]) -> None:
        lines = [
            deletion_line(user, key, self.index.deletion(Scope(user), key)) for user, key in changed
        ]
        append_lines(self._folder, DELETED, lines)
        self._deleted_signature = self._folder.signature(DELETED)

    def _save_reads(self, places: Sequence[UserAndId]) -> None:
        user_and_id = sa.tuple_(access.c.user_id, access.c.memory_id)
        noted: dict[UserAndId, Reads] = {}
        lines: list[Line] = []
        for some in slices_of(places, MOST):
            changed = sa.select(access).where(user_and_id.in_(some))
            for row in self.index.database.rows(changed):
                place = (row.user_id, row.memory_id)
                reads = (row.access_count, row.accessed_at)
                lines.append(reads_line(*place, reads, self._reads.get(place)))
                noted[place] = reads
        append_lines(self._folder, READ, lines)
        # Only now: if the lines could not be written, the next ones must hold these reads.
        self._reads |= noted

    def _item(self, user_and_id: UserAndId) -> MemoryItem | None:
        return self.index.database.read(indexing.item_by_id, *user_and_id)

    def _take_in(self, user_id: str, records: Sequence[AnyRecord]) -> Restored:
        """Add records of one user to the index as they are. The first search makes them searchable."""
        total = Restored()
        # In batches, because a database limits how many values a statement may have.
        for batch in batches_of_records(records):
            runs = list(restore_imported_records.runs(batch))
            total += self.index.database.write(restore_imported_records.restore, user_id, runs)
        return total


def _precedence(memory: tuple[str, MemoryItem]) -> tuple[Any, ...]:
    """Return the sort key of files: of those with the same id or key, the one at its proper path wins, then the newest."""
    path, item = memory
    return path_of(item) != path, -item.updated_at.timestamp(), path
