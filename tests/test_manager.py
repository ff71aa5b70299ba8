"""MemoryManager: the synchronous verbs."""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from for_each import for_each
from memory_context import MemoryManager, ScopedMemory, Selection, exceptions
from memory_context.model.importance import importance_of
from memory_context.model.item import MemoryItem
from memory_context.stores import FileStore, MemoryStore, SQLAlchemyStore
from memory_context.stores.sql import engine_setup
from memory_context.testing.sample_memories import ANN, memory
from memory_context.text.read.read_by_selection import read_part
from memory_context.tools.retrieve_search_store import RETRIEVING
from memory_context.tools.tool_calls_and_answers import MemoryToolError
from messages import LOG

ITEM = memory()


@pytest.fixture
def manager(store_url: str) -> Iterator[MemoryManager]:
    """Ann's memories."""
    with MemoryManager(store_url, user_id="ann", agent_id="coder", thread_id="t1") as manager:
        yield manager


@pytest.mark.parametrize(
    ("content", "expected", "media_type"),
    [
        ("text", "text", "text/plain"),
        (b"\0\xff", b"\0\xff", "application/octet-stream"),
        (bytearray(b"x"), b"x", "application/octet-stream"),
        ({"ü": [1, None]}, '{"ü": [1, null]}', "application/json"),
        ([1, "a"], '[1, "a"]', "application/json"),
        ("", "", "text/plain"),
    ],
)
def test_store_and_retrieve(
    manager: MemoryManager,
    content: Any,
    expected: object,
    media_type: str,
) -> None:
    """Text and bytes come back as they were, dicts and lists as JSON."""
    key = manager.store(content)

    assert expected == manager.retrieve(key)
    assert media_type == manager.get(key).media_type


@for_each("content", [None, 5, {1, 2}, {"a": object()}, object()])
def test_content_of_another_kind(manager: MemoryManager, content: Any) -> None:
    """Anything else is refused, and nothing is stored."""
    with pytest.raises(exceptions.InvalidContentError):
        manager.store(content)
    assert [] == manager.search("")


def test_record(manager: MemoryManager) -> None:
    """The record knows who made it where, and the facts of its content."""
    key = manager.store(
        "one\ntwo",
        "two lines",
        "note",
        metadata={"exit": 0},
        tags=["a"],
        category="c/d",
        importance=1,
    )

    item = manager.get(key)

    assert ("ann", "coder", "t1") == (item.user_id, item.agent_id, item.thread_id)
    assert ("two lines", "note", "detail", {"exit": 0}) == (
        item.summary,
        item.memory_type,
        item.tier,
        item.content_metadata,
    )
    assert (7, 2, manager.counter.count("one\ntwo")) == (
        item.char_count,
        item.line_count,
        item.token_count,
    )
    assert (("a",), "c/d", 1.0) == (item.tags, item.category, item.importance)
    assert key.startswith("note_")


def test_description_is_made(manager: MemoryManager) -> None:
    """Without a description the content is described; a description becomes one line."""
    assert "JSON list of 2 values: 1, 2" == manager.get(manager.store([1, 2])).summary
    assert "two lines" == manager.get(manager.store("x", "two\nlines")).summary


def test_identity(manager: MemoryManager) -> None:
    """Equal folded contents are one record; notes of other tiers, own keys and secrets are records of their own."""
    assert manager.store("log", source="npm") == manager.store("log", source="pip")
    note: Any = {"tier": "project", "tier_id": "p"}
    assert manager.store("log", **note) != manager.store("log", **note)
    assert "mine" == manager.store("log", key="mine")
    assert manager.store("log", type="secret") != manager.store("log", type="secret")
    assert 6 == len(manager.search("", limit=99))


@for_each("key", ["a.b-c_D9", "x" * 255, "0b1f6bf4-0e6d-4d43-9f67-7c1d2c5a3e11", "."])
def test_own_key(manager: MemoryManager, key: str) -> None:
    """Callers bring their own keys, UUIDs too."""
    assert key == manager.store("x", key=key)
    assert "x" == manager.retrieve(key)


