"""How memories end: by their time, by rules, softly, for good, and with their user."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from for_each import for_each
from memory_context import MemoryManager
from memory_context.cli import run
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.memory.copy_export_import import export_memories
from memory_context.memory.gc_by_retention_rules import RetentionRule, count_expired, delete_expired
from memory_context.model.audit_entries import AuditEntry
from memory_context.model.item import MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.stores import (
    Encrypted,
    FileStore,
    MemoryStore,
    SQLAlchemyStore,
)
from memory_context.stores.sql.schema import audit
from memory_context.testing.sample_memories import ANN, BOB, memory
from test_codecs import KEY

MARKER = "zanzibarquetzal"
DAY = timedelta(days=1)


@pytest.fixture(
    params=[
        pytest.param("memory", marks=pytest.mark.long),
        "file",
        "postgresql",
        "folder",
        pytest.param("encrypted", marks=pytest.mark.long),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store of each kind."""
    made: MemoryStore
    if request.param == "folder":
        made = FileStore(tmp_path / "folder")
    elif request.param == "encrypted":
        made = SQLAlchemyStore("sqlite://", codec=Encrypted(KEY))
    else:
        urls = {"file": "sqlite_url", "postgresql": "postgres_url"}
        made = SQLAlchemyStore(
            "sqlite://"
            if request.param == "memory"
            else request.getfixturevalue(urls[request.param])
        )
    yield made
    made.close()


def aged(days: float, content: str, **values: Any) -> MemoryItem:
    """A memory of so many days ago, under its content as its key."""
    moment = now() - days * DAY
    return memory(
        content, **{"memory_key": content, "created_at": moment, "updated_at": moment, **values}
    )


class Noted:
    """A trail in a list."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep them."""
        self.entries += entries


def keys(store: MemoryStore) -> set[str]:
    """What ann still has."""
    return {item.memory_key for item in store.list_all(ANN)}


@pytest.mark.parametrize(
    "rule, gone",
    [
        ("tool_output=10d", {"output", "evicted"}),
        ("tier:project=10d", {"decision"}),
        ("=10d", {"output", "decision", "evicted"}),
        ("=10d:read", {"decision", "evicted"}),
        ("=25d:changed", {"output"}),
        ("evicted=2w", {"evicted"}),
        ("=0h", {"output", "decision", "evicted", "young"}),
    ],
)
def test_rules(store: MemoryStore, rule: str, gone: set[str]) -> None:
    """A rule deletes what is of its type or tier and over its age, since it was made, changed or read; nothing else."""
    records = [
        aged(30, "output", memory_type="tool_output", accessed_at=now() - DAY, access_count=1),
        aged(20, "decision", memory_type="decision", tier="project", tier_id="p"),
        aged(20, "evicted", is_active=False),
        aged(1, "young", memory_type="tool_output"),
    ]
    store.restore(ANN, records)
    store.restore(
        BOB,
        [replace(aged(0, "bobs"), user_id="bob", created_at=now() + DAY, updated_at=now() + DAY)],
    )
    parsed = [RetentionRule.parse(rule)]

    assert {"ann": len(gone)} == count_expired(store, parsed)
    assert len(gone) == delete_expired(store, parsed)

    assert {"output", "decision", "evicted", "young"} - gone == keys(store)
    deletion = store.deletion(ANN, min(gone))
    assert deletion is not None
    assert "kept for" in deletion.reason
    assert 1 == store.count(BOB)


@pytest.mark.long
def test_expiry_and_rules_together(store: MemoryStore) -> None:
    """What two rules and its own time delete is counted once; the progress ends at the sum; batches go on."""
    store.restore(ANN, [aged(9, f"k{number}", expires_at=now() - DAY) for number in range(120)])
    rules = [RetentionRule(DAY), RetentionRule(2 * DAY, memory_type="tool_output")]

    assert {"ann": 120} == count_expired(store, rules)
    assert 120 == delete_expired(store, rules)
    assert set() == keys(store)


