"""What assembling a context costs, against bare queries of the same database, and what consolidation costs.

    python benchmarks/assembly.py [--items 100000] [--store sqlite:///bench.db]

The store is filled with made notes of about thirty words in one project, unless it holds them already. Floors, by the
same connection: the hundred most important rows of the project, ordered by the database, and the sum of its tokens.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from memory_context import ContextAssembler, MemoryManager, SQLAlchemyStore
from memory_context.memory.consolidation import consolidate
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.scope import Scope

USER = "bench"
PROJECT = Scope(USER, tier="project", tier_id="p")
TOP = "SELECT * FROM agent_memories WHERE user_id='bench' AND tier='project' AND tier_id='p' AND is_active = true"
SUM = TOP.replace("*", "sum(token_count)")


def notes(count: int) -> Iterator[MemoryItem]:
    """Notes with a vocabulary like that of words: few are common, most are rare."""
    chance = random.Random(7)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 9)))
        for _ in range(20_000)
    ]
    weights = [1 / (place + 10) for place in range(len(words))]
    for number in range(count):
        text = " ".join(chance.choices(words, weights, k=30))
        yield MemoryItem(
            user_id=USER,
            memory_key=f"note_{number:08x}",
            content=text,
            memory_type="note",
            tier="project",
            tier_id="p",
            summary=text[:60],
            importance=chance.random(),
            token_count=len(text) // 4,
            char_count=len(text),
            line_count=1,
            content_hash=hash_content(text),
        )


def median_of(work: Callable[[], object], times: int = 5) -> float:
    """The median of some runs, in milliseconds."""
    took = list[float]()
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)


def fill(store: SQLAlchemyStore, count: int) -> None:
    """Put the notes that are not there."""
    there = store.count(PROJECT)
    for number, note in enumerate(notes(count)):
        if number >= there:
            store.put(PROJECT, note)


def measure(store: SQLAlchemyStore, url: str) -> None:
    """Print the table."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        ordered = sa.text(f"{TOP} ORDER BY importance DESC LIMIT 100")
        top = median_of(lambda: connection.execute(ordered).all())
        total = median_of(lambda: connection.execute(sa.text(SUM)).all())
    assembler = ContextAssembler(MemoryManager(store, user_id=USER), task_id="t", project_id="p")
    [note] = store.query(PROJECT, limit=1, order_by="-memory_key")
    task = note.text[:60]
    print(
        f"{store.count(PROJECT)} notes; bare: the 100 most important {top:.0f} ms, the sum of tokens {total:.0f} ms"
    )
    for budget in (300, 2000, 8000):
        package = assembler.build(task, budget)
        took = median_of(lambda budget=budget: assembler.build(task, budget))  # type: ignore[misc] # the loop's own
        shown = f"{len(package.entries)} entries, {package.tokens} tokens, ratio {package.compression_ratio:.5f}"
        print(f"build {budget}: {took:.0f} ms, {took / (top + total):.1f} x bare; {shown}")


def measure_consolidation(count: int) -> None:
    """Print what it takes to find and merge the near-duplicates among some notes."""
    manager = MemoryManager("sqlite://", user_id=USER)
    for number, note in enumerate(notes(count)):
        manager.store(note.text, tier="project", tier_id="p")
        if number % 10 == 0:
            manager.store(f"{note.text} again", tier="project", tier_id="p")
    start = time.perf_counter()
    report = consolidate(manager, "project", "p")
    print(
        f"consolidate {report.notes} notes: {time.perf_counter() - start:.1f} s, {len(report.groups)} groups"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--store")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{Path(folder) / 'bench.db'}"
        with SQLAlchemyStore(url) as store:
            fill(store, options.items)
            measure(store, url)
    measure_consolidation(2000)


if __name__ == "__main__":
    main()