@for_each("key", ["", "a b", "x" * 256, "a/b", "ä", "a\n", None, 5])
def test_key_that_cannot_be_one(manager: MemoryManager, key: str) -> None:
    """A key that cannot be one is named, with what a key is."""
    with pytest.raises(exceptions.InvalidKeyError, match="255 characters out of"):
        manager.retrieve(key)
    if key is not None:
        with pytest.raises(exceptions.InvalidKeyError):
            manager.store("x", key=key)


def test_own_key_twice(manager: MemoryManager) -> None:
    """A key is not taken over, unless the caller says so."""
    manager.store("one", key="k")
    with pytest.raises(
        exceptions.KeyExistsError, match="choose another key, forget it, or replace it"
    ):
        manager.store("two", key="k")
    manager.store("two", key="k", replace=True)

    assert "two" == manager.retrieve("k")


def test_nothing_there(manager: MemoryManager) -> None:
    """A key that does not exist is an error that says how to find one."""
    with pytest.raises(exceptions.MemoryNotFoundError, match="search"):
        manager.retrieve("nothing")


def test_deleted(manager: MemoryManager) -> None:
    """A deleted memory says when and why."""
    key = manager.store("x")
    assert manager.forget(key, reason="asked to")
    assert not manager.forget(key)

    with pytest.raises(
        exceptions.MemoryDeletedError,
        match=r"was deleted on \d{4}-\d\d-\d\d \d\d:\d\d UTC \(asked to\)",
    ):
        manager.retrieve(key)
    again = manager.store("x")
    assert again != key
    assert "x" == manager.retrieve(again)
    with pytest.raises(exceptions.MemoryDeletedError):
        manager.retrieve(key)


@for_each(
    "lines, expected",
    [
        ("2-3", "l2\nl3"),
        ("3-", "l3\nl4"),
        ("-1", "l4"),
        ("1", "l1"),
        ("3-99", "l3\nl4"),
        ("-99", "l1\nl2\nl3\nl4"),
    ],
)
def test_lines(manager: MemoryManager, lines: str, expected: str) -> None:
    """Lines come back exactly."""
    assert expected == manager.retrieve(manager.store("l1\nl2\nl3\nl4\n"), lines=lines)


@for_each("lines", ["", "a", "3-2", "0", "5-6", "1,", "1,,2", "1,9"])
def test_bad_lines(manager: MemoryManager, lines: str) -> None:
    """Lines that mean nothing, or lie outside, are named."""
    key = manager.store("l1\nl2\nl3\nl4\n")
    with pytest.raises(exceptions.InvalidLinesError, match="lines="):
        manager.retrieve(key, lines=lines)


def test_query(manager: MemoryManager) -> None:
    """A query brings the lines that speak of it, within the budget."""
    key = manager.store(LOG)

    part = manager.retrieve(key, query="which worker crashed?", max_tokens=120)

    assert isinstance(part, str)
    assert "worker-777 crashed" in part
    assert manager.counter.count(part) <= 120
    assert manager.counter.count(str(manager.retrieve(key, query="worker"))) <= 500


def test_budget(manager: MemoryManager) -> None:
    """A budget that would not hold the reference is named with what would; a text that fits comes whole."""
    key = manager.store(LOG)
    with pytest.raises(exceptions.BudgetTooSmallError, match=r"give \d+ or more"):
        manager.retrieve(key, max_tokens=3)

    assert "ok" == manager.retrieve(manager.store("ok"), max_tokens=3)
    assert manager.counter.count(str(manager.retrieve(key, max_tokens=80))) <= 80


def test_parts_of_binary_content(manager: MemoryManager) -> None:
    """Binary content has no lines."""
    key = manager.store(b"\0\1\2")
    with pytest.raises(exceptions.InvalidArgumentError, match="binary content"):
        manager.retrieve(key, lines="1")


