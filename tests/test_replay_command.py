"""`memory-context replay` from the outside: real processes, real files, a real terminal, a real Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import commands
from commands import in_this_process, read_terminal
from for_each import for_each
from memory_context import MemoryManager
from memory_context.cli import run
from memory_context.display.html_page import STYLE
from memory_context.display.line_charts import Mark, line_chart, round_step, short_number
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.figure_definitions import EXPLANATIONS
from memory_context.replay.policies_by_name import default_policies, parse_policy
from memory_context.replay.prices import parse_price
from memory_context.replay.verdict_and_json import short

COMMAND = [*commands.COMMAND, "replay"]
DEFAULTS = [policy.name for policy in default_policies()]


def replay(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return in_this_process("replay", *map(str, arguments), **environment)


def run_of(name: str, outputs: int = 3) -> dict[str, Any]:
    """A recorded run that reads large outputs and uses a value out of the middle of each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the broken job."}]
    for step in range(outputs):
        used = json.dumps({"job": f"job-{step - 1}-150"}) if step else "{}"
        call = {
            "id": f"c{step}",
            "type": "function",
            "function": {"name": "read", "arguments": used},
        }
        text = "\n".join(f"job-{step}-{line} went well on host alpha-{line}" for line in range(300))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": text},
        ]
    return {
        "id": name,
        "messages": [*messages, {"role": "assistant", "content": "It was the last one."}],
    }


def write(path: Path, *runs: object) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    return path


