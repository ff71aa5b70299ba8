"""Backup: copying a SQLite database that is in use into a new file."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from memory_context.exceptions import StoreError
from memory_context.runtime.files_replaced_safely import draft_of
from memory_context.stores.protocol import Progress
from memory_context.stores.sql.prepared_statements import driver_of

# The number of pages that are copied at a time; progress is reported in between.
PAGES = 10_000


def copy(connection: sa.Connection, path: Path, progress: Progress | None) -> None:
    """Copy the database as this transaction sees it. Others may write meanwhile; their changes are not in the copy.

    Raises:
        StoreError: The file cannot be written.
    """

    def report(_: int, remaining: int, total: int) -> None:
        if progress:
            progress(total - remaining, total)

    # This read starts the snapshot: in SQLite, BEGIN alone does not.
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
    source = driver_of(connection)
    database = connection.engine.url.database
    try:
        with draft_of(path, is_database=True) as draft, closing(sqlite3.connect(draft)) as target:
            if database and Path(database).is_file():
                shutil.copymode(database, draft)
            source.backup(target, pages=PAGES, progress=report)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the backup {path} cannot be written: {error}") from error
