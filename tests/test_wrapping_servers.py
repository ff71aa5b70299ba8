"""Servers and clients of others, through the wrapper: the reference servers from npm and PyPI, the Inspector."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

import commands
from free_ports import free_port
from mcp_clients import Client, as_json
from memory_context.model.reference import MemoryRef

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
VARIABLE = "MEMORY_CONTEXT_TEST_MCP_SERVERS"
MEMORY = {"retrieve_memory", "search_memory", "query_memory"}
LINES = [
    f"order {number} of owner-{number % 7} went to dock {number % 31}" for number in range(3000)
]


def program(name: str) -> str:
    """A server or client of the environment that has them."""
    folder = Path(os.environ.get(VARIABLE) or ROOT / ".venv-mcp-servers")
    for path in (folder / "bin" / name, folder / "node_modules/.bin" / name):
        if path.exists():
            return str(path)
    pytest.fail(
        f"there is no {name} in {folder}: `make mcp-servers` makes it, with npm; or name it in {VARIABLE}"
    )


@pytest.fixture
def ours(sqlite_url: str) -> list[str]:
    """The wrapper's own options."""
    return [*commands.COMMAND, "wrap", "--store", sqlite_url, "--user", "ann"]


async def sampled(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    """What the client's model says."""
    said = types.TextContent(type="text", text=f"sampled from {len(params.messages)} message")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


async def elicited(*_: Any) -> types.ElicitResult:
    """What a person says."""
    return types.ElicitResult(action="decline")


@asynccontextmanager
async def session(
    *command: str, heard: list[Any] | None = None, environment: dict[str, str] | None = None
) -> AsyncIterator[Client]:
    """A client that can do what servers may ask for."""
    server = StdioServerParameters(
        command=command[0], args=[*command[1:]], env={**os.environ, **(environment or {})}
    )

    async def note(message: Any) -> None:
        if heard is not None:
            heard.append(message)

    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(stdio_client(server))
        callbacks: dict[str, Any] = {
            "sampling_callback": sampled,
            "elicitation_callback": elicited,
            "logging_callback": note,
            "message_handler": note,
        }
        one = ClientSession(read, write, **callbacks)
        await (await stack.enter_async_context(one)).initialize()
        yield Client(one)


async def told(client: Client) -> dict[str, Any]:
    """What a server offers, but for the memory's tools and the schemas of results."""
    tools = await client.tools()
    shown = {name: tool for name, tool in tools.items() if name not in MEMORY}
    for tool in shown.values():
        tool.pop("outputSchema", None)
    offered: dict[str, Any] = {"tools": shown}
    if "get-tiny-image" in tools:
        offered["prompts"] = as_json(await client.session.list_prompts())
        offered["resources"] = as_json(await client.session.list_resources())
        offered["templates"] = await client.templates()
    return offered


def text_of(result: dict[str, Any]) -> str:
    """The first text of a result that is no error."""
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


SERVERS = {
    "mcp-server-everything": [],
    "mcp-server-filesystem": ["/tmp"],
    "mcp-server-memory": [],
    "mcp-server-time": [],
    "mcp-server-git": [],
    "mcp-server-fetch": [],
}


@pytest.mark.parametrize("name", SERVERS)
async def test_the_same_offers(name: str, ours: list[str]) -> None:
    """Wrapped, each reference server offers what it offers by itself, and the memory's tools."""
    command = [program(name), *SERVERS[name]]
    async with session(*command) as client:
        expected = await told(client)
    async with session(*ours, "--", *command) as client:
        assert {*await client.tools()} >= MEMORY
        assert expected == await told(client)


async def test_everything(ours: list[str]) -> None:
    """The server that uses everything of the protocol: images, progress, logs, sampling, elicitation, resources, prompts."""
    heard = list[Any]()
    progress = list[float]()

    async def note(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    everything = program("mcp-server-everything")
    async with session(everything) as client:
        direct = [
            await client.call("get-tiny-image"),
            await client.call("get-structured-content", location="Chicago"),
            await client.call("get-annotated-message", messageType="error", includeImage=True),
            await client.call("get-resource-links", count=3),
            as_json(await client.session.get_prompt("simple-prompt")),
        ]
    async with session(*ours, "--", everything, heard=heard) as client:
        through = [
            await client.call("get-tiny-image"),
            await client.call("get-structured-content", location="Chicago"),
            await client.call("get-annotated-message", messageType="error", includeImage=True),
            await client.call("get-resource-links", count=3),
            as_json(await client.session.get_prompt("simple-prompt")),
        ]
        assert direct == through
        await client.session.call_tool(
            "trigger-long-running-operation", {"duration": 1, "steps": 4}, progress_callback=note
        )
        assert [1, 2, 3, 4] == progress
        assert "sampled from 1 message" in json.dumps(
            await client.call("trigger-sampling-request", prompt="x")
        )
        assert "decline" in json.dumps(await client.call("trigger-elicitation-request"))
        await client.call("toggle-simulated-logging")
        [first, *_] = (await client.page())["resources"]
        assert (await client.read(first["uri"])).get("text") or (
            await client.read(first["uri"])
        ).get("blob")
        failed = await client.session.call_tool("get-sum", {"a": "no number"})
        assert as_json(failed)["isError"]


async def test_files(ours: list[str], tmp_path: Path) -> None:
    """A large file is read as a reference, and written whole to another file by it, without passing the model."""
    (tmp_path / "orders.txt").write_text("\n".join(LINES))
    command = [program("mcp-server-filesystem"), str(tmp_path)]
    async with session(*ours, "--", *command) as client:
        result = await client.call("read_text_file", path=str(tmp_path / "orders.txt"))
        shown = text_of(result)
        ref = MemoryRef.parse(shown.split("\n")[0])
        await client.call(
            "write_file", path=str(tmp_path / "copy.txt"), content=f"[MemoryRef: {ref.key}]"
        )
        part = await client.call("retrieve_memory", key=ref.key, lines="2778")

        assert "structuredContent" not in result
        assert len(shown) < 2500
        assert LINES == (tmp_path / "copy.txt").read_text().split("\n")
        assert LINES[2777] in text_of(part)


async def test_a_graph(ours: list[str], tmp_path: Path) -> None:
    """A structured result is queried where it is kept."""
    entities = [
        {"name": f"owner-{number}", "entityType": "owner", "observations": [f"has {number} orders"]}
        for number in range(200)
    ]
    command = [program("mcp-server-memory")]
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "graph.json")}
    async with session(*ours, "--", *command, environment=environment) as client:
        await client.call("create_entities", entities=entities)
        ref = MemoryRef.parse(text_of(await client.call("read_graph")).split("\n")[0])
        counted = await client.call("query_memory", sql=f"SELECT count(*) AS n FROM {ref.key}")
        found = await client.call("retrieve_memory", key=ref.key, query="owner-177")

        assert "200" in text_of(counted)
        assert "has 177 orders" in text_of(found)


