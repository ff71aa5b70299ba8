"""docs/command-line.md and the command say the same: verbs, options, shapes of JSON, exit codes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from for_each import for_each
from memory_context import MemoryManager, ModelCall
from memory_context.cli import app, run
from memory_context.model.audit_entries import ACTIONS
from messages import LOG

PAGE = (Path(__file__).parents[1] / "docs/command-line.md").read_text("utf-8")
COMMAND: Any = typer.main.get_command(app)
VERBS: dict[str, Any] = COMMAND.commands
SECTIONS = dict(re.findall(r"^### `([\w-]+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
SHAPES = {
    name: json.loads(text)
    for name, text in re.findall(r"```json ([\w-]+)\n(.*?)```", PAGE, re.DOTALL)
}
VARYING = {"users", "redacted"}  # objects whose keys are the names of users, or kinds of secrets
WITHOUT_SHAPE = {"demo", "replay"}
RUNS = {
    "list": ["--user", "ann"],
    "search": ["worker-777", "--user", "ann"],
    "show": ["log", "--lines", "1-2", "--user", "ann"],
    "query": ["SELECT * FROM orders", "--user", "ann"],
    "threads": ["--user", "ann"],
    "audit": ["--user", "ann"],
    "calls": ["--user", "ann"],
    "stats": [],
    "reindex": [],
    "doctor": [],
    "migrate": [],
    "confirm": ["orders", "--user", "ann"],
    "forget": ["orders", "--yes", "--user", "ann"],
    "gc": ["--yes"],
    "redact": ["--yes"],
    "forget-user": ["ann", "--yes"],
    "consolidate": ["project", "--user", "ann"],
    "export": ["exported.jsonl"],
    "import": ["imported.jsonl"],
    "backup": ["backups"],
}


def named_in_tables(text: str) -> set[str]:
    """The options in the first column of a section's tables."""
    cells = re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
    return {option for cell in cells for option in re.findall(r"`(--[\w-]+)", cell)}


def options_of(command: Any) -> set[str]:
    """The options of a verb, but `--help`."""
    return {name for one in command.params for name in one.opts if name.startswith("--")} - {
        "--help"
    }


def test_every_verb_is_documented() -> None:
    """Each has a section, and each section a verb."""
    assert set(VERBS) == set(SECTIONS)


@for_each("verb", sorted(VERBS))
def test_every_option_is_documented(verb: str) -> None:
    """A section's table has the options of its verb and no others; what comes without a name stands above it."""
    assert options_of(VERBS[verb]) == named_in_tables(SECTIONS[verb])
    for one in VERBS[verb].params:
        assert one.help, (verb, one.name)
        if not one.opts[0].startswith("--"):
            assert f"`{verb} " in SECTIONS[verb]
    assert VERBS[verb].help


def test_the_options_of_the_command_itself() -> None:
    """They are documented above the verbs."""
    assert options_of(COMMAND) == named_in_tables(PAGE.partition("## Finding and reading")[0])


def test_verbs_are_listed_in_full() -> None:
    """No line of the list of verbs is cut on a screen of 80 columns."""
    lines = COMMAND.get_help(typer.Context(COMMAND, terminal_width=80)).splitlines()
    assert len(lines) > len(VERBS)
    assert not [line for line in lines[1:] if line.endswith("...")]


def test_every_action_can_be_asked_for() -> None:
    """`audit --action` takes each action of the trail."""
    assert f"<{'|'.join(ACTIONS)}>" in VERBS["audit"].get_help(typer.Context(VERBS["audit"]))


def test_every_shape_is_documented() -> None:
    """Each verb with `--json` has its shape, but those that are described elsewhere; nothing else has one."""
    assert {verb for verb in VERBS if "--json" in options_of(VERBS[verb])} - WITHOUT_SHAPE == set(
        SHAPES
    ) - {"record"}
    assert set(RUNS) == set(SHAPES) - {"record"}


def keys_of(value: Any) -> Any:
    """The keys of objects, and those of the first of a list. ``record`` stands for one, or for its keys."""
    if value == "record":
        return keys_of(SHAPES["record"])
    if isinstance(value, dict):
        given = {
            name: keys_of(one)
            for name, one in value.items()
            if name not in VARYING or isinstance(one, list)
        }
        of_record = keys_of("record") if given.pop("record", 0) is None else {}
        return of_record | given
    return [keys_of(value[0])] if isinstance(value, list) and value else None


@pytest.mark.parametrize("verb", sorted(RUNS))
def test_the_shape_is_what_is_printed(
    verb: str,
    sqlite_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every name in the JSON is in the documented shape, and the other way round."""
    with MemoryManager(sqlite_url, user_id="ann", thread_id="t1", audit=True) as memory:
        for _ in range(2):
            memory.store(
                "we use ruff for linting and formatting", type="note", tier="project", tier_id="p"
            )
        memory.store(LOG, key="log", type="tool_output", tags=["x"])
        memory.store({"orders": [1, 2]}, key="orders", tags=["x"])
        memory.note_call(
            ModelCall(datetime.now(UTC), tokens_full=64_058, tokens_sent=836, messages=4)
        )
    monkeypatch.chdir(tmp_path)
    run(["export", "imported.jsonl", "--store", sqlite_url])
    capsys.readouterr()
    assert 0 == run([verb, "--store", sqlite_url, "--json", *RUNS[verb]])
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert 1 == len(printed.splitlines())
    assert keys_of(SHAPES[verb]) == keys_of(json.loads(printed))
