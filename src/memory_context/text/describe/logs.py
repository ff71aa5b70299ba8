"""Describe logs: lines with times or levels, and access logs."""

from __future__ import annotations

import re

from memory_context.text.describe.description import Description, Kind, counted
from memory_context.text.describe.sample_for_describers import Sample, behind_lead
from memory_context.text.describe.tracebacks import find_traceback
from memory_context.text.lines import line_start
from memory_context.text.log_levels import ERROR_MARKS, LEVELS, LONGEST_LINE, WARNING_MARKS
from memory_context.text.rows.separated_values import named_columns

LOOKED_AT = 60
# Times in ISO 8601 or a similar form, as web servers write them, as syslog does, or the time of day alone.
_TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|\d\d/\w{3}/\d{4}[: ]\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
)
# A time after at most one word, a level after at most 60 characters, a web server's time, `level=info`, or npm's levels.
_LINE = re.compile(
    rf"\S{{0,60}}{_TIME}|.{{0,60}}\b(?:{LEVELS})\b|(?:\S+ \S+ \S+ )?\[{_TIME}"
    r"|(?:level|lvl|ts|time)=\S|npm (?:warn|WARN|error|ERR!)"
)
# What precedes the message of a line: the time, perhaps with fractions and a zone, and the level.
_PREFIX = re.compile(
    rf"^(?:[\s\[(]*{_TIME}[^\sA-Za-z]{{0,12}}(?:Z|[+-]\d\d:?\d\d)?[\s\])-]*)?"
    rf"(?:[\[(<]?(?:{LEVELS})[\])>]?[\s:|-]+)?"
)
_BELOW_STAMPED = (" ", "\t", "Traceback", "Caused by")
FAILURE_MARKS = (*ERROR_MARKS, "FAILED", "FAILURE", "FAIL:", "Traceback (most recent call last)")


def describe_log(sample: Sample) -> Description | None:
    """Describe a text of which most lines have a time or a level.

    The description ends with the first error, or else with the first line.
    """
    lines = sample.lines[:LOOKED_AT]
    if len(lines) < 2:
        return None
    stamped = sum(1 for line in lines if _LINE.match(line))
    # Lines of stack traces, and those that continue an entry, have no time of their own.
    below = sum(1 for line in lines if line.startswith(_BELOW_STAMPED))
    has_traces = stamped > 1 and stamped + below >= 0.8 * len(lines)
    is_log = has_traces or 2 * stamped > len(lines)
    if not is_log:
        return None
    if not _LINE.match(lines[0]):
        # A table may have times or levels in its cells, but not in its header.
        heads = (sample.head, behind_lead(sample.head))
        if any(map(named_columns, heads)):
            return None
    facts = f"log, {counted(sample.line_count, 'line')}"
    errors, first_error = lines_with(sample.text, ERROR_MARKS)
    warnings, _ = lines_with(sample.text, WARNING_MARKS)
    telling = lines[0]
    if errors:
        facts += f", {counted(errors, 'error')}"
        traceback = find_traceback(sample)
        telling = traceback.facts if traceback else first_error
    elif warnings:
        facts += f", {counted(warnings, 'warning')}"
    message = _PREFIX.sub("", telling.strip())
    return Description(Kind.LOG, facts, (message or telling,))


def lines_with(text: str, marks: tuple[str, ...]) -> tuple[int, str]:
    """Return how many lines have one of `marks`, and the first of them; only the marks that occur are searched for."""
    occurring = "|".join(re.escape(mark) for mark in marks if mark in text)
    if not occurring:
        return 0, ""
    # Each match continues to the end of its line, so that a line counts once.
    places = [match.start() for match in re.finditer(f"(?:{occurring})[^\n]*", text)]
    start = line_start(text, places[0])
    first_line = text[start : start + LONGEST_LINE].partition("\n")[0]
    return len(places), first_line
