"""An owner learns nothing of another one: the same steps, with and without the other one there, give the same.

Each step is one owner's. It is done in a store that two owners share and in a store of the owner's own; whatever comes
back (results, errors, answers of tools, prompts, exports, what is logged, counts) must be the same in both.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from memory_context import SQLAlchemyStore
from memory_context.exceptions import NothingMatchedError
from memory_context.model.item import MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores import (
    Codec,
    Compressed,
    Encrypted,
    FileStore,
    Filters,
    MemoryStore,
)
from memory_context.testing import seeded_keys
from owners import Owner, as_json

pytestmark = pytest.mark.long

# No thread that writes what models were sent is at work beside a step: it would be done with it at any moment.
quiet = partial(SQLAlchemyStore, calls_kept=None)
MARKS = ("walrusmark", "ottermark")
LINES = "\n".join(
    f"line {number}: the launch code of worker-{number} is {number * 37}" for number in range(60)
)
TEXTS = (
    "the launch code is 5391",
    "the launch code is 5392",
    "notes on [MemoryRef: own] and [MemoryRef: night - all of it - 12 tokens]",
    LINES,
    '[{"name": "launch", "code": 5391}, {"name": "night", "code": 7}]',
    "The launch service listens on port 8443 behind the gateway, and restarts each night at two.",
    "The launch service listens on port 8443 behind the gateway and restarts every night at two.",
)
KEYS = ("own", "night", "a.b", "line_0", "nothing")
QUERIES = (
    "launch code",
    "WALRUSMARK",
    "OTTERMARK",
    "worker-12",
    "",
    "the [MemoryRef: own]",
    "8443 gateway night",
)
SELECTORS: tuple[dict[str, Any], ...] = (
    {},
    {"lines": "1-3"},
    {"pattern": "launch"},
    {"contains": "mark"},
    {"query": "launch code", "max_tokens": 80},
    {"path": "$[0].code"},
    {"where": "code > 6"},
)
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"user_id": "ann"},
    {"user_id": {"$ne": "ann"}},
    {"user_id": ["ann", "bob"]},
    {"memory_key": ["own", "night"]},
    {"tags": ["x", "y"]},
    {"category": {"$under": "a"}},
    {"is_active": [True, False]},
    {"importance": {"$gte": 0.0}},
)
STORE_VERBS = (
    *(
        "get",
        "get_many",
        "query",
        "search",
        "delete",
        "deletion",
        "touch",
        "expire_at",
        "list_all",
        "list_deleted",
    ),
    *("count", "sum", "usage", "clear"),
)
NOTE_VERBS = (
    *(
        "save",
        "save",
        "get",
        "all",
        "search",
        "update",
        "delete",
        "promote",
        "categories",
        "size",
        "clear",
        "end",
    ),
)
TOOLS = (
    "retrieve_memory",
    "search_memory",
    "store_memory",
    "save_memory",
    "get_memory",
    "list_categories",
)
_SCORE = re.compile(r"score=\d+\.\d+")
_WORD = re.compile(r"[^\s\[\]{},…]+")
sides = st.integers(0, 1)
keys = st.one_of(st.sampled_from(KEYS), st.integers(0, 5))
texts = st.sampled_from(TEXTS)
queries = st.sampled_from(QUERIES)
tiers = st.sampled_from(["run", "session", "plan", "task", "project"])
walled = st.sampled_from(
    [("project", "1"), ("project", "2"), ("run", "1"), ("task", "2"), ("session", None)]
)
marked = st.booleans()


class Two(RuleBasedStateMachine):
    """Two owners on one store, and each of them on a store of its own."""

    stores: ClassVar[Callable[[], tuple[MemoryStore, MemoryStore, MemoryStore]]]
    numbers: ClassVar[Iterator[int]] = count()
    users: ClassVar[tuple[str, str]] = ("ann", "bob")
    ids: ClassVar[tuple[dict[str, str], dict[str, str]]] = ({}, {})
    steps: ClassVar[int] = 0

    @initialize()
    def open(self) -> None:
        """Begin with users whom the stores do not know."""
        number = next(self.numbers)
        self.runner = asyncio.Runner()
        self.open_stores = type(self).stores()
        shared, *alone = self.open_stores
        names = [f"{user}-{number}" for user in self.users]
        self.together = [
            Owner(shared, name, ids, self.runner) for name, ids in zip(names, self.ids, strict=True)
        ]
        self.apart = [
            Owner(store, name, ids, self.runner)
            for store, name, ids in zip(alone, names, self.ids, strict=True)
        ]
        self.knows = [False, False]

    def teardown(self) -> None:
        """Look at everything once more, and close."""
        try:
            for side in range(2):
                self.same(side, lambda one: one.ask_store("list_all", "own", {}))
                self.same(side, lambda one: one.find("launch code"))
                self.same(side, lambda one: one.ids or one.export(), ordered=False)
        finally:
            self.runner.close()
            for store in self.open_stores:
                store.close()

    def same(self, side: int, work: Callable[[Owner], Any], *, ordered: bool = True) -> None:
        """The owner's step, in the shared store and in its own; what is listed by random keys has no order."""
        type(self).steps += 1
        together, apart = self.together[side], self.apart[side]
        with _the_same_chance(type(self).steps):
            shared = together.told(lambda: work(together))
        with _the_same_chance(type(self).steps):
            own = apart.told(lambda: work(apart))
        compared = self.compared if ordered else _unordered
        assert compared(own) == compared(shared), _difference(own, shared)
        assert self.knows[side] or MARKS[1 - side] not in shared

    def compared(self, told: str) -> Any:
        """What must be the same: everything."""
        return told

    def text_of(self, side: int, text: str, is_marked: bool) -> str:
        """A text of the side's, with its mark, or one that the other one may have too."""
        return f"{text}\n{MARKS[side]}" if is_marked else text

    @rule(side=sides, text=texts, is_marked=marked, key=st.none() | st.sampled_from(KEYS[:3]), replace=st.booleans(),
          kind=st.sampled_from(["note", "tool_output", "secret", "user_preference"]))  # fmt: skip
    def put(
        self, side: int, text: str, is_marked: bool, key: str | None, replace: bool, kind: str
    ) -> None:
        """Store a text."""
        if not self.ids[0]:
            details: dict[str, Any] = {
                "key": key,
                "type": kind,
                "tags": ["x"],
                "category": "a/b",
                "replace": replace and key is not None,
            }
            self.same(side, lambda one: one.put(self.text_of(side, text, is_marked), **details))

    @rule(side=sides, text=texts, is_marked=marked, place=walled)
    def put_into(
        self, side: int, text: str, is_marked: bool, place: tuple[str, str | None]
    ) -> None:
        """Store a text in a tier, one's own or the other side's."""
        tier, tier_id = place
        self.same(
            side,
            lambda one: one.put(
                self.text_of(side, text, is_marked), None, tier=tier, tier_id=tier_id or f"{side}"
            ),
        )

    @rule(side=sides, key=keys, selector=st.sampled_from(SELECTORS))
    def get(self, side: int, key: str | int, selector: dict[str, Any]) -> None:
        """Read a memory, or a part of it."""
        self.same(side, lambda one: one.get(key, **selector))

    @rule(
        side=sides,
        query=queries,
        narrow=st.sampled_from([{}, {"tags": "x"}, {"types": "note"}, {"category": "a"}]),
    )
    def find(self, side: int, query: str, narrow: dict[str, Any]) -> None:
        """Search."""
        self.same(side, lambda one: one.find(query, **narrow))

    @rule(side=sides, key=keys)
    def forget(self, side: int, key: str | int) -> None:
        """Forget a memory."""
        self.same(side, lambda one: one.manager.forget(one.key(key)))

    @rule(side=sides, verb=st.sampled_from(STORE_VERBS), key=keys, filters=st.sampled_from(FILTERS))
    def ask_store(self, side: int, verb: str, key: str | int, filters: dict[str, Any]) -> None:
        """A verb of the store."""
        self.same(
            side, lambda one: one.ask_store(verb, key, filters), ordered=verb != "list_deleted"
        )

    @rule(
        side=sides,
        verb=st.sampled_from(NOTE_VERBS),
        key=keys,
        text=texts,
        is_marked=marked,
        tier=tiers,
    )
    def note(
        self, side: int, verb: str, key: str | int, text: str, is_marked: bool, tier: str
    ) -> None:
        """A verb of the notes; of a long query those words count that are rare in all that the user has."""
        if not (self.ids[0] and verb == "search" and len(text) > 300):
            self.same(
                side, lambda one: one.note(verb, key, self.text_of(side, text, is_marked), tier)
            )

    @rule(side=sides, name=st.sampled_from(TOOLS), key=keys, query=queries, text=texts, tier=tiers)
    def tool(self, side: int, name: str, key: str | int, query: str, text: str, tier: str) -> None:
        """A tool over MCP."""
        arguments = {
            "key": key,
            "query": query,
            "content": self.text_of(side, text, True),
            "tier": tier,
        }
        wanted = {
            "retrieve_memory": ["key", "query"], "search_memory": ["query"], "store_memory": ["content"],
            "save_memory": ["content", "tier"], "get_memory": ["tier"], "list_categories": [],
        }  # fmt: skip
        if not (self.ids[0] and name == "store_memory"):
            self.same(
                side, lambda one: one.tool(name, {each: arguments[each] for each in wanted[name]})
            )

    @rule(side=sides, number=sides, key=keys, query=queries)
    def own_tool(self, side: int, number: int, key: str | int, query: str) -> None:
        """A tool of the AutoGen context."""
        arguments = {"key": key} if number == 0 else {"query": query}
        self.same(side, lambda one: one.own_tool(number, arguments))

    @rule(side=sides, key=keys)
    def resource(self, side: int, key: str | int) -> None:
        """Resources over MCP."""
        self.same(side, lambda one: one.resource(key))

    @rule(side=sides, text=texts, is_marked=marked, result=st.booleans(), key=keys)
    def say(self, side: int, text: str, is_marked: bool, result: bool, key: str | int) -> None:
        """A message that speaks of a key, one's own or the other one's."""
        said = self.text_of(side, text, is_marked)
        key = (
            "own" if len(said) > 300 else key
        )  # the key of a folded text comes from all that stands in it
        if not (self.ids[0] and (result or len(said) > 300)):
            self.same(
                side, lambda one: one.say(f"{said} see [MemoryRef: {one.key(key)}]", result=result)
            )

    @rule(side=sides)
    def keep(self, side: int) -> None:
        """Save the state of the conversation."""
        self.same(side, Owner.keep)

    @rule(side=sides)
    def load(self, side: int) -> None:
        """Load one's own state again."""
        if self.together[side].state is not None:
            self.same(side, lambda one: one.load(one.state))

    @rule(side=sides, stripped=st.booleans())
    def load_theirs(self, side: int, stripped: bool) -> None:
        """Load the state of the other one, as it is, or without its owner's name."""
        state = self.together[1 - side].state
        if state is not None and not self.ids[0]:
            self.knows[side] = True  # what stands in the messages is given away with them
            given = {"messages": state["messages"]} if stripped else state
            self.same(side, lambda one: one.load(as_json(given)))

    @rule(side=sides, text=texts, is_marked=marked, query=queries)
    def chain(self, side: int, text: str, is_marked: bool, query: str) -> None:
        """LangChain's memory."""
        if not self.ids[0]:
            self.same(
                side, lambda one: one.chain(self.text_of(side, text, is_marked), query or "?")
            )

    @rule(side=sides, text=texts, is_marked=marked)
    def history(self, side: int, text: str, is_marked: bool) -> None:
        """LangChain's history."""
        if not self.ids[0]:
            self.same(side, lambda one: one.remember_messages(self.text_of(side, text, is_marked)))

    @rule(side=sides, query=queries)
    def retriever(self, side: int, query: str) -> None:
        """LangChain's retriever."""
        self.same(side, lambda one: one.ask_retriever(query))

    @rule(side=sides, text=texts, key=st.sampled_from(KEYS))
    def adapter(self, side: int, text: str, key: str) -> None:
        """LangGraph's store."""
        if not self.ids[0]:
            self.same(side, lambda one: one.ask_adapter(self.text_of(side, text, True), key))

    @rule(side=sides, query=queries, project=st.sampled_from(["0", "1", "2"]))
    def assemble(self, side: int, query: str, project: str) -> None:
        """What an agent starts with, also in a project of the other one's."""
        self.same(side, lambda one: one.assemble(query, project))

    @rule(side=sides, tier=tiers)
    def merge(self, side: int, tier: str) -> None:
        """Make one note of those that say the same."""
        self.same(side, lambda one: one.merge(tier))

    @rule(side=sides, text=texts)
    def converse(self, side: int, text: str) -> None:
        """A conversation that is kept in the store."""
        if not self.ids[0]:
            self.same(side, lambda one: one.converse(self.text_of(side, text, True)))

    @rule(side=sides)
    def look(self, side: int) -> None:
        """What people are shown."""
        if not self.ids[0]:
            self.same(side, Owner.look)

    @rule(side=sides)
    def export(self, side: int) -> None:
        """Export everything, and import it again."""
        if not self.ids[0]:
            self.same(side, Owner.export, ordered=False)

    @rule(side=sides)
    def take_theirs(self, side: int) -> None:
        """Import what the other one has exported."""
        if not self.ids[0]:
            try:
                lines, _ = self.together[1 - side].export()
            except NothingMatchedError:
                return
            self.same(side, lambda one: one.take(lines))


