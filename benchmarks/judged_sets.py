"""Public sets of questions for which people marked where the answer stands, read from the folders that their authors publish.

- QMSum: the folder ``data/ALL/val`` of Yale-LILY/QMSum (MIT), commit 83d7768: 35 meetings, 237 questions on parts of them.
- BFCL memory: the folder ``bfcl_eval/data`` of the package bfcl-eval 2026.3.23 (Apache-2.0): five users, 323 messages,
  155 questions.

A folder may also hold them as ``qmsum_val.jsonl.gz`` and ``bfcl_memory.jsonl.gz``, one meeting and one user a line, in
the form that the functions here return.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

Judged = dict[str, Any]


def meetings(folder: Path) -> list[Judged]:
    """Return ``{"text", "questions": [{"query", "lines"}]}`` of each meeting: a turn a line, lines counted from 1."""
    ready = folder / "qmsum_val.jsonl.gz"
    if ready.exists():
        return _lines(ready)
    return [_meeting(json.loads(path.read_text("utf-8"))) for path in _some(folder, "*.json")]


def users(folder: Path) -> list[Judged]:
    """Return ``{"id", "turns": [{"id", "text"}], "questions": [{"query", "turns"}]}`` of each user."""
    ready = folder / "bfcl_memory.jsonl.gz"
    if ready.exists():
        return _lines(ready)
    name = "BFCL_v4_memory.json"
    sources = {one["id"]: one["source"] for one in _lines(folder / "possible_answer" / name)}
    asked = _lines(folder / name)
    found = list[Judged]()
    for path in _some(folder / "memory_prereq_conversation", "memory_*.json"):
        user = path.stem.removeprefix("memory_")
        said = chain.from_iterable(session["question"] for session in _lines(path))
        texts = [message["content"] for turn in said for message in turn]
        questions = list[Judged]()
        for one in asked:
            if one["scenario"] == user:
                query = one["question"][0][0]["content"]
                questions.append({"query": query, "turns": _holding(sources[one["id"]], texts)})
        turns = [{"id": number, "text": text} for number, text in enumerate(texts)]
        found.append({"id": user, "turns": turns, "questions": questions})
    return found


def _some(folder: Path, pattern: str) -> Sequence[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        message = f"no {pattern} in {folder}: see the sources in {Path(__file__).name}"
        raise SystemExit(message)
    return found


def _lines(path: Path) -> list[Judged]:
    if not path.exists():
        message = f"no {path}: see the sources in {Path(__file__).name}"
        raise SystemExit(message)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _meeting(kept: Judged) -> Judged:
    said = [f"{turn['speaker']}: {turn['content']}" for turn in kept["meeting_transcripts"]]
    questions = list[Judged]()
    for question in kept["specific_query_list"]:
        spans = question["relevant_text_span"]
        lines = [[int(first) + 1, int(last) + 1] for first, last in spans]
        questions.append({"query": question["query"], "lines": lines})
    return {"text": "\n".join(" ".join(line.split("\n")) for line in said), "questions": questions}


def _holding(source: str, texts: Sequence[str]) -> list[int]:
    """Return which messages hold a source, which is quoted with dots for what is left out, and not always to the letter."""
    holding = list[int]()
    for piece in filter(None, (" ".join(_words(part)) for part in re.split(r"\.{3}|…", source))):
        runs = [_shared(piece, " ".join(_words(text))) for text in texts]
        best = max(runs)
        holding += [number for number, run in enumerate(runs) if run == best][:1]
    return sorted(set(holding))


def _words(text: str) -> Iterator[str]:
    return iter(re.findall(r"\w+", text.lower()))


def _shared(piece: str, text: str) -> int:
    """Return how many words of a piece stand in a text in one run, from its beginning or its end."""
    words = piece.split()
    for count in range(len(words), 0, -1):
        for run in (words[:count], words[-count:]):
            if f" {' '.join(run)} " in f" {text} ":
                return count
    return 0
