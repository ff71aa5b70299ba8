"""Stores around stores: each keeps the contract, whatever is inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_context.stores import CompressedStore, EncryptedStore, FileStore, MemoryStore, StoreWrapper
from memory_context.testing import MemoryStoreContract

KEY = {"one": bytes(range(32))}


class TestStoreWrapper(MemoryStoreContract):
    """The contract, through a wrapper that passes everything on."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with StoreWrapper("sqlite://") as store:
            yield store


class TestCompressedStore(MemoryStoreContract):
    """The contract, on compressed contents."""

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with CompressedStore(store_url) as store:
            yield store


class TestEncryptedStore(MemoryStoreContract):
    """The contract, on encrypted records."""

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with EncryptedStore(store_url, keys=KEY) as store:
            yield store


class TestEverything(MemoryStoreContract):
    """The contract, on contents that are compressed, then encrypted, then kept in files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with CompressedStore(EncryptedStore(FileStore(tmp_path / "folder"), keys=KEY)) as store:
            yield store
