"""Search over everything stored, on both databases."""

from __future__ import annotations

import logging
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from pytest_mock import MockerFixture
from sqlalchemy.dialects import sqlite

from memory_context import MemoryManager, exceptions
from memory_context.model.item import now
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import migrate
from memory_context.stores.sql.index import hits_to_memories as _searching
from memory_context.stores.sql.index import indexing, keyword_index, vector_index
from memory_context.stores.sql.schema import memories, owners, passages, pending
from memory_context.stores.sql.scopes_and_filters_as_sql import matching
from memory_context.testing.sample_memories import memory

ANN = Scope("ann")
BOB = Scope("bob")
LINES = "".join(
    f"2026-01-01 step {i}: part-{i * 7919} handled by worker-{i % 97}\n" for i in range(4000)
)


class Toy:
    """An embedder with a dimension for each group of words that mean the same."""

    model = "toy"
    groups = (("car", "automobile"), ("dog", "puppy"), ("disk", "drive"))

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        """A vector."""
        return [0.01 + sum(word in text.lower() for word in group) for group in self.groups]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors."""
        self.texts += texts
        return [self.embed_query(text) for text in texts]


@pytest.fixture
def store(store_url: str) -> Iterator[SQLAlchemyStore]:
    """An empty store."""
    with SQLAlchemyStore(store_url) as one:
        yield one


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database that several processes can use."""
    return str(request.getfixturevalue(request.param))


def keys(store: SQLAlchemyStore, query: str, scope: Scope = ANN, **narrow: object) -> list[str]:
    """The keys that a search finds."""
    return [hit.memory_key for hit in store.search(scope, query, **narrow)]  # type: ignore[arg-type] # search's own


def run(store: SQLAlchemyStore, statement: sa.Executable | str) -> list[Any]:
    """The first column of what a statement gives."""

    def work(connection: sa.Connection) -> list[Any]:
        result = connection.execute(sa.text(statement) if isinstance(statement, str) else statement)
        return list(result.scalars()) if result.returns_rows else []

    return store.database.write(work)


def rows(store: SQLAlchemyStore, table: sa.Table) -> int:
    """How many rows a table has."""
    return int(run(store, sa.select(sa.func.count()).select_from(table))[0])


def terms(store: SQLAlchemyStore) -> list[str]:
    """Every name in the index."""
    of_sqlite = "SELECT term FROM agent_memory_terms"
    of_others = "SELECT DISTINCT unnest(tsvector_to_array(lexemes)) FROM agent_memory_passages"
    return run(store, of_others if "postgresql" in repr(store) else of_sqlite)


def background_ends(store: SQLAlchemyStore) -> None:
    """Wait for the thread that makes vectors, if it has not ended yet."""
    assert store._embedding  # noqa: SLF001 - the thread is nobody's but the store's
    thread = store._embedding._thread  # noqa: SLF001 - as above
    if thread:
        thread.join()


def third_time_fails(work: Callable[..., None]) -> Callable[..., None]:
    """`work`, whose third call raises."""
    calls = iter(range(100))

    def wrapper(*args: object) -> None:
        if next(calls) == 2:
            raise ZeroDivisionError
        work(*args)

    return wrapper


class TestMatch:
    """Why a memory was found."""

    def test_passage_lines_and_words(self, store: SQLAlchemyStore) -> None:
        """A hit tells the lines of its best passage, and the words of the query that it was found by."""
        store.put(ANN, memory(LINES, memory_key="log", line_count=4000))

        [hit] = store.search(ANN, "What did worker-13 do with part-23757000, please?")

        assert hit.match
        assert hit.match.lines
        first, last = hit.match.lines
        assert "part-23757000 handled" in hit.match.passage
        assert "part-23757000 " in "\n".join(LINES.split("\n")[first - 1 : last])
        assert last - first < 60
        assert "part-23757000" in hit.match.why

    def test_found_by_description(self, store: SQLAlchemyStore) -> None:
        """Key, description, category, tags and metadata find a memory, binary content too."""
        about: dict[str, Any] = {
            "summary": "nightly backup",
            "category": "ops/restic",
            "tags": ("purple",),
        }
        store.put(
            ANN,
            memory(b"\0\1", memory_key="blob_77aa", content_metadata={"command": "rsync"}, **about),
        )

        for query in ("blob_77aa", "backups", "restic", "purple", "rsync"):
            [hit] = store.search(ANN, query)
            assert hit.match
            assert (None, "", (query,)) == (hit.match.lines, hit.match.passage, hit.match.why)

    @pytest.mark.parametrize("hidden", [{"memory_type": "secret"}, {"tags": ("secret",)}])
    def test_secret_is_masked(self, store: SQLAlchemyStore, hidden: dict[str, Any]) -> None:
        """A secret is found by its description, not by its content, and its content is not shown."""
        store.put(
            ANN, memory("hunter2", memory_key="password", summary="production password", **hidden)
        )

        [hit] = store.search(ANN, "production password")

        assert hit.match
        assert "hunter2" not in repr(hit)
        assert [] == keys(store, "hunter2")
        assert all("hunter2" not in name for name in terms(store))

    def test_without_passages(self, store: SQLAlchemyStore) -> None:
        """A caller that judges the texts itself gets scores only, and contents as they are."""
        store.put(ANN, memory("a disk", memory_key="a", memory_type="secret", summary="the disk"))

        [hit] = store.search(ANN, "disk", passages=False)

        assert hit.match
        assert ("a disk", "") == (hit.content, hit.match.passage)


