"""Many threads, many processes, many messages: short here, long under ``make soak``."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from memory_context import MemoryContext, MemoryManager
from messages import LOG, call, results, user

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


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_contexts_in_threads_and_processes(request: pytest.FixtureRequest, fixture: str, rounds: int) -> None:
    """Contexts in 8 threads of 4 processes on one database: no error, no lost memory, no duplicate."""
    url = request.getfixturevalue(fixture)
    tests = str(request.path.parent)
    commands = [[sys.executable, "-c", _AGENTS, url, str(process), str(rounds), tests] for process in range(4)]

    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    errors = [process.communicate()[1] for process in processes]

    assert [""] * 4 == errors
    with MemoryManager(url, user_id="ann") as manager:
        contents = [item.content for item in manager.memory_store.list_all(manager.scope)]
    shared = {f"shared {index} {LOG}" for index in range(rounds)}
    own = {f"{p} {t} {i} {LOG}" for p in range(4) for t in range(8) for i in range(rounds)}
    assert sorted(shared | own) == sorted(map(str, contents))


@pytest.mark.parametrize("messages", [300, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
async def test_long_conversation(sqlite_url: str, messages: int) -> None:
    """However long a conversation is, nothing fails, prompts begin with the ones before, each output is kept."""
    context = MemoryContext("ann", store=sqlite_url)
    seen, slowest = 0, 0.0
    before = [user("go")]
    await context.add_message(before[0])
    for number in range(1, messages // 2):
        await context.add_message(call("run", number=number))
        await context.add_message(results(f"{number} {LOG}", number=number))
        start = time.perf_counter()
        prompt = await context.get_messages()
        slowest = max(slowest, time.perf_counter() - start)
        assert seen < len(prompt)
        assert prompt[seen - 1] is before[-1] or seen == 0
        seen, before = len(prompt), prompt  # type: ignore[assignment] # a prompt has messages of all types

    stats = context.stats()
    print(f"{messages} messages: {stats}, slowest get_messages {slowest * 1000:.1f} ms")
    assert (messages // 2 - 1, 0) == (stats.folds, stats.store_failures)
    with MemoryManager(sqlite_url, user_id="ann") as manager:
        assert messages // 2 - 1 == manager.memory_store.count(manager.scope)
    await context.aclose()
