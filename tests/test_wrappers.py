"""Stores around stores: each keeps the contract, whatever is inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_context.stores import CompressedStore, EncryptedStore, FileStore, MemoryStore, StoreWrapper
from memory_context.testing import MemoryStoreContract

KEY = {"one": bytes(range(32))}


@pytest.fixture(
    params=["memory", pytest.param("file", marks=pytest.mark.soak), pytest.param("postgresql", marks=pytest.mark.soak)]
)
def inner_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database; the wrappers' contract on files and servers is run by `make soak`."""
    urls = {"file": "sqlite_url", "postgresql": "postgres_url"}
    return "sqlite://" if request.param == "memory" else str(request.getfixturevalue(urls[request.param]))


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
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with CompressedStore(inner_url) as store:
            yield store


class TestEncryptedStore(MemoryStoreContract):
    """The contract, on encrypted records."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with EncryptedStore(inner_url, keys=KEY) as store:
            yield store


class TestEverything(MemoryStoreContract):
    """The contract, on contents that are compressed, then encrypted, then kept in files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with CompressedStore(EncryptedStore(FileStore(tmp_path / "folder"), keys=KEY)) as store:
            yield store
