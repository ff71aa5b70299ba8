"""Encrypted memories: unreadable in the database, whole with the key, an error with another one."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.tools import FunctionTool
from hypothesis import given
from langchain.agents import create_agent
from langchain_core.tools import tool

from examples import examples
from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as calling
from memory_context import MemoryContext, MemoryManager, MemoryRef, ScopedMemory
from memory_context.exceptions import (
    EncryptionError,
    InvalidArgumentError,
    InvalidFilterError,
    InvalidRecordError,
    KeyExistsError,
    RecordChangedError,
    StoreError,
)
from memory_context.memory.transfer import copy_memories, export_memories, import_memories
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.scope import Scope
from memory_context.stores import (
    CompressedStore,
    EncryptedStore,
    FileStore,
    MemoryStore,
    RedactingStore,
    SQLAlchemyStore,
    StoreWrapper,
)
from memory_context.stores.sql.restore import differences
from memory_context.testing import ScriptedChatClient
from memory_context.testing.sample_memories import ANN, BOB, memory
from messages import LOG, call, results
from records import memories
from test_context import fill, shown
from test_isolation import texts
from test_wrappers import KEY

OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
MARKER = "zanzibarquetzal"


@pytest.fixture
def store(store_url: str) -> Iterator[EncryptedStore]:
    """An encrypted store on every database."""
    with EncryptedStore(store_url, keys=KEY) as store:
        yield store


def rows(store: StoreWrapper) -> str:
    """Every value of every table of the database inside."""
    inner = store.inner
    assert isinstance(inner, SQLAlchemyStore)

    def read(connection: sa.Connection) -> str:
        names = {*sa.inspect(connection).get_table_names()} - {
            "agent_memory_index"
        }  # its words: agent_memory_terms
        tables = [
            connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in sorted(names)
        ]
        return "\n".join(
            str(bytes(one) if isinstance(one, memoryview) else one)
            for t in tables
            for r in t
            for one in r
        )

    return inner.database.run(read)


def test_nothing_is_readable(store: EncryptedStore) -> None:
    """Content, summary, metadata, media type and hash stand in no table, not even as words of the index."""
    manager = MemoryManager(store, user_id="ann")
    text = f"the {MARKER} is in the log\n" * 300
    key = manager.store(text, f"about {MARKER}", source="tool", metadata={MARKER: [MARKER, 1]})
    manager.store(MARKER.encode() * 9, key="binary")
    manager.search(MARKER)

    everything = rows(store)

    assert MARKER not in everything.lower()
    assert hash_content(text) not in everything
    assert "text/plain" not in everything
    assert text == manager.retrieve(key)
    assert {MARKER: [MARKER, 1]} == manager.get(key).content_metadata
    assert f"about {MARKER}" == manager.get(key).summary


def test_the_file_holds_no_word(tmp_path: Path) -> None:
    """The bytes of the database file and of its log hold nothing of what was encrypted; unencrypted, they do."""
    for wrapped, found in ((True, False), (False, True)):
        folder = tmp_path / str(wrapped)
        folder.mkdir()
        inner: MemoryStore = SQLAlchemyStore(f"sqlite:///{folder / 'memory.db'}")
        store = EncryptedStore(inner, keys=KEY) if wrapped else inner
        MemoryManager(store, user_id="ann").store(f"{MARKER} " * 50, MARKER, metadata={"m": MARKER})
        assert found == any(MARKER.encode() in path.read_bytes() for path in folder.iterdir())
        store.close()


def test_files_too(tmp_path: Path) -> None:
    """A FileStore's files hold nothing of it, and are taken as they are when it is opened again."""
    for _ in range(2):
        with EncryptedStore(FileStore(tmp_path), keys=KEY) as store:
            manager = MemoryManager(store, user_id="ann")
            manager.store(f"{MARKER} text", MARKER)
            assert [f"{MARKER} text"] == [item.content for item in store.list_all(ANN)]
            assert [MARKER] == [item.summary for item in manager.search(MARKER)]
    for path in tmp_path.rglob("*.*"):
        assert not path.is_file() or MARKER not in path.read_text("utf-8")


