"""The contract of capacities: what `MemoryStore.put` does when a tier is full."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_context.exceptions import TierFullError
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity
from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, BOB, keys_of, note


class CapacityContract:
    """Tests of what every `MemoryStore` refuses or evicts when a tier is full."""

    @pytest.mark.parametrize(
        ("capacity", "limit", "unit"),
        [(Capacity(max_chars=10), 10, "characters"), (Capacity(max_items=2), 2, "items")],
    )
    def test_full_tier_refuses(
        self, store: MemoryStore, capacity: Capacity, limit: int, unit: str
    ) -> None:
        """A full tier, counted by user and tier id, refuses a memory, and the error has its size and limit."""
        for number in range(2):
            store.put(ANN, note("12345", "p1"), room=capacity)
            store.put(ANN, note("12345", f"other{number}"), room=capacity)
        bobs = note("12345", "p1", user_id="bob")
        store.put(BOB, bobs, room=capacity)
        refused = note("6", "p1")

        with pytest.raises(TierFullError, match="project") as caught:
            store.put(ANN, refused, room=capacity)

        error = caught.value
        assert limit == error.size
        assert limit == error.limit
        assert unit == error.unit
        assert store.get(ANN, refused.memory_key) is None
        without_a_capacity = store.put(ANN, refused)
        assert refused == without_a_capacity

    def test_replaced_memory_frees_its_share(self, store: MemoryStore) -> None:
        """A replaced memory, or the same content put again, takes no further capacity."""
        capacity = Capacity(max_chars=10, max_items=1)
        for _ in range(2):
            first = note("1234567890", "p", memory_key="own")
            store.put(ANN, first, room=capacity)
        other = note("0987654321", "p", memory_key="own")
        changed = store.put(ANN, other, replace=True, room=capacity)
        shorter = replace(changed, content="123", char_count=3)
        shorter = store.put(ANN, shorter, replaces=changed, room=capacity)

        too_long = note("x" * 11, "p", memory_key="own")
        with pytest.raises(TierFullError):
            store.put(ANN, too_long, replace=True, room=capacity)

        assert "123" == shorter.content
        assert [shorter] == store.query(ANN)

    def test_eviction(self, store: MemoryStore) -> None:
        """The least important memories are evicted, oldest first: inactive, but readable."""
        capacity = Capacity(max_items=10, evict=0.2)
        created_at = datetime(2026, 1, 1, tzinfo=UTC)
        importances = (0.9, 0.1, 0.5, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5)
        for number, importance in enumerate(importances):
            key = f"n{number}"
            item = note(key, "p", memory_key=key, importance=importance, created_at=created_at)
            store.put(ANN, item, room=capacity)
            created_at += timedelta(minutes=1)
        eleventh = note("the eleventh", "p", importance=0.0)
        store.put(ANN, eleventh, room=capacity)

        inactive = store.query(ANN, {"is_active": False})
        assert {"n1", "n3"} == set(keys_of(inactive))
        for key in ("n1", "n3"):
            evicted = store.get(ANN, key)
            assert evicted is not None
            assert key == evicted.text
            assert not evicted.is_active
        assert 9 == store.count(ANN)

    def test_nothing_is_evicted_in_vain(self, store: MemoryStore) -> None:
        """A memory larger than the whole capacity is refused, and nothing is evicted for it."""
        capacity = Capacity(max_chars=5, evict=0.1)
        first = store.put(ANN, note("12345", "p"), room=capacity)

        too_long = note("123456", "p")
        with pytest.raises(TierFullError):
            store.put(ANN, too_long, room=capacity)
        assert [first] == store.query(ANN)

        second = store.put(ANN, note("54321", "p"), room=capacity)
        assert [second] == store.query(ANN)

    def test_capacity_under_threads(self, store: MemoryStore) -> None:
        """Eight threads cannot exceed a capacity together; with eviction all of them get in."""
        refusing = Capacity(max_chars=50)
        evicting = Capacity(max_items=5, evict=0.2)

        def put(index: int) -> bool:
            """Put one note into each tier; return whether there was room in both."""
            try:
                store.put(ANN, note("12345", "refusing"), room=refusing)
            except TierFullError:
                return False
            stored = store.put(ANN, note(f"n{index}", "evicting"), room=evicting)
            return stored.is_active

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(put, range(40)))

        assert 10 == sum(done)
        assert 10 == store.count(Scope("ann", tier_id="refusing"))
        assert 5 == store.count(Scope("ann", tier_id="evicting"))
