"""The benchmarks of recall run, small, and find what there is."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_prints_a_row_for_each_case_and_way() -> None:
    """Made data only; the judged sets are given on the command line."""
    command = [sys.executable, str(BENCHMARKS / "recall.py"), "--scale", "0.05"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == run.returncode, run.stderr[-3000:]
    rows = [line for line in run.stdout.splitlines() if "memory-context" in line]
    assert any("records named in long questions" in row for row in rows)
    assert any("order N in 1,500 lines" in row for row in rows)
    assert any("messages that need nothing" in row for row in rows)


def test_asks_what_a_stranger_wrote(tmp_path: Path) -> None:
    """One conversation of the first set: figures of each way, and the questions that were missed."""
    one = tmp_path / "one.jsonl.gz"
    with gzip.open(BENCHMARKS / "asked" / "first.jsonl.gz") as lines:
        one.write_bytes(gzip.compress(next(lines)))
    command = [sys.executable, str(BENCHMARKS / "asked.py"), str(one), "--misses"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == run.returncode, run.stderr[-3000:]
    rows = {line.split("│")[1].strip(): line for line in run.stdout.splitlines() if "│" in line}
    assert {"memory-context", "BM25, three chunks", "two facts"} <= rows.keys()
    answered = int(rows["memory-context"].split("│")[3].split("/")[0])
    assert 12 - answered == run.stdout.count("\n[ops-logs, ")
    assert answered
