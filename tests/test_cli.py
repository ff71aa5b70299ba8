"""The command line from the outside: real processes, real databases, a real HTTP server where a model is asked."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
from rich.console import Console

from commands import COMMAND, in_terminal, in_this_process, memory_context, read_terminal
from for_each import for_each
from memory_context import MemoryManager, __version__
from memory_context.cli import run
from memory_context.conversation.message import FunctionCall, Message
from memory_context.conversation.recording_to_call_log import Decisions
from memory_context.demo.printed_conversation_and_tokens import Meter
from memory_context.display.safe_terminal_output import plain
from memory_context.stores.sql.migrate import HEAD
from messages import LOG

HOSTS = ("autogen", "langchain", "agent-framework")
NOWHERE = "postgresql+psycopg://127.0.0.1:1/nothing"


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error of a command that was refused."""
    assert (done.returncode, done.stdout) == (2, ""), done
    [line] = done.stderr.splitlines()
    return line


@dataclass(frozen=True)
class Kept:
    """A run of the demo whose database was kept."""

    output: str
    url: str
    words: str

    @property
    def manager(self) -> MemoryManager:
        """What it has stored."""
        return MemoryManager(self.url, user_id="demo")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """`memory-context demo --store`, run once."""
    url = f"sqlite:///{tmp_path_factory.mktemp('kept')}/memory.db"
    done = memory_context("demo", "--store", url)
    assert (done.returncode, done.stderr) == (0, "")
    return Kept(done.stdout, url, " ".join(done.stdout.split()))


def test_version() -> None:
    """`--version` says the version."""
    assert in_this_process("--version").stdout == f"memory-context {__version__}\n"


@pytest.mark.long
def test_help_without_a_command() -> None:
    """Without a command, the help names the commands."""
    done = memory_context()
    assert done.returncode == 0
    assert "demo" in done.stdout
    assert "migrate" in done.stdout
    headings = re.findall(r"^(\S.*):$", done.stdout, re.MULTILINE)
    assert [
        "Options",
        "Find and read",
        "Maintain",
        "Move and back up",
        "Serve and try out",
    ] == headings


