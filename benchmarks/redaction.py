"""Redaction: megabytes of clean text per second, of every kind, against the floor and against one combined pattern.

    python benchmarks/redaction.py

Processor time, because the machine may be busy. The exit code is 1 if a kind of text is below the floor of 4 MB/s.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import regex

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import clean_texts
from memory_context import Redactor
from memory_context.text.redact.redactor import RULES
from memory_context.text.redact.vendor_keys import VENDOR_RULES

FLOOR = 4.0
SIZE = 1_000_000
ROOT = Path(__file__).parents[1]
DENSE = ("code", "settings", "prose")


def files(pattern: str) -> str:
    """This repository's own files."""
    return "\n".join(path.read_text("utf-8") for path in sorted(ROOT.glob(pattern)))


def corpora() -> dict[str, str]:
    """About a megabyte of each kind; what is dense with names of secrets is told apart."""
    made = {name: make(4000) for name, make in clean_texts.KINDS.items() if name not in DENSE}
    own = {
        "Python (this library)": files("src/**/*.py"),
        "Markdown (its documentation)": files("docs/**/*.md"),
    }
    return {name: (text * (SIZE // len(text) + 1))[:SIZE] for name, text in (made | own).items()}


def rate(work: Callable[[str], object], text: str, rounds: int) -> float:
    """Megabytes per second of processor time, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work(text)
        best = min(best, time.process_time() - start)
    return len(text.encode()) / 1e6 / best


def main() -> int:
    """Measure."""
    redactor = Redactor()
    combined = regex.compile(
        "|".join(f"(?:{one.pattern})" for one in VENDOR_RULES if "(?P<" not in one.pattern)
    )
    print(f"{len(redactor.kinds)} kinds, {len(RULES)} rules; MB/s")
    print(f"{'text':30} {'redactor':>9} {'one pattern':>12}")
    slow = []
    for name, text in corpora().items():
        found = rate(redactor.redact, text, 3)
        print(
            f"{name:30} {found:9.1f} {rate(lambda one: sum(1 for _ in combined.finditer(one)), text[:20_000], 1):12.1f}"
        )
        slow += [name] if found < FLOOR else []
    for name in DENSE:
        print(
            f"{name + ', every line names a secret':45} {rate(redactor.redact, clean_texts.KINDS[name](4000), 3):9.1f}"
        )
    print(f"below the floor of {FLOOR:.0f} MB/s: {', '.join(slow) or 'none'}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