def test_equal_contents_of_two_users_look_different(store: EncryptedStore) -> None:
    """The keyed hash is one for equal texts of one user, another one for another user's, for bytes, by another key."""
    inner = store.inner
    for scope in (ANN, BOB):
        store.put(scope, memory("same", shared=True, user_id=scope.user_id))
    store.put(ANN, memory("same", shared=True))
    store.put(ANN, memory(b"same", shared=True))

    hashes = [item.content_hash for scope in (ANN, BOB) for item in inner.list_all(scope)]
    assert 3 == len(set(hashes)) == len(hashes)
    with EncryptedStore("sqlite://", keys=NEW) as other:
        other.put(ANN, memory("same", shared=True))
        assert next(other.inner.list_all(ANN)).content_hash not in hashes


@examples(60)
@given(memories())
def test_round_trip(item: MemoryItem) -> None:
    """Any record comes out as it went in, also through compression."""
    with CompressedStore(EncryptedStore("sqlite://", keys=KEY)) as store:
        scope = Scope(item.user_id)
        store.restore(scope, [item])
        assert [replace(item, match=None)] == list(store.list_all(scope))


def test_wrong_key(sqlite_url: str) -> None:
    """Another key under the same id, or none of that id, is an error that names key and memory, never garbage."""
    with EncryptedStore(sqlite_url, keys={"k": b"a" * 32}) as store:
        store.put(ANN, memory("text", memory_key="mine"))

    with EncryptedStore(sqlite_url, keys={"k": b"b" * 32}) as store:
        for read in (
            lambda: store.get(ANN, "mine"),
            lambda: list(store.list_all(ANN)),
            lambda: store.search(ANN, "t"),
        ):
            with pytest.raises(
                EncryptionError, match="'mine' cannot be decrypted: the key 'k' is another one"
            ):
                read()
    with (
        EncryptedStore(sqlite_url, keys={"other": b"a" * 32}) as store,
        pytest.raises(EncryptionError, match="the key 'k', which is not at hand; known: other"),
    ):
        store.get(ANN, "mine")


@pytest.mark.parametrize(
    "wrap", [EncryptedStore, lambda *given, **keys: CompressedStore(EncryptedStore(*given, **keys))]
)
async def test_another_key_under_the_same_id(
    sqlite_url: str, wrap: Callable[..., MemoryStore]
) -> None:
    """Where a key opens nothing that was sealed under its id, nothing is written with it: it would be lost one day."""
    right, wrong = (wrap(sqlite_url, keys={"k": letter * 32}) for letter in (b"a", b"b"))
    ann = MemoryManager(right, user_id="ann")
    ann.store(LOG, key="mine")
    moved = replace(ann.get("mine"), id=memory().id, memory_key="moved")
    said = "the key 'k' is another one than that which encrypted the memories of 'ann'"

    for write in (
        lambda: wrong.put(ANN, memory("text")),
        lambda: wrong.put(ANN, memory("text", memory_key="mine"), replace=True),
        lambda: wrong.restore(ANN, [moved]),
        lambda: [
            one.reencrypt()
            for one in (wrong, getattr(wrong, "inner", None))
            if isinstance(one, EncryptedStore)
        ],
    ):
        with pytest.raises(EncryptionError, match=said):
            write()
    context = MemoryContext("ann", store=wrong)
    messages = await fill(context, call("run"), results(LOG))
    assert LOG == shown(messages[1])
    assert 1 == context.stats().store_failures
    assert ["mine"] == [item.memory_key for item in right.list_all(ANN)]
    right.put(ANN, memory("text"))
    wrong.close()
    right.close()


