"""Stores around stores: a wrapper that changes nothing keeps the contract of what is inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_context.stores import MemoryStore, StoreWrapper
from memory_context.testing import MemoryStoreContract


class TestStoreWrapper(MemoryStoreContract):
    """The contract, through a wrapper that passes everything on."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with StoreWrapper("sqlite://") as store:
            yield store
