"""What the README says: its code runs as it stands, and prints what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_context import FoldPolicy

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
# Keys are generated from a seed, so that the README can show one.
SEEDED = (
    "from memory_context.testing import seeded_keys\n_keys = seeded_keys(0)\n_keys.__enter__()\n"
)
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_code_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    """Each block of code is a program that runs without a word on stderr."""
    run = subprocess.run(
        [sys.executable, "-c", SEEDED + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (0, "") == (run.returncode, run.stderr)


@pytest.mark.long
def test_first_example_run_again(tmp_path: Path) -> None:
    """The first example run three times in one folder behaves the same three times."""
    printed = list[str]()
    for _ in range(3):
        command = [sys.executable, "-c", BLOCKS[0]]
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        printed.append(run.stdout)
    assert "02:20:34 worker-1234 done" in printed[0]
    assert [printed[0]] * 3 == printed


@pytest.mark.long
def test_first_example_does_what_is_said(tmp_path: Path) -> None:
    """The first example prints the reference that the README shows, and what it says about the recall."""
    run = subprocess.run(
        [sys.executable, "-c", SEEDED + BLOCKS[0]],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    [shown] = re.findall(r"^    (\[MemoryRef: .*\])$", README, re.MULTILINE)

    assert shown in run.stdout
    preview = run.stdout.partition(shown)[2].partition("\n\n")[0]
    recalled = run.stdout.partition("may need it")[2].partition("end of what was recalled")[0]
    assert "02:20:34 worker-1234 done" in recalled
    assert "worker-1233" not in recalled
    assert f"The model saw {preview.count(' done')} of the lines" in README
    assert (tmp_path / "memory.db").exists()
    assert shown.split()[1] in README.split("retrieve(")[1]


def test_what_is_read_in_full_is_what_is_promised() -> None:
    """With `after_reading` an output of more tokens than the README says is folded before a model has seen it."""
    promised = re.findall(r'"after_reading"`[^.]*?of up to ([\d,]+) tokens', README)
    assert [f"{FoldPolicy().read_cap:,}"] * README.count('"after_reading"') == promised