class TestIndex:
    """What the index holds, and what it does not."""

    @pytest.mark.parametrize("others", [False, True], ids=["alone", "among-others"])
    def test_what_is_deleted_leaves_it(self, store: SQLAlchemyStore, others: bool) -> None:
        """Deleted, cleared and replaced memories leave no word and no row, and do not count any more."""
        if others:
            store.put(ANN, memory("walrus", memory_key="walrus"))
        before = (sorted(terms(store)), rows(store, passages))
        store.put(ANN, memory(LINES, memory_key="big", thread_id="t"))
        store.put(ANN, memory("zebra\nzebra", memory_key="small", thread_id="t"))
        store.put(ANN, memory("yak", memory_key="small", thread_id="t"), replace=True)

        assert [] == keys(store, "zebra")
        assert ["small"] == keys(store, "yak")
        store.delete(ANN, "big")
        assert [] == keys(store, "worker-13")
        store.clear(Scope("ann", thread_id="t"))

        assert before == (sorted(terms(store)), rows(store, passages))
        assert [rows(store, passages)] == run(store, sa.select(owners.c.passages))

    def test_users_do_not_meet(self, store: SQLAlchemyStore) -> None:
        """What others store changes neither what a user finds nor its score."""
        store.put(ANN, memory("the disk of ann", memory_key="a"))
        store.put(ANN, memory("the tape of ann", memory_key="b"))
        before = [hit.match for hit in store.search(ANN, "disk tape")]

        for number in range(30):
            store.put(BOB, memory(f"disk {number}", user_id="bob"))

        assert before == [hit.match for hit in store.search(ANN, "disk tape")]
        assert 5 == len(keys(store, "disk", BOB))

    def test_one_large_memory_does_not_hide_others(self, store: SQLAlchemyStore) -> None:
        """A memory whose every passage speaks of the query is one hit, and leaves room for others."""
        store.put(ANN, memory("disk full\n" * 60_000, memory_key="large"))
        for number in range(3):
            store.put(
                ANN, memory(f"the disk and nothing else but {number}", memory_key=f"k{number}")
            )

        assert {"large", "k0", "k1", "k2"} == set(keys(store, "disk full"))

    def test_inactive_memories_are_skipped(self, store: SQLAlchemyStore) -> None:
        """Evicted memories are not found, however good they are, unless they are asked for."""
        for number in range(12):
            store.put(ANN, memory("disk disk disk", memory_key=f"k{number}", is_active=number > 9))

        assert {"k10", "k11"} == set(keys(store, "disk"))
        assert 10 == len(keys(store, "disk", filters={"is_active": False}, limit=99))

    @pytest.mark.long
    def test_another_process_finds_it_at_once(self, url: str) -> None:
        """What one process has stored is found by the next search of another."""
        code = "import sys; from memory_context import MemoryManager\nMemoryManager(sys.argv[1], user_id='ann').store("
        with SQLAlchemyStore(url) as store:
            assert [] == keys(store, "zeppelin")

            subprocess.run([sys.executable, "-c", code + "'a zeppelin', key='z')", url], check=True)

            assert ["z"] == keys(store, "zeppelin")

    def test_reindex(self, store: SQLAlchemyStore) -> None:
        """The index is made anew, whatever happened to it, and tells how far it is."""
        store.put(ANN, memory(LINES, memory_key="a"))
        store.put(BOB, memory("worker-13", user_id="bob", memory_key="b"))
        found = keys(store, "worker-13"), sorted(terms(store)), rows(store, passages)
        run(store, "DELETE FROM agent_memory_passages")
        seen: list[tuple[int, int]] = []

        assert [] == keys(store, "worker-13")
        assert 2 == store.reindex(lambda done, of: seen.append((done, of)))

        assert [(1, 2), (2, 2)] == seen
        assert found == (keys(store, "worker-13"), sorted(terms(store)), rows(store, passages))

    def test_newer_analyzer(self, url: str) -> None:
        """An index of an older analyzer is made anew by the next search."""
        with SQLAlchemyStore(url) as store:
            store.put(ANN, memory("the disk", memory_key="a"))
            run(store, "UPDATE agent_memory_settings SET value = '0'")
        with SQLAlchemyStore(url) as store:
            store.count(ANN)
            assert (1, 0) == (rows(store, pending), rows(store, passages))

            assert ["a"] == keys(store, "disk")

            assert (0, 1) == (rows(store, pending), rows(store, passages))