def test_a_key_is_tried_once(sqlite_url: str) -> None:
    """A key is tried on one record before its first write for a user; a damaged one does not condemn it."""
    tried = list[int | None]()

    class Watched(SQLAlchemyStore):
        def query(self, *where: Any, limit: int | None = 100, **how: Any) -> list[MemoryItem]:
            tried.append(limit)
            return super().query(*where, limit=limit, **how)

    with Watched(sqlite_url) as inner, EncryptedStore(inner, keys=OLD) as first:
        for number in range(3):
            first.put(ANN, memory(f"text {number}", memory_key=f"k{number}"))
        first.put(BOB, memory("text", user_id="bob"))
        assert [1, 1] == tried
        newest = inner.get(ANN, "k2")
        assert newest is not None
        inner.put(ANN, replace(newest, content=newest.data[:-1]), replaces=newest)
        with (
            EncryptedStore(inner, keys=OLD) as again,
            EncryptedStore(inner, keys=NEW | OLD) as rotated,
        ):
            again.put(ANN, memory("text 3", memory_key="k3"))
            rotated.put(ANN, memory("text 4", memory_key="k4"))
            with (
                EncryptedStore(inner, keys={"old": b"w" * 32}) as wrong,
                pytest.raises(EncryptionError, match="give the right key"),
            ):
                wrong.put(ANN, memory("text 5"))
        assert [1, 1, 1, 5, 1, 5, 1, 5] == tried


def test_changed_or_moved_records_are_refused(store: EncryptedStore) -> None:
    """A changed byte anywhere, a cut, a ciphertext of another record or of another user is an error."""
    inner = store.inner
    kept = store.put(ANN, memory("text", memory_key="mine"))
    other = store.put(ANN, memory("other", memory_key="other"))
    sealed = {item.memory_key: item for item in inner.list_all(ANN)}
    data = sealed["mine"].data
    changed = [
        data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for place in range(0, len(data), 5)
    ]
    for wrong in [
        *changed,
        *(data[:size] for size in range(0, len(data), 11)),
        sealed["other"].data,
    ]:
        now_there = inner.get(ANN, "mine")
        assert now_there is not None
        inner.put(ANN, replace(sealed["mine"], content=wrong), replaces=now_there)
        with pytest.raises(EncryptionError):
            store.get(ANN, "mine")
    inner.put(BOB, replace(sealed["mine"], id=memory().id, user_id="bob", identity=None))
    with pytest.raises(EncryptionError):
        store.get(BOB, "mine")
    assert other == store.get(ANN, "other")
    assert kept.content == "text"


def test_rotation(store_url: str) -> None:
    """A new key encrypts, the old one decrypts; equal contents stay one record; afterwards the old key may go."""
    inner = SQLAlchemyStore(store_url)
    with EncryptedStore(inner, keys=OLD) as store:
        manager = MemoryManager(store, user_id="ann")
        keys = [manager.store(f"text {number}") for number in range(5)]
        manager.store("note", tier="project", tier_id="p")
        manager.forget(keys.pop())
        before = list(store.list_all(ANN))

        both = EncryptedStore(inner, keys=NEW | OLD)
        again = MemoryManager(both, user_id="ann")
        assert keys[0] == again.store("text 0")
        fresh = again.store("text under the new key")
        assert fresh == again.store("text under the new key")
        seen = list[int]()
        assert len(before) == both.reencrypt(progress=seen.append)
        assert 0 == both.reencrypt("ann")
        assert len(before) == seen[-1]

        only = EncryptedStore(inner, keys=NEW)
        after = {item.memory_key: item for item in only.list_all(ANN)}
        for item in before:
            assert set(differences(item, after[item.memory_key])) <= {"updated_at"}
        assert keys[1] == MemoryManager(only, user_id="ann").store("text 1")
        with pytest.raises(EncryptionError):
            store.get(ANN, keys[0])


def test_rotation_overwrites_nothing(sqlite_url: str) -> None:
    """What somebody changes between its reading and its encryption anew is not put back: the rotation stops."""

    class Meddled(SQLAlchemyStore):
        def list_all(self, scope: Scope) -> Iterator[MemoryItem]:
            for item in super().list_all(scope):
                with EncryptedStore(sqlite_url, keys=OLD) as other:
                    other.put(ANN, memory("newer", memory_key="mine"), replace=True)
                yield item

    with EncryptedStore(sqlite_url, keys=OLD) as store:
        store.put(ANN, memory("older", memory_key="mine"))
    with Meddled(sqlite_url) as inside, EncryptedStore(inside, keys=NEW | OLD) as rotating:
        with pytest.raises(RecordChangedError, match="'mine' was changed"):
            rotating.reencrypt()
        assert ["newer"] == [
            item.content for item in EncryptedStore(sqlite_url, keys=OLD).list_all(ANN)
        ]


