"""Many threads, many processes, many messages: short here, long under ``make soak``."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable

import pytest
from autogen_core.models import LLMMessage

from memory_context import MemoryContext, MemoryManager
from memory_context.conversation.message_tokens import Ledger
from messages import LOG, call, neutral, results, user
from patient import PATIENT

pytestmark = pytest.mark.long

_AGENTS = """
import asyncio, sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[4])
from memory_context import MemoryContext
from messages import LOG, results

async def converse(process, thread, rounds):
    context = MemoryContext("ann", store=sys.argv[1], agent_id=f"{process}-{thread}")
    for index in range(rounds):
        await context.add_message(results(f"shared {index} {LOG}", number=index))
        await context.add_message(results(f"{process} {thread} {index} {LOG}", number=index))
    await context.get_messages()
    stats = context.stats()
    assert (2 * rounds, 0) == (stats.folds, stats.store_failures), stats
    await context.aclose()

def run(thread):
    asyncio.run(converse(sys.argv[2], thread, int(sys.argv[3])))

with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(8)))
"""


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_contexts_in_threads_and_processes(
    request: pytest.FixtureRequest, fixture: str, rounds: int
) -> None:
    """Contexts in 8 threads of 4 processes on one database: no error, no lost memory, no duplicate."""
    url = request.getfixturevalue(fixture)
    tests = str(request.path.parent)
    commands = [
        [sys.executable, "-c", PATIENT + _AGENTS, url, str(process), str(rounds), tests]
        for process in range(4)
    ]

    processes = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands
    ]
    errors = [process.communicate()[1] for process in processes]

    assert [""] * 4 == errors
    with MemoryManager(url, user_id="ann") as manager:
        contents = [item.content for item in manager.memory_store.list_all(manager.scope)]
    shared = {f"shared {index} {LOG}" for index in range(rounds)}
    own = {f"{p} {t} {i} {LOG}" for p in range(4) for t in range(8) for i in range(rounds)}
    assert sorted(shared | own) == sorted(map(str, contents))


@pytest.mark.parametrize("messages", [400, pytest.param(10_000, marks=pytest.mark.soak)])
async def test_long_conversation(sqlite_url: str, messages: int) -> None:
    """However long a conversation is, prompts change rarely, take no longer, and nothing is lost."""
    context = MemoryContext("ann", store=sqlite_url, max_tokens=8000, recall=False)
    await context.add_message(user("go"))
    ledger = Ledger(context.manager)
    adds, gets, changes, peaks = list[float](), list[float](), 0, list[int]()
    seen: list[LLMMessage] = []
    for number in range(1, messages // 2):
        adds.append(await _timed(context.add_message(call("run", number=number))))
        adds.append(await _timed(context.add_message(results(f"{number} {LOG}", number=number))))
        start = time.perf_counter()
        prompt = await context.get_messages()
        gets.append(time.perf_counter() - start)
        assert sum(ledger.tokens(neutral(prompt))) <= context.max_tokens  # type: ignore[operator] # there is a limit
        changes += any(a is not b for a, b in zip(seen, prompt, strict=False))
        seen = prompt
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    stats, tenth = context.stats(), len(gets) // 10
    print(f"\n{messages} messages: {changes} of {len(gets)} prompts changed what was seen; {stats}")
    for name, times in (("add_message", adds), ("get_messages", gets)):
        print(
            f"{name}: first tenth {_percentiles(times[:tenth])}, last tenth {_percentiles(times[-tenth:])}"
        )
    print(
        f"peak memory grew by {(peaks[-1] - peaks[len(peaks) // 5]) / 1024:.0f} MB over the last four fifths"
    )
    assert (messages // 2 - 1, 0, changes) == (stats.folds, stats.store_failures, stats.compactions)
    assert changes <= len(gets) / 5
    assert peaks[-1] - peaks[len(peaks) // 5] < 100 * 1024
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        assert messages // 2 - 1 == manager.memory_store.count(
            manager.scope, {"memory_type": "tool_output"}
        )
    await context.aclose()


async def _timed(work: Awaitable[object]) -> float:
    start = time.perf_counter()
    await work
    return time.perf_counter() - start


def _percentiles(times: list[float]) -> str:
    p50, p95 = statistics.quantiles(times, n=20)[9], statistics.quantiles(times, n=20)[18]
    return f"p50 {p50 * 1000:.2f} ms, p95 {p95 * 1000:.2f} ms"
