"""Describe diffs: their files, and how many lines they add and remove."""

from __future__ import annotations

import re

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import Sample, count_lines_starting

_CHANGED_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+).*\n@@ -", re.MULTILINE)


def describe_diff(sample: Sample) -> Description | None:
    """Describe a diff by its files and the number of lines added and removed."""
    text = sample.text
    if not _CHANGED_FILE.search(sample.head[:4000]):
        return None
    paths = _CHANGED_FILE.findall(text)
    # The lines that name a file begin with such signs, too.
    added = count_lines_starting(text, "+") - count_lines_starting(text, "+++ ")
    removed = count_lines_starting(text, "-") - count_lines_starting(text, "--- ")
    facts = f"diff: {counted(len(paths), 'file')}, +{added:,} -{max(0, removed):,}"
    return Description(Kind.DIFF, facts, unique_names(paths))
