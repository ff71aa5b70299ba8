"""What codecs and quotas cost, against the plain store in the same run.

    python benchmarks/codecs.py [memories]

All take turns on the same memories (logs of 20 KB), each in a SQLite file of its own. Processor time in milliseconds,
the median; the size is that of the file when all are stored.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from memory_context import MemoryManager, MemoryStore, Quota, Scope, SQLAlchemyStore
from memory_context.stores import Compressed, Encrypted

SCOPE = Scope("ann")
LINES = 250
LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR")


def log(seed: int) -> str:
    """About 20 KB of a service's log."""
    chosen = random.Random(seed)
    return "\n".join(
        f"2026-01-31 02:{line // 60:02}:{line % 60:02} {chosen.choice(LEVELS)} worker-{chosen.randrange(9999)} "
        f"job {chosen.randrange(10**6)} took {chosen.randrange(9000)} ms, queue {chosen.choice('abcdef')}"
        for line in range(LINES)
    )


def put(store: MemoryStore, number: int) -> None:
    """Store one memory."""
    MemoryManager(store, user_id="ann", counter=len).store(log(number), "a log", key=f"k{number}")


def get(store: MemoryStore, number: int) -> None:
    """Read one memory."""
    assert store.get(SCOPE, f"k{number}") is not None


def search(store: MemoryStore, number: int) -> None:
    """Find five memories."""
    assert store.search(SCOPE, f"error worker-{number} queue a")


def medians(works: dict[str, Callable[[int], object]], times: int) -> dict[str, float]:
    """Milliseconds of processor time for each, taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(times):
        for name, work in works.items():
            started = time.process_time()
            work(number)
            taken[name].append((time.process_time() - started) * 1000)
    return {name: statistics.median(found) for name, found in taken.items()}


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as folder:
        urls = {
            name: f"sqlite:///{Path(folder) / name}"
            for name in ("plain", "blind", "none", "compressed", "quota")
        }
        keys = {"one": os.urandom(32)}
        stores: dict[str, MemoryStore] = {
            "plain": SQLAlchemyStore(urls["plain"]),
            "blind": SQLAlchemyStore(urls["blind"], codec=Encrypted(keys)),
            "none": SQLAlchemyStore(urls["none"], codec=Encrypted(keys, index="none")),
            "compressed": SQLAlchemyStore(urls["compressed"], codec=Compressed()),
            "quota": SQLAlchemyStore(urls["quota"], quota=Quota(max_items=10**9, max_bytes=10**15)),
        }
        print(
            f"| {count} logs of 20 KB | " + " | ".join(stores) + " |\n|---|" + "---|" * len(stores)
        )
        for name, work, times in (
            ("put", put, count),
            ("get", get, min(count, 200)),
            ("search", search, 10),
        ):
            taken = medians({kind: partial(work, store) for kind, store in stores.items()}, times)
            floor = taken["plain"]
            print(
                f"| {name}, ms (x plain) | "
                + " | ".join(f"{own:.2f} ({own / floor:.2f})" for own in taken.values())
                + " |"
            )
        for store in stores.values():
            store.close()
        sizes = {name: (Path(folder) / name).stat().st_size for name in stores}
        print(
            "| file, MB (x plain) | "
            + " | ".join(f"{s / 1e6:.1f} ({s / sizes['plain']:.2f})" for s in sizes.values())
            + " |"
        )


if __name__ == "__main__":
    main()
