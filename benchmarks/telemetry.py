"""What spans, metrics and the audit trail cost: ratios against the same work without them, in the same run.

    python benchmarks/telemetry.py [rounds]

Each way has a process of its own, because an SDK is set up once for a process; the processes take turns, round by
round, so that a busy machine slows all of them. Without telemetry: the API's calls are taken out of the library, so
that its whole cost shows. Processor time and the clock, because waiting for the disk is part of a commit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

WAYS = ("without", "api", "sdk", "audit")
WORKS = ("put", "fold", "retrieve", "search", "prompt")
BATCH = 20


def output(number: int) -> str:
    """A tool's output of 20 KB that no other round has."""
    lines = (
        f"2026-01-01 12:{i // 60 % 60:02}:{i % 60:02} INFO job-{number} step {i}: done"
        for i in range(1000)
    )
    return "\n".join(lines)[:20_000]


class Nothing:
    """In the place of an operation: nothing at all."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take anything."""

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def note(self, **_: object) -> None:
        """Note nothing."""


def prepare(way: str) -> None:
    """Set this process up for a way."""
    from memory_context.runtime import telemetry  # noqa: PLC0415 - before whatever imports from it

    if way == "without":
        telemetry.operation = Nothing  # type: ignore[assignment,misc] # that is the point
        telemetry.count = lambda *_, **__: None
    if way == "sdk":
        from opentelemetry import metrics, trace  # noqa: PLC0415 - one of the ways
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - as above
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))


def works_of(way: str, folder: str) -> dict[str, Callable[[int], object]]:
    """What is measured; each takes the number of its turn."""
    from memory_context import MemoryManager  # noqa: PLC0415 - after `prepare`
    from memory_context.conversation.context_stats import ContextStats  # noqa: PLC0415 - as above
    from memory_context.conversation.fail_open import FailOpen  # noqa: PLC0415 - as above
    from memory_context.conversation.fold_recall_notes_policies import FoldPolicy  # noqa: PLC0415 - as above
    from memory_context.conversation.folding.fold_messages import MessageFolder  # noqa: PLC0415 - as above
    from memory_context.conversation.message import Message  # noqa: PLC0415 - as above
    from memory_context.conversation.message_tokens import Ledger  # noqa: PLC0415 - as above

    memory = MemoryManager(f"sqlite:///{folder}/{way}.db", user_id="ann", audit=way == "audit")
    folder_ = MessageFolder(memory, FoldPolicy(), FailOpen(ContextStats()), Ledger(memory))

    def taken_in(text: str) -> object:
        return folder_.take_in([Message("1", "tool", "run_job", {0: text})], [])

    keys = [memory.store(output(-number), key=f"k{number}") for number in range(1, 50)]
    return {
        "put": lambda n: memory.store(f"a note of turn {n}", "a note"),
        "fold": lambda n: taken_in(output(n)),
        "retrieve": lambda n: memory.retrieve(keys[n % len(keys)], lines="10-20"),
        "search": lambda n: memory.search(f"job-{n % 50} step 7", limit=3),
        "prompt": lambda n: taken_in(f"short {n}"),
    }


def serve(way: str) -> None:
    """Do a batch of a work for each line on standard input, and answer with its milliseconds."""
    prepare(way)
    with tempfile.TemporaryDirectory() as folder:
        works, turn = works_of(way, folder), 0
        for line in sys.stdin:
            work = works[line.strip()]
            processor, clock = time.process_time(), time.perf_counter()
            for _ in range(BATCH):
                turn += 1
                work(turn)
            taken = (time.process_time() - processor, time.perf_counter() - clock)
            sys.stdout.write(json.dumps([one * 1000 / BATCH for one in taken]) + "\n")
            sys.stdout.flush()


def measured(rounds: int) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """For each work and way the milliseconds of each round."""
    command = [sys.executable, str(Path(__file__).resolve())]
    running = {
        way: subprocess.Popen([*command, way], stdin=-1, stdout=-1, text=True) for way in WAYS
    }
    taken: dict[str, dict[str, list[tuple[float, float]]]] = {
        work: {way: [] for way in WAYS} for work in WORKS
    }
    for number in range(rounds + 1):
        for work in WORKS:
            for way in WAYS if number % 2 else WAYS[::-1]:
                process = running[way]
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(f"{work}\n")
                process.stdin.flush()
                processor, clock = json.loads(process.stdout.readline())
                if number:  # the first round warms up
                    taken[work][way].append((processor, clock))
    for process in running.values():
        process.communicate()
    return taken


def main(rounds: int) -> None:
    """Print a table of medians: milliseconds without, and ratios of the others to that, round by round."""
    taken = measured(rounds)
    print(f"{rounds} rounds of {BATCH}; processor time, and by the clock\n")
    print("| | without | " + " | ".join(WAYS[1:]) + " |\n|---|---|" + "---|" * len(WAYS[1:]))
    for work, ways in taken.items():
        base = ways["without"]
        milliseconds = [statistics.median(one[at] for one in base) for at in (0, 1)]
        cells = [f"{milliseconds[0]:.2f} ms, {milliseconds[1]:.2f} ms"]
        for way in WAYS[1:]:
            ratios = [
                statistics.median(
                    one[at] / other[at] for one, other in zip(ways[way], base, strict=True)
                )
                for at in (0, 1)
            ]
            cells.append(f"{ratios[0]:.2f}, {ratios[1]:.2f}")
        print(f"| {work} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in WAYS:
        serve(sys.argv[1])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
