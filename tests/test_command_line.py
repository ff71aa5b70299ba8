"""The verbs of the command line on real databases, in processes and terminals of their own."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import COMMAND, in_terminal, in_this_process, memory_context
from for_each import first_quick, for_each
from memory_context import CallRecord, MemoryManager, ModelCall, SQLAlchemyStore
from memory_context.cli import run
from memory_context.stores.sql.migrate import HEAD
from messages import LOG

PAST = datetime.now(UTC) - timedelta(hours=1)
BYTES = b"\x89PNG\r\n\x1a\n\x00\x1b[2J\xff"


def filled(url: str) -> str:
    """A database with memories of ann's and of bob's."""
    with MemoryManager(url, user_id="ann", agent_id="coder", thread_id="t1") as memory:
        memory.store(LOG, key="night.log", type="tool_output")
        memory.store(BYTES, key="picture", type="file_content")
        memory.store(
            {"orders": [{"id": 1}, {"id": 2}]}, key="orders", type="api_response", tags=["shop"]
        )
    with MemoryManager(url, user_id="ann", thread_id="t2") as memory:
        memory.store(
            "rockets fly high",
            "on rockets",
            key="rockets",
            category="space/rockets",
            importance=0.9,
        )
        memory.store("over", "a thing of the past", key="over", expires_at=PAST)
        memory.store("not over", key="lasting", expires_at=datetime.now(UTC) + timedelta(days=1))
    with MemoryManager(url, user_id="bob") as memory:
        memory.store("of bob's", key="bobs", expires_at=PAST)
    return url


@pytest.fixture(autouse=True)
def _as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says how wide a piped output may be."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(params=first_quick(["sqlite_url", "postgres_url"]))
def url(request: pytest.FixtureRequest) -> str:
    """That database, in a file and on a server."""
    return filled(str(request.getfixturevalue(request.param)))


@pytest.fixture
def file_url(sqlite_url: str) -> str:
    """That database in a file."""
    return filled(sqlite_url)


class Screen:
    """Runs the command in this process, which is quicker, and gives what it printed."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = url
        self.capsys = capsys

    def __call__(self, *arguments: str, user: str | None = "ann", code: int = 0) -> str:
        """Standard output."""
        return self.both(*arguments, user=user, code=code)[0]

    def both(self, *arguments: str, user: str | None = "ann", code: int = 0) -> tuple[str, str]:
        """Standard output and standard error."""
        whose = ["--user", user] if user else []
        assert code == run([*arguments, "--store", self.url, *whose]), self.capsys.readouterr()
        out, err = self.capsys.readouterr()
        return out, err

    def json(self, *arguments: str, user: str | None = "ann", code: int = 0) -> dict[str, Any]:
        """The JSON object on standard output."""
        found: dict[str, Any] = json.loads(self(*arguments, "--json", user=user, code=code))
        return found

    def keys(self, *arguments: str, code: int = 0) -> list[str]:
        """The keys of the memories that it lists."""
        return [one["memory_key"] for one in self.json(*arguments, code=code)["memories"]]


@pytest.fixture
def ann(file_url: str, capsys: pytest.CaptureFixture[str]) -> Screen:
    """The command line of the file's."""
    return Screen(file_url, capsys)


@pytest.fixture
def anywhere(url: str, capsys: pytest.CaptureFixture[str]) -> Screen:
    """The command line of the file's, and of the server's."""
    return Screen(url, capsys)


@pytest.mark.long
def test_a_record_on_each_line(ann: Screen) -> None:
    """`--jsonl` and `--csv` say of each memory what `--json` says; two forms at once are refused."""
    for verb in (["list"], ["search", "worker"]):
        told = ann.json(*verb)["memories"]
        lines = [json.loads(line) for line in ann(*verb, "--jsonl").splitlines()]
        assert told
        assert told == lines
        rows = list(csv.DictReader(ann(*verb, "--csv").splitlines()))
        assert [list(record) for record in told] == [list(row) for row in rows]
        assert [one["memory_key"] for one in told] == [row["memory_key"] for row in rows]
        assert [one["created_at"] for one in told] == [row["created_at"] for row in rows]
        assert [one["tags"] for one in told] == [json.loads(row["tags"]) for row in rows]
        _, refused = ann.both(*verb, "--json", "--csv", code=2)
        assert "--json and --csv" in refused


@pytest.mark.long
@for_each("form", ["--csv", "--jsonl", "--json", "--limit=50"])
def test_a_reader_may_leave(file_url: str, form: str) -> None:
    """When nobody reads the pipe any longer, as behind `head`, that is no failure, and not "nothing was found"."""
    ours, theirs = os.pipe()
    os.close(ours)
    arguments = ["list", "--user", "ann", form, "--store", file_url]
    with os.fdopen(theirs, "wb") as pipe:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (0, b"") == (done.returncode, done.stderr)


@pytest.mark.long
def test_the_main_verbs_in_processes(url: str) -> None:
    """On both databases, piped: plain tables, exit code 0, one record a line however long; the JSON is one object."""
    for arguments, said in (
        (["list", "--user", "ann"], "rockets"),
        (["search", "worker-777", "--user", "ann"], "night.log"),
        (["show", "rockets", "--user", "ann"], "rockets fly high"),
        (["stats"], "conversations"),
        (["threads", "--user", "ann"], "t2"),
        (["reindex"], "indexed 7 memories"),
        (["doctor"], "all tables and indexes are there"),
        (["gc", "--dry-run"], "would delete 2 expired memories"),
        (["forget", "rockets", "--user", "ann", "--yes"], "forgotten: rockets"),
        (["migrate"], "nothing to do"),
    ):
        done = memory_context(*arguments, MEMORY_CONTEXT_STORE=url, COLUMNS="")
        assert (0, True) == (done.returncode, said in done.stdout), (arguments, done)
        assert "\x1b" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


