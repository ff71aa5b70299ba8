"""The notebooks: they run top to bottom as they stand, and show what is kept in them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from for_each import for_each
from notebooks import FOLDER, METADATA, VARIES, read, run, shown, steady

LARGEST = 100_000
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_runs_and_shows_what_is_kept(path: Path, tmp_path: Path) -> None:
    """It runs without an error, a warning or a key; run again, too, every cell shows what is kept, unless it varies."""
    kept = read(path)
    again = deepcopy(kept)
    run(again, tmp_path)
    run(again, tmp_path)

    for number, (before, after) in enumerate(zip(kept.cells, again.cells, strict=True)):
        if after.cell_type != "code":
            continue
        assert not [line for line in shown(after) if line.startswith("stderr")], (
            f"cell {number} warns"
        )
        if VARIES not in after.metadata.get("tags", []):
            assert shown(before) == shown(after), (
                f"cell {number}; python tests/notebooks.py keeps what is shown"
            )
        assert bool(before.outputs) == bool(after.outputs), f"cell {number}"


@for_each("path", NOTEBOOKS)
def test_is_small_and_of_no_machine(path: Path) -> None:
    """A notebook with its outputs has at most 100 KB, and says nothing of the machine that it was run on."""
    notebook = read(path)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert LARGEST >= path.stat().st_size
    assert list(range(1, len(codes) + 1)) == [cell.execution_count for cell in codes]
    assert METADATA == notebook.metadata
    assert str(Path.home()) not in path.read_text("utf-8")


@for_each("seconds", ["0.0", "0.1", "12.4"])
def test_time_that_something_took_is_not_compared(seconds: str) -> None:
    """A table with a column of seconds shows the same on a slow machine; its other numbers are compared."""
    table = '<th class="num">tokens</th><th class="num">seconds</th></tr><tr><td class="num">7</td><td class="num">%s'

    assert f"{table % '(…)'}</td></tr>" == steady(f"{table % seconds}</td></tr>")
    written = "message  tokens  seconds\nWhen?  0.5  %s"
    assert written % "(…)" == steady(written % seconds)


def test_there_are_notebooks() -> None:
    """They lie beside the tests, in the wheel's run of CI too."""
    assert {"explore", "langchain", "last-week", "quickstart", "replay", "tiers"} <= {
        path.stem for path in NOTEBOOKS
    }