@pytest.mark.parametrize("before", [None, OLD])
def test_rotation_with_two_of_a_text(sqlite_url: str, before: Any) -> None:
    """A text that was stored both before and after its key came has two records afterwards; nothing stays behind."""
    with MemoryManager(
        EncryptedStore(sqlite_url, keys=before) if before else sqlite_url, user_id="ann"
    ) as plain:
        first = plain.store(LOG, source="tool")
        plain.store("another text", key="other")
    newer = NEW if before is None else NEW | {"third": bytes(32)}
    store = EncryptedStore(sqlite_url, keys=newer)
    with MemoryManager(store, user_id="ann") as manager:
        second = manager.store(LOG, source="tool")
    everything = EncryptedStore(sqlite_url, keys=newer | OLD)

    assert 2 == everything.reencrypt()
    assert 0 == everything.reencrypt()

    with MemoryManager(store, user_id="ann") as manager:
        assert [LOG, LOG, "another text"] == [
            manager.retrieve(key) for key in (first, second, "other")
        ]
        assert second == manager.store(LOG, source="tool")
    assert "another text" not in rows(store)


@pytest.mark.parametrize("wrap", [CompressedStore, EncryptedStore, RedactingStore])
def test_own_keys_of_before(sqlite_url: str, wrap: type[StoreWrapper]) -> None:
    """A key of the caller's from before there was a wrapper takes the same text again, and no other."""
    text = f"{LOG}\nno secret"
    with MemoryManager(sqlite_url, user_id="ann") as plain:
        plain.store(text, key="mine")
    keys: dict[str, Any] = {"keys": NEW} if wrap is EncryptedStore else {}
    with MemoryManager(wrap(sqlite_url, **keys), user_id="ann") as manager:
        assert "mine" == manager.store(text, key="mine")
        with pytest.raises(KeyExistsError, match="holds another memory"):
            manager.store("another text", key="mine")


def test_own_keys_after_rotation(sqlite_url: str) -> None:
    """A key of the caller's takes the same text again when another key encrypts by now."""
    for keys in (OLD, NEW | OLD):
        with MemoryManager(EncryptedStore(sqlite_url, keys=keys), user_id="ann") as manager:
            assert "mine" == manager.store("the text", key="mine")


@pytest.mark.parametrize("wrap", [CompressedStore, EncryptedStore])
def test_importing_twice(tmp_path: Path, sqlite_url: str, wrap: type[StoreWrapper]) -> None:
    """An export that is imported again changes nothing; one of records that are sealed already is refused."""
    keys: dict[str, Any] = {"keys": NEW} if wrap is EncryptedStore else {}
    with MemoryManager("sqlite://", user_id="ann") as plain:
        plain.store(LOG, key="mine")
        export_memories(plain.memory_store, tmp_path / "plain.jsonl", user_id="ann")
    with wrap(sqlite_url, **keys) as store:
        found = [import_memories(store, tmp_path / "plain.jsonl", user_id="ann") for _ in range(2)]
        assert [(1, 0), (0, 1)] == [(one.written, one.unchanged) for one in found]
        export_memories(store.inner, tmp_path / "sealed.jsonl", user_id="ann")
        with pytest.raises(
            InvalidRecordError,
            match=f"is sealed; open where it comes from through a {wrap.__name__}",
        ):
            import_memories(store, tmp_path / "sealed.jsonl", user_id="ann")


