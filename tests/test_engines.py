"""Databases and how they are reached: URLs, engines, pools, threads, processes, forks."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import InternalError

from for_each import for_each
from memory_context import MemoryManager
from memory_context.exceptions import (
    EncryptionError,
    InvalidArgumentError,
    KeyExistsError,
    MemoryContextError,
    MissingDependencyError,
    SchemaVersionError,
    StoreError,
    StoreUnavailableError,
    UnsupportedDatabaseError,
)
from memory_context.model.item import MemoryItem, now
from memory_context.model.scope import Scope
from memory_context.model.tiers_and_limits import Capacity
from memory_context.stores import Encrypted, SQLAlchemyStore, as_store
from memory_context.stores.sql import (
    engine_setup,
    eviction_and_quota,
    insert_overwrite_or_reuse,
    sqlalchemy_store,
    urls,
)
from memory_context.stores.sql.index import indexing, keyword_index
from memory_context.stores.sql.restore_imported_records import insert_records
from memory_context.stores.sql.schema import memories, owners, passages
from patient import PATIENT

ANN = Scope("ann")
LEVEL = "SELECT current_setting('transaction_isolation')"
# The number of transactions in this database that wait for a lock of a table.
WAITING = """
SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database WHERE datname = current_database() AND NOT granted
"""


@for_each(
    "url, right",
    [
        ("mysql://localhost/x", "sqlite"),
        ("postgresql+asyncpg://localhost/x", r"postgresql\+psycopg"),
        ("postgresql+psycopg2://localhost/x", r"postgresql\+psycopg"),
        ("sqlite+aiosqlite:///x.db", r"sqlite"),
        ("memory.db", "sqlite:///memory.db"),
        ("http://example.org", "sqlite"),
    ],
)
def test_unsupported_url(url: str, right: str) -> None:
    """A URL of another database or driver says what would be right, before anything is opened."""
    with pytest.raises(UnsupportedDatabaseError, match=right):
        MemoryManager(url, user_id=1)


@for_each("store", [42, object(), b"sqlite://"])
def test_not_a_store(store: object) -> None:
    """Something that is no store at all is named."""
    with pytest.raises(
        InvalidArgumentError, match="a store is a URL, an engine, a pool or a MemoryStore"
    ):
        MemoryManager(store, user_id=1)  # type: ignore[arg-type]


def test_a_path_is_not_a_store() -> None:
    """A path may mean a database or a folder of files: the error shows the URLs of both."""
    with pytest.raises(
        InvalidArgumentError, match=r"not PosixPath; write 'sqlite:///n\.db' or 'file:n\.db'"
    ):
        MemoryManager(Path("n.db"), user_id=1)  # type: ignore[arg-type]


@for_each("url", ["postgres://u@h/d", "postgresql://u@h/d", "postgresql+psycopg://u@h/d"])
def test_postgresql_means_psycopg(url: str) -> None:
    """Every usual way to write a PostgreSQL URL leads to psycopg 3."""
    assert "postgresql+psycopg" == urls.store_url(url).drivername


@pytest.mark.long
def test_missing_driver(tmp_path: Path) -> None:
    """Without psycopg a PostgreSQL store says what to install; SQLite works."""
    (tmp_path / "psycopg.py").write_text("raise ImportError('no psycopg here')")
    code = (
        "from memory_context import MemoryManager\n"
        "from memory_context.exceptions import MissingDependencyError\n"
        "MemoryManager('sqlite://', user_id=1).store('x')\n"
        "try: MemoryManager('postgresql://h/d', user_id=1).store('x')\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )

    assert "pip install 'psycopg[binary]'" in run.stdout
    assert issubclass(MissingDependencyError, ImportError)


def test_unreachable_server() -> None:
    """A server that is not there is one clear error, which names it without its password."""
    store = SQLAlchemyStore("postgresql+psycopg://ann:hidden@127.0.0.1:1/none")

    with pytest.raises(StoreUnavailableError, match=r"ann:\*\*\*@127.0.0.1:1/none") as caught:
        store.count(ANN)

    assert "hidden" not in str(caught.value)


def test_unreachable_file(tmp_path: Path) -> None:
    """A folder that is not there is one clear error, which names it."""
    with pytest.raises(
        StoreUnavailableError,
        match=f"unable to open database file: there is no folder '{tmp_path}/nowhere'",
    ):
        SQLAlchemyStore(f"sqlite:///{tmp_path}/nowhere/memory.db").count(ANN)


def test_a_disk_without_room(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be opened because the disk has no room is an error at once, which says so."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        manager.store("a note")
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("this will not pass"))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, unlimited[1]))
    try:
        with pytest.raises(StoreUnavailableError, match="the disk may be full"):
            SQLAlchemyStore(sqlite_url).count(ANN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        signal.signal(signal.SIGXFSZ, handler)


def set_for_all(url: str, setting: str) -> None:
    """Change a setting of a PostgreSQL database, for all later connections."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'ALTER DATABASE "{engine.url.database}" SET {setting}')
    engine.dispose()


