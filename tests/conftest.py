"""What the tests share: a real PostgreSQL, databases of their own, a model that cannot be a real one."""

from __future__ import annotations

import functools
import gc
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from memory_context.model import generated_keys
from memory_context.stores.sql import engine_setup, migrate, prepared_statements
from memory_context.stores.sql.schema import metadata
from memory_context.testing import seeded_keys
from memory_context.testing.host_contract import OPTION as RECORDINGS
from memory_context.testing.host_contract import (
    pytest_addoption as pytest_addoption,  # --recordings DIR
)

# No example has a deadline, and slow ones are no failure: both would measure the machine.
# What must pass before a commit lands tries the same examples each time: `quick` few of them, `long` more.
# `fuzz` tries others in each run: what it finds becomes an `@example`.
settings.register_profile(
    "quick",
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz",
    max_examples=1000,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")

# The hosts are a million objects that stay, and each full collection would visit them all.
gc.set_threshold(50_000, 20, 100)
# The clients of hosts each read the machine's certificates, which takes 100 ms, for servers without TLS.
_tls_context = functools.cache(ssl.create_default_context)


def _renders_alike(dialect: DefaultDialect, other: object) -> bool:
    """Whether both write a statement in the same words."""
    return isinstance(other, type(dialect)) and (
        dialect.server_version_info == other.server_version_info
    )


# A program compiles a statement once for its database. The tests open thousands, and would spend a tenth of their time
# on compiling the same statements for each: here all databases of a kind share what was compiled.
_compiled: MutableMapping[Any, Any] = LRUCache(10_000)
sa.Engine._compiled_cache = property(lambda _: _compiled, lambda *_: None)  # type: ignore[assignment] # noqa: SLF001
DefaultDialect.__hash__ = lambda dialect: hash(type(dialect))  # type: ignore[method-assign,assignment]
DefaultDialect.__eq__ = _renders_alike  # type: ignore[method-assign,assignment]
_compile_once = functools.cache(prepared_statements._Compiled)  # noqa: SLF001
prepared_statements._Compiled = lambda statement, dialect, columns: (  # type: ignore[assignment,misc] # noqa: SLF001
    _compile_once(statement, dialect, columns and tuple(columns))
)
# A process of the command line builds its verbs once, too. Beside LangChain 0.3 there is no command line.
with suppress(ModuleNotFoundError):
    import typer.main

    typer.main.get_command = functools.cache(typer.main.get_command)
# Hypothesis would take constants of the modules that are loaded for examples: others in each file of tests, and it reads
# all of them first. What is tried must not depend on how the suite was started.
providers._get_local_constants = Constants  # noqa: SLF001 - it has no setting

POSTGRES_VARIABLE = "MEMORY_CONTEXT_TEST_POSTGRES"
TOLD = "told"
# Files and tests that use a store through its protocol only: what PostgreSQL does differently, its own tests find.
ABOVE_THE_STORE = {
    "test_a_tier_ranks_as_everything_does",
    "test_assembly",
    "test_builder",
    "test_consolidation",
    "test_conversation",
    "test_each_action_of_an_agent",
    "test_lifecycle",
    "test_long_question_in_a_tier",
    "test_manager",
    "test_notes_autogen",
    "test_notes_langchain",
    "test_observability",
    "test_redaction_at_the_doors",
    "test_sql_memory",
    "test_teams",
    "test_tiers",
    "test_transfer",
    "test_ui",
}
STORES = (pytest.param("memory", marks=pytest.mark.long), "file", "postgresql")


@pytest.fixture(autouse=True)
def repeatable_keys() -> Iterator[None]:
    """Each test generates the same keys in every run, and so prompts of the same length."""
    with seeded_keys(0):
        yield


@pytest.fixture
def drawn_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that nobody can guess, as they are outside of tests; those of a seed are not trusted in an agent's words."""
    monkeypatch.setattr(generated_keys, "process_source", SystemRandom())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server: the one that the variable names, or one of our own for this run."""
    if url := os.environ.get(POSTGRES_VARIABLE):
        yield url
        return
    from own_postgres import started  # noqa: PLC0415 - only where no server is given

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)[:12]
    server = started(Path(tempfile.gettempdir()) / f"pg-{run}")
    # No test of this server crashes it, so that nothing needs to reach the disk.
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            admin.execute(f"ALTER SYSTEM SET {setting} TO off")
        admin.execute("SELECT pg_reload_conf()")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()


@pytest.fixture(scope="session")
def _emptied_databases() -> list[str]:
    """Databases of the server that a test has left and the next may take: to make one takes half a second of it."""
    return []


_DISCONNECT = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s"


@pytest.fixture
def postgres_databases(
    postgres_server: str, _emptied_databases: list[str]
) -> Iterator[Callable[[], str]]:
    """Makes databases of the test's own, and gives their URLs."""
    admin = postgres_server.replace("+psycopg", "")
    before, _, query = postgres_server.partition("?")
    names: list[str] = []

    def url_of(server: str, name: str) -> str:
        return server.rpartition("/")[0] + f"/{name}" + (f"?{query}" if query else "")

    def make() -> str:
        if _emptied_databases:
            names.append(_emptied_databases.pop())
        else:
            names.append(f"test_{uuid4().hex}")
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{names[-1]}"')
        return url_of(before, names[-1])

    yield make
    for name in names:
        # Under a new name, so that what a test has left running (a thread, a process) finds no database any more.
        renamed = f"test_{uuid4().hex}"
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(_DISCONNECT, [name])
            try:
                connection.execute(f'ALTER DATABASE "{name}" RENAME TO "{renamed}"')
            except psycopg.errors.ObjectInUse:  # somebody has come back meanwhile
                renamed = name
        if renamed != name and _emptied(url_of(before.replace("+psycopg", ""), renamed)):
            _emptied_databases.append(renamed)
        else:
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute(f'DROP DATABASE "{renamed}" WITH (FORCE)')


def _emptied(url: str) -> bool:
    """Whether the database at *url* is as new: a test that made schemas or settings of its own leaves one that is not."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            others = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$|public$)' "
                "UNION ALL SELECT 'set' FROM pg_db_role_setting JOIN pg_database ON setdatabase = pg_database.oid "
                "WHERE datname = current_database()"
            ).fetchall()
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public AUTHORIZATION pg_database_owner")
            connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    except psycopg.Error:
        return False
    return not others


@pytest.fixture
def postgres_url(postgres_databases: Callable[[], str]) -> str:
    """The URL of a database of the test's own."""
    return postgres_databases()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite file of the test's own."""
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def folder_url(tmp_path: Path) -> str:
    """The URL of a folder of the test's own."""
    return f"file:{tmp_path / 'memories'}"


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database: in memory, in a file, on a server; or of a folder, where a test asks for it."""
    fixtures = {"file": "sqlite_url", "postgresql": "postgres_url", "folder": "folder_url"}
    return (
        "sqlite://"
        if request.param == "memory"
        else str(request.getfixturevalue(fixtures[request.param]))
    )


_tables_made_by: dict[str, list[str]] = {}


def _create_tables(connection: sa.Connection) -> None:
    """Create the tables as the first test did; SQLAlchemy takes 10 ms to write down the same statements again."""
    if sa.inspect(connection).get_table_names():
        metadata.create_all(connection)
    elif statements := _tables_made_by.get(connection.dialect.name):
        for statement in statements:
            connection.exec_driver_sql(statement)
    else:
        heard: list[str] = []

        def hear(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
            heard.append(statement)

        sa.event.listen(connection, "before_cursor_execute", hear)
        metadata.create_all(connection)
        sa.event.remove(connection, "before_cursor_execute", hear)
        _tables_made_by[connection.dialect.name] = [
            statement for statement in heard if statement.lstrip().startswith("CREATE")
        ]


@pytest.fixture(autouse=True)
def _made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of the tests has SQLAlchemy write down the tables once, and reads the machine's certificates once."""
    monkeypatch.setattr(ssl, "create_default_context", _tls_context)
    monkeypatch.setattr(migrate, "metadata", SimpleNamespace(create_all=_create_tables))


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says in a line what the test did: how many, how long. The lines stand at the end of what pytest prints."""
    return lambda line: request.node.user_properties.append((TOLD, line))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave PostgreSQL to the long suite where a test is far above it."""
    called_with = getattr(item, "callspec", None)
    names = {item.path.stem, getattr(item, "originalname", None)}
    if names & ABOVE_THE_STORE and called_with and "postgres" in called_with.id:
        item.add_marker(pytest.mark.long)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of recorded runs unless ``--recordings`` names a folder, so that none here is ever skipped."""
    if config.getoption(RECORDINGS) is None:
        left_out = [item for item in items if item.name == "test_recorded_runs"]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Leave what was imported out of every collection of garbage that follows."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests told; reports bring it from xdist's processes too."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    calls = [
        report
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    lines = [
        (report.nodeid, line)
        for report in calls
        for name, line in report.user_properties
        if name == TOLD
    ]
    if lines:
        terminalreporter.section("what the tests did")
    for test, line in lines:
        terminalreporter.line(f"{test}: {line}")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing pauses after a slow failure, and no database is given up soon: on a machine with much to do any is slow."""
    monkeypatch.setattr("memory_context.runtime.circuit_breaker.SLOW_FAILURE", 3600)
    monkeypatch.setattr("memory_context.stores.sql.replaced_sqlite_files.WAIT_SECONDS", 60)
    monkeypatch.setattr(
        "memory_context.stores.sql.index.embedding_of_chunks_and_questions.QUERY_SECONDS", 60
    )
    monkeypatch.setattr(engine_setup, "CONNECT_SECONDS", 60)
    monkeypatch.setattr(engine_setup, "BUSY_MILLISECONDS", 60_000)
    pragmas = engine_setup._SQLITE_PRAGMAS  # noqa: SLF001 - they are read when a file is opened
    monkeypatch.setattr(engine_setup, "_SQLITE_PRAGMAS", (*pragmas, "PRAGMA busy_timeout=60000"))


@pytest.fixture
def impatient(_patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SQLite database that others keep locked is given up after 200 ms."""
    monkeypatch.setattr(engine_setup, "BUSY_MILLISECONDS", 200)
    pragmas = engine_setup._SQLITE_PRAGMAS  # noqa: SLF001 - they are read when a file is opened
    monkeypatch.setattr(engine_setup, "_SQLITE_PRAGMAS", (*pragmas, "PRAGMA busy_timeout=200"))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test writes into the working directory, or reaches a paid model."""
    monkeypatch.chdir(tmp_path)
    for variable in ("MEMORY_CONTEXT_STORE", "MEMORY_CONTEXT_STORE_PASSWORD", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
