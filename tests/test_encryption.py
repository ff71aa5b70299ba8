"""Encrypted memories: unreadable in the database, whole with the key, an error with another one."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.tools import FunctionTool
from langchain.agents import create_agent
from langchain_core.tools import tool

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as calling
from memory_context import MemoryContext, MemoryManager, MemoryRef, ScopedMemory
from memory_context.exceptions import (
    EncryptionError,
    InvalidArgumentError,
    InvalidRecordError,
    KeyExistsError,
    SealError,
    StoreError,
)
from memory_context.memory.copy_export_import import copy_memories, export_memories, import_memories
from memory_context.model.item import hash_content
from memory_context.stores import Encrypted, FileStore, SQLAlchemyStore, as_store
from memory_context.stores.sql.restore_imported_records import differences
from memory_context.testing import ScriptedChatClient
from memory_context.testing.sample_memories import ANN, BOB, memory
from messages import LOG, call, results
from test_codecs import KEY
from test_context import fill, shown
from test_isolation import texts

OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
MARKER = "zanzibarquetzal"


def encrypting(url: str, keys: Any = None, **settings: Any) -> SQLAlchemyStore:
    """A store that encrypts."""
    return SQLAlchemyStore(url, codec=Encrypted(KEY if keys is None else keys, **settings))


@pytest.fixture
def store(store_url: str) -> Iterator[SQLAlchemyStore]:
    """An encrypted store on every database."""
    with encrypting(store_url) as store:
        yield store


def change(url: str, statement: str, **values: object) -> None:
    """Change a database as somebody does who has no key."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement), values).rowcount
    engine.dispose()


def rows(store: SQLAlchemyStore) -> str:
    """Every value of every table of the database inside."""

    def read(connection: sa.Connection) -> str:
        # FTS5's own table has no contents; its words stand in agent_memory_terms.
        names = {*sa.inspect(connection).get_table_names()} - {"agent_memory_index"}
        values = list[str]()
        for name in sorted(names):
            for row in connection.exec_driver_sql(f"SELECT * FROM {name}"):
                values += (str(bytes(one) if isinstance(one, memoryview) else one) for one in row)
        return "\n".join(values)

    return store.database.read(read)


@pytest.mark.parametrize("index", ["blind", "none"])
def test_nothing_is_readable(store_url: str, index: Any) -> None:
    """Content, summary, metadata, media type and hash stand in no table, not even as words of the index."""
    with encrypting(store_url, index=index) as store:
        manager = MemoryManager(store, user_id="ann")
        text = f"the {MARKER} is in the log\n" * 300
        key = manager.store(text, f"about {MARKER}", source="tool", metadata={MARKER: [MARKER, 1]})
        manager.store(MARKER.encode() * 9, key="binary")
        assert [key] == [hit.memory_key for hit in manager.search(MARKER, limit=1)]

        everything = rows(store)

        assert MARKER not in everything.lower()
        assert hash_content(text) not in everything
        assert "text/plain" not in everything
        assert text == manager.retrieve(key)
        assert {MARKER: [MARKER, 1]} == manager.get(key).content_metadata
        assert f"about {MARKER}" == manager.get(key).summary


def test_without_an_index_nothing_of_a_text_is_kept(sqlite_url: str) -> None:
    """With `index="none"` no table but that of the records has a row for a memory; searching finds it, by words."""
    with encrypting(sqlite_url, index="none") as store:
        MemoryManager(store, user_id="ann").store(f"{MARKER} is here", key="mine")
        assert ["mine"] == [hit.memory_key for hit in store.search(ANN, MARKER)]
        for table in ("agent_memory_passages", "agent_memory_pending"):
            assert [] == list(store.database.rows(sa.text(f"SELECT * FROM {table}")))
        with pytest.raises(InvalidArgumentError, match="needs an embedder"):
            store.search(ANN, MARKER, mode="semantic")


