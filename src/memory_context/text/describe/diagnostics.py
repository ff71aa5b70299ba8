"""Compilers' and linters' output: how many errors and warnings, in how many files, and the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import HEAD, Sample
from memory_context.text.describe.wording import counted, short

COUNTED_AT_MOST = 8_000_000
_PLACE = r"(?P<path>(?:[A-Za-z]:)?[^\s:()\[\]'\"][^:()\n'\"]{0,200}?\.[A-Za-z]\w{0,7})"
_COLON = re.compile(
    rf"^{_PLACE}:(?P<line>\d+)(?::\d+)?(?:-\d+)?:? *(?:- )?(?P<level>(?:fatal |internal |syntax )?error|warning|note|info|information|hint|remark|style|performance)"
    r"(?: (?P<code>[A-Z]+\d+))?:? +(?P<text>[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_INDENTED = re.compile(
    rf"^[ \t]+{_PLACE}:(?P<line>\d+):\d+ - (?P<level>error|warning|information)(?P<code>)?:? (?P<text>[^\n]*)",
    re.MULTILINE,
)
_BRACKETS = re.compile(
    rf"^[ \t]*(?:\d+>)?{_PLACE}\((?P<line>\d+)(?:,\d+)?\) ?: (?P<level>error|warning) (?P<code>[A-Z]+\d+): (?P<text>[^\n]*)",
    re.MULTILINE,
)
_RUST = re.compile(
    r"^(?P<level>error|warning)(?:\[(?P<code>\w+)\])?: (?P<text>[^\n]*)\n\s*-->\s(?P<path>[^\s:]+):(?P<line>\d+)",
    re.MULTILINE,
)
_RUFF_FULL = re.compile(
    r"^(?P<code>[A-Z]{1,5}\d{1,4}|invalid-syntax)(?: \[\*\])?:? (?:\[\*\] )?(?P<text>[^\n]*)\n\s*-->\s(?P<path>[^\s:]+):(?P<line>\d+)",
    re.MULTILINE,
)
_FLAKE = re.compile(
    rf"^{_PLACE}:(?P<line>\d+):(?:\d+:)? (?P<code>[A-Z]{{1,3}}\d{{1,4}}):? (?:\[\*\] )?(?P<text>[^\n]*)",
    re.MULTILINE,
)
_PLAIN = re.compile(
    r"^(?P<path>(?:\./)?[^\s:]{1,200}\.(?:go|swift|zig|dart|hs|ml|lua|sh)):(?P<line>\d+):(?:\d+:)? (?P<text>[^\n]+)",
    re.MULTILINE,
)
# Each form, and what it cannot be without: led by one character, that is found fast.
_FORMS = (
    (
        _COLON,
        re.compile(
            r":\d+(?::\d+)?(?:-\d+)?:? *(?:- )?(?i:(?:fatal |internal |syntax )?error|warning|note|info|hint|remark|style|perf)"
        ),
    ),
    (_INDENTED, re.compile(r":\d+:\d+ - [ewi]")),
    (_BRACKETS, re.compile(r"\(\d+(?:,\d+)?\) ?: [ew]")),
    (_FLAKE, re.compile(r":\d+:(?:\d+:)? [A-Z]{1,3}\d")),
)
_ESLINT = re.compile(
    r"^[ \t]+(?P<line>\d+):\d+\s+(?P<level>error|warning)\s+(?P<text>\S[^\n]*)", re.MULTILINE
)
_ESLINT_SUM = re.compile(
    r"^[✖×] (\d{1,9}) problems? \((\d{1,9}) errors?, (\d{1,9}) warnings?", re.MULTILINE
)
_MYPY_SUM = re.compile(
    r"^(?:Found (\d{1,9}) errors? in (\d{1,9}) files?|Success: no issues found)", re.MULTILINE
)
_PYRIGHT_SUM = re.compile(
    r"^(\d{1,9}) errors?, (\d{1,9}) warnings?, \d+ (?:informations?|notes?)", re.MULTILINE
)
_TSC_SUM = re.compile(
    r"^Found (\d{1,9}) errors?(?: in (?:the same file|(\d{1,9}) files))?", re.MULTILINE
)
_JAVAC_SUM = re.compile(r"^(\d{1,9}) errors?$", re.MULTILINE)
_RUFF_SUM = re.compile(r"^(?:Found (\d{1,9}) errors?\.|All checks passed!)", re.MULTILINE)
_CARGO = re.compile(
    r"^error: could not compile|^warning: `[^`]+` \(\w+\) generated|^[ \t]+(?:Checking|Compiling|Finished) ",
    re.MULTILINE,
)
_AT_LINE = re.compile(r"\.[A-Za-z]\w{0,7}[:(]\d")
_SCRIPTS = ("js", "jsx", "ts", "tsx", "vue", "svelte")


@dataclass(frozen=True, slots=True)
class Diagnostics(Kind):
    """What a compiler or linter found: ``mypy: 3 errors in 2 files: app/a.py:12 …``."""

    tool: str
    errors: int
    warnings: int
    files: int
    first: str = ""

    @property
    def facts(self) -> str:
        """Errors, warnings, files."""
        counts = [counted(self.errors, "error")] if self.errors or not self.warnings else []
        counts += [counted(self.warnings, "warning")] if self.warnings else []
        where = f" in {counted(self.files, 'file')}" if self.files else ""
        return (
            f"{self.tool}: {', '.join(counts)}{where}"
            if self.errors or self.warnings
            else f"{self.tool}: no errors"
        )

    @property
    def details(self) -> tuple[str, ...]:
        """The first of them."""
        return (self.first,) if self.first else ()


def recognise_diagnostics(sample: Sample) -> Diagnostics | None:
    """What a compiler or linter says, if that is what most of a text is."""
    text = sample.text[:COUNTED_AT_MOST]
    return (
        _eslint(sample, text)
        or _rust(sample, text)
        or _ruff(sample, text)
        or _placed(sample, text)
        or _clean(sample)
    )


def _found(tool: str, matches: list[re.Match[str]]) -> Diagnostics:
    levels = [match.groupdict().get("level") or "error" for match in matches]
    errors = sum(1 for level in levels if "error" in level.lower())
    warnings = sum(1 for level in levels if level.lower() == "warning")
    files = len({match["path"] for match in matches})
    serious = next(
        (match for match, level in zip(matches, levels, strict=True) if "error" in level.lower()),
        matches[0],
    )
    code = serious.groupdict().get("code")
    path = serious["path"].rsplit("/", 1)[-1]
    first = f"{path}:{serious['line']} {f'{code} ' if code else ''}{serious['text'].strip()}"
    return Diagnostics(tool, errors, warnings, files, short(first, 80))


def _placed(sample: Sample, text: str) -> Diagnostics | None:
    """``path:line: error: text`` and its like."""
    if not _AT_LINE.search(sample.head) and (
        len(sample.text) <= HEAD or not _AT_LINE.search(sample.tail)
    ):
        return None
    for pattern, mark in _FORMS:
        if not mark.search(sample.head) and (
            len(sample.text) <= HEAD or not mark.search(sample.tail)
        ):
            continue
        head = list(pattern.finditer(sample.head[:20_000])) or list(pattern.finditer(sample.tail))
        if len(head) > 0.05 * min(len(sample.filled), 100) and head:
            matches = list(pattern.finditer(text))
            serious = [
                match
                for match in matches
                if (match.groupdict().get("level") or "error").lower() != "note"
            ]
            return (
                _found(_tool(sample, matches[0], pattern), serious or matches) if matches else None
            )
    matches = (
        list(_PLAIN.finditer(sample.head))
        if sample.filled and sample.filled[0].startswith("# ")
        else []
    )
    if matches and len(matches) >= 0.7 * (len(sample.filled) - 1):
        return _found(
            "go build" if matches[0]["path"].endswith(".go") else "compiler output", matches
        )
    return None


def _tool(sample: Sample, match: re.Match[str], pattern: re.Pattern[str]) -> str:
    """Who speaks so: known by the form of a summary, a code or a file's suffix."""
    suffix = match["path"].rsplit(".", 1)[-1].lower()
    if pattern is _FLAKE:
        return "ruff" if _RUFF_SUM.search(sample.tail) or "[*]" in sample.head else "flake8"
    if _PYRIGHT_SUM.search(sample.tail) or (pattern is _INDENTED and suffix in ("py", "pyi")):
        return "pyright"
    if suffix in ("py", "pyi"):
        return (
            "mypy"
            if _MYPY_SUM.search(sample.tail) or match["level"] in ("error", "note")
            else "linter"
        )
    named = {
        "ts": "tsc",
        "tsx": "tsc",
        "java": "javac",
        "kt": "kotlinc",
        "cs": "C# compiler",
        "scala": "scalac",
        "go": "go build",
    }
    if suffix in named:
        return named[suffix]
    if suffix in ("c", "cc", "cpp", "cxx", "h", "hpp", "m"):
        return "C compiler" if suffix in ("c", "h") else "C++ compiler"
    return "compiler output"


