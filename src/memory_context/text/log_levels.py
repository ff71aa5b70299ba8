"""The levels of log lines: their names, and the marks by which a line reports an error or a warning."""

from __future__ import annotations

import re

LONGEST_LINE = 200
# As a regular expression: the names of levels in Python, Java, Go, syslog and web servers.
LEVELS = (
    r"TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|SEVERE|EMERG|ALERT|PANIC"
)
# Plain strings, because searching a large text for them is much faster than searching it for a pattern. The short names
# have blanks or brackets around them: CRITERIA, INTERRUPT and ALERTS are ordinary words.
ERROR_MARKS = (
    *("ERROR", "FATAL", "CRITICAL", "SEVERE", "level=error", "level=fatal"),
    *(" ERR ", " CRIT ", " ALERT ", " EMERG ", " PANIC ", "[crit]", "[alert]", "[emerg]"),
    *(" error: ", "ERR!", "[error]", "panic:", "*** ", "npm error"),
)
WARNING_MARKS = ("WARN", "level=warn", " warning: ", "[warn", "npm warn")
_DEBUG = re.compile(r"\b(?:TRACE|DEBUG)\b|level=debug")
_FAILED_REQUEST = re.compile(r'" 5\d\d ')  # in a web server's log: "GET / HTTP/1.1" 502 157


def level_of(line: str) -> str:
    """Return the level of a line of a log: ``error``, ``warning`` or ``debug``; empty for any other."""
    if any(mark in line for mark in ERROR_MARKS) or _FAILED_REQUEST.search(line):
        return "error"
    if any(mark in line for mark in WARNING_MARKS):
        return "warning"
    if _DEBUG.search(line[:LONGEST_LINE]):
        return "debug"
    return ""
