"""The contract of `MemoryStore.query` and `count`: filters, order and limit."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memory_context.exceptions import InvalidArgumentError, InvalidFilterError
from memory_context.model.item import Content
from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, keys_of, memory, put

NEW_YEAR_IN_KARACHI = datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=5)))
FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"memory_type": "note"}, "ab"),
    ({"memory_type": ["note", "decision"]}, "abc"),
    ({"importance": {"$gte": 0.5}}, "bc"),
    ({"importance": {"$gt": 0.1, "$lt": 0.9}}, "b"),
    ({"importance": {"$lte": 0.1}}, "a"),
    ({"memory_key": {"$ne": "a"}}, "bc"),
    ({"memory_key": {"$eq": "a"}}, "a"),
    ({"tags": "red"}, "ab"),
    ({"tags": ["blue", "green"]}, "bc"),
    ({"category": None}, "ab"),
    ({"category": [None, "y"]}, "ab"),
    ({"category": {"$ne": "x"}}, "ab"),
    ({"category": {"$ne": None}}, "c"),
    ({"category": {"$eq": None}}, "ab"),
    ({"category": {"$under": "x"}}, "c"),
    ({"category": [{"$under": "x"}, None]}, "abc"),
    ({"importance": [{"$lt": 0.2}, 0.9]}, "ac"),
    ({"memory_type": {"$contains": "O"}}, ""),
    ({"memory_type": {"$contains": "o", "$ne": "note"}}, "c"),
    ({"tags": []}, ""),
    ({"is_active": [True, False]}, "abc"),
    ({"memory_key": []}, ""),
    ({"importance": {}}, "abc"),
    ({"memory_type": "note", "tags": "blue"}, "b"),
    ({"created_at": {"$lt": datetime(2020, 1, 1, tzinfo=UTC)}}, "a"),
    ({"created_at": {"$gt": NEW_YEAR_IN_KARACHI}}, "abc"),
]
"""Filters, and the keys of the memories that match."""
BAD_FILTERS: list[dict[str, Any]] = [
    {"nothing": 1},
    {"content": "x"},
    {"content": {"$eq": "x"}},
    {"content": {"$contains": 1}},
    {"importance": {"$contains": "1"}},
    {"importance": [{"$near": 1}]},
    {"importance": {"$near": 1}},
    {"tags": 1},
    {"tags": [1]},
    {"importance": "high"},
    {"importance": True},
    {"memory_type": 5},
    {"memory_type": ["note", 5]},
    {"memory_key": "NUL \0"},
    {"id": "not a UUID"},
    {"created_at": "2026-01-01"},
    {"created_at": {"$lt": datetime(2026, 1, 1)}},  # noqa: DTZ001 - without a zone
    {"is_active": 1},
    {"importance": {"$under": 1}},
    {"category": {"$under": None}},
    {"category": {"$gt": None}},
]


class QueryContract:
    """Tests of how every `MemoryStore` answers a query."""

    def test_filters(self, store: MemoryStore) -> None:
        """Filters test equality, membership and comparisons, and all of them must hold."""
        old = datetime(2019, 12, 31, 20, tzinfo=UTC)  # in Karachi the new year is an hour old
        put(
            store,
            memory_key="a",
            memory_type="note",
            importance=0.1,
            tags=("red",),
            created_at=old,
        )
        put(store, memory_key="b", memory_type="note", importance=0.5, tags=("red", "blue"))
        put(
            store,
            memory_key="c",
            memory_type="decision",
            importance=0.9,
            tags=("green",),
            category="x",
        )

        for filters, expected in FILTERS:
            found = store.query(ANN, filters)
            assert list(expected) == sorted(keys_of(found)), filters
            assert len(expected) == store.count(ANN, filters), filters

    def test_bad_filters(self, store: MemoryStore) -> None:
        """Unknown columns, unknown operators and values of the wrong type are refused."""
        put(store)

        for filters in BAD_FILTERS:
            for verb in (store.query, store.count):
                with pytest.raises(InvalidFilterError):
                    verb(ANN, filters)

    def test_order_and_limit(self, store: MemoryStore) -> None:
        """A query is ordered by the column that it names, and limited."""
        for key, importance in {"a": 0.2, "b": 0.9, "c": 0.5}.items():
            put(store, memory_key=key, importance=importance)

        most_important = store.query(ANN, order_by="importance", limit=2)
        backwards = store.query(ANN, order_by="-importance")
        assert ["b", "c"] == keys_of(most_important)
        assert ["a", "c", "b"] == keys_of(backwards)
        for wrong in ("nothing", "", "+importance", "--importance", "content", "tags"):
            with pytest.raises(InvalidFilterError):
                store.query(ANN, order_by=wrong)
        with pytest.raises(InvalidArgumentError, match="limit"):
            store.query(ANN, limit=-1)

    def test_offset(self, store: MemoryStore) -> None:
        """A query skips *offset* memories."""
        for key, importance in {"a": 0.2, "b": 0.9, "c": 0.5}.items():
            put(store, memory_key=key, importance=importance)

        for offset, key in enumerate("bca"):
            page = store.query(ANN, order_by="importance", limit=1, offset=offset)
            assert [key] == keys_of(page), offset
        assert [] == store.query(ANN, order_by="importance", limit=1, offset=3)
        rest = store.query(ANN, order_by="importance", limit=None, offset=2)
        assert ["a"] == keys_of(rest)
        with pytest.raises(InvalidArgumentError, match="offset"):
            store.query(ANN, offset=-1)

    def test_paths(self, store: MemoryStore) -> None:
        """Categories below a path are found, and none that only begins with the same letters."""
        for category in ("x", "x/y", "x-y", "xy", "X/y", "x/y/z"):
            put(store, memory_key=category, category=category)

        for path in ("x", "x/"):
            found = store.query(ANN, {"category": {"$under": path}})
            assert ["x", "x/y", "x/y/z"] == sorted(keys_of(found))

    def test_contents(self, store: MemoryStore) -> None:
        """Contents are filtered by an exact part of them, if the store can compare them without decoding them."""
        contents: dict[str, Content] = {
            "a": "50% of Ann's",
            "b": "50 of Ann's",
            "c": "ann's",
            "d": b"\xff Ann's",
            "e": "Ann's \ud800",
        }
        for key, content in contents.items():
            put(store, content, memory_key=key)

        for part, expected in {
            "Ann's": "abde",
            "0%": "a",
            "ann": "c",
            "": "abcde",
            "'; --": "",
        }.items():
            # A store that encrypts or compresses contents refuses this filter.
            with suppress(InvalidFilterError):
                found = store.query(ANN, {"content": {"$contains": part}})
                assert list(expected) == sorted(keys_of(found)), part

    def test_newest_hundred_by_default(self, store: MemoryStore) -> None:
        """A query returns the newest hundred, newest first, unless it names another limit."""
        start = datetime(2026, 1, 1, tzinfo=UTC)
        items = [memory(created_at=start + timedelta(minutes=minute)) for minute in range(102)]
        store.restore(ANN, items)
        newest_first = keys_of(reversed(items))

        by_default = store.query(ANN)
        without_a_limit = store.query(ANN, limit=None)
        assert newest_first[:100] == keys_of(by_default)
        assert newest_first == keys_of(without_a_limit)
        assert [] == store.query(ANN, limit=0)

    def test_order_of_texts_and_none(self, store: MemoryStore) -> None:
        """Texts are ordered and compared by code point, and None comes last; ``-`` reverses the whole order."""
        for category in ("b", "B", None, "é", "a_z", "aZ"):
            put(store, category=category)

        ordered = store.query(ANN, order_by="category")
        backwards = store.query(ANN, order_by="-category")

        assert ["é", "b", "a_z", "aZ", "B", None] == [item.category for item in ordered]
        assert ordered[::-1] == backwards
        assert 2 == store.count(ANN, {"category": {"$gt": "a_z"}})
