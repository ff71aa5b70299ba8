"""Codecs: whatever rows and files hold of records, a store keeps its contract."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
import sqlalchemy as sa
from hypothesis import given

from examples import examples
from for_each import first_quick
from memory_context import MemoryManager
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidFilterError,
    InvalidRecordError,
    SealError,
)
from memory_context.memory.copy_export_import import copy_memories
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.model.item import MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.stores import (
    Codec,
    Compressed,
    Encrypted,
    FileStore,
    MemoryStore,
    SQLAlchemyStore,
    compression,
)
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
from memory_context.testing import MemoryStoreContract
from memory_context.testing.sample_memories import ANN, memory
from records import memories

KEY = {"one": bytes(range(32))}
ROWS = "a row of data\n" * 200
CODECS: dict[str, Callable[[], Codec]] = {
    "plain": Codec,
    "compressed": Compressed,
    "blind": lambda: Encrypted(KEY),
    "none": lambda: Encrypted(KEY, index="none"),
}
EACH_CODEC = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


@pytest.fixture(params=["memory", pytest.param("postgresql", marks=pytest.mark.long)])
def inner_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database; the contract on servers is run by `make test-all`."""
    if request.param == "memory":
        return "sqlite://"
    return str(request.getfixturevalue("postgres_url"))


@pytest.mark.long
class TestCompressed(MemoryStoreContract):
    """The contract, on compressed contents."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(inner_url, codec=Compressed()) as store:
            yield store


class TestBlindIndex(MemoryStoreContract):
    """The contract, on encrypted records whose words are hashed."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(inner_url, codec=Encrypted(KEY)) as store:
            yield store


