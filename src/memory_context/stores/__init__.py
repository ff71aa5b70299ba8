"""Stores keep memories. One protocol, implemented on SQL databases and on folders of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_context.runtime.lazy_names import lazy_names
from memory_context.stores.codec import Codec
from memory_context.stores.compression import Compressed
from memory_context.stores.protocol import (
    Administration,
    Filters,
    MemoryStore,
    Mode,
    reindexed,
    term_hits_in,
)
from memory_context.stores.sql.audit_trail import SQLAuditTrail, as_auditor
from memory_context.stores.sql.sqlalchemy_store import SQLAlchemyStore
from memory_context.stores.store_of_a_url import AnyStore, as_store

if TYPE_CHECKING:
    from memory_context.stores.encryption import Encrypted
    from memory_context.stores.files.database_beside_files import DamagedFile
    from memory_context.stores.files.file_store import FileStore

__all__ = [
    "Administration",
    "AnyStore",
    "Codec",
    "Compressed",
    "DamagedFile",
    "Encrypted",
    "FileStore",
    "Filters",
    "MemoryStore",
    "Mode",
    "SQLAlchemyStore",
    "SQLAuditTrail",
    "as_auditor",
    "as_store",
    "reindexed",
    "term_hits_in",
]

_HOMES = {
    "DamagedFile": "files.database_beside_files",
    "Encrypted": "encryption",
    "FileStore": "files.file_store",
}


# Loaded on first use, because these need POSIX or an extra.
__getattr__ = lazy_names(__name__, _HOMES)