@contextmanager
def _the_same_chance(seed: int) -> Iterator[None]:
    """Random ids and keys that are the same each time: they are words of what is stored, and words decide what is found."""
    chance = random.Random(seed)
    with (
        seeded_keys(seed),
        mock.patch("os.urandom", chance.randbytes),
        mock.patch("random._urandom", chance.randbytes),
    ):
        yield


def _unordered(told: str) -> list[str]:
    return sorted(line.strip("[], ") for line in told.splitlines())


def _difference(own: str, shared: str) -> str:
    """Where two answers differ."""
    lines = unified_diff(
        own.splitlines(), shared.splitlines(), "alone", "together", n=0, lineterm=""
    )
    return "\n".join(lines)


class Sides(Two):
    """Two runs, sessions, tasks and projects of one user.

    What they share by design is left out: outputs, what is the user's, how rare a word is in all that the user has
    (which is what the ranking goes by), and that who knows a key learns when and why it was deleted, also elsewhere.
    """

    users: ClassVar[tuple[str, str]] = ("ann", "ann")
    ids: ClassVar[tuple[dict[str, str], dict[str, str]]] = (
        {"run_id": "0", "session_id": "0", "task_id": "0", "project_id": "0"},
        {"run_id": "1", "session_id": "1", "task_id": "1", "project_id": "1"},
    )

    def compared(self, told: str) -> Any:
        """What must be the same: the words of all that is told, in whatever order."""
        return sorted(_WORD.findall(_SCORE.sub("", told)))


