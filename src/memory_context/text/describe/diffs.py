"""Describe diffs: their files, and how many lines they add and remove."""

from __future__ import annotations

import re

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample_for_describers import Sample, count_lines_starting

_CHANGED_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]++).*+\n@@ -", re.MULTILINE)


def describe_diff(sample: Sample) -> Description | None:
    """Describe a diff by its files and the number of lines added and removed."""
    text = sample.text
    if not _CHANGED_FILE.search(sample.head[:4000]):
        return None
    paths = _CHANGED_FILE.findall(text)
    # The lines that name files begin with the same signs.
    new_files = count_lines_starting(text, "+++ ")
    added = count_lines_starting(text, "+") - new_files
    old_files = count_lines_starting(text, "--- ")
    removed = max(0, count_lines_starting(text, "-") - old_files)
    files = counted(len(paths), "file")
    facts = f"diff: {files}, +{added:,} -{removed:,}"
    return Description(Kind.DIFF, facts, unique_names(paths))
