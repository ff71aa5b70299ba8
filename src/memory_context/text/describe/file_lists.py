"""Describe directory listings and lists of paths."""

from __future__ import annotations

import re

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample_for_describers import COUNTED_AT_MOST, Sample, matches_of

# A line of `ls -l`: the mode, links, owner and size, a date in one of two forms, the name.
_LONG = re.compile(
    r"^[\d ]*(?P<type>[-dlcbps])[-rwxsStT]{9}[.+@]? +\d+ .*?"
    r"(?:[A-Z][a-z]{2} +\d{1,2} +[\d:]{4,5}|\d{4}-\d\d-\d\d \d\d:\d\d\S*(?: [+-]\d{4})?) "
    r"+(?P<name>(?!\.\.?$).*)$",
    re.MULTILINE,
)
# `[DIR] app`, as some tools write it, or `├── app/`, as `tree` does. The number of blanks before it is bounded, because a
# line of blanks alone would take quadratic time.
_BRANCH = re.compile(
    r"^[│| \t\xa0]{0,200}?(?:\[(?P<type>FILE|DIR)\]|├──|└──|\|--|`--) *(?P<name>\S.*)$",
    re.MULTILINE,
)
# A line with a single word, without the punctuation of code or prose.
_NAME = re.compile(r"[^\S\n]*(?:[A-Za-z]:\\)?[^\s:|,;=(){}<>\"'*\[\]]+$")
# A path, but not a comment, field or sentence among paths.
_ONE_WORD = re.compile(r"^[^\S\n]*[^\s#]\S*(?<!:)$", re.MULTILINE)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_PATH = re.compile(r".*[/\\]|.*\w\.[A-Za-z]\w{0,7}$")


def describe_listing(sample: Sample) -> Description | None:
    """Describe a directory listing or a list of paths."""
    lines = [line for line in sample.lines if not line.startswith("total ")]
    for pattern in (_LONG, _BRANCH):
        if not matches_of(pattern, lines, 0.5):
            continue
        entries = list(pattern.finditer(sample.text[:COUNTED_AT_MOST]))
        folders = sum(1 for entry in entries if entry["type"] in ("d", "DIR"))
        files = len(entries) - folders
        facts = f"directory listing: {counted(files, 'file')}"
        if folders:
            facts += f", {counted(folders, 'directory')}"
        names = unique_names(entry["name"] for entry in entries)
        return Description(Kind.FILES, facts, names, in_parentheses=True)
    words = [match[0].strip() for match in matches_of(_NAME, lines, 0.9)]
    words = list(filter(_LETTER_OR_DIGIT.search, words))
    paths = sum(1 for word in words if _PATH.match(word))
    if len(words) < 2 or paths < 0.6 * len(words):
        return None
    count = sum(1 for _ in _ONE_WORD.finditer(sample.text))
    return Description(Kind.FILES, f"list of {counted(count, 'path')}", unique_names(words))
