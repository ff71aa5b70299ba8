"""`MemoryStoreAdapter` beside LangGraph's own stores: get, search, list_namespaces and put, as ratios.

    python benchmarks/langgraph_store.py [--items 10000] [--postgres URL] [--cpu] [--ttl MINUTES]

Both stores hold the same items, a tenth of them in the namespace that is searched. Each operation runs in turns on
one and the other; what is shown is the median of each in milliseconds, and how many times theirs ours takes. A put is
also held against floors: the driver's own insert of the rows that a put leaves (memory, chunk, full-text row) into the
same tables, and on SQLite that of a text into the smallest table there is with a full-text index, with the same settings.
With --ttl items have a time to live, and each read begins it anew, in ours and in theirs.
With --cpu it is the calling thread's CPU time, which waits for no disk and on no machine that others use.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from langgraph.store.base import BaseStore, PutOp, TTLConfig
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from rich.console import Console
from rich.table import Table

from langchain_memory_context import MemoryStoreAdapter
from memory_context import MemoryManager
from memory_context.model.item import MemoryItem

ROUNDS = 41
_WORDS = "INSERT INTO agent_memory_index(rowid, lexemes) VALUES (?, ?)"
# As of a put: words that most items share, and the numbers and the key of this one.
_LEXEMES = (
    "1:text 1:fact 1:order 1:number 1:store 1:memories/user3 1:user3 1:user 1:{0} 1:{1} 1:{2}"
)
BATCH = 100


def _namespace(number: int) -> tuple[str, ...]:
    return ("memories", f"user{number % 10}")


def _value(number: int) -> dict[str, Any]:
    return {"text": f"fact {number} on order {number * 7919}", "number": number}


def _filled(store: BaseStore, items: int) -> None:
    ttl = (store.ttl_config or {}).get("default_ttl")
    puts = [PutOp(_namespace(n), f"item{n}", _value(n), ttl=ttl) for n in range(items)]
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
        "search, operator": lambda n: store.search(
            searched, filter={"number": {"$gte": items - n * 10}}, limit=10
        ),
        "list_namespaces": lambda _: store.list_namespaces(prefix=("memories",), limit=100),
        "put": lambda n: store.put(searched, f"new{n}", _value(items + n)),
        f"put, {BATCH} at once": put_batch,
    }


_clocks = [time.perf_counter]


def _compared(
    table: Table, name: str, theirs: Callable[[int], object], ours: Callable[[int], object]
) -> None:
    """Add a row: both in turns, the median of each in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(1, ROUNDS + 1):
        for side, operation in enumerate((theirs, ours)):
            began = _clocks[-1]()
            operation(number)
            times[side].append((_clocks[-1]() - began) * 1000)
    other, mine = (statistics.median(one) for one in times)
    table.add_row(name, f"{other:.2f}", f"{mine:.2f}", f"{mine / other:.1f}")


def _measured(
    ours: BaseStore, theirs: BaseStore, items: int, name: str, postgres: str | None = None
) -> Table:
    _filled(theirs, items)
    began = time.perf_counter()
    _filled(ours, items)
    if postgres:
        # As its autovacuum does within a minute: until then plans are those of empty tables, theirs and ours.
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("ANALYZE")
    table = Table(
        f"{name}, {items:,} items", "theirs, ms", "ours, ms", "ratio",
        caption=f"ours was filled in {time.perf_counter() - began:.1f} s",
    )  # fmt: skip
    mine, others = _operations(ours, items), _operations(theirs, items)
    for operation, run in mine.items():
        _compared(table, operation, others[operation], run)
    return table