class TestList:
    """``memory-context list``."""

    def test_narrowing(self, anywhere: Screen) -> None:
        """Each option narrows; together they narrow further; the newest come first."""
        everything = ["lasting", "over", "rockets", "orders", "picture", "night.log"]
        assert everything == anywhere.keys("list")
        for arguments, wanted in (
            (["--type", "note"], everything[:3]),
            (["--type", "note", "--type", "api_response"], everything[:4]),
            (["--tag", "shop"], ["orders"]),
            (["--category", "space"], ["rockets"]),
            (["--category", "space/rock"], []),
            (["--thread", "t1", "--type", "file_content"], ["picture"]),
            (["--tier", "detail"], everything),
            (["--since", "1h"], everything),
            (["--until", "1h"], []),
            (["--since", "2020-01-01", "--until", "2021-01-01T12:00"], []),
        ):
            assert wanted == anywhere.keys("list", *arguments, code=0 if wanted else 1), arguments

    @pytest.mark.long
    def test_order_and_pages(self, ann: Screen) -> None:
        """`--sort` says what comes first; `--limit` and `--offset` cut, and the rest is told."""
        keys = ann.keys("list", "--sort", "key")
        assert sorted(keys) == keys
        assert keys[2:4] == ann.keys("list", "--sort", "key", "--limit", "2", "--offset", "2")
        assert "night.log" == ann.keys("list", "--sort", "largest")[0]
        assert "rockets" == ann.keys("list", "--sort", "important")[0]
        assert "night.log" == ann.keys("list", "--sort", "oldest")[0]
        ann("show", "picture", "--info")
        assert "lasting" == ann.keys("list", "--sort", "used")[0]
        ann("show", "orders")
        assert "orders" == ann.keys("list", "--sort", "used")[0]
        assert (6, 2, 4) == tuple(
            ann.json("list", "--limit", "2", "--offset", "2")[name]
            for name in ("total", "offset", "next_offset")
        )
        assert (
            "3-4 of 6 memories; for more: --offset 4\n"
            == ann.both("list", "--limit", "2", "--offset", "2")[1]
        )
        assert (
            "--offset 9 is past the end: 6 in all\n" == ann.both("list", "--offset", "9", code=1)[1]
        )
        assert "no memories match\n" == ann.both("list", "--type", "nothing", code=1)[1]

    def test_evicted_ones_are_asked_for(self, ann: Screen, tmp_path: Path) -> None:
        """What is no longer offered is left out, unless `--evicted` asks for it."""
        with sqlite3.connect(tmp_path / "memory.db") as connection:
            connection.execute(
                "UPDATE agent_memories SET is_active = 0 WHERE memory_key = 'orders'"
            )
        connection.close()
        assert "orders" not in ann.keys("list")
        assert "orders" in ann.keys("list", "--evicted")

    def test_contents_are_not_read(self, ann: Screen, tmp_path: Path) -> None:
        """A damaged content does not matter to a list."""
        with sqlite3.connect(tmp_path / "memory.db") as connection:
            connection.execute(
                "UPDATE agent_memories SET content = CAST(x'ff' AS TEXT) WHERE memory_key = 'orders'"
            )
        connection.close()
        assert "orders" in ann("list")

    @for_each(
        "arguments, said",
        [
            ("--since yesterday", "'yesterday' is not a time"),
            ("--filter importance>=0.8", "--filter"),
            ("--since 2026-02-01 --until 2026-01-01", "--since 2026-02-01 must be before --until"),
            ("--limit 0", "'--limit': '0' should be greater than or equal to 1 (see"),
            (f"--limit {10**30}", "should be less than or equal to"),
            ("--limit abc", "'--limit': 'abc' should be a valid integer (see"),
            ("--offset -1", "--offset"),
            ("--sort best", "--sort"),
        ],
    )
    def test_mistakes(self, ann: Screen, arguments: str, said: str) -> None:
        """Code 2, and one line that says what would be right."""
        out, err = ann.both("list", *arguments.split(), code=2)
        assert ("", 1, True) == (out, len(err.splitlines()), said in err), err

    @pytest.mark.parametrize("width", first_quick(["80", "60", "40"]))
    def test_keys_and_numbers_stay_whole(self, sqlite_url: str, width: str) -> None:
        """However narrow the screen is, a key, a time and a number stand on one line, and the summary is there."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            item = memory.remember(
                "word " * 4321, "many words " * 5, key="a_key_of_30_characters_or_more"
            )
        done = in_this_process("list", "--store", sqlite_url, COLUMNS=width)

        assert max(map(len, done.stdout.splitlines())) <= int(width)
        for whole in (item.memory_key, f"{item.token_count:,}", "many word"):
            assert whole in done.stdout
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", done.stdout)

    @pytest.mark.long
    def test_a_key_is_never_cut(self, sqlite_url: str) -> None:
        """A key that is longer than the screen stands there in full, for copying; so do times and numbers."""
        key = "k" * 120
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store("some words", key=key)
        listed = in_this_process("list", "--store", sqlite_url, COLUMNS="15").stdout.splitlines()
        assert key == listed[0]
        assert re.fullmatch(r"  stored \d{4}-\d\d-\d\d \d\d:\d\d", listed[3])
        found = in_this_process("search", "words", "--store", sqlite_url, COLUMNS="80").stdout
        assert key in found.splitlines()
        deleted = in_this_process("forget", key, "--yes", "--store", sqlite_url, COLUMNS="80")
        assert f"forgotten: {key}\n" == deleted.stdout

    def test_the_database_of_this_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a URL it is the one that the library makes where it runs."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("MEMORY_CONTEXT_STORE", raising=False)
        assert "list needs a database" in in_this_process("list").stderr
        with MemoryManager(user_id="ann") as memory:
            memory.store("a text", key="here")

        assert "here" in in_this_process("list").stdout
        assert "not looked at" not in in_this_process("doctor").stdout


class TestSearch:
    """``memory-context search``."""

    def test_hits(self, anywhere: Screen) -> None:
        """Each with its key, why, and the passage with its lines; JSON has all of it."""
        shown = anywhere("search", "worker-777", "--limit", "1")
        assert shown.startswith("night.log\n")
        assert "found by worker-777" in shown
        assert "  401 2026-01-01 13:00:00 ERROR worker-777" in shown
        [hit] = anywhere.json("search", "worker-777")["memories"]
        assert ("night.log", ["worker-777"]) == (hit["memory_key"], hit["match"]["why"])
        first, last = hit["match"]["lines"]
        assert first <= 401 <= last

    def test_a_long_line_is_cut_around_the_hit(self, sqlite_url: str) -> None:
        """Of a line without end the words stand there that it was found by, on one line of the screen."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store(f"{'left ' * 150}needle {'right ' * 150}", key="haystack")
        for width in (200, 80, 60, 40):
            found = in_this_process(
                "search", "needle", "--store", sqlite_url, COLUMNS=str(width)
            ).stdout
            [line] = [line for line in found.splitlines() if "left needle right" in line]
            assert line.startswith("    1 …")
            assert line.endswith("…")
            assert len(line) <= min(width, 168)

    def test_the_best_passage_comes_alone(self, sqlite_url: str) -> None:
        """Lines that hold a word of several stand not before the one around which most of them stand."""
        lines = [f"memory of pod-{number} is fine" for number in range(40)]
        lines[30:30] = ["Limits:", "  cpu: 500m", "  memory: 256Mi"]
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store("\n".join(lines), key="pods")
        found = in_this_process("search", "memory limits", "--store", sqlite_url).stdout
        numbers = [int(line[:5]) for line in found.splitlines() if line[:5].strip().isdigit()]
        assert numbers[0] > 28
        assert "   33   memory: 256Mi" in found

    def test_narrowing(self, anywhere: Screen) -> None:
        """The options of `list` narrow a search too."""
        assert ["rockets"] == anywhere.keys("search", "rockets", "--category", "space")
        assert [] == anywhere.keys("search", "rockets", "--type", "tool_output", code=1)
        assert ["rockets"] == anywhere.keys(
            "search", "rockets", "--mode", "keyword", "--thread", "t2", "--since", "1d"
        )
        assert [] == anywhere.keys("search", "orke", code=1)
        assert "night.log" in anywhere.keys("search", "ORKE", "--mode", "substring")
        assert "nothing found\n" == anywhere.both("search", "xyzzy", code=1)[1]

    def test_by_meaning(self, ann: Screen, tmp_path: Path) -> None:
        """An embedder is imported from the working directory; `reindex` makes the vectors, a search uses them."""
        (tmp_path / "models.py").write_text(
            "def counts(texts):\n    return [[t.count('o'), 1.0] for t in texts]\n"
        )
        assert (
            "embedder: --embedder MODULE:NAME"
            in ann.both("search", "x", "--mode", "semantic", code=2)[1]
        )
        assert 7 == ann.json("reindex", "--embedder", "models:counts", user=None)["indexed"]
        wanted = (
            "search",
            "oooooooooo",
            "--mode",
            "semantic",
            "--limit",
            "1",
            "--embedder",
            "models:counts",
        )
        assert ["night.log"] == ann.keys(*wanted)
        for wrong in ("models", "models:nothing", "nothing:at_all", ":x"):
            assert "MODULE:NAME" in ann.both("search", "x", "--embedder", wrong, code=2)[1]


