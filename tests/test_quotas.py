"""Quotas: what a user may keep; what would pass it changes nothing and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from conftest import STORES
from examples import examples
from for_each import for_each
from memory_context import MemoryContext, MemoryItem, MemoryManager, Quota
from memory_context.exceptions import InvalidArgumentError, NotSerializableError, QuotaExceededError
from memory_context.memory.copy_export_import import copy_memories
from memory_context.stores import FileStore, MemoryStore, SQLAlchemyStore
from memory_context.stores.sql.eviction_and_quota import quota_kept
from memory_context.testing.sample_memories import ANN, BOB, memory
from messages import LOG, results
from test_context import fill, shown

SMALL = Quota(max_items=3, max_bytes=20)


@pytest.fixture(params=[*STORES, "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store of each kind, with a small quota."""
    if request.param == "folder":
        with FileStore(tmp_path / "folder", quota=SMALL) as folder:
            yield folder
        return
    urls = {"memory": "sqlite://", "file": "sqlite_url", "postgresql": "postgres_url"}
    url = (
        urls[request.param]
        if request.param == "memory"
        else request.getfixturevalue(urls[request.param])
    )
    with SQLAlchemyStore(url, quota=SMALL) as made:
        yield made


def test_items(store: MemoryStore) -> None:
    """One memory too many is refused by name and number; what is there stays; another user has a quota of their own."""
    for number in range(3):
        store.put(ANN, memory(str(number)))
    with pytest.raises(QuotaExceededError, match="4 memories, and the user's quota is 3") as caught:
        store.put(ANN, memory("x"))

    assert ("memories", 4, 3) == (caught.value.unit, caught.value.size, caught.value.limit)
    assert 3 == store.count(ANN)
    assert "x" == store.put(BOB, memory("x", user_id="bob")).content
    assert {"0", "1", "2"} == {item.content for item in store.list_all(ANN)}


def test_bytes(store: MemoryStore) -> None:
    """Bytes are those of UTF-8, of binary content its own; the last byte fits."""
    store.put(ANN, memory("ä" * 5))
    with pytest.raises(QuotaExceededError, match="21 bytes"):
        store.put(ANN, memory(b"\xff" * 11))
    store.put(ANN, memory(b"\xff" * 10))

    assert 2 == store.count(ANN)


def test_what_is_there_is_no_growth(store: MemoryStore) -> None:
    """In a full store equal content is found again, a record may shrink and be forgotten, but not grow."""
    first = store.put(ANN, memory("x" * 20, shared=True))
    assert first == store.put(ANN, memory("x" * 20, shared=True))

    smaller = store.put(ANN, replace(first, content="y" * 19), replaces=first)
    with pytest.raises(QuotaExceededError):
        store.put(ANN, replace(smaller, content="z" * 21), replaces=smaller)

    found = store.get(ANN, first.memory_key)
    assert found is not None
    assert "y" * 19 == found.content
    assert store.delete(ANN, first.memory_key)
    assert "z" * 20 == store.put(ANN, memory("z" * 20)).content


def test_evicted_memories_count(store: MemoryStore) -> None:
    """What is only evicted takes its space still."""
    store.put(ANN, memory("x" * 20, is_active=False))

    with pytest.raises(QuotaExceededError):
        store.put(ANN, memory("y"))


def test_copies_keep_the_quota(store: MemoryStore) -> None:
    """Memories that are copied into a store keep its quota: the copy stops with the error."""
    with SQLAlchemyStore("sqlite://") as source:
        for number in range(5):
            source.put(ANN, memory(f"text {number}"))
        with pytest.raises(QuotaExceededError):
            copy_memories(source, store, user_id="ann")

    assert 0 == store.count(ANN)


async def test_a_full_quota_folds_nothing() -> None:
    """A context whose user's quota is full keeps the texts in the prompt, and folds again when there is room."""
    store = SQLAlchemyStore("sqlite://", quota=Quota(max_bytes=len(LOG) + 10))
    context = MemoryContext("ann", store=store)
    key = await context.store("x" * 20)

    assert LOG == shown((await fill(context, results(LOG)))[0])
    assert 1 == context.stats().store_failures

    await context.forget(key)
    assert shown((await fill(context, results(f"{LOG}", number=2)))[1]).startswith("[MemoryRef: ")
    store.close()