def test_search(manager: MemoryManager) -> None:
    """The best hit comes first, with its passage; a column narrows the search; nonsense is refused."""
    log = manager.store(LOG, "job log", "tool_output")
    note = manager.store("worker-777 belongs to Eve", "owner", "note")

    hits = manager.search("worker-777 crashed")
    assert [log, note] == [hit.memory_key for hit in hits]
    assert hits[0].match
    assert "worker-777 crashed" in hits[0].match.passage
    assert [note] == [hit.memory_key for hit in manager.search("worker-777", types="note")]
    with pytest.raises(exceptions.InvalidFilterError):
        manager.search("x", filters={"colour": "red"})
    for limit in (0, "5", 2.5):
        with pytest.raises(exceptions.InvalidArgumentError, match=r"limit must be .* 1 or more"):
            manager.search("x", limit=limit)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_reads_are_counted(manager: MemoryManager) -> None:
    """Retrieving counts, looking at the record does not."""
    key = manager.store("x")
    for _ in range(3):
        manager.retrieve(key)

    assert 3 == manager.get(key).access_count


@for_each("metadata", [{"a": object()}, {"a": "\0"}, {"a": "\ud800"}, {"a": float("nan")}, [1]])
def test_bad_metadata(manager: MemoryManager, metadata: Any) -> None:
    """Metadata that not every database can keep is refused."""
    with pytest.raises(exceptions.InvalidContentError, match="metadata"):
        manager.store("x", metadata=metadata)


@for_each("importance", [-0.1, 1.1, float("nan"), Decimal("NaN"), Decimal("sNaN"), 10**400])
def test_bad_importance(manager: MemoryManager, importance: Any) -> None:
    """Importance lies between 0 and 1."""
    with pytest.raises(exceptions.InvalidArgumentError, match="importance must be a number from 0"):
        manager.store("x", importance=importance)


def test_importance_of_a_database(manager: MemoryManager) -> None:
    """A number of another type, such as databases give, is kept as a float."""
    exact: Any = Decimal("0.3")
    assert 0.3 == manager.remember("x", importance=exact).importance


@pytest.fixture(params=["sql", "folder"])
def memory_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """A store of either kind."""
    with SQLAlchemyStore("sqlite://") if request.param == "sql" else FileStore(tmp_path) as store:
        yield store


@for_each(
    "name, wrong",
    [
        ("query", [None, 5, b"x", ["x"]]),
        ("filters", [["x"], 5, "tier"]),
        ("types", [5]),
        ("tags", [5, b"x", bytearray(b"x")]),
        ("category", [5, ["x"]]),
        ("limit", ["x"]),
    ],
)
def test_arguments_of_a_wrong_type(
    memory_store: MemoryStore, name: str, wrong: Sequence[Any]
) -> None:
    """A search of the manager's or the store's says which argument is wrong, without quoting it, and what would be right."""
    with MemoryManager(memory_store, user_id="ann") as manager:
        for one in wrong:
            arguments = {"query": "x", name: one}
            with pytest.raises(exceptions.InvalidArgumentError, match=name):
                manager.search(**arguments)
            if name in ("query", "filters", "limit"):
                with pytest.raises(exceptions.InvalidArgumentError, match=f"{name} must be"):
                    memory_store.search(manager.scope, **arguments)


