"""`MemoryStoreAdapter`, held against LangGraph's own store operation by operation."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from operator import ge, gt, le, lt
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any, cast
from uuid import uuid4

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from examples import examples
from for_each import for_each
from langchain_memory_context import MemoryStoreAdapter
from langchain_memory_context.store import category_of, namespace_of
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import FileStore, MemoryManager, SQLAlchemyStore, SQLAuditTrail
from memory_context.exceptions import (
    EmbedderError,
    InvalidArgumentError,
    InvalidContentError,
    InvalidFilterError,
    InvalidScopeError,
    StoreError,
)
from memory_context.model.category import check_category
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.scope import Scope
from memory_context.stores import Codec, Compressed, Encrypted, MemoryStore
from memory_context.stores.sql.index import embedding_of_chunks_and_questions
from memory_context.text.redact import Redactor

LABELS = st.sampled_from(["users", "ann@example", "notes", "a b", "ü"])
SPACES = st.lists(st.sampled_from(["users", "notes", "v1"]), min_size=1, max_size=3).map(tuple)
VALUES = st.dictionaries(
    st.sampled_from(["color", "size", "in"]),
    st.sampled_from(["red", 1, 2.5, None, [1, 2], {"x": 1}, True]),
    max_size=3,
)
FILTERS = st.one_of(st.none(), VALUES, st.just({"size": {"$ne": 1}}), st.just({"in": {"x": 1}}))
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), SPACES, st.sampled_from("abc"), VALUES),
    st.tuples(st.just("delete"), SPACES, st.sampled_from("abc")),
    st.tuples(st.just("get"), SPACES, st.sampled_from("abc")),
    st.tuples(st.just("search"), st.one_of(st.just(()), SPACES), FILTERS),
)


def adapter(user_id: str = "42", store: SQLAlchemyStore | None = None) -> MemoryStoreAdapter:
    """A store of one user."""
    return MemoryStoreAdapter(MemoryManager(store or SQLAlchemyStore("sqlite://"), user_id=user_id))


def outcome(store: BaseStore, operation: tuple[Any, ...]) -> Any:
    """What an operation gives, without times and order."""
    match operation:
        case ("put", space, key, value):
            store.put(space, key, value)
            return None
        case ("delete", space, key):
            store.delete(space, key)
            return None
        case ("get", space, key):
            item = store.get(space, key)
            return item and (item.namespace, item.key, item.value)
        case (_, prefix, filters):
            found = store.search(prefix, filter=filters, limit=100)
            return sorted((item.namespace, item.key, repr(item.value)) for item in found)


@examples(80)
@given(st.lists(OPERATIONS, max_size=14))
def test_same_as_langgraphs_own_store(operations: list[tuple[Any, ...]]) -> None:
    """Whatever is put, deleted, read and searched, both stores answer alike."""
    ours, theirs = adapter(), InMemoryStore()

    for operation in operations:
        assert outcome(theirs, operation) == outcome(ours, operation), operation


@examples(60)
@given(
    st.lists(SPACES, max_size=6),
    st.one_of(
        st.none(),
        st.lists(st.sampled_from(["users", "*", "v1"]), min_size=1, max_size=2).map(tuple),
    ),
    st.one_of(
        st.none(), st.lists(st.sampled_from(["notes", "*"]), min_size=1, max_size=2).map(tuple)
    ),
    st.one_of(st.none(), st.integers(1, 3)),
)
def test_namespaces_as_in_langgraphs_own_store(
    spaces: list[tuple[str, ...]],
    prefix: tuple[str, ...] | None,
    suffix: tuple[str, ...] | None,
    depth: int | None,
) -> None:
    """Namespaces are listed alike, by prefix and suffix with wildcards, cut to a depth, a page at a time."""
    ours, theirs = adapter(), InMemoryStore()
    for store in (ours, theirs):
        for space in spaces:
            store.put(space, "key", {"x": 1})

    for limit, offset in ((100, 0), (2, 1)):
        asked: dict[str, Any] = {
            "prefix": prefix,
            "suffix": suffix,
            "max_depth": depth,
            "limit": limit,
            "offset": offset,
        }
        assert theirs.list_namespaces(**asked) == ours.list_namespaces(**asked)


def test_operators_and_pages() -> None:
    """Items are compared by operators, where types allow it, and come a page at a time, oldest first."""
    store = adapter()
    for number in range(6):
        store.put(("n",), str(number), {"size": number})
    store.put(("n",), "text", {"size": "large"})

    assert ["2", "3"] == [
        item.key for item in store.search(("n",), filter={"size": {"$gt": 1, "$lte": 3}})
    ]
    assert ["3", "4"] == [
        item.key
        for item in store.search(("n",), filter={"size": {"$gte": 1, "$ne": 2}}, limit=2, offset=1)
    ]
    with pytest.raises(InvalidArgumentError, match="unknown operator"):
        store.search(("n",), filter={"size": {"$in": [1]}})


class Reads(SQLAlchemyStore):
    """A store that notes how many records are read."""

    def __init__(self, url: str = "sqlite://") -> None:
        super().__init__(url)
        self.read = 0

    def query(self, *args: Any, **how: Any) -> list[MemoryItem]:
        """Note it."""
        found = super().query(*args, **how)
        self.read += len(found)
        return found

    def search(self, *args: Any, **how: Any) -> list[MemoryItem]:
        """Note it."""
        found = super().search(*args, **how)
        self.read += len(found)
        return found


SIZES: list[Any] = [
    *(0, 1, 5, 5.0, 4.999999999, 0.1, 0.30000000000000004, -3, 1e300, 10**20, 10**14, True, False, None),
    *("a", "B", "ä", "5", "", "2026-01-01", [1], {"x": 1}),
]  # fmt: skip
OPERANDS: list[Any] = [
    *(0, 1, 5, 0.1, 0.3, -3, 1e300, 10**20, float("nan"), float("inf"), True, None),
    *("a", "B", "5", "ä", "2026", "NUL \0", [1]),
]  # fmt: skip
COMPARED = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def compares(operator: str, size: Any, operand: Any) -> bool:
    """Whether Python says so; what it cannot compare is not found."""
    try:
        return bool(COMPARED[operator](size, operand))
    except TypeError:
        return False


@pytest.mark.long
@for_each("extra", [None, "NUL \0", "no JSON"])
def test_what_operators_find(store_url: str, extra: object) -> None:
    """A database that looks into values leaves out none that Python finds; nor does one that cannot read one of them."""
    sizes = [*SIZES, extra]
    with SQLAlchemyStore(store_url) as sql:
        store = adapter(store=sql)
        puts = [
            PutOp(("n",), f"{n}", {"s.x": size, "in": {"s": size}}) for n, size in enumerate(sizes)
        ]
        store.batch([*puts, PutOp(("n",), "none", {})])
        if extra == "no JSON":
            [item] = sql.query(store.manager.scope, limit=1)
            broken = replace(item, id=uuid4(), memory_key="broken", content="{")
            sql.put(store.manager.scope, broken)
        for operator, operand in product(COMPARED, OPERANDS):
            expected = [f"{n}" for n, size in enumerate(sizes) if compares(operator, size, operand)]
            for name in ("s.x", "in.s"):
                found = store.search(("n",), filter={name: {operator: operand}}, limit=100)
                assert expected == [item.key for item in found], (name, operator, operand)
        both = {"$gte": 0.1, "$lt": 5}
        between = store.search(("n",), filter={"in.s": both, "s.x": both}, limit=100)
        assert [0.1, 0.30000000000000004, 1, 1, 4.999999999] == sorted(
            item.value["s.x"] for item in between
        )


def test_operators_in_sql(store_url: str) -> None:
    """Of items that an operator leaves out none is read."""
    with Reads(store_url) as sql:
        store = adapter(store=sql)
        store.batch([PutOp(("n",), f"{n}", {"a": {"b": n}, "t": f"t{n:03}"}) for n in range(300)])
        for asked in ({"a.b": {"$gt": 296.5}}, {"t": {"$gte": "t297", "$lt": "t999"}}):
            sql.read = 0
            assert ["297", "298", "299"] == [
                item.key for item in store.search(("n",), filter=asked)
            ]
            assert sql.read < 10
        for fields in ({"a b": {"$gt": 1}}, {"a": {"$gt": float("inf")}}):
            with pytest.raises(InvalidFilterError, match="no field that a database looks for"):
                sql.query(store.manager.scope, {"content": {"$fields": fields}})


@given(st.lists(LABELS, min_size=1, max_size=3).map(tuple))
@examples(30)
def test_any_label(space: tuple[str, ...]) -> None:
    """A namespace's labels may be any text without a period; what is put there is found there and below."""
    store = adapter()
    store.put(space, "key", {"x": 1})

    assert space == store.search(space[:1])[0].namespace
    assert [space] == store.list_namespaces()


