"""What the tests share: a real PostgreSQL, databases of their own, a model that cannot be a real one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import SystemRandom
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from memory_context.model import generated_keys
from memory_context.stores.sql import engine_setup
from memory_context.testing import seeded_keys
from memory_context.testing.host_contract import (
    pytest_addoption as pytest_addoption,  # --recordings DIR
)
from memory_context.testing.host_contract import (
    pytest_collection_modifyitems as pytest_collection_modifyitems,
)

# No example has a deadline, and slow ones are no failure: both would measure the machine.
# What must pass before a commit lands tries the same examples each time: `quick` few of them, `long` more.
# `fuzz` tries others in each run: what it finds becomes an `@example`.
settings.register_profile(
    "quick",
    max_examples=12,
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

POSTGRES_VARIABLE = "MEMORY_CONTEXT_TEST_POSTGRES"
TOLD = "told"
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
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()


@pytest.fixture
def postgres_databases(postgres_server: str) -> Iterator[Callable[[], str]]:
    """Makes databases of the test's own, and gives their URLs."""
    admin = postgres_server.replace("+psycopg", "")
    before, _, query = postgres_server.partition("?")
    names: list[str] = []

    def make() -> str:
        names.append(f"test_{uuid4().hex}")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{names[-1]}"')
        return before.rpartition("/")[0] + f"/{names[-1]}" + (f"?{query}" if query else "")

    yield make
    with psycopg.connect(admin, autocommit=True) as connection:
        for name in names:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


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


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says in a line what the test did: how many, how long. The lines stand at the end of what pytest prints."""
    return lambda line: request.node.user_properties.append((TOLD, line))


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
    monkeypatch.setattr("memory_context.stores.sql.file_watch.WAIT_SECONDS", 60)
    monkeypatch.setattr("memory_context.stores.sql.index.embedding_worker.QUERY_SECONDS", 60)
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
