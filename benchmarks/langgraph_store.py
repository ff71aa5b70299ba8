"""`MemoryStoreAdapter` beside LangGraph's own stores: get, search, list_namespaces and put, as ratios.

    python benchmarks/langgraph_store.py [--items 10000] [--postgres URL]

Both stores hold the same items, a tenth of them in the namespace that is searched. Each operation runs in turns on
one and the other;
what is shown is the median of each in milliseconds, and how many times theirs ours takes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from rich.console import Console
from rich.table import Table

from langchain_memory_context import MemoryStoreAdapter
from memory_context import MemoryManager

ROUNDS = 15
BATCH = 100


def _namespace(number: int) -> tuple[str, ...]:
    return ("memories", f"user{number % 10}")


def _value(number: int) -> dict[str, Any]:
    return {"text": f"fact {number} on order {number * 7919}", "number": number}


def _filled(store: BaseStore, items: int) -> None:
    puts = [PutOp(_namespace(n), f"item{n}", _value(n)) for n in range(items)]
    for start in range(0, items, 500):
        store.batch(puts[start : start + 500])


def _operations(store: BaseStore, items: int) -> dict[str, Callable[[int], object]]:
    searched = _namespace(3)

    def put_batch(n: int) -> object:
        first = items * 10 + n * BATCH
        return store.batch(
            [PutOp(searched, f"many{first + i}", _value(first + i)) for i in range(BATCH)]
        )

    return {
        "get": lambda n: store.get(_namespace(n * 31), f"item{n * 31}"),
        "search": lambda _: store.search(searched, limit=10),
        "search, offset": lambda _: store.search(searched, limit=10, offset=500),
        "search, filter": lambda n: store.search(searched, filter={"number": n * 10 + 3}, limit=10),
        "list_namespaces": lambda _: store.list_namespaces(prefix=("memories",), limit=100),
        "put": lambda n: store.put(searched, f"new{n}", _value(items + n)),
        f"put, {BATCH} at once": put_batch,
    }


def _measured(ours: BaseStore, theirs: BaseStore, items: int, name: str) -> Table:
    _filled(theirs, items)
    began = time.perf_counter()
    _filled(ours, items)
    table = Table(
        f"{name}, {items:,} items", "theirs, ms", "ours, ms", "ratio",
        caption=f"ours was filled in {time.perf_counter() - began:.1f} s",
    )  # fmt: skip
    both = _operations(ours, items), _operations(theirs, items)
    for operation in both[0]:
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(1, ROUNDS + 1):
            for side in (0, 1):
                began = time.perf_counter()
                both[side][operation](number)
                times[side].append((time.perf_counter() - began) * 1000)
        mine, other = (statistics.median(one) for one in times)
        table.add_row(operation, f"{other:.2f}", f"{mine:.2f}", f"{mine / other:.1f}")
    return table


@contextmanager
def _ours(url: str) -> Iterator[BaseStore]:
    with MemoryManager(url, user_id="42") as manager:
        yield MemoryStoreAdapter(manager)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--postgres", help="an empty database, postgresql://…")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with (
            SqliteStore.from_conn_string(str(path / "theirs.db")) as theirs,
            _ours(f"sqlite:///{path / 'ours.db'}") as ours,
        ):
            theirs.setup()
            Console().print(_measured(ours, theirs, told.items, "SQLite"))
    if told.postgres:
        with (
            PostgresStore.from_conn_string(told.postgres) as theirs,
            _ours(told.postgres.replace("postgresql://", "postgresql+psycopg://")) as ours,
        ):
            theirs.setup()
            Console().print(_measured(ours, theirs, told.items, "PostgreSQL"))


if __name__ == "__main__":
    main()
