"""The contract of scopes: no verb of a `MemoryStore` reaches a memory outside of its scope."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from memory_context.exceptions import InvalidScopeError, KeyExistsError, RecordChangedError
from memory_context.model.item import Deletion, MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.stores import Administration, MemoryStore
from memory_context.testing.sample_memories import ANN, BOB, keys_of, memory, put


def check_out_of_reach(store: MemoryStore, scope: Scope, item: MemoryItem) -> None:
    """Check that no verb in *scope* reaches a memory outside of it, by its key or with the record itself."""
    key = item.memory_key
    assert store.get(scope, key) is None
    assert [] == store.get_many(scope, [key])
    assert 0 == store.touch(scope, [key])
    assert 0 == store.expire_at(scope, [(item, now())])
    assert not store.delete(scope, key)


class ScopeContract:
    """Tests that every `MemoryStore` keeps scopes apart."""

    def test_users_are_isolated(self, store: MemoryStore) -> None:
        """No verb reaches another user's memory, even under the same key and content."""
        item = put(store, "secret of ann", shared=True, summary="ann")
        key = item.memory_key

        check_out_of_reach(store, BOB, item)
        assert [] == store.query(BOB)
        assert [] == store.search(BOB, "secret of ann")
        assert [] == list(store.list_all(BOB))
        assert [] == store.usage(BOB)
        assert 0 == store.count(BOB)
        assert 0 == store.clear(BOB)
        assert store.deletion(BOB, key) is None
        bobs = store.put(BOB, memory("secret of ann", shared=True, user_id="bob"))
        assert ("bob", 1) == (bobs.user_id, store.count(BOB))
        bobs = store.put(BOB, memory("bob's", memory_key=key, user_id="bob"), replace=True)
        assert "bob's" == bobs.content
        assert item == store.get(ANN, key)

    def test_nothing_is_written_outside_the_scope(self, store: MemoryStore) -> None:
        """A memory of another user or thread than the scope's is neither put nor restored."""
        with pytest.raises(InvalidScopeError):
            store.put(BOB, memory())
        with pytest.raises(InvalidScopeError):
            store.put(Scope("ann", thread_id="t1"), memory(thread_id="t2"))
        with pytest.raises(InvalidScopeError):
            store.restore(BOB, [memory()])
        assert [] == list(store.list_all(ANN))

    def test_scope_narrows_every_verb(self, store: MemoryStore) -> None:
        """Agent, thread, tier and tier id narrow every verb."""
        outside = put(store, "outside")
        narrower: list[dict[str, Any]] = [
            {"agent_id": "a"},
            {"thread_id": "t"},
            {"tier": "project"},
            {"tier": "project", "tier_id": "p"},
        ]
        for narrow in narrower:
            scope = Scope("ann", **narrow)
            inside = put(store, "inside", **narrow).memory_key

            assert [inside] == keys_of(store.query(scope)), narrow
            assert [inside] == keys_of(store.list_all(scope)), narrow
            assert [inside] == keys_of(store.search(scope, "inside outside")), narrow
            check_out_of_reach(store, scope, outside)
            assert 1 == store.clear(scope), narrow
            assert [outside] == store.query(ANN), narrow

    def test_places_are_walls(self, store: MemoryStore) -> None:
        """A scope with places sees only those, tiers without an id, and folded outputs."""
        visible = set[str]()
        for tier, tier_id in (("run", "r1"), ("global", None), ("detail", None), ("memory", "x")):
            visible.add(put(store, "the walrus", tier=tier, tier_id=tier_id).memory_key)
        hidden = [
            put(store, "the walrus", tier="run", tier_id="r2"),
            put(store, "the walrus", tier="task", tier_id="r1"),
        ]
        scope = Scope("ann", places=frozenset({("run", "r1"), ("project", "p")}))

        assert visible == set(keys_of(store.query(scope)))
        assert visible == set(keys_of(store.search(scope, "walrus", limit=10)))
        assert visible == set(keys_of(store.list_all(scope)))
        assert [] == store.query(scope, {"tier_id": ["r2"]})
        assert 4 == store.count(scope)
        assert 4 == sum(usage.items for usage in store.usage(scope))
        for item in hidden:
            key = item.memory_key
            check_out_of_reach(store, scope, item)
            with pytest.raises(InvalidScopeError):
                store.put(scope, replace(item, id=uuid4()), replace=True)
            with pytest.raises(RecordChangedError):
                store.put(scope, replace(item, tier="run", tier_id="r1"), replaces=item)
            with pytest.raises(KeyExistsError):
                store.put(scope, memory("a yak", memory_key=key, tier="global"), replace=True)
        store.clear(scope)
        assert {item.id for item in hidden} == {item.id for item in store.list_all(ANN)}

    def test_users(self, store: MemoryStore) -> None:
        """An administrator sees the users who have memories or deletions."""
        assert isinstance(store, Administration)
        assert [] == store.users()
        store.put(BOB, memory(user_id="bob"))
        store.restore(ANN, [Deletion("k", datetime(2020, 1, 1, tzinfo=UTC), "")])
        store.put(Scope("c"), memory(user_id="c"))

        assert ["ann", "bob", "c"] == store.users()