@for_each("space", [(), ("",), ("a", 1), "users", ("a\0",), ("a.b",)])
def test_no_namespace(space: Any) -> None:
    """What is no namespace is refused as LangGraph does, and nothing of a batch with it is done."""
    store = adapter()
    store.put(("n",), "key", {"x": 1})
    with pytest.raises(InvalidNamespaceError):
        store.put(space, "key", {"x": 1})
    with pytest.raises(InvalidNamespaceError) as refused:
        store.batch([PutOp(("n",), "key", {"x": 2}), PutOp(space, "key", {"x": 1})])
    assert isinstance(refused.value, InvalidArgumentError)
    item = store.get(("n",), "key")
    assert item is not None
    assert {"x": 1} == item.value


async def test_langgraphs_own_namespace() -> None:
    """What begins with the label langgraph is LangGraph's: it puts it in batches, and nobody else puts anything there."""
    store, space = adapter(), ("langgraph", "x")
    with pytest.raises(InvalidNamespaceError):
        store.put(space, "key", {"x": 1})
    with pytest.raises(InvalidNamespaceError):
        await store.aput(space, "key", {"x": 1})
    store.batch([PutOp(space, "key", {"x": 1})])
    assert [space] == [item.namespace for item in await store.asearch(space)]


@for_each("space", [("",), ("a", 1), "users", ("a\0",), ("a.b",)])
def test_no_namespace_to_read(space: Any) -> None:
    """What is no namespace is refused when it is read from, too; the empty one is where all begin."""
    for op in (
        GetOp(space, "key"),
        SearchOp(space),
        ListNamespacesOp((MatchCondition("prefix", space),)),
        ListNamespacesOp((MatchCondition("suffix", space),)),
    ):
        if isinstance(op, ListNamespacesOp) and isinstance(space, str):
            # A text as a condition's path is as many labels as characters, in LangGraph's own stores, too.
            assert InMemoryStore().batch([op]) == adapter().batch([op])
            continue
        with pytest.raises(InvalidNamespaceError):
            adapter().batch([op])
    assert [[]] == adapter().batch([SearchOp(())])


def test_a_list_of_labels() -> None:
    """A list of labels is a namespace, too, as in LangGraph's own stores."""
    store, labels = adapter(), cast("Any", ["n", "m"])
    store.put(labels, "key", {"x": 1})
    assert [("n", "m")] == store.list_namespaces(prefix=labels)
    assert ("n", "m") == store.search(labels)[0].namespace
    assert store.get(("n", "m"), "key") == store.get(labels, "key")


def test_no_value() -> None:
    """A value that JSON cannot express is refused."""
    with pytest.raises(InvalidContentError):
        adapter().put(("a",), "key", {"x": object()})


@for_each("key", ["a\0b", "half \ud800"])
def test_a_key_that_no_database_keeps(key: str) -> None:
    """An item's key with a character that PostgreSQL refuses is refused everywhere, and named."""
    with pytest.raises(InvalidArgumentError, match="an item's key must not contain NUL"):
        adapter().put(("ann",), key, {"text": "tea"})
    assert adapter().get(("ann",), key) is None


