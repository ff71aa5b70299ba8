"""Move everything between stores without loss: store to store, and through a file of JSON lines.

`memory_context.memory.export_file_format` describes the file. A memory that is written while a transfer
runs may be part of it or not. Only a bounded number of records is in this process's memory at any time.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias, cast

from memory_context.exceptions import NothingMatchedError, StoreError
from memory_context.memory.export_file_format import (
    GZIP,
    VERSION,
    DamagedLine,
    ExportReader,
    OwnedRecord,
    line_of,
    new_file,
    write_line,
)
from memory_context.memory.filters_from_keywords import ANY_STATE
from memory_context.memory.redacted_records import redacted_import, users_of
from memory_context.model.batches import batches_of_records
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import Conflict, MemoryItem, Restored
from memory_context.model.origin import IMPORT
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore
from memory_context.stores.protocol import Progress, redactor_of


class Everybody(Enum):
    """Stands for the users of a whole store."""

    ALL_USERS = "all users"


ALL_USERS: Final = Everybody.ALL_USERS
User: TypeAlias = str | int | Literal[Everybody.ALL_USERS]


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export.

    Attributes:
        path: The file.
        size: Its size in bytes.
        memories: How many memories it holds.
        deletions: How many deletions it holds.
    """

    path: Path
    size: int
    memories: int
    deletions: int


@dataclass(frozen=True, slots=True)
class Transferred:
    """The outcome of an import or a copy.

    Attributes:
        written: Memories and deletions that are new in the target.
        unchanged: Those that were there already.
        conflicts: Those that were not written, because something else is in their place.
        damaged: Lines of the file that cannot be read.
        complete: Whether the file's last line, ``end``, was read.
    """

    written: int = 0
    unchanged: int = 0
    conflicts: tuple[Conflict, ...] = ()
    damaged: tuple[DamagedLine, ...] = ()
    complete: bool = True


def export_memories(
    store: MemoryStore,
    path: str | os.PathLike[str],
    *,
    user_id: User,
    progress: Progress | None = None,
) -> Exported:
    """Write everything that a store holds of a user into a file of JSON lines, compressed if named ``.gz``.

    An existing file is replaced only when the new one is complete: after an interruption the old one
    is still there.

    Args:
        store: Where the memories are.
        path: The file.
        user_id: Whose memories; `ALL_USERS` for an administrator's export of everybody's.
        progress: Called with how many memories and deletions are written, and of how many.

    Raises:
        InvalidArgumentError: `ALL_USERS` was given for a store that cannot list its users.
        InvalidScopeError: `user_id` is missing or not valid.
        NothingMatchedError: The store has nothing of the user; an existing file is unchanged.
        StoreError: The store failed, or the file cannot be written.
    """
    check_arguments(path=path, progress=progress)
    target = Path(path)
    users = users_of(store, _only(user_id))
    memories, deletions = _counts(store, users)
    if user_id is not ALL_USERS and not memories + deletions:
        raise NothingMatchedError(f"there is nothing of a user {user_id!r} in this store")
    written = {"memories": 0, "deletions": 0}
    with new_file(target) as file:
        write_line(file, {"memory_context": VERSION, "memories": memories, "deletions": deletions})
        for done, (user, record) in enumerate(_records(store, users), 1):
            write_line(file, line_of(user, record))
            kind = "memories" if isinstance(record, MemoryItem) else "deletions"
            written[kind] += 1
            if progress:
                # Others may write meanwhile: then there are more than were counted.
                progress(done, max(done, memories + deletions))
        write_line(file, {"end": written})
    return Exported(target, target.stat().st_size, **written)