def test_files_too(tmp_path: Path) -> None:
    """A FileStore's files hold nothing of it, and are taken as they are when it is opened again."""
    for _ in range(2):
        with FileStore(tmp_path, codec=Encrypted(KEY)) as store:
            manager = MemoryManager(store, user_id="ann")
            manager.store(f"{MARKER} text", MARKER)
            assert [f"{MARKER} text"] == [item.content for item in store.list_all(ANN)]
            assert [MARKER] == [item.summary for item in manager.search(MARKER)]
    for path in tmp_path.rglob("*.*"):
        assert not path.is_file() or MARKER not in path.read_text("utf-8")


def test_files_that_were_changed(tmp_path: Path) -> None:
    """A plain file among encrypted ones, or one whose type was changed, is reported as damaged and not believed."""
    with FileStore(tmp_path, codec=Encrypted(KEY)) as store:
        kept = store.put(ANN, memory("text", memory_key="kept"))
        moved = store.put(ANN, memory("a secret", memory_key="moved", memory_type="secret"))
    changed = tmp_path / f"{moved.id}.json"
    changed.write_text(changed.read_text("utf-8").replace('"secret"', '"note"'), "utf-8")
    (tmp_path / "plain.json").write_text('{"user_id": "ann", "content": "believe me"}', "utf-8")
    with FileStore(tmp_path, codec=Encrypted(KEY)) as store:
        assert [kept] == list(store.list_all(ANN))
        assert [changed.name, "plain.json"] == [one.path for one in store.damaged()]
    with pytest.raises(EncryptionError, match="which is not available"):
        FileStore(tmp_path, codec=Encrypted(NEW)).get(ANN, "kept")


def test_rotated_files(tmp_path: Path) -> None:
    """`reencrypt` writes a folder's files with the newest key, and encrypts those of before."""
    with FileStore(tmp_path) as plain:
        plain.put(ANN, memory(MARKER, memory_key="mine"))
    with FileStore(tmp_path, codec=Encrypted(KEY, accept_plain=True)) as store:
        assert 1 == store.reencrypt()
    with FileStore(tmp_path, codec=Encrypted(NEW | KEY)) as store:
        assert 1 == store.reencrypt("ann")
    with FileStore(tmp_path, codec=Encrypted(NEW)) as store:
        assert MARKER == getattr(store.get(ANN, "mine"), "content", None)


def test_equal_contents_of_two_users_look_different(store: SQLAlchemyStore) -> None:
    """Neither identities nor hashed words tell that two users have the same text."""
    for scope in (ANN, BOB):
        store.put(scope, memory("same", shared=True, user_id=scope.user_id))
    store.put(ANN, memory("same", shared=True))
    store.put(ANN, memory(b"same", shared=True))
    found = store.database.rows(sa.text("SELECT identity, content_hash FROM agent_memories"))
    assert 3 == len({row.identity for row in found}) == len(found)
    assert {""} == {row.content_hash for row in found}
    with encrypting("sqlite://", NEW) as other:
        other.put(ANN, memory("same", shared=True))
        [row] = other.database.rows(sa.text("SELECT identity FROM agent_memories"))
    assert row.identity not in {one.identity for one in found}


def test_wrong_key(sqlite_url: str) -> None:
    """Another key under the same id, or none of that id, is an error at the first use; nothing is read or written."""
    with encrypting(sqlite_url, {"k": b"a" * 32}) as store:
        store.put(ANN, memory("text", memory_key="mine"))
    for keys, said in (
        ({"k": b"b" * 32}, "cannot be decrypted: .* the key 'k' is not the one"),
        ({"other": b"a" * 32}, "the key 'k', which is not available; known keys: other"),
    ):
        with encrypting(sqlite_url, keys) as wrong:
            for use in (
                lambda store: store.get(ANN, "mine"),
                lambda store: list(store.list_all(ANN)),
                lambda store: store.search(ANN, "t"),
                lambda store: store.put(ANN, memory("text")),
                lambda store: store.put(ANN, memory("b", memory_key="mine"), replace=True),
                lambda store: store.reencrypt(),
            ):
                with pytest.raises(EncryptionError, match=said):
                    use(wrong)
    with encrypting(sqlite_url, {"k": b"a" * 32}) as store:
        assert ["text"] == [item.content for item in store.list_all(ANN)]


