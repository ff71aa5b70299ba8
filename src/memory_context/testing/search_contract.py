"""The contract of `MemoryStore.search`."""

from __future__ import annotations

from datetime import UTC, datetime

from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, memory

FINDABLE = [
    ("the workers crashed", "worker crash"),
    ("def getUserName(self): ...", "user name"),
    ("see /var/log/nginx/error.log", "error.log"),
    ("PROJ-1234 is done", "proj-1234"),
    ("\u7cfb\u7edf\u7ba1\u7406\u5458", "\u7ba1\u7406"),
    ("we met on 8 May 2023", "2023-05-08"),
    ('it\'s 100% \\ "quoted" (a | b) & !c', "quoted | (100%) & !"),
]
HOSTILE_QUERIES = [
    "'; DROP TABLE agent_memories; --",
    '" OR 1=1',
    "100%",
    "a_b",
    "\0",
    "\ud800",
    "(",
    "*" * 9999,
    "😀 中文",
]


class SearchContract:
    """What every `MemoryStore` finds."""

    def test_search(self, store: MemoryStore) -> None:
        """What holds more of the words comes first, each hit with score and passage."""
        store.put(ANN, memory("the disk of worker-7 is full", memory_key="a"))
        store.put(
            ANN,
            memory(
                "\n".join(["noise"] * 900 + ["the disk is fine"] + ["noise"] * 900), memory_key="b"
            ),
        )
        store.put(ANN, memory("nothing of the kind", memory_key="c"))

        hits = store.search(ANN, "Why is the DISK of worker-7 full?")

        assert ["a", "b"] == [hit.memory_key for hit in hits]
        matches = [hit.match for hit in hits]
        assert matches[0]
        assert matches[1]
        assert matches[0].score > matches[1].score
        assert "the disk is fine" in matches[1].passage
        assert len(matches[1].passage) < 5000

    def test_what_is_found(self, store: MemoryStore) -> None:
        """Words in other forms, parts of identifiers and paths, scripts without spaces, dates however written."""
        keys = [store.put(ANN, memory(content)).memory_key for content, _ in FINDABLE]

        for key, (_, query) in zip(keys, FINDABLE, strict=True):
            assert [key] == [hit.memory_key for hit in store.search(ANN, query)], query

    def test_long_query(self, store: MemoryStore) -> None:
        """Ten kilobytes of a log are a query; the memory that they stand in comes first."""
        lines = [
            f"2026-01-01 step {i}: part-{i * 7919} handled by worker-{i % 97}" for i in range(400)
        ]
        store.put(ANN, memory("\n".join(lines[:200]), memory_key="a"))
        store.put(ANN, memory("\n".join(lines[200:]), memory_key="b"))

        assert "b" == store.search(ANN, "\n".join(lines[200:]))[0].memory_key

    def test_rare_words_count_more(self, store: MemoryStore) -> None:
        """Many common words do not outweigh a rare one."""
        common = [memory(f"the server handled request {index}") for index in range(30)]
        store.restore(ANN, [*common, memory("zeppelin", memory_key="z")])

        assert "z" == store.search(ANN, "did the server see a zeppelin?")[0].memory_key

    def test_found_by_description(self, store: MemoryStore) -> None:
        """Key, description, category and tags find a memory."""
        item = memory(
            b"\0",
            memory_key="blob_77",
            summary="nightly backup",
            category="ops/restic",
            tags=("purple",),
        )
        store.put(ANN, item)

        for query in ("blob_77", "backups", "restic", "purple"):
            assert [item.id] == [hit.id for hit in store.search(ANN, query)]

    def test_secrets_are_masked(self, store: MemoryStore) -> None:
        """A secret is found by its description, never by its content, which is not shown."""
        store.put(ANN, memory("hunter2", summary="the password", memory_type="secret"))

        [hit] = store.search(ANN, "password")

        assert "hunter2" not in repr(hit)
        assert [] == store.search(ANN, "hunter2")

    def test_what_is_gone_is_not_found(self, store: MemoryStore) -> None:
        """Deleted, replaced and cleared contents are not found any more, revived ones are."""
        key = store.put(ANN, memory("a walrus", shared=True)).memory_key
        store.put(ANN, memory("a yak", memory_key="own"))
        store.put(ANN, memory("a zebra", memory_key="own"), replace=True)
        store.delete(ANN, key)
        assert [[], [], ["own"]] == [
            [hit.memory_key for hit in store.search(ANN, query)]
            for query in ("walrus", "yak", "zebra")
        ]

        store.put(ANN, memory("a walrus", shared=True))
        assert [key] == [hit.memory_key for hit in store.search(ANN, "walrus")]
        store.clear(ANN)

        assert [] == store.search(ANN, "walrus zebra")

    def test_search_in_a_category(self, store: MemoryStore) -> None:
        """A path finds what is below it, and nothing that only begins alike."""
        for category in ("project", "project/rockets", "projects", "Project/rockets", None):
            store.put(ANN, memory("disk", category=category))

        hits = store.search(ANN, "disk", filters={"category": {"$under": "project"}})

        assert {"project", "project/rockets"} == {hit.category for hit in hits}

    def test_search_without_words(self, store: MemoryStore) -> None:
        """A search without words gives the newest first."""
        for minute in range(3):
            store.put(
                ANN,
                memory(
                    memory_key=f"k{minute}", created_at=datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
                ),
            )

        assert ["k2", "k1"] == [hit.memory_key for hit in store.search(ANN, " ", limit=2)]

    def test_any_query_is_legal(self, store: MemoryStore) -> None:
        """Operators, quotes, wildcards and broken text are words like others."""
        store.put(ANN, memory("nothing to see"))

        for query in HOSTILE_QUERIES:
            assert len(store.search(ANN, query)) <= 1, query
            assert 1 == store.count(ANN), query

    def test_wildcards_mean_themselves(self, store: MemoryStore) -> None:
        """The percent sign and the underscore match themselves only."""
        store.put(ANN, memory("axb 100 percent"))

        assert [] == store.search(ANN, "a_b")
