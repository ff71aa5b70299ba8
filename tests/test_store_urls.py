"""URLs with a codec before them: everything that takes the URL of a database takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from memory_context import MemoryContext, MemoryManager, Quota, Redactor
from memory_context.cli import run
from memory_context.exceptions import (
    EncryptionError,
    NotSerializableError,
    UnsupportedDatabaseError,
)
from memory_context.stores import (
    Compressed,
    Encrypted,
    FileStore,
    SQLAlchemyStore,
    SQLAuditTrail,
    as_store,
)
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
from memory_context.stores.sql.urls import file_of
from memory_context.testing import FaultyStore
from memory_context.testing.sample_memories import ANN, memory
from messages import LOG

MARKER = "zanzibarquetzal"

Command = Callable[..., str]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the environment."""
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"one:{Encrypted.generate_key()}")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command line in this process."""

    def ran(*arguments: str, code: int = 0) -> str:
        assert code == run([*arguments]), capsys.readouterr()
        out, err = capsys.readouterr()
        return out if code == 0 else err

    return ran


@pytest.fixture
def url(sqlite_url: str) -> str:
    """An encrypted database with a log of ann's, and what was evicted."""
    with MemoryManager(f"encrypted+{sqlite_url}", user_id="ann") as manager:
        manager.store(f"{LOG}\n{MARKER}", f"about {MARKER}", key="night.log")
        manager.store("old", f"{MARKER} of old", key="old")
        manager.forget("old", soft=True)
    return f"encrypted+{sqlite_url}"


@pytest.mark.parametrize("env", [False, True])
def test_url_names_the_codec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: bool) -> None:
    """The name before a plus is the codec of the store behind it, and `url` gives it back."""
    codecs = {"encrypted": Encrypted, "compressed": Compressed}
    for inside in (f"sqlite:///{tmp_path}/a.db", f"file://{tmp_path}/f"):
        for name, codec in codecs.items():
            url = f"{name}+{inside}"
            monkeypatch.setenv("MEMORY_CONTEXT_STORE", url)
            store = as_store(None if env else url)
            assert isinstance(store, SQLAlchemyStore | FileStore)
            assert isinstance(store.codec, codec)
            assert url == store.url
            store.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda url: SQLAlchemyStore(url, codec=Encrypted({"a": bytes(32)})),
        lambda url: SQLAlchemyStore(url, codec=Encrypted(lambda: {"a": bytes(32)})),
        lambda url: SQLAlchemyStore(url, codec=Encrypted(index="none")),
        lambda url: SQLAlchemyStore(url, redactor=Redactor({"x": "x"})),
        FaultyStore,
        lambda _: SQLAlchemyStore("sqlite://", codec=Compressed()),
    ],
)
def test_no_url_leads_past_a_store(sqlite_url: str, make: Callable[[str], SQLAlchemyStore]) -> None:
    """What was made with objects of the caller's has no URL, so a component with it is not written down."""
    with make(sqlite_url) as store:
        assert store.url is None
        with pytest.raises(NotSerializableError, match="it has no URL"):
            MemoryContext("ann", store=store).dump_component()


@pytest.mark.parametrize("prefix", ["redacted+", "redacted+encrypted+", "encrypted+redacted+"])
def test_url_names_redaction(tmp_path: Path, prefix: str) -> None:
    """A redactor without settings stands before the URL, before a codec or behind it; `url` has it first."""
    for inside in (f"sqlite:///{tmp_path}/a.db", f"file://{tmp_path}/f"):
        store = as_store(prefix + inside)
        assert isinstance(store, SQLAlchemyStore | FileStore)
        assert store.redactor
        assert store.redactor.is_default
        assert isinstance(store.codec, Encrypted) == ("encrypted" in prefix)
        codec = "encrypted+" if "encrypted" in prefix else ""
        assert f"redacted+{codec}{inside}" == store.url
        store.close()


def test_quota_beside_a_codec(sqlite_url: str) -> None:
    """A quota is not lost in writing a component down: it is refused."""
    with (
        SQLAlchemyStore(sqlite_url, quota=Quota(max_items=1), codec=Compressed()) as store,
        pytest.raises(NotSerializableError, match="a quota cannot be serialized"),
    ):
        MemoryContext("ann", store=store).dump_component()


async def test_component(url: str) -> None:
    """A context on an encrypted database is written down without a key, and reads the same memories afterwards."""
    dumped = MemoryContext("ann", store=url).dump_component().model_dump_json()

    loaded = MemoryContext.load_component(json.loads(dumped))

    assert MARKER in str(await loaded.retrieve("night.log"))
    assert url == json.loads(dumped)["config"]["store"]


