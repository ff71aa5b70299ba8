"""`memory-context wrap` as clients start it: a process on standard input and output, servers behind it by command or URL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

import commands
from mcp_clients import SDK, http_server, session_with
from memory_context import MemoryManager

SCRIPTED = [sys.executable, "-S", str(Path(__file__).with_name("scripted_mcp_server.py")), "demo"]
TOKEN = "a-token-of-the-tests-0123456789"
HELLO = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    '"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}\n'
)
MODES = ["legacy"] if SDK == 1 else ["auto"]


def wrap(*arguments: str, **environment: str) -> StdioServerParameters:
    """How a client starts the wrapper."""
    command = [*commands.COMMAND, "wrap", *arguments]
    env = {**os.environ, **environment}
    return StdioServerParameters(command=command[0], args=command[1:], env=env, cwd="/")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.long
async def test_a_command(mode: str, tmp_path: Path) -> None:
    """What stands behind -- is started and wrapped; without further ado results go to a database at home."""
    async with session_with(wrap("--", *SCRIPTED, XDG_DATA_HOME=str(tmp_path)), mode) as client:
        tools = await client.tools()
        [part] = (await client.call("large"))["content"]
        orders = await client.call("orders")

        assert {"large", "query_memory"} <= {*tools}
        assert part["text"].startswith("[MemoryRef: large_")
        # The client's SDK checks results against the schemas that it was told.
        assert orders["content"][0]["text"].startswith("[MemoryRef: orders_")
    data = tmp_path / "memory-context"
    assert 0o700 == data.stat().st_mode & 0o777
    done = commands.memory_context("list", "--json", "--store", f"sqlite:///{data}/memory.db")
    assert 2 == len(json.loads(done.stdout)["memories"])


@pytest.mark.long
async def test_a_url(sqlite_url: str, tmp_path: Path) -> None:
    """A server that listens somewhere is wrapped, with the token that a file of servers has for it; beside another."""
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store(
            "\n".join(f"line {number} of the far text" for number in range(900)), key="far"
        )
    file = tmp_path / "servers.json"
    with http_server("--store", sqlite_url, "--user", "ann", MEMORY_CONTEXT_MCP_TOKEN=TOKEN) as (
        _,
        url,
    ):
        far: dict[str, Any] = {"url": url, "headers": {"Authorization": f"Bearer {TOKEN}"}}
        near = {"command": SCRIPTED[0], "args": SCRIPTED[1:]}
        file.write_text(json.dumps({"mcpServers": {"far": far, "near": near}}), "utf-8")
        ours = ["--store", f"sqlite:///{tmp_path / 'own.db'}", "--user", "ann"]
        async with session_with(wrap(*ours, "--servers", str(file))) as client:
            tools = await client.tools()
            assert {"far_retrieve_memory", "near_retrieve_memory", "retrieve_memory", "got"} <= {
                *tools
            }
            part, _ = (await client.call("far_retrieve_memory", key="far"))["content"]
            assert part["text"].startswith("[MemoryRef: far_retrieve_memory_")
            listed = (await client.page())["resources"]
            assert "memory://far" in [one["uri"] for one in listed]
        refused = await _refusal(wrap(*ours, "--url", url))
        assert ("refused to start a session" if SDK == 2 else "401") in refused


@pytest.mark.long
def test_ours_stays_ours(sqlite_url: str) -> None:
    """A wrapped server gets the client's variables, and none with which it could open the memories."""
    # It ends once it was asked: what is written to one that has ended may fail by itself.
    script = (
        "import os, sys; print('Listening', flush=True);"
        " sys.stderr.write('SEEN ' + ' '.join(os.environ)); sys.stderr.flush();"
        " sys.stdin.readline()"
    )
    server = wrap("--store", sqlite_url, "--user", "ann", "--", sys.executable, "-c", script)
    env = {**(server.env or {}), "MEMORY_CONTEXT_STORE_PASSWORD": "hunter2", "OF_THE_CLIENT": "1"}
    with subprocess.Popen(
        [server.command, *server.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(HELLO)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate()

    assert "it closed the connection" in answer["error"]["message"]
    assert "OF_THE_CLIENT" in errors
    assert "MEMORY_CONTEXT" not in errors.partition("SEEN")[2]
    assert (0, "") == (process.returncode, out)
    assert "not a message: 'Listening'" in errors
    assert "Traceback" not in errors


@pytest.mark.long
@pytest.mark.parametrize("hello", ["", HELLO], ids=["before a session", "in a session"])
def test_end_of_input(hello: str, sqlite_url: str) -> None:
    """When the client closes the wrapper's input, it ends with code 0, and no wrapped server is left."""
    server = wrap("--store", sqlite_url, "--user", "ann", "--", *SCRIPTED)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [server.command, *server.args], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(hello)
        process.stdin.flush()
        welcome = process.stdout.readline() if hello else ""
        try:
            # A wrapped server has the same standard error, so that ends when both have.
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert bool(hello) == ("serverInfo" in welcome)
    assert (0, "", 1) == (process.returncode, out, len(errors.splitlines())), errors


@pytest.mark.long
def test_end_of_input_with_open_requests(sqlite_url: str) -> None:
    """What was asked before the client closes the wrapper's input is answered before the wrapper ends."""
    server = wrap("--store", sqlite_url, "--user", "ann", "--", *SCRIPTED)
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    params = {"name": "large", "arguments": {}}
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    with subprocess.Popen(
        [server.command, *server.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(HELLO)
        process.stdin.flush()
        process.stdout.readline()
        out, _ = process.communicate(f"{ready}\n{call}\n")

    assert [2] == [json.loads(line)["id"] for line in out.splitlines()]
    assert 0 == process.returncode


async def _refusal(server: StdioServerParameters) -> str:
    """Why a session does not begin."""
    try:
        async with session_with(server):
            return ""
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            [error, *_] = error.exceptions
        return str(error)