@pytest.mark.long
def test_a_list_loads_what_it_needs(sqlite_url: str) -> None:
    """A list loads neither what reads texts, nor the parser of queries, nor a host."""
    MemoryManager(sqlite_url, user_id="ann").store("a note", key="note")
    code = (
        f"import sys; from memory_context.cli import run; run(['list', '--user', 'ann', '--store', {sqlite_url!r}]); "
        "print(*sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    ).stdout
    unwanted = {
        "sqlglot",
        "jsonpath_rfc9535",
        "memory_context.memory.manager",
        "tiktoken",
        "autogen_core",
        "langchain_core",
        "agent_framework",
        "pandas",
        "numpy",
        "mcp",
    }
    assert not unwanted & set(output.splitlines()[-1].split())


@pytest.mark.long
@for_each(
    "arguments, said",
    [
        ("demo --nope", "--nope"),
        ("demo --model", "--model"),
        ("demo everything", "everything"),
        ("frobnicate", "frobnicate"),
        ("demo --base-url http://127.0.0.1:1/v1", "--model NAME"),
        ("demo --model gpt-4o", "OPENAI_API_KEY"),
        ("demo --model openai:gpt-4o --host langchain", "OPENAI_API_KEY"),
        ("demo --model gpt-4o --host agent-framework", "OPENAI_API_KEY"),
        ("demo --host crewai", "'autogen', 'langchain', 'agent-framework'"),
        ("demo --store mysql://host/database", "postgresql+psycopg://"),
        ("demo --store memory.db", "sqlite:///memory.db"),
        ("demo --store sqlite:////no/such/folder/memory.db", "/no/such/folder/memory.db"),
        (f"demo --store {NOWHERE}", "127.0.0.1"),
        (f"migrate --store {NOWHERE}", "127.0.0.1"),
        ("migrate", "--store URL"),
    ],
)
def test_refusals_take_one_line(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong arguments and unreachable databases get exit code 2 and one line that says what would be right."""
    assert run(arguments.split()) == 2
    out, err = capsys.readouterr()
    [line] = err.splitlines()
    assert out == ""
    assert line.startswith("memory-context: ")
    assert said in line


def test_a_refusal_is_no_traceback() -> None:
    """The process itself ends with that one line and exit code 2."""
    assert "frobnicate" in one_line(in_this_process("frobnicate"))


@pytest.mark.long
def test_ctrl_c_in_the_demo() -> None:
    """Ctrl-C ends it with code 130 and without a traceback, although its threads go on without their database."""
    interrupted = list[bool]()

    def interrupt(process: subprocess.Popen[bytes], sent: bytes) -> None:
        if sent.count(b"\n") >= 7 and not interrupted:
            interrupted.append(True)
            process.send_signal(signal.SIGINT)

    shown = in_terminal("demo", "--host", "langchain", meanwhile=interrupt)
    assert (130, False) == (shown.code, "Traceback" in shown.text), shown.text


@pytest.mark.long
@for_each("module", ["autogen_core", "autogen_agentchat", "pytest"])
def test_a_missing_extra_takes_one_line(module: str) -> None:
    """Without a package that it needs, the demo says which extra to install."""
    code = (
        f"import sys; sys.modules[{module!r}] = None; from memory_context.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "demo"], capture_output=True, encoding="utf-8", check=False
    )
    line = one_line(done)
    assert module.replace("_", "-") in line
    assert "pip install 'memory-context[demo]'" in line


@pytest.mark.long
def test_a_missing_client_takes_one_line() -> None:
    """Without autogen-ext, a real model cannot be asked, and the demo says what to install."""
    code = (
        "import sys; sys.modules['autogen_ext'] = None; from memory_context.cli import main; main()"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "demo",
        "--model",
        "m",
        "--base-url",
        "http://127.0.0.1:1",
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert "pip install 'autogen-ext[openai]'" in one_line(done)


def test_migrate_says_what_it_did(store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`migrate` creates the schema where there is none, and says so; the second time there is nothing to do."""
    assert run(["migrate", "--store", store_url]) == 0
    assert f"created revision {HEAD}" in capsys.readouterr().out
    if store_url != "sqlite://":
        assert run(["migrate", "--store", store_url]) == 0
        assert "nothing to do" in capsys.readouterr().out


@pytest.mark.long
def test_migrate_takes_the_database_from_the_environment(sqlite_url: str) -> None:
    """Without `--store`, the database is that of the variable."""
    done = memory_context("migrate", MEMORY_CONTEXT_STORE=sqlite_url)
    assert done.stdout.replace("\n", "").startswith(sqlite_url)


def test_migrate_never_shows_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    """A password in the URL does not come back in the error."""
    assert run(["migrate", "--store", "postgresql+psycopg://me:s3cret@127.0.0.1:1/nothing"]) == 2
    assert "s3cret" not in capsys.readouterr().err


def test_a_newer_schema_is_refused(tmp_path: Path, sqlite_url: str) -> None:
    """A database of a newer version is left alone, in one line."""
    assert run(["migrate", "--store", sqlite_url]) == 0
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        [table] = connection.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE '%version%' AND type = 'table'"
        )
        connection.execute(f"UPDATE {table[0]} SET version_num = '9999'")
    connection.close()
    for command in ("migrate", "ui"):
        assert "9999" in one_line(in_this_process(command, "--store", sqlite_url))


@pytest.mark.long
def test_the_demo_stores_real_outputs(kept: Kept) -> None:
    """The four outputs are this machine's own, tens to hundreds of kilobytes each, whole in the database."""
    items = {
        item.memory_key.rpartition("_")[0]: item
        for item in kept.manager.memory_store.list_all(kept.manager.scope)
    }
    assert items.keys() == {"installed_packages", "list_environment", "run_tests", "file_sizes"}
    assert all(10_000 < item.char_count < 1_000_000 for item in items.values())
    names = [
        package["name"] for package in json.loads(items["installed_packages"].text)["packages"]
    ]
    assert "autogen-core" in names
    assert "bin/activate" in items["list_environment"].text or sys.prefix == sys.base_prefix
    assert "20 failed, 398 passed" in items["run_tests"].text
    assert items["file_sizes"].text.startswith("package,version,bytes,path\n")


@pytest.mark.long
def test_the_demo_shows_references(kept: Kept) -> None:
    """Each folded output is shown with its reference, exactly as the prompt has it."""
    for item in kept.manager.memory_store.list_all(kept.manager.scope):
        assert " ".join(item.ref.render().split()) in kept.words


@pytest.mark.long
def test_the_demo_recalls_by_itself(kept: Kept) -> None:
    """The second question brings back lines that were out of sight, and the reason is shown."""
    recalled = kept.output.partition("\nrecalled")[2].partition("\nmodel")[0]
    assert 'holds "14-weeks", "test_seconds"' in " ".join(recalled.split())
    assert "AssertionError: 14-weeks: not 6048000" in recalled


@pytest.mark.long
def test_the_demo_reads_on(kept: Kept) -> None:
    """The model then asks for every line about the failed case, by a pattern."""
    wanted = re.search(r'retrieve_memory\({"key": "(\w+)", "pattern": "14-weeks"}\)', kept.words)
    assert wanted
    lines = str(kept.manager.retrieve(wanted[1], pattern="14-weeks"))
    assert "test_seconds[14-weeks]" in lines
    assert "AssertionError: 14-weeks" in lines


@pytest.mark.long
def test_the_demo_answers_from_the_prompt(kept: Kept) -> None:
    """The second answer quotes the assertion, the line of code, and the log."""
    # The terminal's width breaks lines anywhere between words.
    answer = " ".join(kept.output.split("\nmodel")[-3].partition("\n─")[0].split())
    assert "AssertionError: 14-weeks: not 6048000" in answer
    assert "assert found == expected" in answer
    assert "432000 seconds" in answer


@pytest.mark.long
def test_the_demo_computes(kept: Kept) -> None:
    """The third question is answered by one query over two outputs, as the database says it."""
    [sql] = re.findall(r'query_memory\({"sql": "(.*?)", "save_as"', kept.words)
    package, size, files, _ = next(iter(kept.manager.query(sql)))
    answer = " ".join(kept.output.rpartition("\nmodel")[2].partition("\n─")[0].split())
    assert f"{package}: {size:,} bytes in {files} files" in answer


@pytest.mark.long
def test_the_demo_counts_every_call(kept: Kept) -> None:
    """The table's rows add up to its totals, and a small part of the tokens is sent."""
    rows = re.findall(
        r"^\d+  .*?(\d+)  +([\d,]+)  +([\d,]+|not needed) *$", kept.output, re.MULTILINE
    )
    total = re.search(r"^total +([\d,]+) +([\d,]+) *$", kept.output, re.MULTILINE)
    assert total
    sent, without = (int(number.replace(",", "")) for number in total.groups())
    assert len(rows) == 9
    assert sum(int(row[1].replace(",", "")) for row in rows) == sent
    assert sum(int(row[2].replace(",", "")) for row in rows if row[2] != "not needed") == without
    assert sent < without / 20


@pytest.mark.long
@pytest.mark.parametrize("host", HOSTS[1:])
def test_the_demo_runs_on_every_host(host: str) -> None:
    """On each host the same outputs are folded, the same lines are recalled, and the query answers."""
    done = memory_context("demo", "--host", host)
    assert (0, "") == (done.returncode, done.stderr)
    assert f"host: {host};" in done.stdout
    assert 9 == len(re.findall(r"^\d+  .*([\d,]+|not needed) *$", done.stdout, re.MULTILINE))
    assert "Folded: 4 texts" in done.stdout
    recalled = done.stdout.partition("\nrecalled")[2].partition("\nmodel")[0]
    assert "AssertionError: 14-weeks: not 6048000" in recalled
    assert re.search(r"bytes\s+in\s+\d+\s+files\.", done.stdout.rpartition("\nmodel")[2])


@pytest.mark.long
def test_the_next_commands_work(kept: Kept) -> None:
    """What the demo names as the next commands can be copied and run."""
    commands = [
        line.strip()
        for line in kept.output.rpartition("Look around in it:")[2].splitlines()
        if line.strip()
    ]
    listed, found, again = (shlex.split(command) for command in commands)
    assert {"memory-context"} == {listed[0], found[0], again[0]}
    assert "run_tests_" in in_this_process(*listed[1:]).stdout
    assert "14-weeks" in in_this_process(*found[1:]).stdout
    assert memory_context(*again[1:]).returncode == 0


@pytest.mark.long
def test_a_second_run_stores_equal_outputs_once(kept: Kept, tmp_path: Path) -> None:
    """`--store` keeps the database; what a second run makes again is the same record."""
    copy = tmp_path / "memory.db"
    shutil.copy(kept.url.removeprefix("sqlite:///"), copy)
    assert memory_context("demo", "--store", f"sqlite:///{copy}").returncode == 0
    with MemoryManager(f"sqlite:///{copy}", user_id="demo") as manager:
        keys = [item.memory_key for item in manager.memory_store.list_all(manager.scope)]
    assert sum(key.startswith("installed_packages") for key in keys) == 1
    assert sum(key.startswith("run_tests") for key in keys) >= 2


@pytest.mark.long
def test_a_pipe_gets_plain_text(kept: Kept) -> None:
    """In a pipe there are no colours, and no line but those to be copied is longer than the terminal is wide."""
    assert "\x1b" not in kept.output
    long = [line for line in kept.output.splitlines() if len(line) > 80]
    assert all(line.startswith(("  ", "database: ")) and kept.url[10:] in line for line in long)


@pytest.mark.long
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Without `--store`, the demo leaves neither its database nor its project."""
    done = memory_context("demo", TMPDIR=str(tmp_path))
    assert done.returncode == 0
    assert "memory-context demo --store sqlite:///demo.db" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_terminal_gets_colours() -> None:
    """In a terminal, the conversation is coloured."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "demo"], stdout=theirs, env={**os.environ, "TERM": "xterm-256color"}
    ) as process:
        os.close(theirs)
        shown = b"".join(read_terminal(ours))
    assert process.returncode == 0
    assert b"\x1b[" in shown