class TestUpgrade:
    """Databases of before the index."""

    def test_old_database_becomes_searchable(self, url: str) -> None:
        """A database of revision 0001 keeps what it holds, and the first search of a user indexes it."""
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            migrate.upgrade(connection, "0001")
            for number, user in enumerate(["ann", "ann", "bob"]):
                connection.exec_driver_sql(
                    "INSERT INTO agent_memories (id, user_id, memory_key, content) VALUES "
                    f"('{number:032x}', '{user}', 'k{number}', '{'disk ' * 1000}{number}')"
                )
        engine.dispose()

        with SQLAlchemyStore(url) as store:
            store.migrate()
            assert 2 == store.count(ANN)
            assert 3 == rows(store, pending)
            assert {"k0", "k1"} == set(keys(store, "disk"))
            assert 1 == rows(store, pending)
            assert ["k2"] == keys(store, "disk", BOB)


def test_a_long_text_that_is_replaced_while_it_is_indexed(
    store: SQLAlchemyStore, mocker: MockerFixture
) -> None:
    """Chunks of a text that was replaced since it was read are not indexed as those of the new one."""
    mocker.patch.object(indexing, "BATCH", 2)
    mocker.patch.object(store, "_complete_index")  # as if another process were to do it
    old, new = ("\n".join(f"{word} {n}" for n in range(2000)) for word in ("harbour", "beacon"))
    put = store.put(ANN, memory(old, memory_key="a"))
    [(read, place)] = store.database.read(indexing.unfinished, ANN.user_id, [put.id])
    store.put(ANN, memory(new, memory_key="a"), replace=True)
    store.database.write(indexing.extend, [next(indexing.batches(read, place))])

    assert [] == keys(store, "harbour")
    assert ["a"] == keys(store, "beacon")