@for_each(
    "statement",
    [
        "SET memory_type = 'note'",
        "SET tier = 'project'",
        "SET memory_key = 'other'",
        "SET user_id = 'bob'",
        "SET media_type = 'text/plain', content = 'believe me', content_bytes = NULL",
        "SET media_type = 'application/octet-stream'",
        "SET origin = 'person'",
        "SET content_bytes = (SELECT content_bytes FROM agent_memories WHERE memory_key = 'second')",
    ],
)
def test_changed_or_moved_records_are_refused(tmp_path: Path, statement: str) -> None:
    """A record is bound to its user, key, type and tier; a plain row in its place is not believed."""
    sqlite_url = f"sqlite:///{tmp_path / hash_content(statement)}"
    with encrypting(sqlite_url) as store:
        store.put(ANN, memory("hunter2", memory_key="first", memory_type="secret"))
        store.put(ANN, memory("other", memory_key="second"))
        change(sqlite_url, f"UPDATE agent_memories {statement} WHERE memory_key = 'first'")
        for scope in (ANN, BOB):
            for key in ("first", "other"):
                with closing(encrypting(sqlite_url)) as again:
                    assert _content_or_refusal(again, scope, key) in (None, "refused")
        assert "other" == getattr(store.get(ANN, "second"), "content", None)


def _content_or_refusal(store: SQLAlchemyStore, scope: Any, key: str) -> object:
    try:
        return getattr(store.get(scope, key), "content", None)
    except SealError:
        return "refused"


def test_a_changed_byte_anywhere(sqlite_url: str) -> None:
    """A changed byte anywhere in a sealed content, or a cut, is an error."""
    with encrypting(sqlite_url) as store:
        store.put(ANN, memory("text", memory_key="mine"))
        [row] = store.database.rows(sa.text("SELECT content_bytes FROM agent_memories"))
        data = bytes(row.content_bytes)
        wrongs = [data[:size] for size in range(0, len(data), 11)]
        wrongs += (
            data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            for place in range(0, len(data), 5)
        )
        for wrong in wrongs:
            change(sqlite_url, "UPDATE agent_memories SET content_bytes = :wrong", wrong=wrong)
            with pytest.raises(EncryptionError):
                store.get(ANN, "mine")


@pytest.mark.parametrize("database", ["sqlite_url", "postgres_url"])
def test_rotation(request: pytest.FixtureRequest, database: str) -> None:
    """A new key encrypts, the old one decrypts; equal contents stay one record; afterwards the old key may go."""
    store_url = str(request.getfixturevalue(database))
    with encrypting(store_url, OLD) as store:
        manager = MemoryManager(store, user_id="ann")
        keys = [manager.store(f"text {number} {MARKER}") for number in range(5)]
        manager.store("note", tier="project", tier_id="p")
        manager.forget(keys.pop())
        before = list(store.list_all(ANN))
    with encrypting(store_url, NEW | OLD) as both:
        again = MemoryManager(both, user_id="ann")
        assert keys[0] == again.store(f"text 0 {MARKER}")
        fresh = again.store("text under the new key")
        assert fresh == again.store("text under the new key")
        seen = list[int]()
        assert len(before) == both.reencrypt(progress=seen.append)
        assert 0 == both.reencrypt("ann")
        assert len(before) == seen[-1]
    with encrypting(store_url, NEW) as only:
        after = {item.memory_key: item for item in only.list_all(ANN)}
        for item in before:
            assert set(differences(item, after[item.memory_key])) <= {"updated_at"}
        manager = MemoryManager(only, user_id="ann")
        assert keys[1] == manager.store(f"text 1 {MARKER}")
        assert set(keys) == {hit.memory_key for hit in manager.search(MARKER, limit=9)}
        assert manager.forget(keys[0])
        assert len(keys) - 1 == len(manager.search(MARKER, limit=9))
    with encrypting(store_url, OLD) as old, pytest.raises(EncryptionError):
        old.get(ANN, keys[1])


