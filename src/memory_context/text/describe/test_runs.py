"""Test runs: how many tests failed, how many passed, and which failed."""

from __future__ import annotations

import re
from collections import Counter

from memory_context.text.describe.description import Description, Kind, unique_names
from memory_context.text.describe.sample import COUNTED_AT_MOST, Sample

_COUNT = re.compile(r"(\d{1,9}) (\w+)|(\w+)[=:] ?(\d{1,9})")
_ORDER = ("failed", "errors", "passed", "skipped", "ignored", "xfailed", "deselected", "collected")
# What runners call a count, and what the line calls it.
_WORDS = {word: word for word in _ORDER} | {
    "error": "errors",
    "failures": "failed",
    "failing": "failed",
    "passing": "passed",
    "pending": "skipped",
    "run": "total",
    "test": "total",
    "tests": "total",
}
# For each runner: its name, what its summary cannot be without (looked for first, because that is fast), the summary,
# and the line that names a test that failed.
_RUNNERS = (
    # ``=== 3 failed, 412 passed, 2 warnings in 12.31s ===``; with -q without the signs
    (
        "pytest",
        " in ",
        r"^(?:=+ )?(?:(?:\d+ [a-z]+(?:, )?)+|no tests (?:ran|collected)) in [\d.:]+",
        r"^(?:FAILED|ERROR) (\S+)",
    ),
    # ``Ran 4 tests in 0.003s``, an empty line, ``FAILED (failures=1, errors=1)``
    (
        "unittest",
        "Ran ",
        r"^Ran \d+ tests? in .*\s+(?:OK|FAILED|NO TESTS).*",
        r"^(?:FAIL|ERROR): (\S+)",
    ),
    ("jest", "Tests:", r"^Tests: .*\d total", r"^ *● (.+ › .+)$"),
    ("vitest", " Tests ", r"^ *Tests .*\(\d+\)$", r"^ *(?:FAIL|×|✗) +(.+ > .+?)(?: \d+ms)?$"),
    (
        "mocha",
        " passing",
        r"^ *\d+ passing.*(?:\n *\d+ (?:failing|pending))*",
        r"^ +\d+\) (\S.*?):?$",
    ),
    ("cargo test", "test result: ", r"^test result: .*", r"^test (\S+) .*\.\.\. FAILED"),
    (
        "Maven tests",
        "Tests run: ",
        r"Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+\s*$",
        r"^\[ERROR\]\s+([\w.$]+[.:#]\w+)[: ]",
    ),
)
# Runners that print no counts: their name, their line for a test, and their words for failed, passed and skipped.
_LISTS = (
    ("go test", "--- ", r"^ *--- (PASS|FAIL|SKIP): (\S+)", ("FAIL", "PASS", "SKIP")),
    ("TAP", "TAP version ", r"^ *(not ok|ok) \d+(?: -)? *(.*)", ("not ok", "ok", "")),
)
_FOLDERS = re.compile(r"^\S*/(?=[^/]*::)")


def describe_test_run(sample: Sample) -> Description | None:
    """Describe the output of a test run."""
    text = sample.text[-COUNTED_AT_MOST:]
    for name, mark, summary, failing in _RUNNERS:
        if mark in sample.tail:
            summaries = re.finditer(summary, sample.tail, re.MULTILINE)
            counts = _counts_in([match[0].lower() for match in summaries])
            if counts is not None:
                return _test_run(name, counts, re.findall(failing, text, re.MULTILINE))
    for name, mark, line, (failed, passed, skipped) in _LISTS:
        if mark in sample.head and (tests := re.findall(line, text, re.MULTILINE)):
            found = Counter(word for word, _ in tests)
            counts = Counter(failed=found[failed], passed=found[passed], skipped=found[skipped])
            return _test_run(name, counts, [test for word, test in tests if word == failed])
    if "= test session starts =" in sample.head:
        collected = re.search(r"^collected (\d{1,9})", sample.head, re.MULTILINE)
        counts = Counter(collected=int(collected[1]) if collected else 0)
        return _test_run("pytest", counts, [], is_cut=True)
    return None


def _counts_in(summaries: list[str]) -> Counter[str] | None:
    """Return the counts of all summaries together, by the words of the description; None if these are no summaries."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        for number, word, name, value in _COUNT.findall(summary):
            if said := _WORDS.get(word or name):
                counts[said] += int(number or value)
    if not counts and not any("no tests" in summary for summary in summaries):
        return None
    total = counts.pop("total", 0)
    if "passed" not in counts:
        counts["passed"] = max(0, total - counts.total())
    return counts


def _test_run(
    runner: str, counts: Counter[str], failing: list[str], *, is_cut: bool = False
) -> Description:
    """Put a run into words: failures first, counts of zero left out, tests without the folders of their files."""
    parts: list[str] = []
    for word in _ORDER:
        if counts[word]:
            noun = "error" if word == "errors" and counts[word] == 1 else word
            parts.append(f"{counts[word]:,} {noun}")
    facts = f"{runner}: {', '.join(parts) or 'no tests ran'}"
    names = unique_names(_FOLDERS.sub("", name).strip() for name in failing)
    return Description(Kind.TEST_RUN, facts, names, in_parentheses=True, is_cut=is_cut)