def test_settings_for_times() -> None:
    """Items have the default ttl, if they are put without one; reads begin it anew as is set; nothing else can be set."""
    store = MemoryStoreAdapter(adapter().manager, ttl={"default_ttl": 60, "refresh_on_read": False})
    store.put(("n",), "default", {"x": 1})
    store.put(("n",), "for ever", {"x": 1}, ttl=None)
    memory = store.manager.memory_store
    kept = {item.content_metadata["key"]: item for item in memory.query(store.manager.scope)}
    assert kept["for ever"].expires_at is None
    expires_at = kept["default"].expires_at
    assert expires_at is not None
    soon = replace(kept["default"], expires_at=datetime.now(UTC) + timedelta(minutes=5))
    memory.put(store.manager.scope, soon, replaces=kept["default"])
    for refresh, least in ((None, 4), (True, 59)):
        assert store.get(("n",), "default", refresh_ttl=refresh) is not None
        [item] = memory.query(store.manager.scope, {"expires_at": {"$ne": None}})
        assert item.expires_at is not None
        left = (item.expires_at - datetime.now(UTC)) / timedelta(minutes=1)
        assert least < left <= least + 1
    with pytest.raises(InvalidArgumentError, match="sweep_interval_minutes: expired items are"):
        MemoryStoreAdapter(adapter().manager, ttl={"sweep_interval_minutes": 1})


def test_what_has_expired_is_swept() -> None:
    """Items that have expired are deleted, and nothing else; how many is told, and why."""
    store = adapter()
    yesterday = datetime.now(UTC) - timedelta(days=1)
    key = store.manager.store("a note of a program", expires_at=yesterday)
    for number, ttl in enumerate((-1, -1, 5, None)):
        store.put(("n",), f"{number}", {"x": 1}, ttl=ttl)
    assert [2, 0] == [store.sweep_ttl(), store.sweep_ttl()]
    assert ["2", "3"] == [item.key for item in store.search(("n",))]
    assert 3 == store.manager.memory_store.count(store.manager.scope)
    assert "a note of a program" == store.manager.retrieve(key)


@for_each("codec", [None, Compressed(), Encrypted({"k": b"k" * 32})])
def test_filters_in_every_store(codec: Codec | None) -> None:
    """Filters match alike where the database can look into values and where it cannot, or need not."""
    ours, theirs = adapter(store=SQLAlchemyStore("sqlite://", codec=codec)), InMemoryStore()
    values: list[dict[str, Any]] = [
        {"of": 'Ann "the" one'}, {"of": {"of": "Ann"}}, {"of": 20}, {"of": 20.0}, {"of": 200}, {"of": 1},
        {"of": True}, {"of": 1e15}, {"of": "NUL \0"}, {"long": "x" * 2000, "of": "Ann"}, {"of": None}, {},
    ]  # fmt: skip
    for store in (ours, theirs):
        for number, value in enumerate(values):
            store.put(("n",), f"{number}", value)
    for value in values:
        asked = {"of": value.get("of")}
        found = [
            {item.key for item in store.search(("n",), filter=asked)} for store in (ours, theirs)
        ]
        assert found[0] == found[1], asked


def test_a_long_namespace() -> None:
    """A namespace has room for 255 characters, and for a fifth of that in signs; a longer one is refused, and says so."""
    store = adapter()
    for space in (("x" * 127, "y" * 127), ("@" * 51,)):
        store.put(space, "key", {"x": 1})
        assert [space] == [item.namespace for item in store.search(space)]
        longer = (*space[:-1], space[-1] + "@")
        for op in (PutOp(longer, "key", {"x": 1}), SearchOp(longer)):
            with pytest.raises(InvalidNamespaceError, match=r"at most 255 characters, .* has 260"):
                store.batch([op])
    assert 2 == len(store.list_namespaces())


def test_long_namespaces_of_an_earlier_version() -> None:
    """An item whose category has a hash for a part of its namespace is read, found from a shorter one, and deleted."""
    store = adapter()
    for space in (("n", "x" * 220), ("n", "y" * 300)):
        digest = hash_content(json.dumps(list(space)))[:40]
        store.manager.store(
            {"x": 1},
            type="store_item",
            tier="store",
            key=f"store_{hash_content(json.dumps([*space, 'key']))[:48]}",
            category=f"n/-x{digest}-",
            metadata={"namespace": list(space), "key": "key", "index": True},
        )
        assert [space] == [item.namespace for item in store.search(("n",))]
        item = store.get(space, "key")
        assert item is not None
        assert ({"x": 1}, space) == (item.value, item.namespace)
        if len(space[1]) < 255:
            # Once it is put again, it is found from its own namespace, too.
            assert [] == store.search(space)
            store.put(space, "key", {"x": 1})
            assert [space] == [item.namespace for item in store.search(space)]
        store.delete(space, "key")
        assert store.get(space, "key") is None


async def test_search_by_words(store_url: str) -> None:
    """A query finds what speaks of it, best first, with a score; not what was put without an index."""
    store = adapter(store=SQLAlchemyStore(store_url))
    await store.aput(("ann", "notes"), "port", {"text": "the database listens on port 5432"})
    await store.aput(("ann", "notes"), "food", {"text": "lunch is at noon"})
    await store.aput(("bob",), "port", {"text": "my database has another port"})
    await store.aput(("ann",), "hidden", {"text": "database port secret"}, index=False)

    found = await store.asearch(("ann",), query="database port")
    assert ["port"] == [item.key for item in found]
    assert found[0].score is not None
    store.manager.memory_store.close()