def in_memory(codec: Codec | None = None) -> tuple[MemoryStore, MemoryStore, MemoryStore]:
    """Three empty stores."""
    shared, one, other = (quiet("sqlite://", codec=codec) for _ in range(3))
    return shared, one, other


def drive(
    machine: type[Two], examples: int, steps: int, told: Callable[[str, object], None]
) -> int:
    """Run a machine, tell how much it did, and return the steps that were compared."""
    machine.steps = 0
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=examples < 100,  # the long ones look for more
            phases=[Phase.generate] if examples < 100 else [Phase.generate, Phase.shrink],
        ),
    )
    told(
        "told",
        f"{machine.__name__}: {examples} examples of up to {steps} steps, {machine.steps} steps compared",
    )
    return machine.steps


LONG = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("kind", [Two, Sides])
@pytest.mark.parametrize(("examples", "steps"), [(12, 40), pytest.param(600, 80, marks=LONG)])
def test_in_memory(
    kind: type[Two], examples: int, steps: int, record_property: Callable[[str, object], None]
) -> None:
    """Two users, and two sides of a user, on SQLite in memory."""
    assert 0 < drive(
        type(kind.__name__, (kind,), {"stores": staticmethod(in_memory)}),
        examples,
        steps,
        record_property,
    )


@pytest.mark.parametrize("codec", [Compressed(), Encrypted({"one": bytes(32)})])
@pytest.mark.parametrize(("examples", "steps"), [(3, 40), pytest.param(150, 80, marks=LONG)])
def test_behind_a_codec(
    codec: Codec, examples: int, steps: int, record_property: Callable[[str, object], None]
) -> None:
    """The same with rows that are compressed or encrypted, two users in one database."""
    assert 0 < drive(
        type("TwoCoded", (Two,), {"stores": staticmethod(partial(in_memory, codec))}),
        examples,
        steps,
        record_property,
    )


