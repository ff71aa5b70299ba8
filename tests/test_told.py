"""What tests tell of what they did is printed at the end, whoever ran them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
def test_passes(told):
    told("killed 3 writers")
    told("lost nothing")

def test_fails(told):
    told("killed 4 writers")
    raise AssertionError
"""


@pytest.mark.long
@pytest.mark.parametrize("processes", ["0", "2"])
def test_told(tmp_path: Path, request: pytest.FixtureRequest, processes: str) -> None:
    """Each line stands behind its test's name, of tests that fail too, and from other processes."""
    (tmp_path / "test_some.py").write_text(_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    search = os.pathsep.join([str(request.path.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-n", processes]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name}
        | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )

    told = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("test_some.py::") and ": " in line
    ]
    assert [
        "test_some.py::test_fails: killed 4 writers",
        "test_some.py::test_passes: killed 3 writers",
        "test_some.py::test_passes: lost nothing",
    ] == sorted(told)