def import_memories(
    store: MemoryStore,
    path: str | os.PathLike[str],
    *,
    user_id: User,
    keep_origins: bool = False,
    progress: Progress | None = None,
) -> Transferred:
    """Write everything that a file of `export_memories` holds of a user into a store.

    Importing twice changes nothing, so an interrupted import is done again. A damaged line is
    reported and left out.

    Args:
        store: Where the memories go.
        path: The file, compressed or not.
        user_id: Whose memories; `ALL_USERS` for everybody's that are in the file.
        keep_origins: Whether to believe what the file says about origins and generated keys. Only for
            a file that nobody but you can have written. Without it, everything new has the origin
            ``import``.
        progress: Called with how many memories and deletions are done, and of how many in the file.

    Raises:
        InvalidRecordError: It is not such a file, or one of a newer version.
        InvalidScopeError: `user_id` is missing or not valid.
        StoreError: The store failed, or the file cannot be read.
    """
    check_arguments(store=store, path=path, progress=progress)
    only = _only(user_id)
    try:
        with Path(path).open("rb") as raw:
            # By its first bytes, not by its name: files are renamed.
            is_compressed = raw.read(2) == GZIP
            raw.seek(0)
            with cast("IO[bytes]", gzip.open(raw)) if is_compressed else raw as file:
                reader = ExportReader(file, only)
                total = reader.header()
                records = reader if keep_origins else _as_imports(reader)
                result = _restored(records, store, total, progress)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{path} cannot be read: {reason}") from error
    return replace(result, damaged=tuple(reader.damaged), complete=reader.complete)


def copy_memories(
    source: MemoryStore, target: MemoryStore, *, user_id: User, progress: Progress | None = None
) -> Transferred:
    """Copy everything that one store holds of a user into another. Copying twice changes nothing.

    Args:
        source: Where the memories are.
        target: Where they go.
        user_id: Whose memories; `ALL_USERS` for an administrator's copy of everybody's.
        progress: Called with how many memories and deletions are done, and of how many.

    Raises:
        InvalidArgumentError: `ALL_USERS` was given for a store that cannot list its users.
        InvalidScopeError: `user_id` is missing or not valid.
        StoreError: One of the stores failed.
    """
    check_arguments(store=target, progress=progress)
    users = users_of(source, _only(user_id))
    return _restored(_records(source, users), target, sum(_counts(source, users)), progress)


def _only(user_id: User) -> str | None:
    """Return the id of the one user whose memories are moved; None for `ALL_USERS`.

    Raises:
        InvalidScopeError: It is neither, such as None.
    """
    return None if user_id is ALL_USERS else Scope(cast("str", user_id)).user_id


def _counts(store: MemoryStore, users: Iterable[str]) -> tuple[int, int]:
    """Count memories and deletions."""
    memories = deletions = 0
    for user in users:
        memories += store.count(Scope(user), ANY_STATE)
        deletions += sum(1 for _ in store.list_deleted(Scope(user)))
    return memories, deletions


def _records(store: MemoryStore, users: Iterable[str]) -> Iterator[OwnedRecord]:
    for user in users:
        for item in store.list_all(Scope(user)):
            yield user, item
        for deletion in store.list_deleted(Scope(user)):
            yield user, deletion


def _as_imports(records: Iterable[OwnedRecord]) -> Iterator[OwnedRecord]:
    """Yield records with the origin ``import`` and no generated key: anybody may have written the file."""
    for user, record in records:
        if isinstance(record, MemoryItem):
            yield user, replace(record, origin=IMPORT, generated_key=False)
        else:
            yield user, record


def _restored(
    records: Iterable[OwnedRecord], store: MemoryStore, total: int, progress: Progress | None
) -> Transferred:
    """Write records into a store, batch by batch; without secrets, if it has a redactor."""
    done = 0
    sum_of_all = Restored()
    redactor = redactor_of(store)
    for user, owned in groupby(records, itemgetter(0)):
        incoming = (record for _, record in owned)
        if redactor:
            incoming = (redacted_import(record, redactor) for record in incoming)
        for batch in batches_of_records(incoming):
            sum_of_all += store.restore(Scope(user), batch)
            done += len(batch)
            if progress:
                progress(done, max(done, total))
    return Transferred(sum_of_all.written, sum_of_all.unchanged, sum_of_all.conflicts)
