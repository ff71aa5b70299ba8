"""Stores around stores: each keeps the contract, whatever is inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from memory_context import MemoryManager
from memory_context._items import now
from memory_context._tiers import Room
from memory_context.exceptions import TierFullError
from memory_context.retention import delete_expired
from memory_context.stores import (
    CompressedStore,
    EncryptedStore,
    FileStore,
    MemoryStore,
    RedactingStore,
    SQLAlchemyStore,
    StoreWrapper,
)
from memory_context.testing import MemoryStoreContract
from memory_context.testing._memories import ANN

KEY = {"one": bytes(range(32))}
OTHER = {"other": b"o" * 32}
TEXT = "login: password=hunter2X9!\n" + "a row of data\n" * 200

Wrap: TypeAlias = Callable[[str], MemoryStore]


def encrypted(url: str) -> MemoryStore:
    """A store with a key."""
    return EncryptedStore(url, keys=KEY)


def rotated(url: str) -> MemoryStore:
    """The same store after its key has been changed."""
    return EncryptedStore(url, keys=OTHER | KEY)


def stacked(url: str) -> MemoryStore:
    """Every wrapper around the other, in the order that the docs recommend."""
    return RedactingStore(CompressedStore(rotated(url)))


BEFORE_AND_AFTER = pytest.mark.parametrize(
    ("before", "after"),
    [
        (SQLAlchemyStore, SQLAlchemyStore),
        (SQLAlchemyStore, encrypted),
        (SQLAlchemyStore, RedactingStore),
        (SQLAlchemyStore, CompressedStore),
        (SQLAlchemyStore, stacked),
        (encrypted, encrypted),
        (encrypted, rotated),
        (encrypted, stacked),
    ],
)


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


@BEFORE_AND_AFTER
def test_what_is_stored_again_stays(sqlite_url: str, before: Wrap, after: Wrap) -> None:
    """Stored again under its key, a memory is active and kept as long as either asks for, whatever holds it."""
    soon = now() + timedelta(hours=1)
    first = MemoryManager(before(sqlite_url), user_id="ann")
    for key, kind in (("mine", "note"), ("pw", "secret"), ("away", "note")):
        first.store(f"{key} {TEXT}", key=key, type=kind, expires_at=soon)
    assert first.forget("away", soft=True)
    store = after(sqlite_url)
    again = MemoryManager(store, user_id="ann")

    for key, kind in (("mine", "note"), ("pw", "secret"), ("away", "note")):
        assert key == again.store(f"{key} {TEXT}", key=key, type=kind)

    assert [None] * 3 == [again.get(key).expires_at for key in ("mine", "pw", "away")]
    assert again.get("away").is_active
    assert ["away"] == [hit.memory_key for hit in again.search("away")][:1]
    assert 0 == delete_expired(store, at=soon + timedelta(hours=1))
    assert again.get("away") == again.remember(f"away {TEXT}", key="away")
    store.close()


@BEFORE_AND_AFTER
def test_what_is_stored_again_needs_room(sqlite_url: str, before: Wrap, after: Wrap) -> None:
    """What was put away comes back into its tier only where there is room for it."""
    full = {"tier": "run", "tier_id": "r", "room": Room(max_chars=len(TEXT) + 40)}
    first = MemoryManager(before(sqlite_url), user_id="ann")
    first.remember(TEXT, key="mine", tier="run", tier_id="r")
    first.forget("mine", soft=True)
    first.remember("another", key="other", tier="run", tier_id="r")
    store = after(sqlite_url)
    again = MemoryManager(store, user_id="ann")

    assert "mine" == again.remember(TEXT, key="mine", **full).memory_key
    assert again.get("mine").is_active
    again.forget("mine", soft=True)
    again.remember("more " * 10, key="more", tier="run", tier_id="r")
    with pytest.raises(TierFullError):
        again.remember(TEXT, key="mine", **full)
    assert 2 == store.count(ANN)
    store.close()
