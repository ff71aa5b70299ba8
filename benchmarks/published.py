"""The figures that the README and the documentation publish, each by one command.

    python benchmarks/published.py recordings livemcp.jsonl.gz [--picture prompt-size.svg]
    python benchmarks/published.py checkpoints
    python benchmarks/published.py search --data DIR
    python benchmarks/published.py reading --data DIR

*recordings* replays runs that others have recorded, and says what they would have cost, and what would have been out of
sight or lost. Those of the README: 94 runs of a model against real MCP servers (icip-cas/LiveMCPBench, Apache-2.0), and
50 of an airline's desk (sierra-research/tau-bench, historical trajectories, MIT), in OpenAI's chat form, a run a line.
The picture is the mean size of a prompt by number of the call, as far as one run in ten goes.

*checkpoints* runs an agent of LangChain's that reads twelve outputs of 50 KB in a turn, with LangGraph's checkpointer on
SQLite, and divides what it writes by the bytes of the outputs: without anything, with deepagents' eviction of results
over 500 tokens into the state, and with `MemoryContextMiddleware`, whose own database is counted beside it; each with
LangChain's own state, in which every checkpoint holds all messages, with `LeanAgentState`, and with LangChain's where
LangGraph writes at the end of a turn alone (``durability="exit"``). The floor is the same agent
whose outputs are empty: what LangGraph writes of any run. *written* is the bytes of all values in the checkpointer's
tables, *file* those of its file, with pages and indexes.

*search* looks for the message that answers a question (BFCL memory); *reading* asks a meeting of 15,000 tokens, and says
how much of what people marked as needed is shown (QMSum). Where these sets come from, and what DIR holds: see
`judged_sets.py`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from deepagents.backends import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from recall import (  # type: ignore[import-not-found] # beside this file
    measure_reading,
    measure_search,
)
from rich.console import Console
from rich.table import Table

from langchain_memory_context import LeanAgentState, MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context.display.escaped_html import Html, tag
from memory_context.display.html_page import STYLE
from memory_context.display.line_charts import Mark, line_chart
from memory_context.replay import (
    Comparing,
    Results,
    TokenMeter,
    parse_policy,
    stream_recordings,
)
from memory_context.replay.html_report import FEWEST
from memory_context.replay.prices import parse_price
from memory_context.replay.verdict_and_json import Summary

OUTPUTS = 12
OUTPUT_BYTES = 50_000
EMPTY = "floor: plain, empty outputs"
Data: TypeAlias = Annotated[
    Path, typer.Option("--data", help="A folder as its authors publish it.")
]
THREAD: Any = {"configurable": {"thread_id": "t"}}
console = Console()
app = typer.Typer(add_completion=False, help="The published figures.", rich_markup_mode=None)


@app.command()
def recordings(
    file: Annotated[Path, typer.Argument(help="Recorded runs.")],
    *,
    picture: Annotated[
        Path | None, typer.Option(help="Write the mean prompt sizes as SVG.")
    ] = None,
    price: Annotated[str, typer.Option(help="As of `memory-context replay`.")] = "gpt-5.4",
) -> None:
    """Replay runs without folding and with a `MemoryContext`."""
    policies = [parse_policy(text) for text in ("unbounded", "memory:threshold=500")]
    results, summary = asyncio.run(
        _replayed(file, Comparing(policies, TokenMeter(), 500, parse_price(price)))
    )
    console.print(summary)
    for result in results.policies:
        console.print(result.policy, result.shares)
    if picture:
        picture.write_text(_picture(results), encoding="utf-8")


async def _replayed(file: Path, comparing: Comparing) -> tuple[Results, str]:
    for recording in stream_recordings(file):
        await comparing.add(recording)
    results = comparing.results()
    names = (file.name,)
    summary = Summary(results, names, comparing.meter.name, 500, comparing.price, complete=True)
    return results, summary.conclusion()


def _picture(results: Results) -> str:
    """Draw the mean size of a prompt by number of the call, with and without folding."""
    enough = sum(runs * FEWEST >= results.runs for runs in results.reached)
    without, ours = (result.mean[:enough] for result in results.policies)
    marks = Mark(8, "every output in full"), Mark(1, "with memory-context", is_ours=True)
    drawn = line_chart(
        list(zip(marks, (without, ours), strict=True)), "Tokens per call", "number of the call"
    )
    legend = list[Html]()
    for height, mark in zip((24, 42), marks, strict=True):
        legend.append(tag("path", cls=mark.style, d=f"M54,{height - 4}H80"))
        legend.append(tag("text", mark.name, cls="tick", x="86", y=str(height)))
    inside = drawn.removesuffix("</svg>").replace(
        "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="720" ', 1
    )
    start, end = inside.split(">", 1)
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    style = STYLE.replace(":root{", "svg{font-family:system-ui,sans-serif}:root{", 1)
    return f"{start}><style>{style}</style>{paper}{end}{''.join(legend)}</svg>\n"


@app.command()
def checkpoints() -> None:
    """Divide the bytes that an agent's checkpoints take by those of what its tools returned."""
    table = Table("way", "state", "written", "per byte of output", "file", "per byte", "store")
    outputs = OUTPUTS * OUTPUT_BYTES
    for state, schema in (("LangChain's", None), ("lean", LeanAgentState), ("at exit", None)):
        for name in (
            EMPTY,
            "plain",
            "deepagents, results over 500 tokens evicted",
            "memory-context",
        ):
            with tempfile.TemporaryDirectory() as folder:
                store = Path(folder) / "memory.db"
                run = AgentRun(
                    _middleware(name, store),
                    schema,
                    size=0 if name == EMPTY else OUTPUT_BYTES,
                    durability="exit" if state == "at exit" else "async",
                )
                _run(Path(folder) / "graph.db", run)
                written, kept = _written(Path(folder) / "graph.db")
                own = f"{_size(store) / 1e6:.2f} MB" if store.exists() else ""
            shares = (f"{written / outputs:.3f}", f"{kept / 1e6:.2f} MB", f"{kept / outputs:.2f}")
            table.add_row(name, state, f"{written / 1e6:.3f} MB", *shares, own)
    console.print(table)


