"""Back up a SQLite database into files with times in their names, and remove old ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import now
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.stores.protocol import Progress

# With microseconds and in this order: names sort by time, and two copies in a second differ.
STAMP = "%Y%m%dT%H%M%S%fZ"


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a database.

    Attributes:
        path: The file.
        size: Its size in bytes.
        removed: Older copies that were removed.
    """

    path: Path
    size: int
    removed: tuple[Path, ...]


def backup_database(
    store: MemoryStore,
    folder: str | os.PathLike[str],
    *,
    keep: int | None = None,
    progress: Progress | None = None,
) -> Backup:
    """Copy a SQLite database that may be in use into a new file ``memory-{time}.db`` in a folder.

    Args:
        store: A `SQLAlchemyStore` on SQLite. Encrypted contents stay encrypted in the copy.
        folder: Where the copies are; created if it is missing.
        keep: How many copies stay, this one included; older ones are removed once it is complete.
            None for all.
        progress: Called with how many pages of the database are copied, and of how many.

    Raises:
        InvalidArgumentError: `keep` is below 1, the folder is a file, or the store is not on SQLite
            (`UnsupportedDatabaseError`).
        StoreError: The store failed, or the file cannot be written.
    """
    if keep is not None:
        check_whole("keep", keep, 1)
    if not isinstance(store, SQLAlchemyStore):
        raise InvalidArgumentError(
            f"only SQLite databases are backed up this way, not {store!r}; export it"
        )
    check_arguments(folder=folder, progress=progress)
    backups = Path(folder)
    if backups.is_file():
        raise InvalidArgumentError(f"{backups} is a file; backups are written into a folder")
    try:
        backups.mkdir(parents=True, exist_ok=True)
        path = backups / f"memory-{now():{STAMP}}.db"
        store.backup(path, progress)
        # Only once the new copy is complete, and only files with names like ours.
        outdated = sorted(backups.glob("memory-*T*Z.db"))[:-keep] if keep else []
        for file in outdated:
            file.unlink()
    except OSError as error:
        raise StoreError(f"the backup in {backups} cannot be written: {error.strerror}") from error
    return Backup(path, path.stat().st_size, tuple(outdated))
