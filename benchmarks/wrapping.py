"""What a client of wrapped MCP servers pays: recorded results come through the wrapper, and are priced as in replay.

    python benchmarks/wrapping.py livemcp.jsonl.gz [--runs N]

For each run a server is started that has the tools of the recording and returns its results, in their order. A client
calls them through the wrapper as the recorded model did; what it gets stands in the prompts in place of the results.
Beside it: no folding; `memory-context replay`'s policy, which folds the large arguments of calls, too; and that policy
with the calls as they were, without recall and with `query_memory`, which is what a wrapper can do. A policy sees what
persons and models say between the calls; a wrapper does not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from mcp import ClientSession
from rich.console import Console
from rich.table import Table

from memory_context import FoldPolicy, MemoryManager
from memory_context.conversation import ConversationSettings, Message
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.mcp.memory_of_a_wrapped_session import WrappedMemory
from memory_context.mcp.upstream_connections import WrappedServer
from memory_context.mcp.wrapping_proxy import Wrapper
from memory_context.replay import (
    Figures,
    Policy,
    Recording,
    Replayed,
    TokenMeter,
    parse_policy,
    stream_recordings,
)
from memory_context.replay.memory_context_policy import RememberingContext
from memory_context.text.tokens.counter import TokenCounter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from replayed import measure

# Without an SDK: it starts 94 times.
SERVER = """
import json, sys
recorded = json.load(open(sys.argv[1], encoding="utf-8"))
results = iter(recorded["results"])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in recorded["tools"]]}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "recorded", "version": "1"}}
    if asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": next(results)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
SETTINGS = ConversationSettings(FoldPolicy(queries=True), recall=None)
console = Console(width=100)


class WrappedContext:
    """Prompts as a client of the wrapper has them: everything that was said, and results as they came through."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._manager = MemoryManager("sqlite://", user_id="ann", thread_id="t")
        self._memory = WrappedMemory(self._manager, SETTINGS, PassingPolicy())
        self._stack = AsyncExitStack()
        self._session: Any = None
        self._messages = list[Message]()

    @property
    def schemas(self) -> str:
        """The tools beside those of the server, as a client tells them to a model."""
        told = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["inputSchema"],
            }
            for tool in self._memory.listed()
        ]
        return "\n".join(map(json.dumps, told))

    async def add(self, messages: Sequence[Message]) -> None:
        """Call the tools of results, and keep what the client gets."""
        if self._session is None:
            await self._start()
        for message in messages:
            if message.role != "tool":
                self._messages.append(message)
                continue
            arguments = next(
                (
                    call.arguments
                    for earlier in reversed(self._messages)
                    for call in earlier.calls
                    if call.id == message.answers
                ),
                "{}",
            )
            parsed = json.loads(arguments or "{}")
            got = await self._session.call_tool(
                message.source, parsed if isinstance(parsed, dict) else {}
            )
            [part] = got.content
            self._messages.append(message.with_texts({0: part.text}))

    async def prompt(self) -> list[Message]:
        """What a model is sent."""
        return list(self._messages)

    def stored(self, key: str) -> str | None:
        """The text behind a reference."""
        item = self._manager.memory_store.get(self._manager.scope, key)
        return item.text if item else None

    async def close(self) -> None:
        """End the session."""
        await self._stack.aclose()
        self._manager.close()

    async def _start(self) -> None:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        results = [message for message in self._recording.messages if message.role == "tool"]
        names = sorted({message.source for message in results})
        file = folder / "recorded.json"
        recorded = {"tools": names, "results": [message.text for message in results]}
        file.write_text(json.dumps(recorded), "utf-8")
        server = WrappedServer(command=(sys.executable, "-S", "-c", SERVER, str(file)))
        to_wrapper, read = anyio.create_memory_object_stream[Any](1)
        write, from_wrapper = anyio.create_memory_object_stream[Any](1)
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(Wrapper([server], self._memory).run, read, write)
        self._session = await self._stack.enter_async_context(
            ClientSession(from_wrapper, to_wrapper)
        )
        await self._session.initialize()


def wrapped(recording: Recording) -> Policy:
    """Return the wrapper as a policy, for one recording."""

    def opened(counter: TokenCounter) -> Replayed:
        context = WrappedContext(recording)
        return Replayed(context, context.stored, context.close, counter.count(context.schemas))

    return Policy("wrapped", opened)


class ResultsAlone(RememberingContext):
    """Prompts in which results are folded, and nothing that the model has written."""

    def __init__(self, settings: ConversationSettings) -> None:
        super().__init__(settings)
        self._said = dict[str, Message]()

    async def add(self, messages: Sequence[Message]) -> None:
        """Keep what the model says."""
        self._said |= {message.id: message for message in messages if message.role == "assistant"}
        await super().add(messages)

    async def prompt(self) -> list[Message]:
        """Show it as it was."""
        return [self._said.get(message.id, message) for message in await super().prompt()]


def folded_alike(counter: TokenCounter) -> Replayed:
    """Return replay's policy with the wrapper's settings."""
    settings = replace(SETTINGS, fold=replace(SETTINGS.fold, counter=counter))
    context = ResultsAlone(settings)
    return Replayed(context, context.stored, context.close, counter.count(context.schemas()))


async def compared(recordings: Sequence[Recording]) -> None:
    """Print the figures."""
    meter = TokenMeter()
    figures = dict[str, Figures]()
    for policy in (
        parse_policy("unbounded"),
        parse_policy("memory:threshold=500"),
        Policy("the same, results alone", folded_alike),
    ):
        figures[policy.name] = await measure(recordings, policy, meter)
    through = Figures()
    for recording in recordings:
        through += await measure([recording], wrapped(recording), meter)
    figures["through the wrapper"] = through
    whole = figures["unbounded"]
    table = Table("policy", "tokens", "cost", "with schemas", "visible", "lost", "trips / calls")
    for name, one in figures.items():
        table.add_row(
            name,
            f"{one.tokens / whole.tokens:.3f}",
            f"{one.cost / whole.cost:.3f}",
            f"{one.all_counted / whole.all_counted:.3f}",
            f"{one.visible / max(one.needed, 1):.3f}",
            str(one.lost),
            f"{one.trips} / {one.calls}",
        )
    console.print(f"{len(recordings)} runs")
    console.print(table)


def main(
    file: Annotated[Path, typer.Argument(help="Recorded runs, as of `memory-context replay`.")],
    *,
    runs: Annotated[int | None, typer.Option(help="Only the first so many.")] = None,
) -> None:
    """Price recorded results that come through the wrapper."""
    asyncio.run(compared(list(islice(stream_recordings(file), runs))))


if __name__ == "__main__":
    typer.run(main)