def test_moments_that_are_none(store: MemoryStore) -> None:
    """A moment without a zone is refused; before the calendar begins nothing is over, at its end what has an age."""
    store.restore(ANN, [aged(9, "old")])
    for verb in (count_expired, delete_expired):
        with pytest.raises(InvalidArgumentError, match="at needs a time zone"):
            verb(store, at=datetime(2026, 1, 1))  # noqa: DTZ001 - what the test is about
    assert 0 == delete_expired(store, [RetentionRule(DAY)], at=datetime.min.replace(tzinfo=UTC))
    assert 1 == delete_expired(store, [RetentionRule(DAY)], at=datetime.max.replace(tzinfo=UTC))


def test_one_user_only(store: MemoryStore) -> None:
    """Rules for one user leave the others alone."""
    for scope in (ANN, BOB):
        store.restore(scope, [aged(9, "old", user_id=scope.user_id)])

    assert 1 == delete_expired(store, [RetentionRule(DAY)], user_id="ann")
    assert (0, 1) == (store.count(ANN), store.count(BOB))


def test_a_user_that_is_a_number(store: MemoryStore) -> None:
    """The memories of a user whose id is a number are found by that number, as everywhere; nothing was deleted."""
    store.restore(Scope("5"), [aged(9, "old", user_id="5")])

    assert {"5": 1} == count_expired(store, [RetentionRule(DAY)], user_id=cast("str", 5))
    assert 1 == delete_expired(store, [RetentionRule(DAY)], user_id=cast("str", 5))


def test_what_is_read_meanwhile_stays(store: MemoryStore) -> None:
    """A memory that was over when the work began, and is read before its batch is deleted, stays."""
    for number in range(60):
        store.put(ANN, aged(3, f"m{number:02}"))
    rule, trail = RetentionRule(DAY, since="read"), Noted()

    def read_one(_: int, __: int) -> None:
        store.touch(ANN, ["m55"])

    assert 59 == delete_expired(store, [rule], progress=read_one, audit=trail)
    assert {"m55"} == keys(store)
    assert {f"m{number:02}" for number in range(60)} - {"m55"} == {
        entry.memory_key for entry in trail.entries
    }


@for_each("shared", [True, False])
def test_what_is_stored_again_is_not_old(store: MemoryStore, shared: bool) -> None:
    """What was stored long ago and is stored again today, by content or key, stays, unless the first time counts."""
    old = now() - 40 * DAY
    key = {} if shared else {"memory_key": "mine"}
    store.restore(ANN, [memory("log", shared=shared, created_at=old, updated_at=old, **key)])

    again = store.put(ANN, memory("log", shared=shared, **key))

    assert (old, DAY > now() - again.updated_at) == (again.created_at, True)
    assert [again] == list(store.list_all(ANN))
    assert 0 == delete_expired(store, [RetentionRule.parse("=30d")])
    assert 1 == delete_expired(store, [RetentionRule.parse("=30d:created")])


@for_each("rule", ["tier:=30d", "tier: =30d"])
def test_no_name_of_a_tier(rule: str) -> None:
    """A rule for a tier without a name, which could delete nothing, is refused."""
    with pytest.raises(InvalidArgumentError, match="tier= must be a name or None"):
        RetentionRule.parse(rule)


def test_no_name_of_a_type() -> None:
    """So is one for a type that is no text."""
    with pytest.raises(InvalidArgumentError, match="memory_type= must be a name or None, not 5"):
        RetentionRule(DAY, memory_type=5)  # type: ignore[arg-type]


def test_the_longer_time_counts(store: MemoryStore) -> None:
    """What is stored again ends with the later of both times; without one, it does not end."""
    soon, later = now() + DAY, now() + 9 * DAY
    for ends, expected in ((soon, soon), (later, later), (soon, later), (None, None), (soon, None)):
        assert expected == store.put(ANN, memory("log", shared=True, expires_at=ends)).expires_at
        assert [expected] == [item.expires_at for item in store.list_all(ANN)]