@pytest.fixture(name="runs", scope="module")
def runs_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs in a file."""
    return write(
        tmp_path_factory.mktemp("runs") / "runs.jsonl", run_of("first"), run_of("second", 2)
    )


@pytest.mark.long
def test_it_concludes(runs: Path) -> None:
    """The first sentence says what our first policy saves in tokens and dollars, and what it costs a model."""
    done = replay(runs, "--policy=unbounded", "--policy=memory", "--json", "--price=10/1")
    report = json.loads(done.stdout)
    before, after = (policy["all_counted"] * 10 / 1e6 for policy in report["policies"])
    said = report["conclusion"]
    assert f"${before:.2g} → ${after:.2g} at the price of $10 a million tokens, $1 cached" in said
    assert said.startswith("Your 2 runs: ")
    assert "Of 3 values needed later none would have been lost; " in said

    shown = replay(runs, "--policy=memory", COLUMNS="200").stdout
    assert shown.startswith("Your 2 runs: ")
    assert " at the price of gpt-5.4, " in shown
    assert "" == json.loads(replay(runs, "--policy=mask", "--json").stdout)["conclusion"]


def test_a_run_is_shown_call_by_call(runs: Path) -> None:
    """What was sent, how many texts were folded, and which needed values stood behind which reference."""
    shown = replay(runs, "--run=second", COLUMNS="200").stdout.splitlines()
    assert "second, memory:threshold=500" == shown[0]
    assert 3 == len(shown[1:])
    assert re.match(r"3 +[0-9,]+ → [0-9,]+ tokens, 2 folded", shown[3])

    hidden = replay(runs, "--run=first", "--policy=reference", COLUMNS="200").stdout
    assert re.search(r"\b2 .* folded; out of sight: job-0-150 \(behind read_[a-z0-9]+\)", hidden)
    gone = replay(runs, "--run=first", "--policy=mask:keep=0", COLUMNS="200").stdout
    assert "out of sight: job-0-150 (lost)" in gone


def test_a_prompt_is_shown(runs: Path) -> None:
    """The messages as they would have been sent, and below them what was out of sight."""
    shown = replay(runs, "--run=first", "--call=2", "--policy=reference", COLUMNS="200").stdout
    assert "user\nFind the broken job.\n" in re.sub(" +\n", "\n", shown)
    assert re.search(r"tool *\n\[MemoryRef: read_", shown)
    assert re.search(r"Out of sight *\njob-0-150 \(behind read_", shown)
    assert "nothing that this call needed" in replay(runs, "--run=first", "--call=1").stdout


@for_each(
    "arguments, said",
    [
        (["--call=1"], "--call needs --run NAME, the run of the call"),
        (
            ["--run=first", "--policy=mask", "--policy=memory"],
            "--run replays a run by one policy, not by 2: give --policy once",
        ),
        (
            ["--run=first", "--report=r.html"],
            "--report and --json are about all runs: leave out --run",
        ),
        (["--run=first", "--json"], "--report and --json are about all runs: leave out --run"),
        (["--run=third"], "no run in the files is called 'third'; there are first, second"),
        (["--run=first", "--call=9"], "the run has 4 model calls; there is no call 9"),
    ],
)
def test_runs_and_calls_that_are_not_there(runs: Path, arguments: list[str], said: str) -> None:
    """The error says what there is, or which options do not go together."""
    done = replay(runs, *arguments)
    assert (2, True) == (done.returncode, said in done.stderr)


def test_a_run_is_asked_for_where_there_is_none(tmp_path: Path) -> None:
    """The error says that the files have no run."""
    silent = write(tmp_path / "silent.jsonl", {"type": "summary", "leafUuid": "u"})
    done = replay(silent, "--run=first")
    assert (2, True) == (done.returncode, "called 'first'; there are none" in done.stderr)


@pytest.mark.long
def test_sessions_in_which_nothing_was_said_are_left_out(runs: Path, tmp_path: Path) -> None:
    """Claude Code keeps such files among its sessions: one of them does not end the replay, and a line names it."""
    title = {"type": "summary", "summary": "Orders", "leafUuid": "u"}
    silent = write(tmp_path / "silent.jsonl", title)
    alone, done = replay(silent), replay(silent, runs, "--policy=memory")
    said = "silent.jsonl, line 1: the lines of a session hold no message of a person or a model"
    assert (2, True) == (alone.returncode, said in alone.stderr)
    assert (0, True) == (done.returncode, f"{said}; left out" in done.stderr)
    assert "2 runs" in done.stdout
    assert "job-0-150" in replay(silent, runs, "--run=first").stdout


@pytest.mark.long
def test_worst_runs_are_named(tmp_path: Path) -> None:
    """Runs with most look-ups come first: in the table, as JSON, and in the report with all their calls."""
    runs = write(tmp_path / "many.jsonl", *(run_of(f"run {count}", count) for count in range(1, 8)))
    report = tmp_path / "report.html"
    shown = replay(runs, "--policy=memory:preview_tokens=0,recall=false", "--report", report).stdout
    named = re.findall(r"^run (\d) .* (\d) of (\d) calls would have looked", shown, re.MULTILINE)
    assert [("7", "6", "8"), ("6", "5", "7")] == named[:2]
    assert 5 == len(named)
    assert "Worst runs" not in replay(runs, "--policy=mask").stdout
    policy = "--policy=memory:preview_tokens=0,recall=false"
    worst = json.loads(replay(runs, policy, "--json").stdout)["worst_runs"]
    assert ("run 7", 8, 6, 0) == tuple(worst[0][name] for name in ("run", "calls", "trips", "lost"))
    page = report.read_text("utf-8")
    assert 5 == page.count("<details>")
    assert re.search(r"<summary>run 7: [0-9.]+ of the cost; 6 of 8 calls", page)


def test_prices() -> None:
    """A price is that of a known model, or dollars in full and cached."""
    known, own = parse_price("gpt-5.5"), parse_price("4/1")

    assert ("gpt-5.5", 5.0, 0.1) == (known.model, known.dollars, known.cached)
    assert (4.0, 0.25) == (own.dollars, own.cached)
    assert 1.0 == parse_price("3").cached


@for_each("text", ["x", "gpt", "1/2", "-1", "nan", "inf", "0", "1/x", "1/-1"])
def test_no_prices(text: str) -> None:
    """Anything else is an error that names what there is."""
    with pytest.raises(InvalidArgumentError, match=r"2\.50/0\.25, or one of gpt-5\.5"):
        parse_price(text)


@pytest.mark.long
def test_the_table_has_all_usual_policies_and_fits(runs: Path) -> None:
    """Piped, nothing is folded or cut, nothing is coloured, and no bar is drawn."""
    done = replay(
        runs, *(f"--policy={name}" for name in (*DEFAULTS, "buffered:size=1")), COLUMNS="80"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "runs.jsonl\n2 runs, 7 model calls, 3 needed values; tokens by " in done.stdout
    rows = {
        line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line[:1].islower()
    }
    assert set(DEFAULTS) < set(rows)
    assert ["1.000"] * 4 == rows["unbounded"][:4]
    assert ["3", "0"] == rows["buffered:size=1"][7:9]
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 110


@pytest.mark.long
def test_policies_and_threshold_are_chosen(runs: Path) -> None:
    """`--policy` takes the place of the usual ones; `--threshold` is that of the usual ones."""
    done = replay(
        runs, "--policy", "mask:keep=1", "--policy", "offload:threshold=100,lines=1", "--json"
    )
    assert ["mask:keep=1", "offload:threshold=100,lines=1"] == [
        one["policy"] for one in json.loads(done.stdout)["policies"]
    ]
    done = replay(runs, "--threshold", "90000", "--json")
    by_name = {one["policy"]: one for one in json.loads(done.stdout)["policies"]}
    assert by_name["reference:threshold=90000"]["tokens"] == by_name["unbounded"]["tokens"]


@pytest.mark.long
def test_json_is_one_object_with_all_figures(runs: Path) -> None:
    """Counts as they are, shares of the unbounded context, and the tokens of each call."""
    done = replay(runs, runs, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (["runs.jsonl"] * 2, True, 500) == (
        found["files"],
        found["complete"],
        found["threshold"],
    )
    assert (4, 14, 6) == (found["runs"], found["calls"], found["needed"])
    assert [4, 4, 4, 2] == found["runs_by_call"]
    assert DEFAULTS == [one["policy"] for one in found["policies"]]
    for one in found["policies"]:
        weighted = sum(
            mean * runs
            for mean, runs in zip(one["tokens_by_call"], found["runs_by_call"], strict=True)
        )
        assert one["tokens"] == pytest.approx(weighted, abs=2)
        assert one["visible"] <= one["named"] <= found["needed"]
        assert one["share"]["tokens"] == pytest.approx(
            one["tokens"] / found["policies"][0]["tokens"], abs=1e-5
        )
    by_name = {one["policy"]: one for one in found["policies"]}
    assert 0 == by_name["memory:threshold=500"]["lost"]
    assert (6, 0) == (
        by_name["unbounded"]["visible"],
        by_name["reference:threshold=500"]["visible"],
    )
    assert 6 == by_name["reference:threshold=500"]["trips"]


@pytest.mark.long
def test_explain_says_what_the_figures_mean(runs: Path, tmp_path: Path) -> None:
    """One text for the terminal and the report; it names every policy that there is."""
    alone, page = replay("--explain"), tmp_path / "report.html"
    assert (alone.returncode, alone.stderr) == (0, "")
    together = replay(runs, "--explain", "--policy", "unbounded", "--report", page)
    assert alone.stdout in together.stdout
    words, read = " ".join(alone.stdout.split()), " ".join(Reader.of(page).text.split())
    policies = EXPLANATIONS["Policies"]
    for term, text in (*EXPLANATIONS["Definitions"], *policies):
        assert f"{term} {text}" in words
        assert f"{term} {text}" in read
    for name, _ in policies:
        assert parse_policy(name).name == name
    usual = {name.partition(":")[0] for name in DEFAULTS}
    assert {*usual, "summarize", "compact", "evict"} == {name for name, _ in policies}


@for_each(
    "arguments, said",
    [
        ("", "replay needs recordings"),
        ("nowhere.jsonl", "'nowhere.jsonl' does not exist"),
        ("FOLDER", "is a directory"),
        ("RUNS --policy best", "there is no policy 'best'; the policies are unbounded"),
        ("RUNS --policy memory:threshold=1", "tokens, 50 or more"),
        ("RUNS --policy buffered:size=x", "size must be a whole number"),
        ("RUNS --threshold 10", "--threshold"),
        ("RUNS --report FOLDER/no/such/folder.html", "in a folder that exists"),
        ("RUNS --report RUNS", "would replace the recordings"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    """Before any run is replayed, on standard error, with exit code 2; no file is touched."""
    before = runs.read_bytes()
    code = run(
        ["replay", *arguments.replace("RUNS", str(runs)).replace("FOLDER", str(tmp_path)).split()]
    )
    shown_ = capsys.readouterr()
    assert (2, "") == (code, shown_.out)
    [line] = shown_.err.splitlines()
    assert said in line
    assert before == runs.read_bytes()


def test_a_broken_line_ends_the_replay_after_what_is_done(tmp_path: Path) -> None:
    """The runs above it are reported as incomplete; the error names file and line."""
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run_of("a")) + "\nno run\n", encoding="utf-8")
    done = replay(path, "--json", "--policy", "unbounded")
    assert done.returncode == 2
    assert (1, False) == (json.loads(done.stdout)["runs"], json.loads(done.stdout)["complete"])
    assert "runs.jsonl, line 2: not valid JSON" in done.stderr
    assert 1 == len(done.stderr.splitlines())


@pytest.mark.long
def test_skipping_what_is_damaged(tmp_path: Path) -> None:
    """The other files are replayed, and the runs above the damage; every form of the result says what was left out."""
    for name, text in (("a", "no run"), ("b", "{"), ("c", "")):
        (tmp_path / f"{name}.jsonl").write_text(f"{json.dumps(run_of(name))}\n{text}")
    (tmp_path / "d.json").write_bytes(b"\x1f\x8bno gzip at all")
    files = sorted(tmp_path.iterdir())
    assert "; --skip-damaged replays the others" in replay(*files, "--policy", "unbounded").stderr

    report = tmp_path / "report.html"
    options = ("--skip-damaged", "--policy", "unbounded")
    done = replay(*files, *options, "--report", report)
    assert 0 == done.returncode
    assert "3 runs" in done.stdout
    assert "without what is damaged in 3 files" in done.stdout
    assert "damaged, left out: " not in done.stdout  # standard error names them
    for text in (done.stderr, report.read_text("utf-8")):
        assert 3 == text.count("damaged, left out: ")
        assert "b.jsonl, line 2" in text
    found = json.loads(replay(*files, *options, "--json").stdout)
    assert (3, True, 3) == (found["runs"], found["complete"], len(found["damaged"]))
    assert 0 == replay(*files, *options, "--run", "c").returncode
    assert "hold no run" in replay(files[-1], *options).stderr


@pytest.mark.long
def test_no_agent_framework_is_needed(runs: Path) -> None:
    """Whoever uses LangChain need not install AutoGen to see what this library would save."""
    code = "import sys; sys.modules['autogen_core'] = None; from memory_context.cli import main; main()"
    command = [sys.executable, "-c", code, "replay", str(runs)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.startswith("Your ")


@pytest.mark.long
def test_nothing_of_the_users_is_changed(runs: Path, tmp_path: Path) -> None:
    """A database in the working directory and the one that the environment names stay as they are, byte for byte."""
    stores = [tmp_path / "memory.db", tmp_path / "named.db"]
    for store in stores:
        with MemoryManager(f"sqlite:///{store}", user_id="replay") as memory:
            memory.store("a note of mine", "note")
    folder = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run(
        [*COMMAND, str(runs)],
        cwd=tmp_path,
        env={
            **os.environ,
            "MEMORY_CONTEXT_STORE": f"sqlite:///{stores[1]}",
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        check=True,
    )
    assert b"memory:threshold=500" in done.stdout
    assert folder == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.long
def test_ctrl_c_shows_what_is_done_so_far(tmp_path: Path) -> None:
    """A bar with the time left while it works; after Ctrl-C the figures of whole runs, and exit code 130."""
    many = write(tmp_path / "many.jsonl", *(run_of(f"r{number}", 4) for number in range(400)))
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    command = [*COMMAND, str(many), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen, asked = b"", False
        for data in read_terminal(ours):
            seen += data
            if re.search(rb" [1-9]\d?%", seen) and not asked:
                process.send_signal(signal.SIGINT)
                asked = True
        assert process.stdout
        found = json.loads(process.stdout.read())
    assert process.returncode == 130
    assert b"many.jsonl" in seen
    assert b"Traceback" not in seen
    assert not found["complete"]
    assert 0 < found["runs"] < 400
    assert {5 * found["runs"]} == {found["calls"]}


class Reader(HTMLParser):
    """What a browser would find in the report."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    @classmethod
    def of(cls, path: Path) -> Reader:
        """The report at `path`."""
        reader = cls()
        reader.feed(path.read_text(encoding="utf-8"))
        return reader

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note the text; an element's end is a space."""
        self.text += data + " "


