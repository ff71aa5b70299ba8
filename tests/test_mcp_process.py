"""The MCP server as a process: what is on its streams, how it ends, who may connect to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from mcp_clients import COMMAND, http_server
from memory_context import MemoryManager
from memory_context.cli import run
from memory_context.exceptions import InvalidArgumentError
from memory_context.mcp.http_server import listening

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
TALKATIVE = """
import os, subprocess, sys, threading
from pydantic import BaseModel
from memory_context import MemoryManager
from memory_context.mcp.server_on_either_sdk import mcp_server
from memory_context.mcp.stdio_server import serve_stdio
from memory_context.tools.tool_calls_and_answers import ToolAnswer, Verb

class Nothing(BaseModel):
    pass

turn = threading.Event()

def talk(manager, args, most):
    print("printed", flush=True)
    sys.__stdout__.write("written")
    os.write(1, b"to the descriptor")
    subprocess.run([sys.executable, "-c", "import sys; print('by a child', sys.stdin.readlines())"], check=True)
    return ToolAnswer("talked")

def wait(manager, args, most):
    return ToolAnswer(str(turn.wait(600)))

def go(manager, args, most):
    turn.set()
    return ToolAnswer("gone")

def fail(manager, args, most):
    raise RuntimeError("postgresql://me:hunter2@host/database")

manager = MemoryManager(sys.argv[1], user_id="ann")
verbs = {Verb(work.__name__, work.__name__, Nothing, work): manager for work in (talk, wait, go, fail)}
serve_stdio(mcp_server(manager, verbs=verbs))
"""


@dataclass
class Server:
    """A process that speaks JSON-RPC, line by line."""

    process: subprocess.Popen[bytes]
    # Answers that came before they were asked for: a server answers in whatever order it is done.
    came: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])

    @property
    def stdin(self) -> IO[bytes]:
        """Its standard input."""
        assert self.process.stdin
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its standard output."""
        assert self.process.stdout
        return self.process.stdout

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Write a message, or any bytes, as a line."""
        line = (
            message
            if isinstance(message, bytes)
            else json.dumps({"jsonrpc": "2.0", **message}).encode()
        )
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def call(self, number: int, tool: str, **arguments: object) -> None:
        """Ask for a tool's answer."""
        params = {"name": tool, "arguments": arguments}
        self.send({"id": number, "method": "tools/call", "params": params})

    def receive(self) -> dict[str, Any]:
        """The next line, which is a message."""
        return dict(json.loads(self.stdout.readline()))

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to the request of that number."""
        while number not in self.came:
            message = self.receive()
            self.came[message.get("id", -1)] = message
        return self.came.pop(number)

    def text(self, number: int) -> str:
        """The text of a tool's answer."""
        return str(self.answer(number)["result"]["content"][0]["text"])

    def end(self) -> tuple[int, list[str]]:
        """Its exit code and the lines on standard error, once it has ended by itself."""
        assert self.process.stderr
        code = self.process.wait(600)
        return code, self.process.stderr.read().decode().splitlines()


@contextmanager
def started(*command: str) -> Iterator[Server]:
    """A server with which a session has begun."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/") as process:
        server = Server(process)
        try:
            server.send({"id": 0, "method": "initialize", "params": HELLO})
            assert "memory-context" == server.answer(0)["result"]["serverInfo"]["name"]
            server.send({"method": "notifications/initialized"})
            yield server
        finally:
            process.kill()


@pytest.fixture
def server(sqlite_url: str) -> Iterator[Server]:
    """The command, on standard input and output."""
    with started(*COMMAND, "--store", sqlite_url, "--user", "ann") as server:
        yield server


@pytest.fixture
def talkative(sqlite_url: str, tmp_path: Path) -> Iterator[Server]:
    """A server with tools that print, wait, and fail."""
    script = tmp_path / "talkative.py"
    script.write_text(TALKATIVE, encoding="utf-8")
    with started(sys.executable, str(script), sqlite_url) as server:
        yield server


def test_nothing_but_the_protocol(talkative: Server) -> None:
    """What a tool or a child process prints goes to standard error; standard output has messages and nothing else."""
    talkative.call(1, "talk")
    assert "talked" == talkative.text(1)
    talkative.stdin.close()
    rest = talkative.stdout.read()
    code, errors = talkative.end()

    assert (0, b"") == (code, rest)
    for printed in ("printed", "written", "to the descriptor", "by a child []"):
        assert printed in "\n".join(errors)


@pytest.mark.long
def test_requests_run_beside_each_other(talkative: Server) -> None:
    """A call that waits for another one gets its answer."""
    talkative.call(1, "wait")
    talkative.call(2, "go")

    assert {"gone", "True"} == {
        talkative.receive()["result"]["content"][0]["text"] for _ in range(2)
    }


@pytest.mark.long
def test_what_nobody_expected(talkative: Server) -> None:
    """An error that nobody expected is told without its words, which stand in the log."""
    talkative.call(1, "fail")
    answer = talkative.answer(1)["result"]
    talkative.stdin.close()
    _, errors = talkative.end()

    assert answer["isError"]
    assert "hunter2" not in json.dumps(answer)
    assert "hunter2" in "\n".join(errors)


@pytest.mark.long
def test_lines_that_are_no_messages(server: Server) -> None:
    """Lines that are no JSON, no message or no UTF-8 do not end the server."""
    for line in (
        b"nonsense",
        b"[]",
        b"{}",
        b"",
        b'{"jsonrpc": "2.0"}',
        b"\xff\xfe",
        b'"' + b"x" * 200_000 + b'"',
    ):
        server.send(line)
    server.send(
        {"id": 1, "method": "tools/call", "params": {"name": "search_memory", "arguments": [1]}}
    )
    server.send({"id": 2, "method": "tools/call", "params": {"name": 5}})
    server.send({"id": 3, "method": "no/such/method"})
    for number in (1, 2, 3):
        assert "error" in server.answer(number)
    server.send(
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":"\\ud800"}}}'
    )
    server.call(5, "search_memory", query="anything")
    for number in (4, 5):  # half an emoji is read as a replacement character
        assert "Nothing in memory" in server.text(number)


def test_end_of_input_with_open_requests(talkative: Server) -> None:
    """What was asked before the client closes the server's input is answered before the server ends."""
    talkative.call(1, "wait")
    talkative.call(2, "talk")
    talkative.send({"method": "notifications/cancelled", "params": {"requestId": 7}})
    talkative.call(3, "go")
    talkative.stdin.close()

    assert [talkative.text(number) for number in (1, 2, 3)] == ["True", "talked", "gone"]
    assert 0 == talkative.end()[0]


