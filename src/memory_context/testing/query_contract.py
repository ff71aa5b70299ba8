"""The contract of `MemoryStore.query` and `count`: filters, order, limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memory_context.exceptions import InvalidArgumentError, InvalidFilterError
from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, memory

FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"memory_type": "note"}, {"a", "b"}),
    ({"memory_type": ["note", "decision"]}, {"a", "b", "c"}),
    ({"importance": {"$gte": 0.5}}, {"b", "c"}),
    ({"importance": {"$gt": 0.1, "$lt": 0.9}}, {"b"}),
    ({"importance": {"$lte": 0.1}}, {"a"}),
    ({"memory_key": {"$ne": "a"}}, {"b", "c"}),
    ({"memory_key": {"$eq": "a"}}, {"a"}),
    ({"tags": "red"}, {"a", "b"}),
    ({"tags": ["blue", "green"]}, {"b", "c"}),
    ({"category": None}, {"a", "b"}),
    ({"category": [None, "y"]}, {"a", "b"}),
    ({"category": {"$ne": "x"}}, {"a", "b"}),
    ({"category": {"$ne": None}}, {"c"}),
    ({"category": {"$eq": None}}, {"a", "b"}),
    ({"tags": []}, set[str]()),
    ({"is_active": [True, False]}, {"a", "b", "c"}),
    ({"memory_key": []}, set[str]()),
    ({"importance": {}}, {"a", "b", "c"}),
    ({"memory_type": "note", "tags": "blue"}, {"b"}),
    (
        {"created_at": {"$gt": datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=5)))}},
        {"b", "c"},
    ),
]
BAD_FILTERS: list[dict[str, Any]] = [
    {"nothing": 1},
    {"content": "x"},
    {"importance": {"$near": 1}},
    {"tags": 1},
    {"tags": [1]},
    {"importance": "high"},
    {"importance": True},
    {"memory_type": 5},
    {"memory_type": ["note", 5]},
    {"memory_key": "NUL \0"},
    {"id": "no UUID"},
    {"created_at": "2026-01-01"},
    {"created_at": {"$lt": datetime(2026, 1, 1)}},  # noqa: DTZ001 - without a zone
    {"is_active": 1},
    {"importance": {"$under": 1}},
    {"category": {"$under": None}},
    {"category": {"$gt": None}},
]


class QueryContract:
    """What every `MemoryStore` answers to a query."""

    def test_filters(self, store: MemoryStore) -> None:
        """Filters are equality, membership and comparisons; several must all hold."""
        old = datetime(2019, 12, 31, tzinfo=UTC)
        a = memory(
            memory_key="a", memory_type="note", importance=0.1, tags=("red",), created_at=old
        )
        b = memory(memory_key="b", memory_type="note", importance=0.5, tags=("red", "blue"))
        c = memory(
            memory_key="c", memory_type="decision", importance=0.9, tags=("green",), category="x"
        )
        for item in (a, b, c):
            store.put(ANN, item)

        for filters, expected in FILTERS:
            assert expected == {item.memory_key for item in store.query(ANN, filters)}, filters
            assert len(expected) == store.count(ANN, filters), filters

    def test_bad_filters(self, store: MemoryStore) -> None:
        """A column, an operator, or a kind of value that there is not is an error of its own, on every store."""
        store.put(ANN, memory())

        for filters in BAD_FILTERS:
            for verb in (store.query, store.count):
                try:
                    verb(ANN, filters)
                except InvalidFilterError:
                    continue
                pytest.fail(f"{verb.__name__} took {filters}")

    def test_order_and_limit(self, store: MemoryStore) -> None:
        """A query is ordered by the column that it names, and limited."""
        for key, importance in {"a": 0.2, "b": 0.9, "c": 0.5}.items():
            store.put(ANN, memory(memory_key=key, importance=importance))

        assert ["b", "c"] == [
            item.memory_key for item in store.query(ANN, order_by="importance", limit=2)
        ]
        assert ["a", "c", "b"] == [
            item.memory_key for item in store.query(ANN, order_by="-importance")
        ]
        for wrong in ("nothing", "", "+importance", "--importance", "content", "tags"):
            with pytest.raises(InvalidFilterError):
                store.query(ANN, order_by=wrong)
        with pytest.raises(InvalidArgumentError, match="limit"):
            store.query(ANN, limit=-1)

    def test_newest_hundred_by_default(self, store: MemoryStore) -> None:
        """Without more words a query gives the hundred newest, newest first; with None as its limit all of them."""
        start = datetime(2026, 1, 1, tzinfo=UTC)
        store.restore(
            ANN,
            [
                memory(memory_key=f"k{minute:03}", created_at=start + timedelta(minutes=minute))
                for minute in range(102)
            ],
        )

        assert [f"k{minute:03}" for minute in range(101, 1, -1)] == [
            item.memory_key for item in store.query(ANN)
        ]
        assert 102 == len(store.query(ANN, limit=None))
        assert [] == store.query(ANN, limit=0)

    def test_order_of_texts_and_of_nothing(self, store: MemoryStore) -> None:
        """Texts are ordered and compared by their code points, nothing comes last, and - turns all of it round."""
        for key, category in {
            "a": "b",
            "b": "B",
            "c": None,
            "d": "é",
            "e": "a_z",
            "f": "aZ",
        }.items():
            store.put(ANN, memory(memory_key=key, category=category))

        ordered = [item.memory_key for item in store.query(ANN, order_by="category")]

        assert ["d", "a", "e", "f", "b", "c"] == ordered
        assert ordered[::-1] == [item.memory_key for item in store.query(ANN, order_by="-category")]
        assert {"d", "a"} == {
            item.memory_key for item in store.query(ANN, {"category": {"$gt": "a_z"}})
        }