@pytest.mark.long
class TestNoIndex(MemoryStoreContract):
    """The contract, on encrypted records without an index."""

    @pytest.fixture
    def store(self, inner_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(inner_url, codec=Encrypted(KEY, index="none")) as store:
            yield store


@pytest.mark.long
class TestEncryptedFiles(MemoryStoreContract):
    """The contract, on encrypted files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """An empty store."""
        with FileStore(tmp_path / "folder", codec=Encrypted(KEY)) as store:
            yield store


@examples(60)
@given(memories())
def test_round_trip(item: MemoryItem) -> None:
    """Any record comes out of every codec as it went in."""
    for make in (Compressed, CODECS["blind"]):
        codec = make()
        stored = codec.encode(replace(item, match=None))
        assert replace(item, match=None) == codec.decode(stored)


@EACH_CODEC
def test_what_is_stored_again_stays(sqlite_url: str, codec: Callable[[], Codec]) -> None:
    """Stored again under its key, a memory is active and kept as long as either asks for, in any form."""
    soon = now() + timedelta(hours=1)
    with SQLAlchemyStore(sqlite_url, codec=codec()) as store:
        manager = MemoryManager(store, user_id="ann")
        for key, kind in (("mine", "note"), ("pw", "secret"), ("away", "note")):
            manager.store(f"{key} {ROWS}", key=key, type=kind, expires_at=soon)
        assert manager.forget("away", soft=True)

        for key, kind in (("mine", "note"), ("pw", "secret"), ("away", "note")):
            assert key == manager.store(f"{key} {ROWS}", key=key, type=kind)

        assert [None] * 3 == [manager.get(key).expires_at for key in ("mine", "pw", "away")]
        assert manager.get("away").is_active
        assert ["away"] == [hit.memory_key for hit in manager.search("away")][:1]
        assert 0 == delete_expired(store, at=soon + timedelta(hours=1))


@EACH_CODEC
def test_equal_contents_are_one_record(codec: Callable[[], Codec]) -> None:
    """Moved in twice and out again, records are as they were, and each content stays one record."""
    source, target = SQLAlchemyStore("sqlite://"), SQLAlchemyStore("sqlite://")
    with source, target, SQLAlchemyStore("sqlite://", codec=codec()) as store:
        for content in (ROWS, ROWS.encode(), "short", "NUL \0" * 999):
            put = source.put(ANN, memory(content, shared=True))
            copy_memories(source, store, user_id="ann")
            assert () == copy_memories(source, store, user_id="ann").conflicts
            assert put.id == store.put(ANN, replace(put, id=uuid4())).id
        copy_memories(store, target, user_id="ann")
        assert list(source.list_all(ANN)) == list(store.list_all(ANN)) == list(target.list_all(ANN))


@EACH_CODEC
def test_the_catalog_shows_what_was_stored(codec: Callable[[], Codec]) -> None:
    """A listing tells descriptions and media types, not the form that they are kept in."""
    with SQLAlchemyStore("sqlite://", codec=codec()) as store:
        item = store.put(ANN, memory(ROWS, summary="rows", media_type="text/markdown"))
        [entry] = Catalog(store).entries(ANN)
    assert (item.memory_key, "rows", "text/markdown") == (
        entry.memory_key,
        entry.summary,
        entry.media_type,
    )


@pytest.mark.parametrize("codec", [Encrypted(KEY), Encrypted(KEY, index="none")])
def test_hidden_columns(codec: Codec) -> None:
    """Filters and orders by what is encrypted are refused by name; those by what places a memory work."""
    with SQLAlchemyStore("sqlite://", codec=codec) as store:
        store.put(ANN, memory("text", category="a/b", tags=("x",), importance=0.9))
        for verb in (
            store.query,
            store.count,
            store.usage,
            lambda s, f: store.sum(s, "token_count", f) + 1,
            lambda s, f: store.search(s, "text", filters=f),
            Catalog(store).entries,
        ):
            with pytest.raises(InvalidFilterError, match="summary is encoded"):
                verb(ANN, {"summary": "x"})
            assert verb(ANN, {"category": {"$under": "a"}, "tags": "x", "importance": {"$gt": 0.5}})
        with pytest.raises(InvalidFilterError, match="content_hash is encoded"):
            store.query(ANN, order_by="-content_hash")


def test_the_oldest_of_many_is_found() -> None:
    """A search over encrypted memories ranks all of them, not the newest."""
    with SQLAlchemyStore("sqlite://", codec=Encrypted(KEY)) as store:
        items = [memory(f"the quagga number {number}") for number in range(700)]
        store.restore(ANN, [memory("the zeppelin of the quagga", memory_key="z"), *items])
        assert ["z"] == [hit.memory_key for hit in store.search(ANN, "zeppelin quagga", limit=1)]


@pytest.mark.parametrize("make", [SQLAlchemyStore, FileStore])
def test_an_embedder_is_refused(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    """Vectors tell of contents, so a store that encrypts takes no embedder."""
    with pytest.raises(InvalidArgumentError, match="a store that encrypts takes no embedder"):
        make(
            f"sqlite:///{tmp_path / 'm.db'}" if make is SQLAlchemyStore else tmp_path,
            codec=Encrypted(KEY),
            embedder=lambda texts: [[1.0] for _ in texts],
            embedding_model="m",
        )


def media_types(store: SQLAlchemyStore) -> list[str]:
    """The media types as rows have them."""
    return [row[0] for row in store.database.rows(sa.text("SELECT media_type FROM agent_memories"))]


@pytest.mark.parametrize(("length", "kind"), [(1023, "text/plain"), (1024, Compressed.media_type)])
def test_short_contents_are_not_compressed(length: int, kind: str) -> None:
    """Contents below 1,024 bytes are stored as they are, which plain SQL can read."""
    with SQLAlchemyStore("sqlite://", codec=Compressed()) as store:
        store.put(ANN, memory("x" * length, memory_key="mine"))
        assert [kind] == media_types(store)
        assert ["x" * length] == [item.content for item in store.list_all(ANN)]


def test_what_compression_would_lengthen_is_not_compressed() -> None:
    """A content that is as random as compressed data is stored as it is."""
    data = Random(1).randbytes(4096)
    with SQLAlchemyStore("sqlite://", codec=Compressed()) as store:
        item = store.put(ANN, memory(data, media_type="application/octet-stream"))
        assert [item.media_type] == media_types(store)
        assert [data] == [item.content for item in store.list_all(ANN)]


def test_damaged_compression(sqlite_url: str) -> None:
    """A compressed content that was damaged is an error that names the memory."""
    with SQLAlchemyStore(sqlite_url, codec=Compressed()) as store:
        store.put(ANN, memory("x" * 5000, memory_key="mine"))
        cut = sa.text("UPDATE agent_memories SET content_bytes = substr(content_bytes, 1, 60)")
        store.database.write(lambda connection: connection.execute(cut))
        with pytest.raises(SealError, match="'mine' is damaged"):
            store.get(ANN, "mine")


def test_without_the_codec(sqlite_url: str) -> None:
    """What a codec wrote is not shown as if it were a content, nor stored a second time."""
    with SQLAlchemyStore(sqlite_url, codec=Compressed()) as store:
        sealed = Compressed().encode(store.put(ANN, memory(ROWS, memory_key="mine")))
    with SQLAlchemyStore(sqlite_url) as plain:
        with pytest.raises(
            SealError, match=r"'mine' is compressed; open the store with compressed\+"
        ):
            plain.get(ANN, "mine")
        with pytest.raises(InvalidRecordError, match="open the store that it comes from"):
            plain.restore(Scope("ann"), [replace(sealed, id=uuid4(), memory_key="other")])


class Reversed(Codec):
    """A codec of a user's own: short texts backwards."""

    def encode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.encode`."""
        return replace(item, content=item.content[::-1])

    def decode(self, item: MemoryItem) -> MemoryItem:
        """See `Codec.decode`."""
        return replace(item, content=item.content[::-1])


def test_a_codec_of_ones_own() -> None:
    """What a user's codec makes of a record stands in the row, and the store works as ever."""
    with SQLAlchemyStore("sqlite://", codec=Reversed()) as store:
        store.put(ANN, memory("draw", memory_key="mine"))
        [row] = store.database.rows(sa.text("SELECT content FROM agent_memories"))
        assert "ward" == row.content
        assert ["mine"] == [hit.memory_key for hit in store.search(ANN, "draw")]


@pytest.mark.parametrize(
    "codec", first_quick([Compressed, lambda: Encrypted(KEY)]), ids=["compressed", "blind"]
)
def test_row_that_expands_hugely(
    codec: Callable[[], Codec], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip bomb in a row is not expanded beyond what a column can hold, and the other rows are read."""
    with SQLAlchemyStore(sqlite_url, codec=codec()) as store:
        manager = MemoryManager(store, user_id="ann")
        manager.store("0" * 3_000_000, key="bomb")
        manager.store(ROWS, key="rows")
        monkeypatch.setattr(compression, "LARGEST", 250_000)
        tracemalloc.start()
        with pytest.raises(SealError, match="damaged"):
            manager.retrieve("bomb")
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
        tracemalloc.stop()
        assert ROWS == manager.retrieve("rows")
