"""The contract of `MemoryStore`, as tests. Subclass it, and give it a fixture ``store``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from memory_context.exceptions import (
    InvalidFilterError,
    InvalidScopeError,
    KeyExistsError,
    RecordChangedError,
    TierFullError,
)
from memory_context.model.item import Content, MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.model.tier import Room
from memory_context.stores import MemoryStore
from memory_context.testing.query_contract import QueryContract
from memory_context.testing.sample_memories import ANN, BOB, memory
from memory_context.testing.search_contract import SearchContract
from memory_context.testing.transfer_contract import MovingContract

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


def note(content: str, project: str, **values: Any) -> MemoryItem:  # noqa: ANN401 - a field's values
    """A note of a project of ann's."""
    return memory(
        content, source="note", tier="project", tier_id=project, char_count=len(content), **values
    )


class MemoryStoreContract(QueryContract, SearchContract, MovingContract):
    """What every `MemoryStore` does. The fixture `store` must give an empty one to each test."""

    def test_round_trip(self, store: MemoryStore) -> None:
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

        put = store.put(ANN, item)

        assert item == put
        assert item == store.get(ANN, item.memory_key)

    def test_content_is_exact(self, store: MemoryStore) -> None:
        """Any text and any bytes come back as what they were."""
        for content in CONTENTS:
            item = store.put(ANN, memory(content))

            found = store.get(ANN, item.memory_key)

            assert found is not None, content[:60]
            assert content == found.content, content[:60]

    def test_get_of_nothing(self, store: MemoryStore) -> None:
        """A key that does not exist is None."""
        assert store.get(ANN, "nothing") is None

    def test_get_many_keeps_order(self, store: MemoryStore) -> None:
        """Many memories come in the order of their keys, without those that are not there, each once."""
        keys = [store.put(ANN, memory(f"text {i}")).memory_key for i in range(3)]

        found = store.get_many(ANN, [keys[2], "nothing", keys[0], keys[2]])

        assert [keys[2], keys[0]] == [item.memory_key for item in found]

    def test_get_many_takes_ten_thousand_keys(self, store: MemoryStore) -> None:
        """No number of keys is too many."""
        key = store.put(ANN, memory()).memory_key

        assert 1 == len(store.get_many(ANN, [*(f"k{i}" for i in range(40_000)), key]))

    def test_equal_contents_are_one_record(self, store: MemoryStore) -> None:
        """A content that is shared is one record, whoever puts it."""
        first = store.put(ANN, memory("log", shared=True, source="npm", agent_id="a"))
        second = store.put(ANN, memory("log", shared=True, source="other", agent_id="b"))

        assert first == second
        assert 1 == store.count(ANN)

    def test_text_and_bytes_are_two_records(self, store: MemoryStore) -> None:
        """Equal bytes and text come back as bytes and text."""
        text = store.put(ANN, memory("log", shared=True))
        data = store.put(ANN, memory(b"log", shared=True))

        assert {"log", b"log"} == {
            item.content for item in store.get_many(ANN, [text.memory_key, data.memory_key])
        }

    def test_notes_are_what_their_writer_made(self, store: MemoryStore) -> None:
        """Two equal notes are two records."""
        keys = {store.put(ANN, memory("note", tier="project")).memory_key for _ in range(2)}

        assert 2 == len(keys)

    def test_deleted_content_is_revived(self, store: MemoryStore) -> None:
        """Storing deleted content again brings it back under its key, and it is not deleted any more."""
        key = store.put(ANN, memory("log", shared=True)).memory_key
        store.delete(ANN, key)

        assert key == store.put(ANN, memory("log", shared=True)).memory_key
        assert store.deletion(ANN, key) is None

    def test_inactive_content_is_revived(self, store: MemoryStore) -> None:
        """An evicted memory still redeems, is not offered, and is active again when its content is put again."""
        key = store.put(ANN, memory("log", shared=True, is_active=False)).memory_key
        assert store.get(ANN, key) is not None
        assert [] == store.query(ANN)

        store.put(ANN, memory("log", shared=True))

        assert [key] == [item.memory_key for item in store.query(ANN)]

    def test_generated_key_collision(self, store: MemoryStore) -> None:
        """A generated key that another memory has becomes longer."""
        key = store.put(ANN, memory("log", shared=True)).memory_key
        store.delete(ANN, key)
        store.put(ANN, memory("squatter", memory_key=key))

        put = store.put(ANN, memory("log", shared=True))

        assert put.memory_key != key
        assert put.memory_key.startswith(key)
        assert 2 == store.count(ANN)

    def test_own_key_is_not_taken_over(self, store: MemoryStore) -> None:
        """A writer's own key refuses another content, and takes the same one again."""
        first = store.put(ANN, memory("one", memory_key="mine"))
        store.put(ANN, memory("one", memory_key="mine"))

        with pytest.raises(KeyExistsError, match="mine"):
            store.put(ANN, memory("two", memory_key="mine"))
        with pytest.raises(KeyExistsError):
            store.put(ANN, replace(memory("two", memory_key="mine"), id=first.id))

        assert 1 == store.count(ANN)

    def test_replace(self, store: MemoryStore) -> None:
        """With replace the key holds the new content, in the same record."""
        old = store.put(ANN, memory("one", memory_key="mine"))

        new = store.put(ANN, memory("two", memory_key="mine"), replace=True)

        assert new == store.get(ANN, "mine")
        assert ("two", old.id, old.created_at) == (new.content, new.id, new.created_at)

    def test_replace_of_the_same_record(self, store: MemoryStore) -> None:
        """With replace a record that is put again is changed in place, under its generated key too."""
        item = store.put(ANN, memory("a note", tier="project"))

        new = store.put(
            ANN, replace(item, is_active=False, content_metadata={"into": "x"}), replace=True
        )

        assert item.memory_key == new.memory_key
        assert new == store.get(ANN, item.memory_key)
        assert (0, {"into": "x"}) == (store.count(ANN), new.content_metadata)

    def test_users_never_meet(self, store: MemoryStore) -> None:
        """No verb reaches another user's memory, even under the same key and content."""
        item = store.put(ANN, memory("secret of ann", shared=True, summary="ann"))
        key = item.memory_key

        assert store.get(BOB, key) is None
        assert [] == store.get_many(BOB, [key])
        assert [] == store.query(BOB)
        assert [] == store.search(BOB, "secret of ann")
        assert [] == list(store.list_all(BOB))
        assert 0 == store.count(BOB)
        assert 0 == store.touch(BOB, [key])
        assert not store.delete(BOB, key)
        assert 0 == store.clear(BOB)
        assert store.deletion(BOB, key) is None
        bobs = store.put(BOB, memory("secret of ann", shared=True, user_id="bob"))
        assert ("bob", 1) == (bobs.user_id, store.count(BOB))
        assert (
            "bob's"
            == store.put(BOB, memory("bob's", memory_key=key, user_id="bob"), replace=True).content
        )
        assert item == store.get(ANN, key)

    def test_put_into_another_scope(self, store: MemoryStore) -> None:
        """A memory of one user cannot be put into the scope of another, or outside the scope's thread."""
        with pytest.raises(InvalidScopeError):
            store.put(BOB, memory())
        with pytest.raises(InvalidScopeError):
            store.put(Scope("ann", thread_id="t1"), memory(thread_id="t2"))

    def test_scope_narrows(self, store: MemoryStore) -> None:
        """Agent, thread, tier and its id narrow every verb."""
        outside = store.put(ANN, memory("outside")).memory_key
        narrower: list[dict[str, Any]] = [
            {"agent_id": "a"},
            {"thread_id": "t"},
            {"tier": "project"},
            {"tier": "project", "tier_id": "p"},
        ]
        for narrow in narrower:
            scope = Scope("ann", **narrow)
            inside = store.put(ANN, memory("inside", **narrow)).memory_key

            assert [inside] == [item.memory_key for item in store.query(scope)], narrow
            assert [inside] == [item.memory_key for item in store.list_all(scope)], narrow
            found = store.search(scope, "inside outside")
            assert [inside] == [item.memory_key for item in found], narrow
            assert store.get(scope, outside) is None, narrow
            assert not store.delete(scope, outside), narrow
            assert 1 == store.clear(scope), narrow
            assert [outside] == [item.memory_key for item in store.query(ANN)], narrow

    def test_sum(self, store: MemoryStore) -> None:
        """Tokens, characters and lines are summed up over the active memories of a scope that match."""
        store.put(
            ANN,
            memory(
                memory_key="a", tier="project", token_count=3, char_count=11, memory_type="note"
            ),
        )
        store.put(ANN, memory(memory_key="b", tier="project", token_count=4, char_count=2**40))
        store.put(ANN, memory(memory_key="c", tier="project", token_count=90, is_active=False))
        store.put(ANN, memory(memory_key="d", tier="task", token_count=70))

        project = Scope("ann", tier="project")
        assert (7, 2**40 + 11) == (
            store.sum(project, "token_count"),
            store.sum(project, "char_count"),
        )
        assert 3 == store.sum(project, "token_count", {"memory_type": "note"})
        assert 77 == store.sum(ANN, "token_count")
        assert (
            0
            == store.sum(BOB, "token_count")
            == store.sum(ANN, "line_count", {"memory_key": "nothing"})
        )
        for column in ("content", "importance", "nothing"):
            with pytest.raises(InvalidFilterError):
                store.sum(ANN, column)

    def test_delete(self, store: MemoryStore) -> None:
        """What is deleted is gone, once, and leaves when and why."""
        key = store.put(ANN, memory()).memory_key
        before = now()

        assert store.delete(ANN, key, reason="asked to")
        assert not store.delete(ANN, key)

        deletion = store.deletion(ANN, key)
        assert store.get(ANN, key) is None
        assert deletion is not None
        assert ("asked to", key) == (deletion.reason, deletion.memory_key)
        assert deletion.deleted_at.tzinfo is UTC
        assert before <= deletion.deleted_at <= now()

    def test_delete_again(self, store: MemoryStore) -> None:
        """A key that is used and deleted again tells the last reason."""
        for reason in ("first", "second"):
            store.put(ANN, memory(memory_key="k"))
            store.delete(ANN, "k", reason=reason)

        deletion = store.deletion(ANN, "k")
        assert deletion is not None
        assert "second" == deletion.reason

    def test_clear(self, store: MemoryStore) -> None:
        """Clear deletes all of the scope, also what was read, and says how many."""
        keys = [store.put(ANN, memory(f"text {i}")).memory_key for i in range(3)]
        store.touch(ANN, keys)

        assert 3 == store.clear(ANN, reason="over")
        assert 0 == store.count(ANN)
        assert all(store.deletion(ANN, key) for key in keys)

    def test_touch(self, store: MemoryStore) -> None:
        """Reads are counted, and nothing else of the record changes."""
        item = store.put(ANN, memory())
        assert (None, 0) == (item.accessed_at, item.access_count)
        before = now()

        for _ in range(2):
            assert 1 == store.touch(ANN, [item.memory_key, "nothing"])

        read = store.get(ANN, item.memory_key)
        assert read is not None
        assert read.accessed_at is not None
        assert before <= read.accessed_at <= now()
        assert replace(item, access_count=2, accessed_at=read.accessed_at) == read

    def test_list_all_goes_page_by_page(self, store: MemoryStore) -> None:
        """All memories come, inactive ones too, oldest first, each once, however many there are."""
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        store.restore(
            ANN,
            [
                memory(
                    memory_key=f"k{index}",
                    created_at=moment + timedelta(seconds=index // 3),
                    is_active=index > 0,
                )
                for index in range(450)
            ],
        )

        listed = list(store.list_all(ANN))

        assert 450 == len({item.memory_key for item in listed})
        assert sorted(item.created_at for item in listed) == [item.created_at for item in listed]

    def test_walls(self, store: MemoryStore) -> None:
        """With places a scope sees, of the tiers with ids, these alone; what has no id, and folded outputs, always."""
        inside = (("run", "r1"), ("global", None), ("detail", None), ("memory", "x"))
        outside = (("run", "r2"), ("task", "r1"))
        seen, hidden = (
            [store.put(ANN, memory("the walrus", tier=tier, tier_id=id_)) for tier, id_ in places]
            for places in (inside, outside)
        )
        keys = {item.memory_key for item in seen}
        scope = Scope("ann", places=frozenset({("run", "r1"), ("project", "p")}))

        assert keys == {item.memory_key for item in store.query(scope)}
        assert keys == {item.memory_key for item in store.search(scope, "walrus", limit=10)}
        assert keys == {item.memory_key for item in store.list_all(scope)}
        assert [] == store.query(scope, {"tier_id": ["r2"]})
        assert (4, 4) == (store.count(scope), sum(one.items for one in store.usage(scope)))
        for item in hidden:
            key = item.memory_key
            assert store.get(scope, key) is None
            assert (0, False) == (store.touch(scope, [key]), store.delete(scope, key))
            with pytest.raises(InvalidScopeError):
                store.put(scope, replace(item, id=uuid4()), replace=True)
            with pytest.raises(RecordChangedError):
                store.put(scope, replace(item, tier="run", tier_id="r1"), replaces=item)
            with pytest.raises(KeyExistsError):
                store.put(scope, memory("a yak", memory_key=key, tier="global"), replace=True)
        store.clear(scope)
        assert {item.id for item in hidden} == {item.id for item in store.list_all(ANN)}

    def test_usage(self, store: MemoryStore) -> None:
        """How many memories and characters each category of each tier has, without what was evicted."""
        for number, category in enumerate(("b", "b", None, "a/c")):
            store.put(
                ANN,
                memory(
                    "x" * number, tier="task", tier_id="t", category=category, char_count=number
                ),
            )
        store.put(ANN, memory("xyz", tier="global", category="b", char_count=3, is_active=False))
        store.put(ANN, memory("xyz", tier="global", category="b", char_count=3))

        found = [(one.tier, one.category, one.items, one.chars) for one in store.usage(ANN)]

        assert [
            ("global", "b", 1, 3),
            ("task", None, 1, 2),
            ("task", "a/c", 1, 3),
            ("task", "b", 2, 1),
        ] == found
        assert all(one.bytes > 0 for one in store.usage(ANN) if one.chars)
        assert ["a/c"] == [
            one.category for one in store.usage(Scope("ann", tier="task"), {"category": "a/c"})
        ]
        assert [] == store.usage(BOB)

    @pytest.mark.parametrize("room", [Room(max_chars=10), Room(max_items=2)])
    def test_full_room_refuses(self, store: MemoryStore, room: Room) -> None:
        """What does not fit is refused with size and limit, and not written; each place has a room of its own."""
        for number in range(2):
            store.put(ANN, note("12345", "p1"), room=room)
            store.put(ANN, note("12345", f"other{number}"), room=room)
        store.put(BOB, replace(note("12345", "p1"), user_id="bob"), room=room)
        refused = note("6", "p1")

        with pytest.raises(TierFullError, match="project") as full:
            store.put(ANN, refused, room=room)

        assert {(10, "characters"), (2, "items")} >= {(full.value.limit, full.value.unit)}
        assert full.value.size == full.value.limit
        assert store.get(ANN, refused.memory_key) is None
        store.put(ANN, note("without a room", "p1"))

    def test_room_of_a_replaced_record(self, store: MemoryStore) -> None:
        """What is replaced, and the same content under the same key again, takes no further room."""
        room = Room(max_chars=10, max_items=1)
        first = store.put(ANN, note("1234567890", "p", memory_key="own"), room=room)
        store.put(ANN, note("1234567890", "p", memory_key="own"), room=room)
        changed = store.put(ANN, note("0987654321", "p", memory_key="own"), replace=True, room=room)
        store.put(ANN, replace(changed, content="123", char_count=3), replaces=changed, room=room)

        with pytest.raises(TierFullError):
            store.put(ANN, note("x" * 11, "p", memory_key="own"), replace=True, room=room)

        found = store.get(ANN, "own")
        assert found is not None
        assert (first.id, "123") == (found.id, found.content)

    def test_room_by_eviction(self, store: MemoryStore) -> None:
        """The least important share goes, of equally important ones the oldest; it is inactive, and still there."""
        room = Room(max_items=10, evict=0.2)
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for number, importance in enumerate((0.9, 0.1, 0.5, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5)):
            moment = start + timedelta(minutes=number)
            item = note(
                f"n{number}", "p", memory_key=f"n{number}", importance=importance, created_at=moment
            )
            store.put(ANN, item, room=room)
        store.put(ANN, note("the eleventh", "p", memory_key="n10", importance=0.0), room=room)

        inactive = {item.memory_key for item in store.list_all(ANN) if not item.is_active}

        assert {"n1", "n3"} == inactive
        assert inactive == {item.memory_key for item in store.query(ANN, {"is_active": False})}
        assert {"n1", "n3"} == {item.memory_key for item in store.get_many(ANN, ["n1", "n3"])}
        assert 9 == store.count(ANN)

    def test_room_that_eviction_cannot_make(self, store: MemoryStore) -> None:
        """What is larger than the whole room is refused, and nothing is evicted for it."""
        room = Room(max_chars=5, evict=0.1)
        kept = store.put(ANN, note("12345", "p"), room=room)

        with pytest.raises(TierFullError):
            store.put(ANN, note("123456", "p"), room=room)
        assert 1 == store.count(ANN)
        store.put(ANN, note("54321", "p"), room=room)

        found = store.get(ANN, kept.memory_key)
        assert found is not None
        assert not found.is_active

    def test_replaces(self, store: MemoryStore) -> None:
        """A record takes the place of the one that was read, id, key and time, in another tier too; of no other."""
        old = store.put(ANN, memory("log", shared=True, source="npm"))
        moved = replace(old, tier="project", tier_id="p", identity=None, importance=0.9)

        new = store.put(ANN, moved, replaces=old)

        assert new == store.get(ANN, old.memory_key)
        assert (old.id, old.created_at, "project", 0.9) == (
            new.id,
            new.created_at,
            new.tier,
            new.importance,
        )
        assert [new.id] == [hit.id for hit in store.search(ANN, "log")]
        for gone in (old, memory("never put")):
            with pytest.raises(RecordChangedError):
                store.put(ANN, gone, replaces=gone)
        store.delete(ANN, new.memory_key)
        with pytest.raises(RecordChangedError):
            store.put(ANN, new, replaces=new)
        assert 0 == store.count(ANN)

    def test_room_under_threads(self, store: MemoryStore) -> None:
        """Eight threads cannot pass a limit together, and with eviction all of them get in."""

        def put(index: int) -> bool:
            try:
                store.put(ANN, note("12345", "p1"), room=Room(max_chars=50))
            except TierFullError:
                return False
            return store.put(
                ANN, note(f"n{index}", "p2"), room=Room(max_items=5, evict=0.2)
            ).is_active

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(put, range(40)))

        assert 10 == sum(done)
        assert 10 == store.count(Scope("ann", tier_id="p1"))
        assert 5 == store.count(Scope("ann", tier_id="p2"))

    def test_times_are_utc(self, store: MemoryStore) -> None:
        """A time of any zone comes back as the same moment, in UTC."""
        moment = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=-7)))
        key = store.put(ANN, memory(expires_at=moment)).memory_key

        found = store.get(ANN, key)

        assert found is not None
        assert found.expires_at is not None
        assert (moment, UTC) == (found.expires_at, found.expires_at.tzinfo)

    def test_times_at_the_ends_of_the_calendar(self, store: MemoryStore) -> None:
        """A time that UTC has no year for is the first or the last one that it has."""
        west, east = timezone(timedelta(hours=-7)), timezone(timedelta(hours=7))
        late, early = datetime.max.replace(tzinfo=west), datetime.min.replace(tzinfo=east)
        key = store.put(ANN, memory(expires_at=late)).memory_key

        found = store.get(ANN, key)

        assert found is not None
        assert datetime.max.replace(tzinfo=UTC) == found.expires_at
        assert 1 == store.count(ANN, {"created_at": {"$gt": early, "$lt": late}})

    def test_threads(self, store: MemoryStore) -> None:
        """Eight threads that put, read and count lose nothing and make no duplicate."""

        def work(thread: int) -> None:
            for index in range(5):
                store.put(ANN, memory(f"shared {index}", shared=True, source=f"tool{thread}"))
                own = store.put(
                    ANN, memory(f"{thread} {index}", memory_key=f"own-{thread}-{index}")
                )
                assert store.get(ANN, own.memory_key) == own
                store.touch(ANN, [own.memory_key])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

        assert 5 + 8 * 5 == store.count(ANN)

    def test_closed_store_opens_again(self, store: MemoryStore) -> None:
        """Closing twice and going on is allowed."""
        store.close()
        store.close()

        store.put(ANN, memory(memory_key="again"))

        assert store.get(ANN, "again") is not None


__all__ = ["MemoryStoreContract", "memory"]
