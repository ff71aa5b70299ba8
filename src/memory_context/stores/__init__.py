"""Stores: where memories live. One protocol, one implementation on SQL."""

from memory_context.stores._protocol import Filters, MemoryStore
from memory_context.stores._sqlalchemy import SQLAlchemyStore, as_store

__all__ = ["Filters", "MemoryStore", "SQLAlchemyStore", "as_store"]