class Letters:
    """An embedder: how often each letter stands in a text."""

    model = "letters"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.fails = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors."""
        if self.fails:
            message = "401 for key sk-4711"
            raise RuntimeError(message)
        self.seen += texts
        return [[text.count(letter) + 0.01 for letter in ascii_lowercase] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """A vector."""
        return self.embed_documents([text])[0]


def with_index(
    store: MemoryStore,
    letters: Letters | None = None,
    fields: Sequence[str] = ("key0", "key1"),
    **more: str,
) -> MemoryStoreAdapter:
    """A store with an index, on another one."""
    embed = letters or Letters()
    config = {"dims": 26, "embed": embed.embed_documents, "fields": list(fields), **more}
    return MemoryStoreAdapter(MemoryManager(store, user_id="42"), index=cast("Any", config))


TEXTS = st.text(ascii_lowercase[:9], min_size=1, max_size=4)
# Of different letters: LangGraph's own store fails where two fields hold the same text.
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        f"key{n}": st.text(ascii_lowercase[3 * n : 3 * n + 3], min_size=1, max_size=4)
        for n in range(3)
    },
)
INDEXES = st.sampled_from([None, ["key2"], ["key0", "key2"]])


@examples(40)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), FIELDS, INDEXES), max_size=8),
    TEXTS,
    st.sampled_from([None, {"key0": "a"}]),
)
def test_similar_as_in_langgraphs_own_store(
    puts: list[tuple[str, dict[str, str], Any]], query: str, filters: dict[str, Any] | None
) -> None:
    """By an index both stores score an item alike: by the most similar of the fields that it was put with last."""
    with SQLAlchemyStore("sqlite://") as sql:
        ours = with_index(sql)
        theirs = InMemoryStore(index=cast("Any", ours.index_config))
        for key, value, index in puts:
            ours.put(("n",), key, value, index=index)
            # It would keep the vectors of fields that an item does not have any more.
            theirs.delete(("n",), key)
            theirs.put(("n",), key, value, index=index)

        found = ours.search(("n",), query=query, filter=filters)
        scores = {
            item.key: item.score for item in theirs.search(("n",), query=query, filter=filters)
        }
        assert scores == pytest.approx({item.key: item.score for item in found}, abs=1e-5)
        assert found == sorted(found, key=lambda item: (item.score is None, -(item.score or 0)))


def test_an_index_in_every_database(store_url: str) -> None:
    """Fields are found by their vectors, a page at a time; what is put anew, without an index too, has no others."""
    with SQLAlchemyStore(store_url) as sql:
        store = with_index(sql)
        for number in range(6):
            store.put(("n",), str(number), {"key0": "a" * 9 + "b" * number, "odd": number % 2})
        store.put(("n",), "hidden", {"key0": "aaa"}, index=False)
        store.put(("m",), "else", {"key0": "aaa"})

        for offset in (0, 2, 4):
            page = store.search(("n",), query="a", limit=2, offset=offset)
            assert [str(offset), str(offset + 1)] == [item.key for item in page]
        for limit, last in ((3, ["4", "5", "hidden"]), (2, ["4", "5"])):
            page = store.search(("n",), query="a", limit=limit, offset=4)
            assert last == [item.key for item in page]
        [hidden] = store.search(("n",), query="a", offset=6)
        assert hidden.score is None
        assert store.search(("n",)) == store.search(("n",), query=" ")
        odd = store.search(("n",), query="a", filter={"odd": 1}, limit=2)
        assert ["1", "3"] == [item.key for item in odd]
        asked = {"odd": {"$lt": 1}, "key0": {"$gt": "a" * 9 + "b"}}
        even = store.search(("n",), query="a", filter=asked)
        assert ["2", "4"] == [item.key for item in even]

        store.put(("n",), "0", {"key0": "a" * 9, "odd": 0}, index=False)
        assert "1" == store.search(("n",), query="a")[0].key
        store.delete(("n",), "1")
        assert "2" == store.search(("n",), query="a")[0].key


def test_distances_as_in_langgraphs_own_stores(store_url: str) -> None:
    """A score is a cosine, an inner product, or a distance with a minus, as in `PostgresStore`; each has its own vectors."""
    [query, *vectors] = [np.array(one) for one in Letters().embed_documents(["ab", "aaab", "a"])]
    similarities: dict[str, Callable[[Any], Any]] = {
        "l2": lambda vector: -np.linalg.norm(vector - query),
        "inner_product": lambda vector: vector @ query,
        "cosine": lambda vector: vector @ query / np.linalg.norm(vector) / np.linalg.norm(query),
    }
    with SQLAlchemyStore(store_url) as sql:
        stores = {name: with_index(sql, distance_type=name) for name in similarities}
        for name, store in stores.items():
            store.put((name,), "long", {"key0": "aaab"})
            store.put((name,), "short", {"key0": "a"})
        for name, similarity in similarities.items():
            found = stores[name].search((name,), query="ab")
            scores = dict(zip(("long", "short"), map(similarity, vectors), strict=True))
            assert scores == pytest.approx({item.key: item.score for item in found})
            assert sorted(scores, key=lambda key: -scores[key]) == [item.key for item in found]
        assert [None, None] == [item.score for item in stores["l2"].search(("cosine",), query="ab")]


@pytest.mark.long
def test_an_index_and_a_filter_that_nearly_nothing_meets() -> None:
    """Where the most similar items do not match, all are read once, and those that do are ranked by their vectors."""
    with Reads() as sql:
        store = with_index(sql, fields=["key0"])
        puts = [
            PutOp(("n",), f"{number}", {"key0": "b" if number < 496 else "ab", "number": number})
            for number in range(500)
        ]
        puts.append(PutOp(("n",), "nearest", {"key0": "abb", "number": 600}))
        puts.append(PutOp(("n",), "hidden", {"key0": "a", "number": 601}, index=False))
        store.batch(puts)
        sql.read = 0

        found = store.search(("n",), query="b", filter={"number": {"$gt": 497}})
        assert ["nearest", "499", "498", "hidden"] == [item.key for item in found]
        assert found[2].score is not None
        assert found[3].score is None
        assert sql.read < 2 * len(puts)
        [one] = store.search(("n",), query="b", filter={"number": {"$gt": 497}}, limit=1, offset=2)
        assert "498" == one.key

        sql.read = 0
        assert [] == store.search(("n",), filter={"number": {"$gt": 601}})
        assert sql.read < 2 * len(puts)


def test_an_index_over_compressed_values() -> None:
    """Where the database cannot look into values, filters are met all the same; any object embeds that has the methods."""
    config = cast("Any", {"embed": Letters()})
    with SQLAlchemyStore("sqlite://", codec=Compressed()) as sql:
        store = MemoryStoreAdapter(MemoryManager(sql, user_id="42"), index=config)
        for color in ("red", "blue"):
            store.put(("n",), color, {"key0": "a door", "color": color})

        found = store.search(("n",), query="door", filter={"color": "blue"})
        assert ["blue"] == [item.key for item in found]


def test_a_time_that_begins_anew_keeps_the_vectors() -> None:
    """What is read lives on with its vectors, and the embedder is not asked again."""
    letters = Letters()
    with SQLAlchemyStore("sqlite://") as sql:
        store = with_index(sql, letters)
        store.put(("n",), "key", {"key0": "abc"}, ttl=5)
        scope = Scope("42", tier="store")
        [item] = sql.query(scope)
        soon = datetime.now(UTC) + timedelta(minutes=1)
        sql.put(scope, replace(item, expires_at=soon), replaces=item)
        letters.seen.clear()

        assert store.get(("n",), "key") is not None
        [read] = sql.query(scope)
        assert read.expires_at
        assert read.expires_at > soon
        assert ["key"] == [found.key for found in store.search(("n",), query="abc")]
        assert ["abc"] == letters.seen


def test_an_index_whose_embedder_fails() -> None:
    """What is put is stored, and who put it is told; a search goes on by words, without what has no index."""
    letters = Letters()
    with SQLAlchemyStore("sqlite://") as sql:
        store = with_index(sql, letters)
        letters.fails = True
        with pytest.raises(EmbedderError, match="are stored") as failed:
            store.put(("n",), "key", {"key0": "a red door"})
        assert "sk-4711" not in str(failed.value)
        letters.fails = False
        store.put(("n",), "hidden", {"key0": "another door"}, index=False)
        letters.fails = True

        assert ["key"] == [item.key for item in store.search(("n",), query="door")]


def test_an_index_whose_embedder_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever puts an item is told after a while, and the item is stored."""
    monkeypatch.setattr(embedding_of_chunks_and_questions, "CHOSEN_SECONDS", 0.2)
    goes_on = threading.Event()
    config: Any = {"embed": lambda texts: goes_on.wait() and [[1.0] for _ in texts]}
    with SQLAlchemyStore("sqlite://") as sql:
        store = MemoryStoreAdapter(MemoryManager(sql, user_id="42"), index=config)
        with pytest.raises(EmbedderError, match="are stored"):
            store.put(("n",), "key", {"text": "a red door"})
        assert store.get(("n",), "key") is not None
    goes_on.set()


