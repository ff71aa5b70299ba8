"""How late an event loop gets while agents with large results run on it, with `MemoryContextMiddleware` and without.

    python benchmarks/event_loop_lag.py [--users 20] [--rounds 3]

So many users of one agent ask at once; each one's tool gives 23,000 tokens, ten times. Beside them a task sleeps for
5 ms at a time and notes how much later it woke: what a web server's other requests would feel. Both ways run in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call

LINES = 1_150
TICK_SECONDS = 0.005
CALLS = 10


def _log(number: int) -> str:
    lines = (
        f"2026-11-24 02:{i // 60:02}:{i % 60:02} worker-{number * LINES + i} done in {i} ms"
        for i in range(LINES)
    )
    return "\n".join(lines)


@tool
def read_log(number: int) -> str:
    """Read a log."""
    return _log(number)


async def _ticks(lags: list[float], ended: asyncio.Event) -> None:
    """Note how late the loop is, in milliseconds, until *ended*."""
    while not ended.is_set():
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        lags.append((time.perf_counter() - due) * 1000)


async def _conversation(middleware: list[Any], user: int) -> None:
    model = ScriptedChatModel(
        [[call("read_log", str(n), number=user * CALLS + n)] for n in range(CALLS)] + ["Read."]
    )
    agent: Any = create_agent(
        model, [read_log], middleware=middleware, checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": f"t{user}", "user_id": str(user)}}
    await agent.ainvoke({"messages": [("user", "Read the logs.")]}, config)


async def _lags(users: int, middleware: list[Any]) -> list[float]:
    """Return how late the loop was, in milliseconds, while *users* ran agents at once."""
    lags, ended = list[float](), asyncio.Event()
    ticking = asyncio.create_task(_ticks(lags, ended))
    await asyncio.gather(*(_conversation(middleware, user) for user in range(users)))
    ended.set()
    await ticking
    return lags


def main() -> None:
    """Print median, p99 and the worst of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    table = Table("ms", "without p50", "p99", "max", "with p50", "p99", "max", "ratio of p99")
    for number in range(told.rounds):
        with tempfile.TemporaryDirectory() as folder:
            memory = MemoryContextMiddleware(f"sqlite:///{Path(folder) / 'memory.db'}")
            plain = asyncio.run(_lags(told.users, []))
            ours = asyncio.run(_lags(told.users, [memory]))
            memory.close()
        row = [*_told(plain), *_told(ours), f"{_p99(ours) / _p99(plain):.2f}"]
        table.add_row(str(number + 1), *row)
    Console().print(table)


def _p99(lags: list[float]) -> float:
    return statistics.quantiles(lags, n=100, method="inclusive")[98]


def _told(lags: list[float]) -> list[str]:
    return [f"{value:.1f}" for value in (statistics.median(lags), _p99(lags), max(lags))]


if __name__ == "__main__":
    main()
