"""Logs: lines with times or levels, access logs, and what package managers and builds print."""

from __future__ import annotations

import re

from memory_context.text.describe.description import Description, Kind, counted
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.tracebacks import find_traceback

LOOKED_AT = 60
LONGEST_LINE = 200
# Times as ISO 8601 and its like, as web servers write them, as syslog does, or of the day alone.
_TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
)
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)"
# A time behind at most one word, a level behind at most 60 characters, a web server's time, ``level=info``.
_LINE = re.compile(
    rf"\S{{0,60}}{_TIME}|.{{0,60}}\b{_LEVEL}\b|\S+ \S+ \S+ \[{_TIME}|(?:level|lvl|ts|time)=\S"
)
# What stands before the words of a line: the time, with fractions and a zone, and the level.
_PREFIX = re.compile(
    rf"^(?:[\s\[(]*{_TIME}[^\sA-Za-z]{{0,12}}(?:Z|[+-]\d\d:?\d\d)?[\s\])-]*)?"
    rf"(?:[\[(<]?{_LEVEL}[\])>]?[\s:|-]+)?"
)
_ERROR_MARKS = (
    *("ERROR", "FATAL", "CRITICAL", "SEVERE", "level=error", "level=fatal"),
    *(" error: ", "ERR!", "[error]", "panic:", "*** ", "npm error"),
)
_WARNING_MARKS = ("WARN", "level=warn", " warning: ", "[warn", "npm warn")
_DEBUG = re.compile(r"\b(?:TRACE|DEBUG)\b|level=debug")
_FAILED_REQUEST = re.compile(r'" 5\d\d ')  # of a web server
# What a package manager or a build was asked to do, in the command of the call: ``npm install``, ``cargo build``.
_BUILD_COMMAND = re.compile(
    r"(?:^|[;&|] *)((?:npm|yarn|pnpm|pip3?|uv|apt|apt-get|cargo|go|docker|mvn|gradle|make)(?: [a-z][\w-]*)?)"
)
# Lines that only package managers and builds print, by which their output is known without the command.
_BUILD_LINES = (
    ("npm install", r"npm (?:WARN|ERR!|warn|error|notice)|(?:added|changed) \d+ packages?"),
    (
        "pip install",
        r"Collecting \S|\s*(?:Downloading|Using cached) \S+\.whl|Requirement already|ERROR: No match",
    ),
    ("cargo build", r"\s+(?:Compiling|Downloaded|Finished) \S"),
    ("docker build", r"#\d+ (?:\[|DONE|CACHED|ERROR)|Step \d+/\d+ : "),
    ("Maven", r"\[(?:INFO|WARNING|ERROR)\] "),
    ("make", r"make(?:\[\d+\])?: |(?:gcc|g\+\+|cc|clang) .*-[oc] "),
)
# How a build ended: ``added 12 packages in 2s``, ``Successfully installed …``, ``BUILD FAILED in 3s``.
_OUTCOME = re.compile(
    r"^(?:added \d+ packages?|Successfully (?:installed|built)|\s*Finished |.*BUILD (?:SUCC|FAIL)).*",
    re.MULTILINE,
)


def level_of(line: str) -> str:
    """Return how serious a line of a log is: ``error``, ``warning`` or ``debug``; nothing if it is none of these."""
    if any(mark in line for mark in _ERROR_MARKS) or _FAILED_REQUEST.search(line):
        return "error"
    if any(mark in line for mark in _WARNING_MARKS):
        return "warning"
    return "debug" if _DEBUG.search(line[:LONGEST_LINE]) else ""


def describe_log(sample: Sample) -> Description | None:
    """Describe the output of a build, or lines of which most say when they were written, or how serious they are."""
    lines = sample.lines[:LOOKED_AT]
    if build := _build_of(sample):
        outcomes = _OUTCOME.findall(sample.tail)
        return _log(f"{build} log", sample, outcomes[-1] if outcomes else lines[0])
    stamped = sum(1 for line in lines if _LINE.match(line))
    below = sum(1 for line in lines if line.startswith((" ", "\t", "Traceback", "Caused by")))
    has_traces = stamped > 1 and stamped + below >= 0.8 * len(lines)
    if len(lines) < 2 or (stamped <= len(lines) / 2 and not has_traces):
        return None
    return _log("log", sample, lines[0])


def _log(notation: str, sample: Sample, said: str) -> Description:
    """Put a log into words: its first error, or else what it said; warnings only where there are no errors."""
    facts = f"{notation}, {counted(sample.line_count, 'line')}"
    if errors := _count_lines(sample.text, _ERROR_MARKS):
        said = next((line for line in sample.head.split("\n") if level_of(line) == "error"), said)
        if trace := find_traceback(sample):
            said = trace.facts
        facts += f", {counted(errors, 'error')}"
    elif warnings := _count_lines(sample.text, _WARNING_MARKS):
        facts += f", {counted(warnings, 'warning')}"
    return Description(Kind.LOG, facts, (_PREFIX.sub("", said.strip()) or said,))


def _build_of(sample: Sample) -> str:
    """Return the package manager or build that printed a text: a fifth of the lines are its own."""
    lines = sample.lines
    for name, pattern in _BUILD_LINES:
        signs = sum(1 for line in lines if re.match(pattern, line))
        if signs >= max(1, 0.2 * min(len(lines), LOOKED_AT)) and (signs > 1 or len(lines) < 5):
            command = _BUILD_COMMAND.search(sample.hint.command)
            return command[1] if command else name
    return ""


def _count_lines(text: str, marks: tuple[str, ...]) -> int:
    """Return how many lines have one of `marks`; only those that occur are searched for, because that is slow."""
    occurring = [re.escape(mark) for mark in marks if mark in text]
    if not occurring:
        return 0
    return sum(1 for _ in re.finditer(f"(?:{'|'.join(occurring)})[^\n]*", text))
