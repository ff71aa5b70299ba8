"""The contract of `MemoryStore`, as tests. Subclass it, and define a fixture ``store``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier

import pytest

from memory_context.exceptions import InvalidFilterError, KeyExistsError, RecordChangedError
from memory_context.model.item import Content, MemoryItem, Restored, now
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore
from memory_context.testing.capacity_contract import CapacityContract
from memory_context.testing.query_contract import QueryContract
from memory_context.testing.sample_memories import ANN, BOB, keys_of, memory, put
from memory_context.testing.scope_contract import ScopeContract
from memory_context.testing.search_contract import SearchContract
from memory_context.testing.transfer_contract import TransferContract

CONTENTS: list[Content] = [
    "",
    "plain",
    "NUL \0 inside",
    "lone surrogate \ud83d inside",
    "emoji 😀, 中文, \u202e bidi, \x1b[31m",
    "line\r\nbreaks\n\n",
    "x" * 1_000_000,
    b"",
    b"\x00\xff binary",
]


def stored(store: MemoryStore, key: str) -> MemoryItem:
    """Return Ann's memory under *key*, which must be there."""
    item = store.get(ANN, key)
    assert item is not None, key
    return item


class MemoryStoreContract(
    ScopeContract, CapacityContract, QueryContract, SearchContract, TransferContract
):
    """Tests of what every `MemoryStore` does. The fixture `store` must return an empty one for each test."""

    def test_every_field_comes_back(self, store: MemoryStore) -> None:
        """Every field of a record comes back as it was put."""
        item = memory(
            agent_id="coder",
            thread_id="t1",
            tier="project",
            tier_id="p1",
            memory_type="decision",
            summary="what was decided",
            media_type="text/markdown",
            content_metadata={"exit": 1, "args": ["a", None, 1.5], "ü": {"x": True}},
            category="context/rockets",
            tags=("red", "grün"),
            importance=0.75,
            token_count=3,
            char_count=6,
            line_count=1,
            expires_at=now() + timedelta(days=1),
        )

        assert item == store.put(ANN, item)
        assert item == store.get(ANN, item.memory_key)

    def test_content_is_exact(self, store: MemoryStore) -> None:
        """Any text and any bytes come back exactly."""
        for content in CONTENTS:
            key = put(store, content).memory_key

            assert content == stored(store, key).content, content[:60]

    def test_times_are_utc(self, store: MemoryStore) -> None:
        """A time of any zone comes back as the same moment in UTC, or as the last moment that UTC can express."""
        west = timezone(timedelta(hours=-7))
        east = timezone(timedelta(hours=7))
        moment = datetime(2026, 3, 1, 12, tzinfo=west)
        beyond = datetime.max.replace(tzinfo=west)
        for given, expected in (
            (moment, moment.astimezone(UTC)),
            (beyond, datetime.max.replace(tzinfo=UTC)),
        ):
            key = put(store, expires_at=given).memory_key
            expires_at = stored(store, key).expires_at
            assert expires_at is not None
            assert expected == expires_at
            assert expires_at.tzinfo is UTC

        before = datetime.min.replace(tzinfo=east)
        always = {"$gt": before, "$lt": beyond}
        assert 2 == store.count(ANN, {"created_at": always})

    def test_get_many_keeps_order(self, store: MemoryStore) -> None:
        """Any number of keys is read, in their order and once each; unknown keys are left out."""
        keys = [put(store).memory_key for _ in range(3)]
        unknown = [f"k{number}" for number in range(40_000)]  # SQLite binds 32,766 in a statement

        found = store.get_many(ANN, [keys[2], *unknown, keys[0], keys[2]])

        assert [keys[2], keys[0]] == keys_of(found)
        assert store.get(ANN, "unknown") is None

    def test_equal_contents_are_one_record(self, store: MemoryStore) -> None:
        """Equal shared contents are one record, whoever puts them. Text never equals bytes; notes are separate records."""
        first = put(store, "log", shared=True, source="npm", agent_id="a")
        second = put(store, "log", shared=True, source="other", agent_id="b")
        data = put(store, b"log", shared=True)

        assert first == second
        assert "log" == stored(store, first.memory_key).content
        assert b"log" == stored(store, data.memory_key).content
        put(store, "log")
        put(store, "log")
        assert 4 == store.count(ANN)

    def test_deleted_content_put_again(self, store: MemoryStore) -> None:
        """Deleted content that is put again has a new key; the old one says that it was deleted."""
        key = put(store, "log", shared=True).memory_key
        store.delete(ANN, key)

        again = put(store, "log", shared=True)

        assert again == store.get(ANN, again.memory_key)
        assert store.get(ANN, key) is None
        assert store.deletion(ANN, key) is not None

    def test_inactive_content_is_revived(self, store: MemoryStore) -> None:
        """An inactive memory is read by its key, not listed, and revived by its content."""
        key = put(store, "log", shared=True, is_active=False).memory_key
        assert key == stored(store, key).memory_key
        assert [] == store.query(ANN)

        put(store, "log", shared=True)

        assert [key] == keys_of(store.query(ANN))

    def test_key_is_not_taken_over(self, store: MemoryStore) -> None:
        """A key accepts the same content again and refuses another one."""
        first = put(store, "one", memory_key="mine")
        put(store, "one", memory_key="mine")

        with pytest.raises(KeyExistsError, match="mine"):
            put(store, "two", memory_key="mine")
        with pytest.raises(KeyExistsError):
            put(store, "two", memory_key="mine", id=first.id)

        assert 1 == store.count(ANN)

    def test_ids_are_unique(self, store: MemoryStore) -> None:
        """A new memory cannot have the id of another one of its user."""
        item = put(store, memory_key="k")
        same_id = replace(item, memory_key="l")

        with pytest.raises(KeyExistsError, match=str(item.id)):
            store.put(ANN, same_id)

    def test_an_id_tells_nothing_of_others(self, store: MemoryStore) -> None:
        """Two users may have memories under the same id; neither sees, changes or deletes the other's."""
        eve = Scope("eve")
        hers = put(store, "a dog", memory_key="k", shared=True)
        his = replace(hers, user_id="bob", content="a cat", memory_key="l", identity=None)
        eves = replace(his, user_id="eve")

        assert his == store.put(BOB, his)
        moved = replace(his, category="pets")
        changed = store.put(BOB, moved, replace=True)
        assert "pets" == changed.category
        assert Restored(written=1) == store.restore(eve, [eves])
        store.touch(BOB, ["l"])

        for scope, keys in ((ANN, ["k"]), (BOB, ["l"]), (eve, ["l"])):
            hits = store.search(scope, "dog cat")
            assert keys == keys_of(hits), scope
        assert store.delete(BOB, "l")
        assert hers == store.get(ANN, "k")
        [hit] = store.search(ANN, "dog")
        assert hers == replace(hit, match=None)
        assert 1 == store.count(eve)

    def test_replace(self, store: MemoryStore) -> None:
        """With *replace* the key holds the new content, in the same record."""
        old = put(store, "one", memory_key="mine")
        other = memory("two", memory_key="mine")

        new = store.put(ANN, other, replace=True)

        assert new == store.get(ANN, "mine")
        assert "two" == new.content
        assert old.id == new.id
        assert old.created_at == new.created_at

    def test_replace_of_the_same_record(self, store: MemoryStore) -> None:
        """With *replace* a record put again is changed in place, even under a generated key."""
        item = put(store, "a note", tier="project")
        changed = replace(item, is_active=False, content_metadata={"into": "x"})

        new = store.put(ANN, changed, replace=True)

        assert new == store.get(ANN, item.memory_key)
        assert {"into": "x"} == new.content_metadata
        assert 0 == store.count(ANN)

    def test_replaces(self, store: MemoryStore) -> None:
        """A record may replace the one that was read, keeping id, key and time, and no other."""
        old = put(store, "log", shared=True, source="npm")
        moved = replace(old, tier="project", tier_id="p", identity=None, importance=0.9)

        new = store.put(ANN, moved, replaces=old)

        assert new == store.get(ANN, old.memory_key)
        assert old.id == new.id
        assert old.created_at == new.created_at
        assert "project" == new.tier
        assert 0.9 == new.importance
        [hit] = store.search(ANN, "log")
        assert new.id == hit.id
        store.delete(ANN, new.memory_key)
        never_put = memory()
        for gone in (old, new, never_put):
            with pytest.raises(RecordChangedError):
                store.put(ANN, gone, replaces=gone)
        assert 0 == store.count(ANN)

    def test_deleting_what_was_seen(self, store: MemoryStore) -> None:
        """A record that was changed since the caller saw it is neither deleted nor evicted."""
        for soft in (True, False):
            old = put(store, "log")
            key = old.memory_key
            a_second_later = old.updated_at + timedelta(seconds=1)
            changed = replace(old, importance=0.9, updated_at=a_second_later)
            new = store.put(ANN, changed, replaces=old)

            assert not store.delete(ANN, key, soft=soft, seen=old.updated_at)
            assert new == store.get(ANN, key)
            assert 1 == store.count(ANN)
            assert store.delete(ANN, key, soft=soft, seen=new.updated_at)
            assert 0 == store.count(ANN)

    def test_sum(self, store: MemoryStore) -> None:
        """Tokens, characters and lines are summed over the active memories that match."""
        project = Scope("ann", tier="project")
        put(store, tier="project", token_count=3, char_count=11, memory_type="note")
        put(store, tier="project", token_count=4, char_count=2**40)
        put(store, tier="project", token_count=90, is_active=False)
        put(store, tier="task", token_count=70)

        assert 7 == store.sum(project, "token_count")
        assert 11 + 2**40 == store.sum(project, "char_count")
        assert 3 == store.sum(project, "token_count", {"memory_type": "note"})
        assert 77 == store.sum(ANN, "token_count")
        assert 0 == store.sum(BOB, "token_count")
        assert 0 == store.sum(ANN, "line_count", {"memory_key": "unknown"})
        for column in ("content", "importance", "nothing"):
            with pytest.raises(InvalidFilterError):
                store.sum(ANN, column)

    def test_usage(self, store: MemoryStore) -> None:
        """Usage counts the active memories and characters of each tier and category."""
        for chars, category in enumerate(("b", "b", None, "a/c")):
            put(store, "x" * chars, tier="task", category=category, char_count=chars)
        for is_active in (True, False):
            put(store, "xyz", tier="global", category="b", char_count=3, is_active=is_active)

        usages = store.usage(ANN)

        counted = [(usage.tier, usage.category, usage.items, usage.chars) for usage in usages]
        assert [
            ("global", "b", 1, 3),
            ("task", None, 1, 2),
            ("task", "a/c", 1, 3),
            ("task", "b", 2, 1),
        ] == counted
        assert all(usage.bytes > 0 for usage in usages)
        task = Scope("ann", tier="task")
        [usage] = store.usage(task, {"category": "a/c"})
        assert "task" == usage.tier
        assert "a/c" == usage.category

    def test_delete(self, store: MemoryStore) -> None:
        """A deleted memory is gone, and its key says when and why it was deleted last, until it is used again."""
        before = now()
        for reason in ("first", "second"):
            put(store, memory_key="k")
            assert store.deletion(ANN, "k") is None
            assert store.delete(ANN, "k", reason=reason)
            assert not store.delete(ANN, "k")

        assert store.get(ANN, "k") is None
        deletion = store.deletion(ANN, "k")
        assert deletion is not None
        assert "k" == deletion.memory_key
        assert "second" == deletion.reason
        assert deletion.deleted_at.tzinfo is UTC
        assert before <= deletion.deleted_at <= now()

    def test_clear(self, store: MemoryStore) -> None:
        """Clear deletes every memory of the scope, even one that was read, and returns how many."""
        keys = [put(store).memory_key for _ in range(3)]
        store.touch(ANN, keys)

        assert 3 == store.clear(ANN, reason="over")
        assert 0 == store.count(ANN)
        assert all(store.deletion(ANN, key) for key in keys)

    def test_touch(self, store: MemoryStore) -> None:
        """Reads are counted, and nothing else of the record changes."""
        item = put(store)
        assert item.accessed_at is None
        assert 0 == item.access_count
        before = now()

        for _ in range(2):
            assert 1 == store.touch(ANN, [item.memory_key, "unknown"])

        touched = stored(store, item.memory_key)
        assert touched.accessed_at is not None
        assert before <= touched.accessed_at <= now()
        read_twice = replace(item, access_count=2, accessed_at=touched.accessed_at)
        assert read_twice == touched

    def test_expire_at(self, store: MemoryStore) -> None:
        """Memories get another time of expiry, and nothing else of them changes; those put again since stay as they are."""
        endless = put(store, "endless")
        ends = put(store, "ends", expires_at=now())
        again = put(store, "again", expires_at=now())
        newer = store.put(ANN, again, replaces=again)
        unknown = memory("unknown")
        end = now() + timedelta(days=1)

        ending = [(item, end) for item in (endless, ends, again, unknown)]
        assert 2 == store.expire_at(ANN, ending)

        for item in (endless, ends):
            changed = replace(item, expires_at=end)
            assert changed == stored(store, item.memory_key)
        assert newer == stored(store, again.memory_key)
        assert 0 == store.expire_at(ANN, [])

    def test_threads(self, store: MemoryStore) -> None:
        """Eight threads that put, read and touch lose nothing; equal contents become one record, and all get its key."""
        start = Barrier(8)

        def work(thread: int) -> list[str]:
            """Put, read and touch memories; return the keys of those that all threads put."""
            keys = list[str]()
            start.wait()
            for index in range(5):
                shared = put(store, f"shared {index}", shared=True, source=f"tool{thread}")
                keys.append(shared.memory_key)
                own = put(store, f"{thread} {index}")
                assert own == store.get(ANN, own.memory_key)
                store.touch(ANN, [own.memory_key])
            return keys

        with ThreadPoolExecutor(8) as pool:
            [keys, *others] = pool.map(work, range(8))

        assert [keys] * 7 == others
        shared_by_all = 5
        of_each_thread = 5
        assert shared_by_all + 8 * of_each_thread == store.count(ANN)

    def test_closed_store_opens_again(self, store: MemoryStore) -> None:
        """A store may be closed twice, and used again."""
        store.close()
        store.close()

        put(store, memory_key="again")

        assert "again" == stored(store, "again").memory_key