@pytest.mark.long
def test_a_reader_may_leave() -> None:
    """When the reader of the pipe has seen enough, the demo ends without a complaint."""
    with subprocess.Popen(
        [*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.long
def test_the_demo_works_on_postgresql(postgres_url: str) -> None:
    """`--store` takes a PostgreSQL database."""
    assert memory_context("demo", "--store", postgres_url).returncode == 0
    with MemoryManager(postgres_url, user_id="demo") as manager:
        assert manager.memory_store.count(manager.scope) == 4


@dataclass
class ModelServer:
    """An OpenAI-compatible server with prepared replies; what it was asked is kept."""

    replies: list[dict[str, Any]]
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])
    url: str = ""


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A server whose model runs the tests first, and then says something twice."""
    call = {"id": "c1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
    says: list[dict[str, Any]] = [
        {"content": "They fail."},
        {"content": "A week has five days there."},
        {"content": "I cannot tell."},
    ]
    server = ModelServer([{"content": None, "tool_calls": [call]}, *says])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.keys.append(self.headers["Authorization"])
            server.asked.append(asked)
            message = {"role": "assistant", **server.replies[len(server.asked) - 1]}
            reason = "tool_calls" if "tool_calls" in message else "stop"
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            completion = {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": asked["model"],
            }
            body = json.dumps({**completion, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}/v1"
        Thread(target=http.serve_forever, daemon=True).start()
        yield server
        http.shutdown()


@pytest.mark.long
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("model", ["some-local-model", "gpt-4o"])
def test_a_real_model_is_asked(host: str, model: str, model_server: ModelServer) -> None:
    """`--model` and `--base-url` ask that server, with the key from the environment; it sees folded outputs."""
    server = ("--base-url", model_server.url)
    done = memory_context("demo", "--host", host, "--model", model, *server, OPENAI_API_KEY="k3y")
    assert (done.returncode, done.stderr) == (0, "")
    assert model_server.keys == ["Bearer k3y"] * 4
    assert {asked["model"] for asked in model_server.asked} == {model}
    [result] = [
        message for message in model_server.asked[1]["messages"] if message["role"] == "tool"
    ]
    assert cast("str", result["content"]).startswith("[MemoryRef: run_tests_")
    assert "A week has five days there." in done.stdout


@pytest.mark.long
def test_a_model_that_does_not_answer_takes_one_line() -> None:
    """A server that cannot be reached gets exit code 2 and one line on standard error."""
    done = memory_context("demo", "--model", "some-model", "--base-url", "http://127.0.0.1:1/v1")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_the_unfolded_conversation_has_no_memory_tools() -> None:
    """What would be sent without memory-context has no calls of its tools, and everything else in full."""
    meter = Meter(Console(file=io.StringIO()), {"run_tests": LOG})
    calls = (
        FunctionCall("1", "run_tests", "{}"),
        FunctionCall("2", "retrieve_memory", '{"key": "k"}'),
    )
    says = [Message("", "assistant", "demo", {}, made) for made in (calls, calls[1:])]
    tests = Message("", "tool", "run_tests", {0: "[MemoryRef: run_tests_1 - a log]"}, answers="1")
    read = Message("", "tool", "retrieve_memory", {0: "some lines"}, answers="2")
    asked = Message("", "user", "user", {0: "look"})
    meter.question("look")
    meter.prompt([asked], {"run_tests": "{}", "retrieve_memory": "{}"}, Decisions([]))
    meter.answer(says[0])
    meter.prompt([asked, says[0], tests, read], {}, Decisions([]))
    meter.answer(says[1])
    meter.prompt([asked, says[0], tests, read, says[1], read], {}, Decisions([]))

    assert ["look", "", LOG] == [message.text for message in meter.unfolded]
    assert calls[:1] == meter.unfolded[1].calls
    assert [True, True, False] == [call.unfolded > 0 for call in meter.calls]


def test_stored_text_cannot_steer_the_terminal() -> None:
    """Escape sequences and other control characters are replaced; lines and indentation stay."""
    assert plain("\x1b[2Jred\x07\n\tnext\r").plain == "�[2Jred�\n    next�"
    assert plain("\u202eright\u2028\x9b").plain == "�right��"
    assert plain("a\u00a0b\u3000c").plain == "a\u00a0b\u3000c"
