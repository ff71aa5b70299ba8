"""SQLAlchemyStore on every database: the contract, and what belongs to SQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.testing import MemoryStoreContract


class TestSQLAlchemyStore(MemoryStoreContract):
    """The contract, on SQLite in memory, a SQLite file and PostgreSQL."""

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(store_url) as store:
            yield store
