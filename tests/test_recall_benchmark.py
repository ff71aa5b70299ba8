"""The benchmark of recall runs, small, and finds what it made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

RECALL = Path(__file__).parents[1] / "benchmarks" / "recall.py"


def test_prints_a_row_for_each_case_and_way() -> None:
    """Made data only; the judged sets are given on the command line."""
    command = [sys.executable, str(RECALL), "--scale", "0.05"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == run.returncode, run.stderr[-3000:]
    rows = [line for line in run.stdout.splitlines() if "memory-context" in line]
    assert any("records named in long questions" in row for row in rows)
    assert any("order N in 1,500 lines" in row for row in rows)
    assert any("messages that need nothing" in row for row in rows)
