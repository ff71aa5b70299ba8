"""Where large texts live: in the table, or in files beside the database; put, get, a part, delete.

    python benchmarks/large_texts.py [postgresql+psycopg://…]

Both ways take turns on the same texts, so that a busy machine slows both: compare the ratios. A put is durable in both:
SQLite syncs at each commit (``synchronous=FULL``), a file is written beside its place, synced, moved, and its folder
synced before the row that names it is committed. The rows are the raw driver's: the design is measured.
"""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

SIZES = {"20 KB": (20_000, 60), "50 MB": (50_000_000, 5)}
PART = 4000
WORDS = [f"word{number}" for number in range(5000)]
TABLE = "CREATE TABLE texts (id INTEGER PRIMARY KEY, path TEXT, content TEXT)"


def text_of(size: int, seed: int) -> str:
    """Lines of words, `size` characters long."""
    chosen = random.Random(seed)
    block = "\n".join(" ".join(chosen.choices(WORDS, k=12)) for _ in range(2000))
    return (f"{seed} " + block * (size // len(block) + 1))[:size]


@dataclass(slots=True)
class Way:
    """A connection, and the folder of the files if there is one."""

    connection: Any
    mark: str
    folder: Path | None = None
    taken: dict[tuple[str, str], list[float]] = field(
        default_factory=dict[tuple[str, str], list[float]]
    )

    def execute(self, sql: str, *values: object) -> Any:  # noqa: ANN401 - a cursor of either driver
        """Run a statement; ``?`` stands for values."""
        return self.connection.execute(sql.replace("?", self.mark), values)

    def put(self, number: int, text: str) -> None:
        """Keep a text durably."""
        path = None if self.folder is None else write(self.folder / f"{number}.txt", text)
        self.execute(
            "INSERT INTO texts VALUES (?, ?, ?)", number, path, text if path is None else None
        )
        self.connection.commit()

    def get(self, number: int, text: str) -> None:
        """Read all of it."""
        path, content = self.row(number, "content")
        found = content if path is None else Path(path).read_text("utf-8")
        assert found == text

    def part(self, number: int, text: str) -> None:
        """Read 4,000 characters from its middle."""
        start = len(text) // 2
        path, found = self.row(number, f"substr(content, {start + 1}, {PART})")
        if path is not None:
            with Path(path).open("rb") as file:
                file.seek(start)
                found = file.read(PART).decode()
        assert found == text[start : start + PART]

    def delete(self, number: int, text: str) -> None:
        """Forget it; the row first, so that no row names a file that is gone."""
        path, _ = self.row(number, "id")
        self.execute("DELETE FROM texts WHERE id = ?", number)
        self.connection.commit()
        if path is not None:
            Path(path).unlink()
        assert text

    def row(self, number: int, column: str) -> tuple[str | None, Any]:
        """The path, and something of the row."""
        found: tuple[str | None, Any] = self.execute(
            f"SELECT path, {column} FROM texts WHERE id = ?", number
        ).fetchone()
        self.connection.commit()
        return found


def write(path: Path, text: str) -> str:
    """A whole file or none, synced, and its folder too."""
    beside = path.with_suffix(".part")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    return str(path)


def sqlite_way(folder: Path, files: Path | None) -> Way:
    """A database of its own, as the library opens its own ones, but synced at each commit."""
    connection = sqlite3.connect(folder / ("files.db" if files else "rows.db"))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(TABLE)
    return Way(connection, "?", files)


def postgres_way(url: str, files: Path | None) -> Way:
    """A table of its own."""
    connection: Any = psycopg.connect(url.replace("+psycopg", ""))
    name = "texts_in_files" if files else "texts_in_rows"
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(TABLE.replace("texts", name))
    connection.commit()
    return _Renamed(connection, "%s", files, name=name)


@dataclass(slots=True)
class _Renamed(Way):
    """With another name for the table, since both are in one database."""

    name: str = ""

    def execute(self, sql: str, *values: object) -> Any:  # noqa: ANN401 - a cursor
        """Run a statement on this table."""
        return self.connection.execute(sql.replace("texts", self.name).replace("?", "%s"), values)


def measure(ways: dict[str, Way], size: str) -> None:
    """All verbs on texts of one size, taking turns."""
    length, times = SIZES[size]
    for verb in ("put", "get", "part", "delete"):
        for number in range(times):
            text = text_of(length, number)
            for way in ways.values():
                work: Callable[[int, str], None] = getattr(way, verb)
                started = time.perf_counter()
                work(number, text)
                way.taken.setdefault((size, verb), []).append(
                    (time.perf_counter() - started) * 1000
                )


def show(database: str, rows: Way, files: Way) -> None:
    """The lines of the table."""
    for size, verb in rows.taken:
        one, other = (statistics.median(way.taken[size, verb]) for way in (rows, files))
        print(f"| {database} | {size} | {verb} | {one:.2f} | {other:.2f} | {one / other:.2f} |")


def main() -> None:
    """Print the table."""
    print(
        "| database | text | verb | in rows, ms | in files, ms | rows / files |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        makers: dict[str, Callable[[Path | None], Way]] = {
            "SQLite": lambda files: sqlite_way(folder, files)
        }
        if len(sys.argv) > 1:
            makers["PostgreSQL"] = lambda files: postgres_way(sys.argv[1], files)
        for database, maker in makers.items():
            beside = folder / database
            beside.mkdir()
            ways = {"rows": maker(None), "files": maker(beside)}
            for size in SIZES:
                measure(ways, size)
            show(database, ways["rows"], ways["files"])
            for way in ways.values():
                way.connection.close()


if __name__ == "__main__":
    main()