@pytest.mark.long
class TestAnySize:
    """Texts of many batches."""

    @pytest.fixture(autouse=True)
    def _small_batches(self, mocker: MockerFixture) -> None:
        mocker.patch.object(indexing, "BATCH", 7)

    def test_batches(self, store: SQLAlchemyStore) -> None:
        """A long text is indexed in several transactions, and found by its last line when `put` returns."""
        store.put(ANN, memory(LINES, memory_key="a"))

        assert ["a"] == keys(store, "part-31668081")
        assert 0 == rows(store, pending)
        ordinals = run(store, sa.select(passages.c.ordinal).order_by(passages.c.ordinal))
        assert list(range(len(ordinals))) == ordinals
        assert len(ordinals) > 100

    def test_deletion_in_batches(self, store: SQLAlchemyStore) -> None:
        """A long text leaves the index in several transactions."""
        store.put(ANN, memory("walrus", memory_key="walrus"))
        store.put(ANN, memory(LINES, memory_key="a"))

        assert store.delete(ANN, "a")

        assert (1, 0) == (rows(store, passages), rows(store, pending))
        assert ["1:walrus\u00b2"] == terms(store)

    def test_goes_on_where_it_ended(self, store: SQLAlchemyStore, mocker: MockerFixture) -> None:
        """What a process left half indexed is found by the next search."""
        mocker.patch.object(keyword_index, "add", side_effect=third_time_fails(keyword_index.add))
        with pytest.raises(ZeroDivisionError):
            store.put(ANN, memory(LINES, memory_key="a"))
        mocker.stopall()

        assert (14, 1) == (rows(store, passages), rows(store, pending))
        assert ["a"] == keys(store, "part-31668081")
        assert 0 == rows(store, pending)

    def test_half_deleted(self, sqlite_url: str, mocker: MockerFixture) -> None:
        """A deletion that failed half-way has deleted nothing: the next search finds all of it."""
        with SQLAlchemyStore(sqlite_url) as store:
            store.put(ANN, memory("walrus", memory_key="walrus"))
            store.put(ANN, memory(LINES, memory_key="a"))
            before = rows(store, passages)
            mocker.patch.object(
                keyword_index, "remove", side_effect=third_time_fails(keyword_index.remove)
            )
            with pytest.raises(ZeroDivisionError):
                store.delete(ANN, "a")
            mocker.stopall()

            assert (before - 14, 1) == (rows(store, passages), rows(store, pending))
            assert ["a"] == keys(store, "part-31668081")
            assert (before, 0) == (rows(store, passages), rows(store, pending))

    def test_bounded_catching_up(
        self, store: SQLAlchemyStore, mocker: MockerFixture, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One search indexes so much of what is pending, and says what is left."""
        for number in range(4):
            store.put(
                ANN,
                memory(
                    "disk " * 100,
                    memory_key=f"k{number}",
                    created_at=now() + timedelta(days=number),
                ),
            )
        store.database.write(keyword_index.reset)
        mocker.patch.object(store, "most_caught_up", 600)

        with caplog.at_level(logging.WARNING, "memory_context"):
            assert {"k3", "k2"} == set(keys(store, "disk"))

        assert "2 memories are not indexed yet" in caplog.text
        assert 4 == len(keys(store, "disk"))

    def test_pictures_use_up_nothing(self, store: SQLAlchemyStore, mocker: MockerFixture) -> None:
        """Of what is pending and binary only the description is indexed: it does not keep a search from texts."""
        store.put(ANN, memory("the disk is full", memory_key="note"))
        for number in range(3):
            later = now() + timedelta(days=1 + number)
            picture = memory(bytes(1000), memory_key=f"p{number}", created_at=later)
            store.put(ANN, picture)
        store.database.write(keyword_index.reset)
        mocker.patch.object(store, "most_caught_up", 600)

        assert ["note"] == keys(store, "disk")

    def test_memory_is_bounded(self, store: SQLAlchemyStore, mocker: MockerFixture) -> None:
        """Storing, searching and deleting a text takes less than four times its size."""
        mocker.stopall()
        text = LINES * 40
        store.put(ANN, memory("open it"))
        item = memory(text, memory_key="a")
        tracemalloc.start()

        store.put(ANN, item)
        found = keys(store, "part-31668081")
        store.delete(ANN, "a")

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert ["a"] == found
        assert peak < 4 * sys.getsizeof(text)


class TestBothDatabases:
    """The same corpus and the same queries."""

    def test_same_ranking(self, sqlite_url: str, postgres_url: str) -> None:
        """Both databases give the same memories, the same scores, the same passages."""
        texts = [LINES[start : start + 900 + start % 5000] for start in range(0, 200_000, 3989)]
        with SQLAlchemyStore(sqlite_url) as first, SQLAlchemyStore(postgres_url) as second:
            for number, text in enumerate(texts):
                for store in (first, second):
                    store.put(ANN, memory(text, memory_key=f"k{number}", summary=f"part {number}"))
            for query in (
                "worker-13",
                "step handled",
                "part-791900 part-7919 worker-55",
                LINES[5000:9000],
                "it's (a \\ b')",
            ):
                one, two = (store.search(ANN, query, limit=10) for store in (first, second))
                assert [hit.memory_key for hit in one] == [hit.memory_key for hit in two]
                for left, right in zip(one, two, strict=True):
                    assert left.match
                    assert right.match
                    assert left.match.score == pytest.approx(right.match.score)
                    assert left.match.lines == right.match.lines


class TestMeaning:
    """Searches by meaning, with an embedder of the user's."""

    def test_modes(self, url: str) -> None:
        """By words, by meaning, by both; deleted and replaced memories are gone from all."""
        with SQLAlchemyStore(url, embedder=Toy()) as store:
            store.put(ANN, memory("the automobile is red", memory_key="m1"))
            store.put(ANN, memory("my puppy sleeps", memory_key="m2"))
            store.put(ANN, memory("the drive is full", memory_key="m3", memory_type="note"))
            store.put(BOB, memory("bob's puppy", user_id="bob", memory_key="bobs"))
            store.reindex()

            assert ["m1"] == keys(store, "red dog", mode="keyword")
            assert "m2" == keys(store, "red dog", mode="semantic")[0]
            assert {"m1", "m2"} == set(keys(store, "red dog", limit=2))
            assert ["m3"] == keys(store, "dog", mode="semantic", filters={"memory_type": "note"})
            assert ["bobs"] == keys(store, "dog", BOB, mode="semantic")

            store.put(ANN, memory("the puppy is red", memory_key="m1"), replace=True)
            store.delete(ANN, "m2")
            store.reindex()
            assert ["m1", "m3"] == keys(store, "dog", mode="semantic")

    def test_places_are_asked_for_in_parts(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A database takes tens of thousands of values in a statement: of more hits the places come part by part."""
        monkeypatch.setattr(vector_index, "ASKED_TOGETHER", 2)
        before = "a line\n" * 400
        with SQLAlchemyStore(url, embedder=Toy()) as store:
            for number in range(5):
                store.put(
                    ANN, memory(f"{before}my puppy sleeps\n{number}", memory_key=f"m{number}")
                )
            store.reindex()
            hits = store.search(ANN, "puppy", limit=5, mode="semantic")
            firsts = [hit.match.lines[0] for hit in hits if hit.match and hit.match.lines]
            assert 5 == len(firsts)
            assert 1 == len(set(firsts))
            assert firsts[0] > 1

    def test_vectors_are_made_in_the_background(self, url: str) -> None:
        """What is stored is found by its meaning a little later, without `reindex`."""
        with SQLAlchemyStore(url, embedder=Toy()) as store:
            store.put(ANN, memory("my puppy sleeps", memory_key="dog"))
            background_ends(store)

            assert ["dog"] == keys(store, "a dog", mode="semantic")

    def test_models_never_mix(self, url: str) -> None:
        """Another model has vectors of its own; what has one already is not embedded again."""
        toy, again = Toy(), Toy()
        with SQLAlchemyStore(url, embedder=toy) as store:
            store.put(ANN, memory("my puppy sleeps", memory_key="dog"))
            store.reindex()
        with SQLAlchemyStore(url, embedder=again) as store:
            store.reindex()
        with SQLAlchemyStore(
            url, embedder=lambda texts: [[1.0, 2.0]] * len(texts), embedding_model="flat"
        ) as store:
            assert [] == keys(store, "dog", mode="semantic")
            assert ["dog"] == keys(store, "puppy")
            store.reindex()
            assert ["dog"] == keys(store, "dog", mode="semantic")

        assert ["my puppy sleeps"] == toy.texts
        assert [] == again.texts

    def test_the_same_text_is_not_embedded_again(self, url: str) -> None:
        """A record whose text stays keeps its vectors when it is replaced; one with another text has new ones."""
        toy = Toy()
        with SQLAlchemyStore(url, embedder=toy) as store:
            for importance in (0.1, 0.9):
                dog = memory("my puppy sleeps", memory_key="dog", importance=importance)
                store.put(ANN, dog, replace=True)
                background_ends(store)
                assert ["dog"] == keys(store, "a dog", mode="semantic")
            assert ["my puppy sleeps"] == toy.texts
            store.put(ANN, memory("my puppy eats", memory_key="dog"), replace=True)
            background_ends(store)
            assert ["my puppy sleeps", "my puppy eats"] == toy.texts

    def test_secrets_are_not_embedded(self, url: str) -> None:
        """Of a secret, the embedder sees the description only."""
        toy = Toy()
        with SQLAlchemyStore(url, embedder=toy) as store:
            store.put(ANN, memory("hunter2", summary="a password", memory_type="secret"))
            store.reindex()

        assert ["a password"] == toy.texts

    def test_failing_embedder(self, url: str, caplog: pytest.LogCaptureFixture) -> None:
        """An embedder that fails does not fail what is stored; a warning says so."""

        def broken(texts: list[str]) -> list[list[float]]:
            raise ConnectionError(len(texts))

        with SQLAlchemyStore(url, embedder=broken) as store:
            store.put(ANN, memory("my puppy sleeps", memory_key="dog"))
            background_ends(store)
            assert ["dog"] == keys(store, "puppy", mode="keyword")

        assert "vectors could not be made" in caplog.text

    def test_without_embedder(self, store: SQLAlchemyStore) -> None:
        """Without an embedder both is by words, and meaning alone is an error."""
        store.put(ANN, memory("my puppy sleeps", memory_key="dog"))

        assert ["dog"] == keys(store, "puppy")
        with pytest.raises(exceptions.InvalidArgumentError, match="embedder"):
            keys(store, "puppy", mode="semantic")

    @pytest.mark.long
    def test_many_vectors_of_others(self, postgres_url: str) -> None:
        """With an index over all users, a user whose vectors are few among many finds as many as there are."""
        with SQLAlchemyStore(postgres_url, embedder=Toy()) as store:
            for number in range(300):
                store.put(BOB, memory(f"dog {number}", user_id="bob"))
            for number in range(6):
                store.put(ANN, memory(f"car {number}", memory_key=f"k{number}"))
            store.reindex()

            assert 5 == len(keys(store, "dog", mode="semantic"))


def test_manager_narrows(store_url: str) -> None:
    """Types, tier, category with what is below it, tags, thread and time narrow a search, together with filters."""
    with MemoryManager(store_url, user_id="ann", thread_id="t1") as manager:
        moment = now()
        manager.store("disk one", key="a", type="note", category="project/rockets", tags=["red"])
        manager.store(
            "disk two", key="b", type="decision", category="projects", tier="project", tier_id="p"
        )

        def found(**narrow: object) -> set[str]:
            return {hit.memory_key for hit in manager.search("disk", **narrow)}  # type: ignore[arg-type] # search's own

        assert {"a"} == found(types="note")
        assert {"a", "b"} == found(types=["note", "decision"])
        assert {"b"} == found(tier="project")
        assert {"a"} == found(category="project")
        assert {"a"} == found(category="project/rockets")
        assert {"a", "b"} == found(category="project*")
        assert {"b"} == found(category="projects*")
        assert set() == found(category="rockets*")
        assert set() == found(category="Project")
        assert {"a"} == found(tags=["red", "blue"])
        assert {"a", "b"} == found(thread="t1", since=moment)
        assert set() == found(until=moment)
        assert {"b"} == found(filters={"tier_id": "p"})
        for wrong in (
            {"since": moment.replace(tzinfo=None)},
            {"mode": "fuzzy"},
            {"tier": "x", "filters": {"tier": "y"}},
        ):
            with pytest.raises(exceptions.InvalidArgumentError):
                found(**wrong)


def test_a_tier_ranks_as_everything_does(store: SQLAlchemyStore) -> None:
    """What a search in a tier finds is as good as what one everywhere finds there, be the tier large or small."""
    for number in range(120):
        tier = "project" if number % 12 else "task"
        text = f"note {number} of worker-{number % 7}" + " and a disk" * (number % 5)
        store.put(ANN, memory(text, memory_key=f"k{number:03}", tier=tier, tier_id="x"))

    everywhere = store.search(ANN, "disk of worker-3", limit=200)
    for tier in ("project", "task"):
        scope = Scope("ann", tier=tier, tier_id="x")
        inside = [round(hit.match.score, 9) for hit in everywhere if hit.match and hit.tier == tier]
        for limit in (1, 5, 10, 200):
            hits = store.search(scope, "disk of worker-3", limit=limit)
            assert inside[:limit] == [round(hit.match.score, 9) for hit in hits if hit.match]
            assert {tier} == {hit.tier for hit in hits}


def test_long_question_in_a_tier(store: SQLAlchemyStore) -> None:
    """A long question finds a note though many of its words are rarer in what else the user has than the note's own."""
    rare = [f"part{number}" for number in range(60)]
    store.put(
        ANN,
        memory(
            "The umbrella is in the hallway.", memory_key="note", tier="project", tier_id="house"
        ),
    )
    for number in range(80):
        store.put(
            ANN,
            memory(f"umbrella hallway {rare[number % 60]} {number}", memory_key=f"log-{number}"),
        )

    found = store.search(
        ANN, " ".join([*rare, "where is the umbrella"]), filters={"tier": "project"}
    )

    assert ["note"] == [item.memory_key for item in found]


def test_hits_are_looked_up_by_id(sqlite_url: str) -> None:
    """SQLite looks up the hits of a search in a tier, and does not read the whole tier for them."""
    with SQLAlchemyStore(sqlite_url) as store:
        item = store.put(ANN, memory("a note", tier="project", tier_id="x"))
        inside = matching(Scope("ann", tier="project", tier_id="x"), None, "sqlite")
        request = _searching.SearchRequest("ann", (), None, inside, narrowed=True, limit=1)
        statement = _searching._restricted(sa.select(memories.c.id), [item.id], request)  # noqa: SLF001 - what is asked
        explain = sa.text(f"EXPLAIN QUERY PLAN {_compiled(statement)}")
        plan = str(store.database.read(lambda connection: connection.execute(explain).all()))

        assert 1 == len(run(store, statement))
        assert "(user_id=? AND id=?)" in plan
        assert "ix_agent_memories_user_tier" not in plan


@pytest.mark.long
def test_a_memory_that_is_replaced_meanwhile_is_found(
    sqlite_url: str, mocker: MockerFixture
) -> None:
    """A search asks what is pending where it ranks, so a long text that another process has just stored is found."""
    with SQLAlchemyStore(sqlite_url) as store, SQLAlchemyStore(sqlite_url) as other:
        ours, theirs = MemoryManager(store, user_id="ann"), MemoryManager(other, user_id="ann")
        ours.store("an alpha and a zebra", key="animals")
        read = store.database.read
        ranking = [_searching.best_if_indexed, _searching.best]

        def replaced_before(work: Any, *arguments: Any) -> Any:
            """Let the other process store, and be still indexing, when the search begins to rank."""
            if work not in ranking:
                return read(work, *arguments)
            ranking.clear()
            mocker.patch.object(other, "_complete_index")
            text = "a zebra and " + " ".join(f"word{number}" for number in range(200_000))
            theirs.store(text, key="animals", replace=True)
            return read(work, *arguments)

        mocker.patch.object(store.database, "read", replaced_before)

        assert ["animals"] == [hit.memory_key for hit in ours.search("zebra")]


def _compiled(statement: sa.Select[Any]) -> str:
    return str(statement.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))


SUBJECTS = {
    "canoe": "kayak",
    "violin": "fiddle",
    "sofa": "couch",
    "lorry": "truck",
    "film": "movie",
}
CITIES = ("Oslo", "Lima", "Kyoto", "Accra", "Quito", "Tunis", "Perth", "Turin", "Delhi", "Porto")


def meaning(texts: list[str]) -> list[list[float]]:
    """Vectors of an embedder that knows which words mean the same, and which thing is where."""
    return [
        [
            0.01 + (city in text and any(name in text for name in names))
            for names in SUBJECTS.items()
            for city in CITIES
        ]
        for text in texts
    ]


def noise(texts: list[str]) -> list[list[float]]:
    """Vectors that have nothing to do with the texts."""
    return [[Random(text + str(i)).gauss(0, 1) for i in range(16)] for text in texts]


def letters(texts: list[str]) -> list[list[float]]:
    """Vectors of a poor embedder: which letters there are."""
    return [[float(text.lower().count(chr(97 + i))) for i in range(26)] for text in texts]


@pytest.mark.long
@pytest.mark.parametrize("embed", [meaning, noise, letters])
def test_both_are_never_below_words(url: str, embed: Any) -> None:
    """A weak embedder leaves what keyword matching finds where it is; a good one finds what other words say."""
    with SQLAlchemyStore(url, embedder=embed) as store:
        for subject in SUBJECTS:
            for city in CITIES:
                text = f"We sold the {subject} in {city}, near the station, and were paid at once."
                store.put(ANN, memory(text, memory_key=f"{subject}-{city}"))
        store.reindex()
        found = dict.fromkeys(("keyword", "hybrid"), 0)
        firsts = 0
        for subject, other in SUBJECTS.items():
            for city in CITIES:
                for word in (subject, other):
                    for mode in found:
                        question = f"Was the {word} of {city} paid?"
                        hits = keys(store, question, limit=5, mode=mode)
                        found[mode] += f"{subject}-{city}" in hits
                        firsts += f"{subject}-{city}" == hits[0] and mode == "hybrid"

    assert found["hybrid"] >= found["keyword"]
    assert (embed is meaning) == (firsts == 100)
