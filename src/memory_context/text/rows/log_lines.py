"""Read the lines of a log as rows: line number, time, level, source and message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_context.text.lines import lines_of
from memory_context.text.log_levels import LEVELS
from memory_context.text.query.dates_and_times import MONTHS
from memory_context.text.rows.text_table import Row, TextTable

COLUMNS = ("line", "time", "level", "source", "message")
# 2026-01-31T12:00:00,123+01:00, perhaps in brackets, or the time of day alone.
_STAMP = re.compile(
    r"[\[(]?(?P<day>\d{4}[-/]\d\d[-/]\d\d)?[T ]?(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
    r"\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?[\])]?[\s|:-]*"
)
# A level, perhaps in brackets. It may come before or after the source.
_LEVEL_FIRST = re.compile(rf"[\[(<|]?(?P<level>{LEVELS})[\])>|]?(?:[\s:|-]+|$)", re.IGNORECASE)
# `[main]`, `app.orders:` or `app.orders -` before the message; the drive in `C:\` and the words of a sentence do not match.
_SOURCE = re.compile(
    r"\[(?P<thread>[^\]\n]{1,80})\][\s:|-]*|(?P<name>[\w./$@#-]{1,80}(?:\[\d+\])?)(?::\s+|\s+[-|]\s+)"
)
# Oct 10 13:55:36 host sshd[1234]: words, as syslog and journalctl write it.
_SYSLOG = re.compile(
    r"(?:<\d+>)?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d) \S+ "
    r"(?P<source>[^\s:\[]{1,80}(?:\[\d+\])?):? (?P<message>.*)"
)
# 10.0.0.1 - ann [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326; Python's servers write a space before the hour.
_ACCESS = re.compile(
    r"(?:(?P<source>\S+) \S+ \S+ )?\[(?P<day>\d\d)/(?P<month>[A-Z][a-z]{2})/(?P<year>\d{4})[: ](?P<clock>\d\d:\d\d:\d\d)"
    r" ?(?P<zone>[+-]\d{4})?\] (?P<message>.*)"
)
# `web-1  | ` before each line, as docker compose writes it; a level before a bar is no service.
_SERVICE = re.compile(rf"(?!(?:{LEVELS}) )(?P<service>[\w.-]+) +\| ", re.IGNORECASE)
_PAIR = re.compile(r'([A-Za-z_][\w.]*)=("(?:[^"\\]|\\.)*"|\S*)')
# The names that time, level and source may have in lines of pairs.
_NAMES_OF_PAIRS = (
    ("time", "ts", "timestamp", "t"),
    ("level", "lvl", "severity"),
    ("logger", "source", "component", "caller", "service", "module"),
)


def log_table(text: str) -> TextTable:
    """Return each line of a log as a row; a line with neither time nor level has only a message.

    Times are written like ``2026-01-31 12:00:00.123``, so that they can be compared as texts; those of syslog lack a year.
    """

    def rows() -> Iterator[Row]:
        for number, line in enumerate(lines_of(text), 1):
            if line.strip():
                yield [number, *_parts(line)]

    return TextTable(COLUMNS, rows, "the log")


def _parts(line: str) -> list[str | None]:
    """Return the time, level, source and message of a line."""
    if match := _SERVICE.match(line):
        time, level, source, message = _parts_of(line[match.end() :])
        if time is None and level is None:
            return [None, None, None, line]
        if source:
            message = f"{source}: {message}"
        return [time, level, match["service"], message]
    return _parts_of(line)


def _parts_of(line: str) -> list[str | None]:
    """Return the parts of a line as the program itself wrote it."""
    if match := _SYSLOG.match(line):
        time = f"{_day(match)} {match['clock']}"
        level, message = _split_level(match["message"])
        return [time, level, match["source"], message]
    if match := _ACCESS.match(line):
        day = f"{match['year']}-{_day(match)}"
        time = f"{day} {match['clock']}{_zone(match)}"
        return [time, None, match["source"], match["message"]]
    if line.lstrip().startswith(("time=", "ts=", "level=", "lvl=", "timestamp=")):
        return _of_pairs(line)
    stamped_at = None
    rest = line
    if stamp := _STAMP.match(line):
        stamped_at = _time(stamp)
        rest = line[stamp.end() :]
    level, rest = _split_level(rest)
    if stamped_at is None and level is None:
        return [None, None, None, line]
    source, rest = _split_source(rest)
    if level is None:
        level, rest = _split_level(rest)
        if level and source is None:
            source, rest = _split_source(rest)
    return [stamped_at, level, source, rest]


def _day(match: re.Match[str]) -> str:
    """Return the month and day as ``01-31``; 00 for an unknown month."""
    name = match["month"].lower()
    month = 0
    if name in MONTHS:
        month = MONTHS.index(name) + 1
    day = int(match["day"])
    return f"{month:02}-{day:02}"


def _split_level(text: str) -> tuple[str | None, str]:
    match = _LEVEL_FIRST.match(text)
    if match is None:
        return None, text
    return match["level"].upper(), text[match.end() :]


def _split_source(text: str) -> tuple[str | None, str]:
    match = _SOURCE.match(text)
    if match is None:
        return None, text
    return match["thread"] or match["name"], text[match.end() :]


def _time(stamp: re.Match[str]) -> str:
    day = (stamp["day"] or "").replace("/", "-")
    clock = stamp["clock"].replace(",", ".")
    return f"{day} {clock}{_zone(stamp)}".strip()


def _zone(match: re.Match[str]) -> str:
    """Return the time zone as SQLite's date functions read it: Z or +01:00; empty if there is none."""
    zone = (match["zone"] or "").replace("UTC", "Z")
    if len(zone) == len("+0100"):
        return f"{zone[:3]}:{zone[3:]}"
    return zone


def _of_pairs(line: str) -> list[str | None]:
    """Return the parts of a line such as ``time=… level=info msg="…" user=7``; other pairs are added to the message."""
    pairs = {name: value.strip('"') for name, value in _PAIR.findall(line)}
    parts = list[str | None]()
    for names in _NAMES_OF_PAIRS:
        given = next((name for name in names if name in pairs), "")
        parts.append(pairs.pop(given, None))
    time, level, source = parts
    stamp = _STAMP.match(time or "")
    if stamp:
        time = _time(stamp)
    if level:
        level = level.upper()
    words = pairs.pop("msg", "") or pairs.pop("message", "")
    rest = [f"{name}={value}" for name, value in pairs.items()]
    message = " ".join([words, *rest])
    return [time, level, source, message.strip()]
