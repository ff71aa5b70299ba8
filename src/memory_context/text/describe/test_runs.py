"""Test runs: how many failed, how many passed, and which failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample, starts
from memory_context.text.describe.wording import short, unique

COUNTED_AT_MOST = 8_000_000
_MENTIONED = (
    "test ",
    "tests ",
    "Tests ",
    "Tests:",
    "passed",
    "failed",
    "FAIL",
    "--- PASS",
    "passing",
    "collected",
    "\nok",
    "OK (",
    "# pass",
    "ℹ pass",
    "TAP",
    "example,",
    "examples,",
)
_ORDER = (
    "failed",
    "error",
    "errors",
    "passed",
    "skipped",
    "xfailed",
    "xpassed",
    "deselected",
    "todo",
)
_COUNT = re.compile(r"(\d{1,9}) (\w+)")
_PYTEST = re.compile(
    r"^(?:=+ )?((?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun)(?:, )?)+|no tests (?:ran|collected)) in [\d.:]+",
    re.MULTILINE,
)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s]+(?:\[[^\]\n]*\])?)", re.MULTILINE)
_PYTEST_LINE = re.compile(r"^(\S+::\S.*?) (?:FAILED|ERROR)\b", re.MULTILINE)
_GATHERED = re.compile(r"^(?:=+ )?(\d{1,9}) tests? collected", re.MULTILINE)
_COLLECTED = re.compile(r"^collected (\d{1,9}) items?", re.MULTILINE)
_UNITTEST = re.compile(
    r"^Ran (\d{1,9}) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?", re.MULTILINE
)
_UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (\S+)", re.MULTILINE)
_JEST = re.compile(r"^Tests:\s+(.*\d+ total)", re.MULTILINE)
_JEST_FAILED = re.compile(r"^[ \t]*● (.+ › .+|[^\n]{3,80})$", re.MULTILINE)
_VITEST = re.compile(r"^[ \t]*Tests\s+((?:\d+ \w+(?: \| )?)+)\s*\(\d+\)", re.MULTILINE)
_VITEST_FAILED = re.compile(r"^[ \t]*(?:FAIL|×|✗)\s+(.+ > .+?)(?:\s+\d+ms)?$", re.MULTILINE)
_MOCHA = re.compile(r"^[ \t]*(?:[✔✓] )?(\d{1,9}) (?:passing|tests? complete)", re.MULTILINE)
_MOCHA_FAILING = re.compile(r"^[ \t]*(?:[✖] )?(\d{1,9}) failing", re.MULTILINE)
_MOCHA_PENDING = re.compile(r"^[ \t]*(\d{1,9}) pending", re.MULTILINE)
_MOCHA_FAILED = re.compile(r"^[ \t]+\d+\) (\S.*?):?$", re.MULTILINE)
_GO = re.compile(
    r"^(?:--- (?:PASS|FAIL|SKIP): |(?:ok|FAIL)\s+\S+\s+(?:\(cached\)|[\d.]+s|\[build failed\]))",
    re.MULTILINE,
)
_GO_FAILED = re.compile(r"^[ \t]*--- FAIL: (\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(
    r"^(ok|FAIL)\s+\S+\s+(?:\(cached\)|[\d.]+s|\[build failed\])", re.MULTILINE
)
_CARGO = re.compile(
    r"^test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored", re.MULTILINE
)
_CARGO_FAILED = re.compile(r"^test (\S+) (?:- .*)?\.\.\. FAILED", re.MULTILINE)
_MAVEN = re.compile(
    r"Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})\s*$",
    re.MULTILINE,
)
_MAVEN_FAILED = re.compile(r"^\[ERROR\]\s+([\w.$]+[.:#]\w+)(?::\d+| )", re.MULTILINE)
_JUNIT = re.compile(r"^\[\s*(\d{1,9}) tests (successful|failed|skipped)\s*\]", re.MULTILINE)
_JUNIT4 = re.compile(
    r"^(?:OK \((\d{1,9}) tests?\)|Tests run: (\d{1,9}),\s+Failures: (\d{1,9})\s*$)", re.MULTILINE
)
_GRADLE = re.compile(
    r"^(\d{1,9}) tests? completed(?:, (\d{1,9}) failed)?(?:, (\d{1,9}) skipped)?", re.MULTILINE
)
_GRADLE_FAILED = re.compile(r"^(\S.*? > .*?) FAILED$", re.MULTILINE)
_RSPEC = re.compile(
    r"^(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?", re.MULTILINE
)
_RSPEC_FAILED = re.compile(r"^rspec (\S+)", re.MULTILINE)
_MINITEST = re.compile(
    r"^(\d{1,9}) (?:runs|tests), \d+ assertions, (\d{1,9}) failures, (\d{1,9}) errors, (\d{1,9}) skips",
    re.MULTILINE,
)
_PHPUNIT = re.compile(
    r"^(?:OK \((\d{1,9}) tests?, \d+ assertions?\)|Tests: (\d{1,9}), Assertions: \d+((?:, \w+: \d+)*))",
    re.MULTILINE,
)
_PHPUNIT_FAILED = re.compile(r"^\d+\) ([\w\\]+::\w+)", re.MULTILINE)
_DOTNET = re.compile(
    r"^(?:Passed|Failed)!\s+-\s+Failed:\s+(\d{1,9}), Passed:\s+(\d{1,9}), Skipped:\s+(\d{1,9})",
    re.MULTILINE,
)
_DOTNET_FAILED = re.compile(r"^[ \t]+Failed ([\w.]+(?:\([^)\n]*\))?) \[", re.MULTILINE)
_CTEST = re.compile(r"^\d+% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})", re.MULTILINE)
_CTEST_FAILED = re.compile(
    r"^[ \t]+\d+ - (\S+) \((?:Failed|SEGFAULT|Timeout|Not Run)", re.MULTILINE
)
_GTEST = re.compile(r"^\[  PASSED  \] (\d{1,9}) tests?", re.MULTILINE)
_GTEST_FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d{1,9})", re.MULTILINE)
_TAP = re.compile(r"^(?:TAP version \d+|1\.\.\d+)\s*$", re.MULTILINE)
_TAP_FAILED = re.compile(r"^[ \t]*not ok \d+\s*-?\s*(.*)", re.MULTILINE)
_TAP_LINE = re.compile(r"^(not )?ok \d+", re.MULTILINE)
_TOX = re.compile(r"^[ \t]+(\S+): (OK|FAIL)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TestRun(Kind):
    """A test run: ``pytest: 3 failed, 412 passed (test_auth.py::test_login, …)``."""

    __test__ = False  # or pytest takes it for tests

    runner: str
    counts: tuple[tuple[int, str], ...]
    failing: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """What failed comes first."""
        counts = ", ".join(f"{number:,} {word}" for number, word in self.counts)
        return f"{self.runner}: {counts or 'no tests ran'}"

    @property
    def details(self) -> tuple[str, ...]:
        """The tests that failed."""
        return self.failing

    @property
    def in_brackets(self) -> bool:
        """As in the line above."""
        return True


def recognise_tests(sample: Sample) -> TestRun | None:
    """The test run that a text is the output of."""
    if not sample.mentions(_MENTIONED):
        return None
    runs = (runner(sample) for marks, runner in _RUNNERS if not marks or sample.mentions(marks))
    return next((run for run in runs if run), None)


def _run(
    runner: str,
    counts: Iterable[tuple[int | str | None, str]],
    failing: Iterable[str] = (),
    **more: bool,
) -> TestRun:
    """A run with those counts that are not zero, failures first; with nothing else, that nothing passed."""
    known = [(int(number or 0), word) for number, word in counts]
    known = [
        (number, "error" if word == "errors" and number == 1 else word) for number, word in known
    ]
    told = sorted(
        (one for one in known if one[0]),
        key=lambda one: _ORDER.index(one[1]) if one[1] in _ORDER else 9,
    )
    return TestRun(runner, tuple(told or known[:1]), unique(map(short_test, failing)), **more)


def short_test(name: str) -> str:
    """A test's name without the folders of its file."""
    path, separator, rest = name.partition("::")
    return short(
        f"{path.rsplit('/', 1)[-1]}{separator}{rest}" if separator and "/" in path else name, 60
    )