@for_each(
    "wrong",
    ["", "30d", "=d", "=30", "=30y", "a=1d:when", "=9999999d", "x=1d:read:read"],
)
def test_no_rule(wrong: str) -> None:
    """A text that is no rule is refused with one that is."""
    with pytest.raises(InvalidArgumentError, match="write TYPE=30d"):
        RetentionRule.parse(wrong)


@pytest.mark.parametrize("text", ["=999999w", "=999999d:read"])
def test_no_such_age(text: str) -> None:
    """A rule for ages of which no date is known is refused, and not at the first `gc`."""
    with pytest.raises(InvalidArgumentError, match="there is no date"):
        RetentionRule.parse(text)


def test_foreign_stores_have_no_catalog() -> None:
    """A store that is not one of this library's cannot be looked through, and says so."""
    with pytest.raises(StoreError, match="keeps no catalog"):
        delete_expired(cast("MemoryStore", object()))


def test_soft(store: MemoryStore) -> None:
    """Softly forgotten, a memory is not found and not listed, its key redeems, and it can be revived."""
    manager = MemoryManager(store, user_id="ann")
    key = manager.store("the yak is here", key="k")
    manager.store("another text", key="other")

    assert manager.forget(key, soft=True)
    assert not manager.forget(key, soft=True)
    assert not manager.forget("nothing", soft=True)

    assert [] == manager.search("yak")
    assert 1 == store.count(ANN)
    assert "the yak is here" == manager.retrieve(key)
    assert not MemoryManager(store, user_id="bob").forget("other", soft=True)
    revived = manager.revive(key)
    assert revived == manager.revive(key)
    assert [key] == [item.memory_key for item in manager.search("yak")]
    with pytest.raises(MemoryNotFoundError):
        manager.revive("nothing")


def test_soft_then_for_good(store: MemoryStore) -> None:
    """What was softly forgotten goes for good by a rule, counted from then; references say why."""
    manager = MemoryManager(store, user_id="ann")
    store.restore(ANN, [aged(90, "old")])
    manager.forget("old", soft=True)
    rule = RetentionRule.parse("evicted=30d")

    assert 0 == delete_expired(store, [rule], at=now() + 29 * DAY)
    assert 1 == delete_expired(store, [rule], at=now() + 31 * DAY)
    with pytest.raises(MemoryDeletedError, match="kept for 30 days"):
        manager.retrieve("old")


def fill(store: MemoryStore, user: str) -> None:
    """Give a user some of everything."""
    manager = MemoryManager(store, user_id=user)
    for number in range(5):
        manager.store(
            f"{user}{MARKER} text {number} " * 40, f"about {user}{MARKER}", key=f"{user}-{number}"
        )
    manager.store(f"{user}{MARKER} note", tier="project", tier_id=f"{user}{MARKER}", category="a/b")
    manager.retrieve(f"{user}-0")
    manager.forget(f"{user}-1")
    manager.forget(f"{user}-2", soft=True)
    manager.search(MARKER)


def test_forget_user(store: MemoryStore) -> None:
    """Everything of a user goes and is counted; nothing of another one; a second time there is nothing."""
    fill(store, "ann")
    fill(store, "bob")
    before = list(store.list_all(BOB)), list(store.list_deleted(BOB))

    receipt = store.forget_user("ann")  # type: ignore[attr-defined] # every store here has it

    assert ("ann", 5, 1, 1) == (receipt.user_id, receipt.memories, receipt.reads, receipt.deletions)
    assert receipt.passages > 0
    assert (5 if isinstance(store, FileStore) else 0) == receipt.files
    assert receipt.scrubbed is not isinstance(store, FileStore)
    assert abs(receipt.at - datetime.now(UTC)) < DAY
    assert ([], []) == (list(store.list_all(ANN)), list(store.list_deleted(ANN)))
    assert store.deletion(ANN, "ann-0") is None
    assert [] == store.search(ANN, MARKER)
    assert before == (list(store.list_all(BOB)), list(store.list_deleted(BOB)))
    assert 4 == len(store.search(BOB, "about text note"))
    assert ["bob"] == store.users()  # type: ignore[attr-defined] # every store here has it
    again = store.forget_user("ann")  # type: ignore[attr-defined] # every store here has it
    assert (0, 0, 0, 0) == (again.memories, again.passages, again.deletions, again.files)
    with pytest.raises(MemoryNotFoundError) as caught:
        MemoryManager(store, user_id="ann").retrieve("ann-0")
    assert not isinstance(caught.value, MemoryDeletedError)