def test_rotation_goes_on_where_it_stopped(sqlite_url: str) -> None:
    """What was encrypted before the rotation was interrupted is not encrypted a second time."""
    with encrypting(sqlite_url, OLD) as store:
        store.restore(ANN, [memory(f"text {number}") for number in range(9)])

    def stop(done: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with encrypting(sqlite_url, NEW | OLD) as store:
        with pytest.raises(KeyboardInterrupt):
            store.reencrypt(progress=stop)
        assert 5 == store.reencrypt()


def test_a_process_that_still_writes_with_the_old_key(sqlite_url: str) -> None:
    """Its records name the key that is missing once the old key is gone, and another `reencrypt` brings them along."""
    with (
        encrypting(sqlite_url, OLD) as late,
        encrypting(sqlite_url, OLD | NEW) as second,
        encrypting(sqlite_url, NEW | OLD) as first,
        encrypting(sqlite_url, NEW) as only,
    ):
        late.put(ANN, memory("before", memory_key="before"))
        first.reencrypt()
        for store, key in ((late, "late"), (second, "second"), (first, "first")):
            store.put(ANN, memory(key, memory_key=key))
        assert {"before", "late", "second", "first"} == {
            item.memory_key for item in second.query(ANN)
        }
        old, new = next(iter(OLD)), next(iter(NEW))
        for store, key, missing in ((late, "first", new), (only, "late", old)):
            with pytest.raises(
                EncryptionError, match=f"the key '{missing}', which is not available"
            ):
                store.get(ANN, key)
        assert 2 == first.reencrypt()
        assert 4 == len(only.query(ANN))


def test_a_database_of_before(sqlite_url: str) -> None:
    """A plain database is refused until `accept_plain`; after `reencrypt` no byte of a plain word is in its files."""
    with SQLAlchemyStore(sqlite_url) as plain:
        key = MemoryManager(plain, user_id="ann").store(f"{MARKER} of before\n" * 999)
        MemoryManager(plain, user_id="ann").forget(
            MemoryManager(plain, user_id="ann").store(f"{MARKER} deleted")
        )
        path = Path(str(plain.database.url.database))
    with encrypting(sqlite_url) as store, pytest.raises(EncryptionError, match="accept_plain=True"):
        store.get(ANN, key)
    with SQLAlchemyStore(sqlite_url) as plain:
        assert [key] == [hit.memory_key for hit in plain.search(ANN, MARKER)]

    with encrypting(sqlite_url, accept_plain=True) as store:
        manager = MemoryManager(store, user_id="ann")
        assert f"{MARKER} of before\n" * 999 == manager.retrieve(key)
        manager.store(f"{MARKER} of after")
        assert MARKER in rows(store)

        assert 1 == store.reencrypt()
        assert 0 == store.reencrypt()

        assert 2 == len(manager.search(MARKER))
    for file in path.parent.glob(f"{path.name}*"):
        assert MARKER.encode() not in file.read_bytes().lower()
    with encrypting(sqlite_url) as store:
        assert 2 == len(list(store.list_all(ANN)))
    with (
        SQLAlchemyStore(sqlite_url) as plain,
        pytest.raises(EncryptionError, match=r"write encrypted\+ before its URL"),
    ):
        plain.get(ANN, key)


def test_a_text_of_before_and_after(sqlite_url: str) -> None:
    """A text that was stored both before and after there was a key has two records, and both redeem."""
    with MemoryManager(sqlite_url, user_id="ann") as plain:
        first = plain.store(LOG, source="tool")
    with encrypting(sqlite_url, accept_plain=True) as store:
        manager = MemoryManager(store, user_id="ann")
        second = manager.store(LOG, source="tool")
        assert first != second
        assert 1 == store.reencrypt()
        assert [LOG, LOG] == [manager.retrieve(key) for key in (first, second)]
        assert second == manager.store(LOG, source="tool")


def test_the_index_changes_its_form(sqlite_url: str) -> None:
    """A store that is opened with another index finds what is there, and keeps nothing of the form before."""
    for index in ("blind", "none", "blind"):
        with encrypting(sqlite_url, index=index) as store:
            store.put(ANN, memory(MARKER, shared=True))
            assert 1 == len(store.search(ANN, MARKER))
            found = store.database.rows(sa.text("SELECT * FROM agent_memory_passages"))
            assert (index == "blind") == bool(found)


def test_own_keys(sqlite_url: str) -> None:
    """A key of the caller's takes the same text again when another key encrypts by now, and no other text."""
    for keys in (OLD, NEW | OLD):
        with encrypting(sqlite_url, keys) as store:
            manager = MemoryManager(store, user_id="ann")
            assert "mine" == manager.store("the text", key="mine")
            with pytest.raises(KeyExistsError, match="holds another memory"):
                manager.store("another text", key="mine")


def test_moving(tmp_path: Path) -> None:
    """Memories move into and out of encrypted stores as they are, twice without a change; exports are plain."""
    with SQLAlchemyStore("sqlite://") as plain, encrypting("sqlite://") as store:
        manager = MemoryManager(plain, user_id="ann")
        keys = [manager.store(f"text {number} {MARKER}") for number in range(3)]
        manager.forget(keys.pop())
        assert 3 == copy_memories(plain, store, user_id="ann").written
        again = copy_memories(plain, store, user_id="ann")
        assert (0, 3) == (again.written, again.unchanged)
        assert list(plain.list_all(ANN)) == list(store.list_all(ANN))
        assert MARKER not in rows(store)

        export_memories(store, tmp_path / "export.jsonl", user_id="ann")
        with encrypting("sqlite://") as third:
            file = tmp_path / "export.jsonl"
            import_memories(third, file, user_id="ann", keep_origins=True)
            assert list(plain.list_all(ANN)) == list(third.list_all(ANN))


def test_a_sealed_record_is_not_imported(tmp_path: Path) -> None:
    """An encrypted record that is no longer in its store is refused: nobody could read it."""
    with FileStore(tmp_path / "files", codec=Encrypted(KEY)) as files:
        item = files.put(ANN, memory("text", memory_key="mine"))
    sealed = json.loads((tmp_path / "files" / f"{item.id}.json").read_text("utf-8"))
    export = tmp_path / "sealed.jsonl"
    with SQLAlchemyStore("sqlite://") as plain:
        plain.put(ANN, memory("other text", memory_key="other"))
        export_memories(plain, export, user_id="ann")
        head, _, end = export.read_text("utf-8").splitlines()
        export.write_text("\n".join([head, json.dumps({"memory": sealed}), end]), "utf-8")
        with pytest.raises(InvalidRecordError, match="open the store that it comes from"):
            import_memories(plain, export, user_id="ann")


def test_the_url(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose keys come from the environment is opened by its URL again; one with keys of its own has none."""
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{Encrypted.generate_key()}")
    with SQLAlchemyStore(sqlite_url, codec=Encrypted()) as store:
        store.put(ANN, memory("text", memory_key="mine"))
        assert f"encrypted+{sqlite_url}" == store.url
    opened = as_store(str(store.url))
    assert "text" == getattr(opened.get(ANN, "mine"), "content", None)
    opened.close()
    assert encrypting(sqlite_url).url is None
    with pytest.raises(InvalidArgumentError, match="a store has one codec"):
        as_store("compressed+encrypted+sqlite://")


def test_keys_from_the_environment(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come from the variable; without it, or with what is no key, the error says how it reads."""

    def opened() -> SQLAlchemyStore:
        return SQLAlchemyStore(sqlite_url, codec=Encrypted())

    with pytest.raises(InvalidArgumentError, match="set MEMORY_CONTEXT_KEYS to id:key"):
        opened().put(ANN, memory())
    first, second = Encrypted.generate_key(), Encrypted.generate_key()
    for wrong in ("k:not base64!", "k:\u00e4", "k:QUJD", f"{second}:k", f"{second}:2026", second):
        monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{first},{wrong}")
        with pytest.raises(InvalidArgumentError, match="entry 2 of MEMORY_CONTEXT_KEYS") as caught:
            opened().put(ANN, memory())
        assert second not in str(caught.value)
    assert 32 == len(base64.b64decode(first))
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"a:{first}")
    with opened() as store:
        store.put(ANN, memory("text", memory_key="mine"))
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f" b:{second}, a:{first} ")
    with opened() as store:
        assert "text" == getattr(store.get(ANN, "mine"), "content", None)
        assert 1 == store.reencrypt()


