"""Describe test runs: how many tests failed, how many passed, and which failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from memory_context.text.describe.description import Description, Kind, unique_names
from memory_context.text.describe.sample_for_describers import COUNTED_AT_MOST, Sample

# `3 failed`, `failures=1`, or `Failures: 1,`, but not `Tests: 3 failed`.
_COUNT = re.compile(r"(\d{1,9}) ([a-z]+)|([a-z]+)(?:=|: +)(\d{1,9})(?![\d ])")
_ORDER = ("failed", "errored", "passed", "skipped", "ignored", "xfailed", "deselected")
# The description's words for counts that runners name differently.
_RENAMED = {
    "error": "errored",
    "errors": "errored",
    "failing": "failed",
    "failures": "failed",
    "passing": "passed",
    "pending": "skipped",
}
_WORDS = {word: word for word in _ORDER} | _RENAMED | {"test": "total", "tests": "total"}
# For each runner: its name; a string that every summary has, which is searched first because that is fast; the pattern of
# the summary; and the pattern of the line that names a failed test.
_RUNNERS = (
    # `=== 3 failed, 412 passed, 2 warnings in 12.31s ===`; with `-q` there are no equals signs,
    # and a test's parameters, in brackets, may hold blanks.
    (
        "pytest",
        " in ",
        r"^(?:=+ )?(?:\d+ [a-z]+(?:, )?)+ in [\d.:]+",
        r"^(?:FAILED|ERROR) ([^\s[]+(?:\[.*?\](?= - |$))?)",
    ),
    # `Ran 4 tests in 0.003s`, an empty line, `FAILED (failures=1, errors=1)`
    ("unittest", "Ran ", r"^Ran \d+ tests? in .*\s+(?:OK|FAILED).*", r"^(?:FAIL|ERROR): (\S+)"),
    ("jest", "Tests:", r"^Tests: .*\d total", r"^ *● (.+ › .+)$"),
    # `     Tests  1 failed | 119 passed (120)`
    ("vitest", "Test Files ", r"^ *Tests  .*\)$", r"^ *FAIL +(.+)$"),
    # `  40 passing (1s)`, `  3 failing`
    (
        "mocha",
        " passing (",
        r"^ +\d+ (?:passing \(\d+m?s\)|(?:failing|pending)$)",
        r"^ +\d+\) (.+)$",
    ),
    # `Failed!  - Failed:     1, Passed:    11, Skipped:     0, Total:    12`
    ("dotnet test", "ed!  - Failed: ", r"^(?:Passed|Failed)!  - .*", r"^ +Failed (\S+)"),
    ("cargo test", "test result: ", r"^test result: .*", r"^test (\S+) .*\.\.\. FAILED"),
)
# The folders of pytest's `tests/unit/test_a.py::test_b`.
_FOLDERS = re.compile(r"^\S*/(?=[^/]*::)")


def describe_test_run(sample: Sample) -> Description | None:
    """Describe the output of a test run: failures first, without counts of zero."""
    for runner, mark, summary, failing in _RUNNERS:
        if mark not in sample.tail:
            continue
        counts = _counts_in(re.finditer(summary, sample.tail, re.MULTILINE))
        if not counts:
            continue
        parts = [f"{counts[word]:,} {word}" for word in _ORDER if counts[word] > 0]
        outcome = ", ".join(parts) or "no tests ran"
        end = sample.text[-COUNTED_AT_MOST:]
        failed = re.findall(failing, end, re.MULTILINE)
        names = unique_names(_FOLDERS.sub("", name).strip() for name in failed)
        return Description(Kind.TEST_RUN, f"{runner}: {outcome}", names, in_parentheses=True)
    return None


def _counts_in(summaries: Iterable[re.Match[str]]) -> Counter[str]:
    """Return the sum of each count over all summaries; empty if there are no counts."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        for number, noun, name, value in _COUNT.findall(summary[0].lower()):
            word = _WORDS.get(noun or name)
            if word:
                counts[word] += int(number or value)
    # unittest reports how many tests ran, but not how many of them passed.
    total = counts.pop("total", 0)
    if "passed" not in counts and total:
        counts["passed"] = total - counts.total()
    return counts
