"""What a query over stored texts costs, beside the raw engine reading the same file.

    python benchmarks/queries.py [--megabytes 10]

Each row is a ratio of medians, measured in turns in one process. The floor is `csv.reader` into a SQLite table in memory,
without types and limits. DuckDB is measured too, where it is installed.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_context import MemoryManager

SQL = "SELECT region, sum(total), count(*) FROM {table} GROUP BY region ORDER BY region"
TURNS = 5
TABLES = 10
HEADER = "order_id,region,total,customer_id,day,who,note"


def orders(megabytes: float, seed: int) -> str:
    """A table of orders as CSV, of about that size."""
    rng = random.Random(seed)
    regions = ("north", "south", "east", "west")
    rows = [
        f"{number:06d},{rng.choice(regions)},{rng.random() * 1000:.2f},{rng.randrange(5000)},"
        f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 28):02d},customer {rng.randrange(99999)},a note"
        for number in range(int(megabytes * 17_500))
    ]
    return "\n".join([HEADER, *rows])


def raw(texts: list[str]) -> list[Any]:
    """The floor: the same rows in one table of SQLite's."""
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE orders ({HEADER})")
    for text in texts:
        rows = csv.reader(io.StringIO(text))
        next(rows)
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return database.execute(SQL.format(table="orders")).fetchall()


def by_duckdb(folder: str) -> Callable[[list[str]], Any] | None:
    """The same by DuckDB, which reads files; None where it is not installed."""
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ImportError:
        return None

    def run(texts: list[str]) -> list[Any]:
        for number, text in enumerate(texts):
            (Path(folder) / f"{number}.csv").write_text(text, encoding="utf-8")
        found = duckdb.connect(":memory:").execute(SQL.format(table=f"'{folder}/*.csv'"))
        return list(found.fetchall())

    return run


def measured(name: str, texts: list[str]) -> None:
    """Print the ratios for some texts."""
    memory = MemoryManager("sqlite://", user_id="bench")
    for number, text in enumerate(texts):
        memory.store(text, key=f"orders_{number}")
    table = '"orders_*"' if len(texts) > 1 else "orders_0"
    with tempfile.TemporaryDirectory() as folder:
        ways: dict[str, Callable[[list[str]], Any] | None] = {
            "raw": raw,
            "query": lambda _: memory.query(SQL.format(table=table)),
            "duckdb": by_duckdb(folder),
        }
        times: dict[str, list[float]] = {way: [] for way, run in ways.items() if run}
        for _ in range(TURNS):
            for way, run in ways.items():
                if run:
                    began = time.perf_counter()
                    run(texts)
                    times[way].append(time.perf_counter() - began)
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    told = ", ".join(f"{way} {taken / medians['raw']:.2f}" for way, taken in medians.items())
    print(f"{name}: raw {medians['raw']:.3f} s; ratios {told}")


def main() -> None:
    """Measure one large table, ten tables, and a small one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=10)
    megabytes = parser.parse_args().megabytes
    measured(f"one table of {megabytes:g} MB", [orders(megabytes, 1)])
    measured(
        f"{TABLES} tables of {megabytes / TABLES:g} MB",
        [orders(megabytes / TABLES, seed) for seed in range(TABLES)],
    )
    measured("one table of 0.3 MB", [orders(0.3, 1)])


if __name__ == "__main__":
    main()
