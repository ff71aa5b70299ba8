"""`FaultyStore`: the contract while nothing fails, and each fault as it says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path

import pytest

from memory_context import MemoryManager
from memory_context.exceptions import StoreError, StoreUnavailableError
from memory_context.stores import Administration, MemoryStore
from memory_context.stores.protocol import SearchIndexed, TermIndexed
from memory_context.testing import Fault, FaultyStore, Injected, MemoryStoreContract, random_faults
from memory_context.testing.faulty_store import PAGED_READS, READS, WRITES

RAISED = {
    Fault.ERROR: StoreError,
    Fault.LOST: StoreUnavailableError,
    Fault.LOST_AFTER: StoreUnavailableError,
    Fault.FULL: StoreError,
    Fault.LOCKED: StoreUnavailableError,
}


@pytest.mark.long
class TestFaultyStore(MemoryStoreContract):
    """The contract, with an empty plan."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with FaultyStore("sqlite://") as store:
            yield store


@pytest.mark.soak
class TestLateStore(MemoryStoreContract):
    """The contract, with every call late."""

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """An empty store."""
        with FaultyStore("sqlite://", repeat(Fault.DELAY), delay=0.0001) as store:
            yield store


@pytest.fixture
def faulty() -> Iterator[FaultyStore]:
    """A store with one memory."""
    with FaultyStore("sqlite://") as store:
        MemoryManager(store, user_id="ann").store("kept", key="kept")
        yield store


@pytest.mark.parametrize("fault", Fault)
def test_writes(faulty: FaultyStore, fault: Fault) -> None:
    """A write is done with a delay, and where the connection is lost after it, and in no other case."""
    manager = MemoryManager(faulty, user_id="ann")
    faulty.inject([fault])

    if fault in RAISED:
        with pytest.raises(RAISED[fault]):
            manager.store("new", key="new")
    else:
        manager.store("new", key="new")

    assert [Injected("put", fault)] == faulty.injected
    assert int(fault in {Fault.DELAY, Fault.LOST_AFTER}) == len(
        faulty.get_many(manager.scope, ["new"])
    )


@pytest.mark.parametrize("fault", Fault)
def test_reads(faulty: FaultyStore, fault: Fault) -> None:
    """A full disk and a locked file let reads pass; every other fault is theirs too, and goes away."""
    manager = MemoryManager(faulty, user_id="ann")
    for read in (lambda: manager.get("kept"), lambda: list(faulty.list_all(manager.scope))):
        faulty.inject([fault])
        if fault in {Fault.ERROR, Fault.LOST, Fault.LOST_AFTER}:
            with pytest.raises(RAISED[fault]):
                read()
        assert read()


def test_pages_end_with_the_connection(faulty: FaultyStore) -> None:
    """Where the connection is lost after the work, what comes in pages came."""
    faulty.inject([Fault.LOST_AFTER])
    came = []
    with pytest.raises(StoreUnavailableError):
        for item in faulty.list_all(MemoryManager(faulty, user_id="ann").scope):
            came.append(item.memory_key)  # noqa: PERF401 - it raises
    assert ["kept"] == came


def test_every_verb_may_fail() -> None:
    """Each verb of a store's protocols meets the plan, but for closing it."""
    verbs = set[str]()
    for protocol in (MemoryStore, Administration, SearchIndexed, TermIndexed):
        verbs |= {name for name in vars(protocol) if not name.startswith("_")}
    assert verbs - {"close"} == READS | PAGED_READS | WRITES


def test_plans_are_followed_in_order(faulty: FaultyStore) -> None:
    """Each call takes the next fault of a plan, a fault of writes is nothing for a read, and the end is the end."""
    manager = MemoryManager(faulty, user_id="ann")
    faulty.inject([None, Fault.FULL, Fault.LOST])

    assert ["kept", "kept"] == [manager.get("kept").text, manager.get("kept").text]
    with pytest.raises(StoreUnavailableError, match="lost"):
        manager.get("kept")
    assert "kept" == manager.retrieve("kept")


def test_random_faults() -> None:
    """The same seed gives the same faults, another one others; only of the kinds, about as many as the share says."""
    first, again, other = (
        list(islice(random_faults(seed, [Fault.LOST, Fault.FULL]), 1000)) for seed in (1, 1, 2)
    )

    assert first == again != other
    assert {None, Fault.LOST, Fault.FULL} == set(first)
    assert 200 < 1000 - first.count(None) < 400


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """An application sees the fault in the store's words, and the file is as it was."""
    with FaultyStore(f"sqlite:///{tmp_path / 'memory.db'}", repeat(Fault.FULL)) as store:
        with pytest.raises(StoreError, match="disk is full"):
            MemoryManager(store, user_id="ann").store("x")
        assert 0 == store.count(MemoryManager(store, user_id="ann").scope)