def test_an_asynchronous_embedder_is_refused() -> None:
    """The error comes where the index is given, not at the first item."""

    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    config: Any = {"embed": embed}
    with pytest.raises(InvalidArgumentError, match="must not be a coroutine function"):
        MemoryStoreAdapter(MemoryManager("sqlite://", user_id="42"), index=config)


def test_an_embedder_that_gives_too_little() -> None:
    """Fewer vectors than texts are an error, and leave the vectors as they were."""
    given = [[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]]
    config: Any = {"embed": lambda _: given.pop(0), "fields": ["a", "b"]}
    with SQLAlchemyStore("sqlite://") as sql:
        store = MemoryStoreAdapter(MemoryManager(sql, user_id="42"), index=config)
        store.put(("n",), "key", {"a": "x"})
        with pytest.raises(StoreError, match="1 vectors for 2 texts"):
            store.put(("n",), "key", {"b": "x", "a": "y"})


def test_an_index_sees_no_secrets() -> None:
    """The embedder gets values as they are stored, and queries too: without secrets."""
    letters = Letters()
    redactor = Redactor({"otp": r"\b\d{6}\b"})
    with SQLAlchemyStore("sqlite://", redactor=redactor) as sql:
        store = with_index(sql, letters, ["$"])
        store.put(("n",), "key", {"text": "the code is 493021 today"})
        assert ["key"] == [item.key for item in store.search(("n",), query="code 493021")]

    assert any("the code is" in text for text in letters.seen)
    assert not [text for text in letters.seen if "493021" in text]