@pytest.mark.long
def test_end_of_input(server: Server) -> None:
    """When the client closes the server's input, the server ends, with code 0 and without complaint."""
    server.stdin.close()
    code, errors = server.end()

    assert 0 == code
    assert 1 == len(errors), errors
    assert "the memories of 'ann' in " in errors[0]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(server: Server, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end it, with code 0 and without a stack trace, though its input stays open."""
    server.call(1, "search_memory", query="anything")
    server.answer(1)
    server.process.send_signal(number)
    code, errors = server.end()

    assert (0, 1) == (code, len(errors)), errors


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_over_http(sqlite_url: str, number: signal.Signals) -> None:
    """The same over HTTP, with a connection open; standard output has the URL and nothing else."""
    with ExitStack() as stack:
        process, url = stack.enter_context(http_server("--store", sqlite_url, "--user", "ann"))
        connection = stack.enter_context(closing(HTTPConnection(urlsplit(url).netloc)))
        _ask(connection, {})
        assert connection.getresponse().read()
        process.send_signal(number)
        out, errors = process.communicate(timeout=600)

    assert (0, "", 1) == (process.returncode, out, len(errors.splitlines())), errors
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/mcp")


@pytest.mark.long
def test_a_client_that_is_gone(server: Server) -> None:
    """If nobody reads the answers any more, the server ends without a stack trace."""
    server.stdout.close()
    server.call(1, "search_memory", query="anything")
    server.call(2, "search_memory", query="anything")
    code, errors = server.end()

    assert (0, 1) == (code, len(errors)), errors


@pytest.mark.long
def test_foreign_pages(sqlite_url: str) -> None:
    """A request that names another host or comes from another site's page, as in DNS rebinding, is refused."""
    with http_server("--store", sqlite_url, "--user", "ann") as (_, url):
        place = urlsplit(url).netloc
        port = urlsplit(url).port
        requests: dict[str, dict[str, str]] = {
            "plain": {},
            "same": {"Origin": f"http://{place}"},
            "name": {"Host": f"localhost:{port}"},
            "foreign host": {"Host": "evil.example:80"},
            "foreign host, same port": {"Host": f"evil.example:{port}"},
            "foreign origin": {"Origin": "https://evil.example"},
            "sandboxed page": {"Origin": "null"},
        }
        answers = {name: _hello(place, headers) for name, headers in requests.items()}

    assert [200, 200, 200, 421, 421, 403, 403] == [*answers.values()]


@pytest.mark.long
def test_a_token(sqlite_url: str) -> None:
    """With a token it listens to other machines, and answers nobody without it; a page's origin does not matter then."""
    token = "t" * 32
    arguments = ("--store", sqlite_url, "--user", "ann", "--host", "0.0.0.0")
    with http_server(*arguments, MEMORY_CONTEXT_MCP_TOKEN=token) as (_, url):
        place = f"127.0.0.1:{urlsplit(url).port}"
        sent = [
            {"Authorization": f"Bearer {token}"},
            {"Authorization": f"bearer {token}", "Host": "memories.example:443"},
            {},
            {"Authorization": f"Bearer {token[:-1]}"},
            {"Authorization": token},
            {"Authorization": "Bearer \xfc"},
        ]
        answers = [_hello(place, headers) for headers in sent]

    assert [200, 200, 401, 401, 401, 401] == answers


@for_each("token", ["short", "ü" * 20, "with a space in the middle"])
def test_a_token_that_is_none(
    token: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token that could be guessed, or that no header takes, is refused; it is not shown."""
    monkeypatch.setenv("MEMORY_CONTEXT_MCP_TOKEN", token)
    assert 2 == run(["mcp", "--store", sqlite_url, "--user", "ann", "--http", "0"])
    errors = capsys.readouterr().err
    assert "16 or more" in errors
    assert token not in errors


@pytest.mark.long
def test_requests_that_are_too_large(sqlite_url: str) -> None:
    """Over HTTP a request has four megabytes at most, a limit of the SDK; the next one is answered."""
    with http_server("--store", sqlite_url, "--user", "ann") as (_, url):
        place = urlsplit(url).netloc
        assert 413 == _hello(place, {}, "x" * 5_000_000)
        assert 200 == _hello(place, {})


def test_this_machine_only() -> None:
    """It listens on the loopback address, and on no other address of the machine."""
    with listening("localhost", 0) as place:
        assert ("127.0.0.1", place.port) == place.socket.getsockname()


@given(address=st.ip_addresses())
def test_addresses_law(address: IPv4Address | IPv6Address) -> None:
    """No address that others reach is listened on."""
    if not address.is_loopback:
        with pytest.raises(InvalidArgumentError, match="SSH tunnel"), listening(str(address), 0):
            pass


@for_each(
    "arguments, said",
    [
        (["--http", "0", "--host", "0.0.0.0"], "SSH tunnel"),
        (["--http", "0", "--host", "::"], "SSH tunnel"),
        (["--http", "0", "--host", "192.168.0.1"], "SSH tunnel"),
        (["--http", "0", "--host", "0.0.0.0"], "MEMORY_CONTEXT_MCP_TOKEN"),
        (["--http", "0", "--host", "example.org"], "not an address"),
        (["--host", "127.0.0.1"], "--http PORT"),
        (["--http", "99999"], "--http"),
        (["--http", "-1"], "--http"),
        (["--max-tokens", "5"], "--max-tokens"),
        (["--store", "postgresql+psycopg://me:hunter2@127.0.0.1:1/nothing"], "127.0.0.1"),
        (["--store", "sqlite:////no/such/folder/memory.db"], "/no/such/folder"),
        (["--store", ""], "MEMORY_CONTEXT_STORE"),
        (["--user", ""], "user"),
    ],
)
def test_refusals(
    arguments: list[str], said: str, sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be served is refused before anything is: code 2, and one line that says what would be right."""
    assert 2 == run(["mcp", "--store", sqlite_url, "--user", "ann", *arguments])
    out, errors = capsys.readouterr()

    [line] = errors.splitlines()
    assert out == ""
    assert said in line
    assert "hunter2" not in line


def test_a_port_that_is_taken(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A port that another program has is refused, with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert 2 == run(["mcp", "--store", sqlite_url, "--user", "ann", "--http", port])
    assert "--http 0" in capsys.readouterr().err


@pytest.mark.long
def test_a_missing_sdk(sqlite_url: str) -> None:
    """Without the package mcp, the command says which extra to install."""
    code = "import sys; sys.modules['mcp'] = None; from memory_context.cli import main; main()"
    command = [sys.executable, "-c", code, "mcp", "--store", sqlite_url, "--user", "ann"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert "pip install 'memory-context[mcp]'" in done.stderr


def test_import_loads_no_sdk() -> None:
    """The package and its command line load without the SDK."""
    code = "import sys, memory_context, memory_context.cli; print('mcp' in sys.modules)"
    assert (
        "False"
        == subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
    )


@pytest.mark.long
def test_settings_from_the_environment(sqlite_url: str) -> None:
    """Store and user may come from the environment, as in the configuration of a client."""
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store("kept", key="of.ann")
    env = {**os.environ, "MEMORY_CONTEXT_STORE": sqlite_url, "MEMORY_CONTEXT_USER": "ann"}
    done = subprocess.run(
        COMMAND, input="", env=env, capture_output=True, text=True, check=False, cwd="/"
    )

    assert (0, "") == (done.returncode, done.stdout)
    assert "'ann'" in done.stderr


def _hello(place: str, headers: dict[str, str], padding: str = "") -> int:
    """The status that a first request with these headers gets."""
    with closing(HTTPConnection(place)) as connection:
        _ask(connection, headers, padding)
        return connection.getresponse().status


def _ask(connection: HTTPConnection, headers: dict[str, str], padding: str = "") -> None:
    params = {**HELLO, "clientInfo": {"name": f"test{padding}", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", body, {**accepted, **headers})
