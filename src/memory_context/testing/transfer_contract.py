"""The contract of what moves memories between stores: `list_all`, `list_deleted`, `restore`, and `users`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory_context.exceptions import InvalidScopeError, KeyExistsError
from memory_context.model.item import Deletion, MemoryItem, Restored
from memory_context.model.scope import Scope
from memory_context.stores import Administration, MemoryStore
from memory_context.testing.sample_memories import ANN, BOB, memory

LONG_AGO = datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)


def _old(content: str = "a text", **values: Any) -> MemoryItem:  # noqa: ANN401 - a field's values
    """A memory of long ago, as another store has it."""
    facts: dict[str, Any] = {"created_at": LONG_AGO, "updated_at": LONG_AGO} | values
    return memory(content, **facts)


class MovingContract:
    """What every `MemoryStore` does when memories move."""

    def test_restored_as_it_was(self, store: MemoryStore) -> None:
        """A record is restored with its id, times, reads and state, and is found."""
        item = _old(
            "a walrus",
            shared=True,
            is_active=False,
            access_count=7,
            accessed_at=LONG_AGO + timedelta(days=1),
        )
        active = _old("a yak", memory_key="y", access_count=1, accessed_at=LONG_AGO)

        assert Restored(written=2) == store.restore(ANN, [item, active])

        assert [item, active] == sorted(
            store.list_all(ANN), key=lambda one: one.memory_key != item.memory_key
        )
        assert ["y"] == [hit.memory_key for hit in store.search(ANN, "walrus yak")]

    def test_restored_twice(self, store: MemoryStore) -> None:
        """Restoring again changes nothing, also after a read here."""
        records: list[MemoryItem | Deletion] = [
            _old(),
            _old("two", memory_key="two"),
            Deletion("gone", LONG_AGO, "over"),
        ]
        store.restore(ANN, records)
        store.touch(ANN, ["two"])
        before = list(store.list_all(ANN))

        assert Restored(unchanged=3) == store.restore(ANN, iter(records))
        assert before == list(store.list_all(ANN))

    def test_restored_from_another_store_of_the_same_kind(self, store: MemoryStore) -> None:
        """What a store lists, it takes again after it was cleared there for good."""
        made = store.put(ANN, memory("made here", tags=("x",), content_metadata={"a": [1, None]}))
        [listed] = store.list_all(ANN)

        assert made == listed
        assert Restored(unchanged=1) == store.restore(ANN, [listed])

    def test_clashes_are_named(self, store: MemoryStore) -> None:
        """Another version, a key, an id or a content that is here already is a conflict, and nothing is changed."""
        here = store.put(ANN, memory("here", memory_key="k"))
        shared = store.put(ANN, memory("log", shared=True))
        other = store.put(BOB, memory("bob's", user_id="bob"))
        before = list(store.list_all(ANN))
        clashes = {
            "version": replace(here, summary="edited"),
            "key": _old("there", memory_key="k"),
            "content": replace(_old("log", shared=True), memory_key="another"),
            "another memory": replace(_old(), id=other.id),
        }

        restored = store.restore(ANN, [*clashes.values(), _old("fine", memory_key="fine")])

        assert (1, 0) == (restored.written, restored.unchanged)
        assert [item.id for item in clashes.values()] == [
            conflict.id for conflict in restored.conflicts
        ]
        for word, conflict in zip(clashes, restored.conflicts, strict=True):
            assert word in conflict.reason
        assert shared.memory_key in restored.conflicts[2].reason
        assert before == [item for item in store.list_all(ANN) if item.memory_key != "fine"]

    def test_two_of_one_key_at_once(self, store: MemoryStore) -> None:
        """Of two records with one key the first is written, and the second is a conflict; so of two equal ones."""
        one, two = _old("one", memory_key="k"), _old("two", memory_key="k")

        restored = store.restore(ANN, [one, two, one])

        assert (1, [two.id, one.id]) == (
            restored.written,
            [conflict.id for conflict in restored.conflicts],
        )
        assert [one] == list(store.list_all(ANN))

    def test_deletions_move(self, store: MemoryStore) -> None:
        """When and why a memory was deleted is restored and listed; of two deletions of a key the later one stays."""
        early, late = (
            Deletion("a", LONG_AGO, "early"),
            Deletion("a", LONG_AGO + timedelta(days=1), "late"),
        )

        assert Restored(written=2) == store.restore(ANN, [early, late])
        assert Restored(unchanged=1) == store.restore(ANN, [early])
        assert late == store.deletion(ANN, "a")
        assert [late] == list(store.list_deleted(ANN))
        assert [] == list(store.list_deleted(BOB))

    def test_deleted_here_stays_deleted(self, store: MemoryStore) -> None:
        """What was deleted here after it was last changed there does not come back, and is named."""
        item = _old(memory_key="k")
        store.restore(ANN, [item])
        store.delete(ANN, "k", reason="asked to")

        [conflict] = store.restore(ANN, [item]).conflicts

        assert "asked to" in conflict.reason
        assert store.get(ANN, "k") is None

    def test_deleted_before_it_was_written(self, store: MemoryStore) -> None:
        """A record that is newer than the deletion of its key is restored, and is not deleted any more."""
        store.restore(ANN, [Deletion("k", LONG_AGO, "over")])

        assert Restored(written=1) == store.restore(ANN, [memory(memory_key="k")])
        assert store.deletion(ANN, "k") is None

    def test_a_deletion_deletes_nothing(self, store: MemoryStore) -> None:
        """A deletion of what is still here is a conflict."""
        store.put(ANN, memory(memory_key="k"))

        [conflict] = store.restore(
            ANN, [Deletion("k", datetime(2099, 1, 1, tzinfo=UTC), "over")]
        ).conflicts

        assert ("k", None) == (conflict.memory_key, conflict.id)
        assert store.get(ANN, "k") is not None

    def test_only_into_its_scope(self, store: MemoryStore) -> None:
        """A record of one user cannot be restored into the scope of another."""
        with pytest.raises(InvalidScopeError):
            store.restore(BOB, [_old()])
        assert [] == list(store.list_all(ANN))

    def test_an_id_is_taken_once(self, store: MemoryStore) -> None:
        """A new memory cannot have the id of another, be it somebody else's."""
        item = store.put(ANN, memory(memory_key="k"))

        for scope, wrong in (
            (ANN, replace(item, memory_key="l")),
            (BOB, replace(item, user_id="bob")),
        ):
            with pytest.raises(KeyExistsError, match=str(item.id)):
                store.put(scope, wrong)

    def test_users(self, store: MemoryStore) -> None:
        """An administrator sees who has memories or deletions."""
        assert isinstance(store, Administration)
        assert [] == store.users()
        store.put(BOB, memory(user_id="bob"))
        store.restore(ANN, [Deletion("k", LONG_AGO, "")])
        store.put(Scope("c"), memory(user_id="c"))

        assert ["ann", "bob", "c"] == store.users()