@for_each(
    "make, said",
    [
        (
            lambda: CompressedStore(RedactingStore("sqlite://")),
            "cannot read what is sealed; put it around",
        ),
        (
            lambda: CompressedStore(StoreWrapper(RedactingStore("sqlite://"))),
            "cannot read what is sealed",
        ),
        (
            lambda: EncryptedStore(RedactingStore("sqlite://"), keys=NEW),
            "cannot read what is sealed",
        ),
        (
            lambda: EncryptedStore(
                CompressedStore(EncryptedStore("sqlite://", keys=OLD)), keys=NEW
            ),
            "one is enough",
        ),
        (lambda: CompressedStore(CompressedStore("sqlite://")), "one is enough"),
        (lambda: EncryptedStore("sqlite://", keys=[b"k" * 32]), "keys are a mapping of ids"),  # type: ignore[arg-type] # wrong on purpose
        (lambda: SQLAlchemyStore("sqlite://", quota=3), "a quota is a Quota"),  # type: ignore[arg-type] # wrong on purpose
    ],
)
def test_wrong_ways_to_put_stores_together(make: Callable[[], object], said: str) -> None:
    """A store around stores that could not work is refused, with what would."""
    with pytest.raises(InvalidArgumentError, match=said):
        make()


def test_what_was_there_before(sqlite_url: str) -> None:
    """Memories of before encryption stay readable beside encrypted ones, and `reencrypt` encrypts them."""
    with SQLAlchemyStore(sqlite_url) as plain:
        key = MemoryManager(plain, user_id="ann").store(f"{MARKER} of before")
    with EncryptedStore(sqlite_url, keys=KEY) as store:
        manager = MemoryManager(store, user_id="ann")
        manager.store(f"{MARKER} of after")
        assert f"{MARKER} of before" == manager.retrieve(key)
        assert MARKER in rows(store)

        assert 1 == store.reencrypt()

        assert MARKER not in rows(store)
        assert f"{MARKER} of before" == manager.retrieve(key)
        assert 2 == len(manager.search(MARKER))


def test_moving(tmp_path: Path) -> None:
    """Memories move into and out of encrypted stores as they are, twice without a change; exports of either open."""
    with SQLAlchemyStore("sqlite://") as plain, EncryptedStore("sqlite://", keys=KEY) as store:
        manager = MemoryManager(plain, user_id="ann")
        keys = [manager.store(f"text {number} {MARKER}") for number in range(3)]
        manager.forget(keys.pop())
        assert 3 == copy_memories(plain, store, user_id="ann").written
        assert (0, 3) == (
            (again := copy_memories(plain, store, user_id="ann")).written,
            again.unchanged,
        )
        assert list(plain.list_all(ANN)) == list(store.list_all(ANN))
        assert MARKER not in rows(store)

        export_memories(store.inner, tmp_path / "sealed.jsonl", user_id="ann")
        assert MARKER not in (tmp_path / "sealed.jsonl").read_text("utf-8")
        with EncryptedStore("sqlite://", keys=KEY) as third:
            import_memories(third.inner, tmp_path / "sealed.jsonl", user_id="ann")
            assert list(plain.list_all(ANN)) == list(third.list_all(ANN))