@pytest.mark.parametrize("kind", [Two, Sides])
@pytest.mark.parametrize(("examples", "steps"), [(3, 25), pytest.param(60, 60, marks=LONG)])
def test_in_postgresql(
    kind: type[Two],
    examples: int,
    steps: int,
    postgres_databases: Callable[[], str],
    record_property: Callable[[str, object], None],
) -> None:
    """The same on PostgreSQL, with users whom its databases do not know yet in each example."""
    urls = [postgres_databases() for _ in range(3)]

    def stores() -> tuple[MemoryStore, MemoryStore, MemoryStore]:
        shared, one, other = map(quiet, urls)
        return shared, one, other

    assert 0 < drive(
        type(f"{kind.__name__}Postgres", (kind,), {"stores": staticmethod(stores)}),
        examples,
        steps,
        record_property,
    )


@pytest.mark.parametrize(("examples", "steps"), [(2, 20), pytest.param(60, 40, marks=LONG)])
def test_in_files(
    examples: int, steps: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The same in folders of files, which users share too."""
    numbers = count()

    def stores() -> tuple[MemoryStore, MemoryStore, MemoryStore]:
        shared, one, other = (FileStore(tmp_path / f"{next(numbers)}") for _ in range(3))
        return shared, one, other

    assert 0 < drive(
        type("TwoFiles", (TwoInFiles,), {"stores": staticmethod(stores)}),
        examples,
        steps,
        record_property,
    )


class TwoInFiles(Two):
    """Two users of a folder; without what only a database can show."""

    @rule(side=sides)
    def look(self, side: int) -> None:
        """Nothing: there is no catalog of a folder."""


class Leaking(SQLAlchemyStore):
    """A store with a hole: a key that the user does not have is looked up for everybody."""

    def get_many(self, scope: Scope, keys: Iterable[str]) -> list[MemoryItem]:
        """The user's memories, or somebody's."""
        wanted = list(keys)
        if mine := super().get_many(scope, wanted):
            return mine
        return [
            item
            for user in self.users()
            for item in super(Leaking, self).get_many(Scope(user), wanted)
        ]


class Counting(SQLAlchemyStore):
    """A store with a small hole: the memories of all users are counted."""

    def count(self, scope: Scope, filters: Filters | None = None) -> int:  # noqa: ARG002 - the hole
        """How many there are of everybody."""
        return sum(super(Counting, self).count(Scope(user), filters) for user in self.users())


@pytest.mark.parametrize("store", [Leaking, Counting])
def test_a_hole_is_found(store: type[SQLAlchemyStore]) -> None:
    """A store that gives one user's memories, or only their number, to another one is found out."""

    def stores() -> tuple[MemoryStore, MemoryStore, MemoryStore]:
        return store("sqlite://", calls_kept=None), quiet("sqlite://"), quiet("sqlite://")

    machine = type("Holed", (Two,), {"stores": staticmethod(stores)})
    with pytest.raises(AssertionError):
        drive(machine, 40, 40, lambda *_: None)