def _middleware(name: str, store: Path) -> list[AgentMiddleware[Any, Any, Any]]:
    if name in (EMPTY, "plain"):
        return []
    if name == "memory-context":
        return [MemoryContextMiddleware(f"sqlite:///{store}", user_id="42")]
    return [FilesystemMiddleware(backend=StateBackend(), tool_token_limit_before_evict=500)]


def _written(path: Path) -> tuple[int, int]:
    """Return the bytes of the values that a checkpointer has written, and those of its file."""
    sizes = (
        "SELECT (SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints) "
        "+ (SELECT coalesce(sum(length(value)), 0) FROM writes)"
    )
    with closing(sqlite3.connect(path)) as database:
        [(written,)] = database.execute(sizes)
    return written, _size(path)


@app.command()
def search(data: Data) -> None:
    """Search a user's messages for the one that answers: BFCL memory."""
    with tempfile.TemporaryDirectory() as folder:
        console.print(measure_search(data, Path(folder)))


@app.command()
def reading(data: Data) -> None:
    """Read the part of a meeting that answers: QMSum's validation split."""
    with tempfile.TemporaryDirectory() as folder:
        console.print(measure_reading(data, Path(folder)))


@dataclass(frozen=True)
class AgentRun:
    """How the agent is run.

    Attributes:
        middleware: What folds its outputs.
        schema: Its state; LangChain's own without one.
        size: The bytes of an output.
        durability: When LangGraph writes checkpoints.
    """

    middleware: list[AgentMiddleware[Any, Any, Any]]
    schema: type[LeanAgentState] | None
    size: int
    durability: str


def _run(path: Path, run: AgentRun) -> None:
    """Have an agent read the outputs, each checkpoint in a file."""
    numbers = cycle(range(OUTPUTS))

    @tool
    def read() -> str:
        """Read the next page."""
        number = next(numbers)
        lines = (
            f"{number:02d} {line:05d} job {line * 7919 % 10007} done in {line % 97} ms\n"
            for line in range(2000)
        )
        return "".join(lines)[: run.size]

    answers: list[Any] = [[call("read", f"call-{number}")] for number in range(OUTPUTS)]
    answers.append("Read.")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent: Any = create_agent(
            ScriptedChatModel(answers),
            tools=[read],
            middleware=run.middleware,
            checkpointer=saver,
            state_schema=run.schema,
        )
        question = {"messages": [("user", "Read it.")]}
        agent.invoke(question, THREAD, durability=run.durability)


def _size(database: Path) -> int:
    """Return the bytes of a database and its log."""
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))


if __name__ == "__main__":
    app()