@pytest.mark.long
def test_the_report_is_one_file_with_everything(runs: Path, tmp_path: Path) -> None:
    """A table, a chart, the worst runs, definitions; no script, nothing to load, a style for phones and the dark."""
    page = tmp_path / "report.html"
    done = replay(runs, "--report", page)
    assert (done.returncode, done.stderr) == (0, "")
    reader = Reader.of(page)
    tags = [tag for tag, _ in reader.tags]
    worst = (1 + 4) + (1 + 3)  # a row for each of their calls, and one with titles
    assert 1 + len(DEFAULTS) + worst == tags.count("tr")
    assert 1 == tags.count("figure")
    assert len(DEFAULTS) == tags.count("polyline")
    assert not {"script", "link", "img", "iframe", "object"} & set(tags)
    assert not {"src", "href", "srcset", "onload"} & {
        name for _, attributes in reader.tags for name in attributes
    }
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "prefers-color-scheme:dark" in STYLE
    assert (
        "meta",
        {"name": "viewport", "content": "width=device-width,initial-scale=1"},
    ) in reader.tags
    for svg in page.read_text(encoding="utf-8").split("<svg")[1:]:
        ET.fromstring("<svg" + svg.partition("</svg>")[0] + "</svg>")


HOSTILE = "</title><script>alert('1')</script>\"\x1b[2J\ud800<b>"


