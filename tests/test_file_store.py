"""FileStore: the contract, and what belongs to files that a person may read and change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_context.stores import FileStore, MemoryStore
from memory_context.testing import MemoryStoreContract


class TestFileStore(MemoryStoreContract):
    """The contract, on files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with FileStore(tmp_path / "memories") as store:
            yield store