@pytest.mark.parametrize(
    "verb",
    [["list"], ["search", MARKER], ["show", "night.log"], ["show", "night.log", "--query", MARKER]],
    ids=["list", "search", "show", "part"],
)
def test_command_line_decrypts(url: str, command: Command, verb: list[str]) -> None:
    """Lists, searches and what is shown of an encrypted database are those of a plain one."""
    shown = command(*verb, "--store", url)

    assert MARKER in shown
    assert "(encrypted)" not in shown


def test_another_key(url: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another key, or none, every verb that would show a text says so, and exits with 2."""
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"one:{Encrypted.generate_key()}")
    for verb in (["list"], ["search", MARKER], ["show", "night.log"]):
        assert "this database cannot be decrypted" in command(*verb, "--store", url, code=2)
    monkeypatch.delenv("MEMORY_CONTEXT_KEYS")
    assert "set MEMORY_CONTEXT_KEYS" in command("list", "--store", url, code=2)


def test_evicted_ones_are_listed(url: str) -> None:
    """A catalog gives the descriptions of evicted memories too."""
    found = Catalog(as_store(url)).entries(ANN, {"is_active": [True, False]}, sort="key")

    assert [("night.log", f"about {MARKER}"), ("old", f"{MARKER} of old")] == [
        (entry.memory_key, entry.summary) for entry in found
    ]


@pytest.mark.parametrize(
    "verb", ["stats", "gc --yes", "doctor", "migrate", "reindex", "forget-user ann --yes"]
)
def test_upkeep(url: str, command: Command, verb: str) -> None:
    """The verbs for a whole database work on an encrypted one."""
    assert command(*verb.split(), "--store", url)


def test_doctor(
    url: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`doctor` says whether the contents can be read, and of a folder, which files are no memories."""
    assert "contents: the newest of each user can be read (users looked at: 1)" in command(
        "doctor", "--store", url
    )
    monkeypatch.delenv("MEMORY_CONTEXT_KEYS")
    assert 2 == run(["doctor", "--store", url])
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"two:{Encrypted.generate_key()}")
    assert 2 == run(["doctor", "--store", url])

    folder = f"redacted+file://{tmp_path}/folder"
    assert 2 == run(["doctor", "--store", folder])
    with MemoryManager(folder, user_id="ann") as manager:
        manager.store("x")
    assert "files: all are memories" in command("doctor", "--store", folder)
    (tmp_path / "folder" / "odd.json").write_text("{}")
    assert "files: 1 are not memories, the first: odd.json" in " ".join(
        command("doctor", "--store", folder).split()
    )


def test_backup(url: str, command: Command, tmp_path: Path) -> None:
    """A copy of an encrypted database is as encrypted, and opens like it."""
    command("backup", str(tmp_path / "copies"), "--store", url)

    [copy] = (tmp_path / "copies").iterdir()
    refused = command("list", "--store", f"sqlite:///{copy}", code=2)
    assert "this database is encrypted: write encrypted+ before its URL" in refused
    assert MARKER in command("list", "--store", f"encrypted+sqlite:///{copy}")


@pytest.mark.long
def test_moving_in_and_out(url: str, command: Command, tmp_path: Path) -> None:
    """`import` from one URL to another encrypts a database, and decrypts it; no word stands in the encrypted one."""
    plain, again = tmp_path / "plain.db", tmp_path / "again.db"
    command("import", url, "--store", f"sqlite:///{plain}")
    command("import", f"sqlite:///{plain}", "--store", f"encrypted+sqlite:///{again}")

    assert MARKER.encode() in plain.read_bytes()
    assert MARKER.encode() not in again.read_bytes()
    assert MARKER in command("show", "night.log", "--store", f"encrypted+sqlite:///{again}")

    folder = f"encrypted+file:{tmp_path / 'folder'}"
    command("import", url, "--store", folder)
    command("import", folder, "--store", f"sqlite:///{tmp_path / 'back.db'}")
    assert MARKER in command("show", "night.log", "--store", f"sqlite:///{tmp_path / 'back.db'}")