def test_everything_in_the_report_is_escaped(tmp_path: Path) -> None:
    """Names of files and runs, and policies, are texts wherever they stand."""
    page = tmp_path / "report.html"
    path = write(tmp_path / "<b onclick=x>runs.jsonl", run_of(HOSTILE))
    done = replay(path, "--report", page, "--policy", "buffered: size = 3 ,", "--policy", "memory:")
    assert (done.returncode, done.stderr) == (0, "")
    reader = Reader.of(page)
    assert not {"script", "b"} & {tag for tag, _ in reader.tags}
    assert "onclick" not in {name for _, attributes in reader.tags for name in attributes}
    assert "<b onclick=x>runs.jsonl" in reader.text
    assert "</title><script>alert('1')</script>\"\ufffd[2J\ufffd<b>" in reader.text
    assert "buffered:" in reader.text


def test_a_replay_without_model_calls_has_a_report(tmp_path: Path) -> None:
    """Nothing to draw is no error."""
    page = tmp_path / "report.html"
    done = replay(
        write(tmp_path / "a.jsonl", {"messages": []}), "--report", page, "--policy", "mask"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 run, 0 model calls, 0 needed values" in Reader.of(page).text


@for_each(
    "highest, ticks",
    [
        (14_500, ["0", "5k", "10k", "15k"]),
        (5, ["0", "1", "2", "3", "4", "5"]),
        (0.5, ["0", "1"]),
        (3_000_000, ["0", "1M", "2M", "3M"]),
    ],
)
def test_axes_have_round_numbers(highest: float, ticks: list[str]) -> None:
    """At most five steps lead to the highest value."""
    step = round_step(highest)
    assert ticks == [short_number(number * step) for number in range(len(ticks))]
    assert (len(ticks) - 2) * step < highest <= (len(ticks) - 1) * step


@for_each(
    "tokens, said",
    [
        (812, "812"),
        (1000, "1 k"),
        (319_600, "320 k"),
        (999_499, "999 k"),
        (999_600, "1 M"),
        (4_100_000, "4.1 M"),
        (1_234_000_000, "1.23 B"),
        (1_234_500_000_000, "1,234 B"),
    ],
)
def test_large_numbers_of_tokens_are_rounded(tokens: int, said: str) -> None:
    """The conclusion shows three digits, never an exponent."""
    assert said == short(tokens)


def test_long_lines_are_thinned_out() -> None:
    """A run of 100,000 calls makes no page of megabytes, and keeps its end."""
    drawn = line_chart([(Mark(1, "unbounded"), range(100_000))], "x", "call")
    assert len(drawn) < 20_000
    assert "350.0," in drawn
