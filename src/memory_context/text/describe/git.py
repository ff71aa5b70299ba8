"""Diffs, and what git says: how many files, commits and lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample, most, starts
from memory_context.text.describe.wording import counted, short, unique

_GIT_FILE = re.compile(r"^diff --(?:git a/\S+ b/|cc |combined )(.+)$", re.MULTILINE)
_PLUS_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_NORMAL_HUNK = re.compile(r"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$", re.MULTILINE)
_COMMIT = re.compile(r"^commit [0-9a-f]{7,40}(?: \(.*\))?$", re.MULTILINE)
_SUBJECT = re.compile(r"^    (\S[^\n]*)", re.MULTILINE)
_ONELINE = re.compile(r"(?:[*|\\/ ]+)?[0-9a-f]{7,12} (?:\([^)]*\) )?\S.*$")
_STAT = re.compile(
    r"^ ?(\d{1,9}) files? changed(?:, (\d{1,9}) insertions?\(\+\))?(?:, (\d{1,9}) deletions?\(-\))?",
    re.MULTILINE,
)
_STAT_LINE = re.compile(r"^ ?(\S.*?) +\| +(?:\d+ ?[+-]*|Bin .*)$", re.MULTILINE)
_BRANCH = re.compile(
    r"(?:On branch (\S+)|HEAD detached at (\S+)|## (\S+?)(?:\.\.\.\S+)?(?: \[.*\])?$)"
)
_CHANGED = re.compile(
    r"^\t(?:(modified|new file|deleted|renamed|both modified|typechange):\s+)?(\S.*)$", re.MULTILINE
)
_PORCELAIN = re.compile(r"(?:[MADRCU?!T][ MADRCU?!T]|[ ][MADRCUT]) \S.*$")
_BLAME = re.compile(
    r"\^?[0-9a-f]{7,40} (?:\S+ +)?\(.*? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} +\d+\)"
)
_WORDS = {
    "new file": "added",
    "both modified": "conflicting",
    "typechange": "modified",
    None: "untracked",
}


@dataclass(frozen=True, slots=True)
class Diff(Kind):
    """A patch: ``diff: 4 files, +120 -33``."""

    files: int
    added: int
    removed: int
    paths: tuple[str, ...] = ()
    notation: str = "diff"

    @property
    def facts(self) -> str:
        """Files and lines."""
        return f"{self.notation}: {counted(self.files, 'file')}, +{self.added:,} -{self.removed:,}"

    @property
    def details(self) -> tuple[str, ...]:
        """The files."""
        return self.paths


@dataclass(frozen=True, slots=True)
class Commits(Kind):
    """A history: ``git log: 12 commits: Fix the parser, …``."""

    count: int
    subjects: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """How many."""
        return f"git log: {counted(self.count, 'commit')}"

    @property
    def details(self) -> tuple[str, ...]:
        """Their subjects, newest first."""
        return self.subjects


@dataclass(frozen=True, slots=True)
class Status(Kind):
    """What git status says: ``git status on main: 3 modified, 2 untracked``."""

    branch: str
    counts: tuple[tuple[str, int], ...]
    paths: tuple[str, ...]

    @property
    def facts(self) -> str:
        """What changed."""
        branch = f" on {short(self.branch, 30)}" if self.branch else ""
        counts = ", ".join(f"{number:,} {word}" for word, number in self.counts)
        return f"git status{branch}: {counts or 'nothing changed'}"

    @property
    def details(self) -> tuple[str, ...]:
        """The files."""
        return self.paths

    @property
    def in_brackets(self) -> bool:
        """A colon stands before already."""
        return True


def recognise_git(sample: Sample) -> Kind | None:
    """A diff, a history or a status."""
    return (
        _commits(sample) or _diff(sample) or _status(sample) or _blame(sample) or _oneline(sample)
    )


def _diff(sample: Sample) -> Diff | None:
    start = sample.head[:4000]
    text = sample.text
    if ("diff --" in start and _GIT_FILE.search(start)) or (
        "+++ " in start and _PLUS_FILE.search(start) and _HUNK.search(start)
    ):
        files = unique(
            _GIT_FILE.findall(text) or [path.strip() for path in _PLUS_FILE.findall(text)], 100_000
        )
        removed = starts(text, "-") - starts(text, "--- ")
        return Diff(
            len(files), starts(text, "+") - starts(text, "+++ "), max(removed, 0), _names(files)
        )
    stat = _STAT.search(sample.tail) if " changed" in sample.tail else None
    if stat and _STAT_LINE.search(start):
        paths = unique(path.strip() for path in _STAT_LINE.findall(sample.head))
        return Diff(
            int(stat[1]), int(stat[2] or 0), int(stat[3] or 0), _names(paths), "diff summary"
        )
    if _NORMAL_HUNK.match(start.lstrip()) and starts(text, "< ") + starts(text, "> "):
        return Diff(1, starts(text, "> "), starts(text, "< "))
    return None


def _names(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(short(path, 60) for path in paths[:20])


def _commits(sample: Sample) -> Kind | None:
    if not _COMMIT.match(sample.head.lstrip()):
        return None
    count = len(_COMMIT.findall(sample.text))
    subjects = [
        found[1] for part in _COMMIT.split(sample.head)[1:20] if (found := _SUBJECT.search(part))
    ]
    if count == 1 and (diff := _diff(sample)):
        subject = short(subjects[0], 30) if subjects else ""
        return Diff(
            diff.files,
            diff.added,
            diff.removed,
            diff.paths,
            f"commit {subject}" if subject else "commit",
        )
    return Commits(count, tuple(short(subject, 60) for subject in subjects))


def _oneline(sample: Sample) -> Commits | None:
    lines = sample.filled
    hashed = [match.string for match in most(_ONELINE, lines, 0.9)]
    if (
        len(lines) < 2
        or not hashed
        or not any(c in "abcdef" for c in "".join(line[:9] for line in hashed[:9]))
    ):
        return None
    subjects = tuple(short(line.lstrip("*|\\/ ").split(" ", 1)[1], 60) for line in hashed[:20])
    return Commits(sample.line_count, subjects)


def _status(sample: Sample) -> Status | None:
    first = _BRANCH.match(sample.first)
    lines = sample.filled
    body = lines[1:] if first and sample.first.startswith("##") else lines
    if all(_PORCELAIN.match(line) for line in body) and (len(body) > 2 or first):
        marks = [
            (
                "untracked"
                if line[:2] == "??"
                else "deleted"
                if "D" in line[:2]
                else "added"
                if "A" in line[:2]
                else "modified",
                line[3:],
            )
            for line in body
        ]
    elif first and not sample.first.startswith("##"):
        untracked = sample.text.find("Untracked files:")
        marks = [
            (_WORDS.get(match[1] or None, match[1]) or "", match[2])
            for match in _CHANGED.finditer(sample.text)
            if match[1] or (untracked >= 0 and match.start() > untracked)
        ]
    else:
        return None
    words = [word for word, _ in marks]
    counts = tuple((word, words.count(word)) for word in dict.fromkeys(words))
    branch = next((group for group in first.groups() if group), "") if first else ""
    return Status(branch, counts, _names(unique(path for _, path in marks)))


@dataclass(frozen=True, slots=True)
class Blame(Kind):
    """Who wrote which line: ``git blame, 120 lines``."""

    lines: int

    @property
    def facts(self) -> str:
        """How many lines."""
        return f"git blame, {counted(self.lines, 'line')}"


def _blame(sample: Sample) -> Blame | None:
    lines = sample.filled[:20]
    return (
        Blame(sample.line_count)
        if len(lines) > 1 and all(_BLAME.match(line) for line in lines)
        else None
    )