def test_settings_of_an_index(tmp_path: Path) -> None:
    """Settings that LangGraph's own index does not have are refused, and stores that keep no vectors."""
    refused = "index takes dims, embed, fields, distance_type"
    for config, message in (
        ({"dims": 3}, refused),
        ({"embed": Letters(), "ann_index_config": {}}, refused),
        ({"embed": Letters(), "distance_type": "hamming"}, "cosine, l2 or inner_product"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            MemoryStoreAdapter(store=SQLAlchemyStore("sqlite://"), index=cast("Any", config))
    with pytest.raises(InvalidArgumentError, match="needs a SQLAlchemyStore"):
        with_index(FileStore(tmp_path))
    with pytest.raises(InvalidArgumentError, match="no embedder"):
        with_index(SQLAlchemyStore("sqlite://", codec=Encrypted({"k": b"k" * 32})))


def test_users_are_apart() -> None:
    """Two users of one store never meet, in the same namespace either."""
    shared = SQLAlchemyStore("sqlite://")
    ann, bob = adapter("ann", shared), adapter("bob", shared)
    ann.put(("notes",), "key", {"of": "ann"})

    assert (None, [], []) == (bob.get(("notes",), "key"), bob.search(()), bob.list_namespaces())
    bob.delete(("notes",), "key")
    assert [{"of": "ann"}] == [item.value for item in ann.search(("notes",))]


def times_of(store: MemoryStoreAdapter) -> dict[str, datetime]:
    """When the time of each item ends that was put with one, of those too that nobody has swept yet."""
    items = store.manager.memory_store.query(store.manager.scope)
    return {item.content_metadata["key"]: item.expires_at for item in items if item.expires_at}


@for_each("omits", [False, True])
def test_what_has_expired(store_url: str, omits: bool) -> None:
    """An item whose time has come is read as others are until it is swept; by nobody, where expired ones are omitted."""
    with SQLAlchemyStore(store_url) as sql:
        store = with_index(sql)
        store.put(("omit", "expired"), "gone", {"key0": "a"}, ttl=-1)
        store.put(("omit", "control"), "here", {"key0": "a"}, ttl=5)
        store.ttl_config = {"omit_expired": omits, "refresh_on_read": False}

        assert omits == (store.get(("omit", "expired"), "gone") is None)
        assert store.get(("omit", "control"), "here") is not None
        keys = {"here"} if omits else {"gone", "here"}
        for how in ({}, {"query": "a"}, {"filter": {"key0": "a"}}):
            found: list[Any] = store.search(("omit",), **cast("Any", how))
            assert keys == {item.key for item in found}
        spaces = store.list_namespaces(prefix=("omit",))
        assert [("omit", "control"), ("omit", "expired")][: len(keys)] == spaces
        assert {"gone", "here"} == set(times_of(store))
        assert 1 == store.sweep_ttl()
        assert {"here"} == set(times_of(store))


class ReadMeanwhile(SQLAlchemyStore):
    """A store in which something else happens before rows are deleted."""

    meanwhile: Callable[[], object] = partial(int)

    def delete_rows(self, *args: Any) -> list[str]:
        """Do it first."""
        self.meanwhile()
        return super().delete_rows(*args)


def test_an_item_that_is_read_while_it_is_swept() -> None:
    """An item whose time a read begins anew, after a sweep has seen that it had expired, stays."""
    with ReadMeanwhile("sqlite://") as sql:
        store = adapter(store=sql)
        for key in ("read", "forgotten"):
            store.put(("n",), key, {"x": 1}, ttl=60)
        over = datetime.now(UTC) - timedelta(minutes=1)
        items = sql.query(store.manager.scope)
        assert 2 == sql.expire_at(store.manager.scope, [(item, over) for item in items])
        sql.meanwhile = partial(store.get, ("n",), "read")

        assert 1 == store.sweep_ttl()
        assert {"read"} == set(times_of(store))


@for_each("omits", [False, True])
def test_whose_time_a_read_begins_anew(store_url: str, omits: bool) -> None:
    """A read begins anew the time of what it returns, by its key or in a search, however new it is, and of nothing else."""
    with SQLAlchemyStore(store_url) as sql:
        store = adapter(store=sql)
        store.ttl_config = {"omit_expired": omits}
        for space, key, ttl in (
            ("n", "expired", -1), ("n", "read", 60), ("n", "other", 60),
            ("m", "expired, found", -1), ("m", "found", 60), ("m", "for ever", None),
        ):  # fmt: skip
            store.put((space,), key, {"x": 1}, ttl=ttl)
        before = times_of(store)

        assert omits == (store.get(("n",), "expired") is None)
        assert store.get(("n",), "read") is not None
        assert 3 - omits == len(store.search(("m",)))
        after = times_of(store)
        changed = {key for key, end in after.items() if end != before[key]}
        assert {"read", "found"} == changed - {"expired", "expired, found"}
        assert omits == changed.isdisjoint({"expired", "expired, found"})
        assert all(
            after[key] > datetime.now(UTC) + timedelta(minutes=59) for key in ("read", "found")
        )
        # The ttl of what had expired is negative here.
        assert all(after[key] >= before[key] for key in before)


class Ends(SQLAlchemyStore):
    """A store that notes how many memories end at another time, for each time that it is told to."""

    def __init__(self) -> None:
        super().__init__("sqlite://")
        self.told: list[int] = []

    def expire_at(self, scope: Scope, ends: Iterable[tuple[MemoryItem, datetime]]) -> int:
        """Note it."""
        self.told.append(super().expire_at(scope, ends))
        return self.told[-1]


def test_a_batch_begins_times_anew_in_one_go() -> None:
    """All that a batch reads, and each item once, begins its time anew by one call of the store; none, by none."""
    ends = Ends()
    store = adapter(store=ends)
    for number in range(5):
        store.put(("n",), f"{number}", {"x": 1}, ttl=60)
    store.put(("m",), "for ever", {"x": 1})
    store.batch([SearchOp(("n",)), GetOp(("n",), "1"), GetOp(("n",), "2"), SearchOp(("m",))])
    store.batch(
        [SearchOp(("m",)), GetOp(("m",), "for ever"), GetOp(("n",), "1", refresh_ttl=False)]
    )
    assert [5] == ends.told


def test_pages_without_what_has_expired(store_url: str) -> None:
    """Pages are full of what lives, wherever the expired items stand between."""
    with SQLAlchemyStore(store_url) as sql:
        store = adapter(store=sql)
        store.ttl_config = {"omit_expired": True}
        for key, ttl in (("a", 5), ("expired", -1), ("b", 5), ("c", 5)):
            store.put(("n",), key, {"x": 1}, ttl=ttl)
        for filters in (None, {"x": 1}):
            pages = [
                [item.key for item in store.search(("n",), filter=filters, limit=2, offset=offset)]
                for offset in (0, 2)
            ]
            assert [["a", "b"], ["c"]] == pages


def test_vectors_stay_in_the_database(sqlite_url: str) -> None:
    """Who opens the store again finds items by the vectors of before; the embedder gets the question alone."""
    with SQLAlchemyStore(sqlite_url) as sql:
        with_index(sql).put(("n",), "key", {"key0": "abc"})
    letters = Letters()
    with SQLAlchemyStore(sqlite_url) as sql:
        [found] = with_index(sql, letters).search(("n",), query="ab")
    assert found.score is not None
    assert ["ab"] == letters.seen


async def test_a_read_takes_one_connection(postgres_url: str) -> None:
    """A pool of one connection is enough for all tasks at once; a single read takes it once."""
    engine = sa.create_engine(postgres_url, pool_size=1, max_overflow=0)
    store = MemoryStoreAdapter(store=engine, user_id="42")
    await store.aput(("n",), "key", {"x": 1})
    taken: list[object] = []
    sa.event.listen(engine, "checkout", lambda *_: taken.append(1))

    assert [await store.aget(("n",), "key")] == await store.abatch([GetOp(("n",), "key")])
    assert 2 == len(taken)
    await asyncio.gather(*(store.aput(("n",), f"{n}", {"x": n}) for n in range(20)))
    assert 21 == len(await store.asearch(("n",), limit=100))
    engine.dispose()


def test_a_batch_reads_before_it_writes() -> None:
    """As in LangGraph's own store, reads of a batch see what was there before, and the last write of a key counts."""
    for store in (adapter(), InMemoryStore()):
        store.put(("n",), "key", {"x": 1})
        first, *_ = store.batch(
            [GetOp(("n",), "key"), PutOp(("n",), "key", {"x": 2}), PutOp(("n",), "key", {"x": 3})]
        )
        assert {"x": 1} == first.value  # type: ignore[union-attr] # an item
        assert {"x": 3} == store.get(("n",), "key").value  # type: ignore[union-attr] # it is there


def test_a_batch_is_written_whole_or_not_at_all(store_url: str) -> None:
    """A value that cannot be stored leaves nothing of its batch, and the store goes on."""
    store = adapter(store=SQLAlchemyStore(store_url))
    good, bad = PutOp(("n",), "a", {"x": 1}), PutOp(("n",), "b", {"x": object()})
    with pytest.raises(InvalidContentError):
        store.batch([good, bad])
    assert [] == store.search(("n",))
    store.batch([good])
    assert ["a"] == [item.key for item in store.search(("n",))]
    store.manager.memory_store.close()


@pytest.mark.long
def test_large_batches_side_by_side(store_url: str) -> None:
    """Threads that write the same keys in opposite orders wait for one another and end; the values are whole."""
    shared = SQLAlchemyStore(store_url)

    def write(number: int) -> None:
        keys = list(range(20))[:: 1 if number % 2 else -1]
        puts = [PutOp(("n", f"{key % 7}"), f"{key}", {"by": number, "key": key}) for key in keys]
        adapter(store=shared).batch(puts)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, range(4)))
    found = adapter(store=shared).search(("n",), limit=1000)
    assert [*range(20)] == sorted(item.value["key"] for item in found)
    assert 1 == len({item.value["by"] for item in found})
    assert 7 == len(adapter(store=shared).list_namespaces())
    shared.close()


