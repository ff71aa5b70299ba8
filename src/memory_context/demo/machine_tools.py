"""The demo's tools. Each collects real data of this machine, tens to hundreds of kilobytes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from memory_context import sentences_models_read as prompts

MAX_FILES = 4_500  # about 400,000 characters: large for a prompt, quick to store
PYTEST_TIMEOUT = 120  # seconds
TOOL_NAMES = ("installed_packages", "list_environment", "run_tests", "file_sizes")

_TESTS = """\
import logging
from datetime import timedelta

import pytest

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 5 * 86400}
COUNTS = {"seconds": 120, "minutes": 120, "hours": 96, "days": 62, "weeks": 20}
CASES = [f"{number}-{unit}" for unit, count in COUNTS.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("text", CASES)
def test_seconds(text):
    number, unit = text.split("-")
    logging.getLogger("durations").info("%s: one is %d seconds", text, SECONDS[unit])
    found = int(number) * SECONDS[unit]
    expected = timedelta(**{unit: int(number)}).total_seconds()
    assert found == expected, f"{text}: not {found}"
"""
_PYTEST_INI = "[pytest]\naddopts = -v --color=no -p no:cacheprovider\nlog_level = INFO\n"


@dataclass(frozen=True, slots=True)
class MachineTools:
    """The four tools, for any framework.

    Attributes:
        project: A folder for the small project that `run_tests` tests.
        outputs: The newest output of each tool, by the tool's name.
    """

    project: Path
    outputs: dict[str, str] = field(default_factory=dict[str, str])

    def described(self) -> dict[str, tuple[Callable[[], str], str]]:
        """Return each tool's function and description, by its name."""
        (self.project / "test_durations.py").write_text(_TESTS, encoding="utf-8")
        (self.project / "pytest.ini").write_text(_PYTEST_INI, encoding="utf-8")
        tools = {
            "installed_packages": (installed_packages, prompts.DEMO_PACKAGES),
            "list_environment": (list_environment, prompts.DEMO_LISTING),
            "run_tests": (self._run_tests, prompts.DEMO_TESTS),
            "file_sizes": (file_sizes, prompts.DEMO_SIZES),
        }
        return {name: (self._recorded(name, run), text) for name, (run, text) in tools.items()}

    def _recorded(self, name: str, run: Callable[[], str]) -> Callable[[], str]:
        """Return a function that also records the output of *run*."""

        def tool() -> str:
            self.outputs[name] = run()
            return self.outputs[name]

        return tool

    def _run_tests(self) -> str:
        """Return everything that pytest prints about the project, and its exit status."""
        # No plugins, no options of the caller, and 64 columns, so that the output is the same on every machine.
        fixed = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "64"}
        done = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", "-c", "pytest.ini", "test_durations.py"],
            cwd=self.project,
            env={**os.environ, **fixed},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PYTEST_TIMEOUT,
            check=False,
        )
        return f"{done.stdout}{done.stderr}{prompts.DEMO_EXIT.format(status=done.returncode)}\n"


def installed_packages() -> str:
    """Return the metadata of the installed packages, sorted by name and without their readmes, as JSON."""
    packages = list[dict[str, Any]]()
    for package in sorted(distributions(), key=lambda package: package.name):
        packages.append(package.metadata.json)
        packages[-1].pop("description", None)
    return json.dumps({"packages": packages}, indent=1)


def list_environment() -> str:
    """Return the size and path of the first files below `sys.prefix`, sorted by path."""
    lines = [
        f"{path.stat().st_size:>11} {path.relative_to(sys.prefix)}\n"
        for path in sorted(Path(sys.prefix).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    return "".join(lines[:MAX_FILES])


def file_sizes() -> str:
    """Return a row of CSV for each of the first files of the installed packages."""
    rows = list[tuple[object, ...]]()
    for package in sorted(distributions(), key=lambda package: package.name):
        name = package.name  # the metadata is parsed at each access
        version = package.version
        for file in sorted(package.files or ()):
            rows.append((name, version, file.size, file))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("package", "version", "bytes", "path"))
    writer.writerows(rows[:MAX_FILES])
    return table.getvalue()