def _last(pattern: re.Pattern[str], sample: Sample) -> re.Match[str] | None:
    """The last place in the tail, else in the head, where a summary stands."""
    for text in (sample.tail, sample.head):
        found = list(pattern.finditer(text))
        if found:
            return found[-1]
    return None


def _pytest(sample: Sample) -> TestRun | None:
    text = sample.text[-COUNTED_AT_MOST:]
    if summary := _last(_PYTEST, sample):
        counts = [
            (int(n), word)
            for n, word in _COUNT.findall(summary[1])
            if not word.startswith("warning")
        ]
        return _run("pytest", counts, _PYTEST_FAILED.findall(text) or _PYTEST_LINE.findall(text))
    if gathered := _last(_GATHERED, sample):
        return _run("pytest", [(gathered[1], "collected")])
    if "= test session starts =" in sample.head or "no tests ran" in sample.tail[-300:]:
        failing = _PYTEST_LINE.findall(text) or _PYTEST_FAILED.findall(text)
        found = _COLLECTED.search(sample.head)
        passed = text.count(" PASSED")
        told = [
            (len(set(failing)), "failed"),
            (passed, "passed"),
            (0 if failing or passed else found and found[1], "collected"),
        ]
        return _run("pytest", told, failing, cut=True)
    return None