def test_postgresql_with_another_isolation(postgres_url: str) -> None:
    """Transactions wait for locks, as they need to, also where an administrator has chosen another level as the default."""
    set_for_all(postgres_url, "default_transaction_isolation = 'serializable'")
    with SQLAlchemyStore(postgres_url) as store:
        level = store.database.write(lambda connection: connection.scalar(sa.text(LEVEL)))
    assert "read committed" == level


def test_a_time_that_python_does_not_have(postgres_url: str) -> None:
    """A row of another program's that psycopg cannot read is an error of the store, and other rows are read."""
    with SQLAlchemyStore(postgres_url) as store:
        manager = MemoryManager(store, user_id="ann")
        manager.store("text", key="kept")
        forever = "UPDATE agent_memories SET memory_key = 'forever', expires_at = 'infinity'"
        store.database.write(lambda connection: connection.exec_driver_sql(forever))
        manager.store("text", type="note", tier="global", key="other")
        with pytest.raises(StoreError, match="infinity"):
            manager.get("forever")
        assert "text" == manager.retrieve("other")


@for_each(
    "column, value",
    [("content_metadata", "no JSON"), ("tags", "no JSON"), ("created_at", "yesterday")],
)
def test_a_value_of_another_form(tmp_path: Path, column: str, value: str) -> None:
    """A row of another program's that cannot be read in SQLite is an error of the store, and other rows are read."""
    with SQLAlchemyStore(f"sqlite:///{tmp_path}/{column}.db") as store:
        manager = MemoryManager(store, user_id="ann")
        manager.store("text", key="odd")
        manager.store("text", type="note", tier="global", key="other")
        change = f"UPDATE agent_memories SET {column} = ? WHERE memory_key = 'odd'"
        store.database.write(lambda connection: connection.exec_driver_sql(change, (value,)))
        with pytest.raises(StoreError, match=f"{column}.db: a row that another program wrote"):
            manager.get("odd")
        assert "text" == manager.retrieve("other")


def test_postgresql_with_dates_of_another_style(postgres_url: str) -> None:
    """The style in which a server writes dates is its administrator's choice: times are read all the same."""
    set_for_all(postgres_url, "datestyle = 'German'")
    before = now()
    with MemoryManager(postgres_url, user_id="ann") as manager:
        manager.store("text", key="kept")
        assert before <= manager.get("kept").created_at <= now()


@for_each("encoding", ["LATIN1", "SQL_ASCII"])
def test_postgresql_with_another_encoding(postgres_url: str, encoding: str) -> None:
    """A database that cannot hold every character is an error that says so, before anything is made."""
    name = f"of_{encoding.lower()}"
    engine = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        ddl = f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'"
        connection.exec_driver_sql(ddl)
        try:
            with (
                SQLAlchemyStore(sa.make_url(postgres_url).set(database=name)) as store,
                pytest.raises(StoreError, match=f"encoding {encoding}, .* needs UTF8"),
            ):
                store.count(ANN)
        finally:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


