"""FileStore against SQLite: put, get, search, listing, opening, and moving everything; ratios, measured side by side.

    python benchmarks/stores.py [memories]

Both stores take turns on the same memories (2 KB of words each, in 20 categories), so that a busy machine slows both.
Processor time tells more than the clock on such a machine, but does not count waiting for the disk.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from memory_context import FileStore, MemoryManager, MemoryStore, Scope, SQLAlchemyStore
from memory_context.memory.copy_export_import import copy_memories, export_memories

WORDS = [f"word{number}" for number in range(3000)]
SCOPE = Scope("ann")
READS = 200
SEARCHES = 30


def text(seed: int) -> str:
    """About 2 KB of words."""
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(280))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of processor time, and by the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - processor) * 1000, (time.perf_counter() - clock) * 1000


def side_by_side(
    works: dict[str, Callable[[int], object]], times: int
) -> dict[str, tuple[float, float]]:
    """The median of milliseconds for each, taking turns."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for number in range(times):
        for name, work in works.items():
            taken[name].append(timed(partial(work, number)))
    return {
        name: (
            statistics.median(one[0] for one in times_),
            statistics.median(one[1] for one in times_),
        )
        for name, times_ in taken.items()
    }


def put(store: MemoryStore, number: int) -> None:
    """Store one memory."""
    with_key = {"key": f"k{number}", "category": f"notes/c{number % 20}"}
    MemoryManager(store, user_id="ann", counter=len).store(text(number), "a text", **with_key)


def get(store: MemoryStore, number: int) -> None:
    """Read one memory."""
    assert store.get(SCOPE, f"k{number}") is not None


def search(store: MemoryStore, number: int) -> None:
    """Find five memories."""
    assert store.search(SCOPE, f"word{number} word{number + 9} word{number + 99}")


def newest(store: MemoryStore, number: int) -> None:
    """List the hundred newest."""
    assert len(store.query(SCOPE)) == 100, number


def reopened(store: MemoryStore, number: int) -> None:
    """Close, open, read one, search once."""
    store.close()
    get(store, number)
    search(store, number)


def show(name: str, taken: dict[str, tuple[float, float]]) -> None:
    """One line of the table."""
    (files, by_clock), (sqlite, sqlite_by_clock) = taken["files"], taken["sqlite"]
    print(
        f"| {name} | {files:.2f} | {sqlite:.2f} | {files / sqlite:.1f} x | {by_clock / sqlite_by_clock:.1f} x |"
    )


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        stores: dict[str, MemoryStore] = {
            "files": FileStore(place / "files"),
            "sqlite": SQLAlchemyStore(f"sqlite:///{place / 'memory.db'}"),
        }
        works = {
            f"put, of {count}": (put, count),
            "get": (get, READS),
            "search": (search, SEARCHES),
            "newest 100": (newest, SEARCHES),
            "open, first get and search": (reopened, 3),
        }
        print("| what | FileStore, ms | SQLite, ms | ratio | by the clock |\n|---|---|---|---|---|")
        for name, (work, times) in works.items():
            show(
                name,
                side_by_side({kind: partial(work, store) for kind, store in stores.items()}, times),
            )
        copied = timed(
            partial(copy_memories, stores["files"], SQLAlchemyStore("sqlite://"), user_id="ann")
        )
        exported = timed(
            partial(export_memories, stores["sqlite"], place / "all.jsonl", user_id="ann")
        )
        print(
            f"a memory takes {copied[0] / count:.2f} ms to copy into a database, {exported[0] / count:.2f} ms to export"
        )
        for store in stores.values():
            store.close()


if __name__ == "__main__":
    main()
