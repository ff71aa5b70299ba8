"""The store of memories as files that a person can read and edit: a JSON file per memory, a folder per category.

All reads go to a SQLite database beside the files (see `database_beside_files`), and each write also writes the files.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from memory_context.model.checked_arguments import check_arguments
from memory_context.model.quota import Quota
from memory_context.model.receipt import Receipt
from memory_context.stores.codec import Codec, url_prefix
from memory_context.stores.files.database_beside_files import DamagedFile, FolderDatabase
from memory_context.stores.files.safe_folder import DIRECTORY_MODE, FILE_MODE, MemoryFolder
from memory_context.stores.sql.schema import MEMORY_IDS
from memory_context.stores.sql.sqlalchemy_store import CALLS_KEPT, SQLAlchemyStore
from memory_context.text.index.embedders import AnyEmbedder

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor


class FileStore(SQLAlchemyStore):
    """A `MemoryStore` in a folder: a JSON file for each memory at ``{directory}/{category}/{id}.json``.

    The files are the truth. The database ``.memory-context/index.db`` beside them makes them searchable, and holds what
    no file does: reads, deletions, model calls. It is made at the first use; in a folder that cannot be written to, it
    is made in memory.

    The files are compared with it at the first use and on `refresh`. Only then does the store see the files that a
    person edited, added, removed or moved to another category. A file that does not hold a memory is logged, listed by
    `damaged`, skipped, and left as it is. POSIX systems only.

    Args:
        directory: The folder. It is made at the first use.
        file_mode: The mode of new files: 0644 or stricter. The process's umask restricts it further.
        directory_mode: The mode of new folders: 0755 or stricter. The process's umask restricts it further.
        embedder: Makes vectors for semantic search (see `SQLAlchemyStore`). Those of files that a person changed are
            made by `reindex`, or after a search and a `put`.
        embedding_model: The name of the embedder's model.
        quota: The limit on what is kept for each user. A write that would exceed it raises a `QuotaExceededError`.
        codec: Encodes the records in files and in the database: `Compressed` or `Encrypted`. Without a codec they are
            stored as they are.
        redactor: Removes secrets from texts before they are stored (see `SQLAlchemyStore`).
        calls_kept: How long model calls and decisions are kept (see `SQLAlchemyStore`).

    Raises:
        InvalidArgumentError: A mode is wider than allowed, or *embedder* is not an embedder.
    """

    def __init__(  # noqa: PLR0913 - each is an option of its own
        self,
        directory: str | os.PathLike[str],
        *,
        file_mode: int = FILE_MODE,
        directory_mode: int = DIRECTORY_MODE,
        embedder: AnyEmbedder | None = None,
        embedding_model: str | None = None,
        quota: Quota | None = None,
        codec: Codec | None = None,
        redactor: Redactor | None = None,
        calls_kept: timedelta | None = CALLS_KEPT,
    ) -> None:
        check_arguments(
            directory=directory, file_mode=file_mode, directory_mode=directory_mode, codec=codec
        )
        self.directory = Path(directory).expanduser().absolute()
        self._has_default_modes = (file_mode, directory_mode) == (FILE_MODE, DIRECTORY_MODE)
        folder = MemoryFolder(self.directory, file_mode, directory_mode)
        self._beside_files = FolderDatabase(folder, codec or Codec())
        super().__init__(
            self._beside_files,
            embedder=embedder,
            embedding_model=embedding_model,
            quota=quota,
            redactor=redactor,
            calls_kept=calls_kept,
        )
        # What a person has put into the folder is indexed by the first search, however much it is.
        self.most_caught_up = math.inf

    def __repr__(self) -> str:
        return f"<FileStore {self.directory}>"

    @property
    def url(self) -> str | None:
        """Return the URL of this folder for another process.

        None if the modes, the codec or the redactor cannot be expressed by a URL.
        """
        prefix = url_prefix(self.codec, self.redactor)
        if prefix is None or not self._has_default_modes:
            return None
        return prefix + self.directory.as_uri()

    def refresh(self) -> None:
        """Read the files that were changed by hand.

        A memory whose file was removed by hand is not found.

        Raises:
            StoreUnavailableError: The folder cannot be read.
        """
        self._beside_files.refresh()

    def damaged(self) -> tuple[DamagedFile, ...]:
        """Return the files that do not hold a memory, with the reasons."""
        return self._beside_files.damaged()

    def forget_user(self, user_id: str) -> Receipt:
        """See `Administration.forget_user`. Damaged files stay, because their user is not known (see `damaged`).

        Files are removed, but their blocks on the disk are not overwritten: `Receipt.scrubbed` is False.
        """
        # Files of the user that were added since the folder was read must be removed, too.
        self.refresh()
        receipt = super().forget_user(user_id)
        return replace(receipt, files=receipt.memories, scrubbed=False)

    def _outdated(self, user_id: str) -> list[UUID]:
        """Return the ids of all of a user's records: their files may be older than their rows."""
        rows = self.database.rows(MEMORY_IDS.filter_by(user_id=user_id))
        return [row.id for row in rows]