def test_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store the variable names it; without that it is memory.db in the working directory of that moment."""
    with MemoryManager(user_id=1) as manager:
        monkeypatch.chdir("/")
        manager.store("x")
    assert (tmp_path / "memory.db").exists()

    monkeypatch.setenv("MEMORY_CONTEXT_STORE", f"sqlite:///{tmp_path}/other.db")
    with MemoryManager(user_id=1) as manager:
        manager.store("x")
    assert (tmp_path / "other.db").exists()


@for_each(
    "url",
    [
        "postgresql+psycopg://u:hunter2@h:x1/db", " postgresql+psycopg://u:hunter2@h/db", "//u:hunter2@h/db",
        "postgresql+psycopg://u:hunter2", "postgresql:u:hunter2@h",
        "file://u:hunter2@h/x", "encrypted+file://u:hunter2@h/x", "redacted+postgresql://u:hunter2@h:x1/db",
    ],
)  # fmt: skip
def test_no_password_in_errors(url: str) -> None:
    """Of a URL that cannot be read, the error shows no part in which a password may stand, nor does its cause."""
    with pytest.raises(MemoryContextError) as caught:
        as_store(url)

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_password_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PostgreSQL URL without a password takes it from the variable that is named; its own password stays."""
    monkeypatch.setenv("MEMORY_CONTEXT_STORE_PASSWORD", "general")
    monkeypatch.setenv("MINE", "special")

    assert "general" == urls.store_url("postgresql://ann@h/d").password
    assert "special" == urls.store_url("postgresql://ann@h/d", "MINE").password
    assert "own" == urls.store_url("postgresql://ann:own@h/d").password
    assert urls.store_url("sqlite:///x.db").password is None


def test_url_of_a_store(tmp_path: Path) -> None:
    """A store tells the URL for another process, never with the password; one in memory has none."""
    assert "postgresql+psycopg://ann@h/d" == SQLAlchemyStore("postgresql://ann:hidden@h/d").url
    assert (
        "postgresql+psycopg://h/d?sslmode=require"
        == SQLAlchemyStore("postgresql://h/d?password=x&sslmode=require").url
    )
    assert "hidden" not in repr(SQLAlchemyStore("postgresql://ann:hidden@h/d"))
    assert SQLAlchemyStore("sqlite://").url is None
    assert f"sqlite:///{tmp_path / 'x.db'}" == SQLAlchemyStore("sqlite:///x.db").url


def test_in_memory_databases_are_apart() -> None:
    """Each in-memory store is a database of its own, the same one from every thread."""
    one, other = SQLAlchemyStore("sqlite://"), SQLAlchemyStore("sqlite:///:memory:")
    manager = MemoryManager(one, user_id="ann")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: manager.store(f"text {i}"), range(100)))

    assert (100, 0) == (one.count(ANN), other.count(ANN))
    one.close()
    other.close()


def test_engines_are_shared(sqlite_url: str) -> None:
    """Stores on one URL share an engine, until the last of them is closed."""
    one, other = SQLAlchemyStore(sqlite_url), SQLAlchemyStore(sqlite_url)
    one.count(ANN)
    other.count(ANN)
    engine = engine_setup.registry.acquire(urls.store_url(sqlite_url))
    engine_setup.registry.release(engine)
    one.close()
    assert 0 == other.count(ANN)
    assert engine is engine_setup.registry.acquire(urls.store_url(sqlite_url))
    engine_setup.registry.release(engine)
    other.close()

    fresh = engine_setup.registry.acquire(urls.store_url(sqlite_url))
    engine_setup.registry.release(fresh)
    assert fresh is not engine


def test_own_engine(store_url: str) -> None:
    """An engine of the caller's is used as it is, and stays open."""
    engine = engine_setup.make_engine(sa.make_url(store_url))
    with MemoryManager(engine, user_id="ann") as manager:
        key = manager.store("x")

    with engine.connect() as connection:
        assert [key] == list(
            connection.execute(sa.text("SELECT memory_key FROM agent_memories")).scalars()
        )
    engine.dispose()


def test_plain_engine_of_another_application(sqlite_url: str) -> None:
    """An engine with SQLAlchemy's own settings serves both its application and the store, also with 8 threads."""
    engine = sa.create_engine(sqlite_url)
    manager = MemoryManager(engine, user_id="ann")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: manager.store(f"text {i % 10}"), range(80)))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE theirs (x)"))

    assert 10 == manager.memory_store.count(ANN)
    engine.dispose()