@for_each(
    "name, verb, arguments",
    [
        ("scope", "put", [None, ITEM]),
        ("scope", "get", [None, "k"]),
        ("scope", "get_many", [None, ["k"]]),
        ("scope", "query", [None]),
        ("scope", "search", [None, "text"]),
        ("scope", "delete", [None, "k"]),
        ("scope", "deletion", [None, "k"]),
        ("scope", "touch", [None, ["k"]]),
        ("scope", "list_all", [None]),
        ("scope", "list_deleted", [None]),
        ("scope", "restore", [None, [ITEM]]),
        ("records", "restore", [ANN, None]),
        ("record", "restore", [ANN, [ITEM, None]]),
        ("ends", "expire_at", [ANN, None]),
        ("end", "expire_at", [ANN, [ITEM]]),
        ("end", "expire_at", [ANN, [(ITEM, "2026")]]),
        ("scope", "clear", [None]),
        ("scope", "count", [None]),
        ("scope", "count", [["ann"]]),
        ("scope", "list_all", [["ann"]]),
        ("scope", "clear", [{}]),
        ("scope", "sum", [None, "char_count"]),
        ("scope", "usage", [None]),
        ("item", "put", [ANN, None]),
        ("key", "get", [ANN, None]),
        ("key", "delete", [ANN, None]),
        ("key", "deletion", [ANN, 5]),
        ("keys", "get_many", [ANN, None]),
        ("keys", "get_many", [ANN, "k"]),
        ("keys", "touch", [ANN, None]),
        ("keys", "touch", [ANN, "k"]),
        ("query", "search", [ANN, None]),
        ("limit", "search", [ANN, "text"]),
        ("limit", "search", [ANN, ""]),
    ],
)
def test_wrong_arguments_of_a_store(
    memory_store: MemoryStore, name: str, verb: str, arguments: list[Any]
) -> None:
    """Each verb names the one that is wrong."""
    limit = {"limit": 0} if name == "limit" else {}
    with pytest.raises(exceptions.InvalidArgumentError, match=f"^{name} must be"):
        tuple(getattr(memory_store, verb)(*arguments, **limit))


def test_a_number_that_python_does_not_write_out(manager: MemoryManager) -> None:
    """A message about an argument, to a program or to a model, does not fail on a number of more than 4,300 digits."""
    huge: Any = 10**5000
    for verb in (
        lambda: manager.store("text", importance=huge),
        lambda: manager.store("text", tags=[huge]),
        lambda: manager.search("text", limit=-huge),
        lambda: manager.search(huge),
        lambda: manager.retrieve(huge),
        lambda: manager.retrieve("k", context=-huge),
        lambda: importance_of(huge),
    ):
        with pytest.raises(exceptions.InvalidArgumentError, match="9223372036854775807"):
            verb()
    manager.store("text", key="k")
    with pytest.raises(MemoryToolError, match="offset"):
        RETRIEVING.called(manager, {"key": "k", "offset": huge}, 500)


@for_each("huge", [2**63, 10**30])
def test_a_number_that_no_database_takes(manager: MemoryManager, huge: int) -> None:
    """A limit, an offset or a filter of more than 64 bits is refused by its name; the largest limit means all."""
    store, scope = manager.memory_store, manager.scope
    manager.store("text", key="k")
    for name, verb in (
        ("limit", lambda: store.query(scope, limit=huge)),
        ("offset", lambda: store.query(scope, offset=huge)),
        ("limit", lambda: store.search(scope, "text", limit=huge)),
        ("limit", lambda: manager.search("text", limit=huge)),
        ("limit", lambda: manager.calls(limit=huge)),
        ("token_count", lambda: store.query(scope, {"token_count": {"$lt": huge}})),
        ("token_count", lambda: store.query(scope, {"token_count": [huge]})),
    ):
        with pytest.raises(exceptions.InvalidArgumentError, match=f"{name} .*9223372036854775807"):
            verb()
    for found in (
        store.query(scope, limit=sys.maxsize),
        store.search(scope, "text", limit=sys.maxsize),
        manager.search("text", limit=sys.maxsize),
    ):
        assert ["k"] == [item.memory_key for item in found]


def test_an_argument_that_store_does_not_have(manager: MemoryManager) -> None:
    """The error names the method that was called, and the arguments that there are."""
    with pytest.raises(TypeError, match=r"^store\(\) has no argument 'wrong'; .*category"):
        manager.store("text", wrong=1)