async def test_several_from_pypi(ours: list[str], tmp_path: Path) -> None:
    """Three servers at once: a time, a log and a page, the large ones as references."""
    git = partial(subprocess.run, check=True, cwd=tmp_path, capture_output=True)
    git(["git", "init", "-q"])
    (tmp_path / "orders.txt").write_text("\n".join(LINES))
    git(["git", "add", "."])
    git(
        [
            "git",
            "-c",
            "user.name=ann",
            "-c",
            "user.email=ann@example.org",
            "commit",
            "-qm",
            "orders",
        ]
    )
    servers = {
        name: {"command": program(f"mcp-server-{name}"), "args": []}
        for name in ("time", "git", "fetch")
    }
    servers["fetch"]["args"] = ["--ignore-robots-txt", "--allow-private-ips"]
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    async with session(*ours, "--servers", str(file)) as client:
        now = await client.call("get_current_time", timezone="Europe/Vienna")
        shown = await client.call("git_show", repo_path=str(tmp_path), revision="HEAD")
        with served(tmp_path) as url:
            fetched = await client.call(
                "fetch", url=f"{url}/orders.txt", max_length=100_000, raw=True
            )
        for result in (shown, fetched):
            ref = MemoryRef.parse(text_of(result).split("\n")[0])
            part = await client.call("retrieve_memory", key=ref.key, contains="order 2345 ")
            assert LINES[2345] in text_of(part)
        assert "Vienna" in text_of(now)


async def test_over_http(ours: list[str]) -> None:
    """A server on streamable HTTP, which asks and tells over its own stream."""
    with everything_over_http() as url:
        async with session(*ours, "--url", url) as client:
            assert "Echo: hi" in text_of(await client.call("echo", message="hi"))
            assert "sampled" in json.dumps(
                await client.call("trigger-sampling-request", prompt="x")
            )


def test_the_inspector(ours: list[str], tmp_path: Path) -> None:
    """The Inspector, a client of others in TypeScript, lists and calls through the wrapper."""
    (tmp_path / "orders.txt").write_text("\n".join(LINES))
    # It reads the options of what it starts as its own.
    script = tmp_path / "wrapped"
    command = shlex.join([*ours, "--", program("mcp-server-filesystem"), str(tmp_path)])
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    script.chmod(0o755)

    def inspected(*more: str) -> dict[str, Any]:
        command = [program("mcp-inspector"), "--cli", str(script), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stderr
        return dict(json.loads(done.stdout))

    names = {tool["name"] for tool in inspected("--method", "tools/list")["tools"]}
    path = f"path={tmp_path / 'orders.txt'}"
    result = inspected(
        "--method", "tools/call", "--tool-name", "read_text_file", "--tool-arg", path
    )
    ref = MemoryRef.parse(text_of(result).split("\n")[0])
    asked = ["--tool-arg", f"key={ref.key}", "--tool-arg", "lines=2778"]
    part = inspected("--method", "tools/call", "--tool-name", "retrieve_memory", *asked)

    assert {"read_text_file", *MEMORY} <= names
    # Another process, another session: the store has outlived the first.
    assert LINES[2777] in text_of(part)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A web server for a folder, and its URL."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def everything_over_http() -> Iterator[str]:
    """The server that uses everything, on a port that is free."""
    port = str(free_port())
    command = [program("mcp-server-everything"), "streamableHttp"]
    with subprocess.Popen(
        command, env={**os.environ, "PORT": port}, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr
            # It says so once it listens.
            for line in process.stderr:
                if "listening" in line.lower():
                    break
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()
