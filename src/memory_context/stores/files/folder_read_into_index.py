"""A folder and the index of what is in it: read once, and from then on written to whenever the index changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, StoreError
from memory_context.model.item import AnyRecord, Deletion, MemoryItem, Restored, now
from memory_context.model.scope import Scope
from memory_context.runtime import events
from memory_context.stores.codec import Codec
from memory_context.stores.files import changed_rows as changes
from memory_context.stores.files.changed_rows import UserAndId
from memory_context.stores.files.journals import (
    DELETED,
    READ,
    Reads,
    append_lines,
    deletion_line,
    keep_lines,
    read_deletions,
    read_reads,
    reads_line,
)
from memory_context.stores.files.memory_file import parse, path_of, render
from memory_context.stores.files.safe_folder import MemoryFolder
from memory_context.stores.sql import restore
from memory_context.stores.sql.index import indexing
from memory_context.stores.sql.schema import access
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore

REMOVED = "its file was removed"


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file in a store's folder that does not hold a memory.

    Attributes:
        path: From the store's folder on.
        reason: What is wrong with it.
    """

    path: str
    reason: str


class IndexedFolder:
    """The files of a folder as they were read, in an index. Not safe under threads: `FileStore` has the lock.

    Args:
        folder: The files.
        index: Empty; it is filled here.
        codec: What files hold of records.

    Raises:
        OSError: The folder cannot be read.
    """

    def __init__(self, folder: MemoryFolder, index: SQLAlchemyStore, codec: Codec) -> None:
        self.index = index
        self._codec = codec
        self._folder = folder
        self._problems: dict[str, str] = {}
        self._paths: dict[UserAndId, str] = {}
        self._reads: dict[UserAndId, Reads] = {}
        self._deleted_signature = folder.signature(DELETED)
        self._signatures = folder.scan()
        self._load()
        index.database.write(changes.watch)

    @property
    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the files that do not hold a memory, by their paths."""
        return tuple(DamagedFile(path, self._problems[path]) for path in sorted(self._problems))

    def is_outdated(self) -> bool:
        """Return whether the folder changed since it was read."""
        if self._folder.signature(DELETED) != self._deleted_signature:
            return True
        return self._folder.scan() != self._signatures

    def holds_damaged(self, item: MemoryItem) -> bool:
        """Return whether a damaged file stands where a memory's file would be."""
        return path_of(item) in self._problems

    def save(self) -> None:
        """Bring what changed in the index into the folder: new files first, then deletions, then what is gone.

        Raises:
            OSError: The folder cannot be written to.
            StoreError: A file in the way is damaged, or was changed after it was read.
        """
        changed = self.index.database.write(changes.take)
        gone: list[UserAndId] = []
        for place in changed.memories:
            item = self._item(place)
            if item is None:
                gone.append(place)
            else:
                self._write(item)
        self._note_deletions(changed.deletions)
        for place in gone:
            path = self._paths.pop(place, None)
            if path is not None:
                self._check_unchanged(path)
                self._remove(path)
        self._save_reads(changed.reads)

    def write_all(self, user_id: str | None, progress: Callable[[int], object] | None) -> int:
        """Write the files of a user, or of all, again; return how many there were.

        Raises:
            OSError: The folder cannot be written to.
        """
        done = 0
        for place in list(self._paths):
            item = self._item(place)
            if item is not None and user_id in (None, item.user_id):
                self._write(item)
                done += 1
                if progress:
                    progress(done)
        return done

    def save_reads(self) -> None:
        """Note how often memories were read; a folder that cannot be written to is not an error."""
        with suppress(OSError):
            self._save_reads(self.index.database.write(changes.take).reads)

    def note_removed_since(self, earlier: IndexedFolder, *, write: bool) -> None:
        """Note that memories were deleted whose files, which *earlier* had, were removed by hand.

        Args:
            earlier: The same folder as it was read before.
            write: Whether to note it in the folder too: for the process that may write.

        Raises:
            OSError: The folder cannot be written to.
        """
        for place, path in earlier._paths.items():
            if place in self._paths or path in self._problems:
                continue
            gone = earlier._item(place)
            if gone and self.index.deletion(Scope(gone.user_id), gone.memory_key) is None:
                self._take_in(gone.user_id, [Deletion(gone.memory_key, now(), REMOVED)])
        deletions = self.index.database.write(changes.take).deletions
        if write:
            self._note_deletions(deletions)

    def forget_notes(self, user_id: str) -> None:
        """Remove what is noted of a user's deletions, and of reads of memories that are gone.

        Raises:
            OSError: The folder cannot be written to.
        """
        known = {str(memory_id) for _, memory_id in self._paths}
        keep_lines(self._folder, DELETED, lambda line: line.get("user_id") != user_id)
        keep_lines(
            self._folder,
            READ,
            lambda line: line.get("user_id") != user_id and line.get("id") in known,
        )

    def _load(self) -> None:
        """Fill the index: memories first, because a deletion of what is there again does not count."""
        memories: list[tuple[str, MemoryItem]] = []
        for path in self._signatures:
            item = self._read(path)
            if item is not None:
                memories.append((path, item))
        users: defaultdict[str, list[MemoryItem]] = defaultdict(list)
        reads = read_reads(self._folder)
        for path, item in sorted(memories, key=_precedence):
            place = (item.user_id, item.id)
            if place in self._paths:
                self._report(path, f"its id is that of {self._paths[place]}")
                continue
            self._paths[place] = path
            if place in reads:
                self._reads[place] = reads[place]
            count, moment = self._reads.get(place, (0, None))
            users[item.user_id].append(replace(item, access_count=count, accessed_at=moment))
        for user, items in users.items():
            for conflict in self._take_in(user, items).conflicts:
                if conflict.id is not None:
                    self._report(self._paths.pop((user, conflict.id)), conflict.reason)
        for user, deletions in read_deletions(self._folder).items():
            self._take_in(user, list(deletions.values()))

    def _read(self, path: str) -> MemoryItem | None:
        """Return the memory in a file; None for a file that is damaged, which is reported, or gone."""
        signature = self._signatures[path]
        if not signature:
            self._report(path, "not a plain file")
            return None
        try:
            data = self._folder.read(path)
            return parse(path, data, signature[2], self._codec)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report(path, error.strerror or str(error))
        except InvalidRecordError as error:
            self._report(path, str(error))
        return None

    def _report(self, path: str, problem: str) -> None:
        self._problems[path] = problem
        events.FILE_SKIPPED.log(file=str(self._folder.path / path))

    def _write(self, item: MemoryItem) -> None:
        place = (item.user_id, item.id)
        path = path_of(item)
        old_path = self._paths.get(place)
        if path != old_path and path in self._signatures and path not in self._problems:
            path = path_of(item, apart=True)  # a file of another user stands there
        if path in self._problems:
            raise StoreError(
                f"{self._folder.path / path} is damaged ({self._problems[path]}); repair or remove it"
            )
        for touched in {path, old_path or path}:
            self._check_unchanged(touched)
        self._signatures[path] = self._folder.write(path, render(item, self._codec))
        self._paths[place] = path
        if old_path is not None and old_path != path:
            self._remove(old_path)

    def _remove(self, path: str) -> None:
        self._folder.remove(path)
        self._signatures.pop(path, None)

    def _check_unchanged(self, path: str) -> None:
        """Check that nobody changed a file since it was read: what a person wrote is never written over unseen."""
        if self._folder.signature(path) not in (None, self._signatures.get(path)):
            raise StoreError(
                f"{self._folder.path / path} was changed after it was read, and was left as it is; try again"
            )

    def _note_deletions(self, changed: Sequence[tuple[str, str]]) -> None:
        lines = [
            deletion_line(user, key, self.index.deletion(Scope(user), key)) for user, key in changed
        ]
        append_lines(self._folder, DELETED, lines)
        self._deleted_signature = self._folder.signature(DELETED)

    def _save_reads(self, places: Iterable[UserAndId]) -> None:
        mine = sa.tuple_(access.c.user_id, access.c.memory_id).in_(list(places))
        reads: dict[UserAndId, Reads] = {}
        for row in self.index.database.rows(sa.select(access).where(mine)):
            reads[row.user_id, row.memory_id] = (row.access_count, row.accessed_at)
        lines = [reads_line(*place, reads[place], self._reads.get(place)) for place in reads]
        append_lines(self._folder, READ, lines)
        self._reads |= reads

    def _item(self, place: UserAndId) -> MemoryItem | None:
        return self.index.database.read(indexing.item_by_id, *place)

    def _take_in(self, user_id: str, records: Sequence[AnyRecord]) -> Restored:
        """Take in records of one user as they are, to be indexed at the first search."""
        return self.index.database.write(restore.restore, user_id, records, {})


def _precedence(memory: tuple[str, MemoryItem]) -> tuple[Any, ...]:
    """Return what sorts files of one id or key: those in their own place first, then the newest."""
    path, item = memory
    return path_of(item) != path, -item.updated_at.timestamp(), path