def _unittest(sample: Sample) -> TestRun | None:
    summary = _last(_UNITTEST, sample)
    if not summary:
        return None
    said = {name: int(number) for name, number in re.findall(r"(\w+)=(\d{1,9})", summary[3] or "")}
    bad = said.get("failures", 0) + said.get("errors", 0)
    others = said.get("skipped", 0) + said.get("expected failures", 0)
    counts = [
        (said.get("failures"), "failed"),
        (said.get("errors"), "errors"),
        (said.get("skipped"), "skipped"),
    ]
    passed = max(0, int(summary[1]) - bad - others)
    return _run(
        "unittest",
        [(passed, "passed"), *counts],
        _UNITTEST_FAILED.findall(sample.text[-COUNTED_AT_MOST:]),
    )


def _listed(
    runner: str, summary: re.Pattern[str], failed: re.Pattern[str]
) -> Callable[[Sample], TestRun | None]:
    """A runner whose summary is a list of numbers with words."""

    def recognise(sample: Sample) -> TestRun | None:
        match = _last(summary, sample)
        if not match:
            return None
        counts = [(n, word) for n, word in _COUNT.findall(match[1]) if word != "total"]
        return _run(
            runner,
            counts,
            (name.strip() for name in failed.findall(sample.text[-COUNTED_AT_MOST:])),
        )

    return recognise


def _grouped(
    runner: str,
    summary: re.Pattern[str],
    words: tuple[str, ...],
    failed: re.Pattern[str],
    *,
    added: bool = False,
) -> Callable[[Sample], TestRun | None]:
    """A runner whose summary has a number in each group; with `added`, those of several summaries are added up."""

    def recognise(sample: Sample) -> TestRun | None:
        if not _last(summary, sample):
            return None
        text = sample.text[-COUNTED_AT_MOST:]
        found = [match.groups() for match in summary.finditer(text)]
        chosen = found if added else found[-1:]
        sums = [sum(int(groups[index] or 0) for groups in chosen) for index in range(len(words))]
        if words[0] == "total":
            sums[0], names = max(0, sums[0] - sum(sums[1:])), ("passed", *words[1:])
        else:
            names = words
        return _run(runner, zip(sums, names, strict=True), failed.findall(text))

    return recognise


def _mocha(sample: Sample) -> TestRun | None:
    passing = _last(_MOCHA, sample)
    if not passing:
        return None
    failing, pending = _MOCHA_FAILING.search(sample.tail), _MOCHA_PENDING.search(sample.tail)
    counts = [
        (passing[1], "passed"),
        (failing and failing[1], "failed"),
        (pending and pending[1], "pending"),
    ]
    return _run("mocha", counts, _MOCHA_FAILED.findall(sample.tail) if failing else ())


def _go(sample: Sample) -> TestRun | None:
    if not _GO.search(sample.head) and not _GO.search(sample.tail):
        return None
    text = sample.text[-COUNTED_AT_MOST:]
    passed, failed = text.count("--- PASS: "), _GO_FAILED.findall(text)
    if not passed:
        packages = _GO_PACKAGE.findall(text)
        good, bad = packages.count("ok"), packages.count("FAIL")
        counts = [(len(failed) or None, "failed"), (good, "packages ok"), (bad, "packages failed")]
        return _run(
            "go test",
            [(n, w.replace("packages", "package") if n == 1 else w) for n, w in counts],
            failed,
        )
    return _run(
        "go test",
        [(passed, "passed"), (len(failed), "failed"), (text.count("--- SKIP: "), "skipped")],
        failed,
    )


def _junit(sample: Sample) -> TestRun | None:
    found: list[tuple[str, str]] = _JUNIT.findall(sample.tail)
    return (
        _run("JUnit", [(number, word.replace("successful", "passed")) for number, word in found])
        if found
        else None
    )


def _junit4(sample: Sample) -> TestRun | None:
    match = _JUNIT4.search(sample.tail)
    if not match or "JUnit version" not in sample.head:
        return None
    failed = int(match[3] or 0)
    return _run("JUnit", [(int(match[1] or match[2]) - failed, "passed"), (failed, "failed")])


