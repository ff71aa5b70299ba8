"""A store that keeps no secrets: the contract of what is inside, and nothing of a secret in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_context import FileStore, MemoryStore, RedactingStore
from memory_context.testing import MemoryStoreContract


class TestInMemory(MemoryStoreContract):
    """The contract, around a database in memory."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore("sqlite://") as store:
            yield store


class TestOnSQLite(MemoryStoreContract):
    """The contract, around a SQLite file."""

    @pytest.fixture
    def store(self, sqlite_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(sqlite_url) as store:
            yield store


class TestOnPostgreSQL(MemoryStoreContract):
    """The contract, around PostgreSQL."""

    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(postgres_url) as store:
            yield store


class TestOnFiles(MemoryStoreContract):
    """The contract, around a folder of files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with RedactingStore(FileStore(tmp_path / "files")) as store:
            yield store
