"""SQLAlchemyStore on every database: the contract, and what belongs to SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memory_context.model.item import Deletion
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.testing import MemoryStoreContract
from memory_context.testing.sample_memories import ANN


class TestSQLAlchemyStore(MemoryStoreContract):
    """The contract, on SQLite in memory, a SQLite file and PostgreSQL."""

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(store_url) as store:
            yield store


def test_many_deletions_are_listed() -> None:
    """All deletions are listed, each once, however many there are."""
    moment = datetime(2020, 2, 29, tzinfo=UTC)
    with SQLAlchemyStore("sqlite://") as store:
        store.restore(ANN, [Deletion(f"k{number}", moment, "") for number in range(1100)])

        assert 1100 == len({deletion.memory_key for deletion in store.list_deleted(ANN)})