def everything_at_once(store: BaseStore) -> list[Callable[[], Awaitable[Any]]]:
    """Calls that put, read, list, search, put anew and delete the same few items, round after round."""
    calls: list[Callable[[], Awaitable[Any]]] = []
    for number in range(24):
        space, key = ("test", "foo", str(number % 2)), f"key{number % 5}"
        value = {"foo": f"bar{number % 5}"}
        calls += [
            partial(store.aput, space, key, value),
            partial(store.aget, space, key),
            partial(store.alist_namespaces, max_depth=number % 4 + 1),
            partial(store.asearch, ("test",)),
            partial(store.aput, space, key, value),
            partial(store.adelete, space, key),
        ]
    return calls


@pytest.mark.long
async def test_everything_at_once(store_url: str) -> None:
    """What many tasks, and many threads, do to the same items at once is done; each reads an item whole, or none."""
    shared = SQLAlchemyStore(store_url)
    store = adapter(store=shared)
    calls = everything_at_once(store)
    tasks = await asyncio.gather(*(one() for one in calls))
    with ThreadPoolExecutor(10) as threads:
        in_threads = list(threads.map(lambda one: asyncio.run(one()), calls))
    for results in (tasks, in_threads):
        for item in [one for one in results[1::6] if one]:
            assert {"foo": item.key.replace("key", "bar")} == item.value
        for found in results[3::6]:
            assert all(item.value["foo"][3:] == item.key[3:] for item in found)
    for space in store.list_namespaces():
        store.batch([PutOp(space, f"key{number}", None) for number in range(5)])
    assert [] == store.search(())
    shared.close()


async def test_synchronous_calls_beside_a_loop() -> None:
    """On the loop's own thread, as in a notebook's cells, they are done, with asynchronous ones under way."""
    store = adapter()
    under_way = asyncio.ensure_future(store.aput(("n",), "later", {"x": 1}))
    await asyncio.sleep(0)
    store.put(("n",), "now", {"x": 1})
    assert store.get(("n",), "now") is not None
    await under_way
    assert {"now", "later"} == {item.key for item in store.search(("n",))}


class Batches(SQLAlchemyStore):
    """A store that notes how many records are written together."""

    def __init__(self) -> None:
        super().__init__("sqlite://")
        self.written = list[int]()

    def replace_all(self, scope: Scope, items: Sequence[MemoryItem]) -> None:
        """Note it."""
        self.written.append(len(items))
        super().replace_all(scope, items)


async def test_calls_of_one_turn_are_one_batch() -> None:
    """What tasks put at once is one transaction for each user; who is cancelled takes nothing from the others."""
    shared = Batches()
    ann, bob = adapter("ann", shared), adapter("bob", shared)
    puts = [store.aput(("n",), f"{n}", {"x": n}) for n in range(20) for store in (ann, ann, bob)]
    first, *others = map(asyncio.ensure_future, puts)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(*others)
    assert [20, 20] == shared.written
    items = await asyncio.gather(*(ann.aget(("n",), f"{n}") for n in range(20)))
    assert [*range(20)] == [item.value["x"] for item in items if item]


async def test_a_call_that_fails_fails_alone() -> None:
    """What is asked for in the same turn as a value that cannot be stored, or a namespace that is none, is done."""
    store = adapter()
    bad: list[Any] = [
        store.aput(("n",), "b", {"x": object()}),
        store.aget(("a.b",), "a"),
        store.asearch(("n",), filter={"x": {"$near": 1}}),
    ]
    await store.aput(("n",), "first", {"x": 1})
    results = await asyncio.gather(
        store.aput(("n",), "a", {"x": 1}), *bad, store.aget(("n",), "first"), return_exceptions=True
    )
    done, value, space, operator, item = results
    assert None is done
    assert isinstance(value, InvalidContentError)
    assert isinstance(space, InvalidNamespaceError)
    assert isinstance(operator, InvalidArgumentError)
    assert "first" == item.key  # type: ignore[union-attr] # an item
    assert ["first", "a"] == [one.key for one in await store.asearch(("n",))]


async def test_beside_a_call_that_fails_all_is_done_once() -> None:
    """Reads and writes of the same turn as a value that cannot be stored are performed, and audited, once."""
    memories = SQLAlchemyStore("sqlite://")
    trail = SQLAuditTrail(memories)
    store = MemoryStoreAdapter(MemoryManager(memories, user_id="ann", audit=trail))
    await store.aput(("n",), "old", {"x": 1})
    results = await asyncio.gather(
        store.aget(("n",), "old"),
        store.aput(("n",), "new", {"x": 2}),
        store.aput(("n",), "bad", {"x": object()}),
        store.adelete(("n",), "old"),
        return_exceptions=True,
    )
    assert [InvalidContentError] == [type(one) for one in results if isinstance(one, Exception)]
    assert ["stored", "expanded", "stored", "deleted"] == [
        one.action for one in trail.entries("ann")
    ][::-1]


@pytest.mark.parametrize("name", ["x') = 1 OR '1'='1", "first name", "", "größe"])
def test_no_name_of_a_field(name: str) -> None:
    """What LangGraph's own store in SQLite does not filter by is refused as there."""
    with pytest.raises(ValueError, match="Invalid filter key"):
        adapter().search((), filter={name: 1})


