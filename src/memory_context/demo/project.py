"""A little project whose tests fail: written to a temporary folder, and tested there by the installed pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memory_context.runtime import prompts

SECONDS_AT_MOST = 120

_DURATIONS = '''\
"""Durations as people write them."""

import logging

logger = logging.getLogger("durations")

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 5 * 86400}


def seconds(text):
    """The seconds of a duration such as 90-minutes."""
    number, unit = text.split("-")
    logger.info("%s: one is %d seconds", text, SECONDS[unit])
    return int(number) * SECONDS[unit]
'''

_TEST_DURATIONS = '''\
"""Each unit against the standard library."""

from datetime import timedelta

import pytest

from durations import seconds

COUNTS = {"seconds": 120, "minutes": 120, "hours": 96, "days": 62, "weeks": 20}
CASES = [f"{number}-{unit}" for unit, count in COUNTS.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("text", CASES)
def test_seconds(text):
    number, unit = text.split("-")
    expected = timedelta(**{unit: int(number)}).total_seconds()
    found = seconds(text)
    assert found == expected, f"{text}: not {found}"
'''

_FILES = {
    "durations.py": _DURATIONS,
    "test_durations.py": _TEST_DURATIONS,
    "pytest.ini": "[pytest]\naddopts = -v --color=no -p no:cacheprovider\nlog_level = INFO\n",
}


def write_project(folder: Path) -> None:
    """Write the project's files into `folder`."""
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def run_pytest(folder: Path) -> str:
    """All that pytest prints about the project in `folder`, and its exit status."""
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "test_durations.py"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=SECONDS_AT_MOST,
        check=False,
    )
    return f"{done.stdout}{prompts.DEMO_EXIT.format(status=done.returncode)}\n"


def _environment() -> dict[str, str]:
    """Ours, without what would make pytest behave differently from machine to machine."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV_", "COVERAGE_"))
    }
    fixed = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "64"}
    return {**ours, **fixed}
