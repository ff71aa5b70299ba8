"""Pages in Markdown: their programs, what they print, and where their links lead.

A block of Python is a program of its own. On a page with ``<!-- one program -->`` each block goes on where the one
before it ended. A block of ``text`` right behind a program is what it prints. A program that cannot run here has a line
in italics above it, ``*Not run by the tests: …*``, with the reason.

    python tests/pages.py PAGE     runs a page's programs, each in a folder of its own, and prints what each printed

Keys are generated from the seed 0, so that a page can show them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from memory_context.testing import seeded_keys

ROOT = Path(__file__).parents[1]
ONE_PROGRAM = "<!-- one program -->"
_PROGRAM = re.compile(
    r"(?P<not_run>^\*Not run by the tests: (?P<reason>[^\n]+)\*\n\n)?^```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<printed>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"(?<!!)\[[^\]]*\]\(([^()\s]+(?:\([^()\s]*\))?[^()\s]*)\)|!\[[^\]]*\]\(([^()\s]+)\)"
)
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    """A block of Python: its code, what it prints where the page shows it, and why it is not run."""

    code: str
    printed: str | None
    not_run: str | None


def programs(page: Path) -> list[Program]:
    """The blocks of Python on a page."""
    return [
        Program(found["code"], found["printed"], found["reason"])
        for found in _PROGRAM.finditer(page.read_text("utf-8"))
    ]


def links(page: Path) -> list[str]:
    """The targets of all links on a page that do not leave the repository."""
    prose = _FENCED.sub("", page.read_text("utf-8"))
    targets = [first or second for first, second in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose))]
    return [unquote(target) for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as code hosts make them."""
    names: list[str] = []
    for heading in _HEADING.findall(_FENCED.sub("", page.read_text("utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return set(names)


def run(page: Path) -> list[dict[str, str]]:
    """What each program of a page printed, and the traceback of one that failed."""
    text = page.read_text("utf-8")
    shared = {"__name__": "__main__"} if ONE_PROGRAM in text else None
    results: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder, seeded_keys(0):
        for number, program in enumerate(programs(page)):
            place = Path(folder) / ("all" if shared is not None else str(number))
            place.mkdir(exist_ok=True)
            os.chdir(place)
            results.append(
                {}
                if program.not_run
                else _ran(program.code, shared, f"{page.name}, block {number}")
            )
        os.chdir(ROOT)
    return results


def _ran(code: str, names: dict[str, str] | None, name: str) -> dict[str, str]:
    out, failed = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"} if names is None else names)
        except BaseException:  # noqa: BLE001 - the test says what it was
            failed = traceback.format_exc()
    return {"printed": out.getvalue(), "failed": failed}


if __name__ == "__main__":
    printed = run(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(printed))