@for_each("seen", ["2026", 5, datetime(2026, 1, 2)])  # noqa: DTZ001 - what is refused
def test_a_moment_that_was_seen(manager: MemoryManager, seen: Any) -> None:
    """A text, a number and a time without zone are refused by what compares it."""
    manager.store("text", key="k")
    for verb in (manager.forget, manager.confirm):
        with pytest.raises(exceptions.InvalidArgumentError, match="seen must be a datetime with"):
            verb("k", seen=seen)


def test_other_arguments_of_a_wrong_type(manager: MemoryManager) -> None:
    """So do the other verbs."""
    store, scope = manager.memory_store, manager.scope
    wrong: Any = [5]
    for name, verb in (
        ("sql", lambda: manager.query(wrong)),
        ("description", lambda: manager.store("text", wrong)),
        ("type", lambda: manager.store("text", type=wrong)),
        ("source", lambda: manager.store("text", source=wrong)),
        ("importance", lambda: manager.store("text", importance=wrong)),
        ("limit", lambda: manager.calls(limit=wrong)),
        ("filters", lambda: store.query(scope, wrong)),
        ("filters", lambda: store.count(scope, wrong)),
        ("filters", lambda: store.usage(scope, wrong)),
        ("order_by", lambda: store.query(scope, order_by=wrong)),
        ("offset", lambda: store.query(scope, offset=wrong)),
    ):
        with pytest.raises(exceptions.InvalidArgumentError, match=f"{name} must be .*not list"):
            verb()


def test_integers_are_users(store_url: str) -> None:
    """The user 42 is the user "42"."""
    with MemoryManager(store_url, user_id=42) as one:
        key = one.store("x")
        assert "x" == MemoryManager(one.memory_store, user_id="42").retrieve(key)


