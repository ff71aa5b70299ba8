"""Stores: where memories live. One protocol, on SQL and on files."""

from memory_context.stores._files import FileStore
from memory_context.stores._mirror import DamagedFile
from memory_context.stores._opening import as_store
from memory_context.stores._protocol import Administration, Filters, MemoryStore, Mode
from memory_context.stores._sqlalchemy import SQLAlchemyStore

__all__ = [
    "Administration",
    "DamagedFile",
    "FileStore",
    "Filters",
    "MemoryStore",
    "Mode",
    "SQLAlchemyStore",
    "as_store",
]