def _eslint(sample: Sample, text: str) -> Diagnostics | None:
    named = [line for line in sample.filled if line.endswith(_SCRIPTS)]
    paths = [line for line in named if re.fullmatch(r"\S.*\.(?:[cm]?[jt]sx?|vue|svelte)", line)]
    if not paths:
        return None
    summary = _ESLINT_SUM.search(sample.tail)
    found = list(_ESLINT.finditer(text)) if summary or _ESLINT.search(sample.head) else []
    if not found:
        return None
    files = len(re.findall(r"^\S.*\.(?:[cm]?[jt]sx?|vue|svelte)$", text, re.MULTILINE))
    serious = next((match for match in found if match["level"] == "error"), found[0])
    errors = int(summary[2]) if summary else sum(1 for match in found if match["level"] == "error")
    warnings = int(summary[3]) if summary else len(found) - errors
    first = f"{paths[0].rsplit('/', 1)[-1]}:{serious['line']} {' '.join(serious['text'].split())}"
    return Diagnostics("eslint", errors, warnings, files, short(first, 80))


def _rust(sample: Sample, text: str) -> Diagnostics | None:
    if not sample.mentions(("-->",)) or not (
        _RUST.search(sample.head) or _RUST.search(sample.tail)
    ):
        return None
    return _found(
        "rustc" if not _CARGO.search(sample.head + sample.tail) else "cargo build",
        list(_RUST.finditer(text)),
    )


def _ruff(sample: Sample, text: str) -> Diagnostics | None:
    matches = (
        list(_RUFF_FULL.finditer(text))
        if "-->" in sample.head and _RUFF_FULL.search(sample.head)
        else []
    )
    return _found("ruff", matches) if matches else None


def _clean(sample: Sample) -> Diagnostics | None:
    """A summary and nothing else."""
    if len(sample.filled) > 3:
        return None
    for tool, summary in _summaries():
        if match := summary.search(sample.head):
            number = next((int(group) for group in match.groups() if group), 0)
            return Diagnostics(tool, number, 0, 0)
    return None


def _summaries() -> Iterator[tuple[str, re.Pattern[str]]]:
    yield from (("ruff", _RUFF_SUM), ("mypy", _MYPY_SUM), ("pyright", _PYRIGHT_SUM))
