"""What models were sent, kept beside the memories of a folder: the call log, in a SQLite file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Self, TypeVar

import sqlalchemy as sa

from memory_context.exceptions import (
    EncryptionError,
    SchemaVersionError,
    StoreError,
    StoreUnavailableError,
)
from memory_context.model.call_records import CallRecord
from memory_context.runtime import events
from memory_context.stores.codec import Codec
from memory_context.stores.files.safe_folder import STATE, MemoryFolder
from memory_context.stores.sql.migrate import revision_of
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore

T = TypeVar("T")

CALLS = "calls.db"
PATH = f"{STATE}/{CALLS}"


class CallFile(SQLAlchemyStore):
    """A `SQLAlchemyStore` in a folder, which holds calls alone.

    The folder's lock is not asked for, as for reads of memories: SQLite has its own, and who only reads the folder
    keeps calls, too.

    Args:
        folder: Where it is.
        codec: What rows hold of texts.
        kept: How long they stay; None keeps none.

    Attributes:
        problem: What is wrong with the file, as far as it was asked; empty if nothing is.
    """

    def __init__(self, folder: MemoryFolder, codec: Codec, kept: timedelta | None) -> None:
        url = sa.URL.create("sqlite", database=str(folder.path / PATH))
        super().__init__(url, codec=codec, calls_kept=kept)
        self._folder = folder
        self._is_made = kept is None
        self.problem = ""

    def note_call(self, record: CallRecord) -> None:
        """See `CallKeeper.note_call`. Nothing is kept in a folder that cannot be written."""
        # Once: a folder that was removed meanwhile is not made again.
        if not self._is_made:
            # By the folder, which knows the mode of its files and follows no links.
            with suppress(OSError):
                os.close(self._folder.open_state(CALLS))
                self._is_made = self._is_there()
        if self._is_made:
            super().note_call(record)

    def answer(self, ask: Callable[[Self], T], nothing: T) -> T:
        """Return what *ask* finds here; *nothing* where no file is, or a damaged one, which is logged and left as it is.

        Raises:
            StoreError: The file is sound, and could not be read.
            OSError: The folder cannot be read.
        """
        if not self._is_there():
            self.problem = ""
            return nothing
        try:
            self.call_log.flush()
            # Before the first row it has no tables, and who reads makes none: the folder may be read-only.
            if self.database.run_as_it_is(revision_of) is None:
                return nothing
            found = ask(self)
        except (StoreUnavailableError, EncryptionError, SchemaVersionError):
            raise
        except StoreError as error:
            if not self.problem:
                events.FILE_SKIPPED.log(file=str(self._folder.path / PATH))
            self.problem = str(error.__cause__ or error)
            return nothing
        self.problem = ""
        return found

    def _is_there(self) -> bool:
        return bool(self._folder.signature(PATH))