def test_own_pool(tmp_path: Path, postgres_url: str) -> None:
    """A connection pool of the caller's is enough; the database is recognised by its connections."""
    path = tmp_path / "pool.db"
    pools = [
        sa.QueuePool(lambda: sqlite3.connect(path, check_same_thread=False)),  # type: ignore[arg-type] # a DB-API connection
        sa.create_engine(postgres_url).pool,
    ]
    for pool in pools:
        manager = MemoryManager(pool, user_id="ann")
        assert "x" == manager.retrieve(manager.store("x"))
        manager.close()
        assert pool.connect() is not None
        pool.dispose()


def test_ends_are_committed(postgres_url: str) -> None:
    """Memories end at another moment for all who read them, on an engine, a bare pool, and where somebody listens."""
    listened = sa.create_engine(postgres_url)
    sa.event.listen(listened, "before_cursor_execute", lambda *_: None)
    engines = [sa.create_engine(postgres_url), listened]
    tomorrow = now() + timedelta(days=1)
    for source in (engines[0], listened, engines[0].pool):
        manager = MemoryManager(source, user_id="ann")
        keys = [manager.store(text) for text in ("x", "y")]
        items = manager.memory_store.get_many(manager.scope, keys)
        ends = [(item, tomorrow) for item in items]
        assert 2 == manager.memory_store.expire_at(manager.scope, ends)
        with SQLAlchemyStore(postgres_url) as reader:
            assert 2 == reader.count(manager.scope, {"expires_at": tomorrow})
            reader.clear(manager.scope)
        manager.close()
    for engine in engines:
        engine.dispose()


def test_pool_of_another_database() -> None:
    """A pool of something else is named."""
    pool = sa.QueuePool(object)  # type: ignore[arg-type] # no connection at all

    with pytest.raises(
        UnsupportedDatabaseError, match="a pool of builtins connections is not supported"
    ):
        MemoryManager(pool, user_id="ann")


def _store_in_child(manager: MemoryManager, key: str, queue: multiprocessing.Queue[str]) -> None:
    queue.put(manager.retrieve(manager.store("from the child", key=key)))  # type: ignore[arg-type] # text went in


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_fork(request: pytest.FixtureRequest, fixture: str) -> None:
    """A store that was open when the process forked works in parent and child."""
    manager = MemoryManager(request.getfixturevalue(fixture), user_id="ann")
    manager.store("from the parent", key="parent")
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[str] = context.Queue()

    child = context.Process(target=_store_in_child, args=(manager, "child", queue))
    child.start()
    answer = queue.get(timeout=600)
    child.join()

    assert ("from the child", 0) == (answer, child.exitcode)
    assert "from the child" == manager.retrieve("child")
    manager.close()


_WRITER = """
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from memory_context import MemoryManager
manager = MemoryManager(sys.argv[1], user_id="ann", agent_id=sys.argv[2])
def work(index):
    manager.store(f"shared {index}", source=f"agent {sys.argv[2]}")
    key = manager.store(f"own {sys.argv[2]} {index}", key=f"own-{sys.argv[2]}-{index}")
    manager.retrieve(key)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(work, range(40)))
"""


@pytest.mark.long
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_many_processes(request: pytest.FixtureRequest, fixture: str) -> None:
    """Four processes with two threads each lose nothing, fail nowhere and make no duplicate."""
    url = request.getfixturevalue(fixture)
    commands = [[sys.executable, "-c", PATIENT + _WRITER, url, str(agent)] for agent in range(4)]

    processes = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands
    ]
    errors = [process.communicate()[1] for process in processes]

    assert [""] * 4 == errors
    with MemoryManager(url, user_id="ann") as manager:
        items = list(manager.memory_store.list_all(manager.scope))
    assert 40 + 4 * 40 == len(items)
    assert 40 == sum(item.identity is not None for item in items)
    assert 160 == sum(item.access_count for item in items)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """In the body nobody can write in a folder, root neither: another user goes on."""
    is_root = os.geteuid() == 0
    paths = [*folder.iterdir(), folder]
    for path in paths:
        path.chmod(0o555)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o755)