def _phpunit(sample: Sample) -> TestRun | None:
    match = _last(_PHPUNIT, sample)
    if not match:
        return None
    said = {
        name.lower(): int(number)
        for name, number in re.findall(r"(\w+): (\d{1,9})", match[3] or "")
    }
    bad = said.get("failures", 0) + said.get("errors", 0)
    counts = [
        (said.get("failures"), "failed"),
        (said.get("errors"), "errors"),
        (said.get("skipped"), "skipped"),
    ]
    passed = max(0, int(match[1] or match[2]) - bad - said.get("skipped", 0))
    return _run(
        "PHPUnit",
        [(passed, "passed"), *counts],
        _PHPUNIT_FAILED.findall(sample.text[-COUNTED_AT_MOST:]),
    )


def _ctest(sample: Sample) -> TestRun | None:
    match = _last(_CTEST, sample)
    if not match:
        return None
    failed = int(match[1])
    return _run(
        "ctest",
        [(failed, "failed"), (int(match[2]) - failed, "passed")],
        _CTEST_FAILED.findall(sample.tail),
    )


def _gtest(sample: Sample) -> TestRun | None:
    match = _last(_GTEST, sample)
    failed = unique(_GTEST_FAILED.findall(sample.text[-COUNTED_AT_MOST:]), 10_000) if match else ()
    return _run("gtest", [(match[1], "passed"), (len(failed), "failed")], failed) if match else None


def _tap(sample: Sample) -> TestRun | None:
    text = sample.text[-COUNTED_AT_MOST:]
    said: dict[str, str] = dict(_NODE.findall(sample.tail))
    if {"pass", "fail"} <= said.keys():
        counts = [
            (said["pass"], "passed"),
            (said["fail"], "failed"),
            (said.get("skipped"), "skipped"),
        ]
        failed = [name for name in _TAP_FAILED.findall(text) if "\\" not in name]
        return _run(
            "node test",
            counts,
            failed or re.findall(r"^✖ (.+?) \([\d.]+ms\)", sample.tail, re.MULTILINE),
        )
    lines = _TAP_LINE.findall(text) if _TAP.search(sample.head) or _TAP.search(sample.tail) else []
    if not lines:
        return None
    bad = starts(text, "not ok ")
    return _run("TAP", [(bad, "failed"), (len(lines) - bad, "passed")], _TAP_FAILED.findall(text))


_PYTEST_MARKS = (
    "passed in ",
    "failed in ",
    "error in ",
    "errors in ",
    "skipped in ",
    "deselected in ",
    "warning in ",
    "warnings in ",
    "rerun in ",
    ",  in ",
    "no tests ",
    " collected",
    "= test session starts =",
)
# What the summary of each runner cannot be without comes first: it is looked for before the pattern is.
_RUNNERS: tuple[tuple[tuple[str, ...], Callable[[Sample], TestRun | None]], ...] = (
    (_PYTEST_MARKS, _pytest),
    (("Ran ",), _unittest),
    (("Tests:",), _listed("jest", _JEST, _JEST_FAILED)),
    (("Tests",), _listed("vitest", _VITEST, _VITEST_FAILED)),
    (
        ("test result: ",),
        _grouped("cargo test", _CARGO, ("passed", "failed", "ignored"), _CARGO_FAILED, added=True),
    ),
    (
        ("Tests run: ",),
        _grouped("Maven tests", _MAVEN, ("total", "failed", "errors", "skipped"), _MAVEN_FAILED),
    ),
    (
        (" completed",),
        _grouped("Gradle tests", _GRADLE, ("total", "failed", "skipped"), _GRADLE_FAILED),
    ),
    ((" example",), _grouped("rspec", _RSPEC, ("total", "failed", "pending"), _RSPEC_FAILED)),
    (
        (" assertions, ",),
        _grouped("minitest", _MINITEST, ("total", "failed", "errors", "skipped"), _UNITTEST_FAILED),
    ),
    (("ed!",), _grouped("dotnet test", _DOTNET, ("failed", "passed", "skipped"), _DOTNET_FAILED)),
    ((" assertion", "Assertions: "), _phpunit),
    ((" tests ",), _junit),
    (("JUnit version",), _junit4),
    (("tests passed, ",), _ctest),
    (("[  PASSED  ]",), _gtest),
    (("# pass", "ℹ pass", "TAP version ", "1.."), _tap),
    (("--- PASS: ", "--- FAIL: ", "--- SKIP: ", "FAIL", "\nok"), _go),
    ((" passing", " complete"), _mocha),
)