def test_keys_from_a_callback(sqlite_url: str) -> None:
    """A callback is asked at first use, and again for a key that it had not given yet: rotation without a restart."""
    asked = list[int]()
    known = dict(OLD)

    def source() -> dict[str, bytes]:
        asked.append(1)
        return dict(known)

    with encrypting(sqlite_url, source) as store:
        assert [] == asked
        store.put(ANN, memory("text", memory_key="mine"))
        assert 1 == len(asked)
        with encrypting(sqlite_url, NEW | OLD) as other:
            other.put(ANN, memory("newer", memory_key="newer"))
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

    context = MemoryContext("ann", store=encrypting(sqlite_url, source))
    with pytest.raises(StoreError, match="OSError: no route") as caught:
        await context.store("x")
    assert isinstance(caught.value.__cause__, OSError)
    assert LOG == shown((await fill(context, call("run"), results(LOG)))[-1])
    down.clear()
    context = MemoryContext("ann", store=encrypting(sqlite_url, source))
    assert shown((await fill(context, call("run"), results(LOG)))[-1]).startswith("[MemoryRef: ")


# Letters that no hexadecimal address has, so that only the key itself can be found in what is printed.
SHOWN_NOWHERE = "hush" * 8


@for_each(
    "wrong",
    [
        *({}, {"k": b"hush"}, {"k": SHOWN_NOWHERE}),
        *({"": SHOWN_NOWHERE.encode()}, {"x" * 256: SHOWN_NOWHERE.encode()}),
        *({1: SHOWN_NOWHERE.encode()}, [SHOWN_NOWHERE.encode()]),
    ],
)
def test_no_keys(wrong: Any) -> None:
    """What is no set of keys is refused when the codec is made, and the error shows no key."""
    with pytest.raises(InvalidArgumentError) as caught:
        Encrypted(wrong)
    assert "hush" not in str(caught.value)


