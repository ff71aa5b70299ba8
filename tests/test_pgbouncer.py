"""A real PgBouncer in transaction mode between a store and its PostgreSQL: `prepare_threshold=none` in the URL will do."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from memory_context import MemoryManager
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.testing import MemoryStoreContract

pytestmark = pytest.mark.long

PORT = 6432
SERVER_CONNECTIONS = 2
SECONDS = 300
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.fixture(scope="module")
def pooler(postgres_server: str) -> Iterator[str]:
    """The folder with the socket of a PgBouncer that shares two connections of the server among all clients."""
    if PROGRAM is None:
        pytest.fail(
            "no pgbouncer on the PATH or in /usr/sbin: on Debian, apt-get install pgbouncer"
        )
    url = sa.make_url(postgres_server)
    server = {
        "host": url.host or url.query.get("host"),
        "port": url.port or url.query.get("port"),
        "user": url.username,
        "password": url.password,
    }
    line = " ".join(f"{name}={value}" for name, value in server.items() if value)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # PgBouncer does not run as root
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n* = {line}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {folder}\n"
            f"listen_port = {PORT}\nauth_type = any\npool_mode = transaction\n"
            f"default_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\nlogfile = {folder}/log\n"
        )
        user = None
        if os.geteuid() == 0:
            socket = Path(str(server["host"]))
            user = socket.stat().st_uid if socket.is_dir() else "nobody"
        with subprocess.Popen([PROGRAM, "-q", str(file)], user=user) as process:
            _wait_for(folder, process)
            yield folder
            process.terminate()


def _wait_for(folder: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS
    while not (Path(folder) / f".s.PGSQL.{PORT}").exists():
        assert process.poll() is None, (Path(folder) / "log").read_text()
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def pooled_url(pooler: str, postgres_url: str) -> str:
    """The URL of a database of the test's own, by way of the pooler."""
    name = sa.make_url(postgres_url).database
    return f"postgresql+psycopg://agents@/{name}?host={pooler}&port={PORT}&prepare_threshold=none"


class TestPooledStore(MemoryStoreContract):
    """The contract, through the pooler."""

    @pytest.fixture
    def store(self, pooled_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(pooled_url) as store:
            yield store


def test_more_clients_than_connections(pooled_url: str) -> None:
    """Twelve threads on two connections of the server store, search, read and forget: nothing fails, nothing is lost."""
    stores = [SQLAlchemyStore(pooled_url) for _ in range(3)]
    MemoryManager(stores[0], user_id="first").store("creates the schema")

    def work(number: int) -> list[str]:
        manager = MemoryManager(stores[number % 3], user_id=f"user-{number % 4}")
        keys = [manager.store(f"order {number} {place} went to dock seven") for place in range(10)]
        for key in keys:
            assert manager.retrieve(key)
            assert manager.search("dock seven")
        manager.forget(keys[0])
        return keys[1:]

    with ThreadPoolExecutor(12) as pool:
        kept = list(pool.map(work, range(12)))

    for number, keys in enumerate(kept):
        manager = MemoryManager(stores[0], user_id=f"user-{number % 4}")
        assert all(manager.get(key) for key in keys)
    assert "prepare_threshold=none" in str(stores[0].url)
    for store in stores:
        store.close()
