"""SQLAlchemyStore on every database: the contract, and what belongs to SQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from memory_context.exceptions import InvalidFilterError
from memory_context.model.item import Deletion, MemoryItem
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.stores.protocol import Filters
from memory_context.testing import MemoryStoreContract, search_contract
from memory_context.testing.sample_memories import ANN, memory


class TestSQLAlchemyStore(MemoryStoreContract):
    """The contract, on SQLite in memory, a SQLite file and PostgreSQL."""

    @pytest.fixture
    def store(self, store_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(store_url) as store:
            yield store


def test_the_contract_of_a_store_of_ones_own() -> None:
    """Its failures show values, as those of a test file do; what only administrators need may be left out."""
    assert "AssertionRewritingHook" == type(search_contract.__loader__).__name__
    with pytest.raises(pytest.skip.Exception, match="administrators"):
        MemoryStoreContract().test_users(cast("MemoryStore", object()))


@pytest.mark.long
def test_many_deletions_are_listed() -> None:
    """All deletions are listed, each once, however many there are."""
    moment = datetime(2020, 2, 29, tzinfo=UTC)
    with SQLAlchemyStore("sqlite://") as store:
        store.restore(ANN, [Deletion(f"k{number}", moment, "") for number in range(1100)])

        assert 1100 == len({deletion.memory_key for deletion in store.list_deleted(ANN)})


def test_kept_statements_take_no_other_values(store_url: str) -> None:
    """Filters of one shape share a statement: each finds by its own values, and what is no value of a column is refused."""
    with SQLAlchemyStore(store_url) as store:
        for number in range(30):
            item = MemoryItem(
                user_id=ANN.user_id, memory_key=f"k{number}", content=f"text {number}"
            )
            store.put(
                ANN,
                replace(item, category=f"a/{number}", importance=number / 30, tags=(f"t{number}",)),
            )
        for number in (3, 4):
            wanted: list[Filters] = [
                {"category": f"a/{number}"},
                {"category": {"$under": f"a/{number}//"}},
                {"memory_key": [f"k{number}", None]},
                {"content": {"$contains": f"text {number}"}, "char_count": {"$lt": 7}},
                {"tags": [f"t{number}", "other"]},
                {"importance": [{"$lt": 0}, number / 30], "expires_at": None},
            ]
            for filters in wanted:
                assert [f"k{number}"] == [one.memory_key for one in store.query(ANN, filters)]
        keys = [f"k{number}" for number in range(2, 28)]
        held: Filters = {"content": {"$contains": "text 3"}, "memory_key": "k3"}
        assert ["k3"] == [one.memory_key for one in store.search(ANN, "text", filters=held)]
        assert 1 == store.count(ANN, held)
        assert 26 == len(store.query(ANN, {"memory_key": keys}))
        assert [] == store.query(ANN, {"memory_key": []}) == store.query(ANN, {"tags": []})
        assert 26 == sum(usage.items for usage in store.usage(ANN, {"memory_key": keys}))
        assert [f"k{number}" for number in (1, 0)] == [
            one.memory_key for one in store.query(ANN, {"tags": ["t0", "t1"]}, limit=None)
        ]
        naive = datetime.now(UTC).replace(tzinfo=None)
        good: dict[str, Any] = {"category": "a", "is_active": True, "created_at": datetime.now(UTC)}
        for name, value in good.items():
            store.query(ANN, {name: {"$eq": value}})
        for name, value in {"category": "a\0", "is_active": 1, "created_at": naive}.items():
            with pytest.raises(InvalidFilterError):
                store.query(ANN, {name: {"$eq": value}})


def test_memories_are_replaced_from_an_iterator() -> None:
    """What can be read only once is stored as a list is."""
    with SQLAlchemyStore("sqlite://") as store:
        store.replace_all(ANN, cast("list[MemoryItem]", iter([memory("tea", memory_key="drink")])))
        assert 1 == store.count(ANN)


def test_deletions_and_memories_are_restored_in_their_order() -> None:
    """A memory that was deleted later stays deleted, wherever in a batch its deletion stands; the same twice is one."""
    item = memory("hello")
    later = Deletion(item.memory_key, item.updated_at + timedelta(days=1), "gone")
    with SQLAlchemyStore("sqlite://") as store:
        done = store.restore(ANN, [later, item])
        assert (1, 1) == (done.written, len(done.conflicts))
        assert [] == list(store.list_all(ANN))
    with SQLAlchemyStore("sqlite://") as store:
        done = store.restore(ANN, [item, item])
        assert (1, 1, ()) == (done.written, done.unchanged, done.conflicts)


def test_of_two_versions_the_one_newer_than_a_deletion_is_restored() -> None:
    """It is found by its own words, and the older version is a conflict."""
    older = memory("apples", memory_key="k")
    deletion = Deletion("k", older.updated_at + timedelta(days=1), "over")
    newer = replace(older, content="bananas", updated_at=older.updated_at + timedelta(days=2))
    with SQLAlchemyStore("sqlite://") as store:
        store.restore(ANN, [deletion])
        done = store.restore(ANN, [older, newer])
        assert (1, 1) == (done.written, len(done.conflicts))
        assert [newer.id] == [hit.id for hit in store.search(ANN, "bananas")]
        assert [] == store.search(ANN, "apples")
