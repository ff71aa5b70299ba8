"""The commands that print the published figures run, and their figures are those of what they were given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def printed(*arguments: str, by: str = "published.py") -> dict[str, list[str]]:
    """Return the rows of the table that a command prints, by their first cell."""
    command = [sys.executable, str(BENCHMARKS / by), *arguments]
    wide = {**os.environ, "COLUMNS": "160"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=wide)
    assert 0 == run.returncode, run.stderr[-3000:]
    rows = dict[str, list[str]]()
    for line in run.stdout.splitlines():
        cells = [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]
        if cells:
            rows[cells[0] if len(cells) < 7 else f"{cells[0]}, {cells[1]}"] = cells[1:]
    return rows


def test_checkpoints() -> None:
    """Ours are a hundredth of the plain ones; with the lean state, hardly more than those of empty outputs."""
    rows = printed("checkpoints")
    assert 14 < float(rows["plain, LangChain's"][2]) < 15
    assert float(rows["memory-context, LangChain's"][2]) < 0.35
    floor = float(rows["floor: plain, empty outputs, lean"][2])
    assert float(rows["memory-context, lean"][2]) < floor + 0.03
    assert float(rows["memory-context, at exit"][2]) < 0.03


def test_search_of_a_published_folder(tmp_path: Path) -> None:
    """Messages and questions are read as their authors have them; a source is quoted with dots."""
    said = {
        "question": [
            [{"content": "My cat is called Mia, and she is four."}],
            [{"content": "I like tea."}],
        ]
    }
    asked = {"id": "1", "scenario": "ann", "question": [[{"content": "What is my cat called?"}]]}
    answer = {"id": "1", "source": "...cat is called Mia..."}
    for name, kept in (
        ("memory_prereq_conversation/memory_ann.json", said),
        ("BFCL_v4_memory.json", asked),
        ("possible_answer/BFCL_v4_memory.json", answer),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(kept), encoding="utf-8")
    assert ["1.000", "1.000", "1.000"] == printed("search", "--data", str(tmp_path))[
        "memory-context"
    ]


def test_reading_of_a_published_folder(tmp_path: Path) -> None:
    """A meeting's turns are lines, and the marked ones are found."""
    turns = [
        {"speaker": "Ann", "content": f"Point {n} was settled quickly by all."} for n in range(400)
    ]
    turns[70]["content"] = "The remote control shall be yellow, as bananas are."
    question = {
        "query": "Which colour shall the remote control be?",
        "relevant_text_span": [["70", "70"]],
    }
    meeting = {"meeting_transcripts": turns, "specific_query_list": [question]}
    (tmp_path / "one.json").write_text(json.dumps(meeting), encoding="utf-8")
    assert "1.000" == printed("reading", "--data", str(tmp_path))["memory-context, 200 tokens"][0]


def test_answers_of_a_scripted_reader() -> None:
    """What is read only once is lost to a window and to clearing, and to nobody who folds or keeps everything."""
    rows = printed("--questions", "10", "--once", by="answers.py")
    whole, ours, window, clearing = (rows[way] for way in rows if way != "way")
    assert whole[0] == ours[0] == "10 of 10"
    assert window[0] != "10 of 10" != clearing[0]
    assert int(ours[3].replace(",", "")) < int(whole[3].replace(",", "")) / 2