def test_a_key_is_not_printed() -> None:
    """What a debugger prints of a codec's keys does not show them."""
    keys = Encrypted({"k": SHOWN_NOWHERE.encode()})._keys  # noqa: SLF001 - what a debugger prints
    assert "hush" not in repr((keys, keys.newest()))


def test_another_index_is_refused() -> None:
    """An index that there is not is refused, with those that there are."""
    with pytest.raises(InvalidArgumentError, match="the index is 'blind' or 'none', not 'words'"):
        Encrypted(KEY, index="words")  # type: ignore[arg-type] # wrong on purpose


async def test_agent(store: SQLAlchemyStore) -> None:
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
    with encrypting(sqlite_url, {"k": b"a" * 32}) as store:
        MemoryManager(store, user_id="ann").store("a preference", type="user_preference")
    with encrypting(sqlite_url, {"k": b"b" * 32}) as wrong:
        context = MemoryContext("ann", store=wrong)
        messages = await fill(context, call("run"), results(LOG))
        assert LOG == shown(messages[1])
        assert context.stats().store_failures


@pytest.mark.long
def test_loaded_only_when_used() -> None:
    """The package cryptography is loaded by Encrypted alone."""
    code = "import sys, memory_context.stores as s; s.SQLAlchemyStore; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == done.stdout.strip()


def test_langchain_agent(store: SQLAlchemyStore) -> None:
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


def test_a_missing_package() -> None:
    """Without cryptography, importing the codec says what to install."""
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from memory_context.exceptions import MissingDependencyError\n"
        "try: from memory_context import Encrypted\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install 'memory-context[encryption]'" in run.stdout
