"""What the how-to guides say: their code runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCKS = [
    pytest.param(code, id=f"{name}-{number}")
    for name in ("assembly.md", "partial-reads.md", "langchain.md", "files.md", "notebooks.md", "stores.md", "tiers.md")
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_code_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    """Each block of code is a program that runs without a word on stderr."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (0, "") == (run.returncode, run.stderr)
