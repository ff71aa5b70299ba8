"""The suites of agents again, on databases that are slow: what they expect holds unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

import slow_statements

pytestmark = pytest.mark.long

TESTS = Path(slow_statements.__file__).parent
SUITES = [
    "agents",
    "teams",
    "participants",
    "context",
    "compaction",
    "workbench",
    "sql_memory",
    "notes_autogen",
]
SUITES += [
    "langchain_agents",
    "langchain_memory",
    "langchain_tools",
    "middleware",
    "checkpointers",
    "notes_langchain",
]


@pytest.mark.parametrize(
    "suites",
    [
        ["langchain_agents"],
        pytest.param(SUITES, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
    ids=["one", "all"],
)
def test_slow_databases(told: Callable[[str], None], suites: list[str]) -> None:
    """Agents and teams of both frameworks do on a slow database what they do on a quick one."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "slow_statements", "-m", "not soak"]
    search = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])

    done = subprocess.run(
        [*command, *(str(TESTS / f"test_{suite}.py") for suite in suites)],
        cwd=TESTS.parent,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name}
        | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout[-4000:]
    [count] = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    told(
        f"{count} tests of {len(suites)} suites, each statement up to {1000 * slow_statements.SECONDS:g} ms late"
    )


def test_who_imports_the_plugin_is_not_slow() -> None:
    """Only a run that has it as a plugin waits: this file is imported in every run."""
    assert not sa.event.contains(sa.Engine, "before_cursor_execute", slow_statements.wait)