def test_stored_rows_read_well(sqlite_url: str) -> None:
    """Plain SQL shows the record: user, key, summary and JSON columns."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        manager.store("text", "a text", metadata={"exit": 1})
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    [row] = connection.execute(
        "SELECT user_id, memory_type, summary, content, content_metadata FROM agent_memories"
    )
    connection.close()

    assert ("ann", "note", "a text", "text", {"exit": 1}) == (*row[:4], json.loads(row[4]))


@for_each(
    "details",
    [
        {"type": "a\0b"},
        {"tags": ["\ud800"]},
        {"category": ""},
        {"tier": "x" * 256},
        {"tags": [""]},
    ],
)
def test_bad_names(manager: MemoryManager, details: dict[str, Any]) -> None:
    """Types, tiers, categories and tags that not every database can keep are named, and nothing is stored."""
    with pytest.raises(exceptions.InvalidArgumentError, match="printable characters"):
        manager.store("x", **details)
    assert [] == manager.search("")


def test_a_tier_that_needs_an_id(manager: MemoryManager) -> None:
    """A note of a built-in tier that ends is refused without the id of its run, project, …, and nothing is stored."""
    for tier in ("run", "plan", "session", "task", "project"):
        with pytest.raises(exceptions.InvalidTierError, match=f"tier='{tier}' needs tier_id="):
            manager.store("x", tier=tier)
    item = MemoryItem(user_id="ann", memory_key="k", tier="run", content="x")
    with pytest.raises(exceptions.InvalidTierError, match="needs tier_id="):
        manager.replace_all([(item, "a note")])
    assert [] == manager.search("")

    for tier, tier_id in (("global", None), ("team", None), ("run", "r")):
        manager.store("x", tier=tier, tier_id=tier_id)
    assert 3 == len(manager.search(""))


def test_a_record_copied_to_another_key(manager: MemoryManager) -> None:
    """A record that is copied to another key is a memory of its own, if it has an id of its own."""
    copy = replace(manager.get(manager.store("port 5433")), memory_key="copy")
    with pytest.raises(exceptions.KeyExistsError):
        manager.replace_all([(copy, "a note")])
    manager.replace_all([(replace(copy, id=uuid4()), "a note")])

    assert "port 5433" == manager.retrieve("copy")
    assert 2 == len(manager.search("5433"))


def test_a_note_that_lacks_its_id(manager: MemoryManager) -> None:
    """What earlier versions stored without an id is still read, searched and revived."""
    old = MemoryItem(user_id="ann", memory_key="old", tier="project", content="port 5433")
    manager.memory_store.put(manager.scope, replace(old, is_active=False))

    assert "port 5433" == manager.revive("old").text
    assert "port 5433" == manager.retrieve("old")
    assert ["old"] == [hit.memory_key for hit in manager.search("port")]


def test_time_without_a_zone(manager: MemoryManager) -> None:
    """A time without a zone is refused: nobody knows when it is."""
    with pytest.raises(exceptions.InvalidArgumentError, match="time zone"):
        manager.store("x", expires_at=datetime(2030, 1, 1))  # noqa: DTZ001 - that is the point


def test_lines_and_query_keep_the_numbers(manager: MemoryManager) -> None:
    """An excerpt of some lines counts them as the whole text does."""
    key = manager.store("\n".join(f"line {i}" for i in range(1, 5001)))

    part = str(manager.retrieve(key, lines="4000-4900", max_tokens=80))

    assert part.startswith("…4000\nline 4000\n")
    assert "\nline 4900" in part
    with pytest.raises(exceptions.BudgetTooSmallError):
        manager.retrieve(key, max_tokens=0)


def test_replace_changes_more_than_the_content(manager: MemoryManager) -> None:
    """Replacing equal content takes the new description and type; without it another type is another memory."""
    manager.store("x", "old", "note", key="k")
    with pytest.raises(exceptions.KeyExistsError):
        manager.store("x", "new", "secret", key="k")
    manager.store("x", "new", "secret", key="k", replace=True)

    assert ("new", "secret") == (manager.get("k").summary, manager.get("k").memory_type)


def test_reads_go_on_under_a_write_lock(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the write lock, a fresh store reads, also after a write of its own has failed."""
    with MemoryManager(sqlite_url, user_id="ann") as first:
        first.store("text", key="k")
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    pragmas = (*engine_setup._SQLITE_PRAGMAS, "PRAGMA busy_timeout=200")  # noqa: SLF001
    monkeypatch.setattr(engine_setup, "_SQLITE_PRAGMAS", pragmas)
    manager = MemoryManager(sqlite_url, user_id="ann")

    assert "text" == manager.get("k").content
    with pytest.raises(exceptions.StoreUnavailableError, match="locked"):
        manager.store("new")
    assert "text" == manager.get("k").content

    other.execute("ROLLBACK")
    other.close()
    manager.close()


def test_parts(manager: MemoryManager) -> None:
    """Every selector gives plain text, whole where nothing limits it."""
    table = manager.store([{"id": i, "total": i * 2} for i in range(50)])
    log = manager.store(LOG)

    assert "l1\n…4\nl4" == manager.retrieve(manager.store("l1\nl2\nl3\nl4\n"), lines="1,4")
    assert "401: 2026-01-01 13:00:00 ERROR" in str(manager.retrieve(log, contains="error"))
    assert "400- " in str(manager.retrieve(log, pattern="^.*crashed", context=1))
    assert "[96, 98]" == manager.retrieve(table, path="$[-2:].total")
    assert "id\n49" == manager.retrieve(table, where="total > 96", columns="id")
    assert manager.counter.count(str(manager.retrieve(log, contains="worker", max_tokens=90))) <= 90


def test_an_empty_text_has_no_numbers_of_lines(manager: MemoryManager) -> None:
    """What is shown of an empty text is called that, with and without a limit, and no range of lines."""
    key = manager.store("", "nothing", key="empty")
    for max_tokens in (None, 100):
        page = manager.page(key, max_tokens=max_tokens)
        assert ("", "an empty text", None) == (page.text, page.part, page.next_offset)