def test_keys_from_the_environment(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come from the variable; without it, or with what is no key, the error says how it reads."""
    with pytest.raises(InvalidArgumentError, match="set MEMORY_CONTEXT_KEYS to id:key"):
        EncryptedStore(sqlite_url).put(ANN, memory())
    first, second = EncryptedStore.generate_key(), EncryptedStore.generate_key()
    for wrong in ("k:not base64!", "k:\u00e4", "k:QUJD", f"{second}:k", f"{second}:2026"):
        monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{first},{wrong}")
        with pytest.raises(InvalidArgumentError, match="not entry 2") as caught:
            EncryptedStore(sqlite_url).put(ANN, memory())
        assert second not in str(caught.value)
    assert 32 == len(base64.b64decode(first))
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{first}")
    with EncryptedStore(sqlite_url) as store:
        store.put(ANN, memory("text", memory_key="mine"))
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f" b:{second}, a:{first} ")
    with EncryptedStore(sqlite_url) as store:
        assert "text" == getattr(store.get(ANN, "mine"), "content", None)
        assert 1 == store.reencrypt()


def test_keys_from_a_callback(sqlite_url: str) -> None:
    """A callback is asked at first use, and again for a key that it had not given yet: rotation without a restart."""
    asked = list[int]()
    known = dict(OLD)

    def source() -> dict[str, bytes]:
        asked.append(1)
        return dict(known)

    with (
        EncryptedStore(sqlite_url, keys=source) as store,
        EncryptedStore(sqlite_url, keys=NEW) as other,
    ):
        assert [] == asked
        store.put(ANN, memory("text", memory_key="mine"))
        other.put(ANN, memory("newer", memory_key="newer"))
        assert 1 == len(asked)
        with pytest.raises(EncryptionError):
            store.get(ANN, "newer")
        known.update(NEW)
        assert "newer" == getattr(store.get(ANN, "newer"), "content", None)
        assert "text" == getattr(store.get(ANN, "mine"), "content", None)
        assert 3 == len(asked)


async def test_key_manager_that_is_down(sqlite_url: str) -> None:
    """A callback that fails is a store that cannot be used now: an agent goes on with full texts, and folds later."""
    down = [True]

    def source() -> dict[str, bytes]:
        if down:
            message = "no route to the key manager"
            raise OSError(message)
        return NEW

    context = MemoryContext("ann", store=EncryptedStore(sqlite_url, keys=source))
    with pytest.raises(StoreError, match="OSError: no route") as caught:
        await context.store("x")
    assert isinstance(caught.value.__cause__, OSError)
    assert LOG == shown((await fill(context, call("run"), results(LOG)))[-1])
    down.clear()
    context = MemoryContext("ann", store=EncryptedStore(sqlite_url, keys=source))
    assert shown((await fill(context, call("run"), results(LOG)))[-1]).startswith("[MemoryRef: ")


@for_each(
    "wrong",
    [{}, {"k": b"short"}, {"k": "a" * 32}, {"": b"a" * 32}, {"x" * 256: b"a" * 32}, {1: b"a" * 32}],
)
def test_no_keys(wrong: Any) -> None:
    """What is no set of keys is refused when the store is made; no key is ever shown."""
    with pytest.raises(InvalidArgumentError) as caught:
        EncryptedStore("sqlite://", keys=wrong)
    assert "aaaa" not in str(caught.value)
    assert "aaaa" not in repr(EncryptedStore("sqlite://", keys={"k": b"a" * 32})._keys.newest())  # noqa: SLF001 - what a debugger prints


def test_sealed_columns(store: EncryptedStore) -> None:
    """Filters and orders by what is encrypted are refused by name; those by what places a memory work."""
    store.put(ANN, memory("text", category="a/b", tags=("x",), importance=0.9))

    for verb in (
        store.query,
        store.count,
        store.usage,
        lambda s, f: store.sum(s, "token_count", f) + 1,
        lambda s, f: store.search(s, "text", filters=f),
    ):
        with pytest.raises(InvalidFilterError, match="summary is sealed"):
            verb(ANN, {"summary": "x"})
        assert verb(ANN, {"category": {"$under": "a"}, "tags": "x", "importance": {"$gt": 0.5}})
    with pytest.raises(InvalidFilterError, match="content_hash is sealed"):
        store.query(ANN, order_by="-content_hash")


def test_an_embedder_is_refused() -> None:
    """A store that makes vectors of contents cannot be inside."""
    inner = SQLAlchemyStore(
        "sqlite://", embedder=lambda texts: [[1.0] for _ in texts], embedding_model="m"
    )
    with pytest.raises(InvalidArgumentError, match="give it no embedder"):
        EncryptedStore(inner, keys=KEY)


@pytest.mark.parametrize(
    ("length", "kind"), [(1023, "text/plain"), (1024, CompressedStore.media_type)]
)
def test_short_contents_are_not_compressed(length: int, kind: str) -> None:
    """Contents below 1,024 bytes are stored as they are, which plain SQL can read."""
    with CompressedStore("sqlite://") as store:
        store.put(ANN, memory("x" * length, memory_key="mine"))

        assert [kind] == [item.media_type for item in store.inner.list_all(ANN)]
        assert ["x" * length] == [item.content for item in store.list_all(ANN)]


def test_what_compression_would_lengthen_is_not_compressed() -> None:
    """A content that is as random as compressed data is stored as it is."""
    data = Random(1).randbytes(4096)
    with CompressedStore("sqlite://") as store:
        store.put(ANN, memory(data, memory_key="mine"))

        assert [data] == [item.content for item in store.inner.list_all(ANN)]
        assert [data] == [item.content for item in store.list_all(ANN)]


def test_damaged_compression(sqlite_url: str) -> None:
    """A compressed content that was damaged is an error that names the memory."""
    with CompressedStore(sqlite_url) as store:
        sealed = store.inward(memory("x" * 5000, memory_key="mine"))
        assert len(sealed.data) < 200
        store.inner.put(ANN, replace(sealed, content=sealed.data[:-9]))
        with pytest.raises(StoreError, match="'mine' is damaged"):
            store.get(ANN, "mine")


async def test_agent(store: EncryptedStore) -> None:
    """An agent on an encrypted store folds, recalls, reads by its tools and keeps notes, as on any other."""
    context = MemoryContext("ann", store=store)
    client = ScriptedChatClient(
        [
            [FunctionCall(id="c1", name="job", arguments="{}")],
            lambda prompt: [
                FunctionCall(id="c2", name="retrieve_memory", arguments=_asking(prompt))
            ],
            "done",
        ]
    )
    job = FunctionTool(lambda: LOG, "Run the job.", name="job")
    agent = AssistantAgent(
        "coder",
        model_client=client,
        model_context=context,
        workbench=context.workbench([job]),
        max_tool_iterations=5,
    )
    await agent.run(task="go")

    seen = texts(client.prompts[-1])
    assert "[MemoryRef: job_" in seen
    assert 0 == context.stats().store_failures
    assert LOG.splitlines()[0] in shown(client.prompts[-1][-1])
    notes = ScopedMemory(MemoryManager(store, user_id="ann"), project_id="p")
    notes.save(f"{MARKER} note", tier="project")
    assert MARKER not in rows(store)


def _asking(prompt: Any) -> str:
    found = re.findall(r"MemoryRef: (job_\w+)", texts(prompt))
    return f'{{"key": "{found[0]}", "lines": "1-3"}}'


async def test_a_wrong_key_does_not_stop_the_run(sqlite_url: str) -> None:
    """A context that cannot decrypt what is there goes on with full texts, and loses nothing."""
    with EncryptedStore(sqlite_url, keys={"k": b"a" * 32}) as store:
        MemoryManager(store, user_id="ann").store("a preference", type="user_preference")
    with EncryptedStore(sqlite_url, keys={"k": b"b" * 32}) as wrong:
        context = MemoryContext("ann", store=wrong)
        messages = await fill(context, call("run"), results(LOG))
        assert shown(messages[1]).startswith("[MemoryRef: ") or LOG == shown(messages[1])


def test_loaded_only_when_used() -> None:
    """The package cryptography is loaded by EncryptedStore alone."""
    code = "import sys, memory_context.stores as s; s.SQLAlchemyStore; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == done.stdout.strip()


def test_langchain_agent(store: EncryptedStore) -> None:
    """LangChain's middleware on an encrypted store folds, and nothing of the output is readable in the database."""

    @tool
    def job() -> str:
        """Run the job."""
        return f"{LOG}\n{MARKER}"

    middleware = MemoryContextMiddleware(store, user_id="ann")
    agent: Any = create_agent(
        ScriptedChatModel([[calling("job")], "done"]), [job], middleware=[middleware]
    )

    answer = agent.invoke({"messages": [("user", "go")]})

    shown_output = str(answer["messages"][-2].content)
    assert shown_output.startswith("[MemoryRef: job_")
    assert f"{LOG}\n{MARKER}" == MemoryManager(store, user_id="ann").retrieve(
        MemoryRef.find_all(shown_output)[0].key
    )
    assert MARKER not in rows(store)