def test_an_error_quotes_what_was_given(ann: Screen) -> None:
    """The prefix that typer takes over from pydantic is left out, and what a person has written stays."""
    said = ann.both("search", "x", "--mode", "Value error, y", code=2)[1]
    assert "Invalid value for '--mode': 'Value error, y' is not one of" in said


class TestMistypedNames:
    """Names of users, tiers and conversations under which nothing is stored."""

    @for_each(
        "arguments",
        [
            "list",
            "list --json",
            "threads",
            "stats",
            "calls",
            "audit",
            "search rockets",
            "show rockets",
            "query SELECT",
            "consolidate task",
            "gc --yes",
            "redact --yes",
            "ui",
        ],
    )
    def test_an_unknown_user(self, ann: Screen, arguments: str) -> None:
        """Of a user of whom there is nothing, a command says so, names the others, and does nothing."""
        out, said = ann.both(*arguments.split(), user="nobody", code=1)
        assert "" == out
        assert (
            "memory-context: there is nothing of a user 'nobody' in this database; its users are ann, bob\n"
            == said
        )

    @for_each(
        "arguments, said",
        [
            ("list --tier nope", "no memories match"),
            ("list --thread t3", "no memories match"),
            ("search rockets --thread t3", "nothing found"),
            ("calls --thread t3", "no calls match"),
            ("calls", "no calls are kept"),
            (
                "audit",
                "no entries match; only commands with --audit, and programs with audit=True, write them",
            ),
        ],
    )
    def test_nothing_of_a_known_user(self, ann: Screen, arguments: str, said: str) -> None:
        """A command that finds nothing in a tier or a conversation says that nothing matches."""
        assert said in ann.both(*arguments.split(), code=1)[1]

    def test_a_trail_without_memories(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """In the database of a trail alone, a named user is not mistyped."""
        trail = Screen(f"sqlite:///{tmp_path / 'trail.db'}", capsys)
        with MemoryManager("sqlite://", user_id="ann", audit=trail.url) as manager:
            manager.store("a text", key="k")

        assert "stored" in trail("audit")

    def test_no_notes(self, ann: Screen) -> None:
        """A tier without notes has nothing to merge; the command that lists the tiers is named."""
        said = ann("consolidate", "nope", code=0)
        assert "nothing to merge in the tier 'nope'; `memory-context stats` lists" in said

    def test_traces_other_than_memories(self, ann: Screen) -> None:
        """A user of whom only model calls or deletions were kept is not mistyped."""
        with SQLAlchemyStore(ann.url) as store:
            store.note_call(CallRecord("cy", None, "t1", ModelCall(PAST, 10, 5, 3)))
        assert "t1" in ann("calls", user="cy")
        ann("forget", "bobs", "--yes", user="bob")
        assert "was deleted" in ann.both("show", "bobs", user="bob", code=1)[1]
        said = ann.both("list", user="nobody", code=1)[1]
        assert said.endswith("its users are ann, bob, cy\n")


class TestShow:
    """``memory-context show``: a memory, or a part of it."""

    def test_a_record_has_no_parts(self, ann: Screen) -> None:
        """`--info` with a part of the content is an error: the part would not be shown."""
        _, told = ann.both("show", "rockets", "--info", "--lines", "1", code=2)
        assert "--info prints the record" in told

    def test_a_part(self, url: str) -> None:
        """Lines, words and questions print what they select; the reference and how much it is go to standard error."""
        done = in_this_process(
            "show", "night.log", "--user", "ann", "--store", url, "--lines", "1-2"
        )
        assert (0, LOG.split("\n")[:2]) == (done.returncode, done.stdout.splitlines())
        assert done.stderr.startswith("[MemoryRef: night.log - ")
        assert "lines 1-2 of 401" in done.stderr

        found = in_this_process(
            "show",
            "[MemoryRef: night.log]",
            "--contains",
            "SDX9",
            MEMORY_CONTEXT_STORE=url,
            MEMORY_CONTEXT_USER="ann",
        )
        assert "401: 2026-01-01 13:00:00 ERROR worker-777" in found.stdout

    def test_every_selector(self, ann: Screen) -> None:
        """What docs/partial-reads.md says of each."""
        assert "[1, 2]\n" == ann("show", "orders", "--path", "$.orders[*].id")
        assert "id\n2\n" == ann("show", "orders", "--where", "id > 1", "--columns", "id")
        found = ann("show", "night.log", "--pattern", "worker-77[78]", "--context", "1")
        assert ["400- ", "401: "] == [line[:5] for line in found.splitlines()]
        assert "worker-777" in ann(
            "show", "night.log", "--query", "worker-777", "--max-tokens", "200"
        )

    def test_pages(self, ann: Screen) -> None:
        """`--max-tokens` cuts; the offset that is named goes on there, until everything was printed."""
        text, offset = "", "0"
        while offset:
            out, err = ann.both("show", "night.log", "--max-tokens", "5000", "--offset", offset)
            text, offset = text + out, (re.findall(r"--offset (\d+)", err) or [""])[0]
        assert LOG == text.removesuffix("\n")

    @pytest.mark.long
    def test_whole(self, ann: Screen, tmp_path: Path) -> None:
        """Without a selection everything comes, byte for byte, bytes and what would drive a terminal too."""
        for key, wanted in (("night.log", LOG.encode()), ("picture", BYTES)):
            command = [*COMMAND, "show", key, "--user", "ann", "--store", ann.url]
            assert wanted == subprocess.run(command, capture_output=True, check=True).stdout
            assert "" == ann("show", key, "--output", str(tmp_path / "out"))
            assert wanted == (tmp_path / "out").read_bytes()
        ann("show", "night.log", "--lines", "1", "--output", str(tmp_path / "out"))
        assert LOG.split("\n")[0] + "\n" == (tmp_path / "out").read_text()

    @for_each("name", ["missing/out", "file/out", "folder"])
    def test_a_file_that_cannot_be_written(self, ann: Screen, tmp_path: Path, name: str) -> None:
        """The error names the file that was given, and no other."""
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir(exist_ok=True)
        output = str(tmp_path / name)
        err = ann.both("show", "rockets", "--output", output, code=2)[1]
        assert f"\nmemory-context: {output} cannot be written: " in err
        assert "Errno" not in err

    def test_json(self, ann: Screen) -> None:
        """The record, the part and the text; bytes as base64."""
        found = ann.json("show", "night.log", "--lines", "1")
        assert (LOG.split("\n")[0], "night.log") == (found["text"], found["memory"]["memory_key"])
        found = ann.json("show", "picture")
        assert (None, BYTES) == (found["text"], base64.b64decode(found["data"]))

    def test_a_look_is_one_read(self, ann: Screen) -> None:
        """The count of reads goes up by one; what is known of a memory is no read."""
        for arguments, count in ((["--info"], 0), ([], 1), (["--lines", "1"], 2), (["--info"], 2)):
            ann("show", "rockets", *arguments)
            assert count == ann.json("show", "rockets", "--info")["memory"]["access_count"]
        assert "category          space/rockets\n" in ann("show", "rockets", "--info")

    def test_metadata_of_a_secret(self, ann: Screen) -> None:
        """It is not printed: it may hold the command that printed the secret."""
        with MemoryManager(ann.url, user_id="ann") as memory:
            memory.store("hunter2", type="secret", key="pw", metadata={"command": "echo hunter2"})
            memory.store("x", key="plain", metadata={"command": "echo"})
        assert "hunter2" not in ann("show", "pw", "--info")
        assert ann.json("show", "pw", "--info")["memory"]["content_metadata"] is None
        assert ann.json("show", "plain", "--info")["memory"]["content_metadata"] == {
            "command": "echo"
        }

    def test_errors_speak_of_options(self, ann: Screen) -> None:
        """What is wrong with an option is told under its name; text of the user's own stays as it is."""
        said = ann.both("show", "night.log", "--lines", "5-x", code=2)[1]
        assert "--lines '5-x' is not a line range" in said
        assert '--columns "x"' in ann.both("show", "orders", "--columns", "x", code=2)[1]
        assert '--contains "x-y"' in ann.both("show", "orders", "--contains", "x-y", code=1)[1]
        assert "--offset 999 lies" in ann.both("show", "orders", "--offset", "999", code=2)[1]
        said = ann.both("show", "orders", "--lines", "1", "--path", "$", code=2)[1]
        assert said.endswith(" or --query, not --lines and --path\n")

    @for_each("verb", [["forget", "--yes"], ["confirm"], ["show"]])
    def test_a_key_that_is_not_there(self, ann: Screen, verb: list[str]) -> None:
        """The error names the command that finds keys, not Python's call."""
        said = ann.both(*verb, "nothing", code=1)[1]
        assert "no memory under the key 'nothing'; `search` finds keys by words" in said

    def test_a_key_that_is_confirmed_twice(self, ann: Screen) -> None:
        """A key, and a reference to the same memory, are confirmed once."""
        said = ann("confirm", "rockets", "[MemoryRef: rockets - on rockets - 3 tokens]")
        assert "confirmed: rockets\n" == said

    def test_the_beginning_of_a_key(self, ann: Screen) -> None:
        """If exactly one key begins with the given text, it is proposed; if several do, none is."""
        assert "did you mean 'rockets'?" in ann.both("show", "rock", code=1)[1]
        assert "begins so" not in ann.both("show", "o", code=1)[1]

    def test_nothing_found(self, ann: Screen) -> None:
        """Nothing found is code 1, a mistake code 2, each in one line."""
        for arguments, user, code in (
            (["nothing"], "ann", 1),
            (["night.log"], "bob", 1),
            (["night.log"], "nobody", 1),
            (["night.log", "--contains", "xyzzy"], "ann", 1),
            (["night.log", "--pattern", "("], "ann", 2),
            (["night.log", "--lines", "1", "--query", "x"], "ann", 2),
            (["picture", "--lines", "1"], "ann", 2),
            (["night.log"], None, 2),
        ):
            out, err = ann.both("show", *arguments, user=user, code=code)
            assert ("", 1) == (out, len(err.splitlines())), arguments

    @pytest.mark.long
    def test_bytes_do_not_reach_a_terminal(self, file_url: str) -> None:
        """In a terminal it says what they are, and how to get them."""
        shown = in_terminal("show", "picture", "--user", "ann", "--store", file_url)
        assert shown.code == 0
        assert BYTES[:4] not in shown.sent
        assert "--output FILE" in shown.text


class TestUsers:
    """Whose memories are meant."""

    def test_several_are_listed(self, ann: Screen) -> None:
        """Without `--user`, several users are named, in the one line of the error."""
        for verb in (
            ["list"],
            ["search", "x"],
            ["show", "x"],
            ["threads"],
            ["forget", "x", "--yes"],
        ):
            out, err = ann.both(*verb, user=None, code=2)
            assert ("", 1) == (out, len(err.splitlines()))
            assert "choose one with --user ID: ann, bob\n" in err

    def test_one_needs_no_name(self, sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Where only one user has stored something, it is that one; where nobody has, nothing is found."""
        screen = Screen(sqlite_url, capsys)
        assert "there is no database" in screen.both("list", user=None, code=2)[1]
        with MemoryManager(sqlite_url, user_id=42) as memory:
            key = memory.store("x")
            assert [key] == [
                one["memory_key"] for one in screen.json("list", user=None)["memories"]
            ]
            memory.forget(key)
        assert "no memories match" in screen.both("list", user=None, code=1)[1]

    def test_a_mistyped_file_is_not_made(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No verb but `migrate` and `demo` makes a database; the others say that there is none."""
        for verb in ("list", "search x", "stats", "threads", "reindex", "gc", "doctor"):
            assert 2 == run([*verb.split(), "--store", f"sqlite:///{tmp_path}/typo.db"])
            assert "typo.db" in "".join(capsys.readouterr())
        assert [] == list(tmp_path.iterdir())


class TestStats:
    """``memory-context stats`` and ``threads``."""

    def test_a_whole_database(self, anywhere: Screen) -> None:
        """Sums, and tables by user, type and tier: an administrator's view."""
        found = anywhere.json("stats", user=None)
        assert (7, 2, 2, 0) == tuple(
            found[name] for name in ("memories", "conversations", "expired", "not_indexed")
        )
        assert [("ann", 6), ("bob", 1)] == [
            (one["name"], one["memories"]) for one in found["users"]
        ]
        assert found["database_bytes"] > found["characters"] > len(LOG)
        assert found["tokens"] == sum(one["tokens"] for one in found["types"])
        assert re.search(r"^ann +6 ", anywhere("stats", user=None), re.MULTILINE)

    def test_one_user(self, ann: Screen) -> None:
        """With `--user`, theirs alone."""
        found = ann.json("stats", user="bob")
        assert (1, 1, ["bob"]) == (
            found["memories"],
            found["expired"],
            [one["name"] for one in found["users"]],
        )

    def test_threads(self, anywhere: Screen) -> None:
        """The last used first, page by page."""
        found = anywhere.json("threads")["threads"]
        assert [("t2", 3, 0), ("t1", 3, 1)] == [
            (one["thread_id"], one["memories"], one["agents"]) for one in found
        ]
        assert ["t1"] == [
            one["thread_id"] for one in anywhere.json("threads", "--offset", "1")["threads"]
        ]
        assert re.search(r"^t1 +3 ", anywhere("threads"), re.MULTILINE)
        assert "no conversations match\n" == anywhere.both("threads", user="bob", code=1)[1]


class TestForget:
    """``memory-context forget``: asks, and deletes all or nothing."""

    @pytest.mark.long
    def test_it_asks(self, file_url: str) -> None:
        """In a terminal: what it is about is shown; only yes deletes, no ends with code 130."""
        arguments = ("forget", "rockets", "orders", "--user", "ann", "--store", file_url)
        refused = in_terminal(*arguments, typed="n\n")
        assert (130, True) == (refused.code, "[MemoryRef: rockets - on rockets - " in refused.text)
        assert "Delete 2 memories for good? [y/N]" in refused.text
        done = in_terminal(*arguments, "--reason", "no longer needed", typed="y\n")
        assert (0, True) == (done.code, "forgotten: rockets\nforgotten: orders\n" in done.text)
        again = in_this_process("show", "rockets", "--user", "ann", "--store", file_url)
        assert (1, True) == (again.returncode, "(no longer needed)" in again.stderr)

    @pytest.mark.long
    def test_nobody_to_ask(self, file_url: str) -> None:
        """Without a terminal, and without `--yes`, nothing is deleted: code 2."""
        for verb in (["forget", "rockets", "--user", "ann"], ["gc"]):
            done = memory_context(*verb, "--store", file_url)
            assert (2, "", True) == (done.returncode, done.stdout, "give --yes" in done.stderr)
        with MemoryManager(file_url, user_id="ann") as memory:
            assert {"rockets", "over"} <= {
                item.memory_key for item in memory.memory_store.list_all(memory.scope)
            }

    def test_all_or_nothing(self, anywhere: Screen) -> None:
        """One key that is not there keeps the others from being deleted."""
        anywhere("forget", "rockets", "nothing", "--yes", code=1)
        assert {"forgotten": ["rockets", "orders"]} == anywhere.json(
            "forget", "rockets", "orders", "rockets", "--yes"
        )
        anywhere("forget", "rockets", "--yes", code=1)
        assert "nothing" not in anywhere.keys("list")


class TestUpkeep:
    """``reindex``, ``gc``, ``migrate``."""

    def test_gc(self, anywhere: Screen) -> None:
        """Only what is over goes, of one user or of all; a reference says when and why afterwards."""
        assert {"expired": 1, "deleted": 0, "users": {"ann": 1}} == anywhere.json("gc", "--dry-run")
        assert {"expired": 1, "deleted": 1, "users": {"ann": 1}} == anywhere.json("gc", "--yes")
        assert {"expired": 1, "deleted": 1, "users": {"bob": 1}} == anywhere.json(
            "gc", "--yes", user=None
        )
        assert "deleted 0 expired memories\n" == anywhere("gc", user=None)
        assert "lasting" in anywhere.keys("list")
        assert "(expired)" in anywhere.both("show", "over", code=1)[1]

    @pytest.mark.long
    def test_gc_asks(self, file_url: str) -> None:
        """In a terminal, with how many of whom."""
        shown = in_terminal("gc", "--store", file_url, typed="y\n")
        assert "Delete 2 expired memories of 2 users for good? [y/N]" in shown.text
        assert shown.text.endswith("deleted 2 expired memories\n")

    def test_redact(self, anywhere: Screen) -> None:
        """What is a secret by its form is taken out, of one user or of all, and counted by kind."""
        token = "ghp" + "_" + "aB3dE6gH9k" * 3 + "q7X4Zm"
        with SQLAlchemyStore(anywhere.url) as store:
            for user in ("ann", "bob"):
                MemoryManager(store, user_id=user).store(f"the token {token}", "x", key="token")
        assert {"redacted": {"github_token": 1}} == anywhere.json("redact", "--yes")
        assert token in anywhere("show", "token", user="bob")
        assert "github_token: 1\n" == anywhere("redact", "--yes", user=None)
        assert "no secrets were found\n" == anywhere("redact", "--yes", user=None)
        assert "the token [redacted github_token]" in anywhere("show", "token", user="bob")

    @pytest.mark.long
    def test_reindex(self, anywhere: Screen) -> None:
        """What was lost from the index is found again."""
        with SQLAlchemyStore(anywhere.url) as store:
            store.database.write(
                lambda connection: connection.exec_driver_sql("DELETE FROM agent_memory_passages")
            )
        assert [] == anywhere.keys("search", "worker-777", code=1)
        assert "indexed 7 memories\n" == anywhere("reindex", user=None)
        assert ["night.log"] == anywhere.keys("search", "worker-777")

    def test_migrate(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """JSON has the revisions before and after."""
        store = f"sqlite:///{tmp_path}/new.db"
        for before in (None, HEAD):
            assert 0 == run(["migrate", "--store", store, "--json"])
            assert {"store": store, "before": before, "after": HEAD} == json.loads(
                capsys.readouterr().out
            )


def many(url: str, count: int) -> None:
    """So many memories whose time is over."""
    with MemoryManager(url, user_id="ann", counter=len) as memory:
        text = " ".join(f"word{number}" for number in range(1500))
        for number in range(count):
            memory.store(f"{number} {text}", "an old text", expires_at=PAST)


@pytest.mark.long
def test_ctrl_c_leaves_nothing_half_done(sqlite_url: str) -> None:
    """A bar while it works; after Ctrl-C: code 130, one line on how far it was, and a database that is whole."""
    url = sqlite_url
    many(url, 600)

    interrupted = set[int]()

    def interrupt(process: subprocess.Popen[bytes], sent: bytes) -> None:
        done = re.findall(rb"(\d+)%", re.sub(rb"\x1b\[[\d;]*m", b"", sent))
        if done and int(done[-1]) >= 10 and process.pid not in interrupted:
            interrupted.add(process.pid)
            process.send_signal(signal.SIGINT)

    for verb, rest in (
        (["reindex"], "The next search or reindex will do the rest."),
        (["gc", "--yes"], "Deleted memories are gone"),
    ):
        shown = in_terminal(*verb, "--store", url, meanwhile=interrupt)
        assert 130 == shown.code, shown.text
        assert "Traceback" not in shown.text
        [told] = re.findall(r"Interrupted after (\d+) of (\d+)\. (.*)", shown.text)
        assert (True, "600", True) == (
            0 < int(told[0]) < 600,
            told[1],
            told[2].startswith(rest),
        )
        found = json.loads(in_this_process("doctor", "--store", url, "--json").stdout)
        assert not [one for one in found["checks"] if one["status"] == "problem"]
    with MemoryManager(url, user_id="ann") as memory:
        left = memory.memory_store.count(memory.scope)
        assert (0, True) == (left % 50, 0 < left < 600)
        assert left == len(memory.search("word7", 1000))


class TestTerminal:
    """What a person's terminal gets."""

    @pytest.mark.long
    def test_colours(self, file_url: str) -> None:
        """In a terminal tables are coloured; piped, and with NO_COLOR, they are not."""
        arguments = ("search", "rockets", "--user", "ann", "--store", file_url)
        assert b"\x1b[1;36mrockets" in in_terminal(*arguments).sent
        assert not re.search(rb"\x1b\[[\d;]*3\dm", in_terminal(*arguments, NO_COLOR="1").sent)
        assert "\x1b" not in in_this_process(*arguments).stdout

    @pytest.mark.long
    def test_a_pager(self, file_url: str) -> None:
        """What is taller than the screen goes to the pager, and only that."""
        pager = "sed 's/^/PAGED: /'"
        long = in_terminal(
            "show", "night.log", "--user", "ann", "--store", file_url, PAGER=pager, LINES="10"
        )
        assert "PAGED: 2026-01-01 13:00:00 ERROR worker-777" in long.text
        short = in_terminal(
            "show", "rockets", "--user", "ann", "--store", file_url, PAGER=pager, LINES="10"
        )
        assert "\nrockets fly high\n" in short.text

    @pytest.mark.long
    def test_a_narrow_one(self, file_url: str) -> None:
        """A line that is too long is cut; a key never is."""
        with MemoryManager(file_url, user_id="ann") as memory:
            memory.store("x", "many words " * 7, key="a_key_of_" + "many_" * 10)
        shown = in_terminal("list", "--user", "ann", "--store", file_url, COLUMNS="60")
        lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown.text.splitlines()]
        assert max(map(len, lines)) <= 60
        assert "a_key_of_" + "many_" * 10 in "".join(line.partition(" ")[0] for line in lines)


OWN = re.compile(r"\r?\x1b\[(?:[\d;]*m|\?25[hl]|[12]?[KA])")
CODES = (
    "\x1b]0;",
    "\x1b[2J",
    "\x1bc",
    "\x9b31m",
    "\x07",
    "\x08",
    "\r",
    "\x7f",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u2028",
)
HOSTILE = (
    "start" + "".join(f"{code}evil{number}" for number, code in enumerate(CODES)) + "\n\x1b[31mend"
)
SHELL = "a$(touch pwned)`touch pwned`\\$(touch pwned)'\";touch pwned;"


@pytest.fixture(name="hostile", scope="module")
def hostile_(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that somebody has written such text into, wherever text can be."""
    path = tmp_path_factory.mktemp("hostile") / "memory.db"
    url = f"sqlite:///{path}"
    with MemoryManager(url, user_id="ann", thread_id="t") as memory:
        memory.store(HOSTILE + "\x00\ud800", "hostile", key="first", tags=["x"], expires_at=PAST)
        memory.store({HOSTILE: HOSTILE}, "hostile", key="second")
        memory.store(f"{HOSTILE},b\n{HOSTILE},2\n" * 3, "hostile", key="third")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE agent_memories SET summary = ?1, category = ?1, thread_id = ?1, agent_id = ?1, memory_type = ?1,"
            " tier = ?1, tags = ?2, media_type = 'text/' || ?1",
            (HOSTILE, json.dumps([HOSTILE])),
        )
        connection.execute(
            "INSERT INTO agent_memory_pending (memory_id, user_id, done) SELECT id, ?, 0 FROM agent_memories",
            ("x",),
        )
        for column, value in (
            ("memory_key", f"key{HOSTILE}"),
            ("user_id", f"user{HOSTILE}"),
            ("thread_id", SHELL),
        ):
            connection.execute(
                f"UPDATE agent_memories SET {column} = ? WHERE memory_key LIKE '%ird'", (value,)
            )
    connection.close()
    return url


@pytest.mark.long
@for_each(
    "arguments, typed",
    [
        ("list --user ann", ""),
        ("list --user ann --json", ""),
        ("list --user ann --jsonl", ""),
        ("list --user ann --csv", ""),
        ("search evil1 --user ann --csv", ""),
        ("search evil1 --user ann", ""),
        ("search evil1 --user ann --json", ""),
        ("show first --user ann", ""),
        ("show first --user ann --info", ""),
        ("show first --user ann --json", ""),
        ("show first --user ann --contains evil2", ""),
        ("show first --user ann --contains evul2", ""),
        ("show second --user ann --path $.other", ""),
        ("show second --user ann --path $.*", ""),
        ("show second --user ann --where nothing=1", ""),
        ("list", ""),
        ("stats", ""),
        ("threads --user ann", ""),
        ("forget first --user ann", "n\n"),
        ("gc", "n\n"),
        ("redact", "n\n"),
        ("doctor", ""),
        ("reindex", ""),
        ("migrate", ""),
    ],
)
def test_stored_text_cannot_drive_the_terminal(hostile: str, arguments: str, typed: str) -> None:
    """Whatever was stored is shown and not obeyed: no control or formatting character of it arrives."""
    shown = in_terminal(*arguments.split(), "--store", hostile, typed=typed)
    rest = OWN.sub("", shown.text)
    assert not {
        char for char in rest if char != "\n" and unicodedata.category(char).startswith("C")
    }, rest
    assert "\x1b[31mend" not in shown.text
    assert "Traceback" not in shown.text
    if arguments.split(maxsplit=1)[0] in {"list", "search", "stats", "threads", "forget"}:
        assert "evil0" in rest


@pytest.mark.long
def test_completion() -> None:
    """A shell is offered commands and options."""
    for words, offered in (
        ("memory-context sh", ["show"]),
        ("memory-context list --evi", ["--evicted"]),
    ):
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = memory_context(_MEMORY_CONTEXT_COMPLETE="complete_bash", **variables)
        assert offered == done.stdout.split()


class TestDoctor:
    """``memory-context doctor``: each fault is found, and what it says helps."""

    def status(
        self, url: str, capsys: pytest.CaptureFixture[str], code: int = 0
    ) -> dict[str, tuple[str, str]]:
        """Status and remedy by the name of the check."""
        assert code == run(["doctor", "--store", url, "--json"])
        found = json.loads(capsys.readouterr().out)
        assert found["ok"] is (code == 0)
        return {one["name"]: (one["status"], one["remedy"]) for one in found["checks"]}

    def test_all_is_well(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """On both databases."""
        found = self.status(url, capsys)
        for name in (
            "memory-context",
            "database",
            "schema",
            "tables",
            "analyzer",
            "pending",
            "index",
        ):
            assert ("ok", "") == found[name], name

    def test_a_single_fault(self, sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """One memory is counted in the same words as several."""
        with SQLAlchemyStore(sqlite_url) as store:
            MemoryManager(store, user_id="ann").store("a text", key="k")
            for table in ("passages", "pending"):
                fault = f"DELETE FROM agent_memory_{table}"
                store.database.write(lambda connection: connection.exec_driver_sql(fault))  # noqa: B023 - it runs at once
        assert 2 == run(["doctor", "--store", sqlite_url])
        assert "memories neither indexed nor pending: 1" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("fault", "name", "status", "remedy"),
        first_quick(
            [
                ("DELETE FROM agent_memory_passages", "index", "problem", "reindex"),
                (
                    "UPDATE agent_memory_owners SET passages = passages + 1",
                    "index",
                    "problem",
                    "reindex",
                ),
                (
                    "INSERT INTO agent_memory_pending (memory_id, user_id, done) SELECT id, user_id, 0 FROM agent_memories",
                    "pending",
                    "warning",
                    "reindex",
                ),
                ("UPDATE agent_memory_settings SET value = '0'", "analyzer", "warning", "reindex"),
                ("UPDATE agent_memory_settings SET value = '99'", "analyzer", "warning", "upgrade"),
                (
                    "UPDATE memory_context_version SET version_num = '9999'",
                    "schema",
                    "problem",
                    "upgrade",
                ),
                ("DROP INDEX ix_agent_memories_user_tier", "tables", "problem", "postgresdb.sql"),
                ("DROP TABLE agent_memory_access", "tables", "problem", "postgresdb.sql"),
            ]
        ),
    )
    def test_faults(
        self,
        url: str,
        capsys: pytest.CaptureFixture[str],
        fault: str,
        name: str,
        status: str,
        remedy: str,
    ) -> None:
        """Each has its status and its remedy, and `reindex` helps where it is told; looking changes nothing."""
        with SQLAlchemyStore(url) as store:
            store.database.write(lambda connection: connection.exec_driver_sql(fault))
        code = 2 if status == "problem" else 0
        for _ in range(2):
            found = self.status(url, capsys, code)[name]
            assert (status, True) == (found[0], remedy in found[1])
        if remedy == "reindex":
            assert 0 == run(["reindex", "--store", url])
            capsys.readouterr()
            assert "ok" == self.status(url, capsys)[name][0]

    def test_what_is_no_database(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A damaged file, a server that is not there and a URL that is none: code 2, and what to look at."""
        (tmp_path / "damaged.db").write_bytes(b"no database at all" * 100)
        for url in (
            f"sqlite:///{tmp_path}/damaged.db",
            "postgresql+psycopg://127.0.0.1:1/nothing",
            "nonsense",
        ):
            assert ("problem", True) == (
                self.status(url, capsys, 2)["database"][0],
                "check the URL" in self.status(url, capsys, 2)["database"][1],
            )

    def test_an_empty_database(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An empty file has no schema yet, and has none afterwards."""
        (tmp_path / "empty.db").touch()
        for _ in range(2):
            assert "note" == self.status(f"sqlite:///{tmp_path}/empty.db", capsys)["schema"][0]

    @pytest.mark.long
    def test_estimated_tokens(self, tmp_path: Path) -> None:
        """Where the ranks are not at hand, it says so, and how to get them."""
        code = (
            "from memory_context import set_default_counter;"
            "from memory_context.text.tokens.counter import estimating_counter;"
            "set_default_counter(estimating_counter()); from memory_context.cli import main; main()"
        )
        environment = {
            **os.environ
        }  # the process's own has COLUMNS where the library readline was loaded
        done = subprocess.run(
            [COMMAND[0], "-c", code, "doctor"],
            capture_output=True,
            encoding="utf-8",
            check=True,
            cwd=tmp_path,
            env=environment,
        )
        assert re.search(
            r"warning +token counting: estimated.*\n +-> .*TIKTOKEN_CACHE_DIR", done.stdout
        )


def test_startup_is_light() -> None:
    """The help of every verb, and the list of verbs for completion, load no database library, no host, no tables."""
    code = (
        "import sys; from memory_context.cli import app, run\n"
        "import typer\n"
        "for verb in typer.main.get_command(app).commands: run([verb, '--help'])\n"
        "print(*sys.modules)"
    )
    output = subprocess.run(
        [COMMAND[0], "-c", code], capture_output=True, encoding="utf-8", check=True
    ).stdout
    heavy = {
        "sqlalchemy",
        "autogen_core",
        "langchain_core",
        "tiktoken",
        "mcp",
        "rich",
        "numpy",
        "regex",
    }
    assert not heavy & set(output.splitlines()[-1].split())


def test_everything_moves(file_url: str, postgres_url: str, tmp_path: Path) -> None:
    """Through a file and from store to store: what an export of the last one holds is what the first one held."""
    folder, first, last = (
        f"file:{tmp_path / 'folder'}",
        tmp_path / "first.jsonl.gz",
        tmp_path / "last.jsonl",
    )
    assert 0 == run(["forget", "over", "--yes", "--store", file_url, "--user", "ann"])
    assert 0 == run(["export", str(first), "--store", file_url])
    assert 0 == run(["import", str(first), "--store", postgres_url, "--keep-origins"])
    assert 0 == run(["import", postgres_url, "--store", folder])
    assert 0 == run(["export", str(last), "--store", folder])
    assert sorted(gzip.decompress(first.read_bytes()).splitlines()) == sorted(
        last.read_bytes().splitlines()
    )


@for_each(
    "arguments",
    [["export", "all.jsonl"], ["import", "given.jsonl"]],
)
def test_a_mistyped_user_is_told(
    ann: Screen, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that has nothing to do for a user says so if nothing is known of that user."""
    monkeypatch.chdir(tmp_path)
    ann("export", "given.jsonl", user=None)
    _, err = ann.both(*arguments, user="anm", code=1)
    assert "of a user 'anm' in" in err
    whose = ["forget-user", "anm", "--yes"]
    assert "of a user 'anm' in" in ann.both(*whose, user=None, code=1)[1]


def test_forgetting_a_user_of_calls_only(sqlite_url: str) -> None:
    """A user of whom only model calls were kept is no unknown one."""
    call = ModelCall(datetime.now(UTC), 10, 5, 3)
    with SQLAlchemyStore(sqlite_url) as store:
        store.note_call(CallRecord("ann", None, "t1", call))
    forgotten = in_this_process("forget-user", "ann", "--yes", "--json", "--store", sqlite_url)
    assert (0, 1) == (forgotten.returncode, json.loads(forgotten.stdout)["calls"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.long
def test_a_full_disk_is_an_error(file_url: str) -> None:
    """What cannot be written to standard output is one line on standard error, and code 2."""
    listing = ["list", "--user", "ann", "--store", file_url]
    for arguments in (listing, [*listing, "--json"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*COMMAND, *arguments],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert 2 == done.returncode
        assert "No space left" in done.stderr
        assert 1 == len(done.stderr.splitlines())


@pytest.mark.long
def test_closed_streams(file_url: str) -> None:
    """A daemon may close its streams: nobody to ask is no terminal, and nobody to print for is no failure."""
    words = shlex.join([*COMMAND, "forget", "rockets", "--user", "ann", "--store", file_url])
    for given, code in (("<&-", 2), (">&- --yes", 0)):
        done = subprocess.run(
            f"{words} {given}", shell=True, capture_output=True, text=True, check=False
        )
        assert code == done.returncode
        assert "Traceback" not in done.stderr


@for_each(
    "arguments, told",
    [
        (["import", "-"], "import reads a file, not standard input"),
        (["import", "none.jsonl"], "none.jsonl cannot be read: No such file or directory"),
        (["export", "-"], "export writes a file, not standard output"),
        (["backup", "there.txt"], "there.txt is a file; backups are written into a folder"),
    ],
)
def test_files_that_are_none(
    ann: Screen, arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read or written is told with what can."""
    monkeypatch.chdir(tmp_path)
    Path("there.txt").touch()
    assert told in ann.both(*arguments, user=None, code=2)[1]


def test_an_export_into_no_folder_names_the_file(ann: Screen, tmp_path: Path) -> None:
    """The error is about the file that was asked for, not about the draft that would have taken its place."""
    file = tmp_path / "nowhere" / "all.jsonl"
    _, err = ann.both("export", str(file), user=None, code=2)
    assert f"memory-context: {file} cannot be written: No such file or directory" == err.strip()


def test_an_export_of_an_unknown_user_leaves_the_file(ann: Screen, tmp_path: Path) -> None:
    """A mistyped user is refused before the file, perhaps the only backup, is replaced; none is made."""
    backup, other = tmp_path / "all.jsonl", tmp_path / "other.jsonl"
    ann("export", str(backup), user=None)
    before = backup.read_bytes()
    for file in (backup, other):
        shown, said = ann.both("export", str(file), user="typo", code=1)
        assert ("", "memory-context: there is nothing of a user 'typo' in this store\n") == (
            shown,
            said,
        )
    assert before == backup.read_bytes()
    assert not other.exists()


def test_an_import_says_what_it_could_not_write(ann: Screen, tmp_path: Path) -> None:
    """A damaged line and a key that is taken are named on standard error, the rest is written; code 2."""
    file = tmp_path / "all.jsonl"
    ann("export", str(file), user=None)
    lines = file.read_text("utf-8").replace('"rockets"', '"other"').splitlines()
    file.write_text("\n".join([*lines[:-1], "nonsense", lines[-1]]) + "\n", encoding="utf-8")
    ann("forget", "orders", "--yes")
    with MemoryManager(ann.url, user_id="ann") as memory:
        memory.store("mine", key="orders")
    out, err = ann.both("import", str(file), user=None, code=2)
    assert "record" in out
    assert "orders" in err
    assert re.search(r"^not written: line \d+: not valid JSON", err, re.MULTILINE)
    assert re.search(r"^not written: orders of ann: ", err, re.MULTILINE)
    assert "Traceback" not in err


def test_backups_are_rotated(
    file_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a database that opens; as many stay as were asked for."""
    for _ in range(3):
        assert 0 == run(["backup", str(tmp_path / "copies"), "--keep", "2", "--store", file_url])
    assert "removed" in capsys.readouterr().out
    copies = sorted((tmp_path / "copies").iterdir())
    assert len(copies) == 2
    with MemoryManager(f"sqlite:///{copies[-1]}", user_id="bob") as memory:
        assert "of bob's" == memory.retrieve("bobs")


def test_consolidate_says_what_it_does(ann: Screen) -> None:
    """A dry run writes nothing; then near-duplicates become one, and the old keys still redeem."""
    with MemoryManager(ann.url, user_id="ann") as memory:
        for key in ("n1", "n2"):
            memory.store(
                "we use ruff for linting and formatting",
                key=key,
                type="note",
                tier="project",
                tier_id="p",
            )
    assert "would become 1" in ann("consolidate", "project", "--dry-run")
    assert "2 of 2 notes became 1" in ann("consolidate", "project", "p")
    assert "ruff" in ann("show", "n1")
    ann("consolidate", "detail", code=2)


def test_a_folder_of_files_is_a_store(
    file_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read, searched and listed by its URL."""
    folder = f"file:{tmp_path / 'folder'}"
    assert 0 == run(["import", file_url, "--store", folder, "--user", "ann"])
    assert 0 == run(["show", "rockets", "--store", folder])
    assert 0 == run(["search", "rockets", "--store", folder])
    assert 0 == run(["list", "--store", folder])
    assert "rockets" in capsys.readouterr().out
    missing = f"file:{tmp_path / 'foldre'}"
    for arguments in (["list"], ["gc", "--yes"], ["export", str(tmp_path / "all.jsonl")]):
        assert 2 == run([*arguments, "--store", missing])
        assert "there is no folder" in capsys.readouterr().err