def test_file_that_can_only_be_read() -> None:
    """A database on a read-only file system is read and searched; what writes says so."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/memory.db"
        with MemoryManager(url, user_id="ann") as manager:
            manager.store("the harbour is closed", key="note")
        with read_only(folder), MemoryManager(url, user_id="ann") as manager:
            assert "the harbour is closed" == manager.retrieve("note")
            assert ["note"] == [hit.memory_key for hit in manager.search("harbour")]
            with pytest.raises(StoreError, match="readonly database"):
                manager.store("more")


def _age(url: str, statement: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def _reading_urls(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Yield URLs of databases, each with one by which it can only be read."""
    file = request.getfixturevalue("sqlite_url")
    yield file, f"{file.replace('///', '///file:')}?mode=ro&uri=true"
    for option in ("role%3Dpg_read_all_data", "default_transaction_read_only%3Don"):
        server = request.getfixturevalue("postgres_databases")()
        yield server, f"{server}{'&' if '?' in server else '?'}options=-c%20{option}"


def test_read_only_database_with_an_older_index(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """It is read, and searched with the index that it has, which cannot be built anew; nothing is tried and warned of."""
    for url, reading_url in _reading_urls(request):
        with MemoryManager(url, user_id="ann") as manager:
            manager.store("the harbour is closed", key="note")
        _age(url, "UPDATE agent_memory_settings SET value = '1' WHERE name = 'analyzer'")
        with MemoryManager(reading_url, user_id="ann") as manager:
            assert ["note"] == [hit.memory_key for hit in manager.search("harbour")]
            assert "the harbour is closed" == manager.retrieve("note")
            with pytest.raises(StoreError, match=r"read-?only|permission denied"):
                manager.store("more")
    assert [] == caplog.messages


def test_read_only_database_without_a_schema(request: pytest.FixtureRequest) -> None:
    """What is empty and can only be read says so, and where a schema can be made."""
    for url, reading_url in _reading_urls(request):
        _age(url, "SELECT 1")  # makes the file
        with (
            MemoryManager(reading_url, user_id="ann") as manager,
            pytest.raises(
                SchemaVersionError, match=r"no schema yet.*`memory-context migrate` where"
            ),
        ):
            manager.retrieve("note")


def test_read_only_database_that_is_not_encrypted(request: pytest.FixtureRequest) -> None:
    """Who opens it with encryption is told that it has to be encrypted where it can be written."""
    codec = Encrypted({"k": b"k" * 32}, accept_plain=True)
    for url, reading_url in _reading_urls(request):
        with MemoryManager(url, user_id="ann") as manager:
            manager.store("the harbour is closed", key="note")
        with (
            SQLAlchemyStore(reading_url, codec=codec) as store,
            pytest.raises(EncryptionError, match=r"only be read here.*`reencrypt` where"),
        ):
            store.get(ANN, "note")


def test_a_right_that_is_granted_and_revoked(postgres_url: str) -> None:
    """Who may write from now on counts reads from now on, and who may no longer reads on; both without a new process."""
    role = "role%3Dpg_read_all_data"
    reading_url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-c%20{role}"
    with (
        MemoryManager(postgres_url, user_id="ann") as owner,
        MemoryManager(reading_url, user_id="ann") as reader,
    ):
        owner.store("the harbour is closed", key="note")

        def reads() -> int:
            reader.retrieve("note")
            item = owner.get("note")
            assert item is not None
            return item.access_count

        assert 0 == reads()
        _age(postgres_url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO pg_read_all_data")
        assert 1 == reads()
        _age(postgres_url, "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM pg_read_all_data")
        with pytest.raises(StoreError, match="permission denied"):
            reader.store("more")
        assert 1 == reads()
        assert [1] == [len(reader.search("harbour"))]


def test_read_only_file_with_an_older_schema(sqlite_url: str) -> None:
    """Its schema cannot be upgraded: the error says where to do so."""
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        manager.store("the harbour is closed", key="note")
    _age(sqlite_url, "UPDATE memory_context_version SET version_num = '0008'")
    reading_url = f"{sqlite_url.replace('///', '///file:')}?mode=ro&uri=true"
    with (
        MemoryManager(reading_url, user_id="ann") as manager,
        pytest.raises(SchemaVersionError, match="`memory-context migrate` where"),
    ):
        manager.retrieve("note")


def test_read_only_file_with_an_older_index() -> None:
    """It is searched with the index that it has."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/memory.db"
        with MemoryManager(url, user_id="ann") as manager:
            manager.store("the harbour is closed", key="note")
        _age(url, "UPDATE agent_memory_settings SET value = '1' WHERE name = 'analyzer'")
        with read_only(folder), MemoryManager(url, user_id="ann") as manager:
            assert ["note"] == [hit.memory_key for hit in manager.search("harbour")]


def test_read_only_file_with_its_log() -> None:
    """What stands only in the log of a database that cannot be written is read, too."""
    with tempfile.TemporaryDirectory() as name:
        used, copy = Path(name, "used"), Path(name, "copy")
        used.mkdir()
        with MemoryManager(f"sqlite:///{used}/memory.db", user_id="ann") as manager:
            manager.store("the harbour is closed", key="note")
            shutil.copytree(used, copy)
        assert Path(copy, "memory.db-wal").stat().st_size
        Path(name).chmod(0o755)
        url = f"sqlite:///{copy}/memory.db"
        with read_only(copy), MemoryManager(url, user_id="ann") as manager:
            assert "the harbour is closed" == manager.retrieve("note")


def test_read_only_file_that_somebody_else_writes() -> None:
    """Whoever has read a database that cannot be written here sees what others write to it later, after one error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/memory.db"
        with MemoryManager(url, user_id="ann") as manager:
            manager.store("the harbour is closed", "closed", key="note")
        with MemoryManager(url, user_id="ann") as reader:
            with read_only(folder):
                assert "closed" == reader.get("note").summary
            # As from another machine, which begins a log.
            with closing(sqlite3.connect(folder / "memory.db")) as writer:
                writer.execute("UPDATE agent_memories SET summary = 'open again'")
                writer.commit()
                with read_only(folder):
                    with pytest.raises(StoreUnavailableError, match="while it was open"):
                        reader.get("note")
                    assert "open again" == reader.get("note").summary


def test_statements_are_kept_by_shape(sqlite_url: str) -> None:
    """A hundred conversations that read by key leave no hundred statements behind."""
    with SQLAlchemyStore(sqlite_url) as store:
        store.get(Scope("ann", thread_id="t", places=frozenset({("session", "t")})), "k")
        kept = sqlalchemy_store._by_key.cache_info().currsize  # noqa: SLF001
        for number in range(100):
            places = frozenset({("session", f"t{number}")})
            store.get(Scope(f"user-{number}", thread_id=f"t{number}", places=places), "k")
        assert kept == sqlalchemy_store._by_key.cache_info().currsize  # noqa: SLF001


def test_a_read_of_what_is_being_deleted(postgres_url: str) -> None:
    """Reads are counted while another process deletes one of the memories: that one is left out, and nothing fails."""
    waiting = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    with SQLAlchemyStore(postgres_url) as store, ThreadPoolExecutor(1) as pool:
        manager = MemoryManager(store, user_id="ann")
        for key in ("doomed", "kept"):
            manager.store("text", key=key)
        engine = sa.create_engine(postgres_url)
        # Within a transaction, the server would always show the same activity.
        watcher = engine.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as deleting, watcher.connect() as watching:
            deleting.execute(sa.text("DELETE FROM agent_memories WHERE memory_key = 'doomed'"))
            touched = pool.submit(store.touch, ANN, ["doomed", "kept"])
            while not watching.execute(waiting).scalar_one():
                assert not touched.done()
            deleting.commit()
            assert touched.result() == 1
        engine.dispose()


def test_records_are_locked_in_the_order_of_their_keys(postgres_url: str) -> None:
    """Reads, evictions and restores that wait for one record have not locked those whose keys come later."""
    # Read in the order of the rows, so that the order of the locks is not that of an index by luck.
    scans = "options=-c%20enable_indexscan%3Doff%20-c%20enable_bitmapscan%3Doff"
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}{scans}"
    # Within a transaction, the server would always show the same activity.
    engine = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    waits = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    backwards = [MemoryItem(user_id="ann", memory_key=key, content=key) for key in "dcba"]

    def lock(connection: sa.Connection, item: MemoryItem) -> None:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '500ms'")
        insert_records(connection, [replace(item, id=uuid4())])
        connection.execute(
            sa.select(memories.c.id).filter_by(memory_key=item.memory_key).with_for_update()
        )

    with (
        SQLAlchemyStore(url) as store,
        SQLAlchemyStore(postgres_url) as holder,
        ThreadPoolExecutor(1) as pool,
    ):
        for item in backwards[2:]:
            store.put(ANN, item)
        for verb, first, second in (
            (lambda: store.touch(ANN, ["b", "a"]), 3, 2),
            (
                lambda: store.database.write(
                    eviction_and_quota.evict, [memories.c.user_id == "ann"]
                ),
                3,
                2,
            ),
            (lambda: store.restore(ANN, backwards[:2]), 1, 0),
        ):

            def hold(connection: sa.Connection) -> Future[object]:
                lock(connection, backwards[first])  # noqa: B023 - called at once
                waiting = pool.submit(verb)  # noqa: B023 - as above
                with engine.connect() as watching:
                    while not watching.execute(waits).scalar_one():
                        assert not waiting.done()
                lock(connection, backwards[second])  # noqa: B023 - as above
                return waiting

            holder.database.write(hold).result()
    engine.dispose()


def test_a_connection_that_the_server_closed() -> None:
    """A store whose connection was closed is unavailable, whatever class the driver's error has."""

    def idle(_: sa.Connection) -> None:
        ended = psycopg.errors.IdleInTransactionSessionTimeout("terminating connection")
        raise InternalError("SELECT 1", None, ended, connection_invalidated=True)

    with (
        SQLAlchemyStore("sqlite://") as store,
        pytest.raises(StoreUnavailableError, match="terminating connection"),
    ):
        store.database.write(idle)


def test_a_pooler_that_changes_the_connection(postgres_url: str) -> None:
    """If a prepared statement is not on this connection, as behind PgBouncer, the error says what the URL lacks."""
    says = r"does not exist: .*\?prepare_threshold=none"
    with SQLAlchemyStore(postgres_url) as store, pytest.raises(StoreError, match=says):
        store.database.write(lambda connection: connection.exec_driver_sql("DEALLOCATE gone"))


def test_records_replaced_while_another_process_deletes_and_stores(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a memory is deleted while it is to be replaced, all begins again; no row stays locked for which another waits."""
    module = insert_overwrite_or_reuse
    impatient = sa.create_engine(postgres_url, connect_args={"options": "-c lock_timeout=1000"})
    with (
        MemoryManager(postgres_url, user_id="ann") as manager,
        MemoryManager(impatient, user_id="ann") as other,
    ):
        manager.store("old", key="a")
        find, insert = module._by_key, insert_records  # noqa: SLF001 - moments between two statements
        inserted = list[bool]()

        def find_deleted(connection: sa.Connection, item: MemoryItem) -> MemoryItem | None:
            other.forget("a")
            return find(connection, item)

        def insert_after_another(connection: sa.Connection, items: list[MemoryItem]) -> set[UUID]:
            if len(items) == 1:  # that of `other`
                return insert(connection, items)
            monkeypatch.setattr(module, "_by_key", find if inserted else find_deleted)
            if inserted:
                other.store("theirs", key="b")
            inserted.append(True)
            return insert(connection, items)

        monkeypatch.setattr(module, "insert_records", insert_after_another)
        notes = [MemoryItem(user_id="ann", memory_key=key, content="ours") for key in "ab"]
        manager.replace_all([(note, "a note") for note in notes])

        assert ["ours", "ours"] == [manager.retrieve(key) for key in "ab"]
    impatient.dispose()


def test_a_full_tier_of_which_another_process_deletes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the memory to be evicted is deleted meanwhile, there is room, and none is evicted."""
    with (
        MemoryManager(postgres_url, user_id="ann") as manager,
        MemoryManager(postgres_url, user_id="ann") as other,
    ):
        capacity = Capacity(max_items=2, max_chars=None, evict=0.1)
        for key in "ab":
            manager.store("x", key=key, tier="global", room=capacity)

        def deleted_first(*_: object) -> list[str]:
            monkeypatch.undo()
            other.forget("a")
            return []  # as the statement would, having waited for the row

        monkeypatch.setattr(eviction_and_quota, "evict", deleted_first)
        manager.store("x", key="c", tier="global", room=capacity)

        assert {"b", "c"} == {item.memory_key for item in manager.search("")}


def test_a_memory_replaced_while_another_process_empties_the_index(postgres_url: str) -> None:
    """A memory that is replaced meanwhile is indexed once, and its chunks are counted once."""
    with (
        MemoryManager(postgres_url, user_id="ann") as manager,
        SQLAlchemyStore(postgres_url) as other,
        ThreadPoolExecutor() as pool,
    ):
        manager.store("the old text", key="k")
        with other.database.engine.begin() as connection:
            keyword_index.reset(connection)
            replacing = pool.submit(manager.store, "the new text", key="k", replace=True)
            while not connection.scalar(sa.text(WAITING)):
                pass
        replacing.result()

        assert ["k"] == [item.memory_key for item in manager.search("new")]
        assert [] == other.database.read(indexing.pending_memories)
        totals = sa.select(
            owners.c.passages, sa.select(sa.func.count(passages.c.id)).scalar_subquery()
        )
        assert [(1, 1)] == other.database.rows(totals)


def test_a_deadlock_is_tried_again(postgres_url: str) -> None:
    """Of two transactions that wait for each other, PostgreSQL rolls one back; it runs again after the other."""
    with MemoryManager(postgres_url, user_id="ann") as manager, ThreadPoolExecutor() as pool:
        for key in "ab":
            manager.store(key, key=key)
        database = SQLAlchemyStore(postgres_url).database
        both_hold_one = Barrier(2, timeout=60)
        runs = list[str]()

        def lock_both(connection: sa.Connection, first: str, second: str) -> None:
            is_first_run = len(runs) < 2
            runs.append(first)
            lock = sa.select(memories.c.id).with_for_update()
            connection.execute(lock.filter_by(memory_key=first)).all()
            if is_first_run:
                both_hold_one.wait()
            connection.execute(lock.filter_by(memory_key=second)).all()

        one = pool.submit(database.write, lock_both, "a", "b")
        other = pool.submit(database.write, lock_both, "b", "a")
        one.result(60)
        other.result(60)

        assert len(runs) > 2


def test_a_newer_schema_that_can_only_be_read(tmp_path: Path) -> None:
    """The advice is to upgrade the library; a migration cannot help."""
    file = tmp_path / "a.db"
    with MemoryManager(f"sqlite:///{file}", user_id="ann") as manager:
        manager.store("the harbour", key="note")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE memory_context_version SET version_num = '0099'")
    url = f"sqlite:///file:{file}?mode=ro&uri=true"
    with MemoryManager(url, user_id="ann") as reader, pytest.raises(SchemaVersionError) as error:
        reader.retrieve("note")
    assert "upgrade memory-context" in str(error.value)


def test_replacing_all_with_one_key_or_id_twice() -> None:
    """Of records under one key the last one stays; one id under two keys is refused."""
    store = SQLAlchemyStore("sqlite://")
    one, other = (MemoryItem(user_id="ann", memory_key="k", content=text) for text in ("x", "y"))
    store.replace_all(ANN, [one, other])
    assert [item.content for item in store.query(ANN)] == ["y"]
    same = [replace(one, memory_key=key) for key in "ab"]
    with pytest.raises(KeyExistsError, match="same id"):
        store.replace_all(ANN, same)


def test_a_long_text_that_replaces_another_is_indexed_at_once() -> None:
    """Also if it takes over the id of the memory that it replaces, together with others."""
    store = SQLAlchemyStore("sqlite://")
    store.put(ANN, MemoryItem(user_id="ann", memory_key="k", content="x"))
    long = MemoryItem(user_id="ann", memory_key="k", content="long lighthouse " * 40_000)
    store.replace_all(ANN, [long])
    assert [] == store.database.read(indexing.pending_memories)
