"""The call log of a `FileStore`: the model calls and decisions of a folder, in a SQLite file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Self, TypeVar

import sqlalchemy as sa

from memory_context.exceptions import (
    EncryptionError,
    RedactionTimeoutError,
    SchemaVersionError,
    StoreError,
    StoreUnavailableError,
)
from memory_context.model.call_log_records import CallRecord
from memory_context.runtime import log_events
from memory_context.stores.codec import Codec
from memory_context.stores.files.safe_folder import STATE, MemoryFolder
from memory_context.stores.sql.migrate import revision_of
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore

T = TypeVar("T")

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

    Attributes:
        problem: The error of the last `answer` if the file is damaged, else empty.
    """

    def __init__(self, folder: MemoryFolder, codec: Codec, kept: timedelta | None) -> None:
        url = sa.URL.create("sqlite", database=str(folder.path / PATH))
        super().__init__(url, codec=codec, calls_kept=kept)
        self._folder = folder
        self._is_made = kept is None
        self.problem = ""

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`. In a folder that cannot be written to, nothing is kept."""
        # Only once: if the folder is removed later, it is not made again.
        if not self._is_made:
            # `MemoryFolder` makes the file, because it sets the mode and follows no links.
            with suppress(OSError):
                os.close(self._folder.open_state(CALLS))
                self._is_made = self._is_there()
        if self._is_made:
            super().note_call(record)

    def answer(self, ask: Callable[[Self], T], default: T) -> T:
        """Return what *ask* returns for this store; *default* if there is no file, or it is damaged.

        A damaged file is logged, and left as it is.

        Raises:
            StoreError: The file is intact, but could not be read.
            OSError: The folder cannot be read.
        """
        if not self._is_there():
            self.problem = ""
            return default
        try:
            self.call_log.flush()
            # The file has no tables before its first row. Reading does not make them: the folder may be read-only.
            if self.database.run_as_it_is(revision_of) is None:
                return default
            found = ask(self)
        except (StoreUnavailableError, EncryptionError, SchemaVersionError, RedactionTimeoutError):
            raise
        except StoreError as error:
            if not self.problem:
                log_events.FILE_SKIPPED.log(file=str(self._folder.path / PATH))
            self.problem = str(error.__cause__ or error)
            return default
        self.problem = ""
        return found

    def _is_there(self) -> bool:
        return bool(self._folder.signature(PATH))