def test_no_byte_is_left(tmp_path: Path) -> None:
    """The database's files hold no word of a forgotten user, in pages, index or log; of the other one they do."""
    with SQLAlchemyStore(f"sqlite:///{tmp_path / 'memory.db'}") as store:
        fill(store, "ann")
        fill(store, "bob")
        big = MemoryManager(store, user_id="ann")
        big.store(f"ann{MARKER} large\n" * 60_000)
        everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert f"ann{MARKER}".encode() in everything

        assert store.forget_user("ann").passages > 250

        everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"ann" + MARKER.encode() not in everything
        assert b"ann-" not in everything
        assert f"bob{MARKER}".encode() in everything
        assert 4 == len(store.search(BOB, "about text note"))


@pytest.mark.parametrize("how", ["forget", "replace"])
def test_no_byte_of_what_went_before_is_left(tmp_path: Path, how: str) -> None:
    """Nor of what was forgotten or replaced before, on a build of SQLite that overwrites nothing by itself."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'memory.db'}")

    @sa.event.listens_for(engine, "connect")
    def _as_built(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA secure_delete=OFF")

    with SQLAlchemyStore(engine) as store:
        fill(store, "bob")
        ann = MemoryManager(store, user_id="ann")
        ann.store("kookaburra text\n" * 3000, key="k")
        if how == "forget":
            ann.forget("k")
        else:
            ann.store("short", key="k", replace=True)
        store.forget_user("ann")
        assert b"kookaburra" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    engine.dispose()


def test_no_word_of_the_index_is_left(tmp_path: Path) -> None:
    """The index keeps no word of a forgotten user, though it only marks as deleted what others are indexed beside."""
    with SQLAlchemyStore(f"sqlite:///{tmp_path / 'memory.db'}") as store:
        MemoryManager(store, user_id="bob").store("of bob's")
        for number in range(50):
            MemoryManager(store, user_id="ann").store(f"text {MARKER}{number} zz")
        word = MARKER[1:].encode()  # words that begin alike share what they begin with
        for there in (True, False):
            store.scrub()
            assert there == (word in b"".join(path.read_bytes() for path in tmp_path.iterdir()))
            store.forget_user("ann")
        assert 1 == len(store.search(BOB, "bob"))


def test_no_file_is_left(tmp_path: Path) -> None:
    """No file of a folder holds a word of a forgotten user, the notes of reads and deletions neither."""
    with FileStore(tmp_path) as store:
        fill(store, "ann")
        fill(store, "bob")
        store.forget_user("ann")
    with FileStore(tmp_path) as store:
        everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert b"ann" not in everything
        assert b"bob" in everything
        assert store.deletion(BOB, "bob-1") is not None
        assert [1] == [item.access_count for item in store.list_all(BOB) if item.access_count]


def test_vectors_and_audit_go_too(sqlite_url: str) -> None:
    """Vectors and the audit trail of a user are removed and counted."""
    store = SQLAlchemyStore(
        sqlite_url, embedder=lambda texts: [[1.0, 2.0] for _ in texts], embedding_model="m"
    )
    with store:
        for scope in (ANN, BOB):
            MemoryManager(store, user_id=scope.user_id).store("text")
        store.reindex()
        entries = [
            {"at": now(), "user_id": user, "memory_key": "k", "action": "stored"}
            for user in ("ann", "bob")
        ]
        store.database.write(lambda connection: connection.execute(sa.insert(audit), entries))

        receipt = store.forget_user("ann")

        assert (1, 1, 1) == (receipt.memories, receipt.vectors, receipt.audit_entries)
        left = store.database.read(
            lambda connection: connection.execute(sa.select(audit.c.user_id)).scalars().all()
        )
        assert ["bob"] == left
        assert 1 == store.forget_user("bob").vectors


@pytest.mark.usefixtures("impatient")
def test_somebody_reads(sqlite_url: str) -> None:
    """While a reader holds the log the receipt says that the space is not overwritten yet; later `scrub` does it."""
    with SQLAlchemyStore(sqlite_url) as store:
        fill(store, "ann")
        reader = sa.create_engine(sqlite_url)
        with reader.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SELECT count(*) FROM agent_memories").one()
            assert not store.forget_user("ann").scrubbed
        reader.dispose()
        assert store.scrub()


def test_export_of_a_user(store: MemoryStore, tmp_path: Path) -> None:
    """What is exported of a user is all that there is of them, and nothing of anybody else."""
    fill(store, "ann")
    fill(store, "bob")

    exported = export_memories(store, tmp_path / "ann.jsonl", user_id="ann")

    text = (tmp_path / "ann.jsonl").read_text("utf-8")
    assert (5, 1) == (exported.memories, exported.deletions)
    assert f"ann{MARKER}" in text
    assert "bob" not in text


def test_command_line(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The verbs on the command line: rules for gc, soft forgetting, a receipt for a user; questions need --yes."""
    with SQLAlchemyStore(sqlite_url) as store:
        fill(store, "ann")
        store.restore(ANN, [aged(9, "old", memory_type="tool_output")])
    at = ["--store", sqlite_url]

    assert 2 == run(["gc", *at, "--keep", "nonsense", "--yes"])
    assert "write TYPE=30d" in capsys.readouterr().err
    assert 0 == run(["gc", *at, "--keep", "tool_output=7d", "--yes", "--json"])
    assert {"expired": 1, "deleted": 1, "users": {"ann": 1}} == json.loads(capsys.readouterr().out)
    assert 0 == run(["forget", "ann-3", "--soft", *at, "--yes"])
    assert "evicted: ann-3" in capsys.readouterr().out
    assert 0 == run(["show", "ann-3", *at])
    capsys.readouterr()
    assert 2 == run(["forget-user", "ann", *at])
    assert "--yes" in capsys.readouterr().err
    assert 0 == run(["forget-user", "ann", *at, "--yes", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert ("ann", 5, 2, True) == (
        said["user_id"],
        said["memories"],
        said["deletions"],
        said["scrubbed"],
    )
    assert 1 == run(["forget-user", "ann", *at, "--yes"])
    assert "memories: 0" in capsys.readouterr().out


def test_catalog_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """list, stats, threads and gc work on a folder of files too."""
    with FileStore(tmp_path) as store:
        fill(store, "ann")
        MemoryManager(store, user_id="ann", thread_id="t1").store("in a conversation", key="talk")
    at = ["--store", tmp_path.as_uri()]

    for verb, said in (("list", "ann-0"), ("stats", "ann"), ("threads", "t1")):
        assert 0 == run([verb, *at])
        assert said in capsys.readouterr().out
    assert 0 == run(["gc", *at, "--keep", "=0h", "--yes"])
    assert 0 == len(list(tmp_path.glob("*.json")))
    with FileStore(tmp_path) as store:
        assert set() == {item.memory_key for item in store.list_all(Scope("ann"))}


def test_a_rule_that_means_nothing_is_refused() -> None:
    """A rule deletes, so an unknown beginning and a time that is none are errors before it does."""
    with pytest.raises(InvalidArgumentError, match="one of created, changed, read"):
        RetentionRule(timedelta(days=1), since="made")  # type: ignore[arg-type] # what a caller may try
    for after in (30, timedelta(days=-1)):
        with pytest.raises(InvalidArgumentError, match="timedelta of 0 or more"):
            RetentionRule(after)  # type: ignore[arg-type] # what a caller may try
