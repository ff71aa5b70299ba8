"""Listings of directories, and matches of a search in files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import LINES, Sample, most
from memory_context.text.describe.wording import counted, short, tail_of_path, unique

COUNTED_AT_MOST = 20_000_000
_LONG = re.compile(r"\s*(?:\d+\s*(?:\d+\s+)?)?[-dlcbps][-rwxsStT]{9}[.+@]?\s+\d+\s")
_DATE = r"(?:[A-Z][a-z]{2} +\d{1,2} +(?:\d\d:\d\d|\d{4})|\d{4}-\d\d-\d\d \d\d:\d\d(?::\S+ [+-]\d{4})?|\d{1,2} [A-Z][a-z]{2} +(?:\d\d:\d\d|\d{4}))"
_LONG_NAME = re.compile(rf"[\s\d]*([-dl])[-rwxsStT]{{9}}\S*\s+\d+\s+\S.*? {_DATE} +(.+)$")
_LONG_FOLDER = re.compile(r"^[ \d]*d[-rwxsStT]{9}[.+@]? (?!.* \.\.?$)", re.MULTILINE)
_LONG_ANY = re.compile(r"^[ \d]*[-dlcbps][-rwxsStT]{9}[.+@]? (?!.* \.\.?$)", re.MULTILINE)
_FOLDER = re.compile(r"^(\S.*):$", re.MULTILINE)
_TREE = re.compile(r"[│|\s\xa0]{0,200}?(?:├──|└──|\|--|`--|├─|└─)")
_BRANCHES = ("├─", "└─", "|--", "`--")
_TREE_SUM = re.compile(r"^(\d{1,9}) director(?:y|ies)(?:, (\d{1,9}) files?)?", re.MULTILINE)
_MARKED = re.compile(r"\s*(?:[-*]\s*)?(?:\[(FILE|DIR|file|dir|F|D)\]|(?:📁|📄|🗂))\s*(\S.*)$")
_PATH = re.compile(
    r"[ \t]*(?:\.{0,2}/|~/|[A-Za-z]:\\)?(?:[^\s/:|,;=(){}<>\"'*]+/)*[^\s/:|,;=(){}<>\"'*]*[\w*@-]/?$"
)
_NAME = re.compile(r"[\w.@+-]+\.[A-Za-z]\w{0,7}[*@]?$")
_DU = re.compile(r"\s*[\d.]+[KMGTB]?\s+\.?[\w./~-]+$")
_HIT = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]{0,200}):(?P<line>\d{1,9})[:-](?:\d{1,6}:)?(?!\d\d[:.])"
)
_HITS = re.compile(r"^((?:[A-Za-z]:)?[^\s:][^:\n]{0,200}):\d{1,9}:", re.MULTILINE)
_HIT_PATH = re.compile(
    r"(?P<path>(?:\.{0,2}/)?[\w./@+-]{0,200}\.[A-Za-z]\w{0,7}):(?![/:]| \S)(?=.)"
)
_FILE = re.compile(r"[\w@/\\.~ +-]*[\w]\.\w{1,8}$|[\w@.~+-]*/[\w@/.~ +-]+$|Makefile$|Dockerfile$")
_HEADING_HIT = re.compile(r"(\d{1,9})[:-](?:\d+:)?.*$")
_COUNT = re.compile(r"((?:[\w@.~+-]*/)*[\w@.~+-]*\.?[\w-]+):(\d{1,9})$")
_PLACE = re.compile(r"\d{1,9}([:-])(?!\d\d[:.\s-])")
_FOUND = re.compile(
    r"^Found (\d{1,9}) (?:match(?:es)?|results?|files?|occurrences?)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Listing(Kind):
    """What is in folders: ``directory listing: 12 files, 3 directories: setup.py, …``."""

    notation: str
    files: int
    folders: int
    names: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """How many files and directories."""
        counts = [counted(self.files, "file")] if self.files or not self.folders else []
        counts += [counted(self.folders, "directory")] if self.folders else []
        return f"{self.notation}: {', '.join(counts)}"

    @property
    def details(self) -> tuple[str, ...]:
        """Names."""
        return self.names

    @property
    def in_brackets(self) -> bool:
        """A colon stands before already."""
        return True


@dataclass(frozen=True, slots=True)
class Paths(Kind):
    """One path in each line: ``file list: 120 paths (src/a.py, …)``."""

    count: int
    names: tuple[str, ...]
    has_sizes: bool = False

    @property
    def facts(self) -> str:
        """How many."""
        return f"list of {counted(self.count, 'path')}{' with sizes' if self.has_sizes else ''}"

    @property
    def details(self) -> tuple[str, ...]:
        """The first of them."""
        return self.names


@dataclass(frozen=True, slots=True)
class Matches(Kind):
    """Places in files: ``grep results: 87 matches in 12 files``."""

    count: int
    files: int
    names: tuple[str, ...]

    @property
    def facts(self) -> str:
        """Matches and files."""
        return f"grep results: {counted(self.count, 'match')} in {counted(self.files, 'file')}"

    @property
    def details(self) -> tuple[str, ...]:
        """The files."""
        return self.names


def recognise_listing(sample: Sample) -> Kind | None:
    """A listing of directories or of paths."""
    return _long(sample) or _tree(sample) or _marked(sample) or _recursive(sample) or _paths(sample)


def _long(sample: Sample) -> Listing | None:
    """``ls -l``, ``ls -lR``, ``find -ls``."""
    body = [line for line in sample.filled if not line.startswith("total ")]
    if not body or not most(_LONG, body, 0.5):
        return None
    text = sample.text[:COUNTED_AT_MOST]
    folders = len(_LONG_FOLDER.findall(text))
    named = [
        match[2]
        for line in body[:60]
        if (match := _LONG_NAME.match(line)) and match[2] not in (".", "..")
    ]
    return Listing(
        _notation(sample),
        len(_LONG_ANY.findall(text)) - folders,
        folders,
        unique(map(short, named)),
    )


def _notation(sample: Sample) -> str:
    """What is listed, where it is said."""
    folder = sample.hint.path if "/" in sample.hint.path and not sample.hint.command else ""
    return f"listing of {tail_of_path(folder)}" if folder else "directory listing"


def _tree(sample: Sample) -> Listing | None:
    lines = sample.filled
    drawn = (
        [match.string for match in most(_TREE, lines, 0.6)] if sample.mentions(_BRANCHES) else []
    )
    if len(drawn) < 2:
        return None
    names = unique(short(_TREE.sub("", line).strip()) for line in drawn[:40])
    said = _TREE_SUM.search(sample.tail)
    if said:
        return Listing("tree", int(said[2] or 0), int(said[1]), names)
    count = sum(sample.text.count(mark) for mark in ("├──", "└──", "|--", "`--")) or len(drawn)
    folders = sum(1 for line in drawn if line.rstrip().endswith("/"))
    return Listing("tree", count - folders, folders, names)


def _marked(sample: Sample) -> Listing | None:
    """``[FILE] name`` and ``[DIR] name``."""
    lines = sample.filled
    if not most(_MARKED, lines, 0.8):
        return None
    names = unique(short(match[2]) for line in lines[:40] if (match := _MARKED.match(line)))
    folders = len(re.findall(r"\[(?:DIR|dir|D)\]|📁", sample.text))
    files = len(re.findall(r"\[(?:FILE|file|F)\]|📄", sample.text))
    return Listing(_notation(sample), files, folders, names)


def _recursive(sample: Sample) -> Listing | None:
    """``ls -R``: names below the name of each folder."""
    lines = sample.filled
    folders = _FOLDER.findall(sample.head) if lines and lines[0].endswith(":") else []
    if len(folders) < 2 or not any("/" in one or one == "." for one in folders):
        return None
    body = [line for line in lines if not line.endswith(":")]
    if (
        not body
        or any(line.startswith((" ", "\t", "{", "[")) for line in body)
        or sum(1 for line in body if " " in line) > 0.2 * len(body)
    ):
        return None
    count = len(re.findall(r"^\S+.*[^:\n]$", sample.text[:COUNTED_AT_MOST], re.MULTILINE))
    return Listing(
        "recursive listing",
        count,
        len(_FOLDER.findall(sample.text[:COUNTED_AT_MOST])),
        unique(map(short, body)),
    )


def _paths(sample: Sample) -> Paths | None:
    lines = sample.filled
    if len(lines) < 2:
        return None
    if len(most(_DU, lines, 0.9)) > 0.9 * len(lines) and sum(
        1 for line in lines if "/" in line
    ) > 0.6 * len(lines):
        return Paths(
            sample.line_count,
            unique(short(" ".join(line.split())) for line in lines),
            has_sizes=True,
        )
    words = [match.string for match in most(_PATH, lines, 0.9)]
    pathlike = [line for line in words if "/" in line or "\\" in line or _NAME.match(line.strip())]
    if len(pathlike) < 0.9 * len(lines):
        return None
    return Paths(
        len(pathlike) if len(sample.lines) < LINES else sample.line_count,
        unique(tail_of_path(line.strip()) for line in pathlike),
    )


def recognise_matches(sample: Sample) -> Matches | None:
    """``path:line:text``, or the lines of each file below its name."""
    return _counts(sample) or _hits(sample) or _headed(sample) or _numbered(sample)


def _counts(sample: Sample) -> Matches | None:
    """``path:3``: how many matches each file has."""
    lines = sample.filled
    found = most(_COUNT, lines, 1)
    if len(lines) < 2 or not found:
        return None
    names = [match[1] for match in found if match[2] != "0"]
    return Matches(
        sum(int(match[2]) for match in found), len(names), unique(map(tail_of_path, names))
    )


def _numbered(sample: Sample) -> Matches | None:
    """Numbered lines of one file, some of them context."""
    lines = [line for line in sample.filled if line != "--"]
    marks = [match[1] for match in most(_PLACE, lines, 1)]
    if len(marks) < 2 or ":" not in marks:
        return None
    path = sample.hint.path
    return Matches(
        len(re.findall(r"^\d{1,9}:", sample.text[:COUNTED_AT_MOST], re.MULTILINE)),
        1,
        (tail_of_path(path),) if path else (),
    )


def _hits(sample: Sample) -> Matches | None:
    """``path:line:text``; without the numbers only of a text of which all is looked at."""
    lines = _without_sums(sample.filled)
    if len(lines) < 2 and "grep" not in f"{sample.hint.tool} {sample.hint.command}":
        return None
    if _are_hits(lines, _HIT):
        found = [match[1] for match in _HITS.finditer(sample.text[:COUNTED_AT_MOST])]
    elif _are_hits(lines, _HIT_PATH) and len(lines) > 1:
        found = [match["path"] for line in lines if (match := _HIT_PATH.match(line))]
    else:
        return None
    files = unique(found, len(found))
    return Matches(len(found), len(files), tuple(tail_of_path(name) for name in files[:20]))


def _are_hits(lines: list[str], pattern: re.Pattern[str]) -> bool:
    hits = [match for match in most(pattern, lines, 0.7) if _FILE.match(match["path"])]
    return len(hits) >= 0.7 * len(lines) and bool(hits)


def _without_sums(lines: list[str]) -> list[str]:
    """The lines without those between groups of matches, and those that say how many there are."""
    return [line for line in lines if line != "--" and not (line[0] in "Ff" and _FOUND.match(line))]


def _headed(sample: Sample) -> Matches | None:
    """A file's name in a line of its own, then numbered lines."""
    lines = _without_sums(sample.filled)
    if not lines or not _FILE.fullmatch(lines[0].rstrip(":")):
        return None
    names = [line.rstrip(":") for line in lines if _FILE.fullmatch(line.rstrip(":"))]
    numbered = [line for line in lines if re.match(r"\s*(?:Line )?\d{1,9}[:-]", line)]
    if not numbered or len(names) + len(numbered) < 0.9 * len(lines):
        return None
    count = len(
        re.findall(r"^\s{0,20}(?:Line )?\d{1,9}[:]", sample.text[:COUNTED_AT_MOST], re.MULTILINE)
    )
    return Matches(count, len(set(names)), unique(tail_of_path(name) for name in names))
