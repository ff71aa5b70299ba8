"""The contract of `MemoryStore.search`."""

from __future__ import annotations

from datetime import UTC, datetime

from memory_context.stores import MemoryStore
from memory_context.testing.sample_memories import ANN, keys_of, memory, put

FINDABLE = [
    ("alpha", "the workers crashed", "worker crash"),
    ("beta", "def getUserName(self): ...", "user name"),
    ("gamma", "see /var/log/nginx/error.log", "error.log"),
    ("delta", "PROJ-1234 is done", "proj-1234"),
    ("epsilon", "\u7cfb\u7edf\u7ba1\u7406\u5458", "\u7ba1\u7406"),
    ("zeta", "we met on 8 May 2023", "2023-05-08"),
    ("eta", 'it\'s 100% \\ "quoted" (a | b) & !c', "quoted | (100%) & !"),
]
"""Keys, contents, and for each a query that finds only this memory.

The keys are given because a generated one might match a query: ``tool_05aaefb6k7`` has the 05 of a date.
"""
HOSTILE_QUERIES = [
    "'; DROP TABLE agent_memories; --",
    '" OR 1=1',
    "100%",
    "\0",
    "\ud800",
    "(",
    "*" * 9999,
    "😀 中文",
]


class SearchContract:
    """Tests of what every `MemoryStore` finds."""

    def test_search(self, store: MemoryStore) -> None:
        """The memory that holds more of the words comes first; hits have a score and a passage."""
        noise = "noise\n" * 900
        put(store, "the disk of worker-7 is full", memory_key="a")
        put(store, f"{noise}the disk is fine\n{noise}", memory_key="b")
        put(store, "nothing of the kind", memory_key="c")

        best, second = store.search(ANN, "Why is the DISK of worker-7 full?")

        assert "a" == best.memory_key
        assert "b" == second.memory_key
        assert best.match
        assert second.match
        assert best.match.score > second.match.score
        assert "the disk is fine" in second.match.passage
        assert len(second.match.passage) < 5000

    def test_matching_words(self, store: MemoryStore) -> None:
        """Inflected words, parts of identifiers and paths, unspaced scripts and dates match."""
        for key, content, _ in FINDABLE:
            put(store, content, memory_key=key)

        for key, _, query in FINDABLE:
            hits = store.search(ANN, query)
            assert [key] == keys_of(hits), query

    def test_long_query(self, store: MemoryStore) -> None:
        """A query may be ten kilobytes of a log; the memory that holds those lines comes first."""
        lines = list[str]()
        for step in range(400):
            # Multiplied by a large prime, so that neighbouring lines have different words.
            part = step * 7919
            lines.append(f"2026-01-01 step {step}: part-{part} handled by worker-{step % 97}")
        first_half = "\n".join(lines[:200])
        second_half = "\n".join(lines[200:])
        put(store, first_half, memory_key="a")
        put(store, second_half, memory_key="b")

        best = store.search(ANN, second_half)[0]
        assert "b" == best.memory_key

    def test_rare_words_count_more(self, store: MemoryStore) -> None:
        """Many common words do not outweigh a rare one."""
        common = [memory(f"the server handled request {index}") for index in range(30)]
        rare = memory("zeppelin", memory_key="z")
        store.restore(ANN, [*common, rare])

        best = store.search(ANN, "did the server see a zeppelin?")[0]
        assert "z" == best.memory_key

    def test_found_by_description(self, store: MemoryStore) -> None:
        """Key, summary, category and tags find a memory."""
        put(
            store,
            b"\0",
            memory_key="blob_77",
            summary="nightly backup",
            category="ops/restic",
            tags=("purple",),
        )

        for query in ("blob_77", "backups", "restic", "purple"):
            hits = store.search(ANN, query)
            assert ["blob_77"] == keys_of(hits), query

    def test_secrets_are_masked(self, store: MemoryStore) -> None:
        """A secret is found by its description, never by its content, which is not shown."""
        put(store, "hunter2", summary="the password", memory_type="secret")

        [hit] = store.search(ANN, "password")

        assert "hunter2" not in repr(hit)
        assert [] == store.search(ANN, "hunter2")

    def test_deleted_contents_are_not_found(self, store: MemoryStore) -> None:
        """Deleted, replaced and cleared contents are no longer found; those put again are."""
        key = put(store, "a walrus", shared=True).memory_key
        put(store, "a yak", memory_key="own")
        store.put(ANN, memory("a zebra", memory_key="own"), replace=True)
        store.delete(ANN, key)
        assert [] == store.search(ANN, "walrus yak")
        assert ["own"] == keys_of(store.search(ANN, "zebra"))

        again = put(store, "a walrus", shared=True).memory_key
        assert [again] == keys_of(store.search(ANN, "walrus"))
        store.clear(ANN)
        assert [] == store.search(ANN, "walrus zebra")

    def test_search_in_a_category(self, store: MemoryStore) -> None:
        """``$under`` matches a path and those below it, but none that only begins with the same letters."""
        for category in ("project", "project/rockets", "projects", "Project/rockets", None):
            put(store, "disk", category=category)

        hits = store.search(ANN, "disk", filters={"category": {"$under": "project"}})

        assert {"project", "project/rockets"} == {hit.category for hit in hits}

    def test_search_without_words(self, store: MemoryStore) -> None:
        """A blank search returns the newest memories first; one for symbols or stop words alone finds nothing."""
        for year in (2024, 2026, 2025):
            new_year = datetime(year, 1, 1, tzinfo=UTC)
            put(store, memory_key=f"k{year}", created_at=new_year)

        hits = store.search(ANN, " ", limit=2)
        assert ["k2026", "k2025"] == keys_of(hits)
        assert [] == [*store.search(ANN, "->"), *store.search(ANN, "what is the")]

    def test_any_query_is_legal(self, store: MemoryStore) -> None:
        """Operators, quotes, wildcards and broken text are ordinary words."""
        put(store, "axb 100 percent")

        for query in HOSTILE_QUERIES:
            assert len(store.search(ANN, query)) <= 1, query
            assert 1 == store.count(ANN), query
        # As SQL's wildcard, the underscore would match the x.
        assert [] == store.search(ANN, "a_b")
