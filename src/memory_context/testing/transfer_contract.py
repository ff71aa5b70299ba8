"""The contract of the verbs that move memories between stores: `list_all`, `list_deleted` and `restore`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_context.model.item import Deletion, MemoryItem, Restored
from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, BOB, keys_of, memory, put

LONG_AGO = datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
A_DAY_LATER = LONG_AGO + timedelta(days=1)


def _old(content: str = "a text", **values: Any) -> MemoryItem:  # noqa: ANN401 - a field's values
    """Make an old memory, as if it came from another store."""
    return memory(content, created_at=LONG_AGO, updated_at=LONG_AGO, **values)


class TransferContract:
    """Tests of what every `MemoryStore` does when memories are moved."""

    def test_list_all_pages(self, store: MemoryStore) -> None:
        """Any number of memories is listed, once each and oldest first, inactive ones too."""
        moments = list[datetime]()
        items = list[MemoryItem]()
        for number in range(450):
            # Three share a moment, so that a page may end between them; the next one must not lose the others.
            moment = LONG_AGO + timedelta(seconds=number // 3)
            moments.append(moment)
            items.append(memory(created_at=moment, is_active=number > 0))
        store.restore(ANN, reversed(items))

        listed = list(store.list_all(ANN))

        keys = {item.memory_key for item in listed}
        assert 450 == len(keys)
        assert moments == [item.created_at for item in listed]

    def test_restored_unchanged(self, store: MemoryStore) -> None:
        """A record is restored with its id, times, reads and state; only an active one is found."""
        inactive = _old(
            "a walrus",
            shared=True,
            is_active=False,
            access_count=7,
            accessed_at=A_DAY_LATER,
        )
        active = _old("a yak", access_count=1, accessed_at=LONG_AGO)
        items = [inactive, active]

        assert Restored(written=2) == store.restore(ANN, items)

        assert items == store.get_many(ANN, keys_of(items))
        hits = store.search(ANN, "walrus yak")
        assert [active.memory_key] == keys_of(hits)

    def test_restored_twice(self, store: MemoryStore) -> None:
        """Restoring what a store already has changes nothing, even after it was read there."""
        made_here = put(store, "made here", tags=("x",), content_metadata={"a": [1, None]})
        records: list[MemoryItem | Deletion] = [
            _old(),
            _old("two", memory_key="two"),
            Deletion("gone", LONG_AGO, "over"),
            made_here,
        ]
        store.restore(ANN, records)
        store.touch(ANN, ["two"])
        before = list(store.list_all(ANN))

        assert Restored(unchanged=4) == store.restore(ANN, iter(records))
        assert Restored(unchanged=3) == store.restore(ANN, before)
        assert before == list(store.list_all(ANN))

    def test_conflicts_name_their_reason(self, store: MemoryStore) -> None:
        """A clash of version, key or content, with the store or among the records, is a conflict and changes nothing."""
        here = put(store, "here", memory_key="k")
        shared = put(store, "log", shared=True)
        before = list(store.list_all(ANN))
        fine = _old("fine", memory_key="fine")
        clashes = {
            "version": replace(here, summary="edited"),
            "key": _old("there", memory_key="k"),
            "content": _old("log", shared=True, memory_key="another"),
            "the key belongs": _old("not fine", memory_key="fine"),
        }

        restored = store.restore(ANN, [fine, *clashes.values()])

        assert 1 == restored.written
        assert 0 == restored.unchanged
        conflicts = restored.conflicts
        assert [item.id for item in clashes.values()] == [one.id for one in conflicts]
        for word, conflict in zip(clashes, conflicts, strict=True):
            assert word in conflict.reason
        assert shared.memory_key in conflicts[2].reason
        assert [fine, *before] == list(store.list_all(ANN))

    def test_two_versions_together(self, store: MemoryStore) -> None:
        """Of versions of a memory that are restored together, the first is stored, and found only by its words and key."""
        first = _old("apples and pears", memory_key="fruit")
        second = replace(first, content="bananas and cherries")
        third = replace(first, content="dates and elderberries", memory_key="berries")

        restored = store.restore(ANN, [first, second, third])

        assert 1 == restored.written
        assert 2 == len(restored.conflicts)
        hits = store.search(ANN, "apples")
        assert ["fruit"] == keys_of(hits)
        assert [] == store.search(ANN, "bananas elderberries")
        store.delete(ANN, "fruit")
        assert [] == store.search(ANN, "apples bananas elderberries")

    def test_deletions_move(self, store: MemoryStore) -> None:
        """Deletions are restored with time and reason; of two deletions of one key, the later one stays."""
        early = Deletion("a", LONG_AGO, "early")
        late = Deletion("a", A_DAY_LATER, "late")

        assert Restored(written=2) == store.restore(ANN, [early, late])
        assert Restored(unchanged=1) == store.restore(ANN, [early])
        assert late == store.deletion(ANN, "a")
        assert [late] == list(store.list_deleted(ANN))
        assert [] == list(store.list_deleted(BOB))

    def test_deleted_here_stays_deleted(self, store: MemoryStore) -> None:
        """A record that was deleted in this store after its last change in the other is a conflict that says why."""
        item = _old(memory_key="k")
        store.restore(ANN, [item])
        store.delete(ANN, "k", reason="asked to")

        [conflict] = store.restore(ANN, [item]).conflicts

        assert "asked to" in conflict.reason
        assert store.get(ANN, "k") is None

    def test_newer_than_its_deletion(self, store: MemoryStore) -> None:
        """A record newer than the deletion of its key is restored, and the deletion ends."""
        deletion = Deletion("k", LONG_AGO, "over")
        newer = memory(memory_key="k")
        store.restore(ANN, [deletion])

        assert Restored(written=1) == store.restore(ANN, [newer])
        assert store.deletion(ANN, "k") is None

    def test_restored_deletion_deletes_nothing(self, store: MemoryStore) -> None:
        """The deletion of a memory that is still here is a conflict."""
        put(store, memory_key="k")
        in_the_future = datetime(2099, 1, 1, tzinfo=UTC)
        deletion = Deletion("k", in_the_future, "over")

        [conflict] = store.restore(ANN, [deletion]).conflicts

        assert "k" == conflict.memory_key
        assert conflict.id is None
        assert store.get(ANN, "k") is not None