def test_audit_trail_of_the_database_inside(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit trail takes the same URLs, also from the environment: it stands in the database inside."""
    monkeypatch.setenv("MEMORY_CONTEXT_STORE", url)
    for given in (None, url):
        with (
            SQLAuditTrail(given) as trail,
            MemoryManager(url, user_id="ann", audit=trail) as manager,
        ):
            manager.store("x", key="mine")
            assert "mine" == next(trail.entries("ann")).memory_key


def test_mistyped(command: Command, tmp_path: Path) -> None:
    """A file that is not there is not made, whatever is around it; an unknown store and an embedder are refused."""
    missing = f"encrypted+sqlite:///{tmp_path}/missing.db"

    assert "there is no database" in command("list", "--store", missing, code=2)
    assert not [*tmp_path.iterdir()]
    assert "'encryptd+sqlite' is not supported" in command(
        "list", "--store", f"encryptd+sqlite:///{tmp_path}/x", code=2
    )


def test_embedder(command: Command) -> None:
    """An embedder for a store around a database is refused; the error says what to leave out, and no password."""
    url = "encrypted+postgresql://ann:hunter2@localhost/db"
    refused = command("search", "x", "--embedder", "json:loads", "--store", url, code=2)

    assert "leave out 'encrypted+'" in " ".join(refused.split())
    assert "hunter2" not in refused


def test_password_variable(monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> None:
    """The password of the database inside comes from its variable, and does not stand in the URL."""
    monkeypatch.setenv("MEMORY_CONTEXT_STORE_PASSWORD", "secret words")
    store = as_store(f"encrypted+{postgres_url}")
    store.put(ANN, memory("x"))
    assert 1 == store.count(ANN)
    assert "secret" not in str(getattr(store, "url", None))
    store.close()


def test_name_of_the_password_variable() -> None:
    """What leads another process to the memories names the variable that the store itself was given."""
    store = SQLAlchemyStore("postgresql://ann@h/db", password_variable="MINE")

    assert "MINE" == MemoryManager(store, user_id="ann").connection()["password_variable"]


def test_wrong_key_is_an_error_of_the_library(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manager says which memory could not be read with which key."""
    monkeypatch.setenv("MEMORY_CONTEXT_KEYS", f"two:{Encrypted.generate_key()}")
    with (
        MemoryManager(url, user_id="ann") as manager,
        pytest.raises(EncryptionError, match="the key 'one', which is not available"),
    ):
        manager.retrieve("night.log")


def test_a_user_in_place_of_a_url() -> None:
    """A text without ``://`` may be a user or a file: the message says how either is given."""
    with pytest.raises(UnsupportedDatabaseError, match="a user is given as user_id="):
        MemoryManager("ann", user_id="ann")
    with pytest.raises(UnsupportedDatabaseError, match=r"use sqlite:///mine\.db or [^;]*$"):
        MemoryManager("mine.db", user_id="ann")
    with pytest.raises(UnsupportedDatabaseError) as error:
        MemoryManager("no such://x", user_id="ann")
    assert "user_id=" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["what?.db", "a?mode=ro&b.db", "folder?/a.db", "a.db?nope=1", "a.db?mode=ro"]
)
def test_a_question_mark_in_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    """Words behind a question mark that are no options are refused; the file whose name ends before it is not made.

    So are options of SQLite's own outside a URI, where they would do nothing.
    """
    with pytest.raises(UnsupportedDatabaseError, match="write %3F for"):
        MemoryManager(f"sqlite:///{tmp_path}/{name}", user_id="ann")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", ["timeout=5&", "&timeout=5", "timeout=5&&uri=false"])
def test_empty_options_of_a_url(tmp_path: Path, options: str) -> None:
    """Nothing between two ampersands, before the first or behind the last, is passed over as everywhere in URLs."""
    with MemoryManager(f"sqlite:///{tmp_path}/a.db?{options}", user_id="ann") as manager:
        manager.store("text", key="k")
    assert (tmp_path / "a.db").exists()


def test_a_relative_file_uri_stays_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path in a URI of SQLite's is resolved when the store is made, as in other URLs."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with MemoryManager("sqlite:///file:a%20b.db?mode=rwc&uri=true", user_id="ann") as manager:
        monkeypatch.chdir("elsewhere")
        manager.store("text", key="kept")
    assert (tmp_path / "a b.db").exists()
    with MemoryManager(f"sqlite:///{tmp_path}/a b.db", user_id="ann") as manager:
        assert "text" == manager.retrieve("kept")


def test_a_database_in_memory_has_no_file() -> None:
    """A URI of SQLite's that names a database in memory names no file that could be missing, in either of its forms."""
    for query in ("mode=memory&cache=shared", "vfs=memdb"):
        assert file_of(sa.make_url(f"sqlite:///file:/shared?{query}&uri=true")) is None


def test_a_missing_file_of_a_uri(tmp_path: Path, command: Command) -> None:
    """A command does not make the file that a mistyped URI of SQLite's names."""
    url = f"sqlite:///file:{tmp_path}/memroy.db?uri=true"
    assert "there is no database" in command("list", "--store", url, code=2)
    assert not list(tmp_path.iterdir())