@pytest.mark.long
def test_batches_with_some_keys_in_common(store_url: str) -> None:
    """Batches and single writes of one user that share some of their keys never wait for each other in a circle."""
    shared = SQLAlchemyStore(store_url)

    def write(seed: int) -> None:
        drawn, store = Random(seed), adapter(store=shared)
        for _ in range(8):
            keys = drawn.sample(range(20), 12)
            store.batch([PutOp(("n",), f"{key}", {"by": seed}) for key in keys])
            store.put(("n",), f"{keys[0]}", {"by": seed})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert 20 == len(adapter(store=shared).search(("n",), limit=100))
    shared.close()


def test_agent_with_the_store() -> None:
    """A tool of an agent keeps something in the agent's store, and the user's memories have it."""

    @tool
    def keep(fact: str, runtime: ToolRuntime) -> str:
        """Keep a fact."""
        assert runtime.store is not None
        runtime.store.put(("facts", "ann"), "one", {"fact": fact})
        return "kept"

    store = adapter()
    agent = create_agent(
        ScriptedChatModel([[call("keep", fact="Ann likes tea.")], "Done."]), [keep], store=store
    )
    agent.invoke({"messages": [HumanMessage("Remember.")]})

    assert {"fact": "Ann likes tea."} == store.search(("facts",))[0].value
    assert 1 == len(store.manager.search("tea"))


def test_more_than_a_hundred() -> None:
    """No number of values is too many for a search without a query, or for the namespaces."""
    store = adapter()
    for number in range(103):
        store.put(("n", str(number)), "k", {"number": number})

    assert 103 == len(store.search(("n",), limit=1000))
    assert 103 == len(store.list_namespaces(limit=1000))


@given(st.lists(st.text(min_size=1, max_size=7) | LABELS, min_size=1, max_size=3))
@examples(200)
@example(["-x4@"])
@example(["a-x", "-x40-", "a/b"])
@example([f"-x{'a' * 40}-"])
def test_a_namespace_is_read_from_its_category(labels: list[str]) -> None:
    """Whatever a namespace's labels are, its items' category names it, and no other one."""
    category = category_of(labels)
    assert category == check_category(category)
    assert tuple(labels) == namespace_of(category)


@pytest.mark.long
def test_a_page_behind_items_that_do_not_match() -> None:
    """Items that match are found behind thousands that do not, or that have expired, in the order of their time."""
    store = adapter()
    store.ttl_config = {"omit_expired": True}
    for number in range(250):
        store.put(("n",), f"{number}", {"kind": "other" if number < 240 else "wanted"})
        store.put(("n",), f"gone{number}", {"kind": "wanted"}, ttl=-1)
    found = store.search(("n",), filter={"kind": "wanted"}, limit=3, offset=2)
    assert ["242", "243", "244"] == [item.key for item in found]


def test_a_field_below_another_one() -> None:
    """A name with dots is the field of that name, or one further below."""
    store = adapter()
    store.put(("n",), "below", {"address": {"city": "Oslo", "zip": {"code": 7}}})
    store.put(("n",), "named", {"address.city": "Oslo"})
    store.put(("n",), "other", {"address": "Oslo"})
    found = store.search(("n",), filter={"address.city": "Oslo"})
    assert ["below", "named"] == sorted(item.key for item in found)
    [item] = store.search(("n",), filter={"address.zip.code": {"$gte": 7}})
    assert "below" == item.key


@for_each("how", ["get", "search"])
def test_reading_begins_the_time_anew(how: str) -> None:
    """An item that was put with a ttl lives on when it is read, unless the caller does not want it; it is not newer then."""
    store = adapter()
    store.put(("n",), "key", {"x": 1}, ttl=60)
    memory, scope = store.manager.memory_store, store.manager.scope
    [before] = memory.query(scope)

    def read(**refresh: Any) -> Any:
        found: Any = (
            store.get(("n",), "key", **refresh) if how == "get" else store.search(("n",), **refresh)
        )
        return found if how == "get" else found[0]

    kept = read(refresh_ttl=False)
    assert [before] == memory.query(scope)
    read()
    [after] = memory.query(scope)
    assert before.expires_at is not None
    assert after.expires_at is not None
    assert before.expires_at < after.expires_at
    assert replace(before, expires_at=after.expires_at) == after
    assert kept.updated_at == read().updated_at


@dataclass(frozen=True)
class UserOf:
    """Whose run it is."""

    user: str


def test_each_run_has_its_own_users_items() -> None:
    """One store of one compiled graph keeps apart what its users' runs put; without a user it is an error."""
    items = MemoryStoreAdapter(
        store=SQLAlchemyStore("sqlite://"), user_id=lambda runtime: runtime.context.user
    )

    def keep(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.store is not None
        found = [item.value["fact"] for item in runtime.store.search(("facts",))]
        runtime.store.put(("facts",), "one", {"fact": str(state["messages"][-1].content)})
        return {"messages": [("ai", f"{found}")]}

    graph: Any = StateGraph(MessagesState, context_schema=UserOf)
    graph.add_node("keep", keep)
    graph.add_edge(START, "keep")
    app = graph.compile(store=items)

    def said(user: str, text: str) -> str:
        given: Any = {"messages": [("user", text)]}
        return str(app.invoke(given, context=UserOf(user))["messages"][-1].content)

    assert ["[]", "[]"] == [said("ann", "tea"), said("bob", "coffee")]
    assert "['tea']" == said("ann", "more")
    with pytest.raises(InvalidScopeError, match="no user is named"):
        MemoryStoreAdapter(store=SQLAlchemyStore("sqlite://"), user_id=lambda _: None).get(
            ("a",), "b"
        )
    with pytest.raises(InvalidArgumentError, match="a manager has a store"):
        MemoryStoreAdapter(adapter().manager, user_id="ann")


def test_a_url_is_no_manager() -> None:
    """A URL in the manager's place is refused where it stands, not at the first item."""
    url: Any = "sqlite://"
    with pytest.raises(InvalidArgumentError, match="a MemoryManager is needed here, not str"):
        MemoryStoreAdapter(url)
