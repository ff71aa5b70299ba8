"""Listings of directories, lists of paths, and what a search or a compiler says of places in files."""

from __future__ import annotations

import re

from memory_context.text.describe.description import (
    Description,
    Kind,
    counted,
    short_path,
    unique_names,
)
from memory_context.text.describe.sample import COUNTED_AT_MOST, LINES, Sample, matches_of

# A line of ``ls -l`` or ``find -ls``: the mode, links, owner and size, a date in one of three forms, the name.
_LONG = re.compile(
    r"^[\d ]*(?P<type>[-dlcbps])[-rwxsStT]{9}[.+@]? +\d+ .*?"
    r"(?:[A-Z][a-z]{2} +\d{1,2} +(?:\d\d:\d\d|\d{4})|\d{4}-\d\d-\d\d \d\d:\d\d(?::\S+ [+-]\d{4})?) "
    r"+(?P<name>(?!\.\.?$).*)$",
    re.MULTILINE,
)
# ``[DIR] app`` of a tool, ``├── app/`` of tree
_MARKED = re.compile(
    r"^[ \t]*(?:[-*] )?\[(?P<type>FILE|DIR|file|dir)\] *(?P<name>\S.*)$", re.MULTILINE
)
# Both alphabets of `tree`; what stands before a branch is bounded, or a line of blanks would cost its square.
_BRANCH = re.compile(
    r"^[│| \t\xa0]{0,200}?(?:├──|└──|\|--|`--) *(?P<name>.*?(?P<type>/?))$", re.MULTILINE
)
_TREE_SUM = re.compile(r"^(\d{1,9}) director(?:y|ies)(?:, (\d{1,9}) files?)?", re.MULTILINE)
_FOLDER_TYPES = ("d", "DIR", "dir", "/")
# One word on its line, with nothing that code or prose has.
_NAME = re.compile(r"\s*(?:[A-Za-z]:\\)?[^\s:|,;=(){}<>\"'*\[\]]+$")
_IS_PATH = re.compile(r".*[/\\]|.*\w\.[A-Za-z]\w{0,7}$")
# ``path:line:text``, where what stands behind the number is no time of the day; or ``path:text``
_HIT = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]{0,200}\.\w{1,8}|[^\s:]+/[^\s:]+|Makefile):\d{1,9}[:-](?!\d\d[:.])",
    re.MULTILINE,
)
# A hit of `grep` without line numbers; `://` is a URL, and a colon with a blank behind it is prose.
_HIT_WITHOUT_LINE = re.compile(r"(?P<path>[\w./@+-]{0,200}\.[A-Za-z]\w{0,7}):(?![/:]| \S)(?=.)")
# ``app/models.py:12: error: …``, ``src/cart.ts(12,5): error TS2322: …``
_DIAGNOSTIC = re.compile(
    r"^[ \t]*(?P<path>(?:[A-Za-z]:)?[^\s:(][^:(\n]{0,200})[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?(?P<level>error|warning)\b.*",
    re.MULTILINE,
)


def describe_listing(sample: Sample) -> Description | None:
    """Describe a listing of directories, or a list of paths."""
    lines = [line for line in sample.lines if not line.startswith("total ")]
    for pattern, share in ((_LONG, 0.5), (_MARKED, 0.8), (_BRANCH, 0.6)):
        if matches_of(pattern, lines, share):
            entries = list(pattern.finditer(sample.text[:COUNTED_AT_MOST]))
            folders = sum(1 for entry in entries if entry["type"] in _FOLDER_TYPES)
            files = len(entries) - folders
            if pattern is _BRANCH and (said := _TREE_SUM.search(sample.tail)):
                files, folders = int(said[2] or 0), int(said[1])
            return _listing(sample, files, folders, [entry["name"] for entry in entries])
    names = [match[0].strip() for match in matches_of(_NAME, lines, 0.9)]
    if len(names) > 1 and sum(1 for name in names if _IS_PATH.match(name)) >= 0.6 * len(names):
        count = sample.line_count if len(sample.lines) == LINES else len(names)
        paths = unique_names(map(short_path, names))
        return Description(Kind.FILES, f"list of {counted(count, 'path')}", paths)
    return None


def _listing(sample: Sample, files: int, folders: int, names: list[str]) -> Description:
    folder = "" if sample.hint.command else sample.hint.path
    facts = f"listing of {short_path(folder)}" if "/" in folder else "directory listing"
    facts += f": {counted(files, 'file')}"
    if folders:
        facts += f", {counted(folders, 'directory')}"
    return Description(Kind.FILES, facts, unique_names(names), in_parentheses=True)


def describe_matches(sample: Sample) -> Description | None:
    """Describe what a compiler says of places in files, or what a search found there."""
    text = sample.text[:COUNTED_AT_MOST]
    lines = [line for line in sample.lines if line != "--"]
    if len(_DIAGNOSTIC.findall(sample.head)) >= max(1, 0.1 * len(lines)):
        diagnostics = list(_DIAGNOSTIC.finditer(text))
        errors = sum(1 for match in diagnostics if match["level"] == "error")
        said = [counted(errors, "error")] if errors else []
        if errors < len(diagnostics):
            said.append(counted(len(diagnostics) - errors, "warning"))
        return _places(
            f"compiler output: {', '.join(said)}", [match["path"] for match in diagnostics]
        )
    if len(lines) < 2 and "grep" not in sample.hint.command:
        return None
    if matches_of(_HIT, lines, 0.7):
        paths = [match["path"] for match in _HIT.finditer(text)]
    else:
        paths = [match["path"] for match in matches_of(_HIT_WITHOUT_LINE, lines, 0.7)]
    return _places(f"grep results: {counted(len(paths), 'match')}", paths) if paths else None


def _places(facts: str, paths: list[str]) -> Description:
    """Put places into words, given the path of each."""
    files = dict.fromkeys(paths)
    facts += f" in {counted(len(files), 'file')}"
    return Description(Kind.MATCHES, facts, unique_names(map(short_path, files)))