def _add_rows_floors(table: Table, ours: BaseStore, connection: Any) -> None:  # noqa: ANN401 - a driver's
    """Add what a put takes beside the driver's own insert of the same rows, alone and a hundred in a transaction."""
    is_sqlite = isinstance(connection, sqlite3.Connection)
    given = ":{}" if is_sqlite else "%({})s"

    def copy(source: str, key: str, left_out: str, **replaced: str) -> str:
        columns = connection.execute(f"SELECT * FROM {source} LIMIT 1").description
        names = [column[0] for column in columns if column[0] != left_out]
        values = [given.format(replaced[name]) if name in replaced else name for name in names]
        return (
            f"INSERT INTO {source} ({', '.join(names)}) SELECT {', '.join(values)} FROM {source}"
            f" WHERE user_id = '42' AND {key} = {given.format('template')}"
        )

    template = connection.execute("SELECT id FROM agent_memories LIMIT 1").fetchone()[0]
    memory = copy("agent_memories", "id", "", id="id", memory_key="key")
    chunk = copy("agent_memory_passages", "memory_id", "id", memory_id="id")
    connection.commit()

    def insert(_: int, count: int) -> None:
        if is_sqlite:
            connection.execute("BEGIN IMMEDIATE")
        for _ in range(count):
            made = str(MemoryItem(user_id="42", memory_key="", content="").id)
            row = {"id": made.replace("-", ""), "key": uuid.uuid4().hex, "template": template}
            connection.execute(memory, row)
            placed = connection.execute(chunk, row)
            if is_sqlite:
                lexemes = _LEXEMES.format(placed.lastrowid, placed.lastrowid * 7919, row["key"])
                connection.execute(_WORDS, (placed.lastrowid, lexemes))
        connection.commit()

    _compare_puts(table, ours, "its rows", insert)


def _compare_puts(
    table: Table, ours: BaseStore, name: str, insert: Callable[[int, int], None]
) -> None:
    for count in (1, BATCH):
        space = (name.replace(" ", "-"),)

        def put(number: int, count: int = count, space: tuple[str, ...] = space) -> object:
            numbers = range(number * count, number * count + count)
            return ours.batch([PutOp(space, f"{count}-{n}", _value(n)) for n in numbers])

        def floor(number: int, count: int = count) -> None:
            insert(number, count)

        _compared(table, f"{name}: {count} at once", floor, put)


def _add_floors(table: Table, ours: BaseStore, path: Path) -> None:
    """Add what a put takes beside sqlite3's own insert with its full-text row, alone and a hundred in a transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=NORMAL",
            "CREATE TABLE item (key TEXT PRIMARY KEY, value TEXT)",
            "CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=none)",
        ):
            connection.execute(statement)

        def insert(number: int, count: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for n in range(number * count, number * count + count):
                value = json.dumps(_value(n))
                row = connection.execute("INSERT INTO item VALUES (?, ?)", (f"{count}-{n}", value))
                words = "INSERT INTO words(rowid, text) VALUES (?, ?)"
                connection.execute(words, (row.lastrowid, value))
            connection.execute("COMMIT")

        _compare_puts(table, ours, "smallest table", insert)


@contextmanager
def _ours(url: str, ttl: TTLConfig | None) -> Iterator[BaseStore]:
    with MemoryManager(url, user_id="42") as manager:
        yield MemoryStoreAdapter(manager, ttl=ttl)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--postgres", help="an empty database, postgresql://…")
    parser.add_argument("--cpu", action="store_true", help="CPU time, not that of a clock")
    parser.add_argument("--ttl", type=int, help="of items, in minutes; for ever without it")
    told = parser.parse_args()
    ttl: TTLConfig | None = None
    if told.ttl is not None:
        ttl = {"default_ttl": told.ttl, "refresh_on_read": True}
    if told.cpu:
        _clocks.append(time.thread_time)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with (
            SqliteStore.from_conn_string(str(path / "theirs.db"), ttl=ttl) as theirs,
            _ours(f"sqlite:///{path / 'ours.db'}", ttl) as ours,
        ):
            theirs.setup()
            table = _measured(ours, theirs, told.items, "SQLite")
            _add_floors(table, ours, path / "floor.db")
            with closing(sqlite3.connect(path / "ours.db", isolation_level=None)) as raw:
                raw.execute("PRAGMA synchronous=NORMAL")
                raw.execute("PRAGMA secure_delete=ON")
                _add_rows_floors(table, ours, raw)
            Console().print(table)
    if told.postgres:
        with (
            PostgresStore.from_conn_string(told.postgres, ttl=ttl) as theirs,
            _ours(told.postgres.replace("postgresql://", "postgresql+psycopg://"), ttl) as ours,
        ):
            theirs.setup()
            table = _measured(ours, theirs, told.items, "PostgreSQL", told.postgres)
            with psycopg.connect(told.postgres) as raw:
                _add_rows_floors(table, ours, raw)
            Console().print(table)


if __name__ == "__main__":
    main()
