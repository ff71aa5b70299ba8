"""The demo's tools. Each runs something real on this machine; its output has tens to hundreds of kilobytes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from autogen_core.tools import FunctionTool

from memory_context.runtime import prompts

OUTPUT_LIMIT = 400_000  # characters
PYTEST_TIMEOUT = 120  # seconds
TOOL_NAMES = ("installed_packages", "list_environment", "run_tests", "file_sizes")

_TESTS = '''\
"""Durations as people write them, each unit against the standard library."""

import logging
from datetime import timedelta

import pytest

logger = logging.getLogger("durations")

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 5 * 86400}
COUNTS = {"seconds": 120, "minutes": 120, "hours": 96, "days": 62, "weeks": 20}
CASES = [f"{number}-{unit}" for unit, count in COUNTS.items() for number in range(1, count + 1)]


def seconds(text):
    number, unit = text.split("-")
    logger.info("%s: one is %d seconds", text, SECONDS[unit])
    return int(number) * SECONDS[unit]


@pytest.mark.parametrize("text", CASES)
def test_seconds(text):
    number, unit = text.split("-")
    expected = timedelta(**{unit: int(number)}).total_seconds()
    found = seconds(text)
    assert found == expected, f"{text}: not {found}"
'''
_PYTEST_INI = "[pytest]\naddopts = -v --color=no -p no:cacheprovider\nlog_level = INFO\n"


def write_project(folder: Path) -> None:
    """Write a little project whose tests fail into `folder`."""
    (folder / "test_durations.py").write_text(_TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text(_PYTEST_INI, encoding="utf-8")


def machine_tools(project: Path) -> list[FunctionTool]:
    """Return the four tools; `run_tests` tests the project in the folder `project`."""

    def run_tests() -> str:
        return run_pytest(project)

    return [
        FunctionTool(installed_packages, prompts.DEMO_PACKAGES),
        FunctionTool(list_environment, prompts.DEMO_LISTING),
        FunctionTool(run_tests, prompts.DEMO_TESTS),
        FunctionTool(file_sizes, prompts.DEMO_SIZES),
    ]


def installed_packages() -> str:
    """Return the metadata of the installed packages, by name and without their readmes, as JSON."""
    packages = list[dict[str, Any]]()
    for package in _distributions():
        metadata = package.metadata.json
        metadata.pop("description", None)
        packages.append(metadata)
    return json.dumps({"packages": packages}, indent=1)


def list_environment() -> str:
    """Return size and path of each file below `sys.prefix`, by path."""
    listing = io.StringIO()
    for path in sorted(Path(sys.prefix).rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            listing.write(f"{path.stat().st_size:>11} {path.relative_to(sys.prefix)}\n")
    return _limited(listing.getvalue())


def run_pytest(project: Path) -> str:
    """Return all that pytest prints about the project in this folder, and its exit status."""
    # No plugins, none of the caller's options, 64 columns: the same output on every machine.
    fixed = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "64"}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-c", "pytest.ini", "test_durations.py"],
        cwd=project,
        env={**os.environ, **fixed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=PYTEST_TIMEOUT,
        check=False,
    )
    return f"{done.stdout}{prompts.DEMO_EXIT.format(status=done.returncode)}\n"


def file_sizes() -> str:
    """Return a row of CSV for each file of each installed package."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("package", "version", "bytes", "path"))
    for package in _distributions():
        name, version = package.name, package.version  # parsed at each access
        for file in sorted(package.files or ()):
            if file.size is not None:
                writer.writerow((name, version, file.size, file))
    return _limited(table.getvalue())


def _distributions() -> list[Distribution]:
    """Return the installed packages by name, each the one that Python would import."""
    # The first of two with one name is imported; here it is the last to be entered.
    by_name = {package.name.lower(): package for package in reversed(list(distributions()))}
    return [by_name[name] for name in sorted(by_name)]


def _limited(lines: str) -> str:
    """Return the whole lines that the limit has room for, and a last one that says so if there are more."""
    if len(lines) <= OUTPUT_LIMIT:
        return lines
    end = lines.rindex("\n", 0, OUTPUT_LIMIT)
    return lines[: end + 1] + prompts.DEMO_LIMITED.format(limit=OUTPUT_LIMIT) + "\n"