def test_parts_that_are_not_there(manager: MemoryManager) -> None:
    """Nothing matched is an error that says what is there; two selectors are one too many."""
    key = manager.store({"a": 1})
    with pytest.raises(exceptions.NothingMatchedError, match="the keys a"):
        manager.retrieve(key, path="$.b")
    with pytest.raises(exceptions.InvalidSelectionError, match="not lines= and path="):
        manager.retrieve(key, lines="1", path="$.b")
    with pytest.raises(exceptions.InvalidArgumentError, match="binary content"):
        manager.retrieve(manager.store(b"\0"), contains="x")


def test_pages(manager: MemoryManager) -> None:
    """Pages say what part they are and where the next one begins; put together they are everything."""
    key = manager.store(LOG)
    texts, offset = list[str](), 0
    while offset is not None:
        page = manager.page(key, offset=offset, max_tokens=200)
        assert manager.counter.count(page.text) <= 200
        texts.append(page.text)
        offset = page.next_offset  # type: ignore[assignment] # ends the loop

    assert LOG == "".join(texts)
    assert "lines 1-" in manager.page(key, max_tokens=200).part
    assert 1 == manager.page(key, Selection(contains="crashed")).total


def test_binary_content_comes_out(manager: MemoryManager, tmp_path: Path) -> None:
    """Bytes come back exactly: as bytes, as a file, as a data URL; an image knows that it is one."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    item = manager.get(manager.store(png))
    file = tmp_path / "a.png"
    file.write_text("an old one")

    assert png == item.data == item.save_to(file).read_bytes()
    assert "image/png" == item.media_type
    assert f"data:image/png;base64,{base64.b64encode(png).decode()}" == item.data_url
    assert ["a.png"] == [path.name for path in tmp_path.iterdir() if path.suffix == ".png"]
    assert "é\n" == manager.get(manager.store("é\n")).save_to(file).read_bytes().decode()
    with pytest.raises(FileNotFoundError):
        item.save_to(tmp_path / "no" / "folder")


@pytest.mark.long
def test_a_large_text_is_read_in_bounded_memory(manager: MemoryManager) -> None:
    """Ten megabytes are paged and searched for less than twice their size beside them."""
    line = "2026-01-01 12:00:00 INFO worker handled étude\n"
    text = line * (10_000_000 // len(line)) + "the end ERROR\n"
    asked: list[dict[str, Any]] = [
        {},
        {"lines": "200000-"},
        {"contains": "error"},
        {"pattern": "ERR.R"},
        {"contains": "no"},
    ]
    for selectors in asked:
        tracemalloc.start()
        try:
            read_part(text, Selection(**selectors), 0, 400, manager.counter.count)
        except exceptions.NothingMatchedError:
            assert {"contains": "no"} == selectors
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * sys.getsizeof(text)


@for_each("wrong", ["2026-01-01", date(2030, 1, 1), 5])
def test_a_time_that_is_none(wrong: Any) -> None:
    """A time that is no moment is refused by its name."""
    with (
        MemoryManager("sqlite://", user_id="ann") as memory,
        pytest.raises(exceptions.InvalidArgumentError, match="expires_at is a"),
    ):
        memory.store("x", expires_at=wrong)


def test_what_is_printed_names_the_user_and_the_store() -> None:
    """A manager and notes in scopes say whose memories they reach, where; never a database's password."""
    manager = MemoryManager("sqlite://", user_id="ann")
    assert repr(manager) == "<MemoryManager of 'ann' in <SQLAlchemyStore sqlite://>>"
    notes = ScopedMemory(manager, run_id="r1", project_id="shop")
    assert (
        repr(notes)
        == f"<ScopedMemory {{'run': 'r1', 'plan': 'r1', 'project': 'shop'}} of {manager!r}>"
    )
