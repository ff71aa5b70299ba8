"""What `MemoryContextMiddleware` costs in an agent of LangChain's, against none: time, and bytes in the checkpointer.

    python benchmarks/middleware.py

Times are processor time of all threads, which other programs do not change much. Time per call is what stands between
a middleware around it and one inside it, the median of many calls; *none* is the same with nothing between them. A step
is one model call and one tool call of an agent with a checkpointer in memory and a model that answers at once, so that
what is left is LangGraph's own time; in a real agent the model takes seconds. Checkpoints are saved between the steps
(`durability="sync"`): LangGraph's thread, which saves them during the next step, would count as part of its calls.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from rich.console import Console
from rich.table import Table

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import FoldPolicy, MemoryManager, default_counter

STEPS = 40
THREAD: Any = {"configurable": {"thread_id": "t"}}
DUMP = "".join(f"{number:09d}\n" for number in range(20_000))
console = Console()


class Watch(AgentMiddleware[Any, Any, Any]):
    """Notes how long what stands inside it takes."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.calls: dict[str, list[float]] = {"model": [], "tool": []}
        self._name = name
        self.tools = []

    @property
    def name(self) -> str:
        """Which of the two it is."""
        return self._name

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - LangChain's
        """Time a model call."""
        return self._timed("model", request, handler)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - LangChain's
        """Time a tool call."""
        return self._timed("tool", request, handler)

    def _timed(self, kind: str, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - LangChain's
        start = time.process_time()
        result = handler(request)
        self.calls[kind].append((time.process_time() - start) * 1000)
        return result


def output(number: int, size: int) -> str:
    """A tool's output that no other step has."""
    lines = (
        f"2026-01-01 12:{i // 60 % 60:02}:{i % 60:02} INFO job-{number} step {i}: done"
        for i in range(size // 40)
    )
    return "\n".join(lines)[:size]


def history(messages: int) -> list[AnyMessage]:
    """A conversation of people and models."""
    spoken = (
        f"message {n} about src/module_{n}/file_{n}.py, see {n * 7919:x}" for n in range(messages)
    )
    return [HumanMessage(text) if n % 2 == 0 else AIMessage(text) for n, text in enumerate(spoken)]


def steps(
    size: int, messages: int, *middleware: MemoryContextMiddleware
) -> tuple[float, float, float]:
    """Milliseconds of a step behind `messages`, and what `middleware` adds to its tool call and its model call."""

    @tool
    def work(number: int) -> str:
        """Give an output."""
        return output(number, size)

    around, inside = Watch("around"), Watch("inside")
    script: list[Any] = [
        *([call("work", str(number), number=number)] for number in range(STEPS)),
        "Done.",
    ]
    stack = [around, *middleware, inside]
    agent: Any = create_agent(
        ScriptedChatModel(script), [work], middleware=stack, checkpointer=InMemorySaver()
    )
    start = time.process_time()
    given = {"messages": [*history(messages), HumanMessage("Do the work.")]}
    agent.invoke(given, {**THREAD, "recursion_limit": 10 * STEPS}, durability="sync")
    step = (time.process_time() - start) * 1000 / STEPS
    return step, _added(around, inside, "tool"), _added(around, inside, "model")


def _added(around: Watch, inside: Watch, kind: str) -> float:
    pairs = zip(around.calls[kind], inside.calls[kind], strict=True)
    return statistics.median(outer - inner for outer, inner in pairs)


def questions(messages: int, *middleware: MemoryContextMiddleware) -> float:
    """Milliseconds that `middleware` adds to a model call with a new question, behind `messages` of a conversation."""
    around, inside = Watch("around"), Watch("inside")
    script = [f"answer {number}" for number in range(STEPS + 1)]
    stack = [around, *middleware, inside]
    agent: Any = create_agent(
        ScriptedChatModel(script), [], middleware=stack, checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [*history(messages), HumanMessage("Hello.")]}, THREAD)
    for number in range(STEPS):
        agent.invoke(
            {"messages": [HumanMessage(f"And what about job-{number}?")]}, THREAD, durability="sync"
        )
    return _added(around, inside, "model")


@tool(response_format="content_and_artifact")
def dump(*, artifact: bool) -> tuple[str, str | None]:
    """Give 200,000 characters, as an artifact too."""
    return DUMP, DUMP if artifact else None


def saved_in_memory(*middleware: MemoryContextMiddleware, artifact: bool = False) -> int:
    """Bytes in the checkpointer after a run with one result of 200,000 characters."""
    saver = InMemorySaver()
    _dumped(saver, middleware, artifact=artifact)
    blobs = sum(len(blob) for _, blob in saver.blobs.values())
    return blobs + sum(
        len(write[2][1]) for writes in saver.writes.values() for write in writes.values()
    )


def saved_in_sqlite(folder: Path, *middleware: MemoryContextMiddleware) -> int:
    """Bytes of the checkpointer's file after the same run."""
    path = folder / f"graph{len(middleware)}.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        _dumped(saver, middleware, artifact=False)
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def _dumped(saver: Any, middleware: tuple[MemoryContextMiddleware, ...], *, artifact: bool) -> None:  # noqa: ANN401 - any
    script: list[Any] = [[call("dump", artifact=artifact)], "Done."]
    agent: Any = create_agent(
        ScriptedChatModel(script), [dump], middleware=middleware, checkpointer=saver
    )
    agent.invoke({"messages": [HumanMessage("Go.")]}, THREAD)


def print_times(folder: Path) -> None:
    """Print what the calls of a step cost, on a store in a file."""
    columns = (
        "characters",
        "messages before",
        "step, none",
        "step, with",
        "per tool call",
        "per model call",
    )
    table = Table(*columns, title="steps with a result of some size")
    steps(200, 0)
    for size, messages in ((200, 0), (200, 1000), (20_000, 0), (20_000, 1000), (200_000, 0)):
        middleware = opened(folder / f"{size}-{messages}.db")
        (bare, *_), (full, per_tool, per_model) = (
            steps(size, messages),
            steps(size, messages, middleware),
        )
        middleware.close()
        times = (f"{spent:.2f} ms" for spent in (bare, full, per_tool, per_model))
        table.add_row(f"{size:,}", f"{messages:,}", *times)
    console.print(table)
    table = Table("messages before", "none", "with", title="per model call with a new question")
    for messages in (0, 100, 1000):
        middleware = opened(folder / f"q{messages}.db")
        table.add_row(
            f"{messages:,}",
            f"{questions(messages):.2f} ms",
            f"{questions(messages, middleware):.2f} ms",
        )
        middleware.close()
    console.print(table)


def opened(path: Path) -> MemoryContextMiddleware:
    """A middleware whose database is made already."""
    with MemoryManager(f"sqlite:///{path}", user_id="bench") as manager:
        manager.search("nothing")
    return MemoryContextMiddleware(f"sqlite:///{path}", user_id="bench")


def print_bytes(folder: Path) -> None:
    """Print what a result of 200,000 characters costs in the checkpointer, and in the store."""
    table = Table(
        "checkpointer", "none", "with", title="bytes for one result of 200,000 characters"
    )
    url = f"sqlite:///{folder / 'memory.db'}"
    keeps = MemoryContextMiddleware(url, user_id="bench")
    stores = MemoryContextMiddleware(url, user_id="bench", fold=FoldPolicy(artifacts="store"))
    without = saved_in_memory(artifact=True)
    table.add_row("in memory", f"{saved_in_memory():,}", f"{saved_in_memory(keeps):,}")
    table.add_row(
        "in memory, and an artifact", f"{without:,}", f"{saved_in_memory(keeps, artifact=True):,}"
    )
    table.add_row(
        "… artifacts='store'", f"{without:,}", f"{saved_in_memory(stores, artifact=True):,}"
    )
    table.add_row(
        "SQLite file", f"{saved_in_sqlite(folder):,}", f"{saved_in_sqlite(folder, keeps):,}"
    )
    for one in (keeps, stores):
        one.close()
    console.print(table)
    size = sum(file.stat().st_size for file in folder.glob("memory.db*"))
    console.print(f"the store itself, all of these runs together: {size:,} bytes")


if __name__ == "__main__":
    console.print(f"tokens by {default_counter().name}")
    with tempfile.TemporaryDirectory() as name:
        print_times(Path(name))
        print_bytes(Path(name))
