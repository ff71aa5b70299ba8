"""Stores: where memories live. One protocol, one implementation on SQL."""

from memory_context.stores._protocol import Filters, MemoryStore, Mode
from memory_context.stores._sqlalchemy import SQLAlchemyStore, as_store

__all__ = ["Filters", "MemoryStore", "Mode", "SQLAlchemyStore", "as_store"]
