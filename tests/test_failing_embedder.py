"""An embedder that fails takes nothing away but its own vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from autogen_core import CancellationToken

from for_each import for_each
from memory_context import MemoryContext, MemoryManager, SQLAlchemyStore
from memory_context.exceptions import EmbedderError, StoreError
from memory_context.stores.sql.index import embedding_of_chunks_and_questions
from memory_context.testing.sample_memories import ANN


class Embedder:
    """Gives vectors until it breaks: then it raises what no model may read, or never answers."""

    def __init__(self) -> None:
        self.breaks: Callable[[], object] = lambda: None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors of texts."""
        return [[float(len(text) % 7), 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        self.breaks()
        return [float(len(text) % 7), 1.0]


def refused() -> None:
    """Fail as an API does."""
    message = "401 for key sk-4711 at 10.0.0.3"
    raise RuntimeError(message)


hung = threading.Event()


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    """Let threads that hang end with their test."""
    yield
    hung.set()


@for_each("breaks", [refused, hung.wait])
async def test_an_embedder_that_fails(
    breaks: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keyword search and recall go on without the vectors, for which nobody waits, and no model reads what the embedder said.

    Nor does it keep the store from being closed.
    """
    monkeypatch.setattr(embedding_of_chunks_and_questions, "QUERY_SECONDS", 0.2)
    monkeypatch.setattr(embedding_of_chunks_and_questions, "EXIT_SECONDS", 0.2)
    hung.clear()
    embedder = Embedder()
    with SQLAlchemyStore("sqlite://", embedder=embedder) as store:
        context = MemoryContext("ann", store=store)
        await context.store("the invoice of Orbit Rentals", key="invoice")
        embedder.breaks = breaks
        for _ in range(3):
            assert ["invoice"] == [hit.memory_key for hit in await context.search("Orbit")]
        with pytest.raises(StoreError, match="embedder") as failed:
            context.manager.search("Orbit", mode="semantic")
        assert "sk-4711" not in str(failed.value)
        searching = next(tool for tool in context.tools() if tool.name == "search_memory")
        answer = await searching.run_json({"query": "Orbit"}, CancellationToken())
        assert "Orbit Rentals" in str(answer)
        assert "sk-4711" not in str(answer)


@pytest.mark.parametrize("vector", [[float("nan"), 1.0], ["x", "y"], [[1.0], [1.0, 2.0]], []])
def test_a_query_without_a_vector(vector: list[float]) -> None:
    """What is no vector of numbers is a failure of the embedder, too: the search goes on by words."""
    embedder = Embedder()
    embedder.embed_query = lambda text: vector  # type: ignore[method-assign] # noqa: ARG005 - called by name in no place
    with SQLAlchemyStore("sqlite://", embedder=embedder) as store:
        memory = MemoryManager(store, user_id="ann")
        memory.store("the invoice of Orbit Rentals", key="invoice")

        assert ["invoice"] == [hit.memory_key for hit in memory.search("Orbit")]
        with pytest.raises(EmbedderError):
            memory.search("Orbit", mode="semantic")


def test_an_embedder_with_a_vector_too_many() -> None:
    """Which text each belongs to is unknown, and the error says only that."""

    def doubling(texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0]] * (len(texts) + 1)

    with SQLAlchemyStore("sqlite://", embedder=doubling) as store:
        MemoryManager(store, user_id="ann").store("a dog", key="dog")
        with pytest.raises(StoreError, match=r"2 vectors for 1 texts$"):
            store.reindex()


def test_an_embedder_whose_vectors_become_longer(sqlite_url: str) -> None:
    """They are not mixed with the shorter ones, which would make each search fail: the next process keeps them apart."""
    lengths = [2]

    def lengthening(texts: list[str]) -> list[list[float]]:
        return [[1.0] * lengths[0] for _ in texts]

    with SQLAlchemyStore(sqlite_url, embedder=lengthening) as store:
        memory = MemoryManager(store, user_id="ann")
        memory.store("a dog", key="dog")
        store.reindex()
        lengths[0] = 3
        memory.store("a cat", key="cat")
        with pytest.raises(StoreError, match="with 3 numbers each where there were 2"):
            store.reindex()
    for length in (2, 3):
        lengths[0] = length
        with SQLAlchemyStore(sqlite_url, embedder=lengthening) as store:
            store.reindex()
            assert len(store.search(ANN, "pet", mode="semantic")) == 2
