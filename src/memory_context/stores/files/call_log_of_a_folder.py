"""The call log of a `FileStore`: the model calls and decisions of a folder, in a SQLite file of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta

import sqlalchemy as sa

from memory_context.model.call_log_records import CallRecord
from memory_context.stores.codec import Codec
from memory_context.stores.files.safe_folder import STATE, MemoryFolder
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore

CALLS = "calls.db"
PATH = f"{STATE}/{CALLS}"


class CallFile(SQLAlchemyStore):
    """A `SQLAlchemyStore` in a folder that holds only model calls and decisions.

    It works without the folder's writer lock, because SQLite has its own: processes that only read memories keep their
    calls, too.

    Args:
        folder: The folder with the file.
        codec: How texts are stored in rows.
        kept: How long rows are kept; None keeps none.
    """

    def __init__(self, folder: MemoryFolder, codec: Codec, kept: timedelta | None) -> None:
        url = sa.URL.create("sqlite", database=str(folder.path / PATH))
        super().__init__(url, codec=codec, calls_kept=kept)
        self._folder = folder
        self._is_made = kept is None

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`. In a folder that cannot be written to, nothing is kept."""
        # Only once: if the folder is removed later, it is not made again.
        if not self._is_made:
            # `MemoryFolder` makes the file, because it sets the mode and follows no links.
            with suppress(OSError):
                os.close(self._folder.open_state(CALLS))
                self._is_made = bool(self._folder.signature(PATH))
        if self._is_made:
            super().note_call(record)

    def has_records(self) -> bool:
        """Write the waiting records, and return whether there are any.

        Raises:
            OSError: The folder cannot be read.
        """
        self.call_log.flush()
        signature = self._folder.signature(PATH)
        if not signature:
            return False
        # An empty file has no tables. Reading does not make them: the folder may be read-only.
        _, size, *_ = signature
        return size > 0
