"""Stores around stores: each keeps the contract, whatever is inside."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from memory_context import MemoryManager, ScopedMemory
from memory_context.exceptions import KeyExistsError, TierFullError
from memory_context.memory.retention_rules import delete_expired
from memory_context.memory.transfer import copy_memories
from memory_context.model.item import MemoryItem, now
from memory_context.model.tiers_and_limits import Room
from memory_context.stores import (
    CompressedStore,
    EncryptedStore,
    FileStore,
    MemoryStore,
    RedactingStore,
    SQLAlchemyStore,
    StoreWrapper,
)
from memory_context.stores.wrappers.sealing import packed, unpacked
from memory_context.testing import MemoryStoreContract
from memory_context.testing.sample_memories import ANN, memory

KEY = {"one": bytes(range(32))}
OTHER = {"other": b"o" * 32}
ROWS = "a row of data\n" * 200
TEXT = f"login: password=hunter2X9!\n{ROWS}"

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
    params=[
        "memory",
        pytest.param("file", marks=pytest.mark.long),
        pytest.param("postgresql", marks=pytest.mark.long),
    ]
)
def inner_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database; the wrappers' contract on files and servers is run by `make test-all`."""
    urls = {"file": "sqlite_url", "postgresql": "postgres_url"}
    return (
        "sqlite://"
        if request.param == "memory"
        else str(request.getfixturevalue(urls[request.param]))
    )


@pytest.mark.long
class TestStoreWrapper(MemoryStoreContract):
    """The contract, through a wrapper that passes everything on."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with StoreWrapper("sqlite://") as store:
            yield store


@pytest.mark.long
class TestCompressedStore(MemoryStoreContract):
    """The contract, on compressed contents."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with CompressedStore(inner_url) as store:
            yield store


@pytest.mark.long
class TestEncryptedStore(MemoryStoreContract):
    """The contract, on encrypted records."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with EncryptedStore(inner_url, keys=KEY) as store:
            yield store


@pytest.mark.long
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


@pytest.mark.long
@BEFORE_AND_AFTER
def test_what_is_stored_again_needs_room(sqlite_url: str, before: Wrap, after: Wrap) -> None:
    """What was put away comes back into its tier only where there is room for it."""
    full: dict[str, Any] = {"tier": "run", "tier_id": "r", "room": Room(max_chars=len(TEXT) + 40)}
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


@pytest.mark.long
@pytest.mark.parametrize(
    "content", [ROWS, ROWS.encode(), "short", "NUL \0" * 999], ids=["text", "bytes", "short", "nul"]
)
@pytest.mark.parametrize("wrap", [encrypted, CompressedStore, stacked])
def test_identities_are_those_of_the_contents(content: str | bytes, wrap: Wrap) -> None:
    """Moved in twice and out again, records are as they were, and each content stays one record."""
    source, store, target = (
        SQLAlchemyStore("sqlite://"),
        wrap("sqlite://"),
        SQLAlchemyStore("sqlite://"),
    )
    put = source.put(ANN, memory(content, shared=True))

    assert 1 == copy_memories(source, store, user_id="ann").written
    again = copy_memories(source, store, user_id="ann")
    assert (1, ()) == (again.unchanged, again.conflicts)
    assert 1 == copy_memories(store, target, user_id="ann").written

    for one in (store, target):
        assert [put] == list(one.list_all(ANN))
        assert put.id == one.put(ANN, replace(put, id=uuid4())).id


class OtherZlib(CompressedStore):
    """Compresses as another build of zlib might: to other bytes."""

    def inward(self, item: MemoryItem) -> MemoryItem:
        """The record with a content that was compressed less."""
        small = super().inward(item)
        if small is item:
            return item
        return replace(small, content=packed(unpacked(small.data)[0], zlib.compress(item.data, 1)))


def test_another_zlib_finds_equal_contents(sqlite_url: str) -> None:
    """Equal contents stay one encrypted record when another zlib compresses them; text and bytes stay two."""
    text = "".join(f"row {number}\n" for number in range(2000))
    with CompressedStore(encrypted(sqlite_url)) as store, OtherZlib(encrypted(sqlite_url)) as other:
        assert store.inward(memory(text)).content != other.inward(memory(text)).content
        first = store.put(ANN, memory(text, shared=True))
        own = store.put(ANN, memory(text, memory_key="own"))

        assert (first.id, own.id) == (
            other.put(ANN, memory(text, shared=True)).id,
            other.put(ANN, memory(text, memory_key="own")).id,
        )
        assert first.id != other.put(ANN, memory(text.encode(), shared=True)).id
        unhashed = [memory(mark * 9000, memory_key="unhashed", content_hash="") for mark in "ab"]
        store.put(ANN, unhashed[0])
        with pytest.raises(KeyExistsError):
            other.put(ANN, unhashed[1])


@pytest.mark.long
@BEFORE_AND_AFTER
def test_what_was_put_away_comes_back(sqlite_url: str, before: Wrap, after: Wrap) -> None:
    """What was put away comes back under its key, also where its content is kept in another form too."""
    first = MemoryManager(before(sqlite_url), user_id="ann")
    texts = [TEXT, TEXT.replace("hunter2X9!", "q8Jf2LkP0zXvB7nM4tRw")]
    keys = [first.store(text, source="login") for text in texts]
    for key in keys:
        assert first.forget(key, soft=True)
    with MemoryManager(after(sqlite_url), user_id="ann") as again:
        for text in texts:
            again.store(text, source="login")

        for key in keys:
            revived = again.revive(key)
            assert (key, True) == (revived.memory_key, again.get(key).is_active)
            assert revived == again.revive(key)
        notes = ScopedMemory(again, project_id="p")
        assert keys == [
            getattr(notes.promote(key, to="project"), "memory_key", None) for key in keys
        ]


def test_what_is_encrypted_later_keeps_its_key(sqlite_url: str) -> None:
    """A memory of before there was a key is encrypted when it is revived, and its references redeem."""
    plain = MemoryManager(sqlite_url, user_id="ann")
    key = plain.store(ROWS, source="tool")
    plain.forget(key, soft=True)
    with MemoryManager(encrypted(sqlite_url), user_id="ann") as again:
        assert key == again.revive(key).memory_key

        assert ROWS == again.retrieve(key)
        assert key == again.store(ROWS, source="tool")
    assert EncryptedStore.media_type == plain.get(key).media_type