def test_lowered_quota(store: MemoryStore) -> None:
    """With a quota below what is there, equal content is found again and a record shrinks; nothing grows."""
    first = store.put(ANN, memory("x" * 18, shared=True))
    other = store.put(ANN, memory("y"))
    store.quota = Quota(max_items=1, max_bytes=5)  # type: ignore[attr-defined] # these have one
    if isinstance(store, FileStore):
        store.close()  # its index takes the quota when it is opened

    assert first == store.put(ANN, memory("x" * 18, shared=True))
    smaller = store.put(ANN, replace(first, content="z" * 17), replaces=first)
    with pytest.raises(QuotaExceededError):
        store.put(ANN, replace(smaller, content="z" * 18), replaces=smaller)
    assert {"z" * 17, other.content} == {item.content for item in store.list_all(ANN)}


@pytest.mark.long
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
@pytest.mark.parametrize("start", ["text ", b"bytes "])
def test_writers_cannot_pass_it_together(
    request: pytest.FixtureRequest, fixture: str, start: str | bytes
) -> None:
    """Eight threads that write at once end exactly at the quota, also where no index makes them wait."""
    with SQLAlchemyStore(request.getfixturevalue(fixture), quota=Quota(max_items=20)) as store:
        manager = MemoryManager(store, user_id="ann")

        def write(number: int) -> int:
            try:
                manager.store(
                    start + str(number) if isinstance(start, str) else start + bytes([number])
                )
            except QuotaExceededError:
                return 0
            return 1

        with ThreadPoolExecutor(8) as threads:
            written = sum(threads.map(write, range(60)))

        assert (20, 20) == (written, store.count(ANN))


def test_a_writer_waits_for_the_one_before(postgres_url: str) -> None:
    """On PostgreSQL a write under a quota waits for the same user's write before it, and another user's does not."""
    with (
        SQLAlchemyStore(postgres_url, quota=Quota(max_items=20)) as store,
        ThreadPoolExecutor(2) as threads,
    ):
        store.put(ANN, memory("first"))

        def meanwhile(connection: sa.Connection) -> tuple[Future[MemoryItem], bool]:
            with quota_kept(connection, "ann", store.quota):
                mine = threads.submit(store.put, ANN, memory("x"))
                for number in range(5):
                    text = memory(f"text {number}", user_id="bob")
                    threads.submit(store.put, BOB, text).result(300)
                return mine, mine.done()

        waiting, was_done = store.database.write(meanwhile)

        assert not was_done
        assert "x" == waiting.result(300).content


@examples(30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.text(max_size=9) | st.binary(max_size=9)), max_size=12)
)
def test_never_above(steps: list[tuple[int, Any]]) -> None:
    """Whatever is put, written over and deleted, a user's memories and bytes never pass the quota."""
    with SQLAlchemyStore("sqlite://", quota=SMALL) as store:
        manager = MemoryManager(store, user_id="ann")
        for number, content in steps:
            try:
                if number == 3:
                    manager.forget("k0")
                else:
                    manager.store(content, key=f"k{number}", replace=True)
            except QuotaExceededError:
                pass
            held = list(store.list_all(ANN))
            assert len(held) <= 3
            assert sum(len(item.data) for item in held) <= 20
            assert sum(one.bytes for one in store.usage(ANN)) == sum(
                len(item.data) for item in held
            )


@for_each("wrong", [-1, 1.5, True, "10"])
def test_no_quota(wrong: Any) -> None:
    """A limit that is no whole number is refused by name."""
    with pytest.raises(InvalidArgumentError, match="max_bytes must be a whole number"):
        Quota(max_bytes=wrong)


def test_a_quota_is_not_forgotten_in_a_dump(sqlite_url: str) -> None:
    """A component with a quota is not written down, because it would come back without it."""
    context = MemoryContext("ann", store=SQLAlchemyStore(sqlite_url, quota=SMALL))

    with pytest.raises(NotSerializableError, match="a quota cannot be serialized"):
        context.dump_component()
