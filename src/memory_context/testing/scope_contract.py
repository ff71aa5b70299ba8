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
    ends_now = (item, now())
    assert store.get(scope, key) is None
    assert [] == store.get_many(scope, [key])
    assert 0 == store.touch(scope, [key])
    assert 0 == store.expire_at(scope, [ends_now])
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

        same_content = memory("secret of ann", shared=True, user_id="bob")
        bobs = store.put(BOB, same_content)
        assert "bob" == bobs.user_id
        assert 1 == store.count(BOB)

        same_key = memory("bob's", memory_key=key, user_id="bob")
        bobs = store.put(BOB, same_key, replace=True)
        assert "bob's" == bobs.content
        assert item == store.get(ANN, key)

    def test_nothing_is_written_outside_the_scope(self, store: MemoryStore) -> None:
        """A memory of another user or thread than the scope's is neither put nor restored."""
        anns = memory()
        with pytest.raises(InvalidScopeError):
            store.put(BOB, anns)
        with pytest.raises(InvalidScopeError):
            store.restore(BOB, [anns])

        one_thread = Scope("ann", thread_id="t1")
        of_another_thread = memory(thread_id="t2")
        with pytest.raises(InvalidScopeError):
            store.put(one_thread, of_another_thread)
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
        visible = {
            put(store, "the walrus", tier="run", tier_id="r1").memory_key,
            put(store, "the walrus", tier="global").memory_key,
            put(store, "the walrus", tier="detail").memory_key,
            put(store, "the walrus", tier="memory", tier_id="x").memory_key,
        }
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
            check_out_of_reach(store, scope, item)
            copied = replace(item, id=uuid4())
            with pytest.raises(InvalidScopeError):
                store.put(scope, copied, replace=True)
            moved_in = replace(item, tier="run", tier_id="r1")
            with pytest.raises(RecordChangedError):
                store.put(scope, moved_in, replaces=item)
            same_key = memory("a yak", memory_key=item.memory_key, tier="global")
            with pytest.raises(KeyExistsError):
                store.put(scope, same_key, replace=True)

        store.clear(scope)
        left = store.list_all(ANN)
        assert {item.id for item in hidden} == {item.id for item in left}

    def test_users(self, store: MemoryStore) -> None:
        """An administrator sees the users who have memories or deletions."""
        if not isinstance(store, Administration):
            pytest.skip("the store offers nothing to administrators")
        assert [] == store.users()
        deleted_at = datetime(2020, 1, 1, tzinfo=UTC)
        store.put(BOB, memory(user_id="bob"))
        store.restore(ANN, [Deletion("k", deleted_at, "")])
        store.put(Scope("c"), memory(user_id="c"))

        assert ["ann", "bob", "c"] == store.users()
