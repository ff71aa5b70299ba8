"""`consolidate`: notes that belong together become one; and preferences out of a finished conversation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import first_quick
from memory_context import MemoryManager, SQLAlchemyStore
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.consolidation import ModelConsolidator, consolidate
from memory_context.model.item import MemoryItem
from memory_context.text.notes_that_say_the_same import groups, merged, resemblance, shingles
from memory_context.text.words_and_names import names

PORTS = (
    "The payment service listens on port 8443 behind the gateway, and restarts each night at two.",
    "The payment service listens on port 8443 behind the gateway and restarts every night at two.",
    "The payment service listens on port 8444 behind the gateway, and restarts each night at two.",
)


@pytest.fixture
def manager(store_url: str) -> Iterator[MemoryManager]:
    """An empty memory, on every database."""
    with MemoryManager(store_url, user_id="ann") as manager:
        yield manager


def store(manager: MemoryManager, *texts: str, tier_id: str = "p", **details: Any) -> list[str]:
    """Notes of a project; their keys."""
    return [manager.store(text, tier="project", tier_id=tier_id, **details) for text in texts]


def offered(manager: MemoryManager) -> set[str]:
    """The contents that are offered."""
    items = manager.memory_store.query(manager.scope, limit=None, order_by="-created_at")
    return {item.text for item in items}


def test_near_duplicates_become_one(manager: MemoryManager) -> None:
    """Near-duplicates are one note with every name and number; sources redeem, both ends are linked."""
    keys = store(manager, *PORTS, tags=["ops"], importance=0.9)
    other = "Rockets are painted red."
    store(manager, other)
    steps = list[tuple[int, int]]()

    report = consolidate(
        manager, "project", "p", progress=lambda done, total: steps.append((done, total))
    )

    [group] = report.groups
    assert (4, tuple(keys), "words", ()) == (report.notes, group.sources, group.by, report.finished)
    assert [(1, 1)] == steps
    new = manager.get(group.key)
    assert {f"{PORTS[1]}\n{PORTS[2]}", other} == offered(manager) == {new.text, other}
    assert (0.9, ("ops",), "project", "p") == (new.importance, new.tags, new.tier, new.tier_id)
    assert keys == new.content_metadata["consolidated_from"]
    for key, text in zip(keys, PORTS, strict=True):
        source = manager.get(key)
        assert (text, False, group.key) == (
            source.text,
            source.is_active,
            source.content_metadata["consolidated_into"],
        )
    assert (
        report.tokens_saved
        == sum(manager.get(key).token_count for key in keys) - new.token_count
        > 0
    )
    assert () == consolidate(manager, "project", "p").groups


def test_notes_that_lack_their_id(manager: MemoryManager) -> None:
    """Notes of earlier versions, without the id of their project, become one as others do."""
    for number, text in enumerate(PORTS):
        note = MemoryItem(user_id="ann", memory_key=f"k{number}", tier="project", content=text)
        manager.memory_store.put(manager.scope, note)

    [group] = consolidate(manager, "project").groups

    assert manager.get(group.key).tier_id is None
    assert 1 == len(offered(manager))


def test_dry_run(manager: MemoryManager) -> None:
    """A dry run says what would be done and does nothing."""
    store(manager, *PORTS)

    report = consolidate(manager, "project", dry_run=True)

    assert (1, "", True) == (len(report.groups), report.groups[0].key, report.dry_run)
    assert set(PORTS) == offered(manager)
    assert consolidate(manager, "project").groups[0].tokens_after == report.groups[0].tokens_after


def test_what_stays_apart(manager: MemoryManager) -> None:
    """Other projects, types, categories and users, secrets and bytes are not merged; outputs are refused."""
    text = PORTS[0]
    store(manager, text)
    store(manager, text, tier_id="q")
    store(manager, text, category="ops")
    store(manager, text, type="decision")
    store(manager, text, type="secret")
    store(manager, text, type="secret")
    manager.store(b"\0", tier="project", tier_id="p")
    MemoryManager(manager.memory_store, user_id="bob").store(text, tier="project", tier_id="p")

    assert () == consolidate(manager, "project").groups
    for wrong in ({"tier": "detail"}, {"merger": 1}):
        with pytest.raises(InvalidArgumentError):
            consolidate(**{"memories": manager, "tier": "project", **wrong})  # type: ignore[arg-type] # wrong


def test_what_is_to_expire_expires(manager: MemoryManager) -> None:
    """Notes that expire at one time become one that expires then; those of another time, or of none, stay apart."""
    noon = datetime(2031, 1, 1, 12, tzinfo=UTC)
    keys = store(manager, *PORTS[:2], expires_at=noon)
    store(manager, PORTS[0], expires_at=noon + timedelta(days=1))
    store(manager, PORTS[1])
    [group] = consolidate(manager, "project", "p").groups
    assert tuple(keys) == group.sources
    assert noon == manager.get(group.key).expires_at


class Model:
    """A model that answers with what it was made with, and remembers what it was asked."""

    def __init__(self, answer: str | Exception | None = None) -> None:
        self.answer = answer
        self.asked = list[tuple[str, str]]()
        self.done = threading.Event()

    def __call__(self, system: str, question: str) -> str:
        """The answer; without one it never comes."""
        self.asked.append((system, question))
        if self.answer is None:
            self.done.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or ""


def test_a_model_merges_related_notes(manager: MemoryManager) -> None:
    """With a model related and oversized notes become one in its words."""
    related = ("The gateway listens on port 443.", "The gateway runs on host-7 and listens.")
    keys = store(manager, *related)
    long = "\n".join(f"On day {n} the gateway was as it should be." for n in range(40))
    [big] = store(manager, long, category="log")
    model = Model("The gateway listens on port 443 of host-7.")

    report = consolidate(manager, "project", merger=ModelConsolidator(model), max_tokens=100)

    assert [(tuple(keys), "model"), ((big,), "model")] == [
        (group.sources, group.by) for group in report.groups
    ]
    assert {"The gateway listens on port 443 of host-7."} == offered(manager)
    assert related[0] in model.asked[0][1]
    assert model.asked[0][1].index(related[0]) < model.asked[0][1].index(related[1])
    assert long == manager.retrieve(big)


@pytest.mark.parametrize(
    "answer", ["", "Something about payment.", RuntimeError("no"), "x " * 500, None]
)
def test_a_model_that_is_of_no_use(manager: MemoryManager, answer: str | Exception | None) -> None:
    """Where the model fails, is late or loses names, words decide: near-duplicates become one, related notes stay."""
    keys = store(manager, *PORTS)
    store(manager, "The payment service is written in C-99 by Ann, and restarts fast.")
    model = Model(answer)

    seconds = 0.2 if answer is None else 300
    report = consolidate(manager, "project", merger=ModelConsolidator(model), seconds=seconds)
    while not model.asked:
        time.sleep(0.001)  # a thread that was begun may not have come so far
    model.done.set()

    assert [(tuple(keys), "words")] == [(group.sources, group.by) for group in report.groups]
    assert 1 == len(model.asked)


class Breaking(SQLAlchemyStore):
    """A store that takes so many records and no more."""

    left = 100

    def put(self, *args: Any, **settings: Any) -> Any:
        """Put it, as long as there is room."""
        self.left -= 1
        if self.left < 0:
            raise StoreError
        return super().put(*args, **settings)


@pytest.mark.parametrize("puts", first_quick([0, 1, 2, 3]))
def test_a_run_that_ends_too_soon(sqlite_url: str, puts: int) -> None:
    """Wherever a run ends, nothing is lost, and the next one leaves what an undisturbed one would have left."""
    broken = Breaking(sqlite_url)
    manager = MemoryManager(broken, user_id="ann")
    keys = store(manager, *PORTS)
    broken.left = puts
    with pytest.raises(StoreError):
        consolidate(manager, "project")
    broken.left = 100
    assert list(PORTS) == [manager.retrieve(key) for key in keys]

    report = consolidate(manager, "project")

    assert {f"{PORTS[1]}\n{PORTS[2]}"} == offered(manager)
    assert (len(report.finished), len(report.groups)) == ((0, 1) if puts == 0 else (4 - puts, 0))
    broken.close()


def test_a_source_that_changes_meanwhile(manager: MemoryManager) -> None:
    """A note that was changed while it was merged is not evicted, neither then nor later."""
    keys = store(manager, *PORTS)

    class Slow:
        def merge(self, notes: Sequence[str], max_tokens: int) -> str:
            manager.store("changed", tier="project", tier_id="p", key="mine", replace=True)
            return f"{notes[0]} 8444 {max_tokens}"

    store(manager, PORTS[0] + " Really.", key="mine")
    report = consolidate(manager, "project", merger=Slow())

    assert [(*keys, "mine")] == [group.sources for group in report.groups]
    assert {"changed", manager.get(report.groups[0].key).text} == offered(manager)
    assert ((), ()) == ((again := consolidate(manager, "project")).groups, again.finished)


LINES = st.lists(
    st.sampled_from(
        [
            "use tabs",
            "do not use tabs",
            "Use  tabs!",
            "port 80",
            "port 81",
            "",
            "on host-7.example",
            "---",
        ]
    )
    | st.text(st.sampled_from("ab1 -._\n"), max_size=12)
)


@given(st.lists(LINES.map("\n".join), min_size=1, max_size=4))
def test_merged_texts_keep_every_fact(texts: list[str]) -> None:
    """A merged text holds every name and number and every negated line, is one of its sources merged with itself."""
    text = merged(texts)

    assert names("\n".join(texts)) <= names(text)
    assert ("do not use tabs" in "\n".join(texts)) == ("do not use tabs" in text)
    assert merged([texts[0], texts[0]]) == texts[0]
    assert {line for line in text.split("\n") if line} <= {
        line for one in texts for line in one.split("\n")
    }


@pytest.mark.parametrize(
    "negated",
    [
        "The nightly job of the payment service couldn't reach the gateway behind port 8443 today.",
        "The nightly job of the payment service didn't reach the gateway behind port 8443 today.",
        "The nightly job of the payment service nie reach the gateway behind port 8443 today.",
    ],
)
def test_a_negation_is_another_fact(negated: str) -> None:
    """A line with a negation does not take the place of the same line without it, whatever the contraction."""
    line = "The nightly job of the payment service could reach the gateway behind port 8443 today."

    assert merged([line, negated]) == f"{line}\n{negated}"


@given(st.lists(st.text(st.sampled_from("ab "), max_size=12), max_size=12), st.floats(0.1, 1))
def test_groups(texts: list[str], least: float) -> None:
    """Every set is in one group, whose first it resembles; equal sets are in one."""
    sets = [shingles(text) for text in texts]
    found = groups(sets, least)

    assert list(range(len(texts))) == sorted(place for group in found for place in group)
    for group in found:
        assert all(resemblance(sets[group[0]], sets[place]) >= least for place in group)
    homes = [
        next(number for number, group in enumerate(found) if place in group)
        for place in range(len(texts))
    ]
    assert all(
        homes[a] == homes[b]
        for a in range(len(texts))
        for b in range(a)
        if sets[a] == sets[b] and least <= 1
    )
